"""A server, a database with two configurations, and a wire on which each moment can be met."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyodbc

from redial.cli.configs import load_named
from redial.config import Config
from redial.deploy import apply, connect_odbc
from redial.paths import ROOT
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.engine.switches import check
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.requests import Batch
from tests.broker.drivers.proxy import Proxy

CALLERS = ROOT / "docs" / "callers"
DATABASE = "shop"
ATTENTION = 0x06
"""First byte of the request by which a client cancels (MS-TDS 2.2.1.7)."""

WAYS_TO_GO = {"killed": False, "lost": False, "answer lost": True}
"""How a connection goes, and whether the server has done what it was asked."""

Trap = Callable[[bytes, socket.socket, socket.socket], None]

REBORN = "reborn"
"""A schema whose usp_Send ends the caller's transaction and says nothing; its INSERT then begins
another one."""


class Wire(Proxy):
    """Passes requests on, until one has the words of a trap; a trap snaps once.

    requests: all that clients asked, as it came. A client must not encrypt.
    """

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self.requests: list[bytes] = []
        self._traps: list[tuple[bytes, Trap]] = []
        self._deaf: set[socket.socket] = set()
        self.canceller: threading.Thread | None = None

    def when(self, words: str, trap: Trap) -> None:
        """Let ``trap`` have the next request with these words."""
        self._traps.append((words.encode("utf-16-le"), trap))

    def asked(self, words: str) -> list[bytes]:
        """The requests with these words."""
        return [data for data in self.requests if words.encode("utf-16-le") in data]

    def forget(self) -> None:
        """No trap any more, nor any request."""
        self._traps.clear()
        self.requests.clear()

    @property
    def waits(self) -> int:
        """How many traps have not snapped."""
        return len(self._traps)

    def asks(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        self.requests.append(data)
        for words, trap in self._traps:
            if words in data:
                self._traps.remove((words, trap))
                trap(data, client, server)
                return
        server.sendall(data)

    def answers(self, data: bytes, server: socket.socket, client: socket.socket) -> None:
        if server in self._deaf:
            _close(server, client)
        client.sendall(data)

    # ------------------------------------------------------------------ traps
    def cancelled(self, cancel: Callable[[], Any] = lambda: None) -> Trap:
        """The client's cancel meets the request while the server works on it.

        cancel: what the client does; nothing where its driver's time-out does it.
        """

        def trap(data: bytes, client: socket.socket, server: socket.socket) -> None:
            self.canceller = threading.Thread(target=cancel, daemon=True)
            self.canceller.start()  # it waits for the answer
            attention = client.recv(65536)
            assert attention[0] == ATTENTION, attention
            server.sendall(data + attention)

        return trap

    @staticmethod
    def meanwhile(action: Callable[[], Any]) -> Trap:
        """Something happens before the server has the request."""

        def trap(data: bytes, client: socket.socket, server: socket.socket) -> None:
            action()
            server.sendall(data)

        return trap

    @staticmethod
    def lost(data: bytes, client: socket.socket, server: socket.socket) -> None:
        """The connection breaks before the server has the request."""
        _close(server, client)

    def answer_lost(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        """The connection breaks after the server has done what it was asked."""
        self._deaf.add(server)
        server.sendall(data)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        one.shutdown(socket.SHUT_RDWR)


class Stage:
    """A database with configurations audit (at_least_once) and etl (exactly_once; one slot, and
    nobody waits for it), and a table dbo.Work (Id, Note) of the application's.

    odbc, jdbc: through the wire, not encrypted. admin: past it.
    """

    def __init__(self, broker: EmbeddedBroker, wire: Wire) -> None:
        self.broker, self.wire = broker, wire
        self.admin = with_database(broker.odbc, DATABASE)
        self.odbc = re.sub(
            "Encrypt=[^;]*", "Encrypt=no", self.admin.replace(f",{broker.port}", f",{wire.port}")
        )
        self.jdbc = (
            broker.jdbc.replace(f":{broker.port}", f":{wire.port}")
            .replace("encrypt=true", "encrypt=false")
            .replace("databaseName=master", f"databaseName={DATABASE}")
        )
        self._connection: pyodbc.Connection | None = None
        self._turn = threading.Lock()
        self.deploy()
        self.moment = broker.snapshot()

    def deploy(self) -> None:
        """What every test finds."""
        connect_odbc(self.broker.odbc)().execute(
            f"CREATE DATABASE {DATABASE}; ALTER DATABASE {DATABASE} SET ALLOW_SNAPSHOT_ISOLATION "
            "ON;"
        ).connection.close()
        for name, sections in (("audit", {}), ("etl", {"pool": {"size": 1, "wait_ms": 0}})):
            data = load_named(name).model_dump(by_alias=True, mode="json")
            for section, values in sections.items():
                data[section] |= values
            apply(Config.model_validate(data), connect_odbc(self.admin))
        self.does("CREATE TABLE dbo.Work (Id nvarchar(50) NOT NULL PRIMARY KEY, Note int NULL);")
        self.does(f"CREATE SCHEMA {REBORN};")
        self.does(f"""CREATE PROCEDURE {REBORN}.usp_Send @messageBody varbinary(max),
            @key nvarchar(4000) = NULL, @messageId uniqueidentifier = NULL AS
            ROLLBACK TRANSACTION;
            INSERT INTO dbo.Work (Id) VALUES (N'of another transaction');""")
        self.leaves()

    def restore(self, **switches: Any) -> None:
        """As it was when all was deployed, with these switches."""
        self.leaves()
        self.wire.forget()
        self.broker.restore(self.moment)
        self.broker.call(lambda instance: setattr(instance.engine, "switches", check(switches)))

    # ------------------------------------------------------------------ the administrator
    def does(self, sql: str, *values: Any) -> list[Any]:
        """A statement of the administrator's, not through the wire; the rows of its last result."""
        with self._turn:  # a trap of the wire's may still be at it, in the wire's thread
            if self._connection is None:
                self._connection = connect_odbc(self.admin)()
            cursor = self._connection.execute(sql, *values)
            rows: list[Any] = []
            while True:
                rows = cursor.fetchall() if cursor.description else rows
                if not cursor.nextset():
                    return rows

    def leaves(self) -> None:
        """The administrator's connection ends, and what it holds is let go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def kills(self) -> None:
        """The administrator kills the sessions of all others."""
        for (session,) in self.does(
            "SELECT session_id FROM sys.dm_exec_sessions "
            "WHERE is_user_process = 1 AND session_id <> @@SPID;"
        ):
            self.does(f"KILL {session};")

    def kills_at_work(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        """A trap: the session is killed once its request waits."""
        server.sendall(data)
        while not self.does("SELECT 1 FROM sys.dm_exec_requests WHERE wait_type = N'WAITFOR';"):
            pass
        self.kills()

    def goes(self, how: str) -> Trap:
        """The ways in which a connection goes: one of WAYS_TO_GO."""
        return {
            "killed": self.wire.meanwhile(self.kills),
            "lost": self.wire.lost,
            "answer lost": self.wire.answer_lost,
        }[how]

    def starts(self, *batches: str) -> None:
        """Another session does these; the last one may have to wait, and is not waited for."""

        def submit(instance: Any) -> None:
            session = instance.connect(DATABASE)
            for batch in batches[:-1]:
                session.execute(batch).ok()
            session.submit(Batch(batches[-1]))

        self.broker.call(submit)
        self.broker.settle()

    # ------------------------------------------------------------------ what is there
    def landed(self, schema: str = "audit") -> list[bytes]:
        """Bodies of the messages that have arrived, once nobody has anything left to do."""
        self.broker.advance(5)
        return [
            row[0]
            for row in self.does(
                f"SELECT Body FROM [{schema}].Landing WHERE MessageType = ? ORDER BY RowVersion;",
                f"//redial/{schema}/event",
            )
        ]

    def work(self) -> list[str]:
        """Rows of the application's table."""
        return [row[0] for row in self.does("SELECT Id FROM dbo.Work ORDER BY Id;")]

    def is_clean(self) -> None:
        """No client holds a lock."""
        self.broker.settle()
        assert (
            self.does(
                "SELECT request_session_id, resource_type FROM sys.dm_tran_locks WHERE "
                "resource_type <> N'DATABASE' AND request_session_id <> @@SPID;"
            )
            == []
        )


@contextmanager
def staged() -> Iterator[Stage]:
    """A stage for a module."""
    with EmbeddedBroker(clock="virtual") as broker, Wire(broker.port) as wire:
        with unprobed(broker.call(lambda instance: instance.server)):
            stage = Stage(broker, wire)
        yield stage
        assert broker.defects == []
