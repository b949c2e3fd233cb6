"""END CONVERSATION that waits for an open SEND (switch end_over_open_send), as for any lock."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector

from .conftest import numbers

SETUP = (
    "CREATE QUEUE dbo.qa; CREATE QUEUE dbo.qb; CREATE TABLE dbo.t (id int PRIMARY KEY);",
    "CREATE SERVICE a ON QUEUE dbo.qa ([DEFAULT]); CREATE SERVICE b ON QUEUE dbo.qb ([DEFAULT]);",
    "CREATE TABLE dbo.d (i uniqueidentifier, t uniqueidentifier); INSERT dbo.t VALUES (1);",
    "DECLARE @i uniqueidentifier, @t uniqueidentifier; BEGIN DIALOG @i FROM SERVICE a TO SERVICE "
    "N'b' WITH ENCRYPTION = OFF; SEND ON CONVERSATION @i (0x00); RECEIVE TOP (1) "
    "@t = conversation_handle FROM dbo.qb; INSERT dbo.d VALUES (@i, @t);",
)
SEND = "DECLARE @h uniqueidentifier = (SELECT i FROM dbo.d); SEND ON CONVERSATION @h (0x01);"
END = "DECLARE @h uniqueidentifier = (SELECT t FROM dbo.d); END CONVERSATION @h;"


@pytest.fixture
def instance() -> Instance:
    made = Instance(seed=7, switches={"end_over_open_send": "waits"})
    made.connect().execute("CREATE DATABASE db;").ok()
    session = made.connect("db")
    for text in SETUP:
        session.execute(text).ok()
    session.execute("BEGIN TRANSACTION;" + SEND).ok()
    return made


@pytest.fixture
def sender(instance):
    return max(instance.sessions.values(), key=lambda session: session.id)


def submitted(session, text: str) -> Collector:
    out = session.sink = Collector()
    session.submit(Batch(text))
    session.instance.run()
    return out


def test_it_is_seen_where_waits_are_seen(instance, sender):
    ender = instance.connect("db")
    submitted(ender, END)
    [row] = (
        instance.connect("db")
        .execute(
            "SELECT r.blocking_session_id, r.wait_type FROM sys.dm_exec_requests AS r "
            f"WHERE r.session_id = {ender.id};"
        )
        .result_sets[0]
        .rows
    )
    assert row == (sender.id, "LCK_M_S")


def test_lock_timeout_ends_it_with_1222(instance, sender):
    ender = instance.connect("db")
    out = submitted(ender, "SET LOCK_TIMEOUT 500;" + END)
    instance.advance(0.4)
    assert not out.finished
    instance.advance(0.2)
    assert numbers(out) == [1222]


def test_kill_of_the_sender_lets_it_go_on(instance, sender):
    out = submitted(instance.connect("db"), END)
    instance.connect("db").execute(f"KILL {sender.id};").ok()
    instance.run()
    assert out.finished and not out.errors


def test_kill_of_who_ends_leaves_the_dialog_as_it_was(instance, sender):
    ender = instance.connect("db")
    out = submitted(ender, END)
    instance.connect("db").execute(f"KILL {ender.id};").ok()
    assert numbers(out) == [596]
    sender.execute("COMMIT;").ok()
    rows = sender.execute("RECEIVE message_body FROM dbo.qb;").result_sets[0].rows
    assert rows == [(b"\x01",)]
    assert instance.engine.locks.resources == {}


def test_a_cycle_with_a_table_has_a_victim(instance, sender):
    """1. S has sent. 2. E changes a row, and its END waits for S. 3. S wants the row: E, whose
    priority is low, is 1205 and rolled back, and S goes on.
    """
    ender = instance.connect("db")
    ender.execute("SET DEADLOCK_PRIORITY LOW; BEGIN TRANSACTION; UPDATE dbo.t SET id = 2;").ok()
    ending = submitted(ender, END)
    changing = submitted(sender, "UPDATE dbo.t SET id = 3;")
    assert (numbers(ending), numbers(changing)) == ([1205], [])
    assert changing.finished
