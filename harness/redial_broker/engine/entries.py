"""A read that others may come into: entry by entry, and between an entry and its row (``inside``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial_broker.engine.inside import noted, once
from redial_broker.engine.journal import MISSING
from redial_broker.engine.ranges import candidates

if TYPE_CHECKING:
    from redial_broker.engine.access import Accept, Access
    from redial_broker.engine.needs import Edge, IndexKey, LockKey, RowValues
    from redial_broker.engine.read_mode import ReadMode
    from redial_broker.engine.storage import Index
    from redial_broker.engine.transactions import Transaction

    Met = tuple[IndexKey, tuple[LockKey, ...], IndexKey, Any]
    """An entry: its key, locks taken for it, the clustered key, the row. Any: a row, None where that is
    to be looked up, MISSING where the entry is passed over."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which entries are read: as ``Access.read`` has it."""

    index: Index
    mode: ReadMode
    covered: bool
    prefix: IndexKey
    low: Edge | None
    high: Edge | None
    exact: bool
    limit: int | None
    after: IndexKey | None
    backwards: bool

    @property
    def ranged(self) -> bool:
        """Whether the gap before each entry is locked too."""
        return self.mode.ranges and not self.exact


def read_entries(
    access: Access, transaction: Transaction, by: Search, accept: Accept | None
) -> list[tuple[IndexKey, RowValues]]:
    """What ``Access.read`` gives. Raises Left between two accesses too."""
    owner, mode = transaction.owner, by.mode
    name, rows = repr(by.index), by.index.table.rows
    found: list[tuple[IndexKey, RowValues]] = []
    last, met = by.after, 0
    if by.backwards and by.ranged and mode.lock:
        access.lock_gap(transaction, by.index, by.prefix, by.high, mode)
    while not (by.exact and met):
        if mode.qualify:
            seen = once(owner, name, _next_committed, access, transaction, by, last)
            if seen is None:
                break
            key, committed = seen
            if committed is MISSING or (accept is not None and not accept(committed)):
                last, met = key, met + 1
                continue
        entry = once(owner, name, _next, access, transaction, by, last)
        if entry is None:
            return found
        last, taken, row_key, row = entry
        met += 1
        if row is None:
            more, row = once(owner, repr(rows), _entry, access, transaction, rows, row_key, mode)
            taken += more
        if row is MISSING or (accept is not None and not accept(row)):
            if row is MISSING or not mode.ranges:
                noted(owner, "given back", access.give_back, transaction, taken)
            continue
        if not mode.hold:
            noted(owner, "given back", access.give_back, transaction, taken)
        found.append((row_key, row))
        if by.limit is not None and len(found) >= by.limit:
            return found
    if mode.ranges and mode.lock and not found:
        access.lock_gap(transaction, by.index, by.prefix, by.high, mode)
    return found


def _key(
    access: Access, transaction: Transaction, by: Search, last: IndexKey | None
) -> IndexKey | None:
    """The next entry's; None behind the last."""
    found = candidates(
        transaction, by.index, by.prefix, by.low, by.high, by.exact, True, last, by.backwards
    )
    return next(iter(found), None)


def _next(
    access: Access, transaction: Transaction, by: Search, last: IndexKey | None
) -> Met | None:
    """The next entry, locked; behind the last one None, and nobody may insert there where ranges are
    locked."""
    key = _key(access, transaction, by, last)
    if key is None:
        if by.mode.ranges and by.mode.lock and not by.backwards:
            access.lock_gap(transaction, by.index, by.prefix, by.high, by.mode)
        return None
    taken, value = _entry(access, transaction, by.index, key, by.mode, by.ranged)
    if by.index.clustered or value is MISSING:
        return key, taken, key, value
    row = access.standing(transaction, by.index.table.rows, value, by.mode) if by.covered else None
    return key, taken, value, row


def _next_committed(
    access: Access, transaction: Transaction, by: Search, last: IndexKey | None
) -> tuple[IndexKey, Any] | None:
    """The next entry with its committed row (or MISSING), without a lock."""
    key = _key(access, transaction, by, last)
    return None if key is None else (key, access.committed_row(transaction, by.index, key))


def _entry(
    access: Access,
    transaction: Transaction,
    index: Index,
    key: IndexKey,
    mode: ReadMode,
    ranged: bool = False,
) -> tuple[tuple[LockKey, ...], Any]:
    """One entry: locks taken for it, and what stands there; MISSING where it is passed over."""
    taken: list[LockKey] = []
    if access.gone(index, key, mode) or not access.lock_key(
        transaction, index, key, mode, ranged, taken
    ):
        return (), MISSING
    return tuple(taken), access.standing(transaction, index, key, mode)
