"""harness/redial_lab/scenarios/pool_contention.py"""

from __future__ import annotations

from redial_lab.scenarios.all import SCENARIOS
from tests.lab.scenarios.lab import caught, verdict


def test_who_finds_every_slot_busy_is_refused_in_time_and_a_killed_caller_keeps_none():
    found = verdict("pool-contention")
    assert found.problems == []
    assert found.landed == found.acknowledged > 400
    assert found.errors == 8, "those whom every slot was busy for, each once: 50101"


def test_a_caller_who_waits_without_end_is_caught():
    assert SCENARIOS["pool-contention"].mutant == "slot_waited_for_ever"
    assert "caller 4 waited 60 s in vain" in caught("pool-contention").problems
