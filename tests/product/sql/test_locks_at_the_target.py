"""A lock that does not come (1222) at the target blames no message at once (F-367)."""

import pytest

from .lab import Client, Lab, configured, send
from .test_usp_ProcessMessage import HOOK, POISON, dead, done, hook, resume, three
from .test_usp_TargetActivation import pause, queue_is_on

ASKS = "SET LOCK_TIMEOUT 100; UPDATE dbo.Door SET Shut = Shut WHERE Id = 1;"
DOOR = (
    "CREATE TABLE dbo.Door (Id int NOT NULL PRIMARY KEY, Shut int NOT NULL);"
    "INSERT INTO dbo.Door VALUES (1, 0); GRANT SELECT, UPDATE ON dbo.Door TO audit_module;"
)
SHUT = "BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1 WHERE Id = 1;"
TRIGGER = (
    "CREATE TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS BEGIN SET NOCOUNT ON; "
    f"IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0x66) BEGIN {ASKS} END; END;"
)


def shut(lab: Lab) -> Client:
    """Somebody holds what the processing of 0x66 asks for."""
    lab.sa.execute(DOOR)
    porter = Client(lab)
    porter.execute(SHUT)
    return porter


@pytest.mark.parametrize("seconds", [1, 3])
def test_a_hook_that_meets_a_lock_for_some_seconds_loses_its_message_to_no_dead_letter(seconds):
    lab = Lab(configured(**HOOK))
    porter = shut(lab)
    hook(lab, POISON.format(ASKS))
    three(lab)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(seconds)
    assert dead(lab) == []
    porter.execute("COMMIT TRANSACTION;")
    lab.advance(30)
    assert done(lab) == [b"\x01", b"\x66", b"\x03"] and dead(lab) == []
    assert queue_is_on(lab)


@pytest.mark.parametrize("readers", [1, 2])
def test_a_lock_that_stays_rolls_nothing_back_and_the_message_can_be_replayed(readers):
    lab = Lab(configured(target=HOOK["target"] | {"readers": readers}))
    shut(lab)
    hook(lab, POISON.format(ASKS))
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x03"]
    assert dead(lab) == [(1, b"\x66", 1222)]
    assert lab.errors() == [] and queue_is_on(lab)


@pytest.mark.sampled(every=5, meets=("limit", "readers", "minded"))
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("readers", [1, 2])
@pytest.mark.parametrize("minded", [True, False])
def test_where_it_dooms_the_transaction_it_costs_two_rollbacks(limit, readers, minded):
    """XACT_ABORT ON in the hook. minded: the lock is gone soon."""
    lab = Lab(configured(target=HOOK["target"] | {"readers": readers}, poison={"limit": limit}))
    porter = shut(lab)
    hook(lab, POISON.format("SET XACT_ABORT ON; " + ASKS))
    three(lab)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(1)
    assert dead(lab) == []
    if minded:
        porter.execute("COMMIT TRANSACTION;")
    lab.advance(60)
    assert done(lab) == [b"\x01", b"\x66", b"\x03"] if minded else [b"\x01", b"\x03"]
    assert dead(lab) == ([] if minded else [(1, b"\x66", 1222)])
    assert queue_is_on(lab)


def test_a_row_that_fails_only_inside_its_receive_does_not_switch_the_queue_off():
    """As a deadlock's victim does, again and again: alone it never meets the lock."""
    lab = Lab(configured(**HOOK))
    shut(lab)
    hook(
        lab,
        POISON.format(
            "IF EXISTS (SELECT 1 FROM audit.PoisonAttempt WHERE MessageSequence = "
            "-2) BEGIN SET XACT_ABORT ON; " + ASKS + " END;"
        ),
    )
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x03"] and dead(lab) == [(1, b"\x66", 1222)]
    assert len(lab.errors()) == 4  # the batch; the first row alone lands; then three in a row
    assert queue_is_on(lab)


