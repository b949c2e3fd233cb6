"""EVENT NOTIFICATION: rules, messages, external activation, what ends one."""

import pytest

from tests.broker.exec.broker.conftest import Client

EVENT = "http://schemas.microsoft.com/SQL/Notifications/EventNotification"
POST = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification"
SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"


@pytest.fixture
def watched(client):
    """The usual objects, and a service [//watch] that takes notifications in dbo.WQ."""
    client.run(f"CREATE QUEUE dbo.WQ; CREATE SERVICE [//watch] ON QUEUE dbo.WQ ([{POST}])")
    return client


def notify(
    client,
    name: str = "n",
    event: str = "QUEUE_ACTIVATION",
    on: str = "QUEUE dbo.TQ",
    service: str = "//watch",
    fan_in: str = "",
    instance: str = "current database",
) -> None:
    client.run(
        f"CREATE EVENT NOTIFICATION {name} ON {on} {fan_in} FOR {event} "
        f"TO SERVICE '{service}', '{instance}'"
    )


def received(client) -> list[tuple]:
    return client.rows("RECEIVE message_type_name, CAST(message_body AS xml) FROM dbo.WQ")


def events(client) -> list[str]:
    """Event types of the notifications received now."""
    return [
        row[0]
        for row in client.rows("""DECLARE @t TABLE (body varbinary(max));
        RECEIVE message_body FROM dbo.WQ INTO @t;
        SELECT CAST(body AS xml).value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(60)') FROM @t
    """)
    ]


def rollback_five_times(client) -> None:
    for _ in range(5):
        client.run("BEGIN TRAN; RECEIVE TOP (1) * FROM dbo.TQ; ROLLBACK")


# ---------------------------------------------------------------------- creation
def test_a_notification_opens_a_system_conversation_at_its_creation(watched):
    """Event Notifications page: it is opened when the notification is created."""
    notify(watched)
    assert watched.rows("""SELECT e.is_initiator, e.state, e.far_service, e.is_system, s.name
        FROM sys.conversation_endpoints AS e JOIN sys.services AS s ON s.service_id = e.service_id
        """) == [
        (
            1,
            "SO",
            "//watch",
            1,
            "http://schemas.microsoft.com/SQL/Notifications/EventNotificationService",
        )
    ]
    guid = watched.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    assert watched.rows("""SELECT name, parent_class_desc, OBJECT_NAME(parent_id), service_name,
        broker_instance, creator_sid, principal_id FROM sys.event_notifications""") == [
        ("n", "OBJECT_OR_COLUMN", "TQ", "//watch", guid, None, 1)
    ]
    assert watched.rows("SELECT type_desc, is_trigger_event FROM sys.events") == [
        ("QUEUE_ACTIVATION", 0)
    ]


def test_every_database_is_born_with_the_services_notifications_need(client):
    assert client.rows("""SELECT s.name, q.name, q.object_id FROM sys.services AS s
        JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
        WHERE q.is_ms_shipped = 1 ORDER BY s.service_id""") == [
        (
            "http://schemas.microsoft.com/SQL/Notifications/QueryNotificationService",
            "QueryNotificationErrorsQueue",
            1977058079,
        ),
        (
            "http://schemas.microsoft.com/SQL/Notifications/EventNotificationService",
            "EventNotificationErrorsQueue",
            2009058193,
        ),
        (
            "http://schemas.microsoft.com/SQL/ServiceBroker/ServiceBroker",
            "ServiceBrokerQueue",
            2041058307,
        ),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER QUEUE EventNotificationErrorsQueue WITH STATUS = OFF",
        "DROP QUEUE EventNotificationErrorsQueue",
        "DROP SERVICE [http://schemas.microsoft.com/SQL/Notifications/EventNotificationService]",
        "ALTER SERVICE [http://schemas.microsoft.com/SQL/ServiceBroker/ServiceBroker] "
        "ON QUEUE dbo.TQ",
    ],
)
def test_what_every_database_is_born_with_cannot_be_changed(client, sql):
    assert client.error(sql).number == 9663


