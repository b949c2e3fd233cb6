"""Connections of the data source, on the driver and in the executors.

pyodbc with Microsoft's ODBC Driver 18 out of the package mssql-python-odbc, both from PyPI: workers
have no JVM, and this pair passes table-valued parameters, which a batch of messages is.
"""

from __future__ import annotations

import re
from typing import Any

from redial.odbc import DriverNotFound, odbc_driver, server_message
from redial.spark.options import Options

APP = "redial-spark"
_HAS_DRIVER = re.compile(r"(?i)(^|;)\s*driver\s*=")
_PASSWORD = re.compile(r"(?i)(?:^|;)\s*(?:pwd|password)\s*=\s*(?:\{((?:[^}]|\}\})*)\}|([^;]*))")
_PORT = re.compile(r":(\d+)$")


class SourceError(RuntimeError):
    """Something the data source cannot do: object, cause, next step. Never shows a secret.

    number: the server's, None when it did not answer.
    """

    def __init__(self, text: str, number: int | None = None) -> None:
        self.number = number
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.number)


def connection_string(options: Options) -> str:
    """What pyodbc is given. A secret: not for a message or a log."""
    if options.odbc is not None:
        text = options.odbc.get_secret_value()
        return text if _HAS_DRIVER.search(text) else f"Driver={{{_driver()}}};{text}"
    server = _PORT.sub(r",\1", options.server or "")
    pairs = {
        "Driver": _braced(_driver()),
        "Server": server,
        "Database": _braced(options.database or ""),
        "Encrypt": options.encrypt,
        "TrustServerCertificate": "yes" if options.trust_server_certificate else "no",
        "APP": APP,
    }
    if options.authentication is not None:
        pairs["Authentication"] = options.authentication
    elif options.user is None:
        pairs["Trusted_Connection"] = "yes"
    if options.user is not None:
        pairs["UID"] = _braced(options.user)
    if options.password is not None:
        pairs["PWD"] = _braced(options.password.get_secret_value())
    return ";".join(f"{name}={value}" for name, value in pairs.items())


def open_connection(options: Options, autocommit: bool = True) -> Any:
    """A connection of its own. Raises SourceError naming server and login."""
    import pyodbc  # here, so that the options can be checked without a driver

    try:
        return pyodbc.connect(
            connection_string(options), autocommit=autocommit, timeout=options.login_timeout
        )
    except pyodbc.Error as error:
        number, text = server_message(error)
        where = options.server or "the server of option odbc"
        who = f" as {options.user}" if options.user else ""
        raise SourceError(
            f"{where}{who}: {hidden(text, options)} Next: check server, database, login and "
            "password, and that the port can be reached from the executors",
            number,
        ) from None


def told(error: BaseException, options: Options, doing: str, next_step: str) -> SourceError:
    """A driver's error as one of ours: what was being done, the server's words, what to do."""
    number, text = server_message(error)
    shown = f"Msg {number}: {text}" if number is not None else text
    more = "" if "Next: " in text else f" Next: {next_step}"
    return SourceError(f"{doing}: {hidden(shown, options)}{more}", number)


def hidden(text: str, options: Options) -> str:
    """The text without the password, should a driver ever repeat it."""
    secrets = [s.get_secret_value() for s in (options.password, options.odbc) if s is not None]
    secrets += [a.replace("}}", "}") or b for text_ in secrets for a, b in _PASSWORD.findall(text_)]
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def _braced(value: str) -> str:
    """A value of a connection string: in braces, a closing one doubled."""
    return "{" + value.replace("}", "}}") + "}"


def _driver() -> str:
    try:
        return odbc_driver()
    except DriverNotFound as error:
        raise SourceError(str(error)) from None
