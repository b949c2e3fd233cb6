"""Event notifications for definitions (DDL events), on the database and on the server."""

import pytest

from tests.broker.exec.broker.conftest import Client

POST = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification"


@pytest.fixture
def watched(client):
    """The usual objects, and a service [//watch] that takes notifications in dbo.WQ."""
    client.run(f"CREATE QUEUE dbo.WQ; CREATE SERVICE [//watch] ON QUEUE dbo.WQ ([{POST}])")
    return client


def notify(
    client,
    events: str,
    on: str = "DATABASE",
    name: str = "n",
    instance: str = "current database",
    fan_in: str = "",
) -> None:
    client.run(
        f"CREATE EVENT NOTIFICATION {name} ON {on} {fan_in} FOR {events} "
        f"TO SERVICE '//watch', '{instance}'"
    )


def told(client) -> list[tuple[str, str]]:
    """(event, object) of the notifications received now, in order."""
    return client.rows("""DECLARE @t TABLE (n bigint, body varbinary(max));
        RECEIVE message_sequence_number, message_body FROM dbo.WQ INTO @t;
        SELECT CAST(body AS xml).value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(60)'),
            CAST(body AS xml).value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(60)')
        FROM @t ORDER BY n""")


def test_a_definition_is_told_with_what_eventdata_would_say(watched):
    notify(watched, "ALTER_QUEUE")
    watched.run("ALTER QUEUE dbo.TQ WITH RETENTION = ON")
    body = watched.value(
        "DECLARE @t TABLE (b varbinary(max)); RECEIVE message_body FROM dbo.WQ "
        "INTO @t; SELECT CAST(CAST(b AS xml) AS nvarchar(max)) FROM @t"
    )
    for part in (
        "<EventType>ALTER_QUEUE</EventType>",
        "<LoginName>sa</LoginName>",
        "<DatabaseName>sales</DatabaseName>",
        "<SchemaName>dbo</SchemaName>",
        "<ObjectName>TQ</ObjectName>",
        "<ObjectType>QUEUE</ObjectType>",
        "<CommandText>ALTER QUEUE dbo.TQ WITH RETENTION = ON</CommandText>",
    ):
        assert part in body


def test_a_group_stands_for_its_events(watched):
    """CREATE EVENT NOTIFICATION page: it adds the event types it covers to sys.events."""
    notify(watched, "DDL_SSB_EVENTS, CREATE_TABLE")
    watched.run("CREATE MESSAGE TYPE [//new]")
    watched.run("CREATE TABLE dbo.t (id int)")
    watched.run("CREATE VIEW dbo.v AS SELECT id FROM dbo.t")
    assert told(watched) == [("CREATE_MESSAGE_TYPE", "//new"), ("CREATE_TABLE", "t")]
    assert watched.rows("""SELECT type_desc, event_group_type_desc FROM sys.events
        WHERE type_desc IN ('DROP_ROUTE', 'CREATE_TABLE') ORDER BY type_desc""") == [
        ("CREATE_TABLE", None),
        ("DROP_ROUTE", "DDL_SSB_EVENTS"),
    ]


def test_it_is_sent_at_the_commit_and_not_at_all_after_a_rollback(watched):
    notify(watched, "CREATE_TABLE")
    watched.run("BEGIN TRAN; CREATE TABLE dbo.a (id int)")
    reader = watched.other()
    assert told(reader) == []
    watched.run("COMMIT")
    assert told(reader) == [("CREATE_TABLE", "a")]
    watched.run("BEGIN TRAN; CREATE TABLE dbo.b (id int); ROLLBACK")
    watched.run("""BEGIN TRAN; CREATE TABLE dbo.c (id int); SAVE TRAN p;
        CREATE TABLE dbo.d (id int); ROLLBACK TRAN p; COMMIT""")
    assert told(reader) == [("CREATE_TABLE", "c")]


