"""pyodbc with Microsoft's ODBC Driver 18, or with FreeTDS's ODBC driver."""

from __future__ import annotations

import os
import sys
from decimal import Decimal

import pyodbc

import tests.broker.drivers.probes.odbc_control  # noqa: F401  registers its checks
from tests.broker.drivers import stage
from tests.broker.drivers.probe import Refused, check, fails, main
from tests.broker.drivers.probes.odbc_base import (
    FREETDS,
    GIVEN,
    by_name,
    connect,
    freetds_file,
    opened,
    value,
)
from tests.broker.drivers.proxy import Proxy


@check("tls")
def tls(_):
    changes = {"Encryption": "require"} if FREETDS else {"Encrypt": "yes"}
    assert value(stage.ENCRYPTED, **changes) == "TRUE"
    return ", ".join(f"{key}={word}" for key, word in changes.items())


@check("login_tls")
def login_tls(_):
    key = "Encryption" if FREETDS else "Encrypt"
    words = ["request", "off"] if FREETDS else ["no"]
    assert [value(stage.ENCRYPTED, **{key: word}) for word in words] == ["FALSE"] * len(words)
    return ", ".join(f"{key}={word}" for word in words)


@check("strict", unless=FREETDS)
def strict(_):
    with Proxy(GIVEN.port) as proxy:
        connection = connect(port=proxy.port, Encrypt="strict", ServerCertificate=GIVEN.pem)
        assert connection.execute(stage.ENCRYPTED).fetchval() == "TRUE"
        connection.close()
    assert proxy.first == b"\x16"
    return "Encrypt=strict"


@check("certificate")
def certificate(_):
    if FREETDS:
        always = ("encryption = require", "check certificate hostname = no")
        with freetds_file(*always, "ca file = system"):
            fails(by_name)
        with freetds_file(*always, f"ca file = {GIVEN.pem}"):
            return by_name("SELECT 'trusted'")
    fails(lambda: connect(TrustServerCertificate="no"), "certificate")
    os.environ["SSL_CERT_FILE"] = GIVEN.pem
    try:
        return value(
            "SELECT 'trusted'", TrustServerCertificate="no", HostnameInCertificate="localhost"
        )
    finally:
        del os.environ["SSL_CERT_FILE"]


@check("wrong_password")
def wrong_password(_):
    return fails(lambda: connect(PWD="wrong"), "18456")


@check("wrong_database")
def wrong_database(_):
    # FreeTDS hands out the second of the two errors first.
    return fails(lambda: connect(Database="nowhere"), "18456" if FREETDS else "4060")


@check("integrated")
def integrated(_):
    if FREETDS:
        return Refused(fails(lambda: connect(UID="DOMAIN\\user"), "18452"))
    return Refused(fails(lambda: connect(Trusted_Connection="yes", UID="", PWD="")))


@check("column_encryption")
def column_encryption(_):
    if not FREETDS:
        assert value("SELECT ?", "plain", ColumnEncryption="Enabled") == "plain"
    return Refused(
        fails(
            lambda: value(
                "CREATE COLUMN MASTER KEY k WITH (KEY_STORE_PROVIDER_NAME = N'x', KEY_PATH = N'y')"
            ),
            "60001",
        )
    )


@check("intent")
def intent(_):
    return value("SELECT DB_NAME()", ApplicationIntent="ReadOnly")


@check("packets")
def packets(_):
    # With TLS a packet and its trailer must fit a record of 16 KB: the driver refuses larger ones.
    sizes = (512, 4096, 8000, 16000, 32767)
    if FREETDS:
        for size in sizes[1:4]:
            with freetds_file(f"initial block size = {size}"):
                assert by_name(stage.PACKET_SIZE) == size
                assert by_name("SELECT REPLICATE(CAST('x' AS varchar(max)), 30000)") == "x" * 30000
        return ", ".join(map(str, sizes[1:4]))
    for size in sizes:
        plain = {} if size < 16384 else {"Encrypt": "no"}
        with opened(PacketSize=str(size), **plain) as connection:
            assert connection.execute(stage.PACKET_SIZE).fetchall()[0][0] == size
            rows = connection.execute("SELECT id, v FROM dbo.numbers ORDER BY id").fetchall()
            found = connection.execute("SELECT ?", "ü" * 20000).fetchone()[0]
            assert found == "ü" * 20000
        assert [row[0] for row in rows] == list(range(1, 501))
    return ", ".join(map(str, sizes))


