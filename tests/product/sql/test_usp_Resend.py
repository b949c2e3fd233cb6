"""usp_Resend: an operator sends again what dialogs that are over have left, and sees what became of it."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send

RESEND = "EXECUTE audit.usp_Resend {} @reason = N'ended by hand', @WhatIf = 0"


@pytest.fixture
def lab() -> Lab:
    """Three messages of a dialog that somebody has ended on both sides."""
    lab = Lab(configured(operations={"resend_limit": 2}))
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2") + send("0xA3"))
    return lab


def ended(lab: Lab) -> Lab:
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    return lab


def as_operator(lab: Lab, sql: str) -> list[tuple]:
    return lab.rows(f"EXECUTE AS USER = N'ops'; {sql}; REVERT;")


def test_by_default_it_only_shows(lab):
    ended(lab)
    ((_, handle, messages, outcome),) = as_operator(lab, "EXECUTE audit.usp_Resend @most = 5")
    assert (handle, messages, outcome) == (None, 3, "would be sent again")
    lab.advance(5)
    assert lab.bodies() == []


def test_a_dialog_with_more_than_most_is_left_and_says_what_to_see_to(lab):
    ended(lab)
    ((*_, outcome),) = as_operator(lab, RESEND.format(""))
    assert outcome.startswith("kept: more than @most = 2 messages; see that there is room")
    assert lab.rows("SELECT COUNT(*) FROM audit.SentMessage;") == [(3,)]
    ((*_, outcome),) = as_operator(lab, RESEND.format("@most = 3,"))
    assert outcome == "sent again, or in DeadLetter: see vw_DeadLetters"
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]
    log = lab.rows("SELECT Action, Login, Reason FROM audit.OperatorLog;")
    assert log[-1] == ("resend", "sa", "ended by hand")


def test_a_dialog_that_is_open_is_given_up_when_it_is_named(lab):
    handle = lab.handle()
    assert as_operator(lab, "EXECUTE audit.usp_Resend") == [], "an open one is not over"
    ((_, shown, messages, outcome),) = as_operator(
        lab, RESEND.format(f"@handle = '{handle}', @most = 9,")
    )
    assert (shown, messages) == (handle, 3) and outcome.startswith("sent again")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xa2", b"\xa3"]


def test_young_ones_are_left_when_told_so(lab):
    ended(lab)
    ((*_, outcome),) = as_operator(lab, RESEND.format("@most = 9, @olderThanSeconds = 3600,"))
    assert outcome.startswith("kept: too young")


def test_a_handle_that_is_nobodys_or_the_targets_is_refused(lab):
    (target,) = [
        h
        for h, side in lab.rows(
            "SELECT conversation_handle, is_initiator FROM sys.conversation_endpoints;"
        )
        if side == 0
    ]
    for handle in (target, "11111111-1111-1111-1111-111111111111"):
        assert lab.sa.fail(RESEND.format(f"@handle = '{handle}',") + ";") == 50260
    assert lab.rows("SELECT 1 FROM audit.OperatorLog;") == []


def test_wrong_inputs_are_named_together_and_a_transaction_is_refused(lab):
    wrong = "EXECUTE audit.usp_Resend @most = 0, @olderThanSeconds = -1, @WhatIf = 0;"
    assert lab.sa.fail(wrong) == 50260
    text = lab.sa.errors[0].text
    assert all(word in text for word in ("@most", "@olderThanSeconds", "@reason"))
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_Resend;") == 50261
    assert lab.sa.value("XACT_STATE()") == 1
    lab.sa.execute("ROLLBACK;")
