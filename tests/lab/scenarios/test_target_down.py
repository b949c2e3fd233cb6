"""harness/redial_lab/scenarios/target_down.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_an_hour_without_a_target_loses_and_delays_nothing_beyond_it():
    found = clean("target-down")
    assert found.landed == found.acknowledged == found.attempted
    assert found.dialogs > 16, "dialogs are recycled while the target is down"


def test_an_initiator_that_ends_its_dialogs_itself_is_caught():
    assert caught("target-down").leaked > 16
