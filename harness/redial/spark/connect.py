"""Connections of the data source, on the driver and in the executors.

pyodbc with Microsoft's ODBC Driver 18 out of the package mssql-python-odbc, both from PyPI: workers
have no JVM, and this pair passes table-valued parameters, which a batch of messages is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from redial.odbc import DriverNotFound, odbc_driver, server_message
from redial.spark.credentials import token_attribute
from redial.spark.options import Options

APP = "redial-spark"
READER = "a login in the configuration's reader role"
"""What helps who may not read."""
NAMED = 10
"""Wrong messages that the server names, at most."""
_HAS_DRIVER = re.compile(r"(?i)(^|;)\s*driver\s*=")
_PORT = re.compile(r":(\d+)$")


class SourceError(RuntimeError):
    """Something the data source cannot do: object, cause, next step. Never shows a secret.

    number: the server's, None when it did not answer. passing: it may be over by itself.
    """

    def __init__(self, text: str, number: int | None = None, passing: bool = False) -> None:
        self.number = number
        self.passing = passing
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.number, self.passing)


PASSING = frozenset(
    {1205}  # a deadlock's victim (1222 has lockTimeout, its own bound)
    | {3960, 3961}  # a row or an object changed under snapshot isolation
    | {596, 6005, 17142, 18401}  # a session that is killed; a server that stops, pauses, upgrades
    | {922, 924, 927}  # the database is recovered, in single user's hands, restored
    | {976, 978, 983, 988}  # an availability group fails over
    | {701, 802, 8645, 8651}  # no memory just now
    | {9001, 9002, 1105}  # log or disk full until somebody makes room
    | {10928, 10929, 40197, 40501, 40613, 49918, 49919, 49920}  # Azure: busy, or moving
)
"""Numbers of errors that pass by themselves, or by somebody's hand that is on its way (Microsoft's
pages on the errors, and on transient errors of Azure SQL)."""
STARTING = frozenset({4060, 18456})
"""Database or login refused: for moments while a server starts, and for ever by a wrong option. They
pass where this process was let in before."""
LOST = frozenset({"08001", "08003", "08007", "08S01", "HYT00", "HYT01", "HY117"})
"""SQLSTATE of a server that is away, a connection that was cut, an answer that did not come."""

_let_in: set[int] = set()
"""Hashes of the connection strings this process was let in with."""


UNTRUSTED = re.compile(
    "(?i)certificate verify failed"  # OpenSSL's words, with the reason behind them
    "|certificate chain was issued by an authority that is not trusted"  # and Windows'
    "|target principal name is incorrect|received certificate has expired"
)
"""A certificate that is refused stays refused. Other trouble of TLS may pass: a server that starts."""
MISSPELT = re.compile(
    "(?i)invalid value specified for connection string|neither DSN nor SERVER keyword supplied"
    "|invalid file path for server certificate"
)
"""What the driver finds in the connection string itself; its SQLSTATE is that of a lost server."""


def passing(error: BaseException, number: int | None) -> bool:
    """Whether a driver's error may be over by itself; with a number the server decides."""
    if number in PASSING:
        return True
    if UNTRUSTED.search(str(error)) or MISSPELT.search(str(error)):
        return False
    state = str(error.args[0]) if error.args else ""
    return state in LOST and not (number is not None and 18450 <= number <= 18488)


def connection_string(options: Options) -> str:
    """What pyodbc is given. A secret: not for a message or a log."""
    if options.odbc is not None:
        text = options.odbc.get_secret_value()
        own = {} if _HAS_DRIVER.search(text) else {"Driver": _braced(_driver())}
        # First, so that a brace left open in the text does not make them part of another value.
        return _joined(own | _login(options)) + text
    server = _PORT.sub(r",\1", options.server or "")
    pairs = {
        "Driver": _braced(_driver()),
        "Server": server,
        "Database": _braced(options.database or ""),
        "Encrypt": options.encrypt,
        "TrustServerCertificate": "yes" if options.trust_server_certificate else "no",
        "APP": APP,
    }
    if options.host_name_in_certificate is not None:
        pairs["HostnameInCertificate"] = options.host_name_in_certificate
    if options.application_intent is not None:
        pairs["ApplicationIntent"] = options.application_intent
    if options.authentication is not None:
        pairs["Authentication"] = options.authentication
    elif options.user is None and options.access_token is None:
        pairs["Trusted_Connection"] = "yes"
    return _joined(pairs | _login(options))


def _login(options: Options) -> dict[str, str]:
    """Login and password; neither with a token, which is no part of the string."""
    found = {}
    if options.user is not None:
        found["UID"] = _braced(options.user)
    if options.password is not None:
        found["PWD"] = _braced(options.password.get_secret_value())
    return found