def test_an_event_of_the_transaction_that_drops_the_notification_is_sent_first(watched):
    """DROP EVENT NOTIFICATION page, remarks."""
    notify(watched, "CREATE_TABLE")
    watched.run("""BEGIN TRAN; CREATE TABLE dbo.a (id int); DROP EVENT NOTIFICATION n ON DATABASE;
        CREATE TABLE dbo.b (id int); COMMIT""")
    assert [row[0] for row in watched.rows("RECEIVE message_type_name FROM dbo.WQ")] == [
        "http://schemas.microsoft.com/SQL/Notifications/EventNotification",
        "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog",
    ]


def test_a_statement_that_names_several_objects_tells_each(watched):
    watched.run("CREATE TABLE dbo.a (id int); CREATE TABLE dbo.b (id int)")
    notify(watched, "DROP_TABLE")
    watched.run("DROP TABLE dbo.a, dbo.b; CREATE TABLE #t (id int); DROP TABLE #t")
    assert told(watched) == [("DROP_TABLE", "a"), ("DROP_TABLE", "b")]


def test_the_server_hears_of_every_database(watched, instance):
    guid = watched.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    notify(watched, "CREATE_QUEUE", "SERVER", instance=guid)
    watched.run("CREATE DATABASE other")
    Client(instance, "other").run("CREATE QUEUE dbo.far")
    watched.run("CREATE QUEUE dbo.near")
    assert told(watched) == [("CREATE_QUEUE", "far"), ("CREATE_QUEUE", "near")]


def test_fan_in_merges_here_too(watched):
    notify(watched, "CREATE_TABLE", name="a", fan_in="WITH FAN_IN")
    notify(watched, "CREATE_TABLE", name="b", fan_in="WITH FAN_IN")
    watched.run("CREATE TABLE dbo.t (id int)")
    assert told(watched) + told(watched) == [("CREATE_TABLE", "t")]


def test_two_transactions_may_raise_events_at_the_same_time(watched):
    notify(watched, "CREATE_TABLE")
    other = watched.other()
    watched.run("BEGIN TRAN; CREATE TABLE dbo.a (id int)")
    other.run("BEGIN TRAN; CREATE TABLE dbo.b (id int); COMMIT")
    watched.run("ROLLBACK")
    assert told(other) == [("CREATE_TABLE", "b")]


def test_who_may_ask(watched):
    watched.run("CREATE USER clerk WITHOUT LOGIN; EXECUTE AS USER = 'clerk'")
    ask = "CREATE EVENT NOTIFICATION n ON {} FOR CREATE_TABLE TO SERVICE '//watch', '{}'"
    assert watched.error(ask.format("DATABASE", "current database")).number == 262
    assert watched.error(ask.format("SERVER", "current database")).number == 15247
    watched.run(
        "REVERT; GRANT CREATE DATABASE DDL EVENT NOTIFICATION TO clerk;EXECUTE AS USER = 'clerk'"
    )
    watched.run(ask.format("DATABASE", "current database"))


def test_a_rewind_takes_notifications_and_their_messages_back(watched, instance):
    """The explorer's need: every hash as before, the same steps lead to the same state again."""

    def hashes() -> list[bytes]:
        for part in instance.parts():
            part.digest = None
        return [part.hash() for part in instance.parts()]

    def steps() -> list[bytes]:
        notify(watched, "QUEUE_ACTIVATION, BROKER_QUEUE_DISABLED", "QUEUE dbo.TQ", name="q")
        notify(watched, "CREATE_TABLE", name="d")
        watched.run("BEGIN TRAN; CREATE TABLE dbo.t (id int)")
        watched.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
        between = hashes()
        watched.run("COMMIT; DROP EVENT NOTIFICATION q ON QUEUE dbo.TQ")
        return between + hashes()

    journal = instance.engine.journal
    journal.recording = True
    start = hashes()
    mark = journal.mark()
    session = watched.session.memento()
    reached = steps()
    journal.rewind(mark)
    watched.session.restore(session)
    assert hashes() == start
    assert len(reached) > 2 * len(start) - 50
