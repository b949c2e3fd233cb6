"""Seed 002's own procedure pair as posted: each kind of payload, its deadlock, its loss."""

from __future__ import annotations

import pytest
from lxml import etree

from redial_lab.explore import Limits, World, search, shortest
from redial_lab.explore.trace import replay
from redial_lab.proof.audit_setups import DATABASE
from redial_lab.proof.comparators import forum_pair, send_message
from tests.product.seeds.lab import RECYCLE_AFTER, Lab

IN_CALLERS_TRANSACTION = forum_pair(in_transaction=True)
AUTOCOMMIT = forum_pair(in_transaction=False)

XML = "CONVERT(xml, N'<r a=\"1\">\u00e9</r>')"
PAYLOADS = {
    "@xmlPayload": (XML, b"\xff\xfe" + '<r a="1">\u00e9</r>'.encode("utf-16-le")),
    "@binaryPayload": ("0x00FF10", b"\x00\xff\x10"),
    "@varcharPayload": ("'plain text'", b"plain text"),
}


@pytest.fixture
def lab() -> Lab:
    return Lab(mutant="forum_pair")


@pytest.mark.parametrize("name", PAYLOADS)
def test_each_kind_of_payload_arrives_as_bytes(lab, name):
    payload, body = PAYLOADS[name]
    lab.run(send_message(payload, name))
    assert lab.landed() == [body]


def test_the_session_is_the_key_by_the_parameters_default(lab):
    """F-340: the posted default is @@SPID itself."""
    lab.run(send_message("0x01"))
    lab.run(send_message("0x02"))
    [(key, kind)] = lab.table("ServiceBrokerConversations", "Identifier, IdentifierType")
    [(session,)] = lab.rows("SELECT CONVERT(varchar(50), @@SPID);")
    assert (key, kind) == (session, "@@SPID")


def test_two_payloads_at_once_are_refused_by_message_and_nothing_is_sent(lab):
    answer = lab.session.execute(
        "EXECUTE audit.usp_SendMessage @endpointGroup = 'audit', @binaryPayload = 0x01, "
        "@varcharPayload = 'x';"
    )
    assert answer.error().number == 50000
    assert lab.endpoints() == []


def test_no_payload_at_all_leaves_ten_dialogs_and_one_row_behind(lab):
    """SEND of a NULL expression is refused (F-107). Every turn of the retry loop has made a dialog
    with a timer; the DELETE takes the row of nine of them, and nobody ends a dialog."""
    answer = lab.session.execute("EXECUTE audit.usp_SendMessage @endpointGroup = 'audit';")
    assert [m.number for m in answer.errors] == [8433] * 10 + [50000]
    assert lab.endpoints() == [("initiator", "STARTED_OUTBOUND")] * 10
    assert len(lab.table("ServiceBrokerConversations")) == 1


def test_an_unknown_group_is_refused(lab):
    answer = lab.session.execute(
        "EXECUTE audit.usp_SendMessage @endpointGroup = 'x', @binaryPayload = 0x01;"
    )
    assert answer.error().number == 50000


def test_alone_it_recycles_as_meant(lab):
    lab.run(send_message("0x01"))
    lab.advance(RECYCLE_AFTER + 10)
    assert lab.landed_types()[-1] == "EndOfStream"
    assert lab.endpoints() == [("target", "CLOSED")]


# ---------------------------------------------------------------------- the graph of the thread
@pytest.fixture(scope="module")
def deadlock():
    result = search(IN_CALLERS_TRANSACTION, Limits(until="deadlock"))
    print(result)
    return shortest(IN_CALLERS_TRANSACTION, result.violations["deadlock"])


@pytest.fixture(scope="module")
def report(deadlock):
    """The xml_deadlock_report the shortest trace leaves."""
    print("\n".join(replay(IN_CALLERS_TRANSACTION, deadlock)))
    world = World(IN_CALLERS_TRANSACTION)
    for step in deadlock.path:
        world.take(step)
    world.journal.recording = world.instance.searched = False
    rows = (
        world.instance.connect(DATABASE)
        .execute("""
        SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_session_targets AS t
        INNER JOIN sys.dm_xe_sessions AS s ON s.address = t.event_session_address
        WHERE s.name = N'system_health' AND t.target_name = N'ring_buffer'""")
        .rows()
    )
    [event] = etree.fromstring(rows[0][0]).xpath("//event[@name='xml_deadlock_report']")
    return event.find(".//deadlock")


def ends(resource, kind: str) -> list[tuple[str, str]]:
    return [(one.get("id"), one.get("mode")) for one in resource.iter(kind)]


def test_the_threads_graph_comes_out_of_the_threads_code(report):
    """Seed 002: a key lock in U and the conversation group in X, each wanted by the other's owner;
    the victim is the sender, which has logged nothing."""
    victim = report.find("victim-list/victimProcess").get("id")
    [group] = report.findall("resource-list/metadatalock")
    [key] = report.findall("resource-list/keylock")
    [reader] = [
        p.get("id") for p in report.findall("process-list/process") if p.get("id") != victim
    ]
    assert (group.get("subresource"), group.get("mode")) == ("CONVERSATION_GROUP", "X")
    assert (ends(group, "owner"), ends(group, "waiter")) == ([(reader, "X")], [(victim, "X")])
    assert key.get("mode") == "U"
    assert key.get("objectname").endswith("ServiceBrokerConversations")
    assert key.get("indexname").startswith("PK__ServiceB")
    assert (ends(key, "owner"), ends(key, "waiter")) == ([(victim, "U")], [(reader, "U")])


def test_its_processes_stand_where_the_threads_stand(report):
    victim = report.find("victim-list/victimProcess").get("id")
    processes = {p.get("id"): p for p in report.findall("process-list/process")}
    sender = processes.pop(victim)
    [reader] = processes.values()
    assert sender.get("transactionname") == "GetDialogByHandle"
    assert (sender.get("logused"), sender.get("lockMode")) == ("0", "X")
    assert (reader.get("transactionname"), reader.get("lockMode")) == ("user_transaction", "U")
    assert (sender.get("status"), reader.get("status")) == ("suspended", "background")
    frames = [f.get("procname").split(".")[-1] for f in reader.iter("frame")]
    assert frames == ["usp_BrokerHandleInitiator", "usp_InitiatorQueueHandler"]
    [top] = [f.get("procname").split(".")[-1] for f in sender.iter("frame")][:1]
    assert top == "usp_SendMessage"


def test_in_autocommit_an_acknowledged_message_is_lost_after_end_of_stream():
    name = "acknowledged message lost"
    result = search(AUTOCOMMIT, Limits(until=name))
    print(result)
    assert name in result.violations
