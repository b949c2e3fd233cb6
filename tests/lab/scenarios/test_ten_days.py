"""harness/redial_lab/scenarios/ten_days.py"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from redial_lab.scenarios.story import told
from redial_lab.scenarios.ten_days import DAYS, SCENARIO, tell
from redial_lab.virtual import VirtualPort
from tests.sampling import full

DAYS_TOLD = DAYS if full() else 1


def ends(mutant: str | None = None):
    """How so many days end."""
    return told(replace(SCENARIO, tell=partial(tell, days=DAYS_TOLD)), VirtualPort(), mutant)


def test_a_reader_that_is_never_without_a_message_is_replaced_and_identities_pass_the_end_of_an_int():
    found = ends()
    assert found.problems == []
    assert found.landed == found.acknowledged == DAYS_TOLD * 24 * 12 * 3


def test_a_reader_that_never_leaves_counts_to_the_end_of_an_int():
    found = ends("reader_never_leaves")
    assert any("readers in" in problem for problem in found.problems)
    assert any("ErrorLog" in problem for problem in found.problems)
