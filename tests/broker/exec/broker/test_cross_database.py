"""Dialogs between two databases of one instance: trust, keys, routes, transactions, locks."""

import pytest

from tests.broker.exec.broker.conftest import Client

TYPES = """CREATE MESSAGE TYPE [//m] VALIDATION = NONE;
    CREATE CONTRACT [//c] ([//m] SENT BY ANY);"""
BEGIN = """DECLARE @h uniqueidentifier;
    BEGIN DIALOG @h FROM SERVICE [//shop] TO SERVICE N'//stock' ON CONTRACT [//c]
        WITH ENCRYPTION = {encryption};
    SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'order'); SELECT @h"""
NO_ENTRY = (
    'The server principal "{}" is not able to access the database "depot" under the '
    "current security context."
)


@pytest.fixture
def shop(instance):
    """A session in the initiator's database, owned by sa and not trustworthy."""
    client = Client(instance)
    client.run("CREATE DATABASE shop; CREATE DATABASE depot")
    client.run("USE shop")
    client.run(TYPES + "CREATE QUEUE dbo.q; CREATE SERVICE [//shop] ON QUEUE dbo.q")
    return client


@pytest.fixture
def depot(instance, shop):
    """A session in the target's database."""
    client = Client(instance, "depot")
    client.run(TYPES + "CREATE QUEUE dbo.q; CREATE SERVICE [//stock] ON QUEUE dbo.q ([//c])")
    return client


def trust(shop) -> None:
    shop.run("ALTER DATABASE shop SET TRUSTWORTHY ON")


def send(shop, encryption: str = "OFF") -> str:
    return shop.value(BEGIN.format(encryption=encryption))


def status(shop, handle: str) -> str:
    return shop.value(f"SELECT GET_TRANSMISSION_STATUS('{handle}')")


def count(client) -> int:
    return client.value("SELECT COUNT(*) FROM dbo.q WITH (NOLOCK)")


def test_an_untrusted_database_cannot_send_into_another(shop, depot):
    """Dialog security page: the message stays, with the text of 916."""
    handle = send(shop)
    assert status(shop, handle) == NO_ENTRY.format("sa")
    assert count(depot) == 0
    trust(shop)
    send(shop)  # the next attempt at anything in the instance takes the waiting one along
    shop.run("CREATE ROUTE again WITH SERVICE_NAME = '//nowhere', ADDRESS = 'LOCAL'")
    assert status(shop, handle) == "" and count(depot) == 2


def test_the_targets_answer_needs_no_trust_of_its_own(shop, depot):
    """The tutorial sets TRUSTWORTHY in the initiator's database only."""
    trust(shop)
    send(shop)
    depot.run("""DECLARE @h uniqueidentifier; RECEIVE TOP (1) @h = conversation_handle FROM dbo.q;
        SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'answer'); END CONVERSATION @h""")
    assert shop.rows(
        "SELECT CAST(message_body AS nvarchar(10)) FROM dbo.q ORDER BY queuing_order"
    ) == [("answer",), (None,)]


def test_a_user_without_login_gets_nowhere(shop, depot):
    shop.run("CREATE USER keeper WITHOUT LOGIN; ALTER AUTHORIZATION ON SERVICE::[//shop] TO keeper")
    trust(shop)
    handle = send(shop)
    assert status(shop, handle) == NO_ENTRY.format("keeper")


def test_the_owner_needs_a_user_in_the_target_database_and_send_there(shop, depot):
    shop.run("""CREATE LOGIN keeper WITH PASSWORD = 'Keep-er-1';
        CREATE USER keeper FOR LOGIN keeper; ALTER AUTHORIZATION ON SERVICE::[//shop] TO keeper""")
    trust(shop)
    handle = send(shop)
    assert status(shop, handle) == NO_ENTRY.format("keeper")
    depot.run("CREATE USER keeper FOR LOGIN keeper")
    send(shop)
    assert "<Code>-8494</Code>" in shop.value(
        "SELECT TOP (1) CAST(message_body AS nvarchar(max)) FROM dbo.q"
    )
    depot.run("GRANT SEND ON SERVICE::[//stock] TO keeper")
    send(shop)
    assert count(depot) == 1


