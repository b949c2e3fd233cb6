"""python-tds: a driver in Python alone; TLS by pyOpenSSL."""

from __future__ import annotations

import contextlib
import uuid
from typing import Any

import pytds

from redial_broker.tds.certificate import make_certificate
from tests.broker.drivers import probe, stage
from tests.broker.drivers.probe import Refused, check, fails
from tests.broker.drivers.probes import dbapi
from tests.broker.drivers.probes.dbapi import GIVEN, opened, run, value
from tests.waiting import LOGIN


class PythonTds(dbapi.Adapter):
    """Values go through sp_executesql, typed."""

    module = pytds
    prepares = "sp_executesql with typed values"

    def connect(self, autocommit: bool = True, **changes: Any) -> Any:
        """A new connection."""
        keys = {
            "dsn": "127.0.0.1",
            "port": GIVEN.port,
            "user": GIVEN.user,
            "password": GIVEN.password,
            "database": "matrix",
            "login_timeout": LOGIN,
            "disable_connect_retry": True,
        } | changes
        return pytds.connect(autocommit=autocommit, **keys)

    def detail(self, error: Exception) -> tuple:
        """Everything a server error holds."""
        return error.number, error.severity, error.state, error.line, error.procname

    def seen(self, type_: str, found: Any, expected: Any) -> Any:
        """GUIDs are objects."""
        if type_ == "uniqueidentifier":
            return str(found).upper()
        return found

    def sent(self, type_: str, sent: Any) -> Any:
        """Bytes must be marked as such."""
        if type_ == "uniqueidentifier":
            return uuid.UUID(sent)
        return pytds.Binary(sent) if isinstance(sent, bytes) else sent


dbapi.ADAPTER = PythonTds()


@check("tls")
def tls(_):
    assert value(stage.ENCRYPTED, cafile=GIVEN.pem, validate_host=False) == "TRUE"
    return "cafile"


@check("login_tls")
def login_tls(_):
    trusting = {"cafile": GIVEN.pem, "validate_host": False}
    assert value(stage.ENCRYPTED, **trusting, enc_login_only=True) == "FALSE"
    assert value(stage.ENCRYPTED) == "FALSE"
    return "enc_login_only; none without cafile"


@check("certificate")
def certificate(_):
    stranger = f"{GIVEN.pem}.stranger"
    with open(stranger, "wb") as file:
        file.write(make_certificate()[0])
    fails(lambda: dbapi.ADAPTER.connect(cafile=stranger, validate_host=False))
    return value("SELECT 'trusted'", cafile=GIVEN.pem, dsn="localhost")


@check("integrated")
def integrated(_):
    from pytds.login import SpnegoAuth

    class Bare(SpnegoAuth):
        """A first integrated-authentication message, whoever sends it."""

        def __init__(self) -> None:
            pass

        def create_packet(self) -> bytes:
            return b"NTLMSSP\0\1\0\0\0"

        def close(self) -> None:
            pass

    return Refused(fails(lambda: dbapi.ADAPTER.connect(auth=Bare()), "integrated"))


@check("intent")
def intent(_):
    return value("SELECT DB_NAME()", readonly=True)


@check("packets")
def packets(_):
    sizes = (512, 4096, 8000, 32767)
    for size in sizes:
        with opened(blocksize=size) as connection:
            assert run(connection, stage.PACKET_SIZE) == [(size,)]
            assert run(connection, "SELECT %s", "ü" * 30000) == [("ü" * 30000,)]
            rows = run(connection, "SELECT id, v FROM dbo.numbers ORDER BY id")
            assert len(rows) == 500
    return ", ".join(map(str, sizes))


@check("messages")
def messages(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("PRINT N'grüße'; RAISERROR(N'quiet', 10, 1)")
        found = [str(message) for _, message in cursor.messages]
    assert any("grüße" in text for text in found) and any("quiet" in text for text in found), found
    return "cursor.messages"


@check("procedures")
def procedures(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        found = cursor.callproc(
            "dbo.quietly_twice",
            (21, pytds.output(param_type="int"), pytds.output(param_type="nvarchar(50)")),
        )
        assert list(found) == [21, 42, "ü21"], found
        assert cursor.get_proc_return_status() == 7
    return "callproc, get_proc_return_status"


@check("bulk")
def bulk(_):
    rows = [(n, f"Grüße {n}" if n % 7 else None) for n in range(2000, 3000)]
    columns = [
        pytds.Column("id", pytds.tds_types.IntType()),
        pytds.Column("v", pytds.tds_types.NVarCharType(size=50)),
    ]
    with opened() as connection:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.copy_to(
                data=rows,
                table_or_view="rows",
                schema="dbo",
                columns=columns,
                tablock=True,
                check_constraints=True,
                fire_triggers=True,
            )
        found = run(connection, "SELECT id, v FROM dbo.rows WHERE id >= 2000 ORDER BY id")
        assert found == rows, found[:3]
        run(connection, "DELETE FROM dbo.rows WHERE id >= 2000")
    return "copy_to of 1000 rows"


@check("table_values")
def table_values(_):
    columns = [
        pytds.Column("id", pytds.tds_types.IntType()),
        pytds.Column("v", pytds.tds_types.NVarCharType(size=50)),
    ]
    given = pytds.TableValuedParam("dbo.pairs", columns, [(1, "a"), (2, "ü"), (3, None)])
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.callproc("dbo.take", (given,))
        assert [tuple(row) for row in cursor.fetchall()] == [(3, 6, "ü")]
    return "TableValuedParam"


@check("cancel")
def cancel(_):
    with opened() as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.cancel()
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]
        cursor.execute("SELECT a.id FROM dbo.numbers AS a CROSS JOIN dbo.numbers AS b")
        assert cursor.fetchone()
        cursor.cancel()
        cursor.execute("SELECT 2")
        assert cursor.fetchall() == [(2,)]
    return "idle and partly read"


@check("timeout")
def timeout(_):
    with opened(timeout=1) as connection:  # it begins when the log-in is over
        said = fails(lambda: run(connection, "WAITFOR DELAY '00:10:00'"))
        connection._tds_socket.sock.settimeout(None)  # what follows is not hurried
        assert run(connection, "SELECT 1") == [(1,)]
    return said[:60]


@check("isolation")
def isolation(_):
    query = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
    for level in (1, 2, 3, 4, 5):
        with opened(False, isolation_level=level) as connection:
            assert run(connection, query) == [(level,)], level
    return "5 levels by isolation_level, SNAPSHOT included"


@check("pool")
def pool(_):
    with opened(pooling=True) as connection:
        run(connection, "CREATE TABLE #left (i int); SET XACT_ABORT ON; USE other")
        ((first,),) = run(connection, "SELECT @@SPID")
    with opened(pooling=True) as connection:
        ((second,),) = run(connection, "SELECT @@SPID")
        state = run(
            connection,
            "SELECT DB_NAME(), OBJECT_ID('tempdb..#left'), @@OPTIONS & 16384, @@TRANCOUNT",
        )
    assert first == second and state == [("matrix", None, 0, 0)], (first, second, state)
    return "pooling=True: the same session, reset"


@check("mars")
def mars(_):
    with opened(use_mars=True) as connection:
        assert isinstance(connection, pytds.NonMarsConnection)
    return Refused("use_mars=True gives a connection without it")


if __name__ == "__main__":
    import sys

    probe.main(GIVEN, sys.argv[2] if len(sys.argv) > 2 else None)
