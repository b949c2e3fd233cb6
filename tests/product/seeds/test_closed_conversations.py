"""Seed 003: who ends first decides what stays behind, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from redial.config import Config
from redial_lab.proof.audit_setups import small_config

from .lab import END_DIALOG, END_OF_STREAM, ERROR, EVENT, RECYCLE_AFTER, Lab

THIRTY_MINUTES = 1800


def figures(lab: Lab) -> list[tuple[str, str]]:
    """What the article's figures show: the rows of sys.conversation_endpoints."""
    return lab.endpoints()


def by_hand() -> Lab:
    """The configuration with both readers off, as the article works without activation."""
    lab = Lab()
    lab.target_activation("OFF")
    lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    return lab


def test_the_articles_figures_three_to_seven():
    lab = by_hand()
    # 3. one message: two rows, both CONVERSING
    lab.send(b"x")
    assert figures(lab) == [("initiator", "CONVERSING"), ("target", "CONVERSING")]
    # 4, 5. the receiver ends: its row is CLOSED, the sender's DISCONNECTED_INBOUND
    lab.run("RECEIVE * FROM audit.TargetQueue;")
    lab.end_target()
    assert figures(lab) == [("initiator", "DISCONNECTED_INBOUND"), ("target", "CLOSED")]
    # 6, 7. the sender ends: its row is gone, the receiver's stays
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}';")
    assert figures(lab) == [("target", "CLOSED")]


def test_the_two_rows_share_the_conversation_and_not_the_handle():
    """The article says the handle is shared; its own script shows two."""
    lab = by_hand()
    lab.send(b"x")
    rows = lab.rows(
        "SELECT COUNT(DISTINCT conversation_id), COUNT(DISTINCT conversation_handle), "
        "COUNT(DISTINCT conversation_group_id) FROM sys.conversation_endpoints;"
    )
    assert rows == [(1, 2, 2)]


def test_recycled_by_timer_the_target_ends_first_and_the_initiators_row_goes_at_once(lab):
    lab.send(b"x")
    lab.advance(RECYCLE_AFTER - 1)
    assert figures(lab) == [("initiator", "CONVERSING"), ("target", "CONVERSING")]
    lab.advance(1)
    assert figures(lab) == [("target", "CLOSED")]
    assert lab.landed_types() == [EVENT, END_OF_STREAM]
    lab.at_rest()


def test_the_closed_row_stays_for_thirty_minutes_and_no_longer(lab):
    lab.send(b"x")
    lab.advance(RECYCLE_AFTER)
    [(stamp,)] = lab.rows("SELECT security_timestamp FROM sys.conversation_endpoints;")
    [(now,)] = lab.rows("SELECT GETUTCDATE();")
    assert stamp == now + timedelta(seconds=THIRTY_MINUTES)
    lab.advance(THIRTY_MINUTES - 1)
    assert figures(lab) == [("target", "CLOSED")]
    lab.advance(2)
    assert figures(lab) == []
    assert lab.rows("SELECT COUNT(*) FROM sys.conversation_groups;") == [(0,)]


def test_nothing_can_be_sent_on_either_side_of_a_closed_conversation(lab):
    lab.send(b"x")
    [initiator], [target] = lab.handles(1), lab.handles(0)
    lab.advance(RECYCLE_AFTER)
    sends = [
        f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{EVENT}];" for handle in (initiator, target)
    ]
    assert [lab.session.execute(sql).error().number for sql in sends] == [8426, 8429]


def test_the_next_send_begins_a_new_dialog_beside_the_closed_one(lab):
    lab.send(b"1")
    lab.advance(RECYCLE_AFTER)
    lab.send(b"2")
    assert figures(lab) == [
        ("initiator", "CONVERSING"),
        ("target", "CLOSED"),
        ("target", "CONVERSING"),
    ]
    assert lab.landed() == [b"1", b"2"]


def test_who_ends_first_on_the_initiators_side_leaves_the_target_disconnected():
    lab = by_hand()
    lab.send(b"x")
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}';")
    assert figures(lab) == [("target", "DISCONNECTED_INBOUND")]
    lab.advance(10 * THIRTY_MINUTES)
    assert figures(lab) == [("target", "DISCONNECTED_INBOUND")], "a leak: for ever"
    assert [kind for kind, _ in lab.unread()] == [EVENT, END_DIALOG]


def test_the_shipped_target_ends_such_a_dialog_itself_and_loses_nothing(lab):
    lab.target_activation("OFF")
    lab.send(b"x")
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}';")
    lab.target_activation("ON")
    assert lab.landed_types() == [EVENT, END_DIALOG]
    assert figures(lab) == [("target", "CLOSED")]


def test_the_fire_and_forget_mutant_leaves_the_articles_leak():
    lab = Lab(mutant="initiator_ends_first")
    lab.send(b"x")
    lab.advance(RECYCLE_AFTER + 10 * THIRTY_MINUTES)
    assert ("target", "DISCONNECTED_INBOUND") in figures(lab)


# ---------------------------------------------------------------------- an Error overtakes
THREE = [b"1", b"2", b"3"]


