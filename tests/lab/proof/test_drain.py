"""usp_Drain beside senders, in every order: each gets in or gets 50102, nothing comes after it."""

from __future__ import annotations

import pytest

from redial_lab.explore import Limits, Scenario, search
from redial_lab.proof.drain import drained, with_key
from tests.choices import OTHERS


def exhausted_and_clean(scenario: Scenario) -> None:
    result = search(scenario)
    print(result)
    assert result.ended, result.bounded_by
    assert result.violations == {}
    assert result.ends > 0


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("in_transaction", [False, True], ids=["autocommit", "own transaction"])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first use"])
@pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])
def test_a_sender_gets_in_before_the_gate_or_is_refused(in_transaction, warm, rcsi):
    exhausted_and_clean(drained(in_transaction=in_transaction, warm=warm, cold=not warm, rcsi=rcsi))


@pytest.mark.sampled(every=15, meets=("key",))
@pytest.mark.parametrize("in_transaction", [False, True], ids=["autocommit", "own transaction"])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first use"])
@pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])
@pytest.mark.parametrize("key", OTHERS)
def test_so_does_one_that_shares_its_dialog_or_has_no_row(key, in_transaction, warm, rcsi):
    exhausted_and_clean(
        drained(
            config=with_key(key), in_transaction=in_transaction, warm=warm, cold=not warm, rcsi=rcsi
        )
    )


def test_a_drain_that_looks_at_a_pool_without_locks_is_caught():
    """The mutant takes a slot that is locked and about to be used for a free one."""
    scenario = drained(config=with_key("pool"), warm=False, mutant="drain_looks_without_lock")
    result = search(scenario, Limits(until="message after the drain"))
    assert "message after the drain" in result.violations


def test_a_drain_that_reads_past_a_busy_row_is_caught():
    """The mutant misses a first sender's placeholder: its message comes after the drain."""
    scenario = drained(warm=False, mutant="drain_reads_past")
    result = search(scenario, Limits(until="message after the drain"))
    assert "message after the drain" in result.violations
