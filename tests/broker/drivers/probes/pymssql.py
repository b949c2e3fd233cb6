"""pymssql: DB-API over its own FreeTDS (DB-Library)."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pymssql

from tests.broker.drivers import probe, stage
from tests.broker.drivers.probe import Refused, check, fails
from tests.broker.drivers.probes import dbapi
from tests.broker.drivers.probes.dbapi import GIVEN, opened, run, value
from tests.waiting import LOGIN


class Pymssql(dbapi.Adapter):
    """Literals are put into the text by the client; only callproc sends typed values."""

    module = pymssql
    nowhere = ("18456",)  # only the second error comes through
    prepares = "the client puts values into the text: nothing is prepared"

    def connect(self, autocommit: bool = True, **changes: Any) -> Any:
        """A new connection."""
        keys = {
            "server": "127.0.0.1",
            "port": str(GIVEN.port),
            "user": GIVEN.user,
            "password": GIVEN.password,
            "database": "matrix",
            "login_timeout": LOGIN,
            "tds_version": "7.4",
        } | changes
        return pymssql.connect(autocommit=autocommit, **(keys | {"port": str(keys["port"])}))

    def detail(self, error: Exception) -> tuple:
        """The error itself holds the number; what caused it holds the rest."""
        cause = error.__context__
        if cause is None or not hasattr(cause, "state"):
            return error.args[0], None, None, None, None
        name = cause.procname
        return (
            cause.number,
            cause.severity,
            cause.state,
            cause.line,
            name.decode() if isinstance(name, bytes) else name,
        )

    def seen(self, type_: str, found: Any, expected: Any) -> Any:
        """What DB-Library has no type for arrives as text or bytes."""
        if isinstance(found, bytes) and isinstance(expected, str):
            found = found.decode()
        if type_ == "uniqueidentifier":
            return str(found).upper()
        return found

    def sent(self, type_: str, sent: Any) -> Any:
        """A GUID goes as text; bytes that read like text go as a literal of text."""
        if isinstance(sent, bytes):
            return bytearray(sent)
        if type_.startswith("datetime2"):
            return pymssql.datetime2(
                sent.year,
                sent.month,
                sent.day,
                sent.hour,
                sent.minute,
                sent.second,
                sent.microsecond,
            )
        return sent


dbapi.ADAPTER = Pymssql()


@check("tls")
def tls(_):
    assert value(stage.ENCRYPTED, encryption="require") == "TRUE"
    return "encryption='require'"


@check("login_tls")
def login_tls(_):
    words = ("request", "off")
    assert [value(stage.ENCRYPTED, encryption=word) for word in words] == ["FALSE", "FALSE"]
    return "encryption='request' and 'off'"


@check("certificate")
def certificate(_):
    found = []
    for authorities in ("system", GIVEN.pem):
        path = f"{GIVEN.pem}.conf"
        with open(path, "w") as file:
            file.write(
                f"[matrix]\nhost = 127.0.0.1\nport = {GIVEN.port}\ntds version = 7.4\n"
                f"encryption = require\nca file = {authorities}\n"
                "check certificate hostname = no\n"
            )
        os.environ["FREETDSCONF"] = path
        try:
            with contextlib.closing(
                pymssql.connect(
                    server="matrix", port=str(GIVEN.port), user=GIVEN.user, password=GIVEN.password
                )
            ) as connection:
                found.append(run(connection, "SELECT 'trusted'")[0][0])
        except pymssql.Error:
            found.append("refused")
        finally:
            del os.environ["FREETDSCONF"]
    assert found == ["refused", "trusted"], found
    return "by ca file in freetds.conf"


@check("integrated")
def integrated(_):
    return Refused(fails(lambda: dbapi.ADAPTER.connect(user="DOMAIN\\user")))


@check("intent")
def intent(_):
    return value("SELECT DB_NAME()", read_only=True)


@check("messages")
def messages(_):
    heard = []
    with opened() as connection:
        connection._conn.set_msghandler(
            lambda state, severity, server, procedure, line, text: heard.append(text)
        )
        run(connection, "PRINT N'grüße'; RAISERROR(N'quiet', 5, 1)")
    said = [text.decode() if isinstance(text, bytes) else text for text in heard]
    assert said[-2:] == ["grüße", "quiet"], said
    return "set_msghandler"


@check("procedures")
def procedures(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        arguments = (21, pymssql.output(int), pymssql.output(str))
        assert list(cursor.callproc("dbo.quietly_twice", arguments)) == [21, 42, "ü21"]
        assert cursor.returnvalue == 7
        cursor.callproc("dbo.twice", arguments)
        assert cursor.fetchall() == [(21,)]
    return "callproc; values and status where the procedure sends no rows"


@check("bulk")
def bulk(_):
    rows = [(n, f"Grüße {n}" if n % 7 else None) for n in range(2000, 3000)]
    with opened() as connection:
        connection.bulk_copy("dbo.rows", rows, column_ids=[1, 2], tablock=True)
        found = run(connection, "SELECT id, v FROM dbo.rows WHERE id >= 2000 ORDER BY id")
        assert found == rows, found[:3]
        run(connection, "DELETE FROM dbo.rows WHERE id >= 2000")
    return "bulk_copy of 1000 rows"


@check("timeout")
def timeout(_):
    connection = dbapi.ADAPTER.connect()
    connection._conn.query_timeout = 1  # connect(timeout=1) would hurry the log-in's statements too
    said = fails(lambda: run(connection, "WAITFOR DELAY '00:10:00'"))
    with dbapi.opened() as other:
        other._conn.query_timeout = 0  # it is the process's
    assert value("SELECT 1") == 1
    return f"the driver closes the connection: {said[:50]}"


@check("isolation")
def isolation(_):
    query = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
    with opened() as connection:
        for level, expected in (
            ("READ UNCOMMITTED", 1),
            ("REPEATABLE READ", 3),
            ("SERIALIZABLE", 4),
            ("SNAPSHOT", 5),
        ):
            run(connection, f"SET TRANSACTION ISOLATION LEVEL {level}")
            assert run(connection, query) == [(expected,)]
    return "by statement, SNAPSHOT included"


@check("mars")
def mars(_):
    with opened() as connection:
        first, second = connection.cursor(), connection.cursor()
        first.execute("SELECT id FROM dbo.numbers ORDER BY id")
        assert first.fetchone() == (1,)
        second.execute("SELECT 7")
        assert second.fetchall() == [(7,)]
        left = first.fetchall()
    return Refused(f"one statement at a time: the first cursor has {len(left)} rows left")


@check("packets")
def packets(_):
    found = []
    for size in (4096, 8000, 16000):
        os.environ["FREETDSCONF"] = path = f"{GIVEN.pem}.{size}.conf"
        with open(path, "w") as file:
            file.write(
                f"[matrix]\nhost = 127.0.0.1\nport = {GIVEN.port}\ntds version = 7.4\n"
                f"initial block size = {size}\n"
            )
        with contextlib.closing(
            pymssql.connect(
                server="matrix", port=str(GIVEN.port), user=GIVEN.user, password=GIVEN.password
            )
        ) as connection:
            ((got,),) = run(connection, stage.PACKET_SIZE)
            assert run(connection, f"SELECT N'{'x' * 30000}'") == [("x" * 30000,)]
        found.append(got)
        del os.environ["FREETDSCONF"]
    assert found == [4096, 8000, 16000]
    return "4096, 8000, 16000"


if __name__ == "__main__":
    import sys

    assert stage
    probe.main(GIVEN, sys.argv[2] if len(sys.argv) > 2 else None)
