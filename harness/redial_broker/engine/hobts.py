"""Heap-or-B-tree ids: of indexes, and of the locks on their keys."""

from __future__ import annotations

from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import SAME, journaled, made, state

FIRST_HOBT = 72057594037927936
"""Heap-or-B-tree ids of user objects start here on a server."""

HOBT_STEP = 65536
FIRST_FREE_HOBT = FIRST_HOBT + 39 * HOBT_STEP


class HobtIds(Part):
    """Gives out heap-or-B-tree ids; a rewind takes them back."""

    __slots__ = ("_journal", "following")
    STATE = state(
        journaled("following", hidden="ids, of which locks on keys are named"),
        made("_journal", hidden=SAME),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.following = FIRST_FREE_HOBT

    def __next__(self) -> int:
        """A new id."""
        given = self.following
        self._journal.assign(None, self, "following", given + HOBT_STEP)
        return given
