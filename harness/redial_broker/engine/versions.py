"""Committed row versions: kept while somebody reads the past, and no longer.

Two readers need the past: a SNAPSHOT transaction, which sees the database as it was at its first
access to data, and a versioned READ COMMITTED statement that had to wait in the middle, which sees
it as it was when the statement began ("Transaction locking and row versioning guide"). While there
is one, every commit gets a sequence number and leaves the values it replaced, per index and key;
without one a commit leaves nothing and costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING, Journal, Part
from redial_broker.engine.state import SAME, journaled, made, state
from redial_broker.engine.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.needs import IndexKey, LockKey
    from redial_broker.engine.storage import Index, Table
    from redial_broker.engine.transactions import Transaction

MAY_TAKE = -1
"""``Transaction.snapshot`` of one that has not touched a table yet: its level is open (F-207)."""


class Versions(Part):
    """Who reads the past, and which keys have one.

    readers: (transaction, "transaction" | "statement") -> the sequence number it reads at.
    altered: lock key of a table -> number of the commit that changed its definition.
    kept: (index, key) -> True for every key with old values in ``Index.versions``.
    """

    __slots__ = ("_journal", "altered", "kept", "readers", "sequence")
    STATE = state(
        journaled("sequence"),
        journaled("altered", show=lambda altered: sorted(altered.items(), key=repr)),
        journaled("readers", hidden="each reading transaction shows the number it reads at"),
        journaled("kept", hidden="each index shows the old values it keeps"),
        made("_journal", hidden=SAME),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.sequence = 0
        self.readers: dict[tuple[Transaction, str], int] = {}
        self.altered: dict[LockKey, int] = {}
        self.kept: dict[tuple[Index, IndexKey], bool] = {}

    # ------------------------------------------------------------------ readers
    def enter(self, transaction: Transaction, table: Table) -> None:
        """An access to ``table`` under SNAPSHOT; the first one fixes what the transaction sees.

        Raises SqlError 3951 in a transaction begun under another level, 3952 where the database
        does not allow snapshots, 3961 for a table redefined since (all end the transaction).
        """
        database = table.database
        if not database.options["snapshot"]:
            ends = value(transaction.owner.engine, "snapshot_3952_ends")
            raise SqlError(3952, database.name, aborts=ends)
        if transaction.snapshot is None:
            raise SqlError(3951, database.name)
        if transaction.snapshot == MAY_TAKE:
            self.begin(transaction)
        elif self.altered.get(table.lock_key, 0) > transaction.snapshot:
            raise SqlError(3961, database.name)

    def touch(self, transaction: Transaction) -> None:
        """A table is accessed under another level first: no snapshot any more (F-207)."""
        if value(transaction.owner.engine, "snapshot_level_taken") == "first access":
            self._journal.save(transaction)
            transaction.snapshot = None

    def begin(self, transaction: Transaction) -> None:
        """Fix the snapshot of a transaction at this moment."""
        self._journal.save(transaction)
        transaction.snapshot = self.sequence
        self._read_at(transaction, "transaction")

    def hold_statement(self, transaction: Transaction) -> None:
        """The running statement waits: when it goes on it still sees what stands now.

        It has changed nothing and others have not run since it began, so now is its beginning.
        """
        if transaction.statement is None:
            self._journal.save(transaction)
            transaction.statement = self.sequence
            self._read_at(transaction, "statement")

    def release_statement(self, transaction: Transaction) -> None:
        """The statement is over, whatever its end."""
        self._journal.save(transaction)
        transaction.statement = None
        self._leave(transaction, "statement")

    def end(self, transaction: Transaction) -> None:
        """The transaction is over."""
        if transaction.statement is not None:
            self.release_statement(transaction)
        if transaction.snapshot is not None and transaction.snapshot != MAY_TAKE:
            self._journal.save(transaction)
            transaction.snapshot = MAY_TAKE
            self._leave(transaction, "transaction")

    def _read_at(self, transaction: Transaction, kind: str) -> None:
        self._journal.put(None, self, self.readers, (transaction, kind), self.sequence)

    def _leave(self, transaction: Transaction, kind: str) -> None:
        self._journal.put(None, self, self.readers, (transaction, kind), MISSING)
        oldest = min(self.readers.values(), default=None)
        put = self._journal.put
        for index, key in list(self.kept):
            chain = index.versions[key]
            needed = () if oldest is None else tuple(v for v in chain if v[0] > oldest)
            if len(needed) < len(chain):
                put(None, index, index.versions, key, needed or MISSING)
                if not needed:
                    put(None, self, self.kept, (index, key), MISSING)
        if oldest is None:
            # Numbers start again, so that equal states are equal whatever came before them.
            self._journal.assign(None, self, "sequence", 0)
            for key in list(self.altered):
                put(None, self, self.altered, key, MISSING)

    # ------------------------------------------------------------------ writers
    def keep(self, transaction: Transaction) -> None:
        """A writer commits while somebody reads the past: number it, keep what it replaced."""
        number = self.sequence + 1
        self._journal.assign(None, self, "sequence", number)
        put = self._journal.put
        truncated = {event[1] for event in transaction.events if event[0] == "truncated"}
        for key, mode in transaction.locks.items():
            if mode == "Sch-M" and key not in truncated:
                put(None, self, self.altered, key, number)
        for index, key in transaction.written:
            if index.table.temporary:
                continue
            before = index.writers[key][1]
            if index.entries.get(key, MISSING) is before:
                continue  # its statement failed
            chain = index.versions.get(key, ())
            put(None, index, index.versions, key, (*chain, (number, before)))
            put(None, self, self.kept, (index, key), True)


def under_snapshot(transaction: Transaction) -> bool:
    """Whether a transaction has a snapshot, or takes one with its first access as things stand."""
    if transaction.snapshot == MAY_TAKE:
        return transaction.owner.isolation == "snapshot"
    return transaction.snapshot is not None


def value_at(transaction: Transaction, index: Index, key: IndexKey, moment: int) -> Any:
    """What ``transaction`` sees at ``key`` when it reads the database of ``moment``.

    Its own changes first; then the oldest value replaced after that moment; then what an
    uncommitted writer found; then what stands there. Any: a row, a clustered key, or MISSING.
    """
    writer = index.writers.get(key)
    if writer is not None and writer[0] is transaction:
        return index.entries.get(key, MISSING)
    for number, before in index.versions.get(key, ()):
        if number > moment:
            return before
    return index.entries.get(key, MISSING) if writer is None else writer[1]


def refuse_conflict(transaction: Transaction, index: Index, key: IndexKey) -> None:
    """Raise SqlError 3960 when ``key`` was changed and committed after the snapshot was taken."""
    chain = index.versions.get(key)
    if chain and transaction.snapshot is not None and chain[-1][0] > transaction.snapshot:
        table = index.table
        raise SqlError(3960, table.full_name, table.database.name)
