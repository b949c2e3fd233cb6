"""The ODBC checks of ends and transactions: cancel, timeout, commit, KILL, pool, catalog."""

from __future__ import annotations

import pyodbc

from tests.broker.drivers.probe import Refused, after, check, fails, repeatedly
from tests.broker.drivers.probes.odbc_base import (
    FREETDS,
    GIVEN,
    connect,
    opened,
    value,
)
from tests.broker.drivers.proxy import Proxy


@check("cancel")
def cancel(_):
    with opened() as connection:
        cursor = connection.cursor()
        if not FREETDS:  # it answers HY000 where nothing has run yet
            cursor.cancel()
        assert cursor.execute("SELECT 1").fetchval() == 1
        with repeatedly(cursor.cancel):
            said = fails(lambda: cursor.execute("WAITFOR DELAY '00:10:00'"), "HY008")
        assert cursor.execute("SELECT 2").fetchval() == 2
        cursor.execute("SELECT a.id FROM dbo.numbers AS a CROSS JOIN dbo.numbers AS b").fetchone()
        cursor.cancel()
        assert cursor.execute("SELECT 3").fetchval() == 3
    return said[:60]


@check("timeout")
def timeout(_):
    with opened() as connection:
        connection.timeout = 1
        said = fails(lambda: connection.execute("WAITFOR DELAY '00:10:00'"), "HYT00")
        connection.timeout = 0
        assert connection.execute("SELECT 1").fetchval() == 1
    return said[:60]


@check("transactions")
def transactions(_):
    with opened(False) as connection:
        connection.execute("INSERT INTO dbo.rows (id) VALUES (1)")
        connection.rollback()
        connection.execute("INSERT INTO dbo.rows (id) VALUES (2)")
        connection.commit()
        assert connection.execute("SELECT @@TRANCOUNT").fetchval() == 1
        connection.commit()
        connection.autocommit = True
        assert connection.execute("SELECT @@TRANCOUNT").fetchval() == 0
        found = [row[0] for row in connection.execute("SELECT id FROM dbo.rows WHERE id < 10")]
        assert found == [2], found
        connection.execute("DELETE FROM dbo.rows WHERE id < 10")
        connection.autocommit = False
        connection.execute("SELECT id FROM dbo.rows").fetchall()
        fails(
            lambda: connection.execute(
                "SET XACT_ABORT ON; INSERT INTO dbo.rows (id) VALUES (3); SELECT 1/0"
            ).nextset(),
            "8134",
        )
        if FREETDS:  # it does not notice that the server rolled back, nor does it begin again
            fails(connection.rollback, "3903")
            return "commit, rollback; a rollback by the server is not noticed"
        connection.rollback()
        connection.execute("INSERT INTO dbo.rows (id) VALUES (4)")
        connection.rollback()
        assert connection.execute("SELECT COUNT(*) FROM dbo.rows WHERE id < 10").fetchval() == 0
    return "commit, rollback, autocommit on and off"


@check("savepoints")
def savepoints(_):
    with opened(False) as connection:
        connection.execute("INSERT INTO dbo.rows (id) VALUES (1)")
        connection.execute("SAVE TRANSACTION one")
        connection.execute("INSERT INTO dbo.rows (id) VALUES (2)")
        connection.execute("ROLLBACK TRANSACTION one")
        found = [row[0] for row in connection.execute("SELECT id FROM dbo.rows WHERE id < 10")]
        connection.rollback()
    assert found == [1]
    return "by statement"


@check("isolation")
def isolation(_):
    words = {
        pyodbc.SQL_TXN_READ_UNCOMMITTED: "1",
        pyodbc.SQL_TXN_READ_COMMITTED: "2",
        pyodbc.SQL_TXN_REPEATABLE_READ: "3",
        pyodbc.SQL_TXN_SERIALIZABLE: "4",
    }
    query = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
    with opened(False) as connection:
        for constant, expected in words.items():
            connection.rollback()
            connection.set_attr(pyodbc.SQL_ATTR_TXN_ISOLATION, constant)
            assert str(connection.execute(query).fetchval()) == expected
        connection.rollback()
        connection.autocommit = True
        connection.execute("SET TRANSACTION ISOLATION LEVEL SNAPSHOT")
        assert str(connection.execute(query).fetchval()) == "5"
        connection.execute("BEGIN TRANSACTION")
        count = "SELECT COUNT(*) FROM dbo.rows WHERE id < 10"
        assert connection.execute(count).fetchval() == 0
        value("INSERT INTO dbo.rows (id) OUTPUT inserted.id VALUES (5)")
        assert connection.execute(count).fetchval() == 0
        connection.execute("COMMIT")
        assert connection.execute(count).fetchval() == 1
        connection.execute("DELETE FROM dbo.rows WHERE id < 10")
    return "4 by set_attr, SNAPSHOT by statement"


