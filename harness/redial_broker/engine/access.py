"""Reading and changing rows under locks: which key is locked when, in which order.

The order is the whole point of this project, so it follows the observed recipes: a read or write
through a nonclustered index locks that index's key first and the clustered key second; a write by
the clustered key takes the clustered key first and the nonclustered entries after it
(F-201). Which path a statement takes is decided by the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.differences import differs
from redial_broker.engine.entries import Search, read_entries
from redial_broker.engine.inside import noted, once
from redial_broker.engine.journal import MISSING
from redial_broker.engine.keys import END_KEY, bounds
from redial_broker.engine.locks import LockManager
from redial_broker.engine.meter import Meter
from redial_broker.engine.ranges import candidates, following
from redial_broker.engine.read_mode import ReadMode
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.switches import value
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.versions import refuse_conflict, value_at

if TYPE_CHECKING:
    from redial_broker.engine.needs import Edge, IndexKey, LockKey, RowValues

Accept = Callable[[tuple], bool]  # type: ignore[type-arg]  # of RowValues, which no run knows

differs(
    "lock escalation",
    "Tried once, when a reference has read its rows; a server tries in the middle of "
    "the statement and again every 1,250 locks. The result, one table lock or none, is "
    "the same.",
)

_FOUND_BYTES = 88
"""Of a row that was found: it is the one in the table, in a pair of its own."""

ESCALATION = 5000
"""So many rows locked by one reference of one statement make the server try for the table lock."""


class Access:
    """Row access of one instance: storage under the lock manager."""

    __slots__ = ("locks", "meter")

    def __init__(self, locks: LockManager, meter: Meter) -> None:
        self.locks = locks
        self.meter = meter

    def lock_table(self, transaction: Transaction, table: Table, mode: str) -> None:
        """Intent or full lock on the table; temporary tables and table variables need none."""
        if not table.temporary:
            self.locks.acquire(transaction, table.lock_key, mode)

    # ------------------------------------------------------------------ reading
    def read(
        self,
        transaction: Transaction,
        index: Index,
        mode: ReadMode,
        accept: Accept | None = None,
        *,
        prefix: IndexKey = (),
        low: Edge | None = None,
        high: Edge | None = None,
        covered: bool = False,
        limit: int | None = None,
        after: IndexKey | None = None,
        backwards: bool = False,
    ) -> list[tuple[IndexKey, RowValues]]:
        """Rows as (clustered key, row), in index order or against it, locked as ``mode`` says.

        prefix: normalized equality values for the leading key columns. low, high: (normalized
        value, inclusive) bounds of the next key column. covered: the nonclustered index has every
        column the statement needs, so the clustered key is not locked. accept: the rest of the
        WHERE clause; a lock taken for a row it refuses is given back (F-201). limit: stop, and
        lock no more keys, after so many rows (TOP without a sort). after: begin behind this key.
        Raises Wait, Left, or SqlError 1222 and 1205.
        """
        exact = index.unique and len(prefix) == len(index.columns) and bool(index.columns)
        if exact and mode.ranges and mode.hinted and mode.lock == "U":
            hit = value(transaction.owner.engine, "updlock_holdlock_hit")
            mode = replace(mode, lock=hit) if hit != "U" else mode
        if transaction.owner.acted and not mode.versioned and not index.table.temporary:
            by = Search(index, mode, covered, prefix, low, high, exact, limit, after, backwards)
            return read_entries(self, transaction, by, accept)
        found: list[tuple[IndexKey, RowValues]] = []
        visit = self._visit_past if mode.snapshot else self._visit
        if mode.qualify:
            visit = self._visit_qualified
        keys = candidates(
            transaction, index, prefix, low, high, exact, limit is not None, after, backwards
        )
        meter = self.meter
        if backwards and mode.ranges and mode.lock and not exact:
            self.lock_gap(transaction, index, prefix, high, mode)
        for key in keys:
            meter.left -= 1
            if meter.left < 0:
                meter.look(found, _FOUND_BYTES)
            row_key, row = visit(
                transaction, index, key, mode, accept, covered, mode.ranges and not exact
            )
            if row is not None:
                found.append((row_key, row))
                if limit is not None and len(found) >= limit:
                    break
        else:
            if mode.ranges and mode.lock and not (exact and found) and not backwards:
                self.lock_gap(transaction, index, prefix, high, mode)
        if len(found) >= ESCALATION and mode.hold and mode.lock:
            self.escalate(transaction, index.table)
        return found

    def escalate(self, transaction: Transaction, table: Table) -> None:
        """Trade the row locks on a table for one on all of it, unless someone is in the way.

        S where the rows are locked S only, else X; never waits ("Lock escalation" in the locking
        guide). The server tries in the middle of the statement, here it is after its reading.
        """
        if table.temporary or not table.lock_escalation:
            return
        owned = {index.hobt_id for index in (table.rows, *table.indexes)}
        keys = [key for key in transaction.locks if key[0] == "KEY" and key[1] in owned]
        plain = all(transaction.locks[key] in {"S", "RangeS-S"} for key in keys)
        if self.locks.try_acquire(transaction, table.lock_key, "S" if plain else "X"):
            for key in keys:
                self.locks.release(transaction, key)

    def _visit(
        self,
        transaction: Transaction,
        index: Index,
        key: IndexKey,
        mode: ReadMode,
        accept: Accept | None,
        covered: bool,
        ranged: bool,
    ) -> tuple[IndexKey, RowValues | None]:
        """One entry: lock, look at it, look its row up. (key, None) when it does not qualify."""
        if self.gone(index, key, mode):
            return key, None
        taken: list[LockKey] = []
        if not self.lock_key(transaction, index, key, mode, ranged, taken):
            return key, None
        found = self.standing(transaction, index, key, mode)
        if found is MISSING:
            self.give_back(transaction, taken)
            return key, None
        row_key, row = key, found
        if not index.clustered:
            rows = index.table.rows
            row_key = found
            if not covered and not self.lock_key(transaction, rows, row_key, mode, False, taken):
                self.give_back(transaction, taken)
                return key, None
            row = self.standing(transaction, rows, row_key, mode)
            if row is MISSING:
                self.give_back(transaction, taken)
                return key, None
        if accept is not None and not accept(row):
            if not mode.ranges:
                self.give_back(transaction, taken)
            return key, None
        if not mode.hold:
            self.give_back(transaction, taken)
        return row_key, row

    def _visit_qualified(
        self,
        transaction: Transaction,
        index: Index,
        key: IndexKey,
        mode: ReadMode,
        accept: Accept | None,
        covered: bool,
        ranged: bool,
    ) -> tuple[IndexKey, RowValues | None]:
        """One entry of a change under optimized locking: passed over without a lock where its
        committed row does not qualify ("Optimized locking", lock after qualification); else locked,
        waited for and looked at again.
        """
        found = self.committed_row(transaction, index, key)
        if found is MISSING or (accept is not None and not accept(found)):
            return key, None
        return self._visit(transaction, index, key, mode, accept, covered, ranged)

    def _visit_past(
        self,
        transaction: Transaction,
        index: Index,
        key: IndexKey,
        mode: ReadMode,
        accept: Accept | None,
        covered: bool,
        _: bool,
    ) -> tuple[IndexKey, RowValues | None]:
        """One entry as a SNAPSHOT transaction sees it.

        A row that qualifies is locked only where ``mode`` locks; it must then be as it was (3960:
        "Transaction locking and row versioning guide", modifying data under SNAPSHOT).
        """
        moment = transaction.snapshot
        found = value_at(transaction, index, key, moment)  # type: ignore[arg-type]  # it has one
        if found is MISSING:
            return key, None
        rows = index.table.rows
        row_key, row = key, found
        if not index.clustered:
            row_key = found
            row = value_at(transaction, rows, row_key, moment)  # type: ignore[arg-type]
        if row is MISSING or (accept is not None and not accept(row)):
            return key, None
        if mode.lock is not None:
            early = (
                not mode.hinted
                or value(transaction.owner.engine, "snapshot_updlock_conflict") == "at read"
            )
            self.lock_key(transaction, index, key, mode, False, [])
            if early:
                refuse_conflict(transaction, index, key)
            if not index.clustered and not covered:
                self.lock_key(transaction, rows, row_key, mode, False, [])
            if early:
                refuse_conflict(transaction, rows, row_key)
        return row_key, row

    def lock_key(
        self,
        transaction: Transaction,
        index: Index,
        key: IndexKey,
        mode: ReadMode,
        ranged: bool,
        taken: list[LockKey],
    ) -> bool:
        """Lock one index key as ``mode`` says; False when READPAST skips it."""
        wanted = mode.lock
        if wanted is None or index.table.temporary:
            return True
        short, owner, resource = not mode.hold, transaction.owner, ("KEY", index.hobt_id, key)
        # Should it wait, it has the lock already when it asks again.
        new = resource not in transaction.locks or owner.asked == resource
        writer = index.writers.get(key)
        unchanged = writer is None or writer[0] is transaction
        if short and unchanged and not self.locks.unchanged_rows and owner.asked != resource:
            # READ COMMITTED asks for no key lock where nothing is uncommitted (F-202): an X or U
            # held only by a hint does not block a plain reader.
            return True
        if transaction.locks.get(index.table.lock_key) == "X":
            return True
        if ranged:
            wanted = {"S": "RangeS-S", "U": "RangeS-U", "X": "RangeX-X"}[wanted]
        if mode.readpast and self.locks.would_wait(transaction, resource, wanted):
            return False
        owner.asked = resource
        self.locks.acquire(
            transaction, resource, wanted, short=short, timeout=0 if mode.nowait else None
        )
        owner.asked = None
        if new:
            taken.append(resource)
        return True

    @staticmethod
    def gone(index: Index, key: IndexKey, mode: ReadMode) -> bool:
        """Whether an entry is only there for those who read the past: there is nothing to lock."""
        return bool(
            index.versions
            and not mode.versioned
            and key not in index.entries
            and key not in index.writers
        )

    @staticmethod
    def committed_row(transaction: Transaction, index: Index, key: IndexKey) -> Any:
        """The committed row of an entry, or MISSING. Any: a row, or that."""
        found = _committed(transaction, index, key)
        if found is not MISSING and not index.clustered:
            found = _committed(transaction, index.table.rows, found)
        return found

    def give_back(self, transaction: Transaction, taken: Iterable[LockKey]) -> None:
        """Give locks back that were taken for an entry."""
        for resource in taken:
            self.locks.release(transaction, resource)

    @staticmethod
    def standing(transaction: Transaction, index: Index, key: IndexKey, mode: ReadMode) -> Any:
        """What this reader sees at ``key``: the committed value when it reads versions.

        Any: a row, a clustered key, or MISSING.
        """
        if mode.versioned:
            if transaction.statement is not None:
                return value_at(transaction, index, key, transaction.statement)
            return _committed(transaction, index, key)
        return index.entries.get(key, MISSING)

    def lock_gap(
        self,
        transaction: Transaction,
        index: Index,
        prefix: IndexKey,
        high: Edge | None,
        mode: ReadMode,
    ) -> None:
        """Lock the key behind the range, or the end of the index: nobody may insert before it."""
        behind = END_KEY
        if prefix or high is not None:
            _, stop, _ = bounds(prefix, None, high)
            behind = following(
                transaction, index, cast("IndexKey", stop), high is not None and not high[1]
            )
        ranged = {"S": "RangeS-S", "U": "RangeS-U", "X": "RangeX-X"}[mode.lock or "S"]
        self.locks.acquire(
            transaction,
            ("KEY", index.hobt_id, behind),
            ranged,
            timeout=0 if mode.nowait else None,
        )

    # ------------------------------------------------------------------ changing
    def insert(self, transaction: Transaction, table: Table, row: RowValues) -> IndexKey:
        """Insert a row: X on the clustered key, then X on each nonclustered key.

        Returns its clustered key. Raises Wait, SqlError 2627 or 2601 (a key another transaction has
        inserted and not committed is waited for first).
        """
        alone = _alone(transaction, table)
        key = table.new_key(row) if alone else noted(transaction.owner, "key", table.new_key, row)
        if alone:
            self._check_unique(table, row, key)
            self._refuse_stale(transaction, table, key)
            table.insert(transaction, key, row)
            return key
        self._lock_new(transaction, table.rows, key)
        if key in table.rows.entries:
            raise table.duplicate(table.rows, row)
        self._refuse_stale(transaction, table, key)
        for index in table.indexes:
            if index.where is None or index.where(row):
                index_key = table.index_key(index, key, row)
                self._lock_new(transaction, index, index_key)
                if index.unique and index_key in index.entries:
                    raise table.duplicate(index, row)
        table.insert(transaction, key, row)
        return key

    def delete(self, transaction: Transaction, table: Table, key: IndexKey) -> None:
        """Delete the row at ``key``: X on the clustered key, then X on each nonclustered key."""
        if not _alone(transaction, table):
            row = table.rows.entries[key]
            self._lock_old(transaction, table.rows, key)
            for index in table.indexes:
                if index.where is None or index.where(row):
                    index_key = table.index_key(index, key, row)
                    self._lock_old(transaction, index, index_key)
        table.delete(transaction, key)

    def update(self, transaction: Transaction, table: Table, key: IndexKey, row: RowValues) -> None:
        """Replace the row at ``key``; a changed clustered key is a delete and an insert."""
        if (
            table.clustered is not None
            and table.clustered.prefix(row) != key[: len(table.clustered.columns)]
        ):
            self.delete(transaction, table, key)
            self.insert(transaction, table, row)
            return
        old = table.rows.entries[key]
        free = _alone(transaction, table)
        if not free:
            self._lock_old(transaction, table.rows, key)
        for index in table.indexes:
            old_key = table.index_key(index, key, old)
            new_key = table.index_key(index, key, row)
            was = index.where is None or index.where(old)
            now = index.where is None or index.where(row)
            if was and now and old_key == new_key:
                continue
            if was and not free:
                self._lock_old(transaction, index, old_key)
            if now:
                if not free:
                    self._lock_new(transaction, index, new_key)
                if index.unique and new_key in index.entries and not (was and new_key == old_key):
                    raise table.duplicate(index, row)
        table.replace(transaction, key, row)

    def _lock_old(self, transaction: Transaction, index: Index, key: IndexKey) -> None:
        """Lock an entry that is changed; in a search others see at once that it is."""
        self.locks.acquire(transaction, ("KEY", index.hobt_id, key), "X")
        if transaction.owner.acted:
            index.table.mark(transaction, index, key)

    def _lock_new(self, transaction: Transaction, index: Index, key: IndexKey) -> None:
        """Test the gap the key falls into (instant RangeI-N), then lock the key itself."""
        once(transaction.owner, "new entry", self._lock_new_entry, transaction, index, key)

    def _lock_new_entry(self, transaction: Transaction, index: Index, key: IndexKey) -> None:
        if self.locks.range_locks:
            gap = ("KEY", index.hobt_id, following(transaction, index, key))
            new = gap not in transaction.locks
            if new:
                self.locks.acquire(transaction, gap, "RangeI-N", short=True)
                self.locks.release(transaction, gap)
            elif self.locks.would_wait(transaction, gap, "RangeI-N"):
                self.locks.acquire(transaction, gap, "RangeI-N")
        self._lock_old(transaction, index, key)

    @staticmethod
    def _refuse_stale(transaction: Transaction, table: Table, key: IndexKey) -> None:
        """3960 for a SNAPSHOT insert over a row that was deleted after the snapshot was taken."""
        if (
            table.rows.versions
            and transaction.owner.isolation == "snapshot"
            and value(transaction.owner.engine, "snapshot_insert_over_deleted") == "error"
        ):
            refuse_conflict(transaction, table.rows, key)

    @staticmethod
    def _check_unique(table: Table, row: RowValues, key: IndexKey) -> None:
        if key in table.rows.entries:
            raise table.duplicate(table.rows, row)
        for index in table.indexes:
            applies = index.where is None or index.where(row)
            if applies and index.unique and table.index_key(index, key, row) in index.entries:
                raise table.duplicate(index, row)


def _alone(transaction: Transaction, table: Table) -> bool:
    """Whether nobody else can come to a table: its rows need no locks."""
    return table.temporary or transaction.locks.get(table.lock_key) in {"X", "Sch-M"}


def _committed(transaction: Transaction, index: Index, key: IndexKey) -> Any:
    """The newest committed value at ``key``, or the transaction's own; MISSING where there is none."""
    writer = index.writers.get(key)
    if writer is not None and writer[0] is not transaction:
        return writer[1]
    return index.entries.get(key, MISSING)
