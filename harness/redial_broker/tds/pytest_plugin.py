"""pytest fixtures: one embedded broker for the whole run, every test on the same prepared state.

Put ``pytest_plugins = ["redial_broker.tds.pytest_plugin"]`` into the top ``conftest.py`` and
override ``redial_prepare`` there. What it prepares is made once; each test that asks for
``redial_broker`` finds it untouched, because the broker is restored after the test, in the time its
own changes take to undo (``Snapshot``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from redial_broker.tds.embedded import EmbeddedBroker

if TYPE_CHECKING:
    from redial_broker.instance.snapshot import Snapshot


@pytest.fixture(scope="session")
def redial_prepare() -> Callable[[EmbeddedBroker], None]:
    """Override: a function that makes databases, deploys, loads data."""
    return lambda broker: None


@pytest.fixture(scope="session")
def redial_prepared(
    redial_prepare: Callable[[EmbeddedBroker], None],
) -> Iterator[tuple[EmbeddedBroker, Snapshot]]:
    """The prepared broker, on the virtual clock, and the snapshot every test starts from."""
    with EmbeddedBroker(clock="virtual") as broker:
        redial_prepare(broker)
        yield broker, broker.snapshot()


@pytest.fixture
def redial_broker(redial_prepared: tuple[EmbeddedBroker, Snapshot]) -> Iterator[EmbeddedBroker]:
    """The broker as ``redial_prepare`` left it."""
    broker, snapshot = redial_prepared
    yield broker
    broker.restore(snapshot)
