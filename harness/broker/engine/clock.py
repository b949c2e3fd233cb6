"""The one clock and everything that is due at a time.

Timers are data (journaled entries), not callbacks: the explorer fires them in any order it likes,
the server fires them when they are due.
"""

from __future__ import annotations

import heapq
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from harness.broker.engine.journal import MISSING, Journal, Part

EPOCH = datetime(2026, 1, 1)
"""Start of virtual time (UTC)."""


class VirtualClock:
    """Time that moves only when told to. Seconds since EPOCH."""

    def __init__(self, start: float = 0.0) -> None:
        self.seconds = start

    def now(self) -> float:
        """Seconds since EPOCH."""
        return self.seconds

    def utc(self) -> datetime:
        """The current moment, naive UTC."""
        return EPOCH + timedelta(seconds=self.seconds)

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
        """The current moment, naive UTC."""
        return EPOCH + timedelta(seconds=self.now())


class Timers(Part):
    """What is due when. An entry is (kind, key) -> due time in clock seconds."""

    __slots__ = ("_heap", "_journal", "entries")

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self._heap: list[tuple[float, tuple[str, Any]]] = []
        self.entries: dict[tuple[str, Any], float] = {}

    def set(self, transaction: Any, kind: str, key: Any, due: float) -> None:
        """Arm or move a timer; part of ``transaction`` when one is given."""
        self._journal.put(transaction, self, self.entries, (kind, key), due)
        if not self._journal.recording:
            heapq.heappush(self._heap, (due, (kind, key)))

    def cancel(self, transaction: Any, kind: str, key: Any) -> None:
        """Disarm a timer; no error when it is not armed."""
        if (kind, key) in self.entries:
            self._journal.put(transaction, self, self.entries, (kind, key), MISSING)

    def next_due(self) -> float | None:
        """When the earliest timer is due, in clock seconds."""
        if self._journal.recording:
            return min(self.entries.values(), default=None)
        heap = self._heap
        while heap and self.entries.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        if not heap and self.entries:  # a rollback or rewind brought entries back
            self._heap = heap = [(due, entry) for entry, due in self.entries.items()]
            heapq.heapify(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: float) -> list[tuple[str, Any]]:
        """Disarm and return what is due by ``now``, earliest first, then by kind and key."""
        if self._journal.recording:
            due = sorted((at, entry) for entry, at in self.entries.items() if at <= now)
        else:
            due = []
            while (at := self.next_due()) is not None and at <= now:
                entry = heapq.heappop(self._heap)[1]
                due.append((at, entry))
                self._journal.put(None, self, self.entries, entry, MISSING)
        for _, entry in due:
            if entry in self.entries:
                self._journal.put(None, self, self.entries, entry, MISSING)
        return [entry for _, entry in due]

    def content(self) -> Any:
        """Armed timers, with their due times (virtual time does not move between steps)."""
        return sorted(self.entries.items(), key=repr)
