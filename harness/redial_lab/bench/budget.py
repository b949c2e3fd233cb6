"""What a message may cost: counts of the shipped text beside the article's, and their bounds.

Counted, not timed, so the same in every run (``redial_lab.bench.cost`` says what is counted and
what is not). ``evidence/cost.json`` holds the bound of each count of what we ship. A test fails
when a count is above its bound; whoever raises a bound says why in the commit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache

from redial.config import Config, load
from redial.config.choices import Key, Recycle, TimerStrategy
from redial.paths import CONFIGS, EVIDENCE
from redial_broker.instance.instance import Instance
from redial_broker.instance.session import Session
from redial_lab.bench.cost import BODY, counted
from redial_lab.proof.audit_setups import DATABASE, EVENT, deployed

KEPT = EVIDENCE / "cost.json"
"""moment -> kind -> the most it may be."""
KINDS = (
    "statements",
    "frames",
    "EXECUTE AS",
    "locks",
    "rows read",
    "rows inserted",
    "rows changed",
    "rows deleted",
    "index entries written",
    "rows of table variables",
    "queue rows inserted",
    "queue rows deleted",
    "log bytes",
)
"""What has a bound. Frames: batches, procedures, functions, triggers; the statements of a function
are not counted, its frame is. Log bytes: as the embedded broker estimates them."""
MANY = 500
"""Messages of a batch."""
SHIPPED, ARTICLE, APART = "audit as shipped", "the article of 2007", "a dialog per message"


def _audit(*, who: bool = True, **conversation: object) -> Config:
    """The shipped configuration, but that its reader leaves an empty queue at once: it is called
    here. who: the envelope, which the article does not have. conversation: choices of that section.
    """
    data = load(CONFIGS / "audit.toml").model_dump(by_alias=True, mode="json")
    data["target"]["receive_wait_ms"] = 0
    data["envelope"]["who"] = who
    data["conversation"] |= conversation
    return Config.model_validate(data)


DESIGNS: dict[str, Callable[[], Instance]] = {
    SHIPPED: lambda: deployed(_audit()),
    ARTICLE: lambda: deployed(_audit(who=False, timer_strategy=TimerStrategy.ARTICLE)),
    APART: lambda: deployed(_audit(key=Key.MESSAGE, recycle=Recycle.NEVER)),
}
"""What is compared, and how it is installed."""
MOMENTS = (
    "a send on a dialog that is there",
    "a message that lands alone",
    f"a message of a batch of {MANY} that lands",
    "a dialog that is recycled, both sides",
)
"""Each counted by itself: what lands was sent before."""


@cache
def counts(design: str) -> dict[str, dict[str, float]]:
    """moment -> kind -> how many, of one of ``DESIGNS``."""
    instance = DESIGNS[design]()
    session = instance.connect(DATABASE)
    session.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);").ok()
    _send(session)  # the dialog is begun, and lands: neither is counted
    _land(session)
    found: dict[str, Counter[str]] = {}
    with counted() as found[MOMENTS[0]]:
        _send(session)
    with counted() as found[MOMENTS[1]]:
        _land(session)
    batch = _batches(session)
    with counted() as found[MOMENTS[3]]:
        instance.advance(_audit().timer.after_seconds + _audit().timer.spread_seconds + 1)
    shown = {name: {kind: float(each[kind]) for kind in KINDS} for name, each in found.items()}
    return {name: shown.get(name, batch) for name in MOMENTS}


def _send(session: Session, times: int = 1) -> None:
    for _ in range(times):
        session.execute(
            "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
            f"N'//redial/audit/contract', N'{EVENT}', 0x{BODY.hex()};"
        ).ok()


def _land(session: Session) -> None:
    """The target's reader once; then its queue's activation is as a deployment leaves it."""
    session.execute("EXECUTE audit.usp_TargetActivation;").ok()


def _batches(session: Session) -> dict[str, float]:
    """A message of a batch: what a batch twice as large costs more, by message."""
    found = []
    for size in (MANY // 2, MANY):
        _send(session, size)
        with counted() as each:
            _land(session)
        found.append(each)
    few, many = found
    return {kind: (many[kind] - few[kind]) / (MANY - MANY // 2) for kind in KINDS}


def bounds() -> dict[str, dict[str, float]]:
    """The most each count of what we ship may be."""
    found: dict[str, dict[str, float]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def over() -> list[str]:
    """Counts above their bounds, and counts that have none."""
    kept, now = bounds(), counts(SHIPPED)
    return [
        f"{moment}: {kind} {shown(now[moment][kind])}, "
        + (f"at most {shown(most)}" if most is not None else "no bound")
        for moment in MOMENTS
        for kind in KINDS
        if (most := kept.get(moment, {}).get(kind)) is None or now[moment][kind] > most + 0.0005
    ]


def shown(count: float) -> str:
    """A count as the page has it: whole, or with three digits."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,.3f}"


def text() -> str:
    """docs/generated/cost.md."""
    kept = bounds()
    lines = [
        "# What a message costs",
        "",
        "Generated by `invoke pages`; do not edit. Counted on the embedded broker, not timed: the",
        "same in every run. **Nothing here is SQL Server's**: a server has the same statements and",
        "rows, locks of pages beside these, and a log of its own size.",
        "",
        "The body has 100 bytes. *At most* is the bound of `evidence/cost.json`; a test fails above",
        "it. Frames are batches, procedures, functions and triggers; the statements inside a",
        "function are not counted. *A dialog per message* is our text with `key = message`.",
    ]
    for moment in MOMENTS:
        lines += [
            "",
            f"## {moment[0].upper()}{moment[1:]}",
            "",
            f"| count | {' | '.join(DESIGNS)} | at most |",
            f"|---|{'---:|' * (len(DESIGNS) + 1)}",
        ]
        for kind in KINDS:
            cells = [shown(counts(design)[moment][kind]) for design in DESIGNS]
            most = kept.get(moment, {}).get(kind)
            last = "" if most is None else shown(most)
            lines.append(f"| {kind} | {' | '.join(cells)} | {last} |")
    return "\n".join(lines) + "\n"
