"""Design B, RETENTION = ON on the initiator's queue: what was sent is kept there until END.

It keeps what an END at the target deletes. What is retained belongs to the dialog, so it goes with
the initiator's side, and nobody can send while that queue is off.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import search
from redial_lab.proof.designs import (
    CASE,
    FALSE_ALARM,
    KEPT,
    LOST,
    MOST,
    WITHOUT_A_WORD,
    outcome,
    scenario,
    steps_to,
)
from tests.product.seeds.lab import Lab

B = "retained"
SENT = "SELECT COUNT(*) FROM audit.InitiatorQueue WITH (NOLOCK) WHERE status = 3;"
NEW_BROKER = "ALTER DATABASE Redial SET NEW_BROKER WITH ROLLBACK IMMEDIATE;"
STRANDED = "EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0;"
TARGET_OFF = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
TARGET_ON = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);"


# ---------------------------------------------------------------------- what it keeps
@pytest.mark.parametrize(
    "case",
    [
        "nothing happens",
        "a lifetime ends",
        "target ended",
        "target ended with an error",
        "target cleaned up",
        "target ended, two sends in one transaction",
        "initiator ended",
        "initiator cleaned up",
    ],
)
def test_it_keeps(case):
    assert outcome(CASE[case].setup(B)) == KEPT


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "switches",
    [
        {"enqueue_at": "commit"},
        {"end_over_open_send": "waits"},
        {"end_over_open_send": "leaves"},
        {"end_over_open_send": "fails"},
        {"send_over_open_end": "waits"},
    ],
    ids=str,
)
def test_it_keeps_what_an_end_at_the_target_deletes_whatever_end_does(switches):
    assert outcome(CASE["target ended"].setup(B, switches)) == KEPT


def test_nothing_is_sent_again_that_has_landed():
    """A message that landed and was retained counts twice in a resend that does not look."""
    found = search(scenario(CASE["target ended"].setup(B)), MOST).violations
    assert (set(found), FALSE_ALARM in found) == (set(), False)


# ---------------------------------------------------------------------- what it loses
@pytest.mark.sampled(every=4, meets=("design", "case"))
@pytest.mark.parametrize(
    "case",
    [
        "target ended, initiator ended",
        "target ended, initiator cleaned up",
        "target cleaned up, initiator ended",
    ],
)
@pytest.mark.parametrize(("design", "becomes"), [(B, LOST), ("copies", KEPT)])
def test_both_sides_ended_by_hand_lose_the_retained_copy_too(design, becomes, case):
    assert outcome(CASE[case].setup(design)) == becomes


def test_the_shortest_way_to_lose_a_message():
    """Send; both sides are ended; the sender, who was waited for, commits."""
    told = steps_to(CASE["target cleaned up, initiator ended"].setup(B), WITHOUT_A_WORD)
    assert "SEND ON CONVERSATION" in told[3]
    assert told[4:] == [
        "operator (target_cleaned) begins",
        "sender A: adhoc line 1: COMMIT TRANSACTION;",
        "operator (initiator_ends_now) begins",
    ]


def test_new_broker_takes_what_is_retained_and_leaves_copies():
    lab = Lab(mutant=B)
    lab.run(TARGET_OFF)
    lab.send(b"x")
    assert lab.rows(SENT) == [(1,)]
    lab.run(NEW_BROKER)
    lab.run(TARGET_ON)
    lab.instance.run()
    assert (lab.rows(SENT), lab.landed()) == ([(0,)], [])

    copies = Lab()
    copies.run(TARGET_OFF)
    copies.send(b"x")
    copies.run(NEW_BROKER)
    copies.run(TARGET_ON)
    copies.run(STRANDED)
    copies.instance.run()
    assert copies.landed() == [b"x"]


@pytest.mark.parametrize(("design", "numbers"), [(B, [9618]), ("protocol_only", []), (None, [])])
def test_nobody_sends_while_the_initiator_s_queue_is_off(design, numbers):
    """9618; five rollbacks of a poison message are enough to switch a queue off."""
    lab = Lab(mutant=design)
    lab.run("ALTER QUEUE audit.InitiatorQueue WITH STATUS = OFF;")
    found = lab.call_send(b"x")
    assert [message.number for message in found.messages if message.severity > 10] == numbers


def test_a_dialog_that_is_never_recycled_keeps_all_it_ever_sent():
    """A row of the queue for each message that landed long ago; a copy goes when it lands."""
    lab, copies = Lab(mutant=B), Lab()
    for number in range(20):
        lab.send(bytes([number + 1]))
        copies.send(bytes([number + 1]))
    assert len(lab.landed()) == len(copies.landed()) == 20
    assert lab.rows(SENT) == [(20,)]
    assert copies.rows("SELECT COUNT(*) FROM audit.SentMessage;") == [(0,)]
