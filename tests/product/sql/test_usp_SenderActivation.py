"""usp_SenderActivation with usp_RecycleConversation: timers recycle, EndDialog and Error end."""

import pytest

from .lab import Client, Lab, configured, send

FAST = configured(timer={"after_seconds": 60, "spread_seconds": 0, "retry_seconds": 5})


@pytest.fixture
def lab():
    return Lab(FAST)


@pytest.fixture
def client(lab):
    return Client(lab)


def test_a_dialog_is_recycled_at_its_age_and_ends_target_first(lab, client):
    """Feature recycle by age, EndOfStream, target ends first: seed 000 by timer; seed 003, without
    exception."""
    client.execute(send("0x01"))
    first = lab.handle()
    lab.advance(59)
    assert lab.handle() == first
    lab.advance(1)
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.endpoints() == [("CD", 0)]
    assert [kind for _, kind, _ in lab.landed()] == ["//redial/audit/event", "EndOfStream"]
    client.execute(send("0x02"))
    assert lab.handle() != first
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_the_log_tells_how_many_messages_a_dialog_carried(lab, client):
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body))
    lab.advance(60)
    ((messages, resent, dead, eos, ended),) = lab.rows(
        "SELECT Messages, Resent, DeadLettered, EndOfStreamUtc, EndedUtc "
        "FROM audit.ConversationLog;"
    )
    assert (messages, resent, dead) == (3, 0, 0)
    assert eos is not None and ended is not None


def test_the_closed_row_goes_after_thirty_minutes(lab, client):
    client.execute(send())
    lab.advance(60)
    lab.advance(1790)
    assert lab.endpoints() == [("CD", 0)]
    lab.advance(20)
    assert lab.endpoints() == []


def test_a_sender_in_a_transaction_is_not_disturbed_and_the_timer_comes_again(lab, client):
    """T1 sends and stays open; the timer fires, finds the row busy, is re-armed; T1 commits."""
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    client.execute("COMMIT; BEGIN TRANSACTION;" + send("0x02"))
    lab.advance(62)
    client.execute(send("0x03") + "COMMIT;")
    lab.advance(10)
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1
    assert lab.errors() == []


def test_while_the_target_queue_is_off_end_of_stream_waits_and_is_sent_once(lab, client):
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x02"))
    lab.advance(600)
    assert lab.endpoints() == [("CO", 0), ("CO", 1)]
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1
    assert lab.endpoints() == [("CD", 0)]


def test_a_dead_dialog_loses_its_row_when_the_timer_finds_it(lab, client):
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}';")
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(120)
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.endpoints() == [("CD", 0)]
    assert lab.errors() == []


def test_an_application_error_from_the_target_ends_the_dialog_and_is_logged(lab, client):
    client.execute(send("0x01"))
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}' WITH ERROR = 77 DESCRIPTION = N'no more';")
    lab.settle()
    assert lab.rows("SELECT Code, Reason FROM audit.ConversationLog;") == [(77, "no more")]
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert [state for state, initiator in lab.endpoints() if initiator] == []


def test_without_db_owner_dialogs_end_as_with_it(lab, client):
    """What has not landed is in SentMessage, whoever may see sys.transmission_queue (F-113)."""
    client.execute(send("0x01"))
    lab.advance(60)
    assert lab.endpoints() == [("CD", 0)]
    assert lab.errors() == []


def test_recycling_inside_a_transaction_is_refused(lab, client):
    client.execute(send())
    assert (
        client.fail(
            f"BEGIN TRANSACTION; EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;"
        )
        == 50120
    )


def test_a_busy_row_is_left_alone(lab, client):
    client.execute(send("0x01"))
    handle = lab.handle()
    client.execute("BEGIN TRANSACTION;" + send("0x02"))
    rows = lab.rows(
        f"DECLARE @rc int; EXECUTE @rc = audit.usp_RecycleConversation '{handle}', 1; SELECT @rc;"
    )
    assert rows == [(1,)]
    client.execute("COMMIT;")
    assert lab.handle() == handle


@pytest.mark.parametrize("versions", ["OFF", "ON"])
def test_a_row_that_is_just_being_written_is_busy_not_gone(lab, client, versions):
    """Under READ_COMMITTED_SNAPSHOT a row version would say that there is none (F-375)."""
    client.execute("USE master;")  # the option waits for everybody else to leave
    lab.sa.execute(f"ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT {versions};")
    client.execute("USE lab;")
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    ((handle,),) = client.execute("SELECT Handle FROM audit.SessionConversations;")
    recycle = (
        f"DECLARE @rc int; EXECUTE @rc = audit.usp_RecycleConversation '{handle}', 1; SELECT @rc;"
    )
    assert lab.rows(recycle) == [(1,)]
    client.execute("COMMIT;")
    assert lab.rows(recycle) == [(0,)]


