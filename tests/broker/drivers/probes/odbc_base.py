"""How the ODBC probes connect, with either driver."""

from __future__ import annotations

import contextlib
import os

import pyodbc

from tests.broker.drivers.probe import options
from tests.waiting import LOGIN

GIVEN = options()
FREETDS = GIVEN.driver == "freetds"


def text(port: int = 0, **changes: str) -> str:
    """A connection string to the broker, with some of its keys changed."""
    if FREETDS:
        keys = {
            "Driver": GIVEN.freetds,
            "Server": "127.0.0.1",
            "Port": str(port or GIVEN.port),
            "TDS_Version": "7.4",
            "Database": "matrix",
            "UID": GIVEN.user,
            "PWD": GIVEN.password,
        }
    else:
        keys = dict(part.split("=", 1) for part in GIVEN.odbc.split(";") if part)
        keys |= {"Database": "matrix", "Server": f"127.0.0.1,{port or GIVEN.port}"}
    keys |= changes
    return ";".join(f"{key}={value}" for key, value in keys.items())


def connect(autocommit: bool = True, port: int = 0, **changes: str) -> pyodbc.Connection:
    return pyodbc.connect(text(port, **changes), autocommit=autocommit, timeout=LOGIN)


@contextlib.contextmanager
def opened(autocommit: bool = True, **changes: str):
    connection = connect(autocommit, **changes)
    try:
        yield connection
    finally:
        with contextlib.suppress(pyodbc.Error):
            connection.close()


def value(sql: str, *parameters: object, **changes: str) -> object:
    with opened(**changes) as connection:
        return connection.execute(sql, *parameters).fetchval()


@contextlib.contextmanager
def freetds_file(*lines: str):
    """FreeTDS reads whom to trust, and a packet size, from a file of its own only."""
    path = f"{GIVEN.pem}.conf"
    with open(path, "w") as file:
        file.write(
            f"[matrix]\nhost = 127.0.0.1\nport = {GIVEN.port}\ntds version = 7.4\n"
            + "\n".join(lines)
            + "\n"
        )
    os.environ["FREETDSCONF"] = path
    try:
        yield
    finally:
        del os.environ["FREETDSCONF"]


def by_name(sql: str = "SELECT 1") -> object:
    login = f"Driver={GIVEN.freetds};Servername=matrix;UID={GIVEN.user};PWD={GIVEN.password}"
    connection = pyodbc.connect(login, autocommit=True, timeout=LOGIN)
    try:
        return connection.execute(sql).fetchval()
    finally:
        connection.close()
