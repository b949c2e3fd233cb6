"""usp_ResendStranded: copies of dialogs that were ended by hand, of which nobody is told."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send

SHORT = configured(timer={"after_seconds": 60, "spread_seconds": 0})
COPIES = "SELECT MessageSequence, Body FROM audit.SentMessage WITH (NOLOCK);"
CALL = "EXECUTE audit.usp_ResendStranded @olderThanSeconds = {};"


def stranded(*bodies: str) -> Lab:
    """Messages unread at the target, and both sides of their dialog removed by hand."""
    lab = Lab(SHORT)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(" ".join(map(send, bodies)))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    return lab


def test_they_are_sent_again_in_their_order_on_a_dialog_that_says_of_what():
    lab = stranded("0xA1", "0xA2")
    [(dialog,)] = lab.rows("SELECT DISTINCT ConversationId FROM audit.SentMessage;")
    lab.rows(CALL.format(0))
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2"]
    assert lab.rows(COPIES) == []
    assert (dialog,) in lab.rows("SELECT ResendOf FROM audit.ConversationLog;")


def test_one_call_ends_the_targets_of_all_that_are_gone_before_it_sends_again():
    """Their senders' sides are gone and their messages unread: neither landed twice nor left open."""
    lab = Lab(SHORT)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    for body in ("0xA1", "0xA2", "0xA3"):
        Client(lab).execute(send(body))  # a key, so a dialog, of its own
    for (handle,) in lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"
    ):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.rows("DELETE TOP (1) FROM audit.ConversationLog;")  # by hand: found by its endpoint
    lab.rows(CALL.format(0))
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xa2", b"\xa3"]
    assert lab.rows(COPIES) == []
    assert lab.errors() == []


def test_the_next_timer_of_any_dialog_finds_them():
    lab = stranded("0xA1")
    Client(lab).execute(send("0xB1"))
    lab.advance(61)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xb1"]


def test_young_ones_are_left_alone():
    lab = stranded("0xA1")
    lab.rows(CALL.format(100))
    assert len(lab.rows(COPIES)) == 1
    lab.advance(101)
    lab.rows(CALL.format(100))
    lab.advance(1)
    assert lab.bodies() == [b"\xa1"]


def test_what_was_sent_before_the_clock_was_set_back_by_a_month_is_not_young():
    lab = stranded("0xA1")
    lab.rows("UPDATE audit.SentMessage SET SentUtc = DATEADD(day, 30, SentUtc);")
    lab.rows(CALL.format(100))
    lab.advance(1)
    assert lab.bodies() == [b"\xa1"]


@pytest.mark.parametrize("isolation", ["OFF", "ON"])
def test_the_first_message_of_an_open_transaction_is_none_and_keeps_nobody_waiting(isolation):
    """1. A begins a dialog, sends and does not commit. 2. B's dialog is recycled an hour later, and
    its timer looks for stranded copies. A's dialog is not to be seen yet, its copy could be.
    """
    lab = Lab()
    lab.rows(f"ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT {isolation} WITH ROLLBACK IMMEDIATE;")
    a, b = Client(lab), Client(lab)
    a.execute(f"BEGIN TRANSACTION; {send('0xA1')}")
    b.execute(send("0xB1"))
    lab.advance(2 * 3600)
    assert (
        lab.rows("SELECT wait_type FROM sys.dm_exec_requests WHERE wait_type LIKE N'LCK%';") == []
    )
    a.execute("COMMIT TRANSACTION;")
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xb1"]
    assert lab.rows(COPIES) == []


def test_a_dialog_with_more_than_it_may_take_is_left_to_a_call_that_allows_for_more():
    lab = stranded("0xA1", "0xA2", "0xA3")
    lab.sa.execute("EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0, @most = 2;")
    [told] = [message.text for message in lab.sa.out.messages]
    assert "left 1 dialogs alone" in told and "larger @most" in told
    assert len(lab.rows(COPIES)) == 3
    lab.rows("EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0, @most = 3;")
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]


def test_one_dialog_that_fails_is_logged_and_the_others_follow():
    lab = stranded("0xA1")
    lab.rows("ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_None CHECK (ResendOf IS NULL);")
    lab.rows(CALL.format(0))
    assert len(lab.rows(COPIES)) == 1, "nothing is lost or half done"
    assert [name for name, _, _ in lab.errors()] == ["usp_ResendStranded"]
    lab.rows("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_None;")
    lab.rows(CALL.format(0))
    lab.advance(5)
    assert lab.bodies() == [b"\xa1"]


def test_what_fails_five_times_is_a_dead_letter():
    """Nothing mends it by itself, and an error in every run hides others."""
    lab = stranded("0xA1", "0xA2")
    lab.rows("ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_None CHECK (ResendOf IS NULL);")
    for _ in range(5):
        assert lab.rows("SELECT Body FROM audit.DeadLetter;") == []
        lab.rows(CALL.format(0) + CALL.format(0))
        lab.advance(31)
    assert lab.rows(COPIES) == []
    assert lab.rows("SELECT MessageSequence, Body, Code, Reason FROM audit.DeadLetter;") == [
        (0, b"\xa1", 0, "Its dialog was ended by hand."),
        (1, b"\xa2", 0, "Its dialog was ended by hand."),
    ]
    assert len(lab.errors()) == 9, "each is logged; one within thirty seconds counts"


