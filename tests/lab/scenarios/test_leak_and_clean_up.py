"""harness/redial_lab/scenarios/leak_and_clean_up.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, verdict


def test_leaked_dialogs_are_shown_ended_and_gone_and_no_other_is_touched():
    found = verdict("leak-and-clean-up")
    assert found.problems == []
    assert found.landed == found.acknowledged == found.attempted
    assert (found.leaked, found.errors) == (0, 0)


def test_a_target_that_cleans_up_instead_of_ending_is_caught():
    assert any(text.startswith("left: ") for text in caught("leak-and-clean-up").problems)
