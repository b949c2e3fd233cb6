"""A server that records what it is sent, behind the few DB-API calls deploy makes."""

from __future__ import annotations

from typing import Any


class FakeServer:
    """``fail_on``: text of a batch -> (ODBC text raised, number of results before it)."""

    def __init__(self, fail_on: dict[str, tuple[str, int]] | None = None) -> None:
        self.fail_on = fail_on or {}
        self.sent: list[str] = []
        self.connections: list[FakeConnection] = []
        self.lock_result: int | None = 0
        self.says: dict[str, list[list[tuple[str, str]]]] = {}
        """Text of a batch -> what ``messages`` holds at each of its results, as pyodbc has it."""

    def connect(self) -> FakeConnection:
        self.connections.append(FakeConnection(self))
        return self.connections[-1]

    @property
    def scripts(self) -> list[str]:
        """What was sent but for the lock of deployments and how long to wait for locks."""
        own = ("@Resource = ?", "tl.resource_type = N'APPLICATION'")
        return [
            text
            for text in self.sent
            if not text.startswith("SET LOCK_TIMEOUT") and not any(part in text for part in own)
        ]


class FakeConnection:
    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.autocommit = False
        self.closed = False

    def cursor(self) -> FakeCursor:
        return FakeCursor(self)

    def close(self) -> None:
        self.closed = True


class FakeCursor:
    def __init__(self, connection: FakeConnection) -> None:
        self.connection = connection
        self.pending: list[str] = []
        self.messages: list[tuple[str, str]] = []
        self.later: list[list[tuple[str, str]]] = []

    def execute(self, sql: str, *parameters: Any) -> FakeCursor:
        server = self.connection.server
        server.sent.append(sql)
        for text, (message, after) in server.fail_on.items():
            if text in sql:
                if after == 0:
                    raise RuntimeError("42000", message)
                self.pending = [""] * (after - 1) + [message]
        said = [results for text, results in server.says.items() if text in sql]
        self.messages, *self.later = said[0] if said else [[]]
        return self

    def nextset(self) -> bool:
        if not self.pending and not self.later:
            return False
        self.messages = self.later.pop(0) if self.later else []
        if not self.pending:
            return True
        message = self.pending.pop(0)
        if message:
            raise RuntimeError("42000", message)
        return True

    def fetchone(self) -> tuple[Any, ...]:
        return (self.connection.server.lock_result,)

    def close(self) -> None:
        pass
