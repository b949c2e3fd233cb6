"""Activated procedures: as whom, with what session, what they leave behind, how they end."""

import pytest

from redial_broker.instance.instance import Instance
from tests.broker.exec.broker.conftest import SETUP, Client

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"
RECEIVE = "RECEIVE TOP (1) * FROM dbo.TQ;"


def activate(client, body: str, execute_as: str = "OWNER", readers: int = 1) -> None:
    """Make dbo.reader with that body the procedure of dbo.TQ."""
    client.run("CREATE OR ALTER PROCEDURE dbo.reader AS BEGIN " + body + " END")
    client.run(f"""ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader,
        MAX_QUEUE_READERS = {readers}, EXECUTE AS {execute_as})""")


def logged(instance) -> list[str]:
    return [line[2] for line in instance.error_log.lines]


def traced(instance) -> list[str]:
    return [line[2] for line in instance.activation.trace.lines]


def state(client) -> str:
    return client.value("SELECT state FROM sys.dm_broker_queue_monitors")


# ---------------------------------------------------------------------- as whom
@pytest.mark.parametrize(
    "execute_as, expected",
    [
        ("OWNER", "dbo"),
        ("SELF", "dbo"),
        ("'clerk'", "clerk"),
    ],
)
def test_it_runs_as_the_queues_user(client, execute_as, expected):
    client.run(
        "CREATE TABLE dbo.who (name sysname); CREATE USER clerk WITHOUT LOGIN;"
        "GRANT INSERT ON dbo.who TO clerk; GRANT RECEIVE ON dbo.TQ TO clerk"
    )
    activate(client, f"INSERT dbo.who VALUES (USER_NAME()); {RECEIVE}", execute_as)
    client.run("GRANT EXECUTE ON dbo.reader TO clerk")
    client.dialog(SEND)
    assert client.rows("SELECT DISTINCT name FROM dbo.who") == [(expected,)]


def test_self_is_whoever_altered_the_queue(client):
    client.run(
        "CREATE USER clerk WITHOUT LOGIN; GRANT ALTER ON dbo.TQ TO clerk;"
        "CREATE TABLE dbo.who (name sysname); GRANT INSERT ON dbo.who TO clerk;"
        "GRANT RECEIVE ON dbo.TQ TO clerk"
    )
    client.run(
        "CREATE PROCEDURE dbo.reader AS INSERT dbo.who VALUES (USER_NAME()); RECEIVE * FROM dbo.TQ"
    )
    client.run("GRANT EXECUTE ON dbo.reader TO clerk")
    client.run("""EXECUTE AS USER = 'clerk'; ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON,
        PROCEDURE_NAME = dbo.reader, MAX_QUEUE_READERS = 1, EXECUTE AS SELF); REVERT""")
    client.dialog(SEND)
    assert client.rows("SELECT DISTINCT name FROM dbo.who") == [("clerk",)]


def test_naming_another_user_needs_impersonate(client):
    client.run(
        "CREATE USER clerk WITHOUT LOGIN; CREATE USER boss WITHOUT LOGIN;"
        "GRANT ALTER ON dbo.TQ TO clerk"
    )
    client.run("CREATE PROCEDURE dbo.reader AS RETURN")
    alter = """ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader,
        MAX_QUEUE_READERS = 1, EXECUTE AS 'boss')"""
    assert client.error(f"EXECUTE AS USER = 'clerk'; {alter}").number == 9611
    client.run("REVERT; GRANT IMPERSONATE ON USER::boss TO clerk")
    client.run(f"EXECUTE AS USER = 'clerk'; {alter}; REVERT")


# ---------------------------------------------------------------------- what it says
def test_output_goes_to_the_error_log_and_results_nowhere(client, instance):
    activate(client, f"SELECT 1; PRINT 'said'; RAISERROR ('raised', 16, 1); {RECEIVE} RETURN 7;")
    client.dialog(SEND)
    prefix = (
        "The activated proc '[dbo].[reader]' running on queue 'sales.dbo.TQ' output the "
        "following:  "
    )
    assert logged(instance)[:2] == [prefix + "'said'", prefix + "'raised'"]
    assert client.session.sink.messages == []