@pytest.mark.parametrize("several", [False, True])
def test_a_trigger_on_the_landing_table_is_waited_for_as_a_hook_is(several):
    lab = Lab()
    porter = shut(lab)
    lab.sa.execute(TRIGGER)
    pause(lab)
    for body in ("0x66", "0x67") if several else ("0x66",):
        Client(lab).execute(send(body))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(1)
    assert dead(lab) == [] and lab.bodies() == []
    porter.execute("COMMIT TRANSACTION;")
    lab.advance(30)
    assert lab.bodies() == [b"\x66", b"\x67"] if several else [b"\x66"]
    assert dead(lab) == [] and queue_is_on(lab)


def test_what_fails_before_a_batch_is_known_blames_no_row_of_the_one_before():
    """usp_FindPoison got the rows of the batch before, under the handle of this one."""
    lab = Lab(configured(target={"receive_batch": 1, "receive_wait_ms": 0}))
    first, second = Client(lab), Client(lab)
    pause(lab)
    first.execute(send("0x01"))
    second.execute(send("0x02"))
    # The second conversation fails behind its landing, where no row is to blame.
    lab.sa.execute(
        "CREATE TRIGGER audit.TR_Attempt ON audit.PoisonAttempt AFTER DELETE AS BEGIN "
        "SET NOCOUNT ON; THROW 60001, N'not now', 1; END;"
    )
    ((handle,),) = lab.rows(
        "SELECT TOP (1) conversation_handle FROM sys.conversation_endpoints "
        "WHERE is_initiator = 1 ORDER BY conversation_handle DESC;"
    )
    lab.sa.execute(f"END CONVERSATION '{handle}';")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []
    assert dead(lab) == []


def test_recording_a_failed_attempt_waits_for_no_other_conversations_row():
    """A reader that waits for its turn may hold one, and whoever records has the turn (F-162)."""
    lab = Lab(bad_optimizer=True)
    other, reader = Client(lab), Client(lab)
    record = "EXECUTE audit.usp_RecordPoison '{}', 0, N'x';"
    other.execute("BEGIN TRANSACTION; " + record.format("11111111-1111-1111-1111-111111111111"))
    reader.execute(record.format("22222222-2222-2222-2222-222222222222"))
    reader.execute(record.format("22222222-2222-2222-2222-222222222222"))
    other.execute("ROLLBACK TRANSACTION;")
    assert lab.rows("SELECT Attempts FROM audit.PoisonAttempt;") == [(2,)]


@pytest.mark.parametrize("readers", [1, 4])
@pytest.mark.parametrize("processing", ["land", "hook"])
@pytest.mark.parametrize("hint", ["HOLDLOCK", "UPDLOCK"])
def test_senders_copies_that_somebody_locks_are_waited_for_holding_nothing(
    processing, readers, hint
):
    """1. Somebody reads a copy by hand and leaves his transaction open, for half an hour. 2. He ends
    it: all lands; until then nobody was to blame, and the queue stays on.
    """
    target = {"processing": processing, "readers": readers, "receive_wait_ms": 0}
    lab = Lab(configured(target=target))
    if processing == "hook":
        hook(lab)
    pause(lab)
    three(lab)
    reader = Client(lab)
    reader.execute(
        f"BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.SentMessage WITH ({hint}, ROWLOCK) "
        "WHERE MessageSequence = 1;"
    )
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(1800)
    assert (queue_is_on(lab), dead(lab)) == (True, [])
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt WHERE Attempts > 0;") == []
    assert len(lab.errors()) <= readers, "each gives up its RECEIVE once"
    Client(lab).execute(  # 1222 while a reader holds the dialog
        "SET LOCK_TIMEOUT 0; DECLARE @h uniqueidentifier = (SELECT ce.conversation_handle "
        "FROM sys.conversation_endpoints AS ce WHERE ce.is_initiator = 0); "
        "BEGIN TRANSACTION; BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3600; ROLLBACK TRANSACTION;"
    )
    reader.execute("COMMIT TRANSACTION;")
    lab.advance(120)
    assert (done(lab) if processing == "hook" else lab.bodies()) == [b"\x01", b"\x66", b"\x03"]
    assert lab.rows("SELECT 1 FROM audit.SentMessage;") == [] and dead(lab) == []
