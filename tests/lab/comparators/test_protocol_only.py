"""Design A, the protocol alone: an END of our own loses nothing, anybody else's loses bodies.

Found by search over every order of steps of one sender, the readers and the fault. What is lost is
written down by its number where the initiator's side is told of the end, and only there.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_lab.explore import search
from redial_lab.explore.faults import Fault
from redial_lab.proof.audit_setups import DATABASE
from redial_lab.proof.designs import (
    CASE,
    FALSE_ALARM,
    KEPT,
    LOST,
    MOST,
    NUMBER_ONLY,
    WITHOUT_A_WORD,
    WRITTEN_DOWN,
    outcome,
    scenario,
    steps_to,
)
from redial_lab.proof.setups import NAMES
from tests.product.seeds.lab import Lab

A = "protocol_only"
ID = "00000000-0000-0000-0000-0000000000a1"
ORDERLY = Fault(
    "end_target",
    database=DATABASE,
    sql=(
        "DECLARE @c uniqueidentifier = (SELECT TOP (1) e.conversation_id "
        "FROM sys.conversation_endpoints AS e WITH (NOLOCK) WHERE e.is_initiator = 0 "
        "AND e.state = 'CO'); EXECUTE audit.usp_EndTarget @conversationId = @c;"
    ),
)
"""An operator who ends the target's side by the procedure made for it."""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"enqueue_at": "commit"},
        {"end_over_open_send": "leaves"},
        {"expiry_waits_for_sender": True},
    ],
    ids=str,
)
def test_it_keeps_what_our_own_reader_ended_too_early(switches):
    """A lifetime that ends beside an open SEND: found lost before (test_queue_only)."""
    assert outcome(CASE["a lifetime ends"].setup(A, switches)) == KEPT


@pytest.mark.parametrize(
    "case",
    ["nothing happens", "initiator ended", "initiator ended with an error", "initiator cleaned up"],
)
def test_it_keeps(case):
    assert outcome(CASE[case].setup(A)) == KEPT


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"enqueue_at": "commit"},
        {"end_over_open_send": "waits"},
        {"end_over_open_send": "leaves"},
        {"end_over_open_send": "fails"},
    ],
    ids=str,
)
def test_an_end_at_the_target_loses_a_body_and_its_number_is_written_down(switches):
    """Whatever END does with rows that are not committed: it deletes those that are."""
    assert outcome(CASE["target ended"].setup(A, switches)) == WRITTEN_DOWN


def test_an_error_at_the_target_does_too():
    assert outcome(CASE["target ended with an error"].setup(A)) == WRITTEN_DOWN


def test_each_number_of_a_transaction_is_written_down():
    made = CASE["target ended, two sends in one transaction"].setup(A)
    assert outcome(made) == WRITTEN_DOWN


@pytest.mark.parametrize(
    "case",
    ["target cleaned up", "target ended, initiator ended", "target cleaned up, initiator ended"],
)
def test_where_the_initiator_s_side_is_told_of_nothing_nothing_is_written_down(case):
    assert outcome(CASE[case].setup(A)) == LOST


@pytest.mark.parametrize(
    "case",
    [
        "nothing happens",
        "a lifetime ends",
        "target ended",
        "target ended, two sends in one transaction",
    ],
)
def test_it_writes_down_no_number_of_a_message_that_is_there(case):
    assert FALSE_ALARM not in search(scenario(CASE[case].setup(A)), MOST).violations


def test_a_repeat_that_was_dropped_is_taken_for_lost():
    """With exactly_once a client's retry lands nowhere, and its number is missed."""
    config = CASE["a client's retry, target ended"].setup(A).config
    lab = Lab(config, mutant=A)
    for _ in range(2):
        lab.run(f"EXECUTE audit.usp_Send {NAMES}, 0xA1, @key = N'k', @messageId = '{ID}';")
    assert len(lab.landed()) == 1
    lab.instance.advance(config.timer.after_seconds + 1)
    assert lab.rows("SELECT MessageSequence, Body FROM audit.DeadLetter;") == [(1, None)]


def test_the_shortest_way_to_lose_a_body():
    """Send, END, commit; the initiator's reader finds number 1 missing."""
    told = steps_to(CASE["target ended"].setup(A), NUMBER_ONLY)
    assert "SEND ON CONVERSATION" in told[3]
    assert told[4:7] == [
        "operator (target_ends_now) begins",
        "sender A: adhoc line 1: COMMIT TRANSACTION;",
        "reader 21 (InitiatorQueue): starts",
    ]
    assert any("INSERT INTO [audit].[DeadLetter]" in step for step in told)


def test_the_shortest_way_to_lose_a_body_without_a_word():
    """CLEANUP tells nobody: send, CLEANUP, commit."""
    told = steps_to(CASE["target cleaned up"].setup(A), WITHOUT_A_WORD)
    assert told[4:] == [
        "operator (target_cleaned) begins",
        "sender A: adhoc line 1: COMMIT TRANSACTION;",
    ]


def test_an_operator_who_ends_it_by_usp_EndTarget_loses_nothing():
    """Rule R6: the sender's group first, so that nothing is on its way; then land; then END."""
    made = replace(scenario(CASE["initiator ended"].setup(A)), faults=(ORDERLY,))
    result = search(made, MOST)
    print(result)
    assert (set(result.violations), result.ended) == (set(), True)
