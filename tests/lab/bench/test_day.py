"""The load of ``invoke bench --what day``, scaled down: nothing is left behind, nothing is lost."""

from __future__ import annotations

import pytest

from redial_lab.bench.day import HOURS, SENDS_A_MINUTE, Day
from tests.sampling import full

SCALED_HOURS = 4 if full() else 2


@pytest.fixture(scope="module")
def hours():
    print(f"scale: {SCALED_HOURS} hours of {HOURS}, 1 message a minute of {SENDS_A_MINUTE}")
    return list(Day(sends_a_minute=1).hours(SCALED_HOURS))


@pytest.mark.parametrize("what", ["locks", "versions", "journal"])
def test_between_two_hours_nobody_holds(hours, what):
    assert {hour.held[what] for hour in hours} == {0}


@pytest.mark.parametrize("what", ["objects", "sessions"])
def test_temporary_things_and_ended_sessions_go(hours, what):
    assert len({hour.held[what] for hour in hours}) == 1


def test_endpoints_timers_and_rows_do_not_pile_up(hours):
    """Feature throughput tests kept: a day of mixed load; threads ST#30, ST#56, endpoints that pile up.

    Eight applications: a dialog each, the one it replaces, and those CLOSED for half an hour."""
    for hour in hours:
        assert hour.held["endpoints"] <= 6 * 8
        assert hour.held["timers"] <= 8 * 8
        assert hour.held["rows"] <= 8 * 8


def test_every_message_of_every_hour_has_landed(hours):
    """Recycled dialogs, rollbacks, killed sessions and errors included; ``Day`` checks each."""
    assert hours[-1].landed == hours[-1].sent > 0


def test_the_same_seed_is_the_same_day():
    one, two = (next(Day(seed=7, sends_a_minute=1).hours(1)) for _ in range(2))
    assert (one.sent, one.held) == (two.sent, two.held)
