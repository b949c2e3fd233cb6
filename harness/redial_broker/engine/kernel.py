"""The engine of one instance: everything that is shared by its databases and sessions."""

from __future__ import annotations

from typing import Any

from redial_broker.engine.access import Access
from redial_broker.engine.clock import RealClock, Timers, VirtualClock
from redial_broker.engine.hobts import HobtIds
from redial_broker.engine.journal import Journal
from redial_broker.engine.locks import LockManager
from redial_broker.engine.meter import Meter
from redial_broker.engine.switches import of_an_instance, value
from redial_broker.engine.transactions import TransactionManager


class Alone:
    """What a session's step is where nothing is searched: nobody comes between its statements."""

    each_statement = False
    """Whether each of them is a step."""

    def time_may_pass(self, session: Any) -> bool:  # any session
        """Whether it may pass between two of them."""
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
        self.others = Alone()
        """Of a search: what they do between two statements of a session."""
        self.access = Access(self.locks, self.meter)
        self.hobt_ids = HobtIds(self.journal)
