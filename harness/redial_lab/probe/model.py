"""What a probe is, and what it finds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from redial.paths import SQL
from redial.tsql import split_batches
from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.engine.switches import SWITCHES, Switch, shown

FOLDER = SQL / "probes"
COLUMNS = ("Fact", "Question", "Expected", "Observed", "Settles", "Version")
"""Columns of the one row every probe ends in."""

Row = tuple[Any, ...]
"""A row of an answer. Its values are whatever the query asked for."""

AS_EXPECTED, DIFFERS, UNDECIDED, PROBE_FAILED, PROBE_REFUSED = (
    "as expected",
    "differs",
    "undecided",
    "failed",
    "refused",
)


class ProbeError(Exception):
    """A batch failed on the server. number: of the error, 0 when the server gave none."""

    def __init__(self, number: int, text: str) -> None:
        self.number, self.text = number, text
        super().__init__(f"{number}: {text}")


class Port(Protocol):
    """One session of a server, in a database that exists everywhere (master)."""

    def execute(self, sql: str) -> list[Row]:
        """Run a batch to its end; the rows of its last result set. Raises ProbeError."""

    def close(self) -> None:
        """End the session."""


@dataclass(frozen=True)
class Probe:
    """One script. name: its file's stem."""

    path: Path

    @property
    def name(self) -> str:
        """The stem of its file, which is also the end of its database's name."""
        return self.path.stem

    @cached_property
    def text(self) -> str:
        """The whole script."""
        return self.path.read_text(encoding="utf-8")

    @property
    def database(self) -> str:
        """The database it makes and drops."""
        return f"RedialProbe_{self.name}"

    @property
    def fact(self) -> str:
        """The number of the fact it is about."""
        found = re.search(r"F-\d{3}", self.text)
        assert found is not None, self.path
        return found[0]

    @property
    def switches(self) -> list[Switch]:
        """The switches it settles."""
        return [switch for switch in SWITCHES.values() if switch.probe == self.name]

    def batches(self) -> list[str]:
        """The script as a client sends it."""
        return [batch.sql for batch in split_batches(self.text)]


@dataclass
class Finding:
    """What one run of a probe found."""

    probe: str
    fact: str
    question: str = ""
    expected: str = ""
    observed: str = ""
    settles: dict[str, str] = field(default_factory=dict)
    """Switch -> value as text."""
    version: str = ""
    error: str = ""
    number: int = 0
    left_behind: bool = False

    @property
    def status(self) -> str:
        """In a word: does the server do what the embedded broker does by default?"""
        if self.error:
            return PROBE_REFUSED if self.number == NOT_SUPPORTED else PROBE_FAILED
        if not self.settles:
            return AS_EXPECTED if self.observed == self.expected else UNDECIDED
        wrong = {n: v for n, v in self.settles.items() if v != shown(SWITCHES[n].default)}
        return DIFFERS if wrong else AS_EXPECTED


def parse_settles(text: str | None) -> dict[str, str]:
    """``name=value; name=value`` as a dict; a name that is no switch is an error of the script."""
    found = {}
    for part in filter(None, (piece.strip() for piece in (text or "").split(";"))):
        name, _, value = part.partition("=")
        found[name.strip()] = value.strip().lower()
    unknown = found.keys() - SWITCHES.keys()
    if unknown:
        raise ProbeError(0, f"the probe names switches there are not: {', '.join(unknown)}")
    return found


def probes(name: str = "") -> list[Probe]:
    """All probes by name, or the one named; KeyError when there is none of that name."""
    found = {path.stem: Probe(path) for path in sorted(FOLDER.glob("*.sql"))}
    return [found[name]] if name else list(found.values())