ATTEMPTS = "SELECT Attempts FROM audit.PoisonAttempt;"


def test_its_errors_are_forgotten_with_its_copies():
    """Nobody else would: they are counted for a dialog that is gone, and no message names it."""
    lab = stranded("0xA1")
    lab.rows("ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_None CHECK (ResendOf IS NULL);")
    lab.rows(CALL.format(0))
    assert lab.rows(ATTEMPTS) == [(1,)]
    lab.rows("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_None;")
    lab.rows(CALL.format(0))
    assert lab.rows(ATTEMPTS) == []


def test_a_reader_that_is_at_work_on_it_leaves_its_errors():
    """1. A call fails. 2. A reader of the target holds the dialog: the next call does nothing."""
    lab = Lab(SHORT)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    [(sender,)] = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"
    )
    lab.rows(f"END CONVERSATION '{sender}' WITH CLEANUP;")
    lab.rows("ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_None CHECK (ResendOf IS NULL);")
    lab.rows(CALL.format(0))
    lab.rows("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_None;")
    reader, caller = Client(lab), Client(lab)
    reader.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    caller.submit(CALL.format(0))
    lab.advance(11)
    assert caller.out.finished
    assert (len(lab.rows(COPIES)), lab.rows(ATTEMPTS)) == (1, [(1,)])


def test_a_lock_that_was_waited_for_in_vain_is_not_counted():
    """1. Somebody holds ConversationLog. 2. Six calls give up their wait. 3. He lets go."""
    lab = stranded("0xA1")
    other, caller = Client(lab), Client(lab)
    other.execute("BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.ConversationLog WITH (TABLOCKX);")
    caller.execute("SET LOCK_TIMEOUT 10;")
    for _ in range(6):
        caller.submit(CALL.format(0))
        lab.advance(1)
        assert caller.out.finished
    assert [number for _, number, _ in lab.errors()] == [1222] * 6
    assert lab.rows(ATTEMPTS) == []
    other.execute("COMMIT TRANSACTION;")
    lab.rows(CALL.format(0))
    lab.advance(5)
    assert lab.bodies() == [b"\xa1"]


def test_what_was_sent_again_twenty_times_is_a_dead_letter():
    """Somebody ends every dialog at the target as soon as it is there."""
    lab = Lab(SHORT)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    targets = (
        "SELECT conversation_handle FROM sys.conversation_endpoints "
        "WHERE is_initiator = 0 AND state <> 'CD';"
    )
    ended = 0
    while handles := lab.rows(targets):
        for (handle,) in handles:
            lab.rows(f"END CONVERSATION '{handle}';")
            ended += 1
        lab.advance(5)
    assert ended == 21
    [(body, reason)] = lab.rows("SELECT Body, Reason FROM audit.DeadLetter;")
    assert body == b"\xa1" and reason.startswith("Sent again 20 times")
    assert lab.rows(COPIES) == []


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("BEGIN TRANSACTION; EXECUTE audit.usp_ResendStranded;", 50123),
        ("EXECUTE audit.usp_ResendStranded @olderThanSeconds = -1;", 50126),
        ("EXECUTE audit.usp_ResendStranded @olderThanSeconds = NULL;", 50126),
        ("EXECUTE audit.usp_ResendStranded @most = 0;", 50126),
        ("EXECUTE audit.usp_ResendStranded @endsToo = NULL;", 50126),
    ],
)
def test_bad_input_is_refused(call, number):
    lab = Lab(SHORT)
    assert Client(lab).fail(call) == number


