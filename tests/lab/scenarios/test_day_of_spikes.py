"""harness/redial_lab/scenarios/day.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_a_day_with_three_spikes_ends_with_every_message_landed_and_no_dialog_left():
    found = clean("day")
    assert found.landed == found.acknowledged == found.attempted > 1_000
    assert found.dialogs > 100, "dialogs are replaced hour by hour"


def test_a_timer_in_minutes_instead_of_seconds_is_caught():
    found = caught("day")
    assert found.leaked == found.dialogs