# ---------------------------------------------------------------------- how it ends
def test_a_procedure_that_receives_ends(client, instance):
    activate(client, RECEIVE)
    client.dialog(SEND)
    assert traced(instance)[:2] == ["started: sales.dbo.TQ", "ended: sales.dbo.TQ"]


def test_an_open_transaction_is_rolled_back_8415(client, instance):
    activate(client, f"BEGIN TRAN; {RECEIVE}")
    client.dialog(SEND)
    assert (
        "aborted: The activated task was aborted because the invoked stored procedure "
        "'[dbo].[reader]' did not issue COMMIT or ROLLBACK on one or more transactions that it "
        "begun." in traced(instance)
    )
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1


def test_without_receive_it_has_failed_28087(client, instance):
    activate(client, "PRINT 'nothing'")
    client.dialog(SEND)
    assert (
        traced(instance)[-1] == "aborted: The activated task was aborted because the invoked "
        "stored procedure '[dbo].[reader]' did not execute RECEIVE."
    )
    instance.advance(60)
    assert state(client) == "NOTIFIED" and len(traced(instance)) == 2


def test_an_error_that_ends_it_28088(client, instance):
    activate(client, "SET XACT_ABORT ON; SELECT CAST('x' AS int)")
    client.dialog(SEND)
    assert traced(instance)[-1].startswith(
        "aborted: The activated task was aborted due to an error (Error: 245, State 1). Check"
    )
    assert state(client) == "NOTIFIED"


def test_a_failing_cast_inside_receive_leaves_it_notified(client, instance):
    """Observed: the monitor never saw a RECEIVE, and no poison is counted."""
    activate(
        client,
        "DECLARE @i int; RECEIVE TOP (1) @i = CAST(CAST(message_body AS nvarchar(9)) "
        "AS int) FROM dbo.TQ",
    )
    client.dialog(SEND)
    instance.advance(60)
    assert state(client) == "NOTIFIED"
    assert client.value("SELECT is_receive_enabled FROM sys.service_queues WHERE name = 'TQ'") == 1


def test_one_whose_activation_was_switched_off_meanwhile_28086(client, instance):
    activate(client, f"{RECEIVE} WAITFOR DELAY '00:00:01'")
    client.dialog(SEND)
    client.run("ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = OFF)")
    instance.advance(2)
    assert (
        traced(instance)[-1] == "ended: The activated task was ended because either the "
        "queue or activation was disabled."
    )


def test_one_whose_queue_was_dropped_meanwhile_28085(client, instance):
    activate(client, f"{RECEIVE} WAITFOR DELAY '00:00:01'")
    client.dialog(SEND)
    client.run("DROP SERVICE [//t]; DROP QUEUE dbo.TQ")
    instance.advance(2)
    assert (
        traced(instance)[-1]
        == "ended: The activated task was ended because the associated queue was dropped."
    )


def test_off_does_not_stop_a_running_reader_and_dropping_activation_neither(client, instance):
    client.run("CREATE TABLE dbo.done (x int)")
    activate(client, f"{RECEIVE} WAITFOR DELAY '00:00:01'; INSERT dbo.done VALUES (1)")
    client.dialog(SEND)
    client.run("ALTER QUEUE dbo.TQ WITH ACTIVATION (DROP)")
    instance.advance(2)
    assert client.value("SELECT COUNT(*) FROM dbo.done") == 1


# ---------------------------------------------------------------------- what cannot start
def test_a_dropped_procedure_is_looked_for_every_five_seconds(client, instance):
    activate(client, RECEIVE)
    client.run("DROP PROCEDURE dbo.reader")
    client.dialog(SEND)
    instance.advance(10)
    line = (
        "The activated proc '[dbo].[reader]' running on queue 'sales.dbo.TQ' output the "
        "following:  'Could not find stored procedure 'dbo.reader'.'"
    )
    assert logged(instance) == [line] * 3
    client.run("CREATE PROCEDURE dbo.reader AS RECEIVE * FROM dbo.TQ")
    instance.advance(5)
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 0


