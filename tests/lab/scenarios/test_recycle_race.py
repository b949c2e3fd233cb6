"""harness/redial_lab/scenarios/recycle_race.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_no_message_goes_out_behind_its_dialogs_end_of_stream():
    found = clean("recycle-race")
    assert found.attempted == found.acknowledged == found.landed
    assert found.dialogs > 20, "dialogs are replaced under load"


def test_a_sender_that_does_not_keep_the_row_locked_is_caught():
    """Its message is sent, its copy finds the row gone: told 50105, and landed all the same."""
    problems = caught("recycle-race").problems
    assert any("50105" in text for text in problems)
    assert any("landed, the caller was told no" in text for text in problems)