def _joined(pairs: dict[str, str]) -> str:
    return "".join(f"{name}={value};" for name, value in pairs.items())


def open_connection(options: Options, autocommit: bool = True) -> Any:
    """A connection of its own. Raises SourceError naming server and login."""
    import pyodbc  # here, so that the options can be checked without a driver

    token = options.access_token
    before = {} if token is None else token_attribute(token.get_secret_value())
    text_of_it = connection_string(options)
    try:
        connection = pyodbc.connect(
            text_of_it,
            autocommit=autocommit,
            timeout=options.login_timeout,
            attrs_before=before,
        )
    except pyodbc.Error as error:
        number, text = server_message(error)
        where = options.server or "the server of option odbc"
        who = f" as {options.user}" if options.user else ""
        step = _way_in(number, text)
        passes = passing(error, number) or (number in STARTING and hash(text_of_it) in _let_in)
        raise SourceError(
            f"{where}{who}: {sentence(hidden(text, options))} Next: {step}", number, passes
        ) from None
    _let_in.add(hash(text_of_it))
    connection.timeout = options.query_timeout
    return connection


def _way_in(number: int | None, text: str) -> str:
    """What helps when no connection comes about."""
    if UNTRUSTED.search(text):
        return (
            "hostNameInCertificate with the name the certificate has, or its authority among those "
            "this machine trusts; for a test server trustServerCertificate = true"
        )
    if MISSPELT.search(text):
        return "mend what the text names, in option odbc or in the option of that name"
    if number in (4060, 916):
        return "check option database, and that the login has a user in it"
    if number is not None and 18450 <= number <= 18488:
        return "check user and password (or accessToken), and that the server knows this login"
    return (
        "check server, database, login and password, and that the port can be reached from the "
        "executors"
    )


def close(connection: Any) -> None:
    """End a connection that may be gone; what is open is rolled back."""
    with suppress(Exception):
        connection.close()


def told(error: BaseException, options: Options, doing: str, next_step: str) -> SourceError:
    """A driver's error as one of ours: what was being done, the server's words, what to do.

    next_step: for whatever has no step of its own; most often the role that lacks.
    """
    number, text = server_message(error)
    text = brief(text)
    shown = f"Msg {number}: {text}" if number is not None else text
    shown = hidden(shown, options)
    if "Next: " not in text:
        shown = f"{sentence(shown)} Next: {_remedy(error, number, options) or next_step}"
    return SourceError(f"{doing}: {shown}", number, passing(error, number))


def brief(text: str) -> str:
    """Of messages that are wrong in one way (50150), the first and how many more."""
    head, *rows = re.split(r"(?=\bOrdinal \d+: )", text)
    first: dict[str, str] = {}  # rule -> the first that breaks it
    more: dict[str, int] = {}
    for row in map(str.strip, rows):
        rule = row.partition(": ")[2]
        rule = next((known for known in first if known.startswith(rule)), rule)  # one cut off
        more[rule] = more.get(rule, -1) + 1
        first.setdefault(rule, row)
    least = " at least" if len(rows) == NAMED else ""
    told = (f"{first[r]} (And {n} more{least}.)" if n else first[r] for r, n in more.items())
    return head + " ".join(told)


def sentence(text: str) -> str:
    """With its full stop, which a driver's own words often lack."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", ".)")) else text + "."


def _remedy(error: BaseException, number: int | None, options: Options) -> str | None:
    """What helps with errors that mean the same whatever was being done."""
    if isinstance(error, UnicodeDecodeError):
        return (
            "correct the text that has half of a surrogate pair (UPDATE), or leave its column out with "
            "option columns"
        )
    if number in (208, 2812):  # no such table, no such procedure
        return (
            f"check options database and schema ({options.schema_name}); where they are right, the "
            "configuration is not installed there, or without the module that this is part of ([modules]: "
            "a write needs bulk and pieces): redial deploy"
        )
    if error.args and error.args[0] == "HYT00":
        return "look what blocks it (sys.dm_exec_requests), or a larger queryTimeout"
    if passing(error, number):
        return "see whether the server is up and has room; a larger retrySeconds waits longer"
    return None


@contextmanager
def explained(options: Options, doing: str, next_step: str) -> Iterator[None]:
    """Statements whose errors, whichever driver's, are told as ``told`` does."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        raise told(error, options, doing, next_step) from None


def hidden(text: str, options: Options) -> str:
    """The text without a secret, should a driver ever repeat it."""
    secrets = [s.get_secret_value() for s in (options.password, options.access_token) if s]
    secrets += [s.replace("}", "}}") for s in secrets if "}" in s]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
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
