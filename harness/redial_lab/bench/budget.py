"""What a message may cost: counts of the shipped text beside the article's, and their bounds.

Counted, not timed, so the same in every run (``redial_lab.bench.cost`` says what is counted and
what is not). ``evidence/cost.json`` holds the bound of each count of what we ship. A test fails
when a count is above its bound; whoever raises a bound says why in the commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from redial.config import Config, load
from redial.config.choices import Recycle, TimerStrategy
from redial.paths import CONFIGS, EVIDENCE
from redial_lab.bench.cost import STAGES, played
from redial_lab.proof.audit_setups import deployed

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
    "bodies stored",
    "bytes of bodies",
    "log bytes",
)
"""What has a bound. Frames: batches, procedures, functions, triggers; the statements of a function
are not counted, its frame is. Bodies stored: in tables and queues; their bytes with the header in
front. Log bytes: as the embedded broker estimates them."""
A_THOUSAND = ("log bytes", "bytes of bodies", "bodies stored", "rows inserted", "rows changed",
              "rows deleted", "queue rows inserted", "queue rows deleted", "locks")  # fmt: skip
"""What is shown of 1,000 messages."""
MANY = 500
"""Messages of a batch."""
SHIPPED, ARTICLE, APART = "audit as shipped", "the article of 2007", "a dialog per message"
INDEXED = "with order_index"


def _audit(*, who: bool = True, order_index: bool = False, **conversation: object) -> Config:
    """The shipped configuration, but that its reader leaves an empty queue at once: it is called
    here. who: the envelope, which the article does not have. order_index: of Landing. conversation:
    choices of that section.
    """
    data = load(CONFIGS / "audit.toml").model_dump(by_alias=True, mode="json")
    data["target"]["receive_wait_ms"] = 0
    data["envelope"]["who"] = who
    data["landing"]["order_index"] = order_index
    data["conversation"] |= conversation
    return Config.model_validate(data)


DESIGNS: dict[str, Callable[[], Config]] = {
    SHIPPED: _audit,
    ARTICLE: lambda: _audit(who=False, timer_strategy=TimerStrategy.ARTICLE),
    APART: lambda: _audit(key="message", recycle=Recycle.NEVER),
    INDEXED: lambda: _audit(order_index=True),
}
"""What is compared, and the configuration it is installed by."""
MOMENTS = (
    "a send on a dialog that is there",
    "a message that lands alone",
    f"a message of a batch of {MANY} that lands",
    "a dialog that is recycled, both sides",
)
"""Each counted by itself: what lands was sent before. Of a batch: what one twice as large costs
more, by message."""


@cache
def counts(design: str) -> dict[str, dict[str, float]]:
    """moment -> kind -> how many, of one of ``DESIGNS``."""
    config = DESIGNS[design]()
    instance = deployed(config)
    one, few, many = (played(instance, size, config) for size in (1, MANY // 2, MANY))
    batch = {kind: (many["land"][kind] - few["land"][kind]) / (MANY - MANY // 2) for kind in KINDS}
    send, land, recycle = ({kind: float(one[stage][kind]) for kind in KINDS} for stage in STAGES)
    return dict(zip(MOMENTS, (send, land, batch, recycle)))


def a_thousand(design: str) -> dict[str, float]:
    """kind -> how many for 1,000 messages: each a send of its own, landed in batches."""
    send, _, batch, _ = (counts(design)[moment] for moment in MOMENTS)
    return {kind: 1_000 * (send[kind] + batch[kind]) for kind in A_THOUSAND}


def beside(design: str) -> float:
    """Log bytes of 1,000 messages without the bodies in them."""
    found = a_thousand(design)
    return found["log bytes"] - found["bytes of bodies"]


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
        "function are not counted. *A dialog per message* is our text with `key = message`. The",
        "article keeps no copies: our target, which is behind it, looks for them in vain. *With",
        "order_index*: audit as shipped, and an index of Landing in the order sent (decision 7).",
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
    lines += [
        "",
        "## 1,000 messages, sent one by one and landed in batches",
        "",
        f"| count | {' | '.join(DESIGNS)} |",
        f"|---|{'---:|' * len(DESIGNS)}",
        *(
            f"| {kind} | {' | '.join(shown(a_thousand(design)[kind]) for design in DESIGNS)} |"
            for kind in A_THOUSAND
        ),
        f"| log bytes beside the bodies | {' | '.join(shown(beside(design)) for design in DESIGNS)} |",
    ]
    return "\n".join(lines) + "\n"
