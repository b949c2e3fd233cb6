"""SentMessage: the sender's copy of every message that has not landed, and who writes it when."""

from __future__ import annotations

import pytest

from tests.choices import KEYS, TRAITS

from .lab import Client, Lab, configured, send
from .two import Two

COPIES = "SELECT MessageSequence, Body FROM audit.SentMessage ORDER BY SentUtc, MessageSequence;"
OPEN = "SELECT 1 FROM audit.SentMessage WITH (NOLOCK);"
TARGETS = "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
STRANGER = (
    "DECLARE @handle uniqueidentifier = (SELECT conversation_handle FROM "
    "sys.conversation_endpoints WHERE is_initiator = 1); SEND ON CONVERSATION @handle "
    "MESSAGE TYPE [//redial/audit/event] (0xEE);"
)
"""Somebody else sends on our dialog."""
RACES = [
    {},
    {"enqueue_at": "commit"},
    {"end_over_open_send": "waits"},
    {"end_over_open_send": "leaves"},
    {"end_over_open_send": "fails"},
    {"expiry_waits_for_sender": True},
]


def paused(config=None, **switches) -> Lab:
    """What is sent stays unread at the target."""
    lab = Lab(config, **switches) if config else Lab(**switches)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    return lab


def resume(lab: Lab) -> None:
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)


# ---------------------------------------------------------------------- written and deleted
def test_a_copy_is_written_with_the_message_and_deleted_when_it_has_landed():
    lab = paused()
    Client(lab).execute(send("0xA1") + send("0xA2"))
    assert lab.rows(COPIES) == [(0, b"\xa1"), (1, b"\xa2")]
    resume(lab)
    assert lab.bodies() == [b"\xa1", b"\xa2"]
    assert lab.rows(COPIES) == []


def test_a_transaction_that_rolls_back_leaves_neither_message_nor_copy():
    lab = paused()
    client = Client(lab)
    client.execute(f"BEGIN TRANSACTION; {send('0xA1')} ROLLBACK TRANSACTION; {send('0xA2')}")
    assert lab.rows(COPIES) == [(0, b"\xa2")]
    client.execute(
        f"BEGIN TRANSACTION; {send('0xA3')} SAVE TRANSACTION here; {send('0xA4')} "
        f"ROLLBACK TRANSACTION here; {send('0xA5')} COMMIT TRANSACTION;"
    )
    resume(lab)
    assert lab.bodies() == [b"\xa2", b"\xa3", b"\xa5"]
    assert lab.rows(COPIES) == []


def test_what_the_sender_counts_is_the_broker_s_number_on_every_dialog():
    """What Landing says a message's number is, its copy had said before (F-171)."""
    lab = paused(configured(timer={"after_seconds": 60, "spread_seconds": 0}))
    client = Client(lab)
    for number in range(6):
        client.execute(send(f"0x{number:02X}"))
        lab.advance(31)
    kept = "SELECT ConversationId, MessageSequence, Body FROM audit.{} {} ORDER BY Body;"
    before = lab.rows(kept.format("SentMessage", ""))
    assert len({row[0] for row in before}) > 1, "several dialogs"
    resume(lab)
    assert before == lab.rows(kept.format("Landing", "WHERE MessageType = N'//redial/audit/event'"))


def strangers_send(lab: Lab, client: Client) -> list[str]:
    """Somebody else sends on the dialog: what its sender counts is one behind from there on."""
    client.execute(send("0xA0"))
    lab.rows(STRANGER)
    client.execute(send("0xA1") + send("0xA2"))
    return ["A0", "EE", "A1", "A2"]


def a_number_is_lost(lab: Lab, client: Client) -> list[str]:
    """A SEND is undone to a savepoint, and the broker does not give its number back."""
    client.execute(
        f"BEGIN TRANSACTION; {send('0xA0')} SAVE TRANSACTION here; {send('0xEE')} "
        f"ROLLBACK TRANSACTION here; {send('0xA1')} COMMIT TRANSACTION; {send('0xA2')}"
    )
    return ["A0", "A1", "A2"]


