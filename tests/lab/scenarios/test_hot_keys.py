"""harness/redial_lab/scenarios/hot_keys.py"""

from __future__ import annotations

from redial_lab.scenarios.hot_keys import SCENARIO
from tests.lab.scenarios.lab import caught, clean


def test_a_key_that_is_never_free_is_recycled_under_load():
    found = clean("hot-keys")
    assert found.attempted == found.acknowledged == found.landed
    assert found.dialogs > 10, "dialogs are replaced under load"


def test_a_recycle_that_does_not_queue_up_for_the_row_is_caught():
    assert SCENARIO.mutant == "recycle_never_waits"
    assert any("busy keys were kept" in text for text in caught("hot-keys").problems)
