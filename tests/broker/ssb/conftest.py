"""A small world for the tests: one database, two services, sessions that drive ssb directly."""

from __future__ import annotations

import pytest

from tests.broker.ssb.world import World


@pytest.fixture
def world() -> World:
    """Initiator service I on queue dbo.IQ, target service T on queue dbo.TQ, contract C."""
    return World()