def offset(raw: bytes) -> str:
    """A datetimeoffset, which pyodbc leaves to a converter."""
    return raw.hex()


@check("types")
def types(_):
    with opened() as connection:
        connection.add_output_converter(-155, offset)
        chosen = [
            (number, *kind)
            for number, kind in enumerate(stage.TYPES)
            if not (FREETDS and kind[0] == "sql_variant")
        ]  # HY091: tdsodbc has no such type
        names = ", ".join(stage.column(number) for number, *_ in chosen)
        first, second = connection.execute(f"SELECT {names} FROM dbo.types ORDER BY id").fetchall()
    for (_, type_, _, expected), found in zip(chosen, first, strict=True):
        if type_.startswith("datetimeoffset"):
            continue
        if FREETDS and type_ in {"time(6)", "date"} and isinstance(found, str):
            found = type(expected).fromisoformat(found)
        assert found == expected, (type_, found)
    if not FREETDS:
        second[27] = second[28] = None
    assert set(second) == {None}, second
    return f"{len(first)} types"


@check("parameters")
def parameters(_):
    skipped = {"sql_variant", "text", "ntext", "image"}
    done = 0
    with opened() as connection:
        for number, (type_, _, sent) in enumerate(stage.TYPES):
            if type_ in skipped or type_.startswith("datetimeoffset"):
                continue
            column = stage.column(number)
            if type_ == "time(6)":
                sent = str(sent)  # pyodbc drops the fraction of a time it sends as such
            if type_ == "xml":
                condition = f"CAST({column} AS nvarchar(max)) = ?"
            else:
                condition = f"{column} = CAST(? AS {type_})"
            found = connection.execute(
                f"SELECT COUNT(*) FROM dbo.types WHERE {condition}", sent
            ).fetchval()
            assert found == 1, type_
            done += 1
        assert connection.execute("SELECT ?", None).fetchval() is None
    return f"{done} types, and NULL"


@check("results")
def results(_):
    with opened() as connection:
        cursor = connection.execute(
            "SELECT 1 AS a WHERE 1 = 0; SELECT 2 AS b; UPDATE dbo.numbers SET v = v WHERE id <= 3;"
            " SELECT 3 AS c, 4 AS d"
        )
        seen = [(cursor.description[0][0], cursor.fetchall())]
        assert cursor.nextset()
        seen.append((cursor.description[0][0], cursor.fetchall()))
        assert cursor.nextset() and cursor.description is None
        assert cursor.rowcount == 3
        assert cursor.nextset()
        seen.append((cursor.description[1][0], cursor.fetchall()))
        assert not cursor.nextset()
    assert seen[0] == ("a", []) and seen[1][1][0][0] == 2 and tuple(seen[2][1][0]) == (3, 4)
    return "0 rows, 1 row, a count of 3, 1 row"


@check("messages")
def messages(_):
    with opened() as connection:
        cursor = connection.cursor()
        cursor.execute("PRINT N'grüße'")
        found = list(cursor.messages)
        cursor.execute("RAISERROR(N'quiet', 10, 1)")
        found += cursor.messages
    said = " ".join(message for _, message in found)
    assert "grüße" in said and "quiet" in said, found
    return "cursor.messages"


@check("errors")
def errors(_):
    cases = [
        ("SELECT * FROM dbo.nothing", "42S02", "208"),
        ("SELECT nope FROM dbo.rows", "42S22", "207"),
        ("SELECT 1/0", "22012", "8134"),
        ("EXEC dbo.fails", "42000", "50000"),
        ("THROW 51234, N'mine', 9", "42000", "51234"),
        ("SELECT * FORM x", "42000", "102"),
        ("CREATE TABLE dbo.rows (i int)", "42S01", "2714"),
    ]
    with opened() as connection:
        for sql, state, number in cases:
            try:
                connection.execute(sql).fetchall()
            except pyodbc.Error as error:
                assert error.args[0] == state and f"({number})" in error.args[1], (sql, error)
            else:
                raise AssertionError(sql)
        connection.execute("INSERT INTO dbo.rows (id) VALUES (900)")
        try:
            connection.execute("INSERT INTO dbo.rows (id) VALUES (900)")
        except pyodbc.IntegrityError as error:
            assert "(2627)" in error.args[1]
        connection.execute("DELETE FROM dbo.rows WHERE id = 900")
        cursor = connection.execute("SELECT 1; RAISERROR(N'after rows', 16, 1)")
        assert cursor.fetchone()[0] == 1
        fails(lambda: [cursor.nextset() for _ in range(3)], "after rows")
    return f"SQLSTATE and number of {len(cases) + 2}"


