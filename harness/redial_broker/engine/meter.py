"""How much work the running statement has done, counted in rows, and how much it may hold.

Whatever multiplies rows or walks many of them tells the meter how many it has made (``tick``).
Every ``EVERY`` of them the meter looks: what the operator holds is weighed against the memory
grant (701), and whoever runs statements may take its turn (``give_way``; the explorer and an
instance in process leave it empty, so a statement there is one step as ever).

Guaranteed: an operator that ticks is looked at after a bounded number of rows. Not guaranteed: how
long one row takes. Estimates are of lists of rows and of long strings, one at a time, not of all a
statement holds together, and not of the data in tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EVERY = 16384
"""Rows between two looks: a few milliseconds of the cheapest work."""

QUERY_BYTES = 384 * 1024 * 1024
"""What one operator of a statement may hold."""

INSTANCE_BYTES = 1024 * 1024 * 1024
"""What all statements together may hold."""

LOB_BYTES = 2**31 - 1
"""The longest value of a (max) type."""

_ROW_BYTES = 64
_CELL_BYTES = 8

differs(
    "memory grants",
    "An estimate of the rows one operator holds, at most 384 MB, and 1 GB over all statements: "
    "701 at once beyond that. A server spills sorts and hash tables to tempdb, and lets a query "
    "wait for its grant (8645).",
)


class Meter:
    """Counts work between looks.

    left: rows until the next look; looks: how many there were; give_way(restartable): called at
    each look, may raise; held: the estimate of the last look; others: what suspended statements
    hold; memos: what query blocks fill while they run, by identity, where it must be kept with the
    statement.
    """

    __slots__ = (
        "give_way",
        "held",
        "instance_bytes",
        "left",
        "looks",
        "memos",
        "others",
        "query_bytes",
    )

    def __init__(self) -> None:
        self.left = EVERY
        self.looks = 0
        self.held = 0
        self.others = 0
        self.query_bytes = QUERY_BYTES
        self.instance_bytes = INSTANCE_BYTES
        self.give_way: Callable[[bool], None] | None = None
        self.memos: dict[int, list[Any]] | None = None

    def start_over(self) -> None:
        """Count from nothing, as an instance that comes back to an earlier moment must."""
        self.left, self.looks, self.held = EVERY, 0, 0

    def blank(self, memo: list[Any]) -> None:
        """A run of a query block begins: it remembers nothing yet."""
        memo[:] = [None] * len(memo)
        if self.memos is not None:
            self.memos[id(memo)] = memo

    def tick(self, rows: int, held: Sequence[Any] = (), each: int = 0) -> None:
        """So many rows more. held: the list that grows; each: bytes of one item, else of a row.

        Raises SqlError 701, and what ends or suspends the statement; it then runs again from its
        start, or never.
        """
        self.left -= rows
        if self.left < 0:
            self.look(held, each)

    def look(self, held: Sequence[Any] = (), each: int = 0) -> None:
        """Weigh what is held and let others have their turn."""
        self.left = EVERY
        self.looks += 1
        if held:
            if not each:
                each = _ROW_BYTES
                if isinstance(held[-1], tuple):
                    each += _CELL_BYTES * len(held[-1])
            self.weigh(len(held) * each)
        if self.give_way is not None:
            self.give_way(True)

    def pause(self, rows: int) -> None:
        """The same where the statement has begun to answer and cannot start again.

        Outside a lane that look is left to the next tick.
        """
        self.left -= rows
        if self.left < 0 and self.memos is not None and self.give_way is not None:
            self.left = EVERY
            self.looks += 1
            self.give_way(False)

    def weigh(self, size: int) -> None:
        """Raise SqlError 701 for more bytes than one operator, or all statements, may hold."""
        self.held = size
        if size > self.query_bytes or size + self.others > self.instance_bytes:
            raise SqlError(701, "default")

    def text(self, characters: int) -> None:
        """A string of so many characters is about to be made."""
        if characters > EVERY:
            if 2 * characters > LOB_BYTES:
                raise SqlError(7119, LOB_BYTES)
            self.weigh(2 * characters)
            self.tick(characters >> 6)
