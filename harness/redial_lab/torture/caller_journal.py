"""What callers were told, kept by the callers: no database knows of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"

Row = tuple[Any, ...]
"""A row of an answer. Its values are whatever the query asked for."""

Name = tuple[int, int, int]
"""A message: client, unit of work, number in it."""


@dataclass
class Entry:
    """One message, and what became of it."""

    name: Name
    key: str | None
    """The caller's, if the configuration wants one."""
    asked: float
    """When its unit of work began and when the caller knew how it ended, on one clock for all."""
    way: str
    style: str
    """way, style: how it was sent."""
    outcome: str = UNKNOWN
    answered: float | None = None
    """When its unit of work began and when the caller knew how it ended, on one clock for all."""
    attempts: int = 1
    """How often it was sent. alone: it belongs to no transaction with others."""
    message_id: str | None = None
    poison: bool = False
    """The target's procedure refuses it."""


@dataclass
class Journal:
    """One client's."""

    client: int
    session: str = ""
    entries: list[Entry] = field(default_factory=list)
    errors: Counter[int] = field(default_factory=Counter)
    """How often it saw which number."""
    notes: list[str] = field(default_factory=list)
    """What it found odd itself."""
    open_at_end: int | None = None
    """@@TRANCOUNT when it had done its work, None if nobody could be asked."""
    finished: bool = False

    # Any: what JSON can hold; the fields above say which.
    def to_data(self) -> dict[str, Any]:
        """As plain data, to be written to a file or sent to another process."""
        return {**asdict(replace(self, errors=Counter())), "errors": dict(self.errors)}

    @staticmethod
    def from_data(data: dict[str, Any]) -> Journal:
        """The journal of such data."""
        entries = [Entry(**{**entry, "name": tuple(entry["name"])}) for entry in data["entries"]]
        errors = Counter({int(number): count for number, count in data["errors"].items()})
        return Journal(**{**data, "entries": entries, "errors": errors})


def body_of(name: Name, filler: int = 0, poison: bool = False) -> bytes:
    """The bytes of a message: they say whose it is."""
    text = f"{'poison ' if poison else ''}{name[0]}.{name[1]}.{name[2]};"
    return text.encode() + b"." * filler


def name_of(body: bytes | None) -> Name | None:
    """Whose message a body is; None for bytes that no client has sent."""
    if not body:
        return None
    head = body.removeprefix(b"poison ").partition(b";")[0].split(b".")
    try:
        client, unit, number = (int(part) for part in head)
    except ValueError:
        return None
    return (client, unit, number)
