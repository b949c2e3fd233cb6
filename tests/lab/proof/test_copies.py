"""Made green by copies: what tests/lab/proof/test_queue_only.py sees red, searched in the shipped text.

Every fault that ends a side of a dialog at any moment, under every value of every switch that says
what then happens to a message on its way, and under every key. Each search is exhausted, so that
"found nothing" means that nothing is there within its bounds.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from redial_broker.engine.switches import SWITCHES
from redial_lab.explore import Limits, Scenario, World, search
from redial_lab.explore.queries import ask
from redial_lab.proof.places import PLACES
from redial_lab.proof.setups import FAULTS, Setup
from tests.choices import KEYS, TRAITS, WITH_ROWS, usual_recycle

MOST = Limits(transitions=60_000)
"""The largest of them, the lifetimes of both sides, has 20,303."""
ENDS = tuple(name for name in FAULTS if name.endswith(("_now", "_cleaned")))
RACES = (
    "enqueue_at",
    "end_over_open_send",
    "send_over_open_end",
    "expiry_waits_for_sender",
    "broker_error_dooms",
    "initiator_end_acknowledged",
    "error_receiver_state",
    "end_keeps_pending",
    "poison_counts",
)
"""Switches that decide what END and SEND do to each other, and what is left after END."""
VALUES = [{name: value} for name in RACES for value in SWITCHES[name].values]
VALUES.append(
    {
        "broker_error_dooms": True,
        "initiator_end_acknowledged": "never",
        "enqueue_at": "commit",
        "send_over_open_end": "waits",
    }
)
"""Together: a target that has ended stays (DO), messages on their way wait, another END dooms."""


def setup(**fields: object) -> Setup:
    """One sender with a dialog, a transaction of his own around each batch."""
    plain = {"senders": 1, "firings": 0, "caller": "transaction"}
    return Setup(**plain | fields)  # type: ignore[arg-type]


def holds(made: Setup, most: Limits = MOST) -> None:
    """An exhaustive search finds no claim violated.

    Where a refusal of the broker dooms, a sender that held the row when its dialog died rolls back,
    and the row stays as it was until the key's next send: known, on the page of the answer matrix,
    and no message's loss.
    """
    result = search(made.scenario(), most)
    print(result)
    known = {"S6 row of a dead dialog"} if dict(made.switches).get("broker_error_dooms") else set()
    assert result.violations.keys() <= known
    assert result.ended, result.bounded_by
    assert result.ends > 0


def test_the_faults_end_either_side_in_each_of_three_ways():
    assert sorted(ENDS) == [
        "initiator_cleaned",
        "initiator_ends_now",
        "initiator_errors_now",
        "target_cleaned",
        "target_ends_now",
        "target_errors_now",
    ]


@pytest.mark.sampled(every=20, meets=("fault",))
@pytest.mark.parametrize("switches", VALUES, ids=str)
@pytest.mark.parametrize("fault", ENDS)
def test_whoever_ends_whichever_side_no_message_is_lost(fault, switches):
    holds(setup(faults=(fault,), switches=switches))


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("switches", VALUES, ids=str)
def test_a_lifetime_that_ends_at_any_moment_loses_none(switches):
    holds(setup(expiries=1, target_readers=1, switches=switches))


@pytest.mark.sampled(every=2, last=False)  # as many states again
@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_nor_do_the_lifetimes_of_both_sides(enqueue_at):
    holds(setup(expiries=2, switches={"enqueue_at": enqueue_at}))


@pytest.mark.sampled(every=24, meets=("key", "fault"))
@pytest.mark.parametrize(("key", "fault"), list(product(KEYS[1:], (*ENDS, "expiry"))))
def test_the_same_under_every_key(key, fault):
    recycle = {"recycle": usual_recycle(key)}
    ends = {"expiries": 1} if fault == "expiry" else {"faults": (fault,)}
    holds(setup(key=key, **recycle, **ends))


@pytest.mark.sampled(every=6, last=False)  # the first has the fewest states
@pytest.mark.parametrize("fault", ENDS[::-1])
def test_the_same_beside_a_recycle(fault):
    holds(setup(firings=1, faults=(fault,)), Limits(transitions=40_000))


@pytest.mark.parametrize("fault", ["target_ends_now", "target_errors_now"])
def test_what_the_target_s_end_deleted_is_landed_in_the_end(fault):
    """Not only kept: where the sender's side is told, it has all landed at rest."""
    scenario = setup(faults=(fault,)).scenario()
    waiting = scenario.at_the_end

    def nothing_waits(world: World) -> list[str]:
        return waiting(world) + [f"{body} waits" for body in PLACES.pending(world)]

    scenario.at_the_end = nothing_waits
    result = search(scenario, MOST)
    assert (result.violations, result.ended) == ({}, True)


