"""harness/redial_lab/scenarios/poison.py"""

from __future__ import annotations

from redial_lab.scenarios.all import SCENARIOS
from tests.lab.scenarios.lab import caught, clean


def test_poison_is_dead_lettered_its_neighbours_land_and_the_queue_stays_on():
    found = clean("poison")
    assert found.dead_lettered == 24
    assert found.landed == found.acknowledged - 24


def test_a_reader_that_does_not_look_for_the_doomed_row_is_caught_for_it_never_gets_past_it():
    """Six readers: the queue's own poison handling is off (F-488), so it stays on and nothing lands."""
    assert SCENARIOS["poison"].mutant == "poison_not_recorded"
    found = caught("poison")
    assert found.pending
    assert any(
        line.startswith("dead letters: 0 that should not be, 12 missing") for line in found.problems
    )
