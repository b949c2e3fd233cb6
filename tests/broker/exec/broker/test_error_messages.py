"""Every Error message the broker itself sends: its code, its text, and who gets it (F-256)."""

import re

import pytest

from redial_broker.engine.broker_messages import text
from redial_broker.instance.instance import Instance
from redial_broker.ssb import options
from tests.broker.exec.broker.conftest import SETUP, Client

ERROR = "http://schemas.microsoft.com/SQL/ServiceBroker/Error"
TYPES = """CREATE MESSAGE TYPE [//m] VALIDATION = NONE; CREATE MESSAGE TYPE [//e] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//x] VALIDATION = NONE;
    CREATE CONTRACT [//c] ([//m] SENT BY ANY, [//e] SENT BY ANY, [//x] SENT BY ANY);"""
SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"


def told(client, queue: str = "dbo.q") -> list[tuple]:
    """(code, description) of the Error messages in a queue, received."""
    found = []
    for name, body in client.rows(f"RECEIVE message_type_name, message_body FROM {queue}"):
        if name == ERROR:
            code, shown = re.search(
                r"<Code>(-?\d+)</Code><Description>(.*)</Description>", body.decode("utf-16")
            ).groups()
            shown = shown.replace("&apos;", "'").replace("&quot;", '"')
            found.append((int(code), shown))
    return found


def said(number: int, *args) -> tuple[int, str]:
    return -number, text(number, *args)


@pytest.fixture
def shop(instance):
    """The initiator's database, trusted; the target's is ``depot``."""
    client = Client(instance)
    client.run(
        "CREATE DATABASE shop; CREATE DATABASE depot; ALTER DATABASE shop SET TRUSTWORTHY ON"
    )
    client.run("USE shop")
    client.run(TYPES + "CREATE QUEUE dbo.q; CREATE SERVICE [//shop] ON QUEUE dbo.q")
    return client


@pytest.fixture
def depot(instance, shop):
    client = Client(instance, "depot")
    client.run(TYPES + "CREATE QUEUE dbo.q; CREATE SERVICE [//stock] ON QUEUE dbo.q ([//c])")
    return client


def send(
    shop,
    message: str = "MESSAGE TYPE [//m] (N'x')",
    instance: str = "",
    to: str = "//stock",
    more: str = "",
) -> str:
    return shop.value(f"""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//shop] TO SERVICE N'{to}' {instance} ON CONTRACT [//c]
            WITH ENCRYPTION = OFF;
        SEND ON CONVERSATION @h {message}; {more}; SELECT @h""")


# ---------------------------------------------------------------------- refusals of the target
REFUSED = [
    (
        "DROP SERVICE [//stock]; CREATE SERVICE [//stock] ON QUEUE dbo.q",
        said(8408, "//stock", "//c"),
    ),
    (
        "DROP SERVICE [//stock]; CREATE SERVICE [//stock] ON QUEUE dbo.q; DROP CONTRACT [//c]",
        said(8425, "//c"),
    ),
    (
        """DROP SERVICE [//stock]; DROP CONTRACT [//c]; DROP MESSAGE TYPE [//m];
        CREATE CONTRACT [//c] ([//e] SENT BY ANY);
        CREATE SERVICE [//stock] ON QUEUE dbo.q ([//c])""",
        said(8428, "//m"),
    ),
    (
        """DROP SERVICE [//stock]; DROP CONTRACT [//c]; CREATE CONTRACT [//c] ([//e] SENT BY ANY);
        CREATE SERVICE [//stock] ON QUEUE dbo.q ([//c])""",
        said(8498, "//m"),
    ),
    (
        """DROP SERVICE [//stock]; DROP CONTRACT [//c];
        CREATE CONTRACT [//c] ([//m] SENT BY TARGET, [//e] SENT BY ANY);
        CREATE SERVICE [//stock] ON QUEUE dbo.q ([//c])""",
        said(8457, "//m"),
    ),
    ("ALTER MESSAGE TYPE [//m] VALIDATION = EMPTY", said(8430)),
]


@pytest.mark.parametrize("change, error", REFUSED, ids=[str(error[0]) for _, error in REFUSED])
def test_what_the_target_does_not_take_comes_back_to_the_sender(shop, depot, change, error):
    depot.run(change)
    send(shop)
    assert told(shop) == [error]
    assert told(depot) == ([error] if error[0] == -8430 else [])  # F-366
    assert shop.value("SELECT state FROM sys.conversation_endpoints") == "ER"


def test_a_named_broker_without_the_service_8490(shop, depot):
    guid = depot.value("SELECT service_broker_guid FROM sys.databases WHERE name = 'depot'")
    send(shop, instance=f", '{guid}'", to="//nothing")
    assert told(shop) == [said(8490, "//nothing")]


def test_an_owner_without_send_8494(client):
    client.run("CREATE USER keeper WITHOUT LOGIN; ALTER AUTHORIZATION ON SERVICE::[//i] TO keeper")
    client.dialog(SEND)
    assert told(client, "dbo.IQ") == [said(8494, "//t")]


