"""processing = hook: the user's procedure, its transaction and its poison (docs/hook.md).

Feature poison handling: a message the user's code cannot take is set aside, its neighbours go on.
"""

import pytest

from redial_broker.instance.instance import USER
from tests.installed import rendered, split

from .lab import Client, Lab, configured, send

HOOK = {"target": {"processing": "hook", "receive_wait_ms": 0, "readers": 1}}
OWN = (
    "ALTER PROCEDURE audit.usp_ProcessMessage @conversationId uniqueidentifier, "
    "@handle uniqueidentifier, @sequence bigint, @messageType nvarchar(256), "
    "@body varbinary(max), @key nvarchar(200), @keySequence bigint, @messageId uniqueidentifier, "
    "@sentUtc datetime2(3), @senderLogin nvarchar(128), @senderApp nvarchar(128), "
    "@senderHost nvarchar(128) AS BEGIN SET NOCOUNT ON; "
    "INSERT INTO dbo.Done (Sequence, Body) VALUES (@sequence, @body); "
    "{} END;"
)
POISON = "IF @body = 0x66 BEGIN {} END;"
DONE = (
    "CREATE TABLE dbo.Done (Sequence bigint NOT NULL, Body varbinary(max) NULL);"
    "GRANT INSERT ON dbo.Done TO audit_module;"
)


@pytest.fixture
def lab():
    return Lab(configured(**HOOK))


def hook(lab: Lab, work: str = "") -> None:
    """Put a procedure in the hook's place; messages gather until ``resume``."""
    lab.sa.execute(DONE)
    lab.sa.execute(OWN.format(work))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")


def resume(lab: Lab) -> None:
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(30)


def done(lab: Lab) -> list[bytes]:
    return [body for (body,) in lab.rows("SELECT Body FROM dbo.Done ORDER BY Sequence;")]


