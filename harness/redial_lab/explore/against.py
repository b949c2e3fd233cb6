"""Two texts, the old and the new: which outcomes only one of them can come to.

An outcome is what somebody could find out when all is at rest: what each application was told, the rows of
each table, the messages that lie in queues. Ids and times are left out; they are others each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redial_broker.engine.storage import Table
from redial_broker.ssb.queue import Queue
from redial_lab.explore.scenario import CANCELLED, Scenario
from redial_lab.explore.search import VIOLATED, Limits, Result, search

if TYPE_CHECKING:
    from redial_lab.explore.world import World

SHOWN = 10
"""So many outcomes of each side are printed."""

_CHANCE = frozenset(
    {"uniqueidentifier", "timestamp", "rowversion", "date", "time", "datetime", "smalldatetime"}
    | {"datetime2", "datetimeoffset"}
)
"""Types of column that hold ids and times."""


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

    @property
    def status(self) -> int:
        """The exit status: that of the new text's search, and VIOLATED where it can come to what the old one
        cannot.
        """
        return VIOLATED if self.only_new else self.new.status


def compared(new: Scenario, old: Scenario, limits: Limits) -> Compared:
    """Search both, behind violations too. Raises OtherSessionsError where their sessions have other names."""
    names = [[client.name for client in scenario.clients] for scenario in (new, old)]
    if names[0] != names[1]:
        raise OtherSessionsError(
            f"the sessions are {', '.join(names[0])} and {', '.join(names[1])}"
        )
    past = replace(limits, past=True)
    (result, after), (old_result, before) = _outcomes(new, past), _outcomes(old, past)
    return Compared(result, old_result, after & before, after - before, before - after)


def lines(found: Compared, new: str, old: str) -> Iterator[str]:
    """What the command prints. new, old: what the two are called."""
    yield f"new, {new}: {found.new}"
    yield f"old, {old}: {found.old}"
    yield f"outcomes of both: {len(found.both)}"
    for name, only in ((f"new, {new}", found.only_new), (f"old, {old}", found.only_old)):
        yield f"outcomes only of the {name}: {len(only)}"
        yield from (f"  {text}" for text in sorted(only)[:SHOWN])
        if len(only) > SHOWN:
            yield f"  and {len(only) - SHOWN} more"


def _outcomes(scenario: Scenario, limits: Limits) -> tuple[Result, frozenset[str]]:
    seen: set[str] = set()
    at_the_end = scenario.at_the_end

    def look(world: World) -> list[str]:
        seen.add(outcome(world))
        return at_the_end(world)

    return search(replace(scenario, at_the_end=look), limits), frozenset(seen)


def outcome(world: World) -> str:
    """What somebody could find out about a state at rest, in one line."""
    said = [
        f"{client.name}: {', '.join(map(_told, world.progress.results[number])) or 'no answer'}"
        for number, client in enumerate(world.scenario.clients)
    ]
    database = world.instance.server.database(world.scenario.asked)
    for key, item in sorted(database.objects.items()):
        held: list[str] = []
        if isinstance(item, Table):
            held = _rows(item)
        elif isinstance(item, Queue):
            held = _messages(item)
        if held:
            said.append(f"{'.'.join(key)}: {', '.join(sorted(held))}")
    return "; ".join(said)


def _told(numbers: tuple[int, ...]) -> str:
    """Of a batch that is over."""
    words = ["no outcome" if number == CANCELLED else f"error {number}" for number in numbers]
    return " and ".join(words) or "done"


def _rows(table: Table) -> list[str]:
    kept = [i for i, column in enumerate(table.columns) if column.type.name not in _CHANCE]
    return [f"({', '.join(repr(row[i]) for i in kept)})" for row in table.rows.entries.values()]


def _messages(queue: Queue) -> list[str]:
    return [
        f"{message[2].name} {(message[3] or b'').hex().upper()}"
        for endpoint in queue.broker.endpoints.values()
        if endpoint.group.service.queue is queue
        for status, message, _ in endpoint.inbox.stored()
        if status == 1
    ]
