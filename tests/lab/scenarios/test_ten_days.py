"""harness/redial_lab/scenarios/ten_days.py"""

from __future__ import annotations

from functools import partial

from redial_lab.scenarios.ten_days import CALLERS, DAYS, MINUTES, tell
from tests.lab.scenarios.lab import caught, clean
from tests.sampling import full

TOLD = DAYS if full() else 1


def test_a_reader_that_is_never_without_a_message_is_replaced_and_identities_pass_the_end_of_an_int():
    found = clean("ten-days", partial(tell, days=TOLD))
    assert found.landed == found.acknowledged == TOLD * 24 * 60 // MINUTES * CALLERS


def test_a_reader_that_never_leaves_counts_to_the_end_of_an_int():
    # One day shows it; ten take half an hour.
    found = caught("ten-days", partial(tell, days=1))
    assert any("readers in" in problem for problem in found.problems)
    assert any("ErrorLog" in problem for problem in found.problems)
