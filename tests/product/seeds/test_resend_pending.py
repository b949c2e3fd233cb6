"""Seed 004: what is pending when a dialog fails is resent or dead-lettered, byte for byte."""

from __future__ import annotations

import pytest

from redial_broker.engine.types import INT, UNIQUEIDENTIFIER
from redial_broker.instance.requests import RpcParam

from .lab import BODIES, END_OF_STREAM, EVENT, LIFETIME, Lab

RECOVERABLE = (0, -8489, -8462, -9719, -9720, -28052)
NOT_RECOVERABLE = (
    -8494,
    -8490,
    -8425,
    -8408,
    -8428,
    -8498,
    -8457,
    -8437,
    -8470,
    -8487,
    -8469,
    1,
    50001,
    None,
)


def pend(lab: Lab, bodies=BODIES) -> None:
    """Send while the target's queue is off."""
    lab.target_queue("OFF")
    for body in bodies:
        lab.send(body)


def fail(lab: Lab) -> None:
    """Messages pend on a dialog in state ERROR; its Error message is left to the operator."""
    lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    pend(lab)
    lab.advance(LIFETIME)
    assert lab.endpoints() == [("initiator", "ERROR")]


@pytest.fixture(scope="module")
def deployed() -> Lab:
    """One deployment for the table of codes."""
    return Lab()


@pytest.fixture
def failed(deployed) -> Lab:
    """That deployment, emptied, with six messages pending on a dialog in state ERROR."""
    deployed.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    deployed.target_queue("ON")
    deployed.advance(2)
    deployed.run("DELETE audit.Landing; DELETE audit.DeadLetter;")
    fail(deployed)
    return deployed


def resend(lab: Lab, code: int | None):
    """usp_ResendPending for the one dialog there is, as an operator calls it."""
    handle = lab.handles(1)[0]
    return lab.call(
        lab.own("usp_ResendPending"),
        [RpcParam("@handle", UNIQUEIDENTIFIER, handle), RpcParam("@code", INT, code)],
    )


def test_messages_to_a_queue_that_is_off_wait_in_the_transmission_queue(lab):
    pend(lab)
    assert lab.pending() == list(enumerate(BODIES))
    assert lab.endpoints() == [("initiator", "CONVERSING")]
    assert lab.unaccounted(BODIES) == {}


def test_when_the_lifetime_is_reached_they_are_resent_byte_exact_and_in_order(lab):
    # 1. the queue is off, six messages pend; the timer's EndOfStream joins them after an hour
    pend(lab)
    # 2. the lifetime ends: Error -8489, resend on a dialog of its own, END
    lab.advance(LIFETIME)
    assert [body for _, body in lab.pending()] == list(BODIES)
    assert lab.endpoints() == [("initiator", "CONVERSING")]
    # 3. the queue is on again
    lab.target_queue("ON")
    lab.advance(2)
    assert lab.landed() == list(BODIES)
    assert lab.landed_types() == [EVENT] * 6 + [END_OF_STREAM]
    assert (lab.dead(), lab.errors()) == ([], [])


def test_dialogs_of_resends_end_and_leak_nothing(lab):
    pend(lab)
    lab.advance(LIFETIME)
    lab.target_queue("ON")
    lab.advance(2)
    assert lab.endpoints() == [("target", "CLOSED")]
    lab.advance(1801)
    assert lab.endpoints() == []
    assert lab.rows("SELECT COUNT(*) FROM sys.conversation_groups;") == [(0,)]
    lab.at_rest()


def test_the_log_tells_which_dialog_was_resent_on_which(lab):
    pend(lab)
    lab.advance(LIFETIME)
    lab.target_queue("ON")
    first, second = lab.table(
        "ConversationLog", "Handle, ResendOf, Messages, Resent, DeadLettered, Code", "BegunUtc"
    )
    assert first[1:] == (None, 6, 6, 0, -8489)
    assert second[1:] == (first[0], 6, 0, 0, 0)


