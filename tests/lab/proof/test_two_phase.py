"""The shipped procedures under the same search, with faults: exhausted, and nothing to report.

States and transitions are printed: `pytest -s tests/lab/explore` shows them.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Limits, Scenario, search
from redial_lab.proof.audit_setups import two_phase
from tests.sampling import longest_tonight

from .bounds import far_enough, most


def clean(scenario: Scenario, limits: Limits) -> None:
    result = search(scenario, limits)
    print(result)
    assert result.violations == {}
    assert result.ends > 0
    assert far_enough(result, limits), result.bounded_by


def test_two_callers_a_reader_a_recycle_and_a_kill_anywhere_lose_nothing():
    clean(two_phase(kills=1), Limits() if longest_tonight(0) else Limits(transitions=3_000))


def test_callers_with_transactions_of_their_own_do_not_deadlock_with_the_reader():
    """Feature sender-never-victim claim, deadlock or concurrency tests: seed 002, every schedule."""
    clean(two_phase(in_transaction=True), most(5_000))


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("in_transaction", [False, True], ids=["autocommit", "own transaction"])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first use"])
@pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])
@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_a_sender_that_dies_or_is_cancelled_at_any_statement_leaves_nothing_behind(
    in_transaction, warm, rcsi, fault
):
    """No message half sent, no lock, no open transaction, no orphan dialog; one night of three
    two timer firings."""
    clean(
        two_phase(
            in_transaction=in_transaction,
            warm=warm,
            cold=not warm,
            rcsi=rcsi,
            firings=2 if longest_tonight(1) else 1,
            **{fault: 1},
        ),
        Limits(),
    )