@pytest.mark.parametrize("dooms", [False, True])
@pytest.mark.parametrize("acknowledged", ["at once", "never"])
def test_a_dialog_ended_by_hand_whose_target_is_gone_is_accounted_for(dooms, acknowledged):
    """1. END on the sender's side waits for an answer (DO). 2. CLEANUP at the target: none comes.
    A second END is refused (8427), which dooms under one value: so it is not tried.
    """
    lab = Lab(SHORT, broker_error_dooms=dooms, initiator_end_acknowledged=acknowledged)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2"))
    [(sender,)] = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"
    )
    [(target,)] = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.rows(f"END CONVERSATION '{sender}'; END CONVERSATION '{target}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.rows(CALL.format(0))
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2"]
    assert lab.rows(COPIES) == [] and lab.errors() == []


@pytest.mark.parametrize("dooms", [False, True])
@pytest.mark.parametrize("acknowledged", ["at once", "never"])
@pytest.mark.parametrize("how", ["", " WITH ERROR = 50001 DESCRIPTION = N'x'"])
def test_a_target_that_has_ended_already_is_not_ended_again(how, acknowledged, dooms):
    """1. An operator ENDs the target's side (DO until our END). 2. Activation does its part."""
    lab = Lab(SHORT, broker_error_dooms=dooms, initiator_end_acknowledged=acknowledged)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2"))
    [(target,)] = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.rows(f"END CONVERSATION '{target}'{how};")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    dead = [body for (body,) in lab.rows("SELECT Body FROM audit.DeadLetter;")]
    assert [*lab.bodies(), *dead] == [b"\xa1", b"\xa2"]
    assert lab.rows(COPIES) == [] and lab.errors() == []


def sides(lab: Lab) -> tuple[str, str]:
    """The handles of the only dialog: the sender's, the target's."""
    [(sender, target)] = lab.rows(
        "SELECT i.conversation_handle, t.conversation_handle FROM sys.conversation_endpoints AS i "
        "INNER JOIN sys.conversation_endpoints AS t ON t.conversation_id = i.conversation_id "
        "AND t.is_initiator = 0 WHERE i.is_initiator = 1;"
    )
    return sender, target


@pytest.mark.parametrize("dooms", [False, True])
@pytest.mark.parametrize("heeded", ["1222", "waits"])
@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_a_dialog_whose_reader_took_longer_than_activation_waits_is_ended_later(
    ends, heeded, dooms
):
    """1. LIFETIME ends. 2. A reader of the target lands for 60 s. 3. Activation comes, waits its
    10 s and goes. 4. The reader commits: nothing is left to resend, and nobody is told any more.
    Or it rolls back: all is sent again. Activation has rolled back nothing, and blamed nothing.
    """
    lab = Lab(
        configured(
            timer={"after_seconds": 60, "spread_seconds": 0}, conversation={"lifetime_seconds": 600}
        ),
        group_lock_timeout=heeded,
        group_lock_timeout_dooms=dooms,
    )
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    lab.rows("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    lab.advance(600)
    reader = Client(lab)
    reader.execute(
        "BEGIN TRANSACTION; RECEIVE message_body FROM audit.TargetQueue; "
        "DELETE FROM audit.SentMessage;"
    )
    lab.rows("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(60)
    assert lab.rows("SELECT 1 FROM audit.InitiatorQueue WITH (NOLOCK);") == []
    reader.execute(f"{ends} TRANSACTION;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.settle()
    open_ones = "SELECT state FROM sys.conversation_endpoints WHERE state <> 'CD';"
    if heeded == "1222" and ends == "COMMIT":
        assert lab.rows(open_ones) == [("ER",), ("ER",)]
    lab.rows(CALL.format(30))
    lab.advance(70)
    assert lab.rows(open_ones) == []
    assert lab.rows(
        "SELECT DeadLettered, Code FROM audit.ConversationLog WHERE Code < 0 AND EndedUtc > BegunUtc;"
    ) == [(0, -8489)]
    assert lab.bodies() == ([] if ends == "COMMIT" else [b"\xa1"])
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []
    assert lab.rows(ATTEMPTS) == [] and lab.errors() == []


@pytest.mark.parametrize("reads_wait", [False, True])
def test_a_reader_that_ends_the_target_and_rolls_back_is_waited_for(reads_wait):
    """1. The sender's side was ended by hand. 2. A reader of the target has taken one copy of two
    away and ended its side, and not committed. 3. The call finds the other copy. 4. The reader
    rolls back, and lands both messages after all: once.
    """
    lab = Lab(SHORT, endpoint_reads_wait=reads_wait)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2"))
    sender, target = sides(lab)
    lab.rows(f"END CONVERSATION '{sender}';")
    reader, caller = Client(lab), Client(lab)
    reader.execute(
        "BEGIN TRANSACTION; RECEIVE message_body FROM audit.TargetQueue; "
        "DELETE FROM audit.SentMessage WHERE MessageSequence = 0; "
        f"END CONVERSATION '{target}';"
    )
    caller.submit(CALL.format(0))
    lab.advance(5)
    assert not caller.out.finished
    reader.execute("ROLLBACK TRANSACTION;")
    lab.settle()
    assert caller.out.finished and not caller.errors
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    lab.rows(CALL.format(0))
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2"]
    assert lab.rows(COPIES) == [] and lab.errors() == []


@pytest.mark.parametrize("acknowledged", ["at once", "never"])
def test_a_dialog_whose_end_was_rolled_back_goes_on(acknowledged):
    """1. Somebody ends the sender's side, open. 2. The call waits for him. 3. He rolls back."""
    lab = Lab(SHORT, endpoint_reads_wait=True, initiator_end_acknowledged=acknowledged)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    sender, _ = sides(lab)
    somebody, caller = Client(lab), Client(lab)
    somebody.execute(f"BEGIN TRANSACTION; END CONVERSATION '{sender}';")
    caller.submit(CALL.format(0))
    lab.advance(5)
    assert not caller.out.finished
    somebody.execute("ROLLBACK TRANSACTION;")
    lab.settle()
    assert caller.out.finished and not caller.errors
    assert sides(lab)[0] == sender, "no other dialog was begun"
    assert (len(lab.rows(COPIES)), lab.errors()) == (1, [])
