"""Checks that pymssql and python-tds share: both are plain DB-API with ``%s`` for a parameter.

``Adapter`` holds what differs. A module of its own per driver adds the rest and runs the probe.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tests.broker.drivers import stage
from tests.broker.drivers.probe import Refused, after, check, fails, options
from tests.broker.drivers.proxy import Proxy

GIVEN = options()


class Adapter:
    """A driver: ``connect`` with overrides, its module, and what it cannot do."""

    module: Any = None
    prepares = ""
    nowhere = ("nowhere",)

    def connect(self, autocommit: bool = True, **changes: Any) -> Any:
        """A new connection."""
        raise NotImplementedError

    def detail(self, error: Exception) -> tuple:
        """(number, severity, state, line, procedure) of an error, None for what is not told."""
        raise NotImplementedError


ADAPTER = Adapter()


@contextlib.contextmanager
def opened(autocommit: bool = True, **changes: Any):
    connection = ADAPTER.connect(autocommit, **changes)
    try:
        yield connection
    finally:
        with contextlib.suppress(Exception):
            connection.close()


def run(connection: Any, sql: str, *parameters: Any) -> list[tuple]:
    """All rows of the first result of a statement, [] without one; the others are read away."""
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(sql, parameters) if parameters else cursor.execute(sql)
        rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        while cursor.nextset():
            pass
        return rows


def value(sql: str, *parameters: Any, **changes: Any) -> Any:
    with opened(**changes) as connection:
        return run(connection, sql, *parameters)[0][0]


@check("wrong_password")
def wrong_password(_):
    return fails(lambda: ADAPTER.connect(password="wrong"), "Login failed")


@check("wrong_database")
def wrong_database(_):
    return fails(lambda: ADAPTER.connect(database="nowhere"), *ADAPTER.nowhere)


@check("column_encryption")
def column_encryption(_):
    return Refused(
        fails(
            lambda: value(
                "CREATE COLUMN MASTER KEY k WITH (KEY_STORE_PROVIDER_NAME = N'x', KEY_PATH = N'y')"
            ),
            "COLUMN",
        )
    )


@check("types")
def types(_):
    names = ", ".join(stage.column(i) for i in range(len(stage.TYPES)))
    with opened() as connection:
        first, second = run(connection, f"SELECT {names} FROM dbo.types ORDER BY id")
    for (type_, _, expected), found in zip(stage.TYPES, first, strict=True):
        found = ADAPTER.seen(type_, found, expected)
        assert found == expected, (type_, found, expected)
    assert set(second) == {None}, second
    return f"{len(first)} types"


@check("parameters")
def parameters(_):
    done = 0
    with opened() as connection:
        for number, (type_, _, sent) in enumerate(stage.TYPES):
            if type_ in {"sql_variant", "text", "ntext", "image"}:
                continue
            column = stage.column(number)
            left = f"CAST({column} AS nvarchar(max))" if type_ == "xml" else column
            right = "%s" if type_ == "xml" else f"CAST(%s AS {type_})"
            found = run(
                connection,
                f"SELECT COUNT(*) FROM dbo.types WHERE {left} = {right}",
                ADAPTER.sent(type_, sent),
            )
            assert found == [(1,)], type_
            done += 1
        assert run(connection, "SELECT %s", None) == [(None,)]
    return f"{done} types, and NULL"


@check("results")
def results(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("SELECT 1 AS a WHERE 1 = 0; SELECT 2 AS b; SELECT 3 AS c, 4 AS d")
        seen = [(cursor.description[0][0], cursor.fetchall())]
        while cursor.nextset():
            seen.append((cursor.description[0][0], [tuple(row) for row in cursor.fetchall()]))
        assert seen == [("a", []), ("b", [(2,)]), ("c", [(3, 4)])], seen
        cursor.execute("UPDATE dbo.numbers SET v = v WHERE id <= 3")
        assert cursor.rowcount == 3
    return "0 rows, 1 row, 1 row; a count of 3"


@check("errors")
def errors(_):
    cases = [
        ("SELECT * FROM dbo.nothing", 208, 16, 1, 1, ""),
        ("SELECT 1/0", 8134, 16, 1, 1, ""),
        ("\nEXEC dbo.fails", 50000, 16, 5, 3, "fails"),
        ("THROW 51234, N'mine', 9", 51234, 16, 9, 1, ""),
        ("SELECT * FORM x", 102, 15, 1, 1, ""),
    ]
    with opened() as connection:
        for sql, *expected in cases:
            try:
                run(connection, sql)
            except ADAPTER.module.Error as error:
                told = ADAPTER.detail(error)
                for one, wanted in zip(told, expected):
                    assert one is None or one == wanted, (sql, told, expected)
            else:
                raise AssertionError(sql)
        run(connection, "INSERT INTO dbo.rows (id) VALUES (900)")
        try:
            run(connection, "INSERT INTO dbo.rows (id) VALUES (900)")
        except ADAPTER.module.IntegrityError as error:
            assert ADAPTER.detail(error)[0] == 2627
        run(connection, "DELETE FROM dbo.rows WHERE id = 900")
    return "number, severity, state, line, procedure" if None not in told else "number"


@check("prepared")
def prepared(_):
    with opened() as connection:
        found = [run(connection, "SELECT v FROM dbo.numbers WHERE id = %s", n) for n in (1, 900, 2)]
    assert found == [[("row",)], [], [("row",)]], found
    return ADAPTER.prepares


@check("large")
def large(_):
    text_value, binary = "ß" * (GIVEN.large // 2), bytes(range(256)) * (GIVEN.large // 256)
    item = "<i>" + "x" * 993 + "</i>"
    xml = "<r>" + item * (GIVEN.large // 2 // len(item)) + "</r>"
    with opened() as connection:
        for name, sent in (("n", text_value), ("b", binary), ("x", xml)):
            run(connection, "TRUNCATE TABLE dbo.large")
            run(
                connection,
                f"INSERT INTO dbo.large ({name}) VALUES (%s)",
                ADAPTER.sent("varbinary(max)", sent),
            )
            ((found,),) = run(connection, f"SELECT {name} FROM dbo.large")
            assert found == sent, (name, len(found), len(sent))
        run(connection, "TRUNCATE TABLE dbo.large")
    return "text, binary and XML, each as it was sent"


@check("batches")
def batches(_):
    rows = [(n, None if n % 7 == 0 else f"Grüße {n}") for n in range(1000, 1200)]
    with opened(False) as connection:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.executemany("INSERT INTO dbo.rows (id, v) VALUES (%s, %s)", rows)
        connection.commit()
        found = run(connection, "SELECT id, v FROM dbo.rows WHERE id >= 1000 ORDER BY id")
        assert found == rows
        run(connection, "DELETE FROM dbo.rows WHERE id >= 1000")
        connection.commit()
    return "executemany of 200 rows"


@check("transactions")
def transactions(_):
    with opened(False) as connection:
        run(connection, "INSERT INTO dbo.rows (id) VALUES (1)")
        connection.rollback()
        run(connection, "INSERT INTO dbo.rows (id) VALUES (2)")
        connection.commit()
        run(connection, "INSERT INTO dbo.rows (id) VALUES (3)")
        connection.rollback()
        assert run(connection, "SELECT id FROM dbo.rows WHERE id < 10") == [(2,)]
        run(connection, "DELETE FROM dbo.rows WHERE id < 10")
        connection.commit()
        fails(
            lambda: run(
                connection, "SET XACT_ABORT ON; INSERT INTO dbo.rows (id) VALUES (3); SELECT 1/0"
            ),
            "zero",
        )
        with contextlib.suppress(ADAPTER.module.Error):
            connection.rollback()
    assert value("SELECT COUNT(*) FROM dbo.rows WHERE id < 10") == 0
    return "commit, rollback"


@check("savepoints")
def savepoints(_):
    with opened(False) as connection:
        run(connection, "INSERT INTO dbo.rows (id) VALUES (1); SAVE TRANSACTION one")
        run(connection, "INSERT INTO dbo.rows (id) VALUES (2)")
        run(connection, "ROLLBACK TRANSACTION one")
        assert run(connection, "SELECT id FROM dbo.rows WHERE id < 10") == [(1,)]
        connection.rollback()
    return "by statement"


@check("killed")
def killed(_):
    with opened() as victim, opened() as killer:
        ((spid,),) = run(victim, "SELECT @@SPID")
        thread = after(0.3, lambda: run(killer, f"KILL {spid}"))
        said = fails(lambda: run(victim, "WAITFOR DELAY '00:10:00'"))
        thread.join()
        fails(lambda: run(victim, "SELECT 1"))
        assert run(killer, "SELECT 1") == [(1,)]
    assert value("SELECT 1") == 1
    return said[:70]


@check("lost")
def lost(_):
    with Proxy(GIVEN.port) as proxy:
        connection = ADAPTER.connect(False, port=proxy.port)
        run(connection, "INSERT INTO dbo.rows (id) VALUES (6)")
        thread = after(0.3, proxy.cut)
        said = fails(lambda: run(connection, "WAITFOR DELAY '00:10:00'"))
        thread.join()
    assert value("SELECT COUNT(*) FROM dbo.rows WHERE id = 6") == 0
    return said[:70]


@check("database")
def database(_):
    with opened() as connection:
        run(connection, "USE other")
        assert run(connection, "SELECT DB_NAME()") == [("other",)]
    return "USE"


@check("catalog")
def catalog(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        found = {}
        for name, arguments in (
            ("sp_tables", ("rows", "dbo")),
            ("sp_columns", ("rows", "dbo")),
            ("sp_pkeys", ("rows", "dbo")),
        ):
            cursor.callproc(name, arguments)
            found[name] = [tuple(row) for row in cursor.fetchall()]
            while cursor.nextset():
                pass
    assert [row[2] for row in found["sp_tables"]] == ["rows"]
    assert [row[3] for row in found["sp_columns"]] == ["id", "v", "b", "d", "m"]
    assert [row[3] for row in found["sp_pkeys"]] == ["id"]
    return "sp_tables, sp_columns, sp_pkeys"


@check("describe")
def describe(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("EXEC sp_describe_first_result_set N'SELECT id, v FROM dbo.rows'")
        assert [row[2] for row in cursor.fetchall()] == ["id", "v"]
        cursor.execute("SET FMTONLY ON SELECT id, v FROM dbo.rows SET FMTONLY OFF")
        assert [part[0] for part in cursor.description] == ["id", "v"]
        assert not cursor.fetchall()
    return "sp_describe_first_result_set, SET FMTONLY"
