"""harness/redial_lab/scenarios/long_transactions.py"""

from __future__ import annotations

from tests.lab.scenarios.lab import caught, clean


def test_an_open_transaction_holds_up_nobody_and_its_dialog_is_recycled_after_it():
    found = clean("long-transactions")
    assert found.landed == found.acknowledged < found.attempted, "one rolled back, one was killed"
    assert found.errors == found.deadlocks == 0


def test_a_reader_that_waits_for_such_a_callers_row_is_caught():
    assert caught("long-transactions").victims
