"""Where a client finds its driver, and what it passes to reach a server of ours."""

from __future__ import annotations

from redial.odbc import odbc_driver
from redial_broker.tds.constants import HOST


def odbc_connection_string(
    port: int,
    user: str,
    password: str,
    *,
    database: str = "master",
    driver: str | None = None,
    encrypt: bool = True,
) -> str:
    """For pyodbc. TLS with our self-signed certificate: hence TrustServerCertificate."""
    quoted = password.replace("}", "}}")
    return (
        f"Driver={{{driver or odbc_driver()}}};Server={HOST},{port};Database={database};"
        f"UID={user};PWD={{{quoted}}};Encrypt={'yes' if encrypt else 'no'};"
        "TrustServerCertificate=yes"
    )


def jdbc_url(
    port: int, user: str, password: str, *, database: str = "master", encrypt: bool = True
) -> str:
    """For Microsoft's JDBC driver."""
    quoted = password.replace("}", "}}")
    return (
        f"jdbc:sqlserver://{HOST}:{port};databaseName={database};user={user};"
        f"password={{{quoted}}};encrypt={str(encrypt).lower()};trustServerCertificate=true"
    )
