"""usp_EndLeaked: shows by default, and ends only what nobody needs any more.

Feature leak cleanup: script (Rusanu, dialog pool), comment (Blumin), job (ryanmwright), CLEANUP
(SqlDependencyEx, SqlTableDependency).
"""

import pytest

from .lab import Client, Lab, configured, send
from .two import Two

LEAKED = "EXECUTE audit.usp_EndLeaked"
INITIATOR = "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"


@pytest.fixture
def lab():
    return Lab()


def disconnected(lab: Lab, unread: int) -> None:
    """A target endpoint whose initiator ended first, with unread messages, and no activation."""
    client = Client(lab)
    client.execute(send("0x01"))
    lab.advance(5)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    for _ in range(unread):
        client.execute(send("0x02"))
    ((handle,),) = lab.rows(INITIATOR)
    lab.sa.execute(f"END CONVERSATION '{handle}';")
    lab.settle()


def read(lab: Lab) -> None:
    """Consume what is unread without ending: the bug that leaks."""
    lab.sa.execute("RECEIVE TOP (100) conversation_handle FROM audit.TargetQueue;")


def outcomes(lab: Lab, what_if: int) -> list[tuple[str, str, str]]:
    return [
        (state, action, outcome)
        for _, _, _, state, _, action, outcome in lab.rows(
            f"{LEAKED} @reason = N'test', @WhatIf = {what_if};"
        )
    ]


def test_by_default_it_only_shows(lab):
    disconnected(lab, unread=0)
    read(lab)
    before = lab.endpoints()
    found = [row[-2:] for row in lab.rows(f"{LEAKED};")]
    assert ("END", "would be ended") in found
    assert lab.endpoints() == before


def test_a_disconnected_endpoint_with_nothing_left_is_ended(lab):
    """Threads dyatchenko#64, ST#30, ST#56: hundreds of thousands of DISCONNECTED_INBOUND."""
    disconnected(lab, unread=0)
    read(lab)
    assert ("DI", 0) in lab.endpoints()
    assert ("DISCONNECTED_INBOUND", "END", "done") in outcomes(lab, 0)
    assert ("DI", 0) not in lab.endpoints()


def test_a_disconnected_endpoint_with_unread_messages_is_kept(lab):
    disconnected(lab, unread=2)
    (row,) = [r for r in outcomes(lab, 0) if r[0] == "DISCONNECTED_INBOUND"]
    assert row[2].startswith("kept: unread messages")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(30)
    assert lab.bodies() == [b"\x01", b"\x02", b"\x02"]


def test_so_many_at_a_time_and_the_rest_with_the_next_call(lab):
    """Threads ST#30 (600,000 half open conversations), ST#56: a bounded call makes progress."""
    clients = [Client(lab) for _ in range(3)]
    for client in clients:
        client.execute(send("0x01"))
    lab.advance(5)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    for (handle,) in lab.rows(INITIATOR):
        lab.sa.execute(f"END CONVERSATION '{handle}';")
    lab.settle()
    for _ in clients:
        read(lab)
    left = []
    for _ in range(3):
        lab.rows(f"{LEAKED} @reason = N'test', @WhatIf = 0, @most = 2;")
        left.append(lab.endpoints().count(("DI", 0)))
    assert left == [1, 0, 0]


def test_a_closed_endpoint_is_cleaned_up_only_past_its_time(lab):
    """Seed 003: CLOSED for 30 minutes; and R. Rusanu 2014: some of them for ever.

    The stand-in removes them in time, so time passes here without anybody looking.
    """
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(10)
    assert lab.endpoints() == [("CD", 0)]
    assert lab.rows(f"{LEAKED};") == []
    lab.instance.engine.timers.entries.clear()
    lab.instance.clock.advance(31 * 60)
    assert outcomes(lab, 1) == [("CLOSED", "END WITH CLEANUP", "would be cleaned up")]
    assert outcomes(lab, 0) == [("CLOSED", "END WITH CLEANUP", "done")]
    assert lab.endpoints() == []


