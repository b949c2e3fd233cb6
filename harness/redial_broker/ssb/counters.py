"""What Service Broker has done since the instance started: the Broker performance counters.

Names: pages of the SQL Server Broker Statistics and Broker Activation objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.journal import Part
from redial_broker.engine.state import SAME, made, saved, state

if TYPE_CHECKING:
    from redial_broker.engine.journal import Journal

(SENDS, RECEIVES, ENQUEUED, WAITING, DEQUEUED, ROLLBACKS, STARTED, ABORTED, ERRORS) = range(9)
"""SEND and RECEIVE statements, messages put into queues, into and out of transmission queues,
rolled-back transactions that used the broker, activated tasks started, aborted, ended by errors."""
PRIORITY = 9
"""PRIORITY + n: messages of priority n (1 to 10) put into queues."""


class Counters(Part):
    """One instance's counts, by the numbers above."""

    __slots__ = ("_journal", "values")
    STATE = state(
        saved("values", copy=tuple, in_place=True, show=list, when="counters"),
        made("_journal", hidden=SAME),
        journal="_journal",
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.values = [0] * (PRIORITY + 11)

    def add(self, journal: Journal, which: int, more: int = 1) -> None:
        """Count; a rewind takes it back."""
        if journal.recording:
            journal.save(self)
        self.values[which] += more

    def enqueued(self, journal: Journal, priority: int) -> None:
        """A message was put into a queue: the hot path of every SEND."""
        if journal.recording:
            journal.save(self)
        values = self.values
        values[ENQUEUED] += 1
        values[PRIORITY + priority] += 1