def test_the_resend_itself_may_fail_and_is_resent_again(lab):
    pend(lab)
    lab.advance(LIFETIME)
    lab.advance(LIFETIME)  # of the resend's dialog
    assert len(lab.table("ConversationLog")) == 3
    lab.target_queue("ON")
    lab.advance(2)
    assert lab.landed() == list(BODIES)
    assert lab.endpoints() == [("target", "CLOSED")]


def test_senders_go_on_on_a_new_dialog_meanwhile(lab):
    pend(lab, [b"old"])
    lab.advance(LIFETIME)
    lab.send(b"new")
    assert lab.unaccounted([b"old", b"new"]) == {}
    lab.target_queue("ON")
    lab.advance(2)
    assert sorted(lab.landed()) == [b"new", b"old"]
    lab.at_rest()


@pytest.mark.parametrize("code", RECOVERABLE)
def test_errors_that_say_nothing_against_the_message_are_resent(failed, code):
    resend(failed, code).ok()
    assert [body for _, body in failed.pending()] == list(BODIES)
    failed.target_queue("ON")
    assert (failed.landed(), failed.dead()) == (list(BODIES), [])


@pytest.mark.parametrize("code", NOT_RECOVERABLE)
def test_every_other_code_dead_letters_byte_exact_with_code_and_sequence(failed, code):
    resend(failed, code).ok()
    assert failed.dead() == [(number, body, code) for number, body in enumerate(BODIES)]
    assert failed.endpoints() == []
    failed.target_queue("ON")
    assert failed.landed() == []


def test_a_resend_that_was_forbidden_dead_letters_even_a_recoverable_code(failed):
    failed.run(f"EXECUTE audit.usp_ResendPending '{failed.handles(1)[0]}', -8489, NULL, 0;")
    assert failed.dead() == [(number, body, -8489) for number, body in enumerate(BODIES)]


def conversing_with_pending(lab: Lab) -> None:
    """One message delivered and left unread, six pending behind it."""
    lab.target_activation("OFF")
    lab.send(b"delivered")
    pend(lab)


def test_an_application_error_of_the_target_dead_letters_what_has_not_landed(lab):
    """What was pending, and what the target's END deleted unread."""
    conversing_with_pending(lab)
    lab.end_target("WITH ERROR = 4711 DESCRIPTION = N'we are closed'")
    lab.instance.run()
    assert lab.dead() == [
        (number, body, 4711) for number, body in enumerate([b"delivered", *BODIES])
    ]
    assert lab.table("DeadLetter", "DISTINCT Side, Reason") == [("initiator", "we are closed")]
    assert lab.endpoints() == [("target", "CLOSED")]


def test_a_contract_the_target_no_longer_has_dead_letters_with_its_code(lab):
    pend(lab)
    lab.run("ALTER SERVICE [//redial/audit/target] (DROP CONTRACT [//redial/audit/contract]);")
    lab.target_queue("ON")
    assert lab.dead() == [(number, body, -8408) for number, body in enumerate(BODIES)]
    assert lab.endpoints() == []


def test_an_end_dialog_beside_unread_and_pending_rows_resends_both(lab):
    conversing_with_pending(lab)
    lab.end_target()
    lab.instance.run()
    assert [body for _, body in lab.pending()] == [b"delivered", *BODIES]
    lab.target_activation("ON")
    lab.target_queue("ON")
    lab.advance(2)
    assert (lab.landed(), lab.dead()) == ([b"delivered", *BODIES], [])
    assert lab.table("ConversationLog", "Code, Resent", "BegunUtc")[0] == (0, 7)
    assert set(lab.endpoints()) == {("target", "CLOSED")}


def test_a_peer_that_was_cleaned_up_is_told_by_error_8462_and_resent(lab):
    conversing_with_pending(lab)
    lab.end_target("WITH CLEANUP")
    lab.target_activation("ON")
    lab.target_queue("ON")
    lab.advance(2)
    assert lab.table("ConversationLog", "Code, Resent", "BegunUtc")[0] == (-8462, 7)
    assert lab.landed() == [b"delivered", *BODIES]
    assert set(lab.endpoints()) == {("target", "CLOSED")}