@pytest.mark.parametrize(
    "key", [key for key in KEYS if not (TRAITS[key].named or TRAITS[key].per_message)]
)
@pytest.mark.parametrize("out_of_step", [strangers_send, a_number_is_lost])
def test_where_count_and_numbers_come_apart_each_message_takes_its_own_copy(key, out_of_step):
    """And one line says so, whatever the number of messages."""
    lab = paused(configured(conversation={"key": key}), undone_send_number="lost")
    client = Client(lab)
    wanted = out_of_step(lab, client)
    assert lab.rows(COPIES) == [(0, b"\xa0"), (1, b"\xa1"), (2, b"\xa2")]
    resume(lab)
    client.execute(send("0xA3"))
    lab.advance(5)
    assert [body.hex().upper() for body in lab.bodies()] == [*wanted, "A3"]
    assert lab.rows(COPIES) == []
    [(procedure, _, text)] = lab.errors()
    assert procedure == "usp_DropCopies" and "somebody else sends on it" in text


def test_of_equal_messages_one_copy_goes_for_each_that_lands():
    lab = paused()
    client = Client(lab)
    client.execute(send("0xA0") + send("0xA0"))
    lab.rows(
        "RECEIVE TOP (1) * FROM audit.TargetQueue;"
    )  # the first is nowhere now but in its copy
    resume(lab)
    assert lab.rows(COPIES) == [(0, b"\xa0")]


def test_in_another_database_too():
    two = Two()
    two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    two.send("0xA0")
    two.run(STRANGER)
    two.send("0xA1")
    two.send("0xA2")
    two.depot("RECEIVE TOP (1) * FROM audit.TargetQueue;")  # and nobody says that A0 has landed
    two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    two.instance.advance(5)
    assert two.run(COPIES) == [(0, b"\xa0")]
    assert two.bodies() == [b"\xee", b"\xa1", b"\xa2"]


def test_a_dead_letter_of_the_target_takes_the_copy_with_it():
    lab = paused()
    Client(lab).execute(send("0xA1"))
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT CK_None CHECK (Body <> 0xA1);")
    resume(lab)
    assert lab.rows("SELECT Body FROM audit.DeadLetter;") == [(b"\xa1",)]
    assert lab.rows(COPIES) == []


# ---------------------------------------------------------------------- findings 1 and 2
@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("switches", RACES, ids=str)
@pytest.mark.parametrize("how", ["", " WITH ERROR = 50001 DESCRIPTION = N'x'", " WITH CLEANUP"])
def test_an_operator_ends_the_target_s_side_under_an_open_transaction(how, switches):
    """1. A sends twice and does not commit. 2. An operator ENDs the target's side, or waits to.
    3. A commits. 4. The dialog is recycled, and where nobody is told of its end, given up.
    """
    lab = Lab(configured(timer={"after_seconds": 60, "spread_seconds": 0}), **switches)
    client, operator = Client(lab), Client(lab)
    client.execute(send("0xA0"))
    client.execute(f"BEGIN TRANSACTION; {send('0xA1')} {send('0xA2')}")
    ((target,),) = lab.rows(TARGETS)
    operator.submit(f"END CONVERSATION '{target}'{how};")
    client.execute("COMMIT TRANSACTION;")
    lab.advance(700)
    lab.rows("EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0;")
    lab.advance(60)
    found = lab.bodies() + [body for (body,) in lab.rows("SELECT Body FROM audit.DeadLetter;")]
    assert sorted(set(found)) == [b"\xa0", b"\xa1", b"\xa2"]
    repeats = 2 if switches == {"end_over_open_send": "leaves"} else 0
    assert len(found) == 3 + repeats, "what END leaves in the queue is received, and sent again"
    assert lab.rows(COPIES) == []


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("switches", RACES, ids=str)
def test_a_transaction_outlives_the_lifetime_of_its_dialog(switches):
    """The review's first story: two sends, a lifetime that ends, COMMIT; and with a third send."""
    short = configured(
        timer={"after_seconds": 2, "spread_seconds": 0, "retry_seconds": 1},
        conversation={"lifetime_seconds": 12, "longest_transaction_seconds": 4},
    )
    for third in ("", send("0xA3")):
        lab = Lab(short, **switches)
        client = Client(lab)
        client.execute(f"BEGIN TRANSACTION; {send('0xA1')} {send('0xA2')}")
        lab.advance(20)
        client.execute(f"{third} COMMIT TRANSACTION;")
        lab.advance(60)
        sent = [b"\xa1", b"\xa2"] + ([b"\xa3"] if third else [])
        assert sorted(lab.bodies()) == sent
        assert lab.rows(COPIES) == []
        assert lab.rows("SELECT * FROM audit.DeadLetter;") == []


