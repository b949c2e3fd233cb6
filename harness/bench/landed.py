"""A landing table of the embedded broker with many rows in it, for whoever measures a read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from harness.broker.tds.process import BrokerProcess
from harness.config import load
from harness.deploy import apply, connect_odbc
from harness.render.renderer import SQL
from harness.scenarios.port import Server, with_database

DATABASE = "bench"


@contextmanager
def filled(rows: int) -> Iterator[tuple[str, bytes, bytes, int]]:
    """JDBC URL, first and last RowVersion and count of a Landing table with at least ``rows``."""
    with BrokerProcess() as broker:
        master = Server("", broker.odbc).connect()
        master.execute(f"CREATE DATABASE {DATABASE};")
        master.close()
        odbc = with_database(broker.odbc, DATABASE)
        apply(load(SQL / "configs" / "audit.toml"), connect_odbc(odbc))
        connection = Server("", odbc).connect()
        connection.execute(
            "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
            "MessageType, Body) VALUES (NEWID(), NEWID(), 0, N'//redial/audit/event', 0x00);"
        )
        count = 1
        while count < rows:
            connection.execute(
                "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
                f"MessageType, Body) SELECT l.ConversationId, l.ConversationHandle, "
                f"l.MessageSequence + {count}, l.MessageType, l.Body FROM audit.Landing AS l;"
            )
            count *= 2
        first, last = connection.execute(
            "SELECT MIN(l.RowVersion), MAX(l.RowVersion) FROM audit.Landing AS l;"
        ).fetchone()
        connection.close()
        url = re.sub(r"databaseName=[^;]*", f"databaseName={DATABASE}", broker.jdbc)
        yield url, bytes(first), bytes(last), count
