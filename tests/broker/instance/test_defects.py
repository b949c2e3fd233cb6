"""An exception nobody foresaw ends the session it came out of, and never a neighbour.

``OBJECT_ID`` is broken on purpose: whoever calls it with N'trap' meets a ZeroDivisionError.
"""

from __future__ import annotations

import pytest

from redial_broker.exec.objects import CATALOG_FUNCTIONS
from redial_broker.instance.defects import INTERNAL_ERROR
from redial_broker.instance.requests import Batch, TransactionRequest
from redial_broker.instance.results import Collector
from redial_broker.ssb import ends, timers
from redial_broker.ssb.queue import POISON_LIMIT
from redial_lab.virtual import VirtualPort

from .conftest import numbers

pytestmark = pytest.mark.breaks_the_broker

TRAP = "SELECT OBJECT_ID(N'trap');"
SERVICES = (
    "CREATE TABLE dbo.t (id int PRIMARY KEY, n int); INSERT dbo.t VALUES (1, 0), (2, 0);",
    "CREATE QUEUE dbo.qa; CREATE QUEUE dbo.qb;",
    "CREATE SERVICE a ON QUEUE dbo.qa; CREATE SERVICE b ON QUEUE dbo.qb ([DEFAULT]);",
)
DIALOG = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE N'b' "
    "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
)


@pytest.fixture(autouse=True)
def trap(monkeypatch):
    real = CATALOG_FUNCTIONS["OBJECT_ID"]
    monkeypatch.setitem(
        CATALOG_FUNCTIONS,
        "OBJECT_ID",
        lambda s, args: 1 // 0 if args[0] == "trap" else real(s, args),
    )


@pytest.fixture
def db(connect):
    session = connect()
    for text in SERVICES:
        session.execute(text).ok()
    return session


def submitted(session, text: str) -> Collector:
    out = session.sink = Collector()
    session.submit(Batch(text))
    return out


def found(instance) -> list[str]:
    return [text for _, text in instance.defects.found]


def test_the_session_ends_with_60999_and_its_work_is_undone(instance, db, connect):
    t1 = connect()
    out = t1.execute("BEGIN TRANSACTION; UPDATE dbo.t SET n = 1 WHERE id = 1; " + TRAP)
    assert [(m.number, m.severity) for m in out.errors] == [(INTERNAL_ERROR, 20)]
    assert "ZeroDivisionError" in out.errors[0].text
    assert t1.id not in instance.sessions
    assert db.execute("SELECT n FROM dbo.t;").result_sets[0].rows == [(0,), (0,)]
    assert found(instance) == ["ZeroDivisionError: integer division or modulo by zero"]


def test_no_try_block_catches_it(db, connect):
    out = connect().execute("BEGIN TRY " + TRAP + " END TRY BEGIN CATCH SELECT 1; END CATCH;")
    assert numbers(out) == [INTERNAL_ERROR]


def test_a_neighbour_that_waits_for_it_goes_on_and_one_at_work_keeps_its_transaction(
    instance, db, connect
):
    """1. T1 locks a row, T2 another, T3 waits for T1's. 2. T1 breaks. 3. T3 has the row, T2 its own
    still.
    """
    t1, t2, t3 = connect(), connect(), connect()
    t1.execute("BEGIN TRANSACTION; UPDATE dbo.t SET n = 1 WHERE id = 1;").ok()
    t2.execute("BEGIN TRANSACTION; UPDATE dbo.t SET n = 2 WHERE id = 2;").ok()
    waiting = submitted(t3, "UPDATE dbo.t SET n = n + 10 WHERE id = 1;")
    instance.run()
    assert not waiting.finished
    assert numbers(t1.execute(TRAP)) == [INTERNAL_ERROR]
    assert waiting.finished and not waiting.errors
    t2.execute("COMMIT;").ok()
    assert db.execute("SELECT n FROM dbo.t;").result_sets[0].rows == [(10,), (2,)]


def test_all_that_were_ready_run_on(instance, db, connect):
    """T1, T2 and T3 are ready when T2 breaks: T1 and T3 get their answers from the same pump."""
    outs = [submitted(connect(), text) for text in ("SELECT 1;", TRAP, "SELECT 3;")]
    assert not instance.pump()
    assert [numbers(out) for out in outs] == [[], [INTERNAL_ERROR], []]


