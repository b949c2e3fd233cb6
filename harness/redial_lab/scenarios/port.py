"""The small port through which scenarios know a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from redial.config import Config


@dataclass(frozen=True)
class Answer:
    """What one batch of a client came to."""

    rows: list[tuple[Any, ...]]
    """Of all its result sets, in order."""
    errors: list[tuple[int, str]]
    """(number, text)."""
    broken: bool = False
    """The connection went with it, so nothing says how it ended."""


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
