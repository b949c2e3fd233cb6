"""The one error a deployment raises, and where an error came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from redial.odbc import server_message

__all__ = ["DeployError", "database_at", "placed", "server_message"]

_DATABASE_NAME = 16
"""SQL_DATABASE_NAME of SQLGetInfo: what the driver knows without asking the server."""


NO_FILE = ""
"""What an error names that is of no rendered file."""


class DeployError(Exception):
    """A batch failed; nothing after it was sent.

    ``file`` and ``line`` say where the batch begins in the rendered file (pyodbc does not pass on
    the line the server names inside it); no file: of no rendered one, and who shows the error says which
    command was called. ``number`` and ``text`` are the server's. ``database``: where
    it ran; empty where the driver does not know.
    """

    def __init__(
        self, file: str, line: int, number: int | None, text: str, database: str = ""
    ) -> None:
        self.file = file
        self.line = line
        self.number = number
        self.text = text
        self.database = database
        shown = f"Msg {number}: {text}" if number is not None else text
        super().__init__(f"{file}:{line}: {shown}" if file else shown)


def database_at(connection: Any) -> str:
    """The database a connection is in, as its driver knows it; empty where it does not say."""
    with suppress(Exception):  # another driver, or a connection that is gone
        return str(connection.getinfo(_DATABASE_NAME))
    return ""


@contextmanager
def placed(config: str, database: str, connection: Any = None) -> Iterator[None]:
    """Let an error say of which configuration and database it is (``__notes__``); the innermost says it.

    database: where neither the error nor the connection knows it.
    """
    try:
        yield
    except Exception as error:
        if not getattr(error, "__notes__", None):
            where = getattr(error, "database", "") or database_at(connection) or database
            error.add_note(f"configuration {config}" + (f", database {where}" if where else ""))
        raise
