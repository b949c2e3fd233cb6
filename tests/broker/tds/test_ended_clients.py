"""A client that ends in any state, in any way: nothing of it stays, the others go on.

Numbered as interleavings are: the victim (T1) reaches its state, another client (T2) holds what T1
waits for or waits for what T1 holds, T1 ends, T2 is served.
"""

from __future__ import annotations

import pytest

from redial_broker.engine.clock import VirtualClock
from redial_broker.instance.instance import PASSWORD, Instance
from redial_broker.tds import constants as c

from .client import HEADERS, Wire, batch, login, message, parse, prelogin

PREPARED = (
    "CREATE DATABASE shop; ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON;",
    "USE shop; CREATE TABLE dbo.jars (id int PRIMARY KEY, n int); INSERT dbo.jars VALUES (1, 1);",
    """CREATE QUEUE dbo.q; CREATE SERVICE [s] ON QUEUE dbo.q ([DEFAULT]);
CREATE USER leo WITHOUT LOGIN; GRANT SELECT ON dbo.jars TO leo;
CREATE TABLE dbo.handles (h uniqueidentifier);""",
    """DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE [s] TO SERVICE 's' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01); INSERT dbo.handles VALUES (@h);""",
)
HOLD = "BEGIN TRANSACTION; UPDATE dbo.jars SET n += 1;"
SEND = """DECLARE @h uniqueidentifier = (SELECT h FROM dbo.handles);
SEND ON CONVERSATION @h (0x02);"""
LONG = batch("SELECT '" + "x" * 9000 + "';")

STATES: dict[str, tuple[bytes, ...]] = {
    "idle": (),
    "in a transaction": (batch(HOLD),),
    "in a snapshot transaction": (batch("SET TRANSACTION ISOLATION LEVEL SNAPSHOT;" + HOLD),),
    "in a serializable transaction": (
        batch(
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; "
            "SELECT * FROM dbo.jars;"
        ),
    ),
    "in a doomed transaction": (
        batch(
            "SET XACT_ABORT ON; BEGIN TRY " + HOLD + " SELECT 1/0; END TRY BEGIN CATCH "
            "WAITFOR DELAY '01:00'; END CATCH;"
        ),
    ),
    "behind a savepoint": (batch(HOLD + "SAVE TRANSACTION half; DELETE dbo.jars;"),),
    "with an application lock of the session": (
        batch("EXEC sp_getapplock 'a', 'Exclusive', 'Session';"),
    ),
    "waiting in WAITFOR RECEIVE": (
        batch("WHILE 1 = 1 WAITFOR (RECEIVE * FROM dbo.q), TIMEOUT -1;"),
    ),
    "waiting in WAITFOR DELAY": (batch(HOLD + "WAITFOR DELAY '10:00';"),),
    "having received": (batch("BEGIN TRANSACTION; RECEIVE * FROM dbo.q;"),),
    "having sent": (batch("BEGIN TRANSACTION;" + SEND),),
    "having begun a dialog": (
        batch(
            "BEGIN TRANSACTION; DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [s] "
            "TO SERVICE 's' WITH ENCRYPTION = OFF;"
        ),
    ),
    "with a cursor and a temporary table": (
        batch(
            "CREATE TABLE #t (a int); INSERT #t VALUES (1); DECLARE k CURSOR GLOBAL FOR "
            "SELECT a FROM #t; OPEN k; FETCH k;"
        ),
    ),
    "as somebody else": (
        batch(
            "EXECUTE AS USER = 'leo'; BEGIN TRANSACTION; SELECT * FROM dbo.jars WITH (HOLDLOCK);"
        ),
    ),
    "half way through a request": (batch(HOLD), LONG[:4096]),
    "within a packet's header": (batch(HOLD), LONG[:5]),
    "with requests queued behind a waiting one": (
        batch("WAITFOR DELAY '10:00';"),
        batch(HOLD),
        batch("SELECT 1;"),
    ),
    "having withdrawn a request": (
        batch(HOLD),
        message(c.SQL_BATCH, HEADERS + b"", status=c.IGNORE),
    ),
    "asking for nonsense": (batch(HOLD), batch("SELEKT 1;")),
}


