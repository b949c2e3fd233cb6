"""The shipped default, three senders and two readers, one recycle and one resend: as far as a bound
of transitions goes; with REDIAL_FULL about a minute's worth each. To the end: invoke bench --what explore.
"""

import pytest

from redial_lab.explore import Limits
from redial_lab.explore.persistent import persistent
from redial_lab.proof.setups import Setup
from tests.sampling import full

TRANSITIONS = 100_000 if full() else 2_000


@pytest.mark.parametrize("isolation", ["rc", "rcsi"])
def test_three_senders_two_readers_a_recycle_and_a_resend(isolation):
    setup = Setup(senders=3, readers=2, lifetimes=1, isolation=isolation)
    found = persistent(setup.scenario(), Limits(transitions=TRANSITIONS, depth=None))
    print(found)
    assert not found.violations
    assert found.ended or found.transitions == TRANSITIONS
    assert found.ends and not found.circles


def test_one_sender_to_the_end():
    found = persistent(Setup(senders=1, readers=2).scenario(), Limits(transitions=None))
    assert found.ended and not found.violations
