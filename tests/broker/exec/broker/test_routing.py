"""Routes, remote service bindings, the endpoint: catalog, rules, where messages then wait."""

import pytest

TCP = "CREATE ROUTE r WITH SERVICE_NAME = '//far', ADDRESS = 'TCP://elsewhere:4022'"
NOWHERE = "The Service Broker protocol transport is disabled or not configured."
NO_BINDING = "Dialog security is not available for this conversation because there is no remote"


def far_dialog(client, to="//far", encryption="OFF", more="") -> str:
    """A dialog to a service that may not be here, with one message sent; its status."""
    handle = client.value(f"""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'{to}' {more} ON CONTRACT [//c]
            WITH ENCRYPTION = {encryption};
        SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x'); SELECT @h""")
    status = client.value(f"SELECT GET_TRANSMISSION_STATUS('{handle}')")
    assert client.rows(
        "SELECT transmission_status FROM sys.transmission_queue "
        f"WHERE conversation_handle = '{handle}'"
    ) in ([(status,)], [])
    return status


@pytest.mark.parametrize(
    "options, number",
    [
        ("ADDRESS = ''", 9659),
        ("SERVICE_NAME = '', ADDRESS = 'LOCAL'", 9659),
        (f"SERVICE_NAME = '{'s' * 257}', ADDRESS = 'LOCAL'", 9660),
        (
            "SERVICE_NAME = 's', BROKER_INSTANCE = 'g', ADDRESS = 'LOCAL', "
            "MIRROR_ADDRESS = 'TCP://m:1'",
            9743,
        ),
        ("SERVICE_NAME = 's', ADDRESS = 'TCP://a:1', MIRROR_ADDRESS = 'TCP://m:1'", 9661),
        ("BROKER_INSTANCE = 'g', ADDRESS = 'LOCAL'", 9662),
        (
            "SERVICE_NAME = 's', BROKER_INSTANCE = 'g', ADDRESS = 'TCP://a:1', "
            "MIRROR_ADDRESS = 'TRANSPORT'",
            9743,
        ),
        ("ADDRESS = 'http://a:1'", 9744),
        ("ADDRESS = 'TCP://'", 9744),
        ("SERVICE_NAME = 's', ADDRESS = 'TRANSPORT'", 9745),
        ("LIFETIME = 0, ADDRESS = 'LOCAL'", 9746),
        (
            "SERVICE_NAME = 's', BROKER_INSTANCE = 'g', ADDRESS = 'TCP://a:1', "
            "MIRROR_ADDRESS = 'tcp://A:1'",
            9747,
        ),
    ],
)
def test_each_rule_of_a_route_has_its_error(client, options, number):
    assert client.error(f"CREATE ROUTE r WITH {options}").number == number


def test_alter_route_keeps_what_it_does_not_state_and_obeys_the_rules(client):
    client.run(TCP)
    client.run("ALTER ROUTE r WITH BROKER_INSTANCE = 'aaaa'")
    assert client.error("ALTER ROUTE r WITH ADDRESS = 'TRANSPORT'").number == 9745
    client.run("ALTER ROUTE r WITH MIRROR_ADDRESS = 'TCP://other:4022'")
    assert client.rows("""SELECT remote_service_name, broker_instance, lifetime, address,
        mirror_address FROM sys.routes WHERE name = 'r'""") == [
        ("//far", "AAAA", None, "TCP://elsewhere:4022", "TCP://other:4022")
    ]


def test_without_an_endpoint_a_remote_message_waits_for_the_transport(client):
    client.run(TCP)
    assert far_dialog(client) == NOWHERE


def test_a_stopped_endpoint_and_a_started_one_have_their_own_texts(client):
    client.run(TCP)
    client.run("CREATE ENDPOINT e AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER ()")
    assert far_dialog(client) == "The Service Broker endpoint is in disabled or stopped state."
    client.run("ALTER ENDPOINT e STATE = STARTED")
    assert {
        row[0] for row in client.rows("SELECT transmission_status FROM sys.transmission_queue")
    } == {"The target service broker is unreachable."}
    client.run("DROP ENDPOINT e")
    assert far_dialog(client) == NOWHERE


def test_an_encrypted_dialog_to_another_instance_needs_a_binding_then_a_key_then_a_certificate(
    client,
):
    client.run(TCP)
    assert far_dialog(client, encryption="ON").startswith(NO_BINDING)
    client.run("""CREATE USER proxy WITHOUT LOGIN;
        CREATE REMOTE SERVICE BINDING b TO SERVICE '//far' WITH USER = proxy""")
    assert far_dialog(client, encryption="ON").startswith("The session keys for this conversation")
    assert far_dialog(client, encryption="OFF").startswith("The session keys for this conversation")
    client.session.database.broker.has_master_key = True
    user = client.value("SELECT USER_ID('proxy')")
    assert f"bound to the database principal (Id: {user})" in far_dialog(client)
    client.session.database.broker.has_certificate = lambda principal: principal == user
    assert far_dialog(client) == NOWHERE