def test_the_database_owner_must_be_an_authenticator_there(shop, depot):
    shop.run("""CREATE LOGIN seller WITH PASSWORD = 'Sell-er-1';
        ALTER AUTHORIZATION ON DATABASE::shop TO seller""")
    trust(shop)
    handle = send(shop)
    assert status(shop, handle) == NO_ENTRY.format("seller")
    depot.run(
        "CREATE USER seller FOR LOGIN seller; GRANT AUTHENTICATE TO seller; "
        "GRANT SEND ON SERVICE::[//stock] TO seller"
    )
    send(shop)
    assert count(depot) == 1


def test_an_encrypted_dialog_needs_both_master_keys_and_says_whose_is_missing(
    shop, depot, instance
):
    trust(shop)
    handle = send(shop, "ON")
    assert (
        status(shop, handle) == "The session keys for this conversation could not be created "
        "or accessed. The database master key is required for this operation."
    )
    assert (
        "needs to access the master key in the database 'shop'" in instance.error_log.lines[-1][2]
    )
    shop.session.database.broker.has_master_key = True
    handle = send(shop, "ON")
    assert (
        status(shop, handle) == "Could not save a dialog session key. A master key is "
        "required in the database to save the session key."
    )
    depot.session.database.broker.has_master_key = True
    send(shop, "ON")
    assert count(depot) == 1


def test_a_remote_service_binding_secures_a_local_dialog_even_without_encryption(shop, depot):
    """Dialog security page, CREATE REMOTE SERVICE BINDING page."""
    trust(shop)
    shop.run(
        "CREATE USER u WITHOUT LOGIN; "
        "CREATE REMOTE SERVICE BINDING b TO SERVICE '//stock' WITH USER = u"
    )
    assert status(shop, send(shop)).startswith("The session keys for this conversation")


def test_one_transaction_spans_both_databases(shop, depot):
    trust(shop)
    shop.run("BEGIN TRAN")
    send(shop)
    assert depot.rows("RECEIVE * FROM dbo.q") == []
    shop.run("ROLLBACK")
    assert count(depot) == 0
    shop.run("BEGIN TRAN")
    send(shop)
    shop.run("COMMIT")
    assert len(depot.rows("RECEIVE * FROM dbo.q")) == 1


def test_each_side_locks_its_own_group_only(shop, depot):
    trust(shop)
    handle = send(shop)
    depot.run("BEGIN TRAN; RECEIVE TOP (1) * FROM dbo.q")
    shop.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'more')")
    depot.run("ROLLBACK")
    assert count(depot) == 2


def test_a_deadlock_across_the_databases_has_its_victim(shop, depot, instance):
    trust(shop)
    depot.run("CREATE TABLE dbo.r (id int PRIMARY KEY); INSERT dbo.r VALUES (1)")
    handle = send(shop)
    other = Client(instance, "shop")
    shop.run(f"BEGIN TRAN; SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'a')")
    other.run("BEGIN TRAN; UPDATE depot.dbo.r SET id = 2")
    shop.send("SELECT * FROM depot.dbo.r")
    assert shop.session.wait is not None
    outcome = other.send(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'b')")
    errors = [e.number for e in outcome.errors] + [e.number for e in shop.session.sink.errors]
    assert errors == [1205]


def test_dropping_the_targets_database_leaves_the_initiator_with_undeliverable_messages(
    shop, depot, instance
):
    trust(shop)
    handle = send(shop)
    depot.session.close()
    shop.run("DROP DATABASE depot")
    shop.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'late')")
    assert (
        status(shop, handle) == "Could not find the target broker in the local SQL Server instance."
    )


