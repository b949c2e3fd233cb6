"""The one clock and everything that is due at a time.

Timers are data (journaled entries), not callbacks: the explorer fires them in any order it likes,
the server fires them when they are due.
"""

from __future__ import annotations

import heapq
import time
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import MISSING, Journal, Part
from redial_broker.engine.seventh_digit import PER_SECOND, moved
from redial_broker.engine.state import SAME, derived, journaled, made, state

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction

EPOCH = datetime(2026, 1, 1)
"""Start of virtual time (UTC)."""


class VirtualClock:
    """Time that moves only when told to. Seconds since EPOCH."""

    def __init__(self, start: float = 0.0) -> None:
        self.seconds = start
        self._told = 0.0, EPOCH  # the moment asked for last: time rarely moves between questions

    def now(self) -> float:
        """Seconds since EPOCH."""
        return self.seconds

    def utc(self) -> datetime:
        """The current moment, naive UTC."""
        if self.seconds != self._told[0]:
            self._told = self.seconds, moved(EPOCH, round(self.seconds * PER_SECOND))
        return self._told[1]

    def advance(self, seconds: float) -> None:
        """Move time forward. Raises ValueError for a negative step."""
        if seconds < 0:
            raise ValueError(f"cannot advance the clock by {seconds} s: time only goes forward")
        self.seconds += seconds


class RealClock:
    """Wall-clock time, for a server behind TDS."""

    def __init__(self) -> None:
        self._offset = (
            datetime.now(UTC).replace(tzinfo=None) - EPOCH
        ).total_seconds() - time.monotonic()

    def now(self) -> float:
        """Seconds since EPOCH, never going back."""
        return time.monotonic() + self._offset

    def utc(self) -> datetime:
        """The current moment, naive UTC, to 100 ns as SYSUTCDATETIME tells it."""
        return moved(EPOCH, round(self.now() * PER_SECOND))


class Timers(Part):
    """What is due when. An entry is (kind, key) -> due time in clock seconds.

    key: a session for kind "wait"; for other kinds what their room chose, so Any.
    """

    __slots__ = ("_heap", "_journal", "_order", "entries")
    STATE = state(
        journaled("entries", show=lambda entries: sorted(entries.items(), key=repr)),
        derived("_heap", "_order", why="an order of ``entries`` that the real clock uses"),
        made("_journal", hidden=SAME),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self._heap: list[tuple[float, int, tuple[str, Any]]] = []
        self._order = count()  # of arming: decides between equal times, sessions do not compare
        self.entries: dict[tuple[str, Any], float] = {}

    def set(self, transaction: Transaction | None, kind: str, key: Any, due: float) -> None:
        """Arm or move a timer; part of ``transaction`` when one is given."""
        self._journal.put(transaction, self, self.entries, (kind, key), due)
        if not self._journal.recording:
            heapq.heappush(self._heap, (due, next(self._order), (kind, key)))

    def cancel(self, transaction: Transaction | None, kind: str, key: Any) -> None:
        """Disarm a timer; no error when it is not armed."""
        if (kind, key) in self.entries:
            self._journal.put(transaction, self, self.entries, (kind, key), MISSING)

    def next_due(self) -> float | None:
        """When the earliest timer is due, in clock seconds.

        May be the time of one that was moved or cancelled since: a rollback may bring it back, so
        the heap forgets it only when its time has come.
        """
        if self._journal.recording:
            return min(self.entries.values(), default=None)
        if len(self._heap) < len(self.entries):
            self._rebuild()
        return self._heap[0][0] if self.entries else None

    def forget_order(self) -> None:
        """Entries were armed or brought back past the heap (while recording, or by a rewind)."""
        self._heap.clear()

    def _rebuild(self) -> None:
        """A rollback or a rewind has brought entries back that the heap does not know."""
        self._heap = [(due, next(self._order), entry) for entry, due in self.entries.items()]
        heapq.heapify(self._heap)

    def pop_due(self, now: float) -> list[tuple[str, Any]]:
        """Disarm and return what is due by ``now``: earliest first, then in the order of arming."""
        entries = self.entries
        if TYPE_CHECKING:
            found: list[tuple[float, str | int, tuple[str, Any]]]
        if self._journal.recording:
            found = sorted((at, repr(entry), entry) for entry, at in entries.items() if at <= now)
        else:
            found, heap = [], self._heap
            while heap and heap[0][0] <= now:
                at, order, entry = heapq.heappop(heap)
                if entries.get(entry) == at:
                    found.append((at, order, entry))
        due = list(dict.fromkeys(entry for _, _, entry in found))
        for entry in due:
            self._journal.put(None, self, entries, entry, MISSING)
        return due
