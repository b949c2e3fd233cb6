"""The small port through which scenarios know a server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from harness.config import Config


@dataclass(frozen=True)
class Server:
    """A server to tell a story to.

    label: what it is, printed beside every figure. odbc: connection string, database included.
    wait: lets the given seconds pass (a virtual clock is advanced, real time is slept).
    """

    label: str
    odbc: str
    wait: Callable[[float], None] = time.sleep

    def connect(self, autocommit: bool = True) -> Any:
        """A DB-API connection of its own. Raises pyodbc.Error."""
        import pyodbc  # here, so that reading a verdict needs no driver

        return pyodbc.connect(self.odbc, autocommit=autocommit, timeout=30)

    def kill(self, session_id: int) -> None:
        """End a session as an administrator does. Raises pyodbc.Error."""
        with self.connect() as connection:
            connection.execute(f"KILL {int(session_id)};")


_PAIR = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)\s*(?:;|$)")
"""One ``keyword=value``; a value in braces may hold semicolons, and braces doubled."""

_DATABASE = ("database", "initial catalog")


def _pairs(odbc: str) -> list[tuple[str, str]]:
    """Keywords and values of a connection string, in order."""
    return list(_PAIR.findall(odbc))


def database_of(odbc: str) -> str | None:
    """The database an ODBC connection string names; None when it names none."""
    for keyword, value in _pairs(odbc):
        if keyword.lower() in _DATABASE:
            braced = value.startswith("{")
            return value[1:-1].replace("}}", "}") if braced else value.strip()
    return None


def with_database(odbc: str, database: str) -> str:
    """The connection string with another database."""
    quoted = "{" + database.replace("}", "}}") + "}"
    pairs = [pair for pair in _pairs(odbc) if pair[0].lower() not in _DATABASE]
    return ";".join(f"{keyword}={value}" for keyword, value in [*pairs, ("Database", quoted)])


@dataclass(frozen=True)
class Answer:
    """What one batch of a client came to. rows: of all its result sets, in order.

    errors: (number, text). broken: the connection went with it, so nothing says how it ended.
    """

    rows: list[tuple[Any, ...]]
    errors: list[tuple[int, str]]
    broken: bool = False


class Client(Protocol):
    """A connection that does one batch at a time and need not wait for it."""

    session: int
    """The server's number of the session, for KILL."""

    def starts(self, sql: str) -> None:
        """Send a batch and return at once."""

    def finished(self) -> bool:
        """Whether the last batch is over."""

    def answer(self) -> Answer:
        """Of the last batch, which is over."""

    def leaves(self) -> None:
        """Close the connection; what it has open is rolled back."""


class Port(Protocol):
    """All a story needs of a server."""

    label: str
    """What it is; stands beside every figure."""

    virtual: bool
    """Whether time passes only when the story waits."""

    def install(self, config: Config, mutant: str | None) -> None:
        """Deploy a configuration, or a known-bad variant of it."""

    def client(self) -> Client:
        """A new connection to the story's database."""

    def settle(self, clients: Sequence[Client], seconds: float) -> None:
        """Let everybody work until these have finished, wait for something, or time is up."""

    def moment(self) -> None:
        """Let everybody work for a moment, too short for anybody to get far."""

    def now(self) -> float:
        """Seconds on the clock that ``wait`` moves."""

    def wait(self, seconds: float) -> None:
        """Let that much time pass."""
