"""usp_Figures and usp_Sessions: how an installation is, in numbers, and who holds what is ours."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send
from .test_blocking_script import FORGOTTEN, KEYED
from .test_setup_trouble import START, conversation
from .test_usp_CountRefusals import BAD, slow
from .two import Two

OPS = "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;"


def figures(lab: Lab) -> dict[tuple[str, str], int]:
    return {(name, label): value for name, label, value in lab.rows("EXECUTE audit.usp_Figures;")}


def test_queues_rows_and_the_age_of_what_has_not_landed_are_counted():
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    waits = Client(lab)
    for body in ("0x02", "0x03"):
        waits.execute(send(body))
    lab.advance(90)
    found = figures(lab)
    assert found["queue_activation_enabled", "TargetQueue"] == 0
    assert found["queue_activation_enabled", "InitiatorQueue"] == 1
    assert found["queue_messages", "TargetQueue"] == 2
    assert found["rows", "Landing"] == 1 and found["rows", "SentMessage"] == 2
    assert found["unlanded_dialogs", ""] == 1 and found["unlanded_oldest_seconds", ""] == 90
    assert found["endpoints", "initiator, CONVERSING"] == 2
    assert found["gate_open", ""] == 1


def test_slowed_conversations_errors_and_dead_letters_are_counted():
    lab = slow()
    conversation(lab, *[BAD] * 60)
    lab.sa.execute(START)
    lab.advance(5)
    found = figures(lab)
    assert found["conversations_slowed", ""] == 1 and found["errors_last_hour", ""] == 1
    assert found["dead_letters_unhandled", ""] == found["rows", "DeadLetter"] > 20


def test_an_operator_sees_all_but_how_many_readers_run():
    lab = Lab()
    lab.sa.execute(OPS)
    mine = figures(lab)
    theirs = {
        (name, label): value
        for name, label, value in lab.rows(
            "EXECUTE AS USER = N'ops'; EXECUTE audit.usp_Figures; REVERT;"
        )
    }
    assert {key for key in mine if mine[key] != theirs[key]} == {
        ("queue_readers", "InitiatorQueue"),
        ("queue_readers", "TargetQueue"),
    }
    assert theirs["queue_readers", "TargetQueue"] is None


def test_each_of_two_databases_has_its_own_side():
    two = Two()
    two.send("0x01")
    two.instance.advance(60)
    here = {(r[0], r[1]): r[2] for r in two.run("EXECUTE audit.usp_Figures;")}
    there = {(r[0], r[1]): r[2] for r in two.depot("EXECUTE audit.usp_Figures;")}
    assert there["rows", "Landing"] >= 1 and ("rows", "SentMessage") not in there
    assert here["rows", "SentMessage"] == 0 and ("rows", "Landing") not in here


def test_nobody_is_waited_for():
    """A sender, a reader and an operator stand still in open transactions."""
    lab = Lab()
    Client(lab).execute("BEGIN TRANSACTION; " + send("0x01"))
    Client(lab).execute("BEGIN TRANSACTION; DELETE audit.Gate; DELETE audit.DeadLetter;")
    lab.sa.execute("EXECUTE audit.usp_Figures; EXECUTE audit.usp_Sessions;")


@pytest.mark.parametrize("caller", ["", "EXECUTE AS USER = N'ops';"])
def test_who_holds_what_is_ours_is_named_or_said_not_to_be_seen(caller):
    lab = Lab(KEYED)
    lab.sa.execute(OPS)
    Client(lab).execute(FORGOTTEN)
    Client(lab).execute("BEGIN TRANSACTION; " + FORGOTTEN)
    Client(lab).submit(FORGOTTEN)
    lab.advance(30)
    lab.sa.execute(
        f"CREATE TABLE #r (v int); {caller} DECLARE @r int; EXECUTE @r = audit.usp_Sessions; SELECT @r;"
    )
    *_, named, (returned,) = [one.rows for one in lab.sa.out.result_sets]
    if caller:
        assert named == [] and returned == (1,)
    else:
        assert returned == (0,) and named[0][1].startswith("session ") and "login sa" in named[0][1]
        assert named[0][3:] == (1, 30)


def test_help_prints_what_it_is():
    lab = Lab(configured())
    for name in ("usp_Figures", "usp_Sessions"):
        lab.sa.execute(f"EXECUTE audit.{name} @Help = 1;")
        assert any(name in one.text for one in lab.sa.out.messages)


def test_no_warning_comes_before_an_error():
    """ODBC's first word is then the warning, and the cause is lost."""
    lab = Lab()
    lab.sa.execute(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, HandledUtc) "
        "VALUES (N'target', NEWID(), 0, SYSUTCDATETIME());"
    )
    lab.sa.execute("EXECUTE audit.usp_Figures;")
    assert [m.text for m in lab.sa.out.messages if "Null value" in m.text] == []