def test_a_dialog_no_row_leads_to_is_told_apart_from_one_that_was_recycled(lab, client):
    client.execute(send("0x01"))
    recycle = (
        f"DECLARE @rc int; EXECUTE @rc = audit.usp_RecycleConversation '{lab.handle()}', 1; "
        "SELECT @rc;"
    )
    assert lab.rows(recycle) == [(0,)]
    assert lab.rows(recycle) == [(3,)]
    assert [kind for _, kind, _ in lab.landed()] == ["//redial/audit/event", "EndOfStream"]


def test_a_timer_that_failed_once_is_asked_again_when_the_row_is_busy(lab, client):
    """Its re-arming is kept out of transaction 1, but not forgotten."""
    client.execute(send("0x01"))
    for sequence in (-1, 0):
        lab.sa.execute(
            "INSERT INTO audit.PoisonAttempt (ConversationHandle, MessageSequence, MessageType, "
            f"Attempts, LastUtc) SELECT sc.Handle, {sequence}, "
            "N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer', 1, SYSUTCDATETIME() "
            "FROM audit.SessionConversations AS sc;"
        )
    client.execute("BEGIN TRANSACTION;" + send("0x02"))
    lab.advance(62)
    client.execute("COMMIT;")
    lab.advance(10)
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.endpoints() == [("CD", 0)]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_an_ending_that_always_fails_is_set_aside_and_the_queue_stays_on(lab, client):
    client.execute(send("0x01"))
    handle = lab.handle()
    lab.sa.execute(
        "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Never CHECK (EndedUtc IS NULL);"
    )
    lab.advance(120)
    assert lab.rows("SELECT COUNT(*) FROM sys.service_queues WHERE is_receive_enabled = 0;") == [
        (0,)
    ]
    assert [number for _, number, _ in lab.errors()] == [547, 547]
    ((side, reason),) = lab.rows("SELECT Side, Reason FROM audit.DeadLetter;")
    assert side == "initiator" and reason.startswith("Not ended, see ErrorLog")
    assert lab.endpoints() == [("CD", 0), ("DI", 1)]
    lab.sa.execute("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_Never;")
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending @handle = '{handle}', @code = 0;")
    assert lab.endpoints() == [("CD", 0)]
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []


def test_recycling_from_a_client_without_autocommit_leaves_nothing_open(lab, client):
    """IMPLICIT_TRANSACTIONS ON: a read would open a transaction and R would stay locked (F-137)."""
    client.execute(send("0x01"))
    handle = lab.handle()
    operator = Client(lab)
    operator.execute(
        "SET IMPLICIT_TRANSACTIONS ON; EXECUTE audit.usp_RecycleConversation "
        f"@handle = '{handle}', @sendEndOfStream = 1;"
    )
    assert operator.value("@@TRANCOUNT") == 0
    assert lab.endpoints() == [("CD", 0)]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_lock_that_never_comes_blames_no_message_and_never_switches_the_queue_off(limit):
    """1. Somebody holds a table that ending a dialog needs. 2. The dialog ends; each of two readers
    gives up its wait once, pauses, and leaves the dialog to a transaction that receives nothing.
    3. The table is free: the dialog is ended.
    """
    lab = Lab(configured(poison={"limit": limit}))
    Client(lab).execute(send("0x01"))
    lab.rows("CREATE TABLE audit.Held (n int); INSERT INTO audit.Held VALUES (1);")
    [(text,)] = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ResendPending'));")
    lab.rows(
        "ALTER PROCEDURE audit.usp_ResendPending @handle uniqueidentifier, @code int, "
        "@description nvarchar(3000), @allowResend bit = 1, @waitMs int = 0 AS "
        "SET LOCK_TIMEOUT 0; DECLARE @n int = (SELECT COUNT(*) FROM audit.Held);"
    )
    holder = Client(lab)
    holder.execute("BEGIN TRANSACTION; UPDATE audit.Held SET n = 2;")
    [(target,)] = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.rows(f"END CONVERSATION '{target}';")
    lab.advance(4)
    assert len(lab.rows("SELECT 1 FROM audit.InitiatorQueue WITH (NOLOCK);")) == 1, "it pauses"
    lab.advance(60)
    assert lab.rows("SELECT 1 FROM audit.InitiatorQueue WITH (NOLOCK);") == [], "it is left"
    assert [number for _, number, _ in lab.errors()] == [1222] * 2
    assert lab.rows(
        "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'InitiatorQueue';"
    ) == [(True,)]
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []
    assert lab.rows("SELECT Attempts FROM audit.PoisonAttempt;") == [(0,)], "only its mark"
    holder.execute("COMMIT TRANSACTION;")
    lab.rows(text.replace("CREATE", "ALTER", 1))
    lab.rows("EXECUTE audit.usp_ResendStranded;")
    assert [state for state, initiator in lab.endpoints() if initiator] == []
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []


