"""Senders who share a key: two first users at a time, and a recycle that queues up for the row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_lab.explore import Limits, search
from redial_lab.explore.world import World
from redial_lab.proof.setups import Setup

from .bounds import far_enough, most


def told(world: World) -> list[str]:
    """Numbers of the errors callers were told."""
    return [
        f"told {number}"
        for number in sorted(
            {number for client in world.progress.results for batch in client for number in batch}
        )
    ]


def searched(setup: Setup, limits: Limits):
    """Search with every claim, and with what callers are told."""
    made = setup.scenario()
    at_rest = made.at_the_end
    made = replace(made, at_the_end=lambda world: at_rest(world) + told(world))
    result = search(made, limits)
    print(result)
    assert far_enough(result, limits), result.bounded_by
    return result


@pytest.mark.sampled(every=5, meets=("caller", "counts"))
@pytest.mark.parametrize("caller", ["transaction", "xact_abort", "trigger"])
@pytest.mark.parametrize("counts", ["raised", "raised or caught"])
def test_no_caller_is_told_that_another_transaction_made_the_row_of_his_key(caller, counts):
    """2627, whatever XACT_ABORT is where it is caught (F-400)."""
    setup = Setup(
        key="application", warm=0, firings=0, caller=caller, switches={"xact_abort_counts": counts}
    )
    assert searched(setup, most(3_000)).violations == {}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "setup",
    [
        Setup(key="application", overdue=True, caller="transaction"),
        Setup(
            key="application",
            overdue=True,
            caller="xact_abort",
            switches={"xact_abort_counts": "raised or caught"},
        ),
        Setup(key="pool", overdue=True, caller="transaction"),
        Setup(senders=1, overdue=True, readers=2, caller="transaction"),
        Setup(
            senders=1,
            overdue=True,
            caller="transaction",
            faults=("kill",),
            switches={"killed_reader": "relaunched"},
        ),
        Setup(senders=1, overdue=True, caller="transaction", faults=("lock_timeout",)),
        Setup(senders=1, overdue=True, caller="transaction", faults=("target_ends",)),
    ],
    ids=str,
)
def test_a_recycle_that_waits_for_its_row_deadlocks_with_nobody(setup):
    """It holds nothing while it waits, and takes row and group in the senders' order (F-410)."""
    found = searched(setup, most(3_000)).violations
    assert {name for name in found if not name.startswith("told")} == set()
