"""An embedded instance of this process behind the port of ``deploy``: a DB-API connection."""

from __future__ import annotations

from typing import Any

from redial.quoting import literal
from redial_broker.instance.instance import Instance
from redial_broker.instance.results import ERROR_ABOVE, ResultSet


def written(value: Any) -> str:
    """A parameter as a constant; question marks in it are not parameters."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, int):
        return str(value)
    return literal(value).replace("?", "' + NCHAR(63) + N'")


class Connection:
    """Of one session. Raises AssertionError with the server's first error."""

    def __init__(self, instance: Instance, database: str) -> None:
        self.session = instance.connect()
        self.autocommit = True
        self.cursor().execute(f"USE [{database.replace(']', ']]')}];")

    def cursor(self) -> Cursor:
        return Cursor(self)

    def close(self) -> None:
        self.session.close()


class Cursor:
    """The result sets of one batch."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.sets: list[ResultSet] = []

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        for value in parameters:
            sql = sql.replace("?", written(value), 1)
        answer = self.connection.session.execute(sql)
        errors = [m for m in answer.messages if m.severity > ERROR_ABOVE]
        assert not errors, errors
        self.sets = list(answer.result_sets)
        return self

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        return [(name,) for name in self.sets[0].names] if self.sets else None

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchall()), None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.sets[0].rows if self.sets else []

    def nextset(self) -> bool:
        del self.sets[:1]
        return bool(self.sets)

    def close(self) -> None:
        self.sets = []