def test_what_an_error_of_the_operator_s_dead_letters_says_code_and_number():
    lab = paused()
    Client(lab).execute(send("0xA1") + send("0xA2"))
    ((target,),) = lab.rows(TARGETS)
    lab.rows(f"END CONVERSATION '{target}' WITH ERROR = 50001 DESCRIPTION = N'by hand';")
    lab.advance(5)
    assert lab.rows("SELECT MessageSequence, Body, Code, Reason FROM audit.DeadLetter;") == [
        (0, b"\xa1", 50001, "by hand"),
        (1, b"\xa2", 50001, "by hand"),
    ]


# ---------------------------------------------------------------------- locks
def test_a_sender_who_has_not_committed_keeps_no_reader_waiting():
    """F-461: A's copies are open while the target lands B's and ends B's dialog."""
    lab = Lab(configured(timer={"after_seconds": 60, "spread_seconds": 0}))
    a, b = Client(lab), Client(lab)
    a.execute(f"BEGIN TRANSACTION; {send('0xA1')}")
    b.execute(send("0xB1"))
    lab.advance(3700)
    assert lab.bodies() == [b"\xb1"]
    assert [
        wait
        for (wait,) in lab.rows(
            "SELECT wait_type FROM sys.dm_exec_requests WHERE wait_type LIKE N'LCK%';"
        )
    ] == []
    a.execute("COMMIT TRANSACTION;")
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xb1"]


def test_a_trigger_on_the_table_is_refused_by_the_send_that_meets_it():
    """OUTPUT INTO a table with a trigger is error 331: nothing is sent without its copy."""
    lab = Lab()
    lab.rows("CREATE TRIGGER audit.TR_Sent ON audit.SentMessage AFTER INSERT AS RETURN;")
    assert Client(lab).fail(send("0xA1")) == 331
    lab.advance(5)
    assert lab.bodies() == []


# ---------------------------------------------------------------------- another database
@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("switches", RACES, ids=str)
def test_with_the_target_in_another_database_copies_go_when_it_has_said_so(switches):
    two = Two(**switches)
    two.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    two.send("0xA1")
    two.send("0xA2")
    two.instance.advance(5)
    assert two.bodies() == [b"\xa1", b"\xa2"]
    assert len(two.run(COPIES)) == 2, "the sender has not read it yet"
    two.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    two.instance.advance(5)
    assert two.run(COPIES) == []


@pytest.mark.parametrize("how", ["", " WITH ERROR = 50001 DESCRIPTION = N'x'", " WITH CLEANUP"])
def test_in_another_database_a_target_ended_by_hand_loses_nothing(how):
    two = Two()
    two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    two.send("0xA1")
    two.instance.run()
    ((target,),) = two.depot(TARGETS)
    two.depot(f"END CONVERSATION '{target}'{how};")
    two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    two.send("0xA2")
    two.instance.advance(700)
    two.instance.advance(60)
    found = two.bodies() + [body for (body,) in two.run("SELECT Body FROM audit.DeadLetter;")]
    assert sorted(set(found)) == [b"\xa1", b"\xa2"]
    assert two.run(COPIES) == []