def test_a_dialog_no_row_leads_to_is_closed_in_order(lab):
    """A row deleted by hand: the target gets EndOfStream, reads what came before and ends first."""
    Client(lab).execute(send("0x01"))
    lab.sa.execute("DELETE FROM audit.SessionConversations;")
    assert outcomes(lab, 0) == [("CONVERSING", "CLOSE", "done")]
    lab.advance(5)
    assert lab.endpoints() == [("CD", 0)]
    assert [kind for _, kind, _ in lab.landed()][-1] == "EndOfStream"
    assert lab.rows("SELECT Action FROM audit.OperatorLog;") == [("end leaked",)]


def test_a_dialog_that_is_closing_and_a_private_one_are_no_leaks(lab):
    """The target is off, so both stay open: their EndOfStream has been sent."""
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.sa.execute(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, MessageType) "
        "VALUES (N'target', NEWID(), 0, N'//redial/audit/event');"
        "EXECUTE audit.usp_ReplayDeadLetter 1, @reason = N'x', @WhatIf = 0;"
    )
    assert ("CO", 1) in lab.endpoints()
    assert lab.rows(f"{LEAKED};") == []
    purposes = "SELECT DISTINCT Purpose FROM audit.vw_Conversations WHERE Side = N'initiator';"
    assert sorted(lab.rows(purposes)) == [("closing",), ("resend",)]


def test_an_argument_out_of_range_is_refused(lab):
    for wrong in ("@most = 0", "@most = 100001", "@WhatIf = NULL"):
        assert lab.sa.fail(f"{LEAKED} {wrong};") == 50132


def test_a_row_whose_dialog_is_gone_is_deleted(lab):
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    assert ("gone", "DELETE ROW", "done") in outcomes(lab, 0)
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []


def test_a_row_that_could_not_be_deleted_is_not_said_to_be_done(lab):
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    lab.sa.execute(
        "CREATE OR ALTER PROCEDURE audit.usp_RecycleConversation @handle uniqueidentifier, "
        "@sendEndOfStream bit AS RETURN 2;"
    )
    assert [o for _, a, o in outcomes(lab, 0) if a == "DELETE ROW"] == [
        "failed: see ErrorLog, its row is still there"
    ]


def test_a_row_in_use_is_neither_shown_nor_waited_for(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    client.execute("BEGIN TRANSACTION;" + send("0x02"))
    assert outcomes(lab, 0) == []
    client.execute("COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dialog_nobody_uses_is_ended(lab):
    lab.sa.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract];"
    )
    Client(lab).execute(send("0x01"))
    assert ("STARTED_OUTBOUND", "END UNUSED", "done") in outcomes(lab, 0)
    assert ("SO", 1) not in lab.endpoints()
    assert ("CO", 1) in lab.endpoints()


def test_what_it_ends_is_closed_in_the_log_so_that_the_purge_may_take_it(lab):
    """Nobody else closes that row: usp_PurgeLogs would keep it for ever."""
    client = Client(lab)
    client.execute(send("0x01"))
    lab.advance(5)
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(5)
    lab.sa.execute("RECEIVE TOP (100) conversation_handle FROM audit.InitiatorQueue;")
    assert ("DISCONNECTED_INBOUND", "END", "done") in outcomes(lab, 0)
    assert lab.rows("SELECT Reason FROM audit.ConversationLog WHERE EndedUtc IS NOT NULL;") == [
        ("Ended by usp_EndLeaked.",)
    ]


def test_a_healthy_installation_has_nothing_to_show(lab):
    Client(lab).execute(send("0x01"))
    assert lab.rows(f"{LEAKED} @reason = N'test', @WhatIf = 0;") == []


MISSING = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
    "TO SERVICE N'//no/such' ON CONTRACT [//redial/audit/contract] WITH ENCRYPTION = OFF; "
    "SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] ({body});"
)


