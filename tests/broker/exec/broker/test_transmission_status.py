"""Every transmission_status text a message inside the instance can wait with.

Those of messages that should leave it are in test_routing, those between two databases in
test_cross_database.
"""

import pytest

from redial_broker.instance.instance import Instance
from tests.broker.exec.broker.conftest import SETUP, Client

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"


def status(client, handle: str) -> str:
    shown = client.value(f"SELECT GET_TRANSMISSION_STATUS('{handle}')")
    rows = client.rows("SELECT DISTINCT transmission_status FROM sys.transmission_queue")
    assert rows == ([(shown,)] if shown else [])
    return shown


def with_switch(**switches) -> Client:
    client = Client(Instance(switches=switches))
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    return client


def talking(client) -> tuple[str, str]:
    """Handles of both ends of a dialog whose first message was received."""
    handle = client.dialog(SEND)
    return handle, client.value(
        "DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.TQ; SELECT @t"
    )


def test_a_delivered_message_has_none(client):
    assert status(client, client.dialog(SEND)) == ""


@pytest.mark.parametrize("handle", ["NULL", "NEWID()"])
def test_an_unknown_handle_has_none(client, handle):
    assert client.value(f"SELECT GET_TRANSMISSION_STATUS({handle})") in {"", None}


@pytest.mark.parametrize(
    "choice, text",
    [
        ("engine", 'The service queue "TQ" is currently disabled.'),
        ("documentation", "Target queue is disabled."),
        (
            "undelivered",
            "One or more messages could not be delivered to the local service targeted by "
            "this dialog.",
        ),
    ],
)
def test_a_disabled_target_queue(choice, text):
    client = with_switch(target_queue_off_status=choice)
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = OFF")
    handle = client.dialog(SEND)
    assert status(client, handle) == text
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = ON")
    assert status(client, handle) == "" and client.value("SELECT COUNT(*) FROM dbo.TQ") == 1


@pytest.mark.parametrize("choice", ["transmits", "own queue"])
def test_by_switch_a_queue_that_is_being_altered_is_busy_9749(choice):
    client = with_switch(send_behind_queue_ddl=choice)
    other = client.other()
    other.run("BEGIN TRAN; ALTER QUEUE dbo.TQ WITH RETENTION = ON")
    handle = client.dialog(SEND)
    assert status(client, handle) == "Target queue is busy; message(s) queued for delivery."
    other.run("COMMIT")
    assert status(client, handle) == ""


@pytest.mark.parametrize(
    "end, text",
    [
        (
            "",
            "Service Broker received an END CONVERSATION message on this conversation. Service Broker "
            "will not transmit the message; it will be held until the application ends the "
            "conversation.",
        ),
        (
            "WITH ERROR = 5 DESCRIPTION = 'd'",
            "Service Broker received an error message on this conversation. Service Broker will not "
            "transmit the message; it will be held until the application ends the conversation.",
        ),
    ],
)
def test_the_peer_has_ended_while_rows_wait_9779_and_9784(client, end, text):
    mine, theirs = talking(client)
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = OFF")
    client.run(f"SEND ON CONVERSATION '{mine}' MESSAGE TYPE [//m] (N'late')")
    client.run(f"END CONVERSATION '{theirs}' {end}")
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = ON")
    assert status(client, mine) == text
    client.run(f"END CONVERSATION '{mine}'")
    assert status(client, mine) == ""


def test_the_senders_broker_is_off_9791(client):
    client.run("ALTER DATABASE sales SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE")
    handle = client.dialog(SEND)
    assert status(client, handle) == "The broker is disabled in the sender's database."
    client.run("ALTER DATABASE sales SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE")
    assert status(client, handle) == ""


@pytest.mark.parametrize(
    "number, text",
    [
        (
            9750,
            "No route matches the destination service name for this conversation. Create a route "
            "to the destination service name for messages in this conversation to be delivered.",
        ),
        (
            9793,
            "The target service name could not be found. Ensure that the service name is specified "
            "correctly and/or the routing information has been supplied.",
        ),
    ],
)
def test_no_route(number, text):
    client = with_switch(no_route_status=number)
    client.run("DROP ROUTE AutoCreatedLocal")
    assert status(client, client.dialog(SEND)) == text