@pytest.mark.parametrize(
    "sql, number",
    [
        ("CREATE EVENT NOTIFICATION n ON QUEUE dbo.TQ FOR QUEUE_ACTIVATION {to}", 2714),
        ("CREATE EVENT NOTIFICATION x ON QUEUE dbo.nope FOR QUEUE_ACTIVATION {to}", 15151),
        (
            "CREATE EVENT NOTIFICATION x ON QUEUE dbo.EventNotificationErrorsQueue "
            "FOR QUEUE_ACTIVATION {to}",
            9663,
        ),
        ("CREATE EVENT NOTIFICATION x ON DATABASE FOR QUEUE_ACTIVATION {to}", 1098),
        ("CREATE EVENT NOTIFICATION x ON SERVER FOR QUEUE_ACTIVATION {to}", 1098),
        ("CREATE EVENT NOTIFICATION x ON DATABASE FOR BROKER_QUEUE_DISABLED {to}", 1098),
        (
            "CREATE EVENT NOTIFICATION x ON QUEUE dbo.TQ FOR QUEUE_ACTIVATION, QUEUE_ACTIVATION {to}",
            1095,
        ),
        ("CREATE EVENT NOTIFICATION x ON SERVER FOR ALTER_LOGIN {to}", 60001),
        ("CREATE EVENT NOTIFICATION x ON DATABASE FOR DEADLOCK_GRAPH {to}", 60001),
        ("CREATE EVENT NOTIFICATION x ON QUEUE dbo.TQ FOR ALTER_QUEUE {to}", 1098),
        (
            "CREATE EVENT NOTIFICATION x ON QUEUE dbo.TQ FOR QUEUE_ACTIVATION TO SERVICE '//watch', "
            "'not a guid'",
            8413,
        ),
        (
            "ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.p, "
            "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)",
            9717,
        ),
        ("CREATE EVENT NOTIFICATION x ON QUEUE dbo.IQ FOR QUEUE_ACTIVATION {to}", 9718),
        ("DROP EVENT NOTIFICATION nope ON QUEUE dbo.TQ", 15151),
        ("DROP EVENT NOTIFICATION n ON DATABASE", 15151),
    ],
)
def test_what_is_refused(watched, sql, number):
    notify(watched)
    watched.run("CREATE PROCEDURE dbo.p AS RETURN")
    watched.run("""ALTER QUEUE dbo.IQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.p,
        MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""")
    sql = sql.replace("{to}", "TO SERVICE '//watch', 'CURRENT DATABASE'")
    assert watched.error(sql).number == number


def test_activation_that_is_off_and_a_notification_may_stand_together(watched):
    notify(watched)
    watched.run("CREATE PROCEDURE dbo.p AS RETURN")
    watched.run("""ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = OFF, PROCEDURE_NAME = dbo.p,
        MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""")
    assert watched.error("ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON)").number == 9717
    watched.run("DROP EVENT NOTIFICATION n ON QUEUE dbo.TQ")
    watched.run("ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON)")


def test_who_may_create_and_drop_one(watched):
    watched.run("CREATE USER clerk WITHOUT LOGIN; GRANT REFERENCES ON CONTRACT::[//c] TO clerk")
    watched.run("EXECUTE AS USER = 'clerk'")
    create = "CREATE EVENT NOTIFICATION n ON {} FOR {} TO SERVICE '//watch', 'current database'"
    assert watched.error(create.format("QUEUE dbo.TQ", "QUEUE_ACTIVATION")).number == 15151
    assert watched.error(create.format("SERVER", "BROKER_QUEUE_DISABLED")).number == 15247
    watched.run("REVERT; GRANT ALTER ON dbo.TQ TO clerk; EXECUTE AS USER = 'clerk'")
    watched.run(create.format("QUEUE dbo.TQ", "QUEUE_ACTIVATION"))
    watched.run("REVERT; REVOKE ALTER ON dbo.TQ FROM clerk; EXECUTE AS USER = 'clerk'")
    watched.run("DROP EVENT NOTIFICATION n ON QUEUE dbo.TQ")  # its owner may