def test_a_named_route_is_stronger_than_the_one_for_every_service(client):
    """Routing page: step 2 before step 5. //t is here, but its own route leads away."""
    client.run("CREATE ROUTE r WITH SERVICE_NAME = '//t', ADDRESS = 'TCP://elsewhere:1'")
    assert far_dialog(client, "//t") == NOWHERE
    client.run("CREATE ROUTE here WITH SERVICE_NAME = '//t', ADDRESS = 'LOCAL'")
    assert far_dialog(client, "//t") == ""
    client.run("DROP ROUTE r; DROP ROUTE here")
    assert far_dialog(client, "//t") == ""


def test_a_route_with_the_dialogs_broker_instance_is_the_strongest(client):
    """Routing page: step 1 before step 2."""
    guid = client.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    client.run(f"""CREATE ROUTE away WITH SERVICE_NAME = '//t', ADDRESS = 'TCP://elsewhere:1';
        CREATE ROUTE here WITH SERVICE_NAME = '//t', BROKER_INSTANCE = '{guid}',
            ADDRESS = 'LOCAL'""")
    assert far_dialog(client, "//t") == NOWHERE
    assert far_dialog(client, "//t", more=f", '{guid}'") == ""


def test_a_local_route_with_a_broker_instance_leads_to_that_database_only(client):
    client.run("DROP ROUTE AutoCreatedLocal")
    client.run("""CREATE ROUTE r WITH SERVICE_NAME = '//t',
        BROKER_INSTANCE = '11111111-2222-4333-8444-555555555555', ADDRESS = 'LOCAL'""")
    assert (
        far_dialog(client, "//t")
        == "Could not find the target broker in the local SQL Server instance."
    )
    guid = client.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    client.run(f"ALTER ROUTE r WITH BROKER_INSTANCE = '{guid}'")
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1


def test_without_any_route_a_dialog_that_names_its_broker_is_delivered_locally(client):
    """Routing page: step 6."""
    client.run("DROP ROUTE AutoCreatedLocal")
    assert far_dialog(client, "//t").startswith("No route matches the destination service name")
    assert far_dialog(client, "//t", more=", 'CURRENT DATABASE'") == ""


def test_an_expired_route_is_ignored_but_listed(client, instance):
    client.run("CREATE ROUTE r WITH SERVICE_NAME = '//t', LIFETIME = 60, ADDRESS = 'TCP://e:1'")
    assert far_dialog(client, "//t") == NOWHERE
    instance.advance(61)
    assert far_dialog(client, "//t") == ""
    assert client.value("SELECT COUNT(*) FROM sys.routes WHERE name = 'r'") == 1


def test_transport_takes_the_address_from_the_service_name(client):
    client.run("DROP ROUTE AutoCreatedLocal; CREATE ROUTE r WITH ADDRESS = 'transport'")
    assert far_dialog(client, "TCP://host:4022/service") == NOWHERE
    assert far_dialog(client, "//host/service") == "Invalid address specified: '//host/service'."


def test_a_mirrored_route_is_chosen_before_a_local_one(client):
    guid = client.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'sales'")
    client.run(f"""CREATE ROUTE m WITH SERVICE_NAME = '//t', BROKER_INSTANCE = '{guid}',
        ADDRESS = 'TCP://a:1', MIRROR_ADDRESS = 'TCP://b:1';
        CREATE ROUTE l WITH SERVICE_NAME = '//t', BROKER_INSTANCE = '{guid}', ADDRESS = 'LOCAL'""")
    assert far_dialog(client, "//t", more=f", '{guid}'") == NOWHERE


def test_dynamic_routing_is_refused_by_name(client):
    error = client.error(
        "CREATE ROUTE r WITH SERVICE_NAME = "
        "'SQL/ServiceBroker/BrokerConfiguration', ADDRESS = 'LOCAL'"
    )
    assert error.number == 60001 and "dynamic routing" in error.text


# ---------------------------------------------------------------------- bindings
def test_remote_service_bindings_are_in_the_catalog(client):
    client.run("""CREATE USER u WITHOUT LOGIN; CREATE USER v WITHOUT LOGIN;
        CREATE REMOTE SERVICE BINDING b TO SERVICE '//far' WITH USER = u, ANONYMOUS = ON""")
    look = """SELECT name, remote_service_name, service_contract_id, USER_NAME(remote_principal_id),
        is_anonymous_on FROM sys.remote_service_bindings"""
    assert client.rows(look) == [("b", "//far", 0, "u", 1)]
    client.run("ALTER REMOTE SERVICE BINDING b WITH USER = v")
    client.run("ALTER REMOTE SERVICE BINDING b WITH ANONYMOUS = OFF")
    assert client.rows(look) == [("b", "//far", 0, "v", 0)]
    client.run("BEGIN TRAN; DROP REMOTE SERVICE BINDING b; ROLLBACK")
    assert client.rows(look) == [("b", "//far", 0, "v", 0)]
    client.run("DROP REMOTE SERVICE BINDING b")
    assert client.rows(look) == []


