"""usp_SendBatch under the search: a dialog that dies at any moment never splits or loses a batch.

States and transitions are printed: `pytest -s tests/lab/explore` shows them.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Scenario, search
from redial_lab.explore.search import Limits
from redial_lab.proof.batch import CALLERS, crossing, dead_in_mid_batch


def exhausted_and_clean(scenario: Scenario) -> None:
    result = search(scenario)
    print(result)
    assert result.ended, result.bounded_by
    assert result.violations == {}
    assert result.ends > 0


@pytest.mark.parametrize("key", ["application", "spid"])
@pytest.mark.parametrize("caller", CALLERS)
def test_a_dialog_removed_at_any_moment_splits_and_loses_no_batch(key, caller):
    """Rolled back whole and replayed, or, in the caller's transaction, that key on a new dialog."""
    exhausted_and_clean(dead_in_mid_batch(key, caller))


@pytest.mark.parametrize("caller", ["own transaction", "caller that goes on"])
@pytest.mark.parametrize(
    "switches",
    [{"broker_error_dooms": True}, {"savepoint_over_verbs": "refused"}],
    ids=["dooms", "no savepoint over SEND"],
)
def test_neither_does_it_where_the_unknown_facts_are_otherwise(caller, switches):
    """F-131 and F-333 under their other values."""
    exhausted_and_clean(dead_in_mid_batch("application", caller, switches=switches))


@pytest.mark.parametrize("caller", ["own transaction", "caller with XACT_ABORT ON"])
@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_a_kill_or_a_cancel_anywhere_leaves_a_whole_batch_or_none(caller, fault):
    exhausted_and_clean(dead_in_mid_batch("application", caller, **{fault: 1}))


@pytest.mark.sampled(every=2, last=False)  # two recycles of a shared key: twice as many states
@pytest.mark.parametrize(
    ("key", "caller"), [("spid", "caller with XACT_ABORT ON"), ("application", "own transaction")]
)
def test_neither_does_a_recycle_at_any_moment(key, caller):
    exhausted_and_clean(dead_in_mid_batch(key, caller, firings=1))


def test_two_batches_whose_keys_cross_do_not_deadlock():
    """R is taken in the order of the keys, whatever the order of the messages."""
    exhausted_and_clean(crossing())


@pytest.mark.parametrize(
    ("mutant", "caller", "found"),
    [
        ("batch_from_the_start", "caller that goes on", "message doubled"),
    ],
)
def test_the_search_finds_what_the_procedure_guards_against(mutant, caller, found):
    result = search(dead_in_mid_batch("application", caller, mutant=mutant), Limits(until=found))
    print(result)
    assert found in result.violations
