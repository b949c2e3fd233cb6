"""An engine with plain owners: what the lock manager needs of a session, and nothing more."""

from __future__ import annotations

import pytest

from redial_broker.engine.inside import ATOMIC
from redial_broker.engine.kernel import Engine
from redial_broker.engine.transactions import Transaction


class Owner:
    """Stands for a session."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.wait = None
        self.lock_timeout = -1
        self.deadlock_priority = 0
        self.acted, self.asked = ATOMIC, None
        self.error = None
        self.woken = 0

    def __repr__(self) -> str:
        return f"owner {self.id}"

    def begin_wait(self, record) -> None:
        self.wait = record

    def end_wait(self) -> None:
        self.wait = None

    def wake(self) -> None:
        self.woken += 1

    def interrupt(self, error) -> None:
        self.error = error
        self.wake()


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def begin():
    """begin(51) -> a transaction of an owner with that id."""
    return lambda number: Transaction(Owner(number), number)