def test_no_such_service_is_no_error_9796(client):
    """Routing page: a service that may come later; the name is compared byte by byte."""
    handle = client.value(
        """DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//T' ON CONTRACT [//c]; """
        + SEND
        + "; SELECT @h"
    )
    assert (
        status(client, handle) == "The target service name matched a LOCAL route, but there "
        "is no service by that name in the local SQL Server instance."
    )
    assert client.rows("""SELECT is_initiator, state FROM sys.conversation_endpoints""") == [
        (1, "CO")
    ]
    client.run("CREATE SERVICE [//T] ON QUEUE dbo.TQ ([//c])")
    assert status(client, handle) == ""


def test_no_such_broker_9795(client):
    handle = client.value(
        """DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t',
            '11111111-2222-4333-8444-555555555555' ON CONTRACT [//c]; """
        + SEND
        + "; SELECT @h"
    )
    assert (
        status(client, handle)
        == "Could not find the target broker in the local SQL Server instance."
    )


def test_a_read_only_target_28014(client):
    client.run("CREATE DATABASE depot; ALTER DATABASE sales SET TRUSTWORTHY ON")
    depot = Client(client.instance, "depot")
    depot.run(SETUP.replace("//t]", "//far]"))
    depot.run("USE master; ALTER DATABASE depot SET READ_ONLY WITH ROLLBACK IMMEDIATE")
    guid = client.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'depot'")
    handle = client.value(
        f"""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//far', '{guid}' ON CONTRACT [//c]
            WITH ENCRYPTION = OFF; """
        + SEND
        + "; SELECT @h"
    )
    assert (
        status(client, handle) == "The Service Broker in the target database is unavailable: "
        "'The database is in read-only mode.'."
    )
    depot.run("ALTER DATABASE depot SET READ_WRITE")
    assert status(client, handle) == ""
    assert depot.value("SELECT COUNT(*) FROM depot.dbo.TQ") == 1


def test_a_read_only_database_neither_activates_nor_rings_until_it_can_be_written(client):
    client.run("CREATE PROCEDURE dbo.reader AS RECEIVE * FROM dbo.IQ")
    client.run("""ALTER QUEUE dbo.IQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader,
        MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""")
    client.dialog(SEND + "; BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5")
    client.run("USE master; ALTER DATABASE sales SET READ_ONLY WITH ROLLBACK IMMEDIATE")
    client.instance.advance(10)
    assert client.error("RECEIVE * FROM sales.dbo.TQ").number == 3906
    reader = Client(client.instance, "sales")
    assert reader.error("RECEIVE * FROM dbo.TQ").number == 3906
    assert client.rows("SELECT * FROM sys.dm_broker_queue_monitors") == []
    reader.session.close()  # else READ_WRITE would wait for it
    client.run("ALTER DATABASE sales SET READ_WRITE")
    assert client.instance.activation.trace.lines[-1][2] == "ended: sales.dbo.IQ"


def test_only_a_db_owner_sees_the_transmission_queue(client):
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = OFF")
    client.dialog(SEND)
    assert client.value("SELECT COUNT(*) FROM sys.transmission_queue") == 1
    client.run("CREATE USER clerk WITHOUT LOGIN; EXECUTE AS USER = 'clerk'")
    assert client.value("SELECT COUNT(*) FROM sys.transmission_queue") == 0


# ---------------------------------------------------------------------- order of transmission
@pytest.mark.parametrize("honoured, first", [("ON", "high"), ("OFF", "low")])
def test_priorities_order_the_transmission_queue_only_where_they_are_honoured(
    client, instance, honoured, first
):
    """Conversation priorities page. The low one was sent first; both arrive when the queue is on.

    The target's end has the default priority, so its queue keeps the order of arrival.
    """
    client.run(f"""ALTER DATABASE sales SET HONOR_BROKER_PRIORITY {honoured};
        CREATE SERVICE [//vip] ON QUEUE dbo.IQ;
        CREATE BROKER PRIORITY p FOR CONVERSATION SET (LOCAL_SERVICE_NAME = [//vip],
            PRIORITY_LEVEL = 9); ALTER QUEUE dbo.TQ WITH STATUS = OFF""")
    for service, body in (("//i", "low"), ("//vip", "high")):
        client.run(f"""DECLARE @h uniqueidentifier;
            BEGIN DIALOG @h FROM SERVICE [{service}] TO SERVICE N'//t' ON CONTRACT [//c]
                WITH ENCRYPTION = OFF;
            SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'{body}')""")
        instance.advance(1)
    assert client.rows("SELECT priority FROM sys.transmission_queue ORDER BY priority") == [
        (5,),
        (9,),
    ]
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = ON")
    assert (
        client.value(
            "SELECT TOP (1) CAST(message_body AS nvarchar(9)) FROM dbo.TQ ORDER BY queuing_order"
        )
        == first
    )
