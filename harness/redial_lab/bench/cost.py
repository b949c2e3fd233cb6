"""What a message costs under each design that was compared: counted, not timed.

``python -m redial_lab.bench.cost`` prints, for each of ``DESIGNS``, how many statements run, locks are
taken, rows are written and read, and how often a body is written: per usp_Send, per message that
lands, per message when its dialog is recycled, and once per batch and per dialog. The counts are
the embedded broker's, the same in every run; a server has the same rows, and locks of its own
beside these (pages, and short ones of plain reads).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest.mock import patch

from redial.config import Config
from redial.server import EMBEDDED_LABEL
from redial_broker.engine.access import Access
from redial_broker.engine.locks import LockManager
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction, TransactionManager
from redial_broker.exec import machine as executor
from redial_broker.exec.machine import READY, Machine
from redial_broker.exec.session import SessionState
from redial_broker.instance.instance import Instance
from redial_broker.ssb import receive, transmission, verbs
from redial_broker.ssb.inbox import Inbox
from redial_broker.ssb.queue import Queue
from redial_lab.proof.audit_setups import DATABASE, deployed, send, small_config
from redial_lab.proof.designs import DESIGNS

FEW, MANY = 10, 20
"""Messages of two runs: what grows with their number is a message's, the rest is paid once."""

BODY = bytes(range(1, 101))

KINDS = (
    "statements",
    "locks",
    "rows inserted",
    "rows changed",
    "rows deleted",
    "rows read",
    "queue rows inserted",
    "queue rows deleted",
    "queue rows read",
    "bodies stored",
    "bodies in table variables",
)
"""What is counted. Rows: of tables; bodies stored: in a table or a queue."""

STAGES = ("send", "land", "recycle")

Function = Callable[..., Any]
"""A function of the broker's, whatever it takes and gives."""

Hears = Callable[..., None]
"""Counts a call: hears what it gave, what was remembered before it, and what it was given."""


@dataclass(slots=True)
class Cost:
    """Counts by kind of one stage."""

    each: dict[str, float] = field(default_factory=dict)
    """Per message."""
    once: dict[str, float] = field(default_factory=dict)
    """Per batch or per dialog."""


def costs(design: str) -> dict[str, Cost]:
    """The cost of each of ``STAGES`` under a design of ``redial_lab.proof.designs.DESIGNS``."""
    instance = deployed(small_config(), mutant=DESIGNS[design])
    few, many = (played(instance, messages, small_config()) for messages in (FEW, MANY))
    found = {}
    for stage in STAGES:
        each = {kind: (many[stage][kind] - few[stage][kind]) / (MANY - FEW) for kind in KINDS}
        once = {kind: few[stage][kind] - FEW * each[kind] for kind in KINDS}
        found[stage] = Cost(each, once)
    return found


def total(found: dict[str, Cost]) -> dict[str, float]:
    """What a message costs in all stages, without what is paid per batch and per dialog."""
    return {kind: sum(found[stage].each[kind] for stage in STAGES) for kind in KINDS}


def played(instance: Instance, messages: int, config: Config) -> dict[str, Counter[str]]:
    """Counts by stage: a dialog with that many messages, landed in one batch, then recycled.

    The instance is what it was afterwards. config: what is installed in it; a reader of the target
    must leave an empty queue at once. Raises RuntimeError when the dialog is not closed then.
    """
    with instance.snapshot():
        return _story(instance, messages, config)


def _story(instance: Instance, messages: int, config: Config) -> dict[str, Counter[str]]:
    session = instance.connect(DATABASE)
    session.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);").ok()
    text = send(BODY.hex())
    session.execute(text).ok()  # the dialog is begun, and lands: neither is counted
    session.execute("EXECUTE audit.usp_TargetActivation;").ok()
    found = {}
    with _counted() as found["send"]:
        for _ in range(messages):
            session.execute(text).ok()
    with _counted() as found["land"]:
        session.execute("EXECUTE audit.usp_TargetActivation;").ok()
    session.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);").ok()
    with _counted() as found["recycle"]:
        instance.advance(config.timer.after_seconds + config.timer.spread_seconds + 1)
    broker = instance.server.database(DATABASE).broker
    if any(endpoint.state() != "CD" for endpoint in broker.endpoints.values()):
        raise RuntimeError("a dialog that was recycled is not closed")
    return found


