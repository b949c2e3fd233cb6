"""A snapshot: the instance comes back to the moment it was taken, whatever has happened since."""

from __future__ import annotations

import pytest

from redial_broker.engine.clock import VirtualClock
from redial_broker.instance.instance import Instance

from .graph import digests, picture

PREPARED = (
    "CREATE DATABASE prepared;",
    "USE prepared;",
    """CREATE TABLE dbo.shelf (id int IDENTITY PRIMARY KEY, jars int NOT NULL, stamp rowversion);
INSERT dbo.shelf (jars) VALUES (10), (20), (30);
CREATE SEQUENCE dbo.numbers AS int START WITH 1;""",
    """CREATE MESSAGE TYPE [m] VALIDATION = NONE;
CREATE CONTRACT [c] ([m] SENT BY ANY);
CREATE QUEUE dbo.q;
CREATE QUEUE dbo.t;
CREATE SERVICE [from] ON QUEUE dbo.q ([c]);
CREATE SERVICE [to] ON QUEUE dbo.t ([c]);
CREATE TABLE dbo.open_dialogs (handle uniqueidentifier PRIMARY KEY);""",
    "CREATE PROCEDURE dbo.usp_count AS SELECT COUNT(*) FROM dbo.shelf;",
    """DECLARE @h uniqueidentifier;
BEGIN DIALOG CONVERSATION @h FROM SERVICE [from] TO SERVICE 'to' ON CONTRACT [c]
    WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h MESSAGE TYPE [m] (0x01);
INSERT dbo.open_dialogs VALUES (@h);""",
    "CREATE TABLE #kept (a int); INSERT #kept VALUES (1);",
    "DECLARE opened CURSOR GLOBAL FOR SELECT id FROM dbo.shelf; OPEN opened; FETCH opened;",
)

HAPPENINGS = {
    "rows": "INSERT dbo.shelf (jars) VALUES (1); UPDATE dbo.shelf SET jars += 1; DELETE TOP (1) "
    "FROM dbo.shelf;",
    "sequence": "SELECT NEXT VALUE FOR dbo.numbers;",
    "an open transaction": "BEGIN TRANSACTION; DELETE dbo.shelf;",
    "options": "SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET NOCOUNT ON;",
    "temporary tables": "CREATE TABLE #t (a int); INSERT #t VALUES (1);",
    "a table": "CREATE TABLE dbo.other (a int PRIMARY KEY, b varchar(9) INDEX ix);",
    "a table less": "DROP TABLE dbo.shelf;",
    "a column": "ALTER TABLE dbo.shelf ADD extra int NOT NULL DEFAULT 7;",
    "an index": "CREATE INDEX ix ON dbo.shelf (jars);",
    "a procedure": "EXEC (N'CREATE OR ALTER PROCEDURE dbo.usp_count AS SELECT 1;');",
    "a schema and a type": "EXEC (N'CREATE SCHEMA s'); CREATE TYPE dbo.ty FROM int;",
    "a database": "CREATE DATABASE another; ALTER DATABASE another SET TRUSTWORTHY ON;",
    "a database less": "USE master; DROP DATABASE prepared;",
    "options of the database": "ALTER DATABASE prepared SET READ_COMMITTED_SNAPSHOT ON WITH "
    "ROLLBACK IMMEDIATE;",
    "logins and users": "CREATE LOGIN mia WITH PASSWORD = 'Str0ng-Enough!'; CREATE USER mia; "
    "CREATE ROLE r; ALTER ROLE r ADD MEMBER mia; GRANT SELECT TO r;",
    "impersonation": "CREATE USER leo WITHOUT LOGIN; EXECUTE AS USER = 'leo';",
    "a dialog": """DECLARE @h uniqueidentifier;
BEGIN DIALOG CONVERSATION @h FROM SERVICE [from] TO SERVICE 'to' ON CONTRACT [c]
    WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h MESSAGE TYPE [m] (0x02);
BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5;""",
    "messages received": "RECEIVE * FROM dbo.t;",
    "a conversation ended": "DECLARE @h uniqueidentifier = (SELECT handle FROM dbo.open_dialogs); "
    "END CONVERSATION @h;",
    "a conversation closed": """DECLARE @h uniqueidentifier =
    (SELECT handle FROM dbo.open_dialogs);
END CONVERSATION @h;
DECLARE @t uniqueidentifier = (SELECT TOP (1) conversation_handle FROM dbo.t);
RECEIVE * FROM dbo.t; END CONVERSATION @t;""",
    "queues": "ALTER QUEUE dbo.t WITH STATUS = OFF; DROP SERVICE [from]; CREATE QUEUE dbo.x;",
    "another broker": "ALTER DATABASE prepared SET NEW_BROKER WITH ROLLBACK IMMEDIATE;",
    "application locks": "EXEC sp_getapplock 'a', 'Exclusive', 'Session';",
    "an error": "SELECT 1/0;",
    "the log": "RAISERROR ('written down', 16, 1) WITH LOG;",
    "a cursor": "DECLARE c CURSOR GLOBAL FOR SELECT id FROM dbo.shelf; OPEN c; FETCH c;",
    "a cursor opened before": "FETCH opened; FETCH opened;",
    "a cursor closed": "CLOSE opened; DEALLOCATE opened;",
    "a temporary table filled before": "INSERT #kept VALUES (2); UPDATE #kept SET a += 1;",
    "a temporary table less": "DROP TABLE #kept;",
    "context": "SET CONTEXT_INFO 0x01; EXEC sp_set_session_context 'k', 1;",
}


