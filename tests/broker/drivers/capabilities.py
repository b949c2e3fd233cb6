"""What the driver matrix has for rows and columns, and which cells are not a plain "yes"."""

from __future__ import annotations

from typing import NamedTuple


class Driver(NamedTuple):
    """A column. marker: pytest's, beside ``driver``."""

    title: str
    marker: str = "driver"


class Cell(NamedTuple):
    """What the matrix promises. why: the footnote of a cell that needs one.

    outcome: yes: the check passes. refused: the broker refuses, by name. none: the driver has no
    such thing, nothing is run. fault: the driver's own fault; its check runs and must fail.
    """

    outcome: str
    why: str = ""


DRIVERS = {
    "odbc": Driver("pyodbc + ODBC Driver 18"),
    "freetds": Driver("pyodbc + FreeTDS"),
    "pymssql": Driver("pymssql"),
    "pytds": Driver("python-tds"),
    "jdbc": Driver("mssql-jdbc", "jvm"),
    "tedious": Driver("tedious", "node"),
}

DIALECTS = {
    "sqlalchemy+pyodbc": Driver("mssql+pyodbc"),
    "sqlalchemy+pymssql": Driver("mssql+pymssql"),
}

CAPABILITIES = {
    "tls": "TLS for the whole connection",
    "login_tls": "TLS for the login only, or none",
    "strict": "TDS 8.0: TLS first (strict)",
    "certificate": "a trusted certificate passes, an unknown one does not",
    "wrong_password": "wrong password",
    "wrong_database": "wrong database",
    "integrated": "integrated authentication",
    "column_encryption": "column encryption",
    "intent": "application intent ReadOnly",
    "packets": "packet sizes",
    "types": "every type, values and NULLs",
    "parameters": "every type as a parameter",
    "results": "empty and several results",
    "messages": "PRINT, RAISERROR below 11",
    "errors": "errors",
    "procedures": "procedures: OUTPUT values, return status",
    "prepared": "statements run again with other values",
    "large": "50 MB nvarchar(max), varbinary(max), xml, both ways",
    "batches": "many rows, one statement",
    "bulk": "bulk load",
    "table_values": "table-valued parameters",
    "cursors": "server cursors",
    "cancel": "cancel",
    "timeout": "query timeout, connection usable after",
    "transactions": "transactions by the driver",
    "savepoints": "savepoints",
    "isolation": "isolation levels, SNAPSHOT included",
    "killed": "KILL, busy and idle; then a new connection",
    "lost": "connection cut during a request",
    "pool": "a pooled connection starts clean",
    "database": "change of database",
    "catalog": "catalog calls",
    "describe": "a result described before it runs",
    "mars": "several active results (MARS)",
}

DIALECT_CAPABILITIES = {
    "first_connect": "first connect",
    "create_all": "create_all, twice",
    "inspect": "inspect: tables, columns, keys, indexes, views",
    "autoload": "reflection: autoload_with, MetaData.reflect",
    "orm": "ORM round trip",
    "many": "many rows, streamed results",
    "errors": "exception classes",
    "isolation": "isolation levels",
    "savepoints": "savepoints",
    "upsert": "upsert by MERGE",
    "pool": "pool",
    "drop_all": "drop_all",
}

_NO_API = "the driver has no such API"
_TEXT_ONLY = "the driver puts the values into the statement's text"
_NOT_POOLED = "the driver has no pool of its own"
_NO_CURSOR = "the driver never asks for a server cursor"

EXPECTED: dict[tuple[str, str], Cell] = {
    ("odbc", "integrated"): Cell("refused", "it fails in the driver, without a Kerberos ticket"),
    ("odbc", "bulk"): Cell("none", "pyodbc has no bulk load"),
    ("odbc", "cursors"): Cell("none", "pyodbc cannot choose a cursor type"),
    ("odbc", "mars"): Cell("refused", "the driver gives no error text"),
    ("odbc", "pool"): Cell("yes", "the driver manager's pooling is off by default"),
    ("freetds", "wrong_database"): Cell(
        "yes", "the driver shows 18456, the second of the two errors"
    ),
    ("freetds", "strict"): Cell("none", _NO_API),
    ("freetds", "bulk"): Cell("none", "pyodbc has no bulk load"),
    ("freetds", "cursors"): Cell("none", "pyodbc cannot choose a cursor type"),
    ("freetds", "table_values"): Cell("fault", "HY004: tdsodbc binds no table-valued parameters"),
    ("freetds", "transactions"): Cell(
        "yes", "the driver does not notice a rollback by the server: 3903"
    ),
    ("freetds", "types"): Cell("yes", "HY091 for sql_variant: tdsodbc has no such type"),
    ("freetds", "pool"): Cell("yes", "the driver manager's pooling is off by default"),
    ("pymssql", "strict"): Cell("none", _NO_API),
    ("pymssql", "wrong_database"): Cell(
        "yes", "the driver shows 18456, the second of the two errors"
    ),
    ("pymssql", "prepared"): Cell("yes", _TEXT_ONLY),
    ("pymssql", "parameters"): Cell("yes", _TEXT_ONLY),
    ("pymssql", "table_values"): Cell("none", _NO_API),
    ("pymssql", "cursors"): Cell("none", _NO_CURSOR),
    ("pymssql", "cancel"): Cell("none", _NO_API),
    ("pymssql", "timeout"): Cell("yes", "the driver closes the connection instead"),
    ("pymssql", "pool"): Cell("none", _NOT_POOLED),
    ("pytds", "strict"): Cell("none", _NO_API),
    ("pytds", "cursors"): Cell("none", _NO_CURSOR),
    ("pytds", "cancel"): Cell(
        "yes", "a cancel from another thread takes the waiting thread's answer"
    ),
    ("jdbc", "mars"): Cell("none", _NO_API),
    ("tedious", "batches"): Cell("none", _NO_API),
    ("tedious", "cursors"): Cell("none", _NO_CURSOR),
    ("tedious", "mars"): Cell("none", _NO_API),
}
"""(driver, capability) -> cell. Every other one is a plain "yes", or a refusal from ``REFUSED``."""

REFUSED = {
    "integrated": "only SQL Server logins are accepted: 18452",
    "column_encryption": "it is never granted to a client that asks; CREATE COLUMN ... KEY is refused",
    "mars": "they are not offered at login, so a driver falls back or gives up",
}
"""Capabilities the broker refuses to every driver."""


def expected(driver: str, capability: str) -> Cell:
    """What the matrix promises for a cell."""
    usual = Cell("refused") if capability in REFUSED else Cell("yes")
    return EXPECTED.get((driver, capability), usual)
