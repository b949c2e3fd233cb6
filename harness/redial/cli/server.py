"""From ``--server`` to a server: an embedded broker in its own process, or a connection string."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from redial.cli.errors import NO_DATABASE, UserError
from redial.config import Config
from redial.deploy.errors import placed
from redial.odbc import server_message
from redial.quoting import literal, quote_name
from redial.server import EMBEDDED_LABEL, Server, database_of, label_of, with_database

EMBEDDED = "embedded"
FILE = "@"
"""Before the path of a file whose first line names the server: a secret that stands on no command line."""
SYSTEM_DATABASES = frozenset({"master", "tempdb", "model", "msdb"})
START_SECONDS = 120.0
"""Longest a broker's process takes to open its port, on a machine with other work to do."""

NO_SUCH_DATABASE = 4060
"""Cannot open database requested by the login (sys.messages)."""
LOG_LINES = 50
BROKER = [sys.executable, "-m", "redial.cli.broker", "--port", "0"]


@dataclass(frozen=True)
class BrokerProcess:
    """A broker that accepts connections. odbc and jdbc lead to master."""

    process: subprocess.Popen[str]
    odbc: str
    jdbc: str
    log: deque[str]
    """The last lines it has written to standard error; a healthy broker writes none."""


@contextmanager
def broker_process(*arguments: str) -> Iterator[BrokerProcess]:
    """``python -m redial.cli.broker`` with ``arguments``, until the block ends.

    A process of its own, so that clients and broker do not share an interpreter lock.
    Raises UserError when it does not start.
    """
    process = subprocess.Popen(
        [*BROKER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        odbc, jdbc = _lines(process)
        yield BrokerProcess(process, odbc, jdbc, _log(process))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _lines(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The two lines a broker prints when it is ready; UserError with its own words otherwise."""
    timer = threading.Timer(START_SECONDS, process.kill)
    timer.start()
    found: dict[str, str] = {}
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        kind, _, value = line.strip().partition(": ")
        found[kind] = value
        if {"ODBC", "JDBC"} <= found.keys():
            break
    timer.cancel()
    if not {"ODBC", "JDBC"} <= found.keys():
        words, _, advice = process.stderr.read().strip().partition("\n  Next: ")
        why = words.splitlines()[-1] if words else f"no answer within {START_SECONDS:.0f} s"
        raise UserError(
            "embedded broker", why, advice or "redial broker --port 0 shows all it says"
        )
    return found["ODBC"], found["JDBC"]


def _log(process: subprocess.Popen[str]) -> deque[str]:
    """What the broker writes from now on; a pipe nobody reads would fill up and stop it."""
    log: deque[str] = deque(maxlen=LOG_LINES)
    errors = process.stderr
    assert errors is not None
    threading.Thread(target=lambda: log.extend(errors), daemon=True).start()
    return log


@contextmanager
def open_server(
    server: str | None,
    database: str | None = None,
    create: bool = False,
    *,
    must_be_named: bool = False,
    labelled: bool = True,
    config: Config | None = None,
) -> Iterator[Server]:
    """The server ``--server`` (or REDIAL_SERVER) names, with a database to work in.

    embedded: a fresh broker with an empty database, gone when the block ends. Anything else is an
    ODBC connection string; it or ``database`` must name a user database, made when ``create``.
    must_be_named: nothing said is no wish for the embedded broker. labelled: whether to ask the server
    what it is, over a connection of its own. config: what is worked on:
    errors name it, and its target's database is made with the other.
    Raises UserError.
    """
    text = named_server(server, must_be_named)
    if text == EMBEDDED:
        with broker_process() as broker:
            own = database or "redial"
            for each in _databases(own, config):
                create_database(broker.odbc, each)
            with _placed(config, own):
                yield Server(EMBEDDED_LABEL, with_database(broker.odbc, own))
        return
    odbc, name = user_database(text, database)
    own = with_database(odbc, name)
    with _placed(config, name):
        if create:
            for each in _databases(name, config):
                with _placed(config, each):
                    create_database(odbc, each)
        try:
            yield Server(_label(own) if labelled else "", own)
        except Exception as error:
            if server_message(error)[0] == NO_SUCH_DATABASE:
                raise _closed(odbc, name) from error
            raise


def user_database(text: str, database: str | None) -> tuple[str, str]:
    """A connection string with a driver, and the database to work in. Raises UserError for none of users."""
    odbc = connection_string(text)
    name = database or database_of(odbc)
    if name is None or name.lower() in SYSTEM_DATABASES:
        raise UserError(
            "--server",
            f"leads to {name or 'no database'}, and Redial installs into user databases only",
            "add --database NAME (and --create to make it)",
        )
    return odbc, name


def _placed(config: Config | None, database: str) -> AbstractContextManager[None]:
    """Errors say of which configuration and database they are, where there is a configuration."""
    return placed(config.name, database) if config else nullcontext()


def _databases(home: str, config: Config | None) -> list[str]:
    """The sender's, and the target's where it is another."""
    other = config.target.database if config else None
    return [home, other] if other else [home]


def _closed(odbc: str, name: str) -> UserError:
    """Why a login does not come into a database, as far as the server's list of databases says."""
    with closing(Server("", with_database(odbc, "master")).connect()) as connection:
        row = connection.execute(
            "SELECT d.state_desc, d.user_access_desc, HAS_DBACCESS(d.name), ORIGINAL_LOGIN() "
            "FROM sys.databases AS d WHERE d.name = ?;",
            name,
        ).fetchone()
    quoted = quote_name(name)
    if row is None:
        return UserError(
            f"database {name}",
            "there is none of that name on this server, or this login may not see it (4060)",
            NO_DATABASE,
        )
    state, access, _, login = row
    if state != "ONLINE":
        return UserError(
            f"database {name}",
            f"is {state.replace('_', ' ')}: nobody comes into it (4060)",
            f"ALTER DATABASE {quoted} SET ONLINE; or let its restore end",
        )
    if access != "MULTI_USER":
        return UserError(
            f"database {name}",
            f"is in {access.replace('_', ' ')} mode, and not open to this login (4060)",
            f"let whoever has it go; then ALTER DATABASE {quoted} SET MULTI_USER;",
        )
    return UserError(
        f"database {name}",
        f"login {login} has no user in it (4060)",
        f"let a member of its db_owner run there: CREATE USER {quote_name(login)} FOR LOGIN "
        f"{quote_name(login)};",
    )


def named_server(server: str | None, must_be_named: bool = False) -> str:
    """What names the server: the option, else REDIAL_SERVER, else the word for the embedded broker.

    An empty text is an error, never a default: it is what a secret that was not set looks like.
    Raises UserError; also when nothing names one and ``must_be_named``.
    """
    for what, text in (("--server", server), ("REDIAL_SERVER", os.environ.get("REDIAL_SERVER"))):
        if text is not None and not text.strip():
            raise UserError(
                what,
                "is empty: is the secret or variable behind it set?",
                f"pass an ODBC connection string, or '{EMBEDDED}'",
            )
        if text is not None:
            return _from_file(what, text[1:]) if text.startswith(FILE) else text
    if must_be_named:
        raise UserError(
            "--server",
            "is missing, and so is REDIAL_SERVER: nothing says which server is meant",
            f"add --server with an ODBC connection string, or --server {EMBEDDED} for a broker "
            "that goes away with the command",
        )
    return EMBEDDED


def _from_file(what: str, path: str) -> str:
    """The first line of a file. Raises UserError, which never shows what is in it."""
    try:
        line = Path(path).read_text("utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(
            f"{what} {FILE}{path}", f"cannot be read: {why}", "check the path and who may read it"
        ) from None
    if not line:
        raise UserError(
            f"{what} {FILE}{path}", "its first line is empty", "put the connection string there"
        )
    return line


def connection_string(text: str) -> str:
    """An ODBC connection string with a driver; raises UserError for text that is none."""
    if text.lower().startswith(("jdbc:", "mssql://", "mssql+")) or "=" not in text:
        raise UserError(
            f"--server {_without_secrets(text)}",
            "is not understood",
            f"pass '{EMBEDDED}' or an ODBC connection string: Server=host,port;UID=...;PWD=...",
        )
    if re.search(r"(?i)(?:^|;)\s*(driver|dsn)\s*=", text):
        return text
    from redial.odbc import odbc_driver

    return f"Driver={{{odbc_driver()}}};{text}"


def _without_secrets(text: str) -> str:
    """Enough of a text to know it by: what it begins with where that is a known form, else how long it is.

    A password may stand anywhere, or be all of it.
    """
    form = _FORM.match(text)
    return f"{form[0]}..." if form else f"(a text of {len(text)} characters)"


_FORM = re.compile(r"(?i)(jdbc:)?(mssql|sqlserver|odbc|pyodbc|tds)(\+\w+)?://|jdbc:(?=[a-z])")
"""How URLs of servers begin."""


def create_database(odbc: str, name: str) -> None:
    """Make a database where there is none of that name. Raises pyodbc.Error."""
    connection = Server("", with_database(odbc, "master")).connect()
    try:
        connection.execute(f"IF DB_ID({literal(name)}) IS NULL CREATE DATABASE {quote_name(name)};")
    finally:
        connection.close()


def _label(odbc: str) -> str:
    """What a server says it is, first line."""
    connection = Server("", odbc).connect()
    try:
        version: str = connection.execute("SELECT @@VERSION;").fetchone()[0]
    finally:
        connection.close()
    return label_of(version)