def overtaken(batch: int = 500, mutant: str | None = None) -> Lab:
    """Three messages unread on the target, then the initiator ends with an error."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["target"]["receive_batch"] = batch
    lab = Lab(Config.model_validate(data), mutant=mutant)
    lab.target_activation("OFF")
    for body in THREE:
        lab.send(body)
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}' WITH ERROR = 7 DESCRIPTION = N'gone';")
    return lab


def test_an_error_is_received_before_the_unread_messages_it_overtakes():
    [(kind,)] = overtaken().rows("RECEIVE TOP (1) message_type_name FROM audit.TargetQueue;")
    assert kind == ERROR


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_an_error_that_overtakes_unread_messages_loses_none_of_them(batch):
    lab = overtaken(batch)
    lab.target_activation("ON")
    assert lab.landed() == THREE
    assert sorted(lab.landed_types()) == [EVENT, EVENT, EVENT, ERROR]
    assert figures(lab) == [("target", "CLOSED")]
    assert (lab.unread(), lab.errors(), lab.dead()) == ([], [], [])


def test_a_target_that_ends_at_the_error_loses_them_and_the_accounting_sees_it():
    lab = overtaken(1, "error_not_drained")
    lab.target_activation("ON")
    assert lab.unaccounted(THREE) == dict.fromkeys(THREE, 1)


def test_a_lifetime_that_ends_under_unread_messages_loses_none_of_them(lab):
    lab.target_activation("OFF")
    for body in (b"1", b"2", b"3"):
        lab.send(body)
    lab.advance(lab.config.conversation.lifetime_seconds)
    lab.target_activation("ON")
    assert lab.landed() == [b"1", b"2", b"3"]
    assert set(figures(lab)) <= {("target", "CLOSED")}


# ---------------------------------------------------------------------- usp_EndLeaked
def leaked() -> Lab:
    """A target endpoint nobody ends: its messages were received, its EndDialog too."""
    lab = by_hand()
    lab.send(b"x")
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}';")
    lab.run("RECEIVE * FROM audit.TargetQueue;")
    lab.run("DELETE FROM audit.SessionConversations;")
    assert figures(lab) == [("target", "DISCONNECTED_INBOUND")]
    return lab


def end_leaked(lab: Lab, arguments: str = "") -> list[tuple]:
    """(state, action, outcome) of each endpoint it speaks of."""
    found = lab.rows(
        f"EXECUTE audit.usp_EndLeaked {arguments or '@WhatIf = 1'}, @reason = N'test';"
    )
    return [(row[3], row[5], row[6]) for row in found]


def test_by_default_the_clean_up_only_shows_what_it_would_end():
    lab = leaked()
    assert end_leaked(lab) == [("DISCONNECTED_INBOUND", "END", "would be ended")]
    assert figures(lab) == [("target", "DISCONNECTED_INBOUND")]


def test_with_whatif_0_it_ends_the_leak():
    lab = leaked()
    assert end_leaked(lab, "@WhatIf = 0") == [("DISCONNECTED_INBOUND", "END", "done")]
    assert figures(lab) == [("target", "CLOSED")]
    lab.advance(THIRTY_MINUTES + 1)
    assert figures(lab) == []
    assert end_leaked(lab, "@WhatIf = 0") == []


def test_it_keeps_a_leak_with_unread_messages():
    lab = by_hand()
    lab.send(b"x")
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}';")
    lab.run("DELETE FROM audit.SessionConversations;")
    [(_, _, outcome)] = end_leaked(lab, "@WhatIf = 0")
    assert outcome == "kept: unread messages are left; its activation handles them"
    assert [body for _, body in lab.unread()] == [b"x", None]
    lab.target_activation("ON")
    assert lab.landed() == [b"x"]


def test_it_keeps_a_failed_dialog_with_messages_pending():
    lab = by_hand()
    lab.target_queue("OFF")
    lab.send(b"x")
    lab.advance(lab.config.conversation.lifetime_seconds)
    lab.run("RECEIVE * FROM audit.InitiatorQueue;")
    [(state, _, outcome)] = end_leaked(lab, "@WhatIf = 0")
    assert (state, outcome) == (
        "ERROR",
        "kept: messages have not landed; call usp_Resend with its @handle",
    )
    assert lab.pending() == [(0, b"x")]


def test_it_leaves_dialogs_in_use_alone(lab):
    lab.send(b"x")
    before = figures(lab)
    assert end_leaked(lab, "@WhatIf = 0") == []
    assert figures(lab) == before


def test_it_deletes_rows_whose_dialog_is_gone():
    lab = by_hand()
    lab.send(b"x")
    lab.run(f"END CONVERSATION '{lab.handles(1)[0]}' WITH CLEANUP;")
    assert ("gone", "DELETE ROW", "would be deleted") in end_leaked(lab)
    assert ("gone", "DELETE ROW", "done") in end_leaked(lab, "@WhatIf = 0")
    assert lab.table("SessionConversations") == []


def test_it_refuses_to_run_inside_a_transaction(lab):
    answer = lab.session.execute("BEGIN TRANSACTION; EXECUTE audit.usp_EndLeaked;")
    assert answer.error().number == 50130


def test_the_clock_of_these_tests_is_virtual(lab):
    assert lab.rows("SELECT GETUTCDATE();") == [(datetime(2026, 1, 1),)]
