"""The engine of one instance: everything that is shared by its databases and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.access import Access
from redial_broker.engine.clock import RealClock, Timers, VirtualClock
from redial_broker.engine.hobts import HobtIds
from redial_broker.engine.journal import Journal
from redial_broker.engine.locks import LockManager
from redial_broker.engine.meter import Meter
from redial_broker.engine.switches import of_an_instance, value
from redial_broker.engine.transactions import TransactionManager

if TYPE_CHECKING:
    from collections.abc import Callable


def never(session: Any) -> bool:  # any session
    """No time passes: nothing is searched."""
    return False


class Engine:
    """Clock, journal, timers, locks, transactions and row access, plus the instance's counters."""

    def __init__(
        self,
        seed: int = 0,
        clock: VirtualClock | RealClock | None = None,
        switches: dict[str, Any] | None = None,
    ) -> None:
        self.seed = seed
        self.clock = clock or VirtualClock()
        self.switches = of_an_instance(switches or {})
        self.journal = Journal()
        self.timers = Timers(self.journal)
        self.locks = LockManager(self.journal, self.clock.now, self.timers)
        self.locks.weighs_group_waits = value(self, "send_wait_log") == "counts"
        self.locks.unchanged_rows = value(self, "plain_read_locks") == "every row"
        self.transactions = TransactionManager(self.journal, self.locks)
        self.meter = Meter()
        self.time_may_pass: Callable[[Any], bool] = never
        """Of a search: whether time may pass between two statements of that session."""
        self.access = Access(self.locks, self.meter)
        self.hobt_ids = HobtIds(self.journal)