def test_what_a_killed_reader_has_left_is_the_next_ones(lab, client):
    """1. A dialog fails with a message that has not landed. 2. Its reader commits the RECEIVE and is
    killed before it sends the message again. 3. Another dialog ends: its reader does both.
    """
    text = "SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ResendLeft'));"
    ((text,),) = lab.rows(text)
    lab.rows("ALTER PROCEDURE audit.usp_ResendLeft AS RETURN 0;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    client.execute(send("0x01"))
    fail = (
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM "
        "sys.conversation_endpoints WHERE is_initiator = 0 AND state = 'CO'); "
        "END CONVERSATION @h WITH ERROR = 50999 DESCRIPTION = N'no more';"
    )
    lab.sa.execute(fail)
    lab.settle()
    assert [state for state, initiator in lab.endpoints() if initiator] == ["ER"]
    assert lab.rows("SELECT MessageSequence, Attempts FROM audit.PoisonAttempt;") == [(-4, 0)]
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []

    lab.rows(text.replace("CREATE", "ALTER", 1))
    client.execute(send("0x02"))
    lab.sa.execute(fail)
    lab.settle()
    assert [state for state, initiator in lab.endpoints() if initiator] == []
    assert lab.rows("SELECT Body, Code FROM audit.DeadLetter ORDER BY Body;") == [
        (b"\x01", 50999),
        (b"\x02", 50999),
    ]
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []
    assert lab.errors() == []


LEFT = "EXECUTE audit.usp_ResendLeft;"
MARK = "SELECT MessageSequence, Attempts FROM audit.PoisonAttempt;"


def left_behind(lab, client):
    """A dialog that has failed with a message that has not landed, its reader killed; its handle."""
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ResendLeft'));")
    lab.rows("ALTER PROCEDURE audit.usp_ResendLeft AS RETURN 0;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    client.execute(send("0x01"))
    handle = lab.handle()
    lab.sa.execute(
        "DECLARE @h uniqueidentifier = (SELECT conversation_handle FROM "
        "sys.conversation_endpoints WHERE is_initiator = 0); END CONVERSATION @h;"
    )
    lab.settle()
    lab.rows(text.replace("CREATE", "ALTER", 1))
    assert lab.rows(MARK) == [(-4, 0)]
    return handle


def test_the_mark_of_a_dialog_whose_end_is_rolled_back_stays(lab, client):
    """1. An operator ends the dialog, not committed. 2. A reader comes by its mark. 3. He rolls back."""
    handle = left_behind(lab, client)
    operator, reader = Client(lab), Client(lab)
    operator.execute(f"BEGIN TRANSACTION; END CONVERSATION '{handle}';")
    reader.execute(LEFT)
    operator.execute("ROLLBACK TRANSACTION;")
    assert lab.rows(MARK) == [(-4, 0)]
    reader.execute(LEFT)
    assert [state for state, initiator in lab.endpoints() if initiator] == ["CO"], "sent again"
    assert lab.rows(MARK) == []


def test_the_servers_set_up_blames_no_copy_of_the_sender_either(lab, client):
    """1. A procedure is gone for a while (2812). 2. A reader tries, twice. 3. It is there again."""
    left_behind(lab, client)
    lab.sa.execute("EXECUTE sp_rename 'audit.usp_SendPrivately', 'usp_SendPrivately_';")
    for seconds in (0, 1, 30):
        lab.advance(seconds)
        lab.sa.execute(LEFT)
    assert lab.rows(MARK) == [(-4, 0)]
    assert [number for _, number, _ in lab.errors()] == [2812, 2812], (
        "told again when some time has passed"
    )
    lab.sa.execute("EXECUTE sp_rename 'audit.usp_SendPrivately_', 'usp_SendPrivately';")
    lab.sa.execute(LEFT)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert (lab.bodies(), lab.rows(MARK)) == ([b"\x01"], [])
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []
