"""How an installation is, in numbers: what usp_Figures, usp_Sessions and ErrorLog say at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from redial.config import Config
from redial.operate.doctor import Place
from redial.quoting import qualified

FIGURES, SESSIONS = "usp_Figures", "usp_Sessions"
ERRORS = 5
"""Rows of ErrorLog that are shown."""


class Session(NamedTuple):
    """Whoever holds what is ours in an open transaction."""

    id: int
    who: str
    begun: datetime | None
    """The server's local time."""
    waiting: int
    """How many wait for it."""
    seconds: int
    """The longest of them."""


class Error(NamedTuple):
    """A row of ErrorLog."""

    when: datetime
    procedure: str
    number: int | None
    message: str


@dataclass(frozen=True)
class Sample:
    """One database at one moment."""

    place: Place
    at: float
    """Seconds of the client's monotonic clock."""
    figures: dict[tuple[str, str], int | None]
    """By name and label; None: it cannot be seen."""
    sessions: tuple[Session, ...] | None
    """None: who asks may not see them."""
    errors: tuple[Error, ...]
    """The newest first."""

    def one(self, name: str, label: str = "") -> int | None:
        """A figure; None where there is none."""
        return self.figures.get((name, label))

    def labels(self, name: str) -> list[str]:
        """Of what there is a figure of that name, in the server's order."""
        return [label for known, label in self.figures if known == name]


@dataclass(frozen=True)
class Rates:
    """Messages a second between two moments; None: it cannot be said."""

    sent: float | None
    landed: float | None
    dead: float | None


def sample(connection: Any, config: Config, place: Place, at: float) -> Sample:
    """Three queries over a connection. Raises the driver's errors."""
    connection.autocommit = True
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"EXECUTE {qualified(config.schema_name, FIGURES)};")
        figures = {(name, label): value for name, label, value in cursor.fetchall()}
        name = qualified(config.schema_name, SESSIONS)
        cursor.execute(f"SET NOCOUNT ON; DECLARE @r int; EXECUTE @r = {name}; SELECT @r;")
        sessions = tuple(Session(*row) for row in cursor.fetchall())
        cursor.nextset()
        hidden = cursor.fetchone()[0]
        cursor.execute(
            f"SELECT TOP ({ERRORS}) el.AddedUtc, el.ProcedureName, el.ErrorNumber, el.ErrorMessage "
            f"FROM {qualified(config.schema_name, 'ErrorLog')} AS el WITH (NOLOCK) "
            "ORDER BY el.ErrorLogId DESC;"
        )
        errors = tuple(Error(*row) for row in cursor.fetchall())
    return Sample(place, at, figures, None if hidden else sessions, errors)


def rates(before: Sequence[Sample], after: Sequence[Sample]) -> Rates:
    """What the rows of the tables say: sent is what landed, died, or waits more than before.

    Where rows were removed in between, nothing is said: what is purged looks like what never came.
    """
    seconds = after[0].at - before[0].at
    landed, dead, waiting = (
        _grown(before, after, table) for table in ("Landing", "DeadLetter", "SentMessage")
    )
    if seconds <= 0:
        return Rates(None, None, None)
    sure = [None if one is None or one < 0 else one / seconds for one in (landed, dead)]
    sent = None
    if sure[0] is not None and sure[1] is not None and waiting is not None:
        sent = max(0.0, sure[0] + sure[1] + waiting / seconds)
    return Rates(sent, sure[0], sure[1])


def _grown(before: Sequence[Sample], after: Sequence[Sample], table: str) -> int | None:
    """How many rows a table has more, in all databases that have it."""
    pairs = [
        (old.one("rows", table), new.one("rows", table))
        for old, new in zip(before, after, strict=True)
        if ("rows", table) in new.figures
    ]
    if not pairs or any(old is None or new is None for old, new in pairs):
        return None
    return sum((new or 0) - (old or 0) for old, new in pairs)