@check("killed")
def killed(_):
    with opened() as victim, opened() as killer:
        spid = victim.execute("SELECT @@SPID").fetchval()
        thread = after(0.3, lambda: killer.execute(f"KILL {spid}"))
        said = fails(lambda: victim.execute("WAITFOR DELAY '00:10:00'"))
        thread.join()
        fails(lambda: victim.execute("SELECT 1"))
        idle = connect()
        number = idle.execute("SELECT @@SPID").fetchval()
        killer.execute(f"KILL {number}")
        fails(lambda: idle.execute("SELECT 1"))
        assert killer.execute("SELECT 1").fetchval() == 1
    assert value("SELECT 1") == 1
    return said[:70]


@check("lost")
def lost(_):
    with Proxy(GIVEN.port) as proxy:
        connection = connect(False, port=proxy.port)
        connection.execute("INSERT INTO dbo.rows (id) VALUES (6)")
        thread = after(0.3, proxy.cut)
        said = fails(lambda: connection.execute("WAITFOR DELAY '00:10:00'"))
        thread.join()
    assert value("SELECT COUNT(*) FROM dbo.rows WHERE id = 6") == 0
    return said[:70]


@check("pool")
def pool(_):
    first = value("SELECT @@SPID")
    assert value("SELECT @@SPID") == first
    return "the driver manager's pooling is off by default: a new login each time"


@check("database")
def database(_):
    with opened() as connection:
        connection.execute("USE other")
        name = connection.getinfo(pyodbc.SQL_DATABASE_NAME)
        assert (name, connection.execute("SELECT DB_NAME()").fetchval()) == ("other", "other")
        connection.set_attr(109, "matrix")  # SQL_ATTR_CURRENT_CATALOG
        assert connection.execute("SELECT DB_NAME()").fetchval() == "matrix"
    return "USE, and the connection attribute"


@check("catalog")
def catalog(_):
    with opened() as connection:
        cursor = connection.cursor()
        tables = {row.table_name for row in cursor.tables(schema="dbo", tableType="TABLE")}
        assert {"rows", "types", "numbers", "large"} <= tables
        columns = [row.column_name for row in cursor.columns(table="rows", schema="dbo")]
        assert columns == ["id", "v", "b", "d", "m"]
        assert [row.column_name for row in cursor.primaryKeys("rows", schema="dbo")] == ["id"]
        assert any(row.index_name == "PK_rows" for row in cursor.statistics("rows", schema="dbo"))
        names = {row.procedure_name.partition(";")[0] for row in cursor.procedures(schema="dbo")}
        assert {"twice", "put"} <= names
        of_twice = [row.column_name for row in cursor.procedureColumns("twice", schema="dbo")]
        assert of_twice == ["@RETURN_VALUE", "@a", "@twice", "@text"]
        assert cursor.getTypeInfo().fetchall()
    return "tables, columns, primaryKeys, statistics, procedures, procedureColumns, getTypeInfo"


@check("describe")
def describe(_):
    with opened() as connection:
        rows = connection.execute(
            "EXEC sp_describe_first_result_set N'SELECT id, v FROM dbo.rows'"
        ).fetchall()
        assert [row.name for row in rows] == ["id", "v"]
        cursor = connection.execute("SET FMTONLY ON SELECT id, v FROM dbo.rows SET FMTONLY OFF")
        while cursor.description is None:
            assert cursor.nextset()
        assert [part[0] for part in cursor.description] == ["id", "v"] and not cursor.fetchall()
    return "sp_describe_first_result_set, SET FMTONLY"


@check("mars")
def mars(_):
    if FREETDS:  # the word is accepted, the second result is not
        with opened(MARS_Connection="yes") as connection:
            first = connection.execute("SELECT id FROM dbo.numbers")
            first.fetchone()
            return Refused(fails(lambda: connection.execute("SELECT 1").fetchone(), "24000"))
    return Refused(fails(lambda: connect(MARS_Connection="yes")))
