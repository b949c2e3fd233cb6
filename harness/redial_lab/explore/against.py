"""Two texts, the old and the new: which outcomes only one of them can come to.

An outcome is what is left when all is at rest: how each batch of each application ended, the rows of each
table of the file's database, its dialogs, and the messages that lie in its queues or are on their way. Ids
and times are left out; they are others each time. Rows and lines that an application was shown are not
compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redial_broker.engine.storage import Table
from redial_broker.engine.types import Variant
from redial_broker.ssb.queue import Queue
from redial_lab.explore.progress import printable, without_ids
from redial_lab.explore.scenario import CANCELLED, Scenario
from redial_lab.explore.search import UNFINISHED, VIOLATED, Limits, Result, Violation, search
from redial_lab.explore.world import EndlessError, World

if TYPE_CHECKING:
    from redial_broker.exec.database import Database

SHOWN = 10
"""So many outcomes of each side are printed."""
WAYS = 3
"""To so many outcomes of the new text alone the steps are printed, shortest first."""

_CHANCE = frozenset(
    {"uniqueidentifier", "timestamp", "rowversion", "date", "time", "datetime", "smalldatetime"}
    | {"datetime2", "datetimeoffset"}
)
"""Types of values that are ids or times."""


WINDOWS = "explorer"
"""Schema of what a script for query windows keeps for itself."""


class OtherSessionsError(ValueError):
    """The two cannot be compared; the text says why."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What two searches came to."""

    new: Result
    old: Result
    both: frozenset[str]
    only_new: frozenset[str]
    only_old: frozenset[str]
    ways: tuple[Violation, ...]
    """The shortest way to each of ``only_new``, by the outcome's name."""
    told: Scenario
    """The new scenario; each of ``only_new`` counts as a violation there."""

    @property
    def status(self) -> int:
        """The exit status: that of the new text's search, or VIOLATED where it can come to what the old one
        cannot. Where the old one's search was not whole, nobody knows: UNFINISHED.
        """
        if self.new.violations or not self.only_new:
            return self.new.status
        return VIOLATED if whole(self.old) else UNFINISHED


def whole(result: Result) -> bool:
    """Whether a search saw all that its text can come to."""
    return result.ended and not result.cut


def compared(new: Scenario, old: Scenario, limits: Limits) -> Compared:
    """Search both, behind violations too. Raises OtherSessionsError where their sessions have other names,
    or another order.
    """
    names = [[client.name for client in scenario.clients] for scenario in (new, old)]
    if names[0] != names[1]:
        raise OtherSessionsError(f"new: {', '.join(names[0])}; old: {', '.join(names[1])}")
    past = replace(limits, past=True)
    before: set[str] = set()
    try:
        old_result = search(_naming(old, before, before), past)  # all its own are known
    except EndlessError as error:
        raise EndlessError(f"the old text: {error}") from error
    after: set[str] = set()
    told = _naming(new, after, before)
    result = search(told, past)
    ways = [result.violations.pop(name) for name in [*result.violations] if name in after - before]
    return Compared(
        result,
        old_result,
        frozenset(after & before),
        frozenset(after - before),
        frozenset(before - after),
        tuple(sorted(ways, key=lambda way: (len(way.path), way.name))),
        told,
    )


def lines(found: Compared, new: str, old: str) -> Iterator[str]:
    """What the command prints. new, old: what the two are called."""
    yield f"new, {new}: {found.new}"
    yield f"old, {old}: {found.old}"
    yield f"outcomes of both: {len(found.both)}"
    for name, only, other in (
        (f"new, {new}", found.only_new, found.old),
        (f"old, {old}", found.only_old, found.new),
    ):
        unsure = "" if whole(other) else " (the other search was not whole: it may have them too)"
        yield f"outcomes only of the {name}: {len(only)}{unsure}"
        yield from (f"  {text}" for text in sorted(only)[:SHOWN])
        if len(only) > SHOWN:
            yield f"  and {len(only) - SHOWN} more"


def _naming(scenario: Scenario, seen: set[str], known: set[str]) -> Scenario:
    """A scenario that notes its outcomes; what is not known then is named like a violation."""
    at_the_end = scenario.at_the_end

    def look(world: World) -> list[str]:
        found = outcome(world)
        seen.add(found)
        return at_the_end(world) + ([] if found in known else [found])

    return replace(scenario, at_the_end=look)


def outcome(world: World) -> str:
    """What somebody could find out about a state at rest, in one line."""
    found = [_told(world, number) for number in range(len(world.clients))]
    database = world.instance.server.database(world.scenario.asked)
    for key, item in sorted(database.objects.items()):
        if key[0] == WINDOWS:
            continue
        held: list[str] = []
        if isinstance(item, Table):
            held = _rows(item)
        elif isinstance(item, Queue):
            held = _messages(database, item)
        if held:
            found.append(f"{'.'.join(key)}: {', '.join(sorted(held))}")
    return printable("; ".join([*found, *_dialogs(database)]))


def _told(world: World, number: int) -> str:
    """How each batch of an application ended."""
    results = world.progress.results[number]
    said = [" and ".join(map(_ended, numbers)) or "done" for numbers in results]
    if number not in world.progress.killed and world.progress.position[number] > len(results):
        said.append("no answer")
    return f"{world.scenario.clients[number].name}: {', '.join(said)}"


def _ended(number: int) -> str:
    return "no outcome" if number == CANCELLED else f"error {number}"


def _rows(table: Table) -> list[str]:
    kept = [i for i, column in enumerate(table.columns) if column.type.name not in _CHANCE]
    return [_literal(tuple(row[i] for i in kept)) for row in table.rows.entries.values()]


def _messages(database: Database, queue: Queue) -> list[str]:
    """What lies in a queue unread."""
    return [
        _message(message[2].name, message[3])
        for endpoint in database.broker.endpoints.values()
        if endpoint.group.service.queue is queue
        for status, message, _ in endpoint.inbox.stored()
        if status == 1
    ]


def _dialogs(database: Database) -> Iterator[str]:
    """Sides of dialogs by their states, and what is on its way."""
    endpoints = list(database.broker.endpoints.values())
    if endpoints:
        sides = sorted(f"{'from' if e.is_initiator else 'to'} {e.state()}" for e in endpoints)
        yield f"dialogs: {', '.join(sides)}"
    waiting = sorted(_message(row[1].name, row[2]) for e in endpoints for row in e.pending.values())
    if waiting:
        yield f"on its way: {', '.join(waiting)}"


def _message(kind: str, body: bytes | None) -> str:
    return f"{kind} {_literal(body)}"


def _literal(value: object) -> str:
    """A value, or a row of them, as T-SQL has it; in place of an id or a time its type."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, Variant):
        return value.type.name if value.type.name in _CHANCE else _literal(value.value)
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"0x{value.hex().upper()}"
    if isinstance(value, str):
        return f"'{without_ids(value)}'"
    return str(int(value) if isinstance(value, bool) else value)
