"""``invoke scenario``: one story on the embedded broker or on any SQL Server, and its verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from rich.console import Console

from redial.cli.errors import UserError, command
from redial.cli.server import EMBEDDED, connection_string, named_server
from redial.render.quoting import literal, quote_name
from redial.server import Server, label_of, with_database
from redial_lab.scenarios.all import SCENARIOS, summary
from redial_lab.scenarios.odbc import OdbcPort
from redial_lab.scenarios.port import Port
from redial_lab.scenarios.story import Scenario, StoryError, told
from redial_lab.scenarios.total_queue import table_of

LIST = "list"
RIGHTS = ("CREATE ANY DATABASE", "ALTER ANY CONNECTION", "VIEW SERVER STATE")
"""To make the story's database, to kill sessions, to see readers and deadlock reports."""


@command
def scenario(name: str, server: str | None = None, mutant: str = "", keep: bool = False) -> int:
    """Tell one story; 1 when its verdict is not clean. LIST lists them.

    server: 'embedded' (also from REDIAL_SERVER) or an ODBC connection string; the story makes a
    database of its own there and drops it. mutant: a known-bad variant to install instead. keep:
    leave that database, to look at it.
    """
    console = Console()
    if name == LIST:
        for known in SCENARIOS:
            console.print(f"[bold]{known}[/]  {summary(known)}", highlight=False)
        return 0
    if name not in SCENARIOS:
        raise UserError(
            f"scenario {name!r}",
            "there is no such scenario",
            f"use {LIST}, or one of {', '.join(SCENARIOS)}",
        )
    story = SCENARIOS[name]
    _known_mutant(mutant)
    console.print(f"[bold]{name}[/]: {summary(name)}", highlight=False)
    for difference in story.differs:
        console.print(f"  servers differ: {difference}", highlight=False, markup=False)
    with _port(named_server(server), story, keep) as port:
        return _tell(console, story, port, mutant or None)


def _tell(console: Console, story: Scenario, port: Port, mutant: str | None) -> int:
    """The story and its verdict."""
    started = time.monotonic()
    try:
        found = told(
            story,
            port,
            mutant,
            lambda text: console.print(f"  {text}", highlight=False, markup=False),
        )
    except StoryError as error:
        raise UserError(
            f"scenario {story.name}", str(error), "remove the cause and run the same command again"
        ) from error
    console.print(table_of(found, f"verdict: {story.name} ({port.label})"))
    for problem in found.problems:
        console.print(f"  - {problem}", highlight=False, markup=False)
    words = "[bold green]clean[/]" if found.clean else "[bold red]not clean[/]"
    console.print(f"{words}, {time.monotonic() - started:.1f} s ({port.label})", highlight=False)
    return 0 if found.clean else 1


def _known_mutant(name: str) -> None:
    from redial.paths import SQL
    from redial.render import mutant_names

    names = mutant_names(SQL)
    if name and name not in names:
        raise UserError(
            f"--mutant {name}",
            "there is no such entry in sql/mutants/mutants.toml",
            f"use one of {', '.join(names)}",
        )


@contextmanager
def _port(server: str, story: Scenario, keep: bool) -> Iterator[Port]:
    """The embedded broker on its virtual clock, or a database of the story's own on a server."""
    if server == EMBEDDED:
        from redial_lab.virtual import VirtualPort

        yield VirtualPort()
        return
    odbc = with_database(connection_string(server), "master")
    database = f"redial_scenario_{story.name.replace('-', '_')}"
    admin = Server("", odbc).connect()
    with closing(admin):
        label = _ready(admin, database)
        try:
            yield OdbcPort(Server(label, with_database(odbc, database)))
        finally:
            if not keep:
                _drop(admin, database)


def _ready(admin: Any, database: str) -> str:
    """Make the database; what the server says it is. Raises UserError for what is in the way."""
    missing = [
        right
        for right in RIGHTS
        if not admin.execute(f"SELECT HAS_PERMS_BY_NAME(NULL, NULL, {literal(right)});").fetchone()[
            0
        ]
    ]
    if missing:
        raise UserError(
            "--server",
            f"this login has no right to {', '.join(missing)}",
            "GRANT them, or use a login that is a sysadmin of a test server",
        )
    if admin.execute(f"SELECT DB_ID({literal(database)});").fetchone()[0] is not None:
        raise UserError(
            f"database {database}",
            "is there already, from a story that was kept",
            f"DROP DATABASE {quote_name(database)};",
        )
    admin.execute(f"CREATE DATABASE {quote_name(database)};")
    version = admin.execute("SELECT @@VERSION;").fetchone()[0]
    return label_of(version)


def _drop(admin: Any, database: str) -> None:
    """The story's own database, whoever is still in it."""
    name = quote_name(database)
    admin.execute(f"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE;")
    admin.execute(f"DROP DATABASE {name};")
