"""The rowversions a database has given out."""

from __future__ import annotations

from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import SAME, journaled, made, state
from redial_broker.engine.transactions import Transaction

FIRST_ROWVERSION = 2000
"""A new database's rowversions start at 0x7D1 (observed)."""


def _by_session(active: dict[Transaction, int]) -> list[tuple[str, int]]:
    return sorted([(str(t.owner.id), number) for t, number in active.items()])


class Rowversions(Part):
    """What a database gave out of them; a part of its own so that giving one out leaves the
    database's hash as it was.

    last: the last one given out; active: {transaction: the first it was given}.
    """

    __slots__ = ("_journal", "active", "last")
    STATE = state(
        journaled("last", when="rowversions"),
        journaled("active", show=_by_session, when="rowversions"),
        made("_journal", hidden=SAME),
        journal="_journal",
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.last = FIRST_ROWVERSION
        self.active: dict[Transaction, int] = {}