@pytest.mark.parametrize(
    "sql, number",
    [
        ("CREATE REMOTE SERVICE BINDING b TO SERVICE '//other' WITH USER = u", 2714),
        ("CREATE REMOTE SERVICE BINDING c TO SERVICE '//far' WITH USER = u", 9619),
        ("CREATE REMOTE SERVICE BINDING c TO SERVICE '//x' WITH USER = nobody", 15151),
        ("CREATE REMOTE SERVICE BINDING c TO SERVICE '//x' WITH USER = clerks", 28083),
        ("ALTER REMOTE SERVICE BINDING nope WITH USER = u", 15151),
        ("DROP REMOTE SERVICE BINDING nope", 15151),
    ],
)
def test_errors_of_remote_service_bindings(client, sql, number):
    client.run("""CREATE USER u WITHOUT LOGIN; CREATE ROLE clerks;
        CREATE REMOTE SERVICE BINDING b TO SERVICE '//far' WITH USER = u""")
    assert client.error(sql).number == number


# ---------------------------------------------------------------------- the endpoint
def test_the_endpoint_is_in_the_catalog(client):
    client.run("""CREATE ENDPOINT e STATE = STARTED
        AS TCP (LISTENER_PORT = 4022, LISTENER_IP = ALL)
        FOR SERVICE_BROKER (AUTHENTICATION = WINDOWS KERBEROS
            ENCRYPTION = SUPPORTED ALGORITHM AES RC4, MESSAGE_FORWARDING = ENABLED,
            MESSAGE_FORWARD_SIZE = 20)""")
    assert client.rows("""SELECT b.name, t.port, b.state_desc, b.connection_auth_desc,
            b.encryption_algorithm, b.is_message_forwarding_enabled, b.message_forwarding_size
        FROM sys.service_broker_endpoints AS b
        JOIN sys.tcp_endpoints AS t ON t.endpoint_id = b.endpoint_id""") == [
        ("e", 4022, "STARTED", "KERBEROS", 8, 1, 20)
    ]
    assert client.value("SELECT COUNT(*) FROM sys.endpoints") == 2


@pytest.mark.parametrize(
    "sql, number",
    [
        ("CREATE ENDPOINT f AS TCP (LISTENER_PORT = 1) FOR SERVICE_BROKER ()", 7862),
        ("ALTER ENDPOINT e", 7863),
        ("ALTER ENDPOINT nope STATE = STOPPED", 15151),
        ("DROP ENDPOINT nope", 15151),
        ("BEGIN TRAN; ALTER ENDPOINT e STATE = STOPPED", 226),
        ("CREATE ENDPOINT t AS TCP (LISTENER_PORT = 1) FOR TSQL ()", 60001),
        ("ALTER ENDPOINT e FOR SERVICE_BROKER (AUTHENTICATION = CERTIFICATE c)", 15151),
    ],
)
def test_errors_of_the_endpoint(client, sql, number):
    client.run("CREATE ENDPOINT e AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER ()")
    assert client.error(sql).number == number


def test_an_endpoint_may_authenticate_by_a_certificate_of_master(client, instance):
    from tests.broker.exec.broker.conftest import Client

    master = Client(instance, "master")
    master.run("""CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Mas-ter-1';
        CREATE CERTIFICATE c WITH SUBJECT = 'c';
        CREATE CERTIFICATE p ENCRYPTION BY PASSWORD = 'Cer-tif-1' WITH SUBJECT = 'p'""")
    create = """CREATE ENDPOINT e AS TCP (LISTENER_PORT = 4022)
        FOR SERVICE_BROKER (AUTHENTICATION = WINDOWS NTLM CERTIFICATE {})"""
    assert client.error(create.format("p")).number == 28055
    client.run(create.format("c"))
    look = """SELECT connection_auth_desc, CASE WHEN certificate_id > 0 THEN 1 ELSE 0 END
        FROM sys.service_broker_endpoints"""
    assert client.rows(look) == [("NTLM, CERTIFICATE", 1)]
    client.run("ALTER ENDPOINT e FOR SERVICE_BROKER (AUTHENTICATION = WINDOWS)")
    assert client.rows(look) == [("NEGOTIATE", 0)]