def test_creation_and_drop_roll_back(watched):
    watched.run("BEGIN TRAN")
    notify(watched)
    watched.run("ROLLBACK")
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert watched.rows("SELECT * FROM sys.conversation_endpoints") == []
    watched.dialog(SEND)
    assert watched.rows("SELECT * FROM sys.dm_broker_queue_monitors") == []
    notify(watched)
    watched.run("BEGIN TRAN; DROP EVENT NOTIFICATION n ON QUEUE dbo.TQ; ROLLBACK")
    assert watched.value("SELECT COUNT(*) FROM sys.event_notifications") == 1


# ---------------------------------------------------------------------- QUEUE_ACTIVATION
def test_the_message_is_xml_of_the_documented_type_and_contract(watched):
    notify(watched)
    watched.dialog(SEND)
    row = watched.rows("""RECEIVE service_contract_name, message_type_name, validation,
        message_body FROM dbo.WQ""")[0]
    assert row[:3] == (POST, EVENT, "X ")
    assert row[3][:2] == b"\xff\xfe"
    assert row[3].decode("utf-16") == (
        "<EVENT_INSTANCE><EventType>QUEUE_ACTIVATION</EventType>"
        "<PostTime>2026-01-01T00:00:00.000</PostTime><SPID>20</SPID>"
        "<ServerName>REDIAL-EMBEDDED</ServerName><LoginName>sa</LoginName>"
        "<UserName>dbo</UserName><DatabaseName>sales</DatabaseName>"
        "<SchemaName>dbo</SchemaName><ObjectName>TQ</ObjectName><ObjectType>QUEUE</ObjectType>"
        "</EVENT_INSTANCE>"
    ).replace(
        "2026-01-01T00:00:00.000",
        row[3].decode("utf-16")[
            len("<EVENT_INSTANCE><EventType>QUEUE_ACTIVATION</EventType><PostTime>") :
        ][:23],
    )


def test_it_fires_once_and_not_again_before_somebody_receives(watched):
    notify(watched)
    watched.dialog(SEND)
    watched.dialog(SEND)
    assert events(watched) == ["QUEUE_ACTIVATION"]
    assert watched.rows("SELECT state FROM sys.dm_broker_queue_monitors") == [("NOTIFIED",)]


def test_after_the_time_out_it_fires_again_while_there_is_work(watched, instance):
    """Understanding When Activation Occurs: a time-out for the external application."""
    notify(watched)
    watched.dialog(SEND)
    assert events(watched) == ["QUEUE_ACTIVATION"]
    instance.advance(4.9)
    assert events(watched) == []
    instance.advance(0.2)
    assert events(watched) == ["QUEUE_ACTIVATION"]
    watched.run("RECEIVE * FROM dbo.TQ; RECEIVE * FROM dbo.TQ")
    instance.advance(60)
    assert events(watched) == []


def test_an_empty_receive_makes_the_next_message_fire_again(watched):
    notify(watched)
    watched.dialog(SEND)
    watched.run("RECEIVE * FROM dbo.TQ; RECEIVE * FROM dbo.TQ")
    assert events(watched) == ["QUEUE_ACTIVATION"]
    watched.dialog(SEND)
    assert events(watched) == ["QUEUE_ACTIVATION"]


def test_a_reader_that_falls_behind_gets_company_after_five_seconds(watched, instance):
    notify(watched)
    for _ in range(3):
        watched.dialog(SEND)
    watched.run("RECEIVE TOP (1) * FROM dbo.TQ")
    assert events(watched) == ["QUEUE_ACTIVATION"]
    instance.advance(5)
    assert events(watched) == ["QUEUE_ACTIVATION"]


def test_a_session_that_waits_in_receive_makes_it_unnecessary(watched):
    notify(watched)
    reader = watched.other()
    reader.send("WAITFOR (RECEIVE * FROM dbo.TQ)")
    watched.dialog(SEND)
    assert events(watched) == []


