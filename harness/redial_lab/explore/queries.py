"""Questions to a state in T-SQL, asked by a session of their own and taken back afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_lab.explore.world import World

if TYPE_CHECKING:
    Row = tuple[Any, ...]
    """A row. Its values are whatever was asked for."""

STEPS = 100_000
"""Bound of statements of one question."""


class QueryError(ValueError):
    """A question raised an error; the text says which."""


def ask(world: World, sql: str) -> list[Row] | None:
    """Rows of the last result set, as of ``ask_all``; none where there is no result set."""
    found = ask_all(world, sql)
    if found is None:
        return None
    return found[-1] if found else []


def ask_all(world: World, sql: str) -> list[list[Row]] | None:
    """Rows of each result set, in READ COMMITTED; None when it would have to wait.

    The state is as before on return. Raises QueryError.
    """
    session = world.observer
    if session is None:
        raise QueryError("the scenario names no database to ask (Scenario.asked)")
    collector = Collector()
    mark = world.journal.mark()
    session.sink = collector
    session.submit(Batch(sql))
    world.instance.machine.run(session, STEPS)
    finished, waits = collector.finished, session.wait is not None
    world.journal.rewind(mark)
    error = collector.error() if finished else None
    if error is not None:
        raise QueryError(f"Msg {error.number}, line {error.line}: {error.text}")
    if waits:
        return None
    if not finished:
        raise QueryError(f"it has run {STEPS:,} statements: a loop that never ends?")
    return [each.rows for each in collector.result_sets]
