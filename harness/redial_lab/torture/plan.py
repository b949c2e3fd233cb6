"""What a trial does, as data: the same plan is the same run, and a found story is a plan."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

Data = dict[str, Any]
"""A configuration as a file holds it: sections of texts, numbers, lists. ``Config`` says which."""

Switches = dict[str, Any]
"""Values by name: each switch has a type of its own."""

LEVELS = ("READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT")
"""Isolation levels a caller may come with."""


@dataclass(frozen=True)
class Client:
    """A caller: one login with the sender's rights, one connection at a time."""

    number: int
    level: str
    xact_abort: bool
    lock_timeout_ms: int
    """level, xact_abort, lock_timeout_ms: what it sets when it connects."""
    keys: tuple[str, ...]
    """What it calls its dialogs."""
    pace: float
    """Seconds between its units of work, in the middle."""
    units: tuple[int, ...]
    """Their numbers; each is made of its own number alone, its time too, so that one can be left
    out and the others stay what they are."""


@dataclass(frozen=True)
class Event:
    """Something bad."""

    at: float
    """Seconds into the trial."""
    after: int
    """Statements of anybody's, from then on."""
    kind: str
    """A name of ``nemesis.KINDS``."""
    pick: int
    """Which of those it can strike."""


@dataclass(frozen=True)
class Plan:
    """One trial."""

    seed: int
    name: str
    """Of the variant."""
    config: Data
    """Its content, so that a story can be replayed when the variants are others."""
    mutant: str | None
    """A known-bad text instead of the shipped one."""
    switches: Switches
    """Of the embedded broker."""
    rcsi: bool
    """READ_COMMITTED_SNAPSHOT."""
    seconds: float
    """How long callers take over it."""
    clients: tuple[Client, ...]
    events: tuple[Event, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """What shrinking makes smaller: events, clients, units."""
        return (len(self.events), len(self.clients), sum(len(c.units) for c in self.clients))

    @property
    def units(self) -> list[tuple[int, int]]:
        """Every unit of work: (client, number)."""
        return [(client.number, unit) for client in self.clients for unit in client.units]

    def with_units(self, kept: Iterable[tuple[int, int]]) -> Plan:
        """Only these units of work; a client without any is left out."""
        wanted = set(kept)
        clients = (
            replace(c, units=tuple(u for u in c.units if (c.number, u) in wanted))
            for c in self.clients
        )
        return replace(self, clients=tuple(c for c in clients if c.units))

    def to_json(self) -> str:
        """The plan as text."""
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        """The plan of such a text. Raises ValueError."""
        try:
            data = json.loads(text)
            data["clients"] = tuple(
                Client(**{**c, "keys": tuple(c["keys"]), "units": tuple(c["units"])})
                for c in data["clients"]
            )
            data["events"] = tuple(Event(**event) for event in data["events"])
            return Plan(**data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no plan of a torture test: {error}") from error