def test_one_created_on_a_queue_with_messages_fires_at_once(watched):
    watched.dialog(SEND)
    notify(watched)
    assert events(watched) == ["QUEUE_ACTIVATION"]


def test_several_notifications_of_one_queue_all_fire(watched):
    notify(watched, "a")
    notify(watched, "b")
    watched.dialog(SEND)
    assert events(watched) + events(watched) == ["QUEUE_ACTIVATION"] * 2


def test_fan_in_merges_notifications_of_one_creator_for_one_service(watched):
    notify(watched, "a", fan_in="WITH FAN_IN")
    notify(watched, "b", fan_in="WITH FAN_IN")
    watched.dialog(SEND)
    assert events(watched) + events(watched) == ["QUEUE_ACTIVATION"]
    assert watched.rows("SELECT DISTINCT creator_sid FROM sys.event_notifications") == [(b"\x01",)]


# ---------------------------------------------------------------------- BROKER_QUEUE_DISABLED
def test_five_rollbacks_are_told(watched):
    notify(watched, event="BROKER_QUEUE_DISABLED")
    watched.dialog(SEND)
    rollback_five_times(watched)
    assert watched.value("SELECT is_receive_enabled FROM sys.service_queues WHERE name = 'TQ'") == 0
    assert watched.rows("""DECLARE @t TABLE (body varbinary(max));
        RECEIVE message_body FROM dbo.WQ INTO @t;
        SELECT CAST(body AS xml).value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(60)'),
            CAST(body AS xml).value('(/EVENT_INSTANCE/DatabaseID)[1]', 'int') - DB_ID(),
            OBJECT_NAME(CAST(body AS xml).value('(/EVENT_INSTANCE/ObjectID)[1]', 'int'))
        FROM @t""") == [("BROKER_QUEUE_DISABLED", 0, "TQ")]


def test_altering_a_queue_off_is_not_told(watched):
    notify(watched, event="BROKER_QUEUE_DISABLED")
    watched.run("ALTER QUEUE dbo.TQ WITH STATUS = OFF")
    assert events(watched) == []


def test_the_server_can_be_asked_for_every_queue_and_sends_from_msdb(watched, instance):
    """Dialog security for event notifications page: of the server, msdb's identifier counts."""
    guid = watched.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    notify(watched, "s", "BROKER_QUEUE_DISABLED", "SERVER", instance=guid)
    assert watched.rows("""SELECT name, parent_class_desc, service_name, broker_instance,
        principal_id FROM sys.server_event_notifications""") == [
        ("s", "SERVER", "//watch", guid, 1)
    ]
    assert watched.rows("SELECT type_desc FROM sys.server_events") == [("BROKER_QUEUE_DISABLED",)]
    assert Client(instance, "msdb").value("SELECT COUNT(*) FROM sys.conversation_endpoints") == 1
    watched.dialog(SEND)
    rollback_five_times(watched)
    assert watched.value("SELECT GET_TRANSMISSION_STATUS(NULL)") in {"", None}
    status = Client(instance, "msdb").rows("SELECT transmission_status FROM sys.transmission_queue")
    assert status == [] and events(watched) == ["BROKER_QUEUE_DISABLED"]
    watched.run("DROP EVENT NOTIFICATION s ON SERVER")
    assert watched.rows("SELECT * FROM sys.server_event_notifications") == []


# ---------------------------------------------------------------------- the end of one
def test_drop_ends_the_conversation(watched):
    notify(watched)
    watched.dialog(SEND)
    watched.run("DROP EVENT NOTIFICATION n ON QUEUE dbo.TQ")
    types = [row[0] for row in watched.rows("RECEIVE message_type_name FROM dbo.WQ")]
    assert types == [EVENT, "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"]
    assert watched.rows("SELECT * FROM sys.dm_broker_queue_monitors") == []


def test_drop_queue_takes_its_notifications_along(watched):
    watched.run("CREATE QUEUE dbo.alone")
    notify(watched, on="QUEUE dbo.alone")
    watched.run("DROP QUEUE dbo.alone")
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert watched.rows("SELECT * FROM sys.conversation_endpoints") == []


