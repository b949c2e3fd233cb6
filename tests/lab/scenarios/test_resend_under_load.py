"""harness/redial_lab/scenarios/resend_under_load.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_what_was_pending_on_failed_dialogs_lands_once_byte_for_byte_and_in_order():
    found = clean("resend-under-load")
    assert found.attempted == found.acknowledged == found.landed
    assert found.errors == 0


def test_a_resend_that_cuts_bodies_to_one_byte_is_caught():
    """And loses none: a copy goes for what has its bytes, so after twenty times it is a dead letter."""
    found = caught("resend-under-load")
    assert found.unexpected and found.duplicated and found.dead_lettered and not found.lost
