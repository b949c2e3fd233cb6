"""`--fewer` comes to an end for every two values of a setup's fields, with the same outcomes.

In three nights every allowed pair of values is met (tests/lab/proof/pairs.py); on the gate those setups
that once ended in an error.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Limits, search
from redial_lab.explore.persistent import persistent
from redial_lab.proof.setups import Setup
from tests.lab.proof.pairs import APART, made, pairwise
from tests.sampling import full

ONCE_BROKEN = (
    "senders=1 firings=0 faults=target_ends",
    "senders=1 firings=0 retire=1",
    "senders=1 firings=0 drain=1",
    "senders=1 firings=0 switches=bad_optimizer:true",
)
BOUND = Limits(transitions=2_000 if full() else 500)


@pytest.mark.parametrize("setup", ONCE_BROKEN)
def test_what_once_was_broken_ends_with_the_outcomes_of_the_whole_search(setup: str):
    ends_alike(Setup.parse(setup))


@pytest.mark.parametrize("fault", APART)
def test_a_fault_ends_with_the_outcomes_of_the_whole_search(fault: str):
    ends_alike(Setup(senders=1, faults=(fault,)))


@pytest.mark.nightly("every two values of a setup's fields are some hundred searches")
@pytest.mark.parametrize("setup", pairwise()[0], ids=str)
def test_it_ends_with_the_outcomes_of_the_whole_search(setup: Setup):
    ends_alike(setup)


def ends_alike(setup: Setup) -> None:
    """By both ways, or the whole search is what was run."""
    fewer = persistent(setup.scenario(), BOUND)
    assert fewer.transitions > 0
    if fewer.whole_because:
        return  # it was the whole search, and the report says so
    whole = search(setup.scenario(), BOUND)
    if whole.ended:
        assert fewer.ended
        assert set(fewer.violations) == set(whole.violations)
        assert set(fewer.accounts) == set(whole.accounts)


def test_a_pair_that_is_refused_is_no_setup():
    plain = {"key": "single", "recycle": "timer"}
    assert made(plain) is None
    assert made({"key": "single", "recycle": "never"}) is not None