def test_the_targets_answer_may_be_refused_by_the_initiators_contract_8437(shop, depot):
    shop.run("""DROP CONTRACT [//c]; CREATE CONTRACT [//c] ([//m] SENT BY ANY,
        [//e] SENT BY INITIATOR)""")
    send(shop)
    depot.run("""DECLARE @h uniqueidentifier; RECEIVE TOP (1) @h = conversation_handle FROM dbo.q;
        SEND ON CONVERSATION @h MESSAGE TYPE [//e] (N'x')""")
    assert told(depot) == [said(8437, "//e")]


def test_invalid_xml_9615_to_the_sender_and_9616_to_the_side_that_refused_it(shop, depot):
    depot.run("ALTER MESSAGE TYPE [//x] VALIDATION = WELL_FORMED_XML")
    handle = send(shop, "MESSAGE TYPE [//x] (N'<no')")
    [(code, shown)] = told(shop)
    assert code == -9615
    assert re.fullmatch(
        r"A message of type '//x' failed XML validation on the target service\. "
        r"XML parsing: line 1, character \d+, .* This occurred in the message with "
        r"Conversation ID '[-0-9A-F]{36}', Initiator: 1, and Message sequence "
        r"number: 0\.",
        shown,
    )
    [(code, shown)] = told(depot)
    assert code == -9616 and "number: 0." in shown  # the first message too (F-366)
    shop.run(f"END CONVERSATION '{handle}'")
    send(shop, more="SEND ON CONVERSATION @h MESSAGE TYPE [//x] (N'<no')")
    assert [error[0] for error in told(shop)] == [-9615]
    [(code, shown)] = told(depot)
    assert code == -9616 and "was received and failed XML validation" in shown


# ---------------------------------------------------------------------- what befalls a dialog
def test_the_lifetime_8489_reaches_both_ends(client, instance):
    client.run(
        """DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t' ON CONTRACT [//c]
            WITH LIFETIME = 60, ENCRYPTION = OFF; """
        + SEND
    )
    client.run("RECEIVE * FROM dbo.TQ")
    instance.advance(61)
    assert told(client, "dbo.IQ") == told(client, "dbo.TQ") == [said(8489)]


def test_a_message_to_an_end_that_was_cleaned_up_8462(client):
    handle = client.dialog(SEND)
    client.run("""DECLARE @h uniqueidentifier; RECEIVE @h = conversation_handle FROM dbo.TQ;
        END CONVERSATION @h WITH CLEANUP""")
    client.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'y')")
    assert told(client, "dbo.IQ") == [said(8462)]


def test_dropping_a_service_8470(shop, depot):
    send(shop)
    depot.run("DROP SERVICE [//stock]")
    assert told(shop) == [said(8470)]


def test_dropping_a_contract_8487_reaches_the_ends_in_both_databases(shop, depot):
    send(shop)
    depot.run(
        "RECEIVE * FROM dbo.q; ALTER SERVICE [//stock] (DROP CONTRACT [//c]); DROP CONTRACT [//c]"
    )
    assert told(shop) == told(depot) == [said(8487)]


@pytest.mark.parametrize(
    "choice, here, there",
    [
        ("unaffected", [], []),
        ("error", [said(8468)], [said(8469)]),
    ],
)
def test_a_contract_taken_from_a_service_8468_and_8469_by_switch(choice, here, there):
    client = Client(Instance(switches={"service_contract_dropped": choice}))
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    client.dialog(SEND)
    client.run("RECEIVE * FROM dbo.TQ; ALTER SERVICE [//t] (DROP CONTRACT [//c])")
    assert (told(client, "dbo.TQ"), told(client, "dbo.IQ")) == (here, there)


def test_error_broker_conversations_9719_here_and_9720_there(shop, depot):
    send(shop)
    depot.run("RECEIVE * FROM dbo.q")
    depot.session.close()
    shop.run("ALTER DATABASE depot SET ERROR_BROKER_CONVERSATIONS")
    assert told(shop) == [said(9720)]
    assert told(Client(shop.instance, "depot")) == [said(9719)]


def test_a_forced_master_key_28052_reaches_secured_dialogs_only(client):
    client.dialog(SEND)
    client.run("""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t' ON CONTRACT [//c]""")
    options.session_keys_lost(client.session.database.broker)
    assert told(client, "dbo.IQ") == [said(28052)]


def test_a_users_own_error_has_a_positive_code(client):
    handle = client.dialog(SEND)
    client.run(f"END CONVERSATION '{handle}' WITH ERROR = 77 DESCRIPTION = N'it''s <over>'")
    rows = client.rows("RECEIVE message_type_name, message_body FROM dbo.TQ")
    body = dict(rows)[ERROR].decode("utf-16")
    assert body == (
        '<?xml version="1.0"?><Error xmlns="http://schemas.microsoft.com/SQL/'
        'ServiceBroker/Error"><Code>77</Code><Description>it&apos;s &lt;over&gt;'
        "</Description></Error>"
    )
