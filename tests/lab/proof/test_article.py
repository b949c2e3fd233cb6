"""Seed 000's procedures: what people fought since 2007 is found by search, not scripted."""

from __future__ import annotations

import pytest
from lxml import etree

from redial_lab.explore import Limits, World, search, shortest
from redial_lab.explore.trace import replay
from redial_lab.proof.audit_setups import DATABASE, article

IN_CALLERS_TRANSACTION = article(in_transaction=True)
AUTOCOMMIT = article(in_transaction=False)


@pytest.fixture(scope="module")
def deadlock():
    result = search(IN_CALLERS_TRANSACTION, Limits(until="deadlock"))
    print(result)
    return shortest(IN_CALLERS_TRANSACTION, result.violations["deadlock"])


@pytest.fixture(scope="module")
def report(deadlock):
    """The xml_deadlock_report left by the shortest trace, through the ring buffer people query."""
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
    ring = etree.fromstring(rows[0][0])
    [event] = ring.xpath("//event[@name='xml_deadlock_report']")
    return event.find(".//deadlock")


def test_seed_002s_deadlock_is_found_in_a_callers_transaction(deadlock):
    """Feature deadlock or concurrency tests: seed 002's graph, found in seed 000's procedures."""
    assert len(deadlock.path) <= 12


def test_its_resources_owners_and_waiters_are_the_seeds(report):
    victim = report.find("victim-list/victimProcess").get("id")
    [group] = report.findall("resource-list/metadatalock")
    [key] = report.findall("resource-list/keylock")
    reader = next(
        p.get("id") for p in report.findall("process-list/process") if p.get("id") != victim
    )
    assert (group.get("subresource"), group.get("mode")) == ("CONVERSATION_GROUP", "X")
    assert [(o.get("id"), o.get("mode")) for o in group.iter("owner")] == [(reader, "X")]
    assert [(w.get("id"), w.get("mode"), w.get("requestType")) for w in group.iter("waiter")] == [
        (victim, "X", "wait")
    ]
    assert key.get("mode") == "U"
    assert key.get("indexname").startswith("PK__SessionC")
    assert [(o.get("id"), o.get("mode")) for o in key.iter("owner")] == [(victim, "U")]
    assert [(w.get("id"), w.get("mode"), w.get("requestType")) for w in key.iter("waiter")] == [
        (reader, "U", "wait")
    ]


def test_the_sender_is_the_victim_because_it_has_logged_nothing(report):
    victim = report.find("victim-list/victimProcess").get("id")
    logged = {
        p.get("id"): (int(p.get("logused")), p.get("transactionname"), p.get("lockMode"))
        for p in report.findall("process-list/process")
    }
    assert logged[victim] == (0, "GetDialogByHandle", "X")
    [other] = [value for key, value in logged.items() if key != victim]
    assert other[0] > 0
    assert other[1:] == ("user_transaction", "U")


def test_the_report_has_the_seeds_elements_and_attributes(report):
    victim = report.find("victim-list/victimProcess").get("id")
    sender, reader = sorted(
        report.findall("process-list/process"), key=lambda process: process.get("id") != victim
    )
    assert list(sender.attrib) == [
        "id",
        "taskpriority",
        "logused",
        "waitresource",
        "waittime",
        "ownerId",
        "transactionname",
        "lasttranstarted",
        "XDES",
        "lockMode",
        "schedulerid",
        "kpid",
        "status",
        "spid",
        "sbid",
        "ecid",
        "priority",
        "trancount",
        "lastbatchstarted",
        "lastbatchcompleted",
        "lastattention",
        "clientapp",
        "hostname",
        "hostpid",
        "loginname",
        "isolationlevel",
        "xactid",
        "currentdb",
        "lockTimeout",
        "clientoption1",
        "clientoption2",
    ]
    assert list(reader.attrib) == list(sender.attrib)[:18]
    assert (sender.get("status"), reader.get("status")) == ("suspended", "background")
    assert sender.get("waitresource").startswith("METADATA: database_id = ")
    assert reader.get("waitresource").startswith("KEY: ")
    assert [child.tag for child in sender] == ["executionStack", "inputbuf"]
    frame = sender.find("executionStack/frame")
    assert list(frame.attrib) == ["procname", "line", "stmtstart", "stmtend", "sqlhandle"]
    assert frame.get("procname") == "Redial.audit.usp_Send"
    assert frame.text.strip().startswith("SEND ON CONVERSATION @handle")
    assert "DELETE FROM [audit].[SessionConversations]" in reader.find("executionStack/frame").text


def test_in_autocommit_an_acknowledged_message_is_lost_after_end_of_stream():
    name = "acknowledged message lost"
    result = search(AUTOCOMMIT, Limits(until=name))
    print(result)
    lines = replay(AUTOCOMMIT, shortest(AUTOCOMMIT, result.violations[name]))
    print("\n".join(lines))
    text = "\n".join(lines)
    closing = text.index("MESSAGE TYPE [EndOfStream]")
    lost = text.rindex("MESSAGE TYPE @messageType (@messageBody)")
    assert closing < lost
