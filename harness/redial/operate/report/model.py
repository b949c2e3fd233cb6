"""What a report consists of, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass

from redial.charts import moment
from redial.operate.doctor import VERDICTS, Place, Status, worst

Cell = str | int | None
"""None: not known."""


@dataclass(frozen=True)
class Table:
    """Figures of a section."""

    name: str
    """In JSON."""
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    """One subject."""

    name: str
    """In JSON, and of its anchor."""
    title: str
    said: tuple[str, ...]
    """Sentences; the first is the one for the verdict."""
    status: Status = Status.CLEAN
    tables: tuple[Table, ...] = ()
    pictures: str = ""
    """Markup."""


@dataclass(frozen=True)
class Unseen:
    """What could not be looked at."""

    where: Place
    what: str
    why: str
    next: str


@dataclass(frozen=True)
class Page:
    """All of it."""

    config: str
    label: str
    """What stands beside every figure that is no server's; empty: they are a server's."""
    facts: tuple[tuple[str, str], ...]
    """Where, when, by whom: names and values."""
    sections: tuple[Section, ...]
    unseen: tuple[Unseen, ...]

    @property
    def status(self) -> Status:
        """What it comes to."""
        hidden = [Status.NOT_ALL] if self.unseen else []
        return worst([Status.CLEAN, *hidden, *(one.status for one in self.sections)])

    @property
    def verdict(self) -> str:
        """In a sentence: what is wrong, and what became of the messages."""
        wrong = [one for one in self.sections if one.status != Status.CLEAN]
        first = [one for one in self.sections if one not in wrong][:1]
        told = [f"{one.title.lower()}: {one.said[0]}" for one in wrong or first]
        return "; ".join([VERDICTS[self.status], *told])


def utc(milliseconds: int | None) -> str | None:
    """A time of a server for a cell. milliseconds: since 1970."""
    return None if milliseconds is None else moment(milliseconds / 1000)


def how_long(milliseconds: float | None) -> str | None:
    """A length of time in two units at most."""
    if milliseconds is None:
        return None
    if abs(milliseconds) < 1000:
        return f"{milliseconds:,.0f} ms"
    if abs(milliseconds) < 10_000:
        return f"{milliseconds / 1000:.3g} s"
    left, parts = abs(round(milliseconds / 1000)), []
    for seconds, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, seconds)
        parts.append((count, unit))
    first = next(place for place, (count, _) in enumerate(parts) if count)
    shown = [f"{count} {unit}" for count, unit in parts[first : first + 2] if count]
    return "-" * (milliseconds < 0) + " ".join(shown)


def many(count: int, noun: str) -> str:
    """1 message, 2,000 messages."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
