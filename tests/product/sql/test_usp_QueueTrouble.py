"""Who is told when the server switches a queue off: an event notification, and ErrorLog.

A full disk lets the reader roll back five times within a second, and the queue is off: the server says so
in its log only. Here a reader that always rolls back stands in for it.
"""

from __future__ import annotations

import pytest

from redial.config import Config

from . import catalog
from .bare import Bare, another, fresh_catalog, installation, second
from .lab import AUDIT, Client, Lab, send
from .test_ownership import HOSTILE
from .two import CONFIG, DEPOT, SHOP, Two

TOLD = {"notify_queue_off": True}
ON = another(AUDIT, operations=TOLD)
FAILS = (
    "CREATE OR ALTER PROCEDURE audit.usp_TargetActivation WITH EXECUTE AS N'audit_module' AS "
    "BEGIN BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue; "
    "ROLLBACK TRANSACTION; END;"
)
SAID = "SELECT ErrorMessage FROM audit.ErrorLog WHERE ProcedureName = N'usp_QueueTrouble';"

ENDED = (
    "DECLARE @h uniqueidentifier = (SELECT MAX(ce.conversation_handle) FROM "
    "sys.conversation_endpoints AS ce WHERE ce.is_initiator = 1 AND ce.far_service = "
    "N'redial/audit/trouble'); END CONVERSATION @h WITH CLEANUP;"
)
"""By hand: the notification is in the catalog as before, and tells nobody."""


def switched_off(config: Config = ON) -> Lab:
    lab = Lab(config)
    lab.sa.execute(FAILS)
    Client(lab).execute(send("0x01"))
    lab.advance(60)
    return lab


def test_a_queue_that_five_rollbacks_switch_off_is_written_down():
    lab = switched_off()
    ((text,),) = lab.rows(SAID)
    assert "Off now: [audit].[TargetQueue]" in text and "usp_StartQueue" in text
    assert "BROKER_QUEUE_DISABLED" in text
    report = {row[1]: row for row in lab.rows("EXECUTE audit.usp_Health;")}
    assert report["queue off"][0] == 1
    assert report["errors in the last hour"][2] == "usp_QueueTrouble"
    assert "nobody is told when it goes off" not in report


def test_it_is_told_again_the_next_time():
    lab = switched_off()
    lab.sa.execute("EXECUTE audit.usp_StartQueue @reason = N'x', @WhatIf = 0;")
    lab.advance(60)
    assert len(lab.rows(SAID)) == 2


def test_a_notification_that_is_gone_or_a_reader_that_is_off_is_named():
    for harm, id in (
        (
            "DROP EVENT NOTIFICATION redial_audit_trouble ON QUEUE audit.TargetQueue;",
            "alarm-missing",
        ),
        ("ALTER QUEUE audit.TroubleQueue WITH ACTIVATION (STATUS = OFF);", "alarm-unread"),
        (ENDED, "alarm-without-conversation"),
    ):
        lab = Lab(ON)
        lab.sa.execute(harm)
        found = [row for row in lab.rows("EXECUTE audit.usp_Health;") if row[0] == 50]
        assert {row[7] for row in found} == {id}
        bare = Bare.deployed(ON)
        bare.run([harm])
        bare.deploy(ON)
        assert {row[0] for row in bare.rows("EXECUTE audit.usp_Health;")} == {200}


def test_a_dialog_that_is_ended_by_the_other_side_is_ended_here():
    lab = switched_off()
    of_trouble = (
        "SELECT COUNT(*) FROM sys.conversation_endpoints AS ce INNER JOIN sys.services AS s "
        "ON s.service_id = ce.service_id WHERE s.name = N'redial/audit/trouble' AND ce.state <> 'CD';"
    )
    assert lab.rows(of_trouble) == [(1,)]
    lab.sa.execute("DROP EVENT NOTIFICATION redial_audit_trouble ON QUEUE audit.TargetQueue;")
    lab.advance(5)
    assert lab.rows(of_trouble) == [(0,)]
    assert len(lab.rows(SAID)) == 1


@pytest.mark.parametrize(
    "config", [ON, another(HOSTILE, operations=TOLD)], ids=["audit", "hostile"]
)
def test_uninstall_and_purge_leave_nothing_of_it(config):
    bare = Bare()
    before = bare.catalog()
    bare.deploy(config)
    assert bare.rows("SELECT COUNT(*) FROM sys.event_notifications;") == [(2,)]
    bare.deploy(config)
    assert bare.rows("SELECT COUNT(*) FROM sys.event_notifications;") == [(2,)]
    bare.remove(config)
    assert catalog.difference(before, bare.catalog()) == []
    assert bare.rows("SELECT COUNT(*) FROM sys.event_notifications;") == [(0,)]


def test_the_choice_taken_back_leaves_the_catalog_of_a_fresh_installation():
    bare = Bare.deployed(ON)
    bare.deploy(AUDIT)
    assert catalog.difference(fresh_catalog(AUDIT), bare.catalog()) == []
    assert bare.rows("SELECT COUNT(*) FROM sys.event_notifications;") == [(0,)]


def test_two_configurations_are_told_of_their_own_queues_only():
    bare = Bare()
    other = second(operations=TOLD)
    bare.deploy(ON)
    bare.deploy(other)
    bare.sa.execute(FAILS)
    Client(bare).execute(send("0x01"))
    bare.advance(60)
    assert len(bare.rows(SAID)) == 1
    assert bare.rows("SELECT COUNT(*) FROM second.ErrorLog;") == [(0,)]
    bare.remove(other)
    assert bare.rows("SELECT COUNT(*) FROM sys.event_notifications;") == [(2,)]


def test_in_two_databases_each_is_told_of_its_own_queue():
    two = Two(another(CONFIG, operations=TOLD))
    for database in (SHOP, DEPOT):
        assert two.run("SELECT COUNT(*) FROM sys.event_notifications;", database) == [(1,)]
    two.depot(FAILS)
    two.send("0x01")
    two.instance.advance(60)
    assert len(two.depot(SAID)) == 1 and two.run(SAID) == []


def test_somebody_elses_object_of_that_name_is_refused():
    bare = Bare()
    bare.run(["CREATE SCHEMA audit;", "CREATE TABLE audit.TroubleQueue (Id int);"])
    assert bare.stops(installation(ON)) == 50208
