"""ALTER DATABASE SET of Service Broker: what each option does to identity, delivery and dialogs."""

import pytest

from redial_broker.instance.instance import Instance
from tests.broker.exec.broker.conftest import SETUP, Client

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"
LOOK = "SELECT is_broker_enabled FROM sys.databases WHERE name = 'sales'"
GUID = "SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'"


def test_a_new_database_has_an_identity_of_its_own_and_its_broker_on(client):
    client.run("CREATE DATABASE other")
    assert client.value(LOOK) == 1
    assert (
        client.value(
            "SELECT COUNT(DISTINCT service_broker_guid) FROM sys.databases "
            "WHERE name IN ('sales', 'other', 'msdb', 'tempdb')"
        )
        == 4
    )


@pytest.mark.parametrize("name, on", [("master", 0), ("model", 0), ("msdb", 1), ("tempdb", 1)])
def test_the_system_databases(client, name, on):
    assert client.value(f"SELECT is_broker_enabled FROM sys.databases WHERE name = '{name}'") == on


@pytest.mark.parametrize("option", ["ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER"])
def test_master_and_model_refuse_it(client, option):
    for name in ("master", "model"):
        assert client.error(f"ALTER DATABASE {name} SET {option}").number == 5058


def test_the_options_wait_for_the_other_sessions_or_end_them_or_fail(client):
    other = client.other()
    other.run("BEGIN TRAN; SELECT * FROM dbo.TQ")
    assert client.error("ALTER DATABASE sales SET DISABLE_BROKER WITH NO_WAIT").number == 5070
    client.send("ALTER DATABASE sales SET DISABLE_BROKER")
    assert client.session.wait is not None
    other.run("COMMIT")
    assert client.session.wait is not None  # an idle session is in the way, too (F-101)
    other.run("USE master")
    assert client.session.wait is None and client.value(LOOK) == 0
    third = client.other()
    third.run("BEGIN TRAN; SELECT * FROM dbo.TQ")
    client.run("ALTER DATABASE sales SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE")
    assert client.value(LOOK) == 1 and third.session.id not in client.instance.sessions


def test_not_inside_a_transaction(client):
    assert client.error("BEGIN TRAN; ALTER DATABASE sales SET ENABLE_BROKER").number == 226


def test_disable_keeps_identity_and_dialogs_and_holds_what_is_sent(client):
    guid = client.value(GUID)
    handle = client.dialog(SEND)
    client.run("ALTER DATABASE sales SET DISABLE_BROKER")
    client.dialog(SEND)
    client.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'y')")
    assert client.value("SELECT COUNT(*) FROM sys.transmission_queue") == 2
    assert len(client.rows("RECEIVE * FROM dbo.TQ")) == 1  # what is here can be received
    client.run("ALTER DATABASE sales SET ENABLE_BROKER")
    assert client.value(GUID) == guid
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 2


def test_no_procedure_is_activated_and_no_timer_rings_while_it_is_off(client, instance):
    client.run("CREATE PROCEDURE dbo.reader AS RECEIVE * FROM dbo.IQ")
    client.run("""ALTER QUEUE dbo.IQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader,
        MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""")
    client.dialog(SEND + "; BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5")
    client.run("ALTER DATABASE sales SET DISABLE_BROKER")
    instance.advance(10)
    assert client.rows("SELECT * FROM sys.dm_broker_queue_monitors") == []
    assert client.value("SELECT COUNT(*) FROM dbo.IQ") == 0
    client.run("ALTER DATABASE sales SET ENABLE_BROKER")
    assert instance.activation.trace.lines[-1][2] == "ended: sales.dbo.IQ"


@pytest.mark.parametrize("choice, state", [("removed", []), ("error", [("ER",), ("ER",)])])
def test_new_broker_changes_the_identity_and_ends_the_dialogs_by_switch(choice, state):
    client = Client(Instance(switches={"new_broker_conversations": choice}))
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    guid = client.value(GUID)
    client.dialog(SEND)
    client.run("ALTER DATABASE sales SET NEW_BROKER WITH ROLLBACK IMMEDIATE")
    assert client.value(GUID) != guid and client.value(LOOK) == 1
    assert client.rows("SELECT state FROM sys.conversation_endpoints") == state
    if choice == "removed":
        assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 0


def test_new_broker_enables_a_disabled_one_and_makes_routes_to_the_old_identity_stale(client):
    old = client.value(GUID)
    client.run("ALTER DATABASE sales SET DISABLE_BROKER; ALTER DATABASE sales SET NEW_BROKER")
    assert client.value(LOOK) == 1
    handle = client.value(f"""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t', '{old}' ON CONTRACT [//c];
        {SEND}; SELECT @h""")
    assert (
        client.value(f"SELECT GET_TRANSMISSION_STATUS('{handle}')")
        == "Could not find the target broker in the local SQL Server instance."
    )


def test_error_broker_conversations_keeps_the_identity_and_enables(client):
    guid = client.value(GUID)
    client.dialog(SEND)
    client.run(
        "ALTER DATABASE sales SET DISABLE_BROKER;"
        "ALTER DATABASE sales SET ERROR_BROKER_CONVERSATIONS"
    )
    assert (client.value(GUID), client.value(LOOK)) == (guid, 1)
    assert client.rows("SELECT DISTINCT state FROM sys.conversation_endpoints") == [("ER",)]
    assert client.error("ALTER DATABASE sales SET NO_SUCH_BROKER").number in {102, 60001}


def test_a_second_broker_with_the_same_identity_stays_off_9772(client):
    client.run("CREATE DATABASE twin; ALTER DATABASE twin SET DISABLE_BROKER")
    server = client.session.database.server
    server.databases["twin"].broker.guid = server.databases["sales"].broker.guid
    error = client.error("ALTER DATABASE twin SET ENABLE_BROKER")
    assert (error.number, error.text) == (
        9772,
        'The Service Broker in database "twin" cannot be enabled because there is already '
        "an enabled Service Broker with the same ID.",
    )
    client.run("ALTER DATABASE twin SET NEW_BROKER")


def test_a_new_broker_in_a_read_only_database_is_9775(client):
    client.run("CREATE DATABASE kept; ALTER DATABASE kept SET READ_ONLY")
    assert client.error("ALTER DATABASE kept SET NEW_BROKER").number == 9775


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE DATABASE d ON (FILENAME = N'd.mdf') FOR ATTACH WITH ENABLE_BROKER",
        "RESTORE DATABASE d FROM DISK = N'x' WITH NEW_BROKER",
    ],
)
def test_attaching_and_restoring_are_refused_by_name(client, sql):
    error = client.error(sql)
    assert error.number == 60001
    assert "ATTACH" in error.text or "RESTORE" in error.text