def test_a_copy_that_waits_behind_a_target_removed_in_silence_can_be_seen():
    """Nobody is told of WITH CLEANUP: the message is in vw_Unlanded until the dialog has ended."""
    scenario = setup(faults=("target_cleaned",)).scenario()
    seen = "SELECT vu.MessageSequence FROM audit.vw_Unlanded AS vu WHERE vu.Status = N'pending';"

    def shown(world: World) -> list[str]:
        return [] if len(ask(world, seen) or []) == len(PLACES.pending(world)) else ["hidden"]

    scenario.at_the_end = shown
    result = search(scenario, MOST)
    assert (result.violations, result.ended) == ({}, True)


# ---------------------------------------------------------------------- count and numbers come apart
@pytest.mark.sampled(every=24, meets=("key",))
@pytest.mark.parametrize(("key", "fault"), list(product(KEYS, ENDS)))
def test_a_stranger_s_message_on_a_dialog_costs_no_other_message_its_copy(key, fault):
    holds(setup(key=key, recycle=usual_recycle(key), faults=("stranger_sends", fault)))


def undone(made: Setup) -> Scenario:
    """The same, and between its two messages the sender undoes a third one to a savepoint."""
    scenario = made.scenario()
    [sender] = scenario.clients
    (batch,) = sender.batches
    begin, first, second = batch.split("EXECUTE ")
    third = re.sub(r", 0x\w+", ", 0xBB", first)
    words = (
        f"{begin} EXECUTE {first} SAVE TRANSACTION here; EXECUTE {third} "
        f"ROLLBACK TRANSACTION here; EXECUTE {second}"
    )
    return replace(scenario, clients=(replace(sender, batches=(words,)),))


@pytest.mark.sampled(every=24, meets=("key", "number"))
@pytest.mark.parametrize("number", SWITCHES["undone_send_number"].values)
@pytest.mark.parametrize(
    ("key", "fault"), [pair for pair in product(KEYS, ENDS) if not TRAITS[pair[0]].per_message]
)
def test_nor_does_a_number_that_went_with_a_savepoint(key, fault, number):
    made = setup(
        key=key,
        recycle=usual_recycle(key),
        sends=2,
        faults=(fault,),
        switches={"undone_send_number": number},
    )
    result = search(undone(made), MOST)
    print(result)
    assert result.violations == {} and result.ended and result.ends > 0


# ---------------------------------------------------------------------- findings 3 and 4
def test_a_retry_leaves_a_number_that_can_be_seen():
    holds(
        Setup(
            senders=1,
            firings=0,
            messages=2,
            key="application",
            order="key",
            delivery="exactly_once",
            retries=1,
        )
    )


@pytest.mark.parametrize("key", WITH_ROWS)
def test_one_transaction_keeps_to_one_dialog_when_that_has_its_count(key):
    holds(setup(key=key, slots=2, recycle="aged_out", sends=2))


def test_two_senders_of_a_pool_keep_to_one_dialog_each():
    holds(setup(key="pool", slots=2, recycle="aged_out", sends=2, senders=2, warm=0))


# ---------------------------------------------------------------------- it can fail
def test_without_the_copy_the_search_sees_the_loss():
    made = setup(faults=("target_ends_now",), mutant="copy_not_kept")
    assert set(search(made.scenario(), MOST).violations) == {
        "S3 acknowledged message lost",
        "S7 silent: no error and no message",
    }


def test_by_its_number_alone_a_copy_goes_for_another_message_which_is_lost():
    faults = ("stranger_sends", "target_ends_now")
    made = setup(faults=faults, mutant="copies_by_number_alone")
    assert "S3 acknowledged message lost" in search(made.scenario(), MOST).violations
