"""A new version of the contract beside live callers: nobody is refused, nothing is lost."""

from __future__ import annotations

import pytest

from redial_lab.explore import Limits, search
from redial_lab.explore.walk import Walks, walk
from redial_lab.proof.rollout import BOTH, NEW, OLD, V2, difference, rolled_out
from tests.sampling import every_night, full, turn

STEPS = 2_000
"""Of one walk; a deployment beside two callers has some 900."""
CHANGES = 2
"""Of priority in a walk: a caller comes in somewhere, and the deployment somewhere in its sending."""
WALKS = 400 if every_night() else 50 if full() else 4
FIRST = 50 * turn(8) if full() else 0
"""Four hundred in eight nights."""
WALKED = Walks(WALKS, first=FIRST, steps=STEPS, length=900, changes=CHANGES)


def clean(result) -> None:
    print(result)
    assert result.violations == {} and result.ends > 0


@pytest.mark.parametrize("in_transaction", [False, True], ids=["autocommit", "own transaction"])
def test_callers_get_in_while_the_new_version_comes_beside_the_old(in_transaction):
    scenario = rolled_out(in_transaction=in_transaction)
    clean(walk(scenario, WALKED))


def test_callers_get_in_while_the_old_version_goes():
    """They pass the new one by then, and their dialogs are on it: expand, wait, contract."""
    clean(walk(rolled_out(BOTH, NEW, contract=V2), WALKED))


@pytest.mark.nightly("every order is searched, which takes minutes")
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first use"])
def test_every_order_of_a_rollout_and_a_caller_is_searched(warm):
    result = search(rolled_out(warm=warm, cold=not warm), Limits(transitions=None, depth=STEPS))
    clean(result)
    assert result.ended, result.bounded_by


def test_a_version_taken_away_from_its_callers_is_caught():
    """The mistake: contract without expanding first, and without the gate that a deployment closes."""
    scenario = rolled_out(batches=difference(OLD, NEW, without="29_"))
    result = walk(
        scenario, Walks(20, steps=STEPS, length=900, changes=CHANGES, until="a sender was refused")
    )
    assert "a sender was refused" in result.violations, result
