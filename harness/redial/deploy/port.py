"""The small port through which deploy knows a server: a factory of DB-API connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redial.server import CONNECT_SECONDS

Connect = Callable[[], Any]
"""Opens a connection to the database to work on: a DB-API connection whose ``autocommit`` can be
set, as pyodbc's. The caller decides what server that is."""


def connect_odbc(connection_string: str) -> Connect:
    """A factory for an ODBC connection string; its login is bounded by CONNECT_SECONDS."""

    def connect() -> Any:
        import pyodbc  # here, so that rendering and planning need no driver

        return pyodbc.connect(connection_string, autocommit=True, timeout=CONNECT_SECONDS)

    return connect
