"""Walks: the same seed the same schedules; what a search finds they find, with luck and in time."""

from __future__ import annotations

import pytest

from redial.paths import ROOT
from redial_lab.explore import Limits, World, search
from redial_lab.explore.search_report import report
from redial_lab.explore.user_files import load
from redial_lab.explore.vary import vary
from redial_lab.explore.walk import Walks, walk
from tests.sampling import full

EXAMPLES = ROOT / "sql" / "examples"
TICKETS = "tickets from nowhere"


@pytest.fixture(scope="module")
def tickets():
    return load(EXAMPLES / "tickets/first_try.toml")[0]


@pytest.mark.parametrize("changes", [None, 2], ids=["random", "PCT"])
def test_a_seed_is_a_run_and_another_seed_another(tickets, changes):
    first, again, other = (
        walk(tickets, Walks(40, seed=seed, changes=changes)) for seed in (1, 1, 2)
    )
    assert (first.states, first.taken, first.violations) == (
        again.states,
        again.taken,
        again.violations,
    )
    assert first.taken != other.taken
    assert first.walks == 40 and not first.ended


@pytest.mark.parametrize("changes", [None, 2], ids=["random", "PCT"])
def test_a_violation_is_found_and_its_walk_can_be_walked_alone(tickets, changes):
    found = walk(tickets, Walks(300, seed=7, changes=changes, until=TICKETS))
    violation = found.violations[TICKETS]
    alone = walk(tickets, Walks(1, seed=7, first=violation.walk, changes=changes))
    assert alone.violations[TICKETS].path == violation.path
    world = World(tickets)
    for step in violation.path:
        assert step in world.steps()
        world.take(step)
    assert world.scenario.on_every_state(world) == [TICKETS]


def test_walks_find_nothing_where_a_search_finds_nothing_and_see_no_other_states():
    mended = load(EXAMPLES / "tickets/mended.toml")[0]
    for changes in (None, 3):
        result = walk(mended, Walks(60, changes=changes))
        assert result.violations == {}
        assert {"kill", "cancel"} <= set(result.taken)
        assert result.states <= search(mended).states


def test_a_report_names_bounds_faults_switches_seed_and_commit(tickets):
    read: set[str] = set()
    result = walk(tickets, Walks(5, seed=3), read)
    lines = dict(line.split(None, 1) for line in report(tickets, result, read))
    assert "bounded by 5 walks from 0 (random), seed 3" in lines["result"]
    assert (lines["walks"], lines["seed"]) == ("5", "3")
    assert "bad_optimizer" in lines["switches"]
    assert {"faults", "commit", "seconds", "states", "transitions"} <= set(lines)


def test_every_value_of_every_switch_that_is_asked_for_is_searched():
    """A bad optimizer scans: the sender of seed 002 is then blocked by rows of others as well."""
    scenario = load(EXAMPLES / "forum/transaction.toml")[0]
    limits = Limits(transitions=None if full() else 1_000)
    found = {(v.name, v.value): v.result for v in vary(scenario, limits)}
    assert ("", None) in found and ("bad_optimizer", True) in found
    assert all(
        result.ended or result.transitions == limits.transitions for result in found.values()
    )
    assert all("deadlock" in result.violations for result in found.values())