# ---------------------------------------------------------------------- counting
@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Counts of what the broker does meanwhile, by kind (``KINDS``, and those of ``budget``)."""
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        for owner, name, before, after in _watched(counts):
            wrapped = _after(getattr(owner, name), before, after)
            stack.enter_context(patch.object(owner, name, wrapped))
        stack.enter_context(patch.object(Machine, "run", _one_by_one(Machine.run, counts)))
        yield counts


def _after(original: Function, before: Function, count: Hears) -> Function:
    """The original between ``before`` and ``count``, which gets both results."""

    @wraps(original)
    def call(*given: Any, **named: Any) -> Any:  # as the original's
        was = before(*given)
        result = original(*given, **named)
        count(result, was, *given)
        return result

    return call


def _nothing(*_: object) -> None:
    """Nothing to remember."""


def _one_by_one(run: Callable[..., str], counts: Counter[str]) -> Callable[..., str]:
    """``Machine.run``, statement by statement."""

    def call(
        machine: Machine, session: SessionState, budget: int = 1_000_000, *, single: bool = False
    ) -> str:
        state = READY
        while budget > 0 and state == READY:
            counts["statements"] += 1
            state = run(machine, session, 1, single=single)
            budget -= 1
        return state

    return call


def _watched(counts: Counter[str]) -> list[tuple[object, str, Function, Hears]]:
    """(class or module, name of a function, what to do before and after each call of it)."""

    def counting(kind: str) -> Hears:
        return lambda *_: counts.update({kind: 1})

    def granted(_: object, held: bool, *given: object) -> None:
        counts["locks"] += not held

    def logged(_: object, __: object, ___: object, ended: Transaction) -> None:
        counts["log bytes"] += ended.log_used

    def held(_: object, resource: Any, owner: Any, mode: object) -> bool:
        return resource.key in owner.locks

    return [
        (Machine, "call", _nothing, counting("frames")),
        (executor, "become_user", _nothing, counting("EXECUTE AS")),
        (TransactionManager, "commit", _nothing, logged),
        (LockManager, "_grant", held, granted),
        *_rows_watched(counts),
        *_queues_watched(counts),
    ]


def _body(counts: Counter[str], row: Iterable[object], temporary: bool) -> None:
    """Count the bodies among a row's values."""
    found = [len(value) for value in row if isinstance(value, bytes) and BODY in value]
    counts["bodies in table variables" if temporary else "bodies stored"] += len(found)
    if not temporary:
        counts["bytes of bodies"] += sum(found)


def _rows_watched(counts: Counter[str]) -> list[tuple[object, str, Function, Hears]]:
    """As ``_watched``: rows of tables and of table variables."""
    from redial_broker.exec.dml.variables import VariableAccess  # not before the instance is there

    def rows(kind: str) -> Hears:
        def count(_: object, __: object, table: Table, *given: Any) -> None:
            if not table.temporary:
                counts[f"rows {kind}"] += 1
            if kind != "deleted":
                _body(counts, given[-1], table.temporary)

        return count

    def remembered(*given: Any) -> None:
        counts["rows of table variables"] += 1
        _body(counts, given[-1], True)

    def read(found: Sized, _: object, __: Access, ___: object, index: Index, *rest: object) -> None:
        if not index.table.temporary:
            counts["rows read"] += len(found)

    def entered(_: object, __: object, *given: Any) -> None:
        counts["index entries written"] += not given[2].table.temporary

    return [
        (Table, "put", _nothing, entered),
        (Table, "insert", _nothing, rows("inserted")),
        (Table, "replace", _nothing, rows("changed")),
        (Table, "delete", _nothing, rows("deleted")),
        (Access, "read", _nothing, read),
        (VariableAccess, "insert", _nothing, remembered),
    ]


def _queues_watched(counts: Counter[str]) -> list[tuple[object, str, Function, Hears]]:
    """As ``_watched``: rows of queues, and messages that wait for their way."""

    def queued(_: object, __: object, *given: object) -> None:
        counts["queue rows inserted"] += 1
        _body(counts, given, False)

    def taken(_: object, before: int, *given: Any) -> None:
        counts["queue rows deleted"] += len(given[-1]) - before

    def cleared(_: object, before: int, *given: object) -> None:
        counts["queue rows deleted"] += before

    def selected(found: Sized, *_: object) -> None:
        counts["queue rows read"] += len(found)

    return [
        (Queue, "put", _nothing, queued),
        (Queue, "put_special", _nothing, queued),
        (verbs, "_retain", _nothing, queued),
        (transmission, "_keep", _nothing, queued),
        (Queue, "select_rows", _nothing, selected),
        (receive, "_take", lambda *given: len(given[-1]), taken),
        (Inbox, "clear", lambda inbox: len(inbox.sent), cleared),
    ]


def main(tell: Callable[[str], None] = print, designs: Iterable[str] = DESIGNS) -> dict[str, float]:
    """Every figure by name; ``tell`` hears which design is being counted."""
    found = {}
    for design in designs:
        tell(f"counting {design} ({EMBEDDED_LABEL})")
        for stage, cost in costs(design).items():
            for how, counts in (("each", cost.each), ("once", cost.once)):
                for kind, count in counts.items():
                    name = kind.replace(" ", "_")
                    found[f"cost.{design}.{stage}_{how}.{name}"] = count
    return found


if __name__ == "__main__":
    for figure, value in main().items():
        if value:
            print(f"{figure} {value:.3f}")
