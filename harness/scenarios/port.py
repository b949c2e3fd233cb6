"""The small port through which scenarios know a server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Server:
    """A server to tell a story to.

    label: what it is, printed beside every figure. odbc: connection string, database included.
    wait: lets the given seconds pass (a virtual clock is advanced, real time is slept).
    """

    label: str
    odbc: str
    wait: Callable[[float], None] = time.sleep

    def connect(self, autocommit: bool = True) -> Any:
        """A DB-API connection of its own. Raises pyodbc.Error."""
        import pyodbc  # here, so that reading a verdict needs no driver

        return pyodbc.connect(self.odbc, autocommit=autocommit, timeout=30)

    def kill(self, session_id: int) -> None:
        """End a session as an administrator does. Raises pyodbc.Error."""
        with self.connect() as connection:
            connection.execute(f"KILL {int(session_id)};")


_DATABASE = re.compile(r"(?i)(?<=;)\s*(?:database|initial catalog)\s*=\s*(\{[^}]*\}|[^;]*)")


def database_of(odbc: str) -> str | None:
    """The database an ODBC connection string names; None when it names none."""
    found = _DATABASE.search(";" + odbc)
    return found.group(1).strip().strip("{}") if found else None


def with_database(odbc: str, database: str) -> str:
    """The connection string with another database."""
    text = _DATABASE.sub("", ";" + odbc)
    parts = [part for part in text.split(";") if part.strip()]
    return ";".join([*parts, f"Database={{{database.replace('}', '}}')}}}"])