def test_a_dialog_to_a_service_that_is_missing_is_closed_once_and_ended_in_the_end(lab):
    """Found by hand: it was never ended, and each run sent another EndOfStream (5, 10, 15 rows)."""
    for body in ("0xA1", "0xA2"):
        lab.sa.execute(MISSING.format(body=body))
    pending = "SELECT COUNT(*) FROM sys.transmission_queue;"
    assert [o for _, a, o in outcomes(lab, 0) if a == "CLOSE"] == ["done"] * 2
    assert lab.rows(pending) == [(4,)]
    assert outcomes(lab, 0) == [], "they are closing"
    assert lab.rows(pending) == [(4,)]
    lab.advance(700)
    assert [(a, o) for _, a, o in outcomes(lab, 1)] == [("END UNREACHABLE", "would be ended")] * 2
    assert [(a, o) for _, a, o in outcomes(lab, 0)] == [("END UNREACHABLE", "done")] * 2
    assert lab.endpoints() == [] and lab.rows(pending) == [(0,)]
    letters = lab.rows("SELECT Body, Reason FROM audit.DeadLetter ORDER BY Body;")
    assert letters == [
        (body, "usp_EndLeaked: service //no/such is missing") for body in (b"\xa1", b"\xa2")
    ]


def test_what_cannot_be_seen_waiting_for_a_missing_service_is_kept(lab):
    lab.sa.execute(MISSING.format(body="0xA1"))
    outcomes(lab, 0)
    lab.advance(700)
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    (row,) = lab.rows(f"EXECUTE AS USER = N'ops'; {LEAKED} @reason = N'x', @WhatIf = 0; REVERT;")
    assert row[-2] == "END UNREACHABLE" and row[-1].startswith("kept: messages that somebody sent")
    assert lab.endpoints() == [("CO", 1)]
    lab.sa.execute("ALTER ROLE db_owner ADD MEMBER ops;")
    (row,) = lab.rows(f"EXECUTE AS USER = N'ops'; {LEAKED} @reason = N'x', @WhatIf = 0; REVERT;")
    assert row[-1] == "done" and lab.endpoints() == []
    assert lab.rows("SELECT Body FROM audit.DeadLetter;") == [(b"\xa1",)]


def test_a_dialog_that_only_waits_for_its_queue_is_not_unreachable(lab):
    Client(lab).execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(5)
    lab.sa.execute("DELETE FROM audit.SentMessage;")
    lab.advance(700)
    assert lab.rows("SELECT transmission_status FROM sys.transmission_queue;") != [("",)]
    assert "END UNREACHABLE" not in {a for _, a, _ in outcomes(lab, 1)}


@pytest.mark.parametrize("shows", ["all", "db_owner"])
def test_a_target_behind_a_queue_that_is_off_is_not_given_up(shows):
    """F-545: where GET_TRANSMISSION_STATUS says nothing to us, the queue does."""
    lab = Lab(transmission_status_shows=shows)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(700)
    assert len(lab.rows("SELECT 1 FROM audit.vw_Pending;")) == (shows == "all")
    assert "messages that do not land" in {f for _, f, *_ in lab.rows("EXECUTE audit.usp_Health;")}
    assert outcomes(lab, 0) == []
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\x01"]


def test_it_waits_for_a_busy_one_two_seconds_and_goes_on(lab):
    """A reader that holds its queue's rows for ever keeps one line waiting, not the operator."""
    disconnected(lab, unread=1)
    holder, operator = Client(lab), Client(lab)
    holder.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    operator.submit(f"{LEAKED} @reason = N'x', @WhatIf = 0;")
    lab.advance(3)
    assert operator.out.finished
    (row,) = [r for r in operator.out.result_sets[-1].rows if r[3] == "DISCONNECTED_INBOUND"]
    assert row[-1].startswith("failed: Lock request time out")
    holder.execute("ROLLBACK;")