def test_a_user_without_execute_is_tried_again_too(client, instance):
    client.run("CREATE USER clerk WITHOUT LOGIN")
    activate(client, RECEIVE, "'clerk'")
    client.dialog(SEND)
    assert "The EXECUTE permission was denied on the object 'reader'" in logged(instance)[0]
    client.run("GRANT EXECUTE ON dbo.reader TO clerk; GRANT RECEIVE ON dbo.TQ TO clerk")
    instance.advance(5)
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 0


def test_a_dropped_activation_user_is_15517(client, instance):
    client.run("CREATE USER clerk WITHOUT LOGIN")
    activate(client, RECEIVE, "'clerk'")
    client.run("DROP USER clerk")
    client.dialog(SEND)
    assert "Cannot execute as the database principal because the principal" in logged(instance)[0]


# ---------------------------------------------------------------------- KILL
@pytest.mark.parametrize("switch, after", [("stuck", 0), ("relaunched", 1)])
def test_a_task_killed_before_its_first_receive(switch, after):
    instance = Instance(switches={"killed_reader": switch})
    client = Client(instance)
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    activate(client, "WAITFOR DELAY '00:00:01'; RECEIVE * FROM dbo.TQ")
    client.dialog(SEND)
    spid = client.value("SELECT spid FROM sys.dm_broker_activated_tasks")
    instance.kill(spid)
    instance.run()
    assert client.value("SELECT COUNT(*) FROM sys.dm_broker_activated_tasks") == after
    instance.advance(30)
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1 - after


def test_a_task_killed_after_its_receive_is_started_again(client, instance):
    activate(client, "BEGIN TRAN; RECEIVE * FROM dbo.TQ; WAITFOR DELAY '00:00:01'; COMMIT")
    client.dialog(SEND)
    instance.kill(client.value("SELECT spid FROM sys.dm_broker_activated_tasks"))
    instance.run()
    assert client.value("SELECT COUNT(*) FROM sys.dm_broker_activated_tasks") == 1
    instance.advance(2)
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 0


@pytest.mark.parametrize("choice, number", [("error", 9614), ("allow", None)])
def test_whether_a_queue_may_name_a_procedure_that_comes_later(choice, number):
    instance = Instance(switches={"missing_activation_procedure": choice})
    session = instance.connect()
    session.execute("CREATE DATABASE d").ok()
    session = instance.connect("d")
    refused = session.execute(
        "CREATE QUEUE q WITH ACTIVATION (PROCEDURE_NAME = later, MAX_QUEUE_READERS = 1, "
        "EXECUTE AS OWNER)"
    ).error()
    assert (refused.number if refused else None) == number
    if refused:
        return
    session.execute("CREATE SERVICE s ON QUEUE q ([DEFAULT]); CREATE TABLE seen (body varchar(9))")
    session.execute(
        "CREATE PROCEDURE later AS DECLARE @b varchar(9); "
        "RECEIVE TOP (1) @b = message_body FROM q; INSERT seen VALUES (@b)"
    ).ok()
    session.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE 's' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h ('x')"
    ).ok()
    instance.advance(30)
    assert session.execute("SELECT body FROM seen").rows()[0] == ("x",)


def test_a_procedure_that_never_comes_stands_in_the_error_log():
    instance = Instance(switches={"missing_activation_procedure": "allow"})
    session = instance.connect()
    session.execute("CREATE DATABASE d").ok()
    session = instance.connect("d")
    session.execute(
        "CREATE QUEUE q WITH ACTIVATION (PROCEDURE_NAME = never, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)"
    ).ok()
    session.execute("CREATE SERVICE s ON QUEUE q ([DEFAULT])").ok()
    session.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE 's' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h ('x')"
    ).ok()
    instance.advance(30)
    assert any("never" in text for _, _, text in instance.error_log.lines)