def test_a_request_that_breaks_before_it_starts_ends_its_session(instance, connect, monkeypatch):
    session = connect()
    monkeypatch.setattr(type(session), "_start", lambda self, text: 1 // 0)
    assert numbers(session.execute("SELECT 1;")) == [INTERNAL_ERROR]
    assert session.id not in instance.sessions


@pytest.mark.parametrize("how", ["batch", "wire"])
def test_a_commit_that_breaks_while_it_delivers_lets_go_of_its_locks(
    instance, db, connect, monkeypatch, how
):
    """1. T1 sends and updates. 2. What follows its COMMIT breaks. 3. T2, which waited, goes on."""
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRANSACTION; UPDATE dbo.t SET n = 1 WHERE id = 1; " + DIALOG).ok()
    waiting = submitted(t2, "UPDATE dbo.t SET n = n + 10 WHERE id = 1;")
    instance.run()
    assert not waiting.finished
    queue = t1.database.resolve("dbo", "qb")
    monkeypatch.setattr(type(queue), "poke", lambda self: 1 // 0)
    out = t1.sink = Collector()
    t1.submit(Batch("COMMIT;") if how == "batch" else TransactionRequest("commit"))
    instance.run()
    monkeypatch.undo()
    assert numbers(out) == [INTERNAL_ERROR]
    assert waiting.finished and not waiting.errors
    assert instance.engine.locks.resources == {}
    # It had committed before: who loses the connection in COMMIT cannot know, here as anywhere.
    assert db.execute("SELECT n FROM dbo.t WHERE id = 1;").result_sets[0].rows == [(11,)]


def test_what_follows_a_commit_for_the_others_happens_though_one_breaks(
    instance, db, connect, monkeypatch
):
    """T1 sends on two dialogs; the delivery of the first breaks: the second message can be read."""
    enqueued, broken = ends._COMMITTED["ssb.enqueued"], []

    def once(transaction, event, queues):
        if not broken:
            broken.append(event)
            raise ZeroDivisionError
        return enqueued(transaction, event, queues)

    monkeypatch.setitem(ends._COMMITTED, "ssb.enqueued", once)
    out = connect().execute(
        "BEGIN TRANSACTION; " + DIALOG + DIALOG.replace("@h", "@i") + " COMMIT;"
    )
    assert numbers(out) == [INTERNAL_ERROR]
    rows = db.execute("RECEIVE message_body FROM dbo.qb;").result_sets[0].rows
    assert rows == [(b"\x01",)]


def test_a_rollback_that_breaks_too_leaves_no_lock(instance, db, connect, monkeypatch):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRANSACTION; UPDATE dbo.t SET n = 1 WHERE id = 1;").ok()
    waiting = submitted(t2, "UPDATE dbo.t SET n = 5 WHERE id = 1;")
    monkeypatch.setattr(type(t1), "_stop", lambda self: 1 // 0)
    t1.execute(TRAP)
    monkeypatch.undo()
    assert t1.id not in instance.sessions
    instance.run()
    assert waiting.finished and not waiting.errors
    assert [where.split(",")[1:] for where, _ in instance.defects.found] == [
        [],
        [" while it was ended"],
        [" while it left"],
    ]


# ---------------------------------------------------------------------- nobody's session
def test_an_activated_reader_that_breaks_gives_its_message_back(instance, db):
    """It counts as a rollback, as any reader's end does: the fifth switches the queue off."""
    for text in (
        # A sixth reader is started before the queue is off, and ends with 9617.
        "CREATE PROCEDURE dbo.reader AS BEGIN SET XACT_ABORT ON; BEGIN TRANSACTION; "
        "RECEIVE TOP (1) * FROM dbo.qb; " + TRAP + " COMMIT; END;",
        "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);",
    ):
        db.execute(text).ok()
    db.execute(DIALOG).ok()
    instance.advance(60)
    assert len(found(instance)) == POISON_LIMIT
    assert not [s for s in instance.sessions.values() if s.background]
    told = [text for _, _, text in instance.error_log.lines if "ZeroDivisionError" in text]
    assert len(told) == POISON_LIMIT and "reader" in told[0]
    rows = db.execute(
        "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'qb';"
        "SELECT message_body FROM dbo.qb;"
    ).result_sets
    assert [r.rows for r in rows] == [[(False,)], [(b"\x01",)]]
    assert instance.engine.locks.resources == {}


def test_an_activation_that_breaks_is_not_the_sender_s_doing(instance, db, monkeypatch):
    for text in (
        "CREATE PROCEDURE dbo.reader AS RECEIVE TOP (1) * FROM dbo.qb;",
        "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);",
    ):
        db.execute(text).ok()
    monkeypatch.setattr(type(instance.activation), "_principal", lambda self, d, q: 1 // 0)
    db.execute(DIALOG).ok()
    assert len(found(instance)) == 1
    monkeypatch.undo()
    instance.advance(5)  # the monitor tries again
    assert db.execute("SELECT message_body FROM dbo.qb;").result_sets[0].rows == []


def test_a_timer_that_breaks_is_nobody_s_doing_and_the_others_ring(instance, db, monkeypatch):
    timer = "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5;"
    db.execute(DIALOG + timer).ok()
    db.execute(DIALOG + timer).ok()
    real, broken = timers._ring, []

    def once(endpoint):
        if not broken:
            broken.append(endpoint)
            raise ZeroDivisionError
        real(endpoint)

    monkeypatch.setattr(timers, "_ring", once)
    instance.advance(5)
    assert len(found(instance)) == 1
    assert len(db.execute("SELECT 1 FROM dbo.qa;").result_sets[0].rows) == 1


def test_a_defect_is_rewound_with_everything_else(instance, db, connect):
    with instance.snapshot() as snapshot:
        connect().execute(TRAP)
        assert found(instance)
        snapshot.restore()
        assert not found(instance)


def test_no_story_is_told_on_a_broker_that_broke_in_a_reader_nobody_asks():
    """Scenarios see sessions only; a reader's defect must not pass unseen."""
    port = VirtualPort()
    client = port.client()
    for text in SERVICES[1:]:
        client.starts(text)
        port.settle([client], 1)
    client.starts(
        "CREATE PROCEDURE dbo.reader AS BEGIN BEGIN TRANSACTION; "
        "RECEIVE TOP (1) * FROM dbo.qb; " + TRAP + " COMMIT; END;"
    )
    port.settle([client], 1)
    client.starts(
        "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);" + DIALOG
    )
    with pytest.raises(RuntimeError, match=r"activated/scenario/qb.*ZeroDivisionError"):
        port.settle([client], 1)
        port.wait(5)