def test_a_missing_target_service_drops_the_notification_after_its_first_event(watched, instance):
    """CREATE EVENT NOTIFICATION page: broken after it fires, it is reported and dropped."""
    notify(watched, service="//nobody")
    assert watched.value("SELECT COUNT(*) FROM sys.event_notifications") == 1
    watched.dialog(SEND)
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert (
        "due to the following error: 'Cannot find the remote service '//nobody' because it "
        "does not exist.'" in instance.error_log.lines[-1][2]
    )
    assert watched.rows("SELECT * FROM sys.dm_broker_queue_monitors") == []


def test_dropping_the_target_service_drops_the_notification(watched, instance):
    notify(watched)
    watched.dialog(SEND)
    watched.run("DROP SERVICE [//watch]")
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert "Remote service has been dropped." in instance.error_log.lines[-1][2]


def test_by_switch_the_next_event_finds_the_conversation_broken():
    from redial_broker.instance.instance import Instance
    from tests.broker.exec.broker.conftest import SETUP

    instance = Instance(switches={"notification_after_error": "kept"})
    client = Client(instance)
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    notify(client, service="//nobody")
    client.dialog(SEND)
    assert client.value("SELECT COUNT(*) FROM sys.event_notifications") == 1
    instance.advance(6)
    assert client.rows("SELECT * FROM sys.event_notifications") == []
    assert (
        "'n' in database 'sales' dropped due to send time service broker errors"
        in instance.error_log.lines[-1][2]
    )


def test_a_target_that_ends_the_conversation_hears_nothing_more(watched, instance):
    """Event Notifications page: it will not reopen the next time the notification fires."""
    notify(watched)
    watched.dialog(SEND)
    watched.run("""DECLARE @h uniqueidentifier;
        RECEIVE TOP (1) @h = conversation_handle FROM dbo.WQ; END CONVERSATION @h""")
    assert "closed without an error" in instance.error_log.lines[-1][2]
    assert watched.value("SELECT COUNT(*) FROM sys.event_notifications") == 1
    instance.advance(6)
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert [line[2][:41] for line in instance.error_log.lines[-2:]] == [
        "Failure to send an event notification ins",
        "Event notification 'n' in database 'sales",
    ]


def test_new_broker_takes_the_conversation_and_the_next_event_the_notification(watched, instance):
    notify(watched)
    watched.run("ALTER DATABASE sales SET NEW_BROKER WITH ROLLBACK IMMEDIATE")
    assert watched.value("SELECT COUNT(*) FROM sys.event_notifications") == 1
    watched.dialog(SEND)
    assert watched.rows("SELECT * FROM sys.event_notifications") == []
    assert "send time service broker errors" in instance.error_log.lines[-1][2]


def test_error_broker_conversations_drops_it(watched):
    notify(watched)
    watched.run("ALTER DATABASE sales SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE")
    assert watched.rows("SELECT * FROM sys.event_notifications") == []


def test_while_the_broker_is_off_its_messages_wait(watched):
    notify(watched, event="BROKER_QUEUE_DISABLED")
    watched.dialog(SEND)
    watched.run("ALTER DATABASE sales SET DISABLE_BROKER")
    rollback_five_times(watched)
    assert watched.value("SELECT COUNT(*) FROM sys.transmission_queue") == 1
    watched.run("ALTER DATABASE sales SET ENABLE_BROKER")
    assert events(watched) == ["BROKER_QUEUE_DISABLED"]


def test_a_disabled_target_queue_holds_them_and_order_is_kept(watched, instance):
    notify(watched)
    watched.run("ALTER QUEUE dbo.WQ WITH STATUS = OFF")
    watched.dialog(SEND)
    instance.advance(6)
    assert watched.value("SELECT COUNT(*) FROM sys.transmission_queue") == 2
    watched.run("ALTER QUEUE dbo.WQ WITH STATUS = ON")
    assert watched.rows("SELECT message_sequence_number FROM dbo.WQ ORDER BY queuing_order") == [
        (0,),
        (1,),
    ]
