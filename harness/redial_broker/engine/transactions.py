"""Transactions: what a session has changed and locked since it began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import MISSING, Journal, Part
from redial_broker.engine.state import fields_of, made, saved, state
from redial_broker.engine.switches import value
from redial_broker.engine.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.engine.locks import LockManager
    from redial_broker.engine.needs import IndexKey, LockKey, Owner
    from redial_broker.engine.storage import Index


def _shown_undo(transaction: Transaction) -> list[tuple[Any, ...]]:
    """What a rollback would bring back, as its part shows it: what counts there counts here."""
    counted = transaction.owner.engine.journal.counted
    return [_shown_record(record, counted) for record in transaction.undo]


_RECORDS: dict[int, tuple[tuple[Any, ...], frozenset[str], tuple[Any, ...]]] = {}
"""Records, what counted, and how they were shown: a transaction is hashed after each statement, and
its records stay the same. One that was open before a search is there when it begins again and more
counts (``explore.counted``)."""

_KEPT = 50_000


def _shown_record(record: tuple[Any, ...], counted: frozenset[str]) -> tuple[Any, ...]:
    """By names of parts that no two parts share."""
    known = _RECORDS.get(id(record))
    if known is not None and known[0] is record and known[1] == counted:
        return known[2]
    kind, part, target, key, old = record
    fields = fields_of(type(part))
    name = key if target is part else next((n for n in fields if getattr(part, n) is target), "")
    field = fields.get(name)
    if field is not None and (field.hidden or (field.when and field.when not in counted)):
        shown: tuple[Any, ...] = ()
    elif field is not None and field.entry is not None:
        shown = (kind, repr(part), name, field.entry(part, key, old, counted))
    else:
        shown = (kind, repr(part), name, _named(key), _named(old))
    if len(_RECORDS) >= _KEPT:
        _RECORDS.clear()
    _RECORDS[id(record)] = record, counted, shown
    return shown


def _named(key: Any) -> str:
    """A key or a value; a transaction by whose it is."""
    return f"transaction {key.owner.id}" if type(key) is Transaction else repr(key)


def _shown_events(events: list[tuple[Any, ...]]) -> str:
    """What will follow from its end: parts by their names."""
    return repr(events) if events else ""


def _shown_order(transaction: Transaction) -> list[Any]:
    """The order in which locks were taken, which only ROLLBACK to a savepoint asks for (the locks
    are hashed as resources).
    """
    return list(transaction.locks) if transaction.savepoints else []


def _shown_written(transaction: Transaction) -> list[Any]:
    """The same of changed keys, each of which is marked in its index."""
    if not transaction.savepoints:
        return []
    return [(repr(index), key) for index, key in transaction.written]


class Transaction(Part):
    """One transaction. Its ``owner`` is a session. snapshot, statement: the sequence number the
    transaction, its waiting statement, reads row versions at (``engine.versions``). ``events`` are
    tuples left for the watchers of its end (plain data: a transaction is rewound): the event's
    name, then whatever its watcher wants to know. ``undo``: records of the journal.
    """

    __slots__ = (
        "begun",
        "descriptor",
        "doomed",
        "events",
        "implicit",
        "locks",
        "log_used",
        "name",
        "owner",
        "savepoints",
        "short_locks",
        "snapshot",
        "statement",
        "undo",
        "user",
        "written",
    )
    STATE = state(
        made("owner", hidden="the session that has it shows it"),
        made("descriptor", hidden="an id of the session's own stream (``TransactionNumber``)"),
        made("name"),
        saved("undo", copy=list, of=_shown_undo),
        saved("locks", copy=dict, of=_shown_order),
        saved("short_locks", copy=list),
        saved("savepoints", copy=list),
        saved("written", copy=list, of=_shown_written),
        saved("events", copy=list, show=_shown_events),
        saved("log_used", "doomed", "user", "implicit", "snapshot", "statement"),
        made("begun", when="times"),
        journal="owner.engine.journal",
    )

    def __init__(self, owner: Owner, descriptor: int, name: str = "user_transaction") -> None:
        super().__init__()
        self.owner = owner
        self.descriptor = descriptor
        self.name = name
        self.undo: list[tuple[Any, ...]] = []
        self.locks: dict[LockKey, str] = {}
        self.short_locks: list[LockKey] = []
        self.savepoints: list[tuple[str, int, int, int]] = []
        self.written: list[tuple[Index, IndexKey]] = []
        self.events: list[tuple[Any, ...]] = []
        self.log_used = 0
        self.doomed = False
        self.begun = 0.0
        self.user = False
        self.implicit = False
        self.snapshot: int | None = None
        self.statement: int | None = None

    def __repr__(self) -> str:
        """By its owner."""
        return f"transaction of {self.owner!r}"


class TransactionManager:
    """Begins and ends transactions; the journal and the locks do the work."""

    def __init__(self, journal: Journal, locks: LockManager) -> None:
        self.journal = journal
        self.locks = locks
        self.versions = Versions(journal)
        self.watchers: list[Callable[[Transaction, bool, list[tuple[Any, ...]]], None]] = []
        """Called at each end with (transaction, committed, its events), locks still held."""

    def commit(self, transaction: Transaction) -> None:
        """Make the changes visible, tell the watchers, release the locks."""
        try:
            if transaction.snapshot is not None or transaction.statement is not None:
                self.versions.end(transaction)
            if self.versions.readers:
                self.versions.keep(transaction)
            if transaction.written:
                self._settle(transaction)
            self._end(transaction, True)
        finally:  # whatever goes wrong, nobody waits for ever for one that has ended
            self.locks.release_all(transaction)

    def rollback(self, transaction: Transaction) -> None:
        """Take all changes back, tell the watchers, release the locks."""
        try:
            self.journal.undo(transaction)
            if transaction.snapshot is not None or transaction.statement is not None:
                self.versions.end(transaction)
            if transaction.written:
                self._settle(transaction)
            self._end(transaction, False)
        finally:
            self.locks.release_all(transaction)

    def end_statement(self, transaction: Transaction) -> None:
        """The running statement is over: give back what was only locked or kept for it."""
        if transaction.statement is not None:
            self.versions.release_statement(transaction)
        self.locks.release_short(transaction)

    def save(self, transaction: Transaction, name: str) -> None:
        """SAVE TRANSACTION: names may repeat, the newest wins (SAVE TRANSACTION page)."""
        self.journal.save(transaction)
        transaction.savepoints.append(
            (name, len(transaction.undo), len(transaction.locks), len(transaction.written))
        )

    def rollback_to(self, transaction: Transaction, name: str) -> bool:
        """ROLLBACK to a savepoint; False when there is none of that name.

        Locks stay, or row locks go (F-320); the conversation group's stays in any case: the
        documented poison-message pattern (handling-poison-messages page) relies on it.
        """
        self.journal.save(transaction)
        for position in range(len(transaction.savepoints) - 1, -1, -1):
            if transaction.savepoints[position][0] == name:
                _, undo, locks, written = transaction.savepoints[position]
                self.journal.undo(transaction, undo)
                if value(transaction.owner.engine, "savepoint_locks") == "released":
                    self._release_from(transaction, locks, written)
                del transaction.savepoints[position + 1 :]
                return True
        return False

    def _release_from(self, transaction: Transaction, locks: int, written: int) -> None:
        """Give back row and table locks taken since a savepoint; what they covered is undone."""
        self._settle(transaction, written)
        for key in list(transaction.locks)[locks:]:
            if key[0] in {"KEY", "OBJECT"}:
                self.locks.release(transaction, key)

    def _settle(self, transaction: Transaction, first: int = 0) -> None:
        """Forget the pre-images other sessions read while the changes were uncommitted."""
        put = self.journal.put
        self.journal.save(transaction)
        for index, key in transaction.written[first:]:
            put(None, index, index.writers, key, MISSING)
            if index.ghosts:
                put(None, index, index.ghosts, key, MISSING)
        transaction.written = transaction.written[:first]

    def _end(self, transaction: Transaction, committed: bool) -> None:
        self.journal.save(transaction)
        events = transaction.events
        transaction.undo, transaction.events, transaction.savepoints = [], [], []
        for watcher in self.watchers:
            watcher(transaction, committed, events)
