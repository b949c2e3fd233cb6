"""Which keys of an index a read comes to, in which order, and which key bounds a gap.

A key that another transaction has deleted and not committed is still one: its deletion may be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from redial_broker.engine.keys import END_KEY, bounds, inside

if TYPE_CHECKING:
    from redial_broker.engine.needs import Edge, IndexKey, Ordered
    from redial_broker.engine.storage import Index
    from redial_broker.engine.transactions import Transaction

_PIECE = 64
"""So many keys are taken from an index at once by a reader who will stop after some."""


def candidates(
    transaction: Transaction,
    index: Index,
    prefix: IndexKey,
    low: Edge | None,
    high: Edge | None,
    exact: bool,
    some: bool,
    after: IndexKey | None,
    backwards: bool = False,
) -> list[IndexKey] | Iterator[IndexKey]:
    """Keys in range, among them those another transaction deleted and has not committed, and
    those somebody may still see in the past. some: the reader will stop after a few.
    """
    entries, writers = index.entries, index.writers
    if exact:
        if after is not None and (after <= prefix if backwards else after >= prefix):
            return []
        return (
            [prefix] if prefix in entries or prefix in writers or prefix in index.versions else []
        )
    start, stop, inclusive = bounds(prefix, low, high)
    if after is not None and backwards:
        stop, inclusive = after, (inclusive[0], False)
    elif after is not None and (start is None or after >= start):
        start, inclusive = after, (False, inclusive[1])
    if not some and start is None and stop is None:
        keys = list(entries)
    else:
        keys = entries.irange(start, stop, inclusive, backwards)  # type: ignore[assignment]  # read once
    ghosts = [  # in order: who deleted first makes no difference to what is read
        key
        for key in sorted(_absent(transaction, index))
        if writers[key][0] is not transaction and inside(key, prefix, low, high)
    ]
    if index.versions:
        ghosts += [
            key
            for key in sorted(index.versions)
            if key not in entries and key not in writers and inside(key, prefix, low, high)
        ]
    if after is not None:
        ghosts = [key for key in ghosts if (key < after if backwards else key > after)]
    if some and not ghosts:
        return _in_pieces(entries, start, stop, inclusive, backwards)
    return sorted([*keys, *ghosts], reverse=backwards) if ghosts or backwards else list(keys)


def following(
    transaction: Transaction, index: Index, key: IndexKey, itself: bool = False
) -> IndexKey:
    """The next key behind ``key``, or ``itself`` where it is one: it bounds the gap.

    A key deleted and not yet committed still does: its deletion may be taken back.
    """
    found = next(index.entries.irange(key, None, (itself, True)), END_KEY)
    for ghost in _absent(transaction, index):
        if (key < ghost or (itself and key == ghost)) and ghost < found:
            found = ghost
    return found


def _absent(transaction: Transaction, index: Index) -> Iterable[IndexKey]:
    """Keys with an uncommitted change where nothing stands. In a search also those of a statement under
    way: it has locked them, and what it wrote there is undone until it goes on.
    """
    if not transaction.owner.acted:
        return index.ghosts
    return [key for key in index.writers if key not in index.entries]


def _in_pieces(
    entries: Ordered[IndexKey, Any],
    start: IndexKey | None,
    stop: IndexKey | None,
    inclusive: tuple[bool, bool],
    backwards: bool,
) -> Iterator[IndexKey]:
    """The keys of a range, a few at a time: others may change the index between two of them."""
    while True:
        piece = list(islice(entries.irange(start, stop, inclusive, backwards), _PIECE))
        yield from piece
        if len(piece) < _PIECE:
            return
        if backwards:
            stop, inclusive = piece[-1], (inclusive[0], False)
        else:
            start, inclusive = piece[-1], (False, inclusive[1])
