"""From ``--server`` to a server: an embedded broker in its own process, or a connection string."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redial.cli.errors import UserError
from redial.server import EMBEDDED_LABEL, Server, database_of, label_of, with_database

EMBEDDED = "embedded"
SYSTEM_DATABASES = frozenset({"master", "tempdb", "model", "msdb"})
START_SECONDS = 30.0
"""Longest a broker's process takes to open its port."""

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
) -> Iterator[Server]:
    """The server ``--server`` (or REDIAL_SERVER) names, with a database to work in.

    embedded: a fresh broker with an empty database, gone when the block ends. Anything else is an
    ODBC connection string; it or ``database`` must name a user database, made when ``create``.
    must_be_named: nothing said is no wish for the embedded broker. Raises UserError.
    """
    text = named_server(server, must_be_named)
    if text == EMBEDDED:
        with broker_process() as broker:
            own = database or "redial"
            create_database(broker.odbc, own)
            yield Server(EMBEDDED_LABEL, with_database(broker.odbc, own))
        return
    odbc = connection_string(text)
    name = database or database_of(odbc)
    if name is None or name.lower() in SYSTEM_DATABASES:
        raise UserError(
            "--server",
            f"leads to {name or 'no database'}, and Redial installs into user databases only",
            "add --database NAME (and --create to make it)",
        )
    if create:
        create_database(odbc, name)
    yield Server(_label(with_database(odbc, name)), with_database(odbc, name))


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
            return text
    if must_be_named:
        raise UserError(
            "--server",
            "is missing, and so is REDIAL_SERVER: nothing says which server is meant",
            f"add --server with an ODBC connection string, or --server {EMBEDDED} for a broker "
            "that goes away with the command",
        )
    return EMBEDDED


def connection_string(text: str) -> str:
    """An ODBC connection string with a driver; raises UserError for text that is none."""
    if text.lower().startswith(("jdbc:", "mssql://", "mssql+")) or "=" not in text:
        raise UserError(
            f"--server {_without_secrets(text)!r}",
            "is not understood",
            f"pass '{EMBEDDED}' or an ODBC connection string: Server=host,port;UID=...;PWD=...",
        )
    if re.search(r"(?i)(?:^|;)\s*(driver|dsn)\s*=", text):
        return text
    from redial.odbc import odbc_driver

    return f"Driver={{{odbc_driver()}}};{text}"


def _without_secrets(text: str) -> str:
    """Enough of a text to know it by: of a URL the scheme, else its first word.

    A password may stand anywhere behind those.
    """
    scheme, found, _ = text.partition("://")
    if found:
        return f"{scheme}://..."
    return re.split(r"[=;@/\s]", text, maxsplit=1)[0][:40]


def create_database(odbc: str, name: str) -> None:
    """Make a database where there is none of that name. Raises pyodbc.Error."""
    from redial.render.quoting import literal, quote_name

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