@pytest.fixture(scope="module")
def shop():
    instance = Instance(clock=VirtualClock())
    session = instance.connect()
    for text in PREPARED:
        session.execute(text).ok()
    session.close()
    return instance


@pytest.fixture
def instance(shop):
    """The prepared instance; afterwards it is as it was, whatever the test left."""
    with shop.snapshot():
        yield shop


def connect(instance) -> Wire:
    wire = Wire(instance, password=PASSWORD, user="sa", database="shop")
    return wire


def lost(instance, wire) -> None:
    """The socket is gone."""
    wire.connection.lost()


def killed(instance, wire) -> None:
    """Another session says KILL."""
    operator = instance.connect()
    operator.execute(f"KILL {wire.session.id};").ok()
    operator.close()
    wire.connection.lost()


def cancelled_and_lost(instance, wire) -> None:
    """The driver sends an attention, waits for nothing, and closes."""
    wire.send(message(c.ATTENTION, b""))
    wire.connection.lost()


def stopped(instance, wire) -> None:
    """The server stops."""
    wire.connection.shutdown()
    wire.connection.lost()


ENDS = [lost, killed, cancelled_and_lost, stopped]


def nothing_stays(instance) -> None:
    """No session, lock, transaction or wait; the row, the message and the dialog are as before."""
    instance.run()
    assert [number for number in instance.sessions if number > 50] == []
    assert instance.engine.locks.resources == {}
    assert [key for key in instance.engine.timers.entries if key[0] == "wait"] == []
    session = instance.connect("shop")
    assert session.execute("SET LOCK_TIMEOUT 0; SELECT id, n FROM dbo.jars;").rows() == [(1, 1)]
    queue = session.execute("SELECT message_body FROM dbo.q;").ok().rows()
    assert queue in ([(b"\x01",)], []), "received and committed, or still there: never twice"
    assert len(session.execute("SELECT 1 FROM sys.conversation_endpoints;").rows()) == 2
    session.close()


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("state", STATES)
def test_nothing_of_a_client_stays(instance, state, end):
    victim = connect(instance)
    for data in STATES[state]:
        victim.send(data)
    end(instance, victim)
    nothing_stays(instance)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_who_waited_for_it_goes_on(instance, end):
    """1. T1 updates. 2. T2 blocks. 3. T1 ends. 4. T2 unblocks."""
    victim, other = connect(instance), connect(instance)
    victim.send(batch(HOLD))
    assert other.send(batch("UPDATE dbo.jars SET n = 1;")) == []
    end(instance, victim)
    [answer] = other.pump()
    assert [token for token in parse(answer) if hasattr(token, "severity")] == []
    other.connection.lost()
    nothing_stays(instance)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_what_it_waited_for_is_not_taken(instance, end):
    """1. T2 updates. 2. T1 blocks. 3. T1 ends. 4. T2 commits: nothing of T1 happened."""
    other, victim = connect(instance), connect(instance)
    other.send(batch(HOLD))
    assert victim.send(batch("UPDATE dbo.jars SET n = 77;")) == []
    end(instance, victim)
    other.send(batch("ROLLBACK;"))
    other.connection.lost()
    nothing_stays(instance)


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (prelogin()[:3],),
        (prelogin(),),
        (prelogin(), login(user="sa", password=PASSWORD)[:50]),
        (prelogin(), login(user="sa", password="wrong")),
    ],
    ids=["at once", "in PRELOGIN", "behind PRELOGIN", "in LOGIN7", "refused"],
)
def test_nothing_stays_of_one_that_never_logged_in(instance, pieces):
    victim = Wire(instance, logged_in=False)
    for data in pieces:
        victim.send(data)
    victim.connection.lost()
    nothing_stays(instance)


def test_a_stop_tells_a_client_at_work_and_closes_an_idle_one_in_silence(instance):
    idle, busy = connect(instance), connect(instance)
    assert busy.send(batch("WAITFOR DELAY '10:00';")) == []
    for wire in (idle, busy):
        wire.connection.shutdown()
    assert idle.output() == []
    [answer] = busy.output()
    assert [token.number for token in parse(answer) if hasattr(token, "number")] == [6005]
    for wire in (idle, busy):
        assert wire.connection.closing
        wire.connection.lost()
    nothing_stays(instance)
