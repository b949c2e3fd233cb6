"""The dialog-per-message load of ``invoke bench --what endpoints``, scaled down."""

from __future__ import annotations

import pytest

from redial_broker.ssb.closing import CLOSED_RETENTION_S
from redial_lab.bench.endpoints import MINUTES, PER_SECOND, play

SCALED = 4
"""Messages a second here."""


@pytest.fixture(scope="module")
def minutes():
    print(f"scale: {SCALED} messages a second of {PER_SECOND}, all {MINUTES} minutes")
    return list(play(SCALED, MINUTES))


def test_closed_endpoints_pile_up_for_half_an_hour(minutes):
    for minute in minutes[: CLOSED_RETENTION_S // 60 - 1]:
        assert minute.closed == minute.number * 60 * SCALED


def test_then_as_many_go_as_come(minutes):
    """Counted when a minute is over: what was closed exactly half an hour before has just gone."""
    assert [minute.closed for minute in minutes[-3:]] == [(CLOSED_RETENTION_S - 1) * SCALED] * 3