@pytest.fixture(scope="module")
def prepared():
    """An instance, a session in the prepared database, and a session held elsewhere."""
    instance = Instance(clock=VirtualClock())
    session = instance.connect()
    for text in PREPARED:
        session.execute(text).ok()
    return instance, session


@pytest.mark.parametrize("name", HAPPENINGS)
def test_what_happened_in_between_is_gone_to_the_last_field(prepared, name):
    instance, session = prepared
    snapshot = instance.snapshot()
    before = picture(instance)
    session.execute(HAPPENINGS[name])
    assert picture(instance) != before, "nothing has happened"
    snapshot.restore()
    after = picture(instance)
    snapshot.release()
    differing = {
        path: (before.get(path), after.get(path))
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }
    assert differing == {}


def test_it_can_be_restored_again_and_again(prepared):
    instance, session = prepared
    with instance.snapshot() as snapshot:
        before = digests(instance)
        for number in range(5):
            session.execute(f"INSERT dbo.shelf (jars) VALUES ({number});").ok()
            snapshot.restore()
            assert digests(instance) == before


def test_after_a_restore_the_same_statements_give_the_same_ids(prepared):
    instance, session = prepared
    with instance.snapshot() as snapshot:
        first = session.execute(HAPPENINGS["a dialog"] + "SELECT @h, NEWID();").rows()
        snapshot.restore()
        assert session.execute(HAPPENINGS["a dialog"] + "SELECT @h, NEWID();").rows() == first


def test_virtual_time_comes_back_and_timers_ring_again(prepared):
    instance, session = prepared
    session.execute(
        "DECLARE @h uniqueidentifier = (SELECT handle FROM dbo.open_dialogs); "
        "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 60;"
    ).ok()
    rung = "SELECT COUNT(*) FROM dbo.q WITH (NOLOCK);"
    with instance.snapshot() as snapshot:
        start = instance.clock.now()
        for _ in range(2):
            instance.advance(59)
            assert session.execute(rung).rows() == [(0,)]
            instance.advance(1)
            assert session.execute(rung).rows() == [(1,)]
            snapshot.restore()
            assert instance.clock.now() == start
    instance.advance(60)
    assert session.execute(rung).rows() == [(1,)], "after the release timers ring as well"


def test_a_session_opened_since_is_ended_and_its_locks_go(prepared):
    instance, session = prepared
    with instance.snapshot() as snapshot:
        other = instance.connect("prepared")
        other.execute("BEGIN TRANSACTION; UPDATE dbo.shelf SET jars = 0;").ok()
        snapshot.restore()
        assert other.id not in instance.sessions
        session.execute("SET LOCK_TIMEOUT 0; SELECT COUNT(*) FROM dbo.shelf;").ok()


def test_a_session_closed_since_stays_closed(prepared):
    instance, _ = prepared
    other = instance.connect("prepared")
    with instance.snapshot() as snapshot:
        other.close()
        for _ in range(2):
            snapshot.restore()
            assert other.id not in instance.sessions


def test_a_waiting_statement_waits_again(prepared):
    """T1 holds, T2 blocks; T1 commits, T2 goes on; restored, T2 blocks as before."""
    instance, _ = prepared
    one, two = instance.connect("prepared"), instance.connect("prepared")
    one.execute("BEGIN TRANSACTION; UPDATE dbo.shelf SET jars = 1 WHERE id = 1;").ok()
    two.execute("UPDATE dbo.shelf SET jars += 1 WHERE id = 1;")
    with instance.snapshot() as snapshot:
        for _ in range(2):
            assert two.wait is not None
            one.execute("COMMIT;").ok()
            assert two.wait is None
            snapshot.restore()
    one.close()
    two.close()


def test_snapshots_nest_and_an_earlier_one_takes_the_later_with_it(prepared):
    instance, session = prepared
    count = "SELECT COUNT(*) FROM dbo.shelf;"
    started = session.execute(count).rows()[0][0]
    outer = instance.snapshot()
    session.execute("INSERT dbo.shelf (jars) VALUES (1);").ok()
    inner = instance.snapshot()
    session.execute("INSERT dbo.shelf (jars) VALUES (1);").ok()
    inner.restore()
    assert session.execute(count).rows() == [(started + 1,)]
    outer.restore()
    assert session.execute(count).rows() == [(started,)]
    with pytest.raises(RuntimeError, match="an earlier snapshot was restored"):
        inner.restore()
    outer.release()
    with pytest.raises(RuntimeError, match="was released"):
        outer.restore()


def test_nothing_is_remembered_once_the_last_snapshot_is_given_back(prepared):
    instance, session = prepared
    snapshot = instance.snapshot()
    session.execute("INSERT dbo.shelf (jars) VALUES (1);").ok()
    snapshot.release()
    session.execute("DELETE dbo.shelf WHERE jars = 1;").ok()
    assert instance.engine.journal.log == []