@pytest.mark.parametrize(
    "option, text",
    [
        (
            "DISABLE_BROKER",
            "The Service Broker in the target database is unavailable: 'The service "
            "broker is administratively disabled.'.",
        ),
        (
            "SINGLE_USER",
            "The Service Broker in the target database is unavailable: 'The database is "
            "in single-user mode.'.",
        ),
    ],
)
def test_a_target_that_takes_no_messages_says_why(shop, depot, option, text):
    trust(shop)
    guid = depot.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'depot'")
    depot.session.close()
    shop.run(f"ALTER DATABASE depot SET {option}")
    handle = shop.value(
        BEGIN.format(encryption="OFF").replace("N'//stock'", f"N'//stock', '{guid}'")
    )
    assert status(shop, handle) == text
    shop.run(
        "ALTER DATABASE depot SET " + ("ENABLE_BROKER" if "BROKER" in option else "MULTI_USER")
    )
    assert status(shop, handle) == ""


def test_a_sender_in_single_user_mode_sends_nothing(shop, depot):
    trust(shop)
    shop.run("ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    handle = send(shop)
    assert (
        status(shop, handle) == "The broker in the sender's database is in single user mode. "
        "Messages cannot be delivered while in single user mode."
    )
    shop.run("ALTER DATABASE shop SET MULTI_USER")
    assert status(shop, handle) == "" and count(depot) == 1


# ---------------------------------------------------------------------- certificates
def certificates(shop, depot) -> None:
    """Full dialog security between shop and depot: each has the other's public key."""
    key = "ENCRYPTION BY PASSWORD = 'Dia-log-1'"
    shop.run(f"""CREATE MASTER KEY {key}; CREATE USER seller WITHOUT LOGIN;
        CREATE USER storeman WITHOUT LOGIN;
        CREATE CERTIFICATE selling AUTHORIZATION seller WITH SUBJECT = 's';
        ALTER AUTHORIZATION ON SERVICE::[//shop] TO seller;
        BACKUP CERTIFICATE selling TO FILE = 'selling.cer'""")
    depot.run(f"""CREATE MASTER KEY {key}; CREATE USER keeper WITHOUT LOGIN;
        CREATE USER customer WITHOUT LOGIN;
        CREATE CERTIFICATE keeping AUTHORIZATION keeper WITH SUBJECT = 'k';
        ALTER AUTHORIZATION ON SERVICE::[//stock] TO keeper;
        CREATE CERTIFICATE selling AUTHORIZATION customer FROM FILE = 'selling.cer';
        BACKUP CERTIFICATE keeping TO FILE = 'keeping.cer'""")
    shop.run("""CREATE CERTIFICATE keeping AUTHORIZATION storeman FROM FILE = 'keeping.cer';
        CREATE REMOTE SERVICE BINDING b TO SERVICE '//stock' WITH USER = storeman""")


def test_a_binding_and_certificates_let_a_message_in_as_the_user_who_owns_them_there(shop, depot):
    """Dialog security page: without TRUSTWORTHY, and SEND is that user's."""
    certificates(shop, depot)
    send(shop, "ON")
    assert "<Code>-8494</Code>" in shop.value(
        "SELECT TOP (1) CAST(message_body AS nvarchar(max)) FROM dbo.q"
    )
    depot.run("GRANT SEND ON SERVICE::[//stock] TO customer")
    send(shop, "ON")
    assert count(depot) == 1


def test_an_anonymous_binding_sends_as_public(shop, depot):
    certificates(shop, depot)
    shop.run("ALTER REMOTE SERVICE BINDING b WITH ANONYMOUS = ON")
    depot.run("GRANT SEND ON SERVICE::[//stock] TO public")
    send(shop)
    assert count(depot) == 1


def test_by_switch_certificates_count_for_nothing_inside_an_instance(shop, depot, instance):
    instance.engine.switches["certificates_in_instance"] = "ignored"
    certificates(shop, depot)
    assert status(shop, send(shop)) == NO_ENTRY.format("seller")


def test_a_master_key_nobody_can_open_regenerated_with_force_errs_secured_dialogs(shop, depot):
    certificates(shop, depot)
    depot.run("GRANT SEND ON SERVICE::[//stock] TO customer")
    send(shop, "ON")
    shop.run("ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY")
    shop.run("ALTER MASTER KEY FORCE REGENERATE WITH ENCRYPTION BY PASSWORD = 'Oth-er-2'")
    assert "<Code>-28052</Code>" in shop.value(
        "SELECT TOP (1) CAST(message_body AS nvarchar(max)) FROM dbo.q"
    )
