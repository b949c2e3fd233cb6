"""The rowversions a database has given out."""

from __future__ import annotations

from redial_broker.engine.journal import Part
from redial_broker.engine.transactions import Transaction

FIRST_ROWVERSION = 2000
"""A new database's rowversions start at 0x7D1 (observed)."""


class Rowversions(Part):
    """What a database gave out of them. Not part of the state hash, which ranks them where they
    are; a part of its own so that giving one out leaves the database's hash as it was.

    last: the last one given out; active: {transaction: the first it was given}.
    """

    __slots__ = ("active", "last")

    def __init__(self) -> None:
        super().__init__()
        self.last = FIRST_ROWVERSION
        self.active: dict[Transaction, int] = {}
