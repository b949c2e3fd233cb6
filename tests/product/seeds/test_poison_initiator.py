"""The initiator's side: a resend that fails is not tried for ever, and its queue stays on."""

from __future__ import annotations

from .lab import LIFETIME, RECYCLE_AFTER, Lab

THREE = [b"1", b"2", b"3"]
NO_RESEND = (
    "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_NoResend "
    "CHECK (Resent IS NULL OR Resent = 0);"
)
NO_DEAD_LETTER = "ALTER TABLE audit.DeadLetter ADD CONSTRAINT CK_Never CHECK (1 = 0);"


def pending_past_the_lifetime(lab: Lab, defence: str) -> None:
    """Three messages pend; whatever the test forbids is forbidden; the lifetime ends."""
    lab.target_queue("OFF")
    for body in THREE:
        lab.send(body)
    lab.run(defence)
    lab.advance(LIFETIME)


def initiator_queue_on(lab: Lab) -> bool:
    [(status,)] = lab.rows(
        "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'InitiatorQueue';"
    )
    return status == 1


def test_a_resend_that_fails_is_dead_lettered_after_five_errors(lab):
    pending_past_the_lifetime(lab, NO_RESEND)
    lab.advance(5 * 60)
    assert [(body, code) for _, body, code in lab.dead()] == [(body, -8489) for body in THREE]
    assert lab.endpoints() == []
    assert [number for number, _ in lab.errors()] == [547] * 6
    assert initiator_queue_on(lab)
    assert lab.table("PoisonAttempt") == []
    lab.at_rest()


def test_other_dialogs_are_recycled_meanwhile(lab):
    pending_past_the_lifetime(lab, NO_RESEND)
    lab.target_queue("ON")
    lab.send(b"new")
    lab.advance(RECYCLE_AFTER)
    assert lab.landed() == [b"new"]
    assert set(lab.endpoints()) == {("target", "CLOSED")}


def test_when_not_even_a_dead_letter_can_be_written_the_dialog_stays_with_its_messages(lab):
    """Nor does the queue stop for it: no RECEIVE is around a resend, so none is rolled back."""
    pending_past_the_lifetime(lab, NO_RESEND + NO_DEAD_LETTER)
    assert lab.endpoints() == [("initiator", "ERROR")]
    assert lab.unaccounted(THREE) == {}
    assert initiator_queue_on(lab)
    lab.run("ALTER TABLE audit.DeadLetter DROP CONSTRAINT CK_Never;")
    lab.advance(10)
    assert (lab.unaccounted(THREE), initiator_queue_on(lab)) == ({}, True)
    for handle in lab.handles(1):
        lab.run(f"EXECUTE audit.usp_ResendPending '{handle}', -8489, NULL, 0;")
    assert {body for _, body, _ in lab.dead()} >= set(THREE)
    assert lab.unaccounted(THREE) == {}
    assert lab.endpoints() == []


def test_a_malformed_error_body_is_dead_lettered_with_an_unknown_code(lab):
    """usp_ReadErrorBody never casts, so no body can doom the transaction that received it."""
    for body in (
        "0x",
        "0x3C",
        "0xFFFE3C00",
        "CONVERT(varbinary(max), N'<Error/>')",
        "CONVERT(varbinary(max), N'<Error xmlns=\"http://schemas.microsoft.com/SQL/"
        "ServiceBroker/Error\"><Code>many</Code></Error>')",
        "NULL",
    ):
        row = lab.rows(
            "SET XACT_ABORT ON; BEGIN TRANSACTION; "
            f"DECLARE @b varbinary(max) = {body}, @c int, @d nvarchar(3000); "
            "EXECUTE audit.usp_ReadErrorBody @b, @c OUTPUT, @d OUTPUT; "
            "SELECT @c, XACT_STATE(); COMMIT;"
        )
        assert row == [(None, 1)], body


def test_a_message_of_an_unexpected_type_on_the_initiators_queue_is_kept(lab):
    """Another contract on the initiator's service: not ours to drop."""
    lab.run(
        "CREATE MESSAGE TYPE [//odd]; CREATE CONTRACT [//odd] ([//odd] SENT BY INITIATOR);"
        "ALTER SERVICE [//redial/audit/initiator] (ADD CONTRACT [//odd]);"
        "CREATE QUEUE dbo.q; CREATE SERVICE [//other] ON QUEUE dbo.q;"
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//other] TO SERVICE "
        "'//redial/audit/initiator' ON CONTRACT [//odd] WITH ENCRYPTION = OFF;"
        "SEND ON CONVERSATION @h MESSAGE TYPE [//odd] (0xDD);"
    )
    lab.instance.run()
    assert lab.table("DeadLetter", "Side, MessageType, Body") == [("initiator", "//odd", b"\xdd")]
    assert initiator_queue_on(lab)
