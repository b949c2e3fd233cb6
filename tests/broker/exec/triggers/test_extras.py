"""COLUMNS_UPDATED, TRIGGER_NESTLEVEL, order, recursion, nesting; DDL triggers (their pages)."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE dbo.t (a int, b int, c int); CREATE TABLE dbo.l (n int IDENTITY, x "
        "varchar(max))"
    )
    return made


def logged(lab):
    return [x for (x,) in lab.rows("SELECT x FROM dbo.l ORDER BY n")]


def test_columns_updated_has_a_bit_per_column(lab):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT, UPDATE, DELETE AS INSERT dbo.l (x) "
        "SELECT CONVERT(varchar(9), COLUMNS_UPDATED(), 1); "
        "IF COLUMNS_UPDATED() & 4 = 4 INSERT dbo.l (x) VALUES ('c')"
    )
    lab.run(
        "INSERT dbo.t (a) VALUES (1); UPDATE dbo.t SET b = 1; UPDATE dbo.t SET a = 2, c = 3; "
        "DELETE dbo.t"
    )
    assert logged(lab) == ["0x07", "c", "0x02", "0x05", "c", "0x"]


def test_nestlevel_can_be_asked_of_one_trigger_and_kind(lab):
    lab.run("CREATE TABLE dbo.u (a int)")
    lab.run(
        "CREATE TRIGGER inner_ ON dbo.u AFTER INSERT AS INSERT dbo.l (x) SELECT CONCAT("
        "TRIGGER_NESTLEVEL(), TRIGGER_NESTLEVEL(OBJECT_ID('dbo.outer_')), "
        "TRIGGER_NESTLEVEL(@@PROCID, 'AFTER', 'DML'), TRIGGER_NESTLEVEL(0, 'IOT', 'DML'), "
        "ISNULL(TRIGGER_NESTLEVEL(NULL), 9))"
    )
    lab.run("CREATE TRIGGER outer_ ON dbo.t AFTER INSERT AS INSERT dbo.u VALUES (1)")
    lab.run("INSERT dbo.t (a) VALUES (1)")
    assert logged(lab) == ["21109"]


def test_the_first_and_the_last_trigger_can_be_chosen(lab):
    for name in "xyz":
        lab.run(
            f"CREATE TRIGGER {name} ON dbo.t AFTER INSERT AS INSERT dbo.l (x) VALUES ('{name}')"
        )
    lab.run(
        "EXEC sp_settriggerorder 'dbo.z', 'First', 'INSERT'; "
        "EXEC sp_settriggerorder @triggername = 'x', @order = 'Last', @stmttype = 'INSERT'"
    )
    lab.run("INSERT dbo.t (a) VALUES (1)")
    assert logged(lab) == ["z", "y", "x"]
    assert lab.error("EXEC sp_settriggerorder 'dbo.y', 'First', 'INSERT'") == 15130
    assert lab.error("EXEC sp_settriggerorder 'dbo.y', 'First', 'DELETE'") == 15125
    assert lab.rows("SELECT is_first, is_last FROM sys.trigger_events ORDER BY object_id") == [
        (0, 1),
        (0, 0),
        (1, 0),
    ]
    lab.run("ALTER TRIGGER z ON dbo.t AFTER INSERT AS INSERT dbo.l (x) VALUES ('z')")
    lab.run("DELETE dbo.l; INSERT dbo.t (a) VALUES (1)")
    assert logged(lab) == ["y", "z", "x"]  # ALTER TRIGGER takes the attribute away


def test_recursive_triggers_run_themselves_again(lab):
    lab.run(
        "CREATE TRIGGER r ON dbo.t AFTER INSERT AS IF (SELECT MAX(a) FROM inserted) < 3 "
        "INSERT dbo.t (a) SELECT a + 1 FROM inserted"
    )
    lab.run("INSERT dbo.t (a) VALUES (1)")
    assert lab.rows("SELECT a FROM dbo.t") == [(1,), (2,)]
    lab.run("ALTER DATABASE lab SET RECURSIVE_TRIGGERS ON; INSERT dbo.t (a) VALUES (1)")
    assert lab.rows("SELECT a FROM dbo.t") == [(1,), (2,), (1,), (2,), (3,)]


def test_nested_triggers_off_lets_no_trigger_fire_another(lab):
    lab.run("CREATE TABLE dbo.u (a int)")
    lab.run("CREATE TRIGGER t1 ON dbo.t AFTER INSERT AS INSERT dbo.u VALUES (1)")
    lab.run("CREATE TRIGGER t2 ON dbo.u AFTER INSERT AS INSERT dbo.l (x) VALUES ('u')")
    assert lab.run("EXEC sp_configure 'nested', 0").messages[0].number == 15457
    lab.run("INSERT dbo.t (a) VALUES (1)")
    assert logged(lab) == ["u"]
    lab.run("RECONFIGURE; INSERT dbo.t (a) VALUES (1); INSERT dbo.u VALUES (1)")
    assert logged(lab) == ["u", "u"]
    assert lab.rows(
        "SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'nested triggers'"
    ) == [(0,)]
    assert lab.error("EXEC sp_configure 'max worker threads', 1") == 15123
    lab.run("EXEC sp_configure 'show advanced options', 1; RECONFIGURE WITH OVERRIDE")
    assert "max worker threads" in lab.refusal("EXEC sp_configure 'max worker threads', 300")
    assert lab.error("EXEC sp_configure 'nested triggers', 2") == 15129
    assert lab.error("BEGIN TRAN; RECONFIGURE") == 574


# ---------------------------------------------------------------------- DDL triggers
DDL = """CREATE TRIGGER d ON DATABASE FOR {events} AS
    DECLARE @e xml = EVENTDATA();
    INSERT dbo.l (x) SELECT CONCAT_WS(' ', @e.value('(/*/EventType)[1]', 'sysname'),
        @e.value('(/*/SchemaName)[1]', 'sysname'), @e.value('(/*/ObjectName)[1]', 'sysname'),
        @e.value('(/*/ObjectType)[1]', 'sysname'))"""


def test_a_ddl_trigger_sees_what_was_defined(lab):
    lab.run(DDL.format(events="DDL_TABLE_EVENTS, CREATE_PROCEDURE, DROP_INDEX"))
    lab.run(
        "CREATE TABLE dbo.n (a int); CREATE TABLE #n (a int); ALTER TABLE n ADD b int; "
        "CREATE INDEX i ON dbo.n (a); DROP INDEX i ON dbo.n; DROP TABLE dbo.n, #n"
    )
    lab.run("CREATE PROCEDURE dbo.p AS SELECT EVENTDATA()")
    assert logged(lab) == [
        "CREATE_TABLE dbo n TABLE",
        "ALTER_TABLE dbo n TABLE",
        "DROP_INDEX dbo i INDEX",
        "DROP_TABLE dbo n TABLE",
        "CREATE_PROCEDURE dbo p PROCEDURE",
    ]
    assert lab.rows("EXEC dbo.p") == [(None,)]


def test_the_command_is_in_the_event(lab):
    lab.run(
        "CREATE TRIGGER d ON DATABASE FOR CREATE_TABLE AS INSERT dbo.l (x) SELECT "
        "EVENTDATA().value('(/*/TSQLCommand/CommandText)[1]', 'nvarchar(max)')"
    )
    lab.run("CREATE TABLE dbo.n (a int CHECK (a < 5))")
    assert logged(lab) == ["CREATE TABLE dbo.n (a int CHECK (a < 5))"]


def test_a_rollback_in_it_takes_the_definition_back(lab):
    lab.run("CREATE TRIGGER d ON DATABASE FOR DROP_TABLE AS PRINT 'kept'; ROLLBACK")
    answer = lab.send("DROP TABLE dbo.t; PRINT 'not reached'")
    assert [m.number for m in answer.errors] == [3609]
    assert [m.text for m in answer.messages if m.severity == 0] == ["kept"]
    assert lab.rows("SELECT * FROM dbo.t") == []


def test_it_can_be_disabled_altered_dropped_and_is_in_the_catalog(lab):
    lab.run(
        "CREATE TRIGGER d ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS "
        "INSERT dbo.l (x) VALUES ('1')"
    )
    assert lab.error("CREATE TRIGGER d ON DATABASE FOR CREATE_TABLE AS PRINT 1") == 2714
    assert lab.error("CREATE TRIGGER e ON DATABASE FOR NO_EVENT AS PRINT 1") == 60001
    assert lab.rows("SELECT name, parent_class_desc FROM sys.triggers") == [("d", "DATABASE")]
    lab.run(
        "DISABLE TRIGGER d ON DATABASE; CREATE TABLE dbo.n1 (a int);"
        "ENABLE TRIGGER ALL ON DATABASE; CREATE TABLE dbo.n2 (a int)"
    )
    assert logged(lab) == ["1"]
    lab.run(
        "BEGIN TRAN; DROP TRIGGER d ON DATABASE; ROLLBACK; DROP TRIGGER d ON DATABASE; "
        "DROP TRIGGER IF EXISTS d ON DATABASE; CREATE TABLE dbo.n3 (a int)"
    )
    assert lab.error("DROP TRIGGER d ON DATABASE") == 3701