def test_why_is_asked_for_and_kept(lab):
    assert lab.sa.fail(f"{LEAKED} @WhatIf = 0;") == 50132
    Client(lab).execute(send("0x01"))
    lab.sa.execute("DELETE FROM audit.SessionConversations;")
    outcomes(lab, 0)
    assert lab.rows("SELECT Login, Reason FROM audit.OperatorLog;") == [("sa", "test")]


def test_it_refuses_inside_a_transaction(lab):
    assert lab.sa.fail(f"BEGIN TRANSACTION; {LEAKED};") == 50130


def test_an_operator_may_run_it_and_a_sender_may_not(lab):
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    lab.sa.execute(f"EXECUTE AS USER = N'ops'; {LEAKED}; REVERT;")
    assert lab.sa.fail(f"EXECUTE AS USER = N'app'; {LEAKED};") == 229


# ---------------------------------------------------------------------- one side alone
GIVEN_UP = configured(
    timer={"after_seconds": 60, "spread_seconds": 0}, operations={"resend_limit": 2}
)
TARGETS = "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"


def closing_and_alone(*bodies: str) -> Lab:
    """EndOfStream was sent, nothing was read, and the target's side was ended WITH CLEANUP."""
    lab = Lab(GIVEN_UP)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(" ".join(map(send, bodies)))
    lab.rows(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(5)
    ((target,),) = lab.rows(TARGETS)
    lab.rows(f"END CONVERSATION '{target}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(700)
    return lab


def shown_as(lab: Lab, action: str, handle: str, conversation: str) -> None:
    """The list is as old as its reading: here it is what the next call finds in it."""
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.ufn_Leaked'));")
    head = text[text.index("[audit].[ufn_Leaked]") : text.index("BEGIN\n")]
    lab.rows(
        f"ALTER FUNCTION {head} BEGIN "
        "INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)"
        f" VALUES ('{handle}', '{conversation}', 1, N'CONVERSING', N'{action}'); RETURN; END;"
    )


def test_a_dialog_whose_target_is_gone_is_given_up_and_what_it_has_not_landed_goes_on():
    lab = closing_and_alone("0xA1", "0xA2")
    assert outcomes(lab, 1) == [("CONVERSING", "GIVE UP", "would be given up")]
    assert outcomes(lab, 0) == [("CONVERSING", "GIVE UP", "done")]
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2"]


@pytest.mark.parametrize("what_if", [1, 0])
def test_one_with_more_copies_than_the_limit_is_left_and_says_what_to_call(what_if):
    lab = closing_and_alone("0xA1", "0xA2", "0xA3")
    ((_, action, outcome),) = outcomes(lab, what_if)
    assert action == "GIVE UP"
    assert outcome.startswith("kept: more than 2 messages") and "room in the log" in outcome
    assert lab.rows("SELECT COUNT(*) FROM audit.SentMessage;") == [(3,)]
    lab.rows(outcome[outcome.index("EXECUTE ") :])
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]


def test_one_that_is_alive_again_when_its_turn_comes_stays():
    """Whoever had ended it has rolled back, say: the list is only where to look."""
    lab = Lab(GIVEN_UP)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    handle = lab.handle()
    lab.rows(f"EXECUTE audit.usp_RecycleConversation '{handle}', 1;")
    lab.advance(5)
    ((conversation,),) = lab.rows(
        "SELECT conversation_id FROM sys.conversation_endpoints WHERE is_initiator = 1;"
    )
    shown_as(lab, "GIVE UP", handle, conversation)
    assert outcomes(lab, 0) == [("CONVERSING", "GIVE UP", "kept: its target is there")]
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert lab.bodies() == [b"\xa1"]
    assert outcomes(lab, 0)[0][2].startswith("kept:"), "ended meanwhile"


def test_one_that_somebody_ends_while_its_lock_is_waited_for_is_looked_at_again():
    lab = closing_and_alone("0xA1")
    other, operator = Client(lab), Client(lab)
    ((handle,),) = lab.rows(INITIATOR)
    other.execute(f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 600;")
    operator.submit(f"{LEAKED} @reason = N'test', @WhatIf = 0;")
    assert not operator.out.finished
    other.execute(f"EXECUTE audit.usp_ResendPending '{handle}', 0; COMMIT TRANSACTION;")
    lab.settle()
    ((*_, action, outcome),) = operator.out.result_sets[-1].rows
    assert action == "GIVE UP"
    assert outcome.startswith("kept: it has ended"), outcome
    lab.advance(5)
    assert lab.bodies() == [b"\xa1"]


def test_a_target_whose_senders_side_was_removed_by_hand_is_listed_and_cleaned_up():
    """Nobody is told (F-463), and nothing will come: CONVERSING until its lifetime ends."""
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    lab.rows(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    assert ("CONVERSING", "END ALONE", "would be cleaned up") in outcomes(lab, 1)
    assert ("CO", 0) in lab.endpoints()
    assert ("CONVERSING", "END ALONE", "done") in outcomes(lab, 0)
    assert lab.endpoints() == []
    assert outcomes(lab, 0) == []


def test_with_unread_messages_or_copies_it_is_kept():
    lab = Lab()
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    lab.rows(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    alone = [o for _, a, o in outcomes(lab, 0) if a == "END ALONE"]
    assert alone == ["kept: unread messages are left; its activation handles them"]
    read(lab)
    alone = [o for _, a, o in outcomes(lab, 0) if a == "END ALONE"]
    assert alone == ["kept: messages have not landed; call usp_Resend, which ends it"]
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.rows("EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0;")
    lab.advance(5)
    assert lab.bodies() == [b"\x01"]
    assert [a for _, a, _ in outcomes(lab, 0) if a == "END ALONE"] == []


def test_one_whose_senders_side_is_there_is_kept():
    lab = Lab()
    Client(lab).execute(send("0x01"))
    ((handle, conversation),) = lab.rows(
        "SELECT conversation_handle, conversation_id "
        "FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    shown_as(lab, "END ALONE", handle, conversation)
    assert outcomes(lab, 0) == [("CONVERSING", "END ALONE", "kept: its sender's side is there")]
    assert ("CO", 0) in lab.endpoints()


@pytest.mark.parametrize("how", ["WITH CLEANUP", "Landed set aside"])
def test_in_two_databases_a_dialog_that_gets_no_answer_is_shown_with_what_to_look_at(how):
    """1. All is sent. 2. The target's side is removed by hand, or what it says is dead-lettered
    here. 3. Nobody will answer EndOfStream; whether the target is slow cannot be seen from here.
    """
    two = Two()
    off = "DEPOT" if how == "WITH CLEANUP" else "SHOP"
    if off == "DEPOT":
        two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    two.send("0xA1")
    if off == "SHOP":
        two.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    ((handle,),) = two.run("SELECT Handle FROM audit.SessionConversations;")
    two.run(f"EXECUTE audit.usp_RecycleConversation '{handle}', 1;")
    two.instance.advance(5)
    if off == "DEPOT":
        ((target,),) = two.depot(TARGETS)
        two.depot(f"END CONVERSATION '{target}' WITH CLEANUP;")
        two.depot("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    else:
        two.run(
            "INSERT INTO audit.PoisonAttempt "
            "(ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc) "
            "SELECT conversation_handle, message_sequence_number, message_type_name, 9, "
            "SYSUTCDATETIME() FROM audit.InitiatorQueue;"
        )
        two.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    assert two.run(LEAKED) == [], "it may yet answer"
    two.instance.advance(700)
    ((found, _, _, _, _, action, outcome),) = two.run(f"{LEAKED} @reason = N'test', @WhatIf = 0;")
    assert (found, action, outcome[:5]) == (handle, "GIVE UP", "kept:")
    assert "look in the target's database" in outcome
    start = outcome.index("EXECUTE ")
    two.run(outcome[start : outcome.index(" (", start)])
    two.instance.advance(5)
    assert set(two.bodies()) == {b"\xa1"}
    assert two.run(LEAKED) == []
