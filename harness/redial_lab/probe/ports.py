"""The servers a probe can be run on: an embedded broker in virtual time, or anything over ODBC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_lab.probe.model import ProbeError, Row

PATIENCE_S = 300.0
"""Virtual seconds a batch may take before it counts as hanging."""


class EmbeddedPort:
    """A session of an instance on a virtual clock: delays cost nothing."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.session = instance.connect("master")

    def execute(self, sql: str) -> list[Row]:
        """Run a batch, moving time as far as it waits for it."""
        instance, sink = self.instance, self.session.sink
        sink.clear()
        self.session.submit(Batch(sql))
        instance.run()
        end = instance.clock.now() + PATIENCE_S
        while not sink.finished:
            due = instance.next_due()
            if due is None or instance.clock.now() + due > end:
                self.session.attention()
                raise ProbeError(0, f"does not come to an end: {sql.strip()[:60]}")
            instance.advance(max(due, 0.001))
        error = sink.error()
        if error is not None:
            raise ProbeError(error.number, error.text)
        return sink.result_sets[-1].rows if sink.result_sets else []

    def close(self) -> None:
        """End the session."""
        self.session.close()


class OdbcPort:
    """A connection over ODBC, in autocommit mode as sqlcmd works."""

    def __init__(self, connection: Any) -> None:  # Any: pyodbc's, which has no types
        self.connection = connection
        connection.autocommit = True

    def execute(self, sql: str) -> list[Row]:
        """Run a batch; errors behind a result set are found too."""
        import pyodbc

        from redial.deploy.errors import server_message

        rows: list[Row] = []
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
                while True:
                    if cursor.description is not None:
                        rows = [tuple(row) for row in cursor.fetchall()]
                    if not cursor.nextset():
                        return rows
        except pyodbc.Error as error:
            number, text = server_message(error)
            raise ProbeError(number or 0, text) from None

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


# Any: each switch has a type of its own.
def embedded(switches: dict[str, Any] | None = None) -> Callable[[], EmbeddedPort]:
    """Sessions of one fresh embedded broker."""
    instance = Instance(seed=1, switches=switches)
    return lambda: EmbeddedPort(instance)


def odbc(connect: Callable[[], Any]) -> Callable[[], OdbcPort]:
    """Connections of whatever ``connect`` opens (a ``redial.server.Server``'s)."""
    return lambda: OdbcPort(connect())
