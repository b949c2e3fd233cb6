"""harness/redial_lab/scenarios/deadlock_storm.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_twenty_callers_in_transactions_and_recycling_readers_never_deadlock():
    found = clean("deadlock-storm")
    assert found.attempted == found.acknowledged == found.landed >= 400
    assert found.dialogs > 20, "dialogs are replaced during the storm"


def test_a_reader_that_asks_for_the_row_while_it_has_the_conversation_is_caught():
    found = caught("deadlock-storm")
    assert found.deadlocks and found.victims
    assert any("usp_RecycleConversation" in text and "holds X" in text for text in found.problems)
