"""A server by its connection string: the port through which everything but deploy knows one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OURS = "EMBEDDED BROKER"
"""What @@VERSION of the embedded broker has in it, and no server's."""
EMBEDDED_LABEL = "embedded broker, not SQL Server"
"""What stands beside every figure that is not a server's."""


CONNECT_SECONDS = 15
"""How long a server may take to answer a login: the drivers' own default."""


@dataclass(frozen=True)
class Server:
    """A server to tell a story to."""

    label: str
    """What it is, printed beside every figure."""
    odbc: str
    """Connection string, database included."""
    wait: Callable[[float], None] = time.sleep
    """Lets the given seconds pass (a virtual clock is advanced, real time is slept)."""

    def connect(self, autocommit: bool = True) -> Any:
        """A DB-API connection of its own. Raises pyodbc.Error."""
        import pyodbc  # here, so that reading a verdict needs no driver

        return pyodbc.connect(self.odbc, autocommit=autocommit, timeout=CONNECT_SECONDS)

    def kill(self, session_id: int) -> None:
        """End a session as an administrator does. Raises pyodbc.Error."""
        with self.connect() as connection:
            connection.execute(f"KILL {int(session_id)};")


_PAIR = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)\s*(?:;|$)")
"""One ``keyword=value``; a value in braces may hold semicolons, and braces doubled."""

_DATABASE = ("database", "initial catalog")


def pairs(odbc: str) -> list[tuple[str, str]]:
    """Keywords and values of a connection string, in order."""
    return list(_PAIR.findall(odbc))


def database_of(odbc: str) -> str | None:
    """The database an ODBC connection string names; None when it names none."""
    for keyword, value in pairs(odbc):
        if keyword.lower() in _DATABASE:
            return unbraced(value)
    return None


_ADDRESS = ("server", "address", "addr", "network address", "dsn")


def address_of(odbc: str) -> str:
    """What a connection string leads to, and nothing else of it: a password may stand beside."""
    for keyword, value in pairs(odbc):
        if keyword.lower() in _ADDRESS:
            return unbraced(value)
    return "a server"


def unbraced(value: str) -> str:
    """A value of a connection string as it is meant."""
    value = value.strip()
    braced = len(value) > 1 and value.startswith("{") and value.endswith("}")
    return value[1:-1].replace("}}", "}") if braced else value


def label_of(version: str) -> str:
    """What stands beside a server's figures: the first line of its @@VERSION, or that it is ours."""
    return EMBEDDED_LABEL if OURS in version else version.splitlines()[0].strip()


def with_database(odbc: str, database: str) -> str:
    """The connection string with another database."""
    quoted = "{" + database.replace("}", "}}") + "}"
    kept = [pair for pair in pairs(odbc) if pair[0].lower() not in _DATABASE]
    return ";".join(f"{keyword}={value}" for keyword, value in [*kept, ("Database", quoted)])
