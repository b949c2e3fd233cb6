"""Installing twice is harmless; uninstalling keeps the data unless told otherwise."""

from __future__ import annotations

import pytest

from .lab import RECYCLE_AFTER, Lab


def comparable(lab: Lab) -> dict[str, list[tuple]]:
    """The catalog without dates: CREATE OR ALTER moves modify_date and nothing else."""
    return {
        view: [tuple(v for v in row if not hasattr(v, "isoformat")) for row in rows]
        for view, rows in lab.catalog().items()
    }


def test_a_second_deployment_leaves_the_catalog_identical(lab):
    before = comparable(lab)
    lab.deploy()
    after = comparable(lab)
    assert {view for view in before if before[view] != after[view]} == set()


def test_a_second_deployment_touches_no_open_dialog_and_no_data(lab):
    lab.send(b"before")
    endpoints, log = lab.endpoints(), lab.table("ConversationLog")
    lab.deploy()
    assert (lab.endpoints(), lab.table("ConversationLog")) == (endpoints, log)
    lab.send(b"after")
    assert (lab.landed(), len(lab.table("ConversationLog"))) == ([b"before", b"after"], 1)
    assert len(lab.table("DeploymentHistory")) == 1


def test_a_deployment_while_messages_pend_loses_none(lab):
    lab.target_queue("OFF")
    lab.send(b"x")
    lab.deploy()
    assert lab.unaccounted([b"x"]) == {}
    lab.target_queue("ON")
    assert lab.landed() == [b"x"]


def test_uninstall_drains_the_dialogs_and_keeps_every_table(lab):
    for body in (b"1", b"2"):
        lab.send(body)
    lab.uninstall()
    assert lab.landed() == [b"1", b"2"]
    assert len(lab.table("ConversationLog")) == 1
    tables = {
        row[0]
        for row in lab.rows("SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID(N'audit');")
    }
    left = {
        row[0]
        for row in lab.rows(
            "SELECT name FROM sys.objects WHERE schema_id = SCHEMA_ID(N'audit') AND type IN "
            "('U', 'P', 'SQ');"
        )
    }
    assert left == tables
    assert {"ConversationLog", "DeadLetter", "Landing", "SessionConversations"} <= tables
    lab.at_rest()


def test_data_kept_by_uninstall_is_there_after_the_next_deployment(lab):
    lab.send(b"old")
    lab.uninstall()
    lab.deploy()
    lab.send(b"new")
    assert lab.landed() == [b"old", b"new"]
    lab.advance(RECYCLE_AFTER)
    assert set(lab.endpoints()) == {("target", "CLOSED")}


def test_purge_removes_all_there_was(lab):
    lab.send(b"x")
    lab.uninstall(purge=True)
    assert lab.rows("SELECT name FROM sys.schemas WHERE name = N'audit';") == []
    assert lab.rows("SELECT name FROM sys.database_principals WHERE name LIKE N'audit%';") == []
    assert lab.rows("SELECT name FROM sys.services WHERE name LIKE N'%redial%';") == []
    assert lab.rows("SELECT name FROM sys.objects WHERE type IN ('U', 'P');") == []


def test_uninstall_does_not_drop_what_it_cannot_drain(lab):
    """The target is off, so the dialog cannot end: 50140, and the messages are still pending."""
    lab.send(b"1")
    lab.target_queue("OFF")
    lab.send(b"2")
    with pytest.raises(AssertionError, match=r"Msg 50140.*2 conversation endpoints are open"):
        lab.uninstall()
    assert lab.unaccounted([b"1", b"2"]) == {}
    lab.target_queue("ON")
    lab.uninstall()
    assert lab.landed() == [b"1", b"2"]


def test_uninstall_leaves_another_configurations_objects_alone(lab):
    lab.run("CREATE TABLE audit.Other (id int); CREATE MESSAGE TYPE [//other];")
    lab.run("CREATE CONTRACT [//other] ([//redial/audit/event] SENT BY INITIATOR);")
    lab.uninstall(purge=True)
    assert lab.rows("SELECT COUNT(*) FROM audit.Other;") == [(0,)]
    assert lab.rows(
        "SELECT name FROM sys.service_message_types WHERE name LIKE N'//%' ORDER BY name;"
    ) == [("//other",), ("//redial/audit/event",)]