def dead(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT MessageSequence, Body, Code FROM audit.DeadLetter ORDER BY 1;")


def at_rest(lab: Lab) -> bool:
    """The queue is on and empty, nobody holds a lock or a transaction."""
    return (
        lab.rows("SELECT 1 FROM sys.service_queues WHERE is_receive_enabled = 0;") == []
        and lab.rows("SELECT 1 FROM audit.TargetQueue;") == []
        and not lab.instance.engine.locks.resources
    )


def three(lab: Lab) -> None:
    """One, the poison one, three."""
    client = Client(lab)
    for body in ("0x01", "0x66", "0x03"):
        client.execute(send(body))


def test_the_stub_lands_until_somebody_writes_the_procedure(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    lab.advance(5)
    assert lab.bodies() == [b"\x01"]


def test_the_procedure_gets_every_message_in_order_and_nothing_of_it_lands(lab):
    hook(lab)
    client = Client(lab)
    for number in range(5):
        client.execute(send(f"0x0{number}"))
    resume(lab)
    assert done(lab) == [bytes([n]) for n in range(5)]
    assert lab.landed() == [] and dead(lab) == []


def test_the_end_of_a_dialog_still_lands_and_the_target_ends_it(lab):
    hook(lab)
    Client(lab).execute(send("0x01"))
    resume(lab)
    lab.advance(7200)
    assert [kind for _, kind, _ in lab.landed()] == ["EndOfStream"]
    assert [s for s, initiator in lab.endpoints() if not initiator] in ([], ["CD"])


def test_a_deployment_never_replaces_it(lab):
    hook(lab)
    for name, text in rendered(lab.config).items():
        if name[:2].isdigit():
            for batch in split(text):
                lab.sa.execute(batch.sql)
    Client(lab).execute(send("0x01"))
    resume(lab)
    assert done(lab) == [b"\x01"]


def test_stamps_of_an_envelope_are_its_parameters_and_the_body_has_none():
    lab = Lab(configured(**HOOK, conversation={"delivery": "exactly_once"}))
    hook(lab, "INSERT INTO dbo.Done VALUES (1, CONVERT(varbinary(16), @messageId));")
    message_id = "00112233-4455-6677-8899-AABBCCDDEEFF"
    Client(lab).execute(send("0x0102").replace(";", f", @messageId = '{message_id}';"))
    resume(lab)
    assert done(lab) == [b"\x01\x02", bytes.fromhex("33221100554477668899aabbccddeeff")]


RECOVERABLE = {
    "throws": ("THROW 60001, N'no', 1;", 60001),
    "a constraint": ("INSERT INTO dbo.Door VALUES (NULL);", 515),
    "one COMMIT too many": ("COMMIT TRANSACTION;", 50211),
    "a level left open": ("BEGIN TRANSACTION;", 50211),
    "two levels left open, and an error": (
        "BEGIN TRANSACTION; BEGIN TRANSACTION; THROW 60001, N'no', 1;",
        50211,
    ),
}


@pytest.mark.parametrize("what", RECOVERABLE)
def test_a_failure_that_can_be_undone_is_dead_lettered_and_its_neighbours_go_on(lab, what):
    work, code = RECOVERABLE[what]
    lab.sa.execute(
        "CREATE TABLE dbo.Door (Id int NOT NULL); GRANT SELECT, INSERT ON dbo.Door TO audit_module;"
    )
    hook(lab, POISON.format(work))
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x03"]
    assert dead(lab) == [(1, b"\x66", code)]
    assert lab.errors() == [] and at_rest(lab)


DOOMED = {
    "a conversion": ("DECLARE @n int = CONVERT(int, N'x');", 245),
    "XACT_ABORT": ("SET XACT_ABORT ON; THROW 60001, N'no', 1;", 60001),
    "a ROLLBACK": ("ROLLBACK TRANSACTION;", 50210),
    "a ROLLBACK and an error": ("ROLLBACK TRANSACTION; THROW 60001, N'100 % no', 1;", 50210),
    "a ROLLBACK and as many levels anew": (
        "ROLLBACK TRANSACTION; BEGIN TRANSACTION; BEGIN TRANSACTION;",
        50210,
    ),
    "a ROLLBACK and one level anew": ("ROLLBACK TRANSACTION; BEGIN TRANSACTION;", 50210),
}


@pytest.mark.parametrize("what", DOOMED)
def test_a_failure_that_dooms_costs_one_rollback_and_the_next_receiver_dead_letters_it(lab, what):
    work, code = DOOMED[what]
    hook(lab, POISON.format(work))
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x03"]
    assert dead(lab) == [(1, b"\x66", code)]
    assert len(lab.errors()) == 1 and at_rest(lab)


@pytest.mark.parametrize("what", ["throws", "one COMMIT too many"])
def test_it_holds_when_266_is_all_the_server_says(lab, what):
    """A hook that catches its own error and returns: only the count tells."""
    hook(
        lab,
        POISON.format(
            f"BEGIN TRY {RECOVERABLE[what][0]} END TRY BEGIN CATCH PRINT N'?'; END CATCH;"
        ),
    )
    three(lab)
    resume(lab)
    assert b"\x01" in done(lab) and b"\x03" in done(lab)
    assert at_rest(lab)


COMMITS = {
    "until nothing is open": "WHILE @@TRANCOUNT > 0 COMMIT TRANSACTION;",
    "and raises": "WHILE @@TRANCOUNT > 0 COMMIT TRANSACTION; THROW 60001, N'no', 1;",
    "and begins as many anew": "COMMIT TRANSACTION; COMMIT TRANSACTION; BEGIN TRANSACTION; "
    "BEGIN TRANSACTION;",
}


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("what", COMMITS)
def test_a_hook_that_commits_the_receive_loses_nothing(what, delivery):
    lab = Lab(configured(**HOOK, conversation={"delivery": delivery}))
    hook(lab, POISON.format(COMMITS[what]))
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x66"]
    assert [(n, code) for n, _, code in dead(lab)] == [(1, 50213), (2, 50213)]
    if delivery == "exactly_once":
        assert lab.rows("SELECT COUNT(*) FROM audit.Inbox;") == [(1,)]
    assert lab.rows("SELECT COUNT(*) FROM audit.PoisonAttempt;") == [(0,)]
    assert at_rest(lab)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("what", COMMITS)
def test_a_hook_that_commits_what_was_only_rehearsed_loses_nothing(what, delivery):
    """Nothing was received: an id that stayed would make its message a repeat, and drop it. What
    the hook has committed it is given again."""
    lab = Lab(configured(**HOOK, conversation={"delivery": delivery}))
    hook(lab, POISON.format(COMMITS[what]))
    three(lab)
    lab.sa.execute(
        "DECLARE @rows audit.ReceivedBatch, @handle uniqueidentifier, "
        "@queue int = OBJECT_ID(N'audit.TargetQueue'); "
        "INSERT INTO @rows SELECT message_sequence_number, message_type_name, message_body "
        "FROM audit.TargetQueue ORDER BY queuing_order; "
        "SELECT @handle = conversation_handle FROM audit.TargetQueue; "
        "EXECUTE audit.usp_WaitForServer @handle, @queue, NULL, @rows;"
    )
    assert set(done(lab)) == {b"\x01", b"\x66"} and dead(lab) == []
    if delivery == "exactly_once":
        assert lab.rows("SELECT COUNT(*) FROM audit.Inbox;") == [(0,)]
    resume(lab)
    assert sorted(done(lab)) == [b"\x01", b"\x01", b"\x66", b"\x66"]
    assert [(n, code) for n, _, code in dead(lab)] == [(1, 50213), (2, 50213)]
    assert at_rest(lab)


def test_an_error_of_the_hooks_own_is_never_taken_for_the_servers(lab):
    hook(lab, POISON.format("RAISERROR(N'high', 18, 1);"))
    three(lab)
    resume(lab)
    assert done(lab) == [b"\x01", b"\x03"]
    assert dead(lab) == [(1, b"\x66", 50000)]
    assert lab.errors() == [] and at_rest(lab)


def test_the_message_of_an_ended_transaction_names_the_procedure_and_the_last_error(lab):
    hook(lab, POISON.format(DOOMED["a ROLLBACK and an error"][0]))
    three(lab)
    resume(lab)
    ((_, number, text),) = lab.errors()
    assert number == 50210
    assert "[audit].[usp_ProcessMessage]" in text and "docs/hook.md" in text
    assert "Last error: 100 %" in text


def test_every_message_may_fail_and_the_queue_stays_on(lab):
    hook(lab, "DECLARE @n int = CONVERT(int, N'x');")
    clients = [Client(lab) for _ in range(7)]
    for client in clients:
        client.execute(send("0x01"))
        client.execute(send("0x02"))
    resume(lab)
    lab.advance(60)
    assert len(dead(lab)) == 14 and at_rest(lab)


def test_a_refused_message_is_not_remembered_by_the_inbox():
    lab = Lab(configured(**HOOK, conversation={"delivery": "exactly_once"}))
    hook(lab, POISON.format("THROW 60001, N'no', 1;"))
    three(lab)
    resume(lab)
    assert lab.rows("SELECT COUNT(*) FROM audit.Inbox;") == [(2,)]
    assert lab.errors() == [] and dead(lab) != []


def uninstalled(lab: Lab) -> list[tuple]:
    text = rendered(lab.config)["uninstall.sql"]
    for batch in split(text):
        lab.sa.submit(batch.sql)
        lab.advance(100)
        assert lab.sa.errors == []
    return lab.rows("SELECT name FROM sys.procedures ORDER BY name;")


def test_uninstall_drops_the_stub(lab):
    assert uninstalled(lab) == []


def test_uninstall_keeps_a_procedure_somebody_wrote(lab):
    lab.sa.execute(DONE)
    lab.sa.execute(OWN.format(""))
    assert uninstalled(lab) == [("usp_ProcessMessage",)]


def test_the_hook_is_told_who_sent_a_message_and_when():
    lab = Lab(configured(**HOOK, envelope={"who": True}))
    Client(lab).execute(send("0x01"))
    lab.advance(1)
    ((sent, login, body),) = lab.rows(
        "SELECT SentUtc, SenderLogin, Body FROM audit.Landing "
        "WHERE MessageType = N'//redial/audit/event';"
    )
    assert (sent is not None, login, body) == (True, USER, b"\x01")
