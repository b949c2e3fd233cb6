"""What databases forget when a transaction ends: its rowversions, what it has defined anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import MISSING

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.transactions import Transaction


def watch(engine: Engine) -> None:
    """Have ended transactions forgotten (rowversions, changed definitions), once per engine."""
    watchers = engine.transactions.watchers
    if any(
        getattr(watcher, "__name__", "") == _release_rowversions.__name__ for watcher in watchers
    ):
        return
    watchers.append(_release_rowversions)


def _release_rowversions(
    transaction: Transaction, committed: bool, events: list[tuple[Any, ...]]
) -> None:
    for event in events:
        if event[0] == "rowversion":
            database, given = event[1], event[1].rowversions
            database.engine.journal.put(None, given, given.active, transaction, MISSING)
        elif event[0] == "definition":
            _, database, key = event
            database.engine.journal.put(None, database, database.changing, key, MISSING)