@check("procedures")
def procedures(_):
    with opened() as connection:
        cursor = connection.execute(
            "DECLARE @rc int, @t int, @n nvarchar(50);"
            " EXEC @rc = dbo.twice ?, @t OUTPUT, @n OUTPUT; SELECT @rc, @t, @n",
            21,
        )
        assert cursor.fetchone()[0] == 21
        assert cursor.nextset() and tuple(cursor.fetchone()) == (7, 42, "ü21")
        cursor.close()
        connection.execute("{CALL dbo.put(?, ?)}", 801, "called")
        assert connection.execute("SELECT v FROM dbo.rows WHERE id = 801").fetchval() == "called"
    return "text with DECLARE; {CALL} with inputs"


@check("prepared")
def prepared(_):
    with opened() as connection:
        cursor = connection.cursor()
        found = [
            cursor.execute("SELECT v FROM dbo.numbers WHERE id = ?", n).fetchval()
            for n in (1, 2, 900, 3)
        ]
        assert found == ["row", "row", None, "row"]
        cursor.close()
        handles = connection.execute("SELECT COUNT(*) FROM dbo.numbers WHERE id < ?", 5).fetchval()
    assert handles == 4
    return "4 executions of one handle"


@check("large")
def large(_):
    text_value, binary = "ß" * (GIVEN.large // 2), bytes(range(256)) * (GIVEN.large // 256)
    item = "<i>" + "x" * 993 + "</i>"
    xml = "<r>" + item * (GIVEN.large // 2 // len(item)) + "</r>"
    with opened() as connection:
        for name, sent in (("n", text_value), ("b", binary), ("x", xml)):
            connection.execute("TRUNCATE TABLE dbo.large")
            connection.execute(f"INSERT INTO dbo.large ({name}) VALUES (?)", sent)
            found = connection.execute(f"SELECT {name} FROM dbo.large").fetchval()
            assert found == sent, (name, len(found), len(sent))
        connection.execute("TRUNCATE TABLE dbo.large")
    return "text, binary and XML, each as it was sent"


@check("batches")
def batches(_):
    rows = [
        (
            n,
            None if n % 7 == 0 else f"Grüße {n}",
            bytes([n % 256]) * (n % 50),
            Decimal(n) / 4,
            stage.MOMENT,
        )
        for n in range(1000, 2000)
    ]
    statement = "INSERT INTO dbo.rows (id, v, b, d, m) VALUES (?, ?, ?, ?, ?)"
    with opened(False) as connection:
        cursor = connection.cursor()
        cursor.executemany(statement, rows[:200])
        if not FREETDS:
            cursor.fast_executemany = True
            cursor.executemany(statement, rows[200:])
            cursor.setinputsizes(
                [
                    None,
                    (pyodbc.SQL_WVARCHAR, 50, 0),
                    (pyodbc.SQL_VARBINARY, 0, 0),
                    (pyodbc.SQL_DECIMAL, 18, 4),
                    None,
                ]
            )
        connection.commit()
        found = connection.execute(
            "SELECT id, v, b, d, m FROM dbo.rows WHERE id >= 1000 ORDER BY id"
        ).fetchall()
        assert [tuple(row) for row in found] == rows[: len(found)]
        assert len(found) == (200 if FREETDS else 1000)
        try:
            cursor.executemany(statement, rows[:1])
        except pyodbc.IntegrityError:
            connection.rollback()
        else:
            raise AssertionError("no error for a duplicate key")
        connection.execute("DELETE FROM dbo.rows WHERE id >= 1000")
        connection.commit()
    return f"{len(found)} rows" + ("" if FREETDS else ", 800 of them by fast_executemany")


@check("table_values")
def table_values(_):
    with opened() as connection:
        found = connection.execute("{CALL dbo.take(?)}", ([(1, "a"), (2, "ü"), (3, None)],))
        assert tuple(found.fetchone()) == (3, 6, "ü")
    return "rows as a parameter of {CALL}"


if __name__ == "__main__":
    main(GIVEN, sys.argv[2] if len(sys.argv) > 2 else None)
