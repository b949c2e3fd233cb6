"""Examples of T-SQL constructs, each run on a fresh database of an embedded broker.

``evidence/surface`` holds them as TOML: ``NN_*.toml`` are the constructs public Service Broker scripts
use, with how many script sets use each; ``more_*.toml`` are examples of the rest of what the parser
knows; ``lists.toml`` are options tried one by one in one statement; ``setups.toml`` says what an
example starts from.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from redial.paths import EVIDENCE
from redial.tsql import split_batches
from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.session import Session

FOLDER = EVIDENCE / "surface"
DATABASE = "surface"
PATIENCE_S = 30.0
"""Virtual seconds an example may wait before it counts as hanging."""

RUNS, REFUSED, FAILS = "runs", "refused", "fails"


@dataclass(frozen=True, slots=True)
class Setup:
    """What stands before an example."""

    batches: tuple[str, ...]
    """Run first."""
    prologue: str
    """Before the first batch."""


@dataclass(frozen=True, slots=True)
class Example:
    """One construct with a minimal script."""

    section: str
    name: str
    sql: str
    setup: str = ""
    answer: Any = None
    """The value of the last result set's first column, when it matters."""
    sets: int = 0
    uses: int = 0
    """sets, uses: of the 73 public script sets that need one database and one instance."""
    all_sets: int = 0
    all_uses: int = 0
    """all_sets, all_uses: of all 114."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an example."""

    status: str
    """RUNS, REFUSED (by name, number 60001) or FAILS."""
    message: str = ""
    number: int = 0


@cache
def setups() -> dict[str, Setup]:
    """Every setup by name, "" for none."""
    found = {"": Setup((), "")}
    for name, entry in tomllib.loads((FOLDER / "setups.toml").read_text("utf-8")).items():
        base = found[entry.get("base", "")]
        found[name] = Setup(
            (*base.batches, *entry.get("batches", ())), entry.get("prologue", base.prologue)
        )
    return found


def read(path: Path) -> list[Example]:
    """The examples of one file, in order."""
    data = tomllib.loads(path.read_text("utf-8"))
    return [Example(data["title"], **entry) for entry in data["construct"]]


@cache
def surface() -> tuple[Example, ...]:
    """The constructs public scripts use, in the order of work: section by section, by frequency."""
    return tuple(example for path in sorted(FOLDER.glob("[0-9]*.toml")) for example in read(path))


@cache
def more() -> tuple[Example, ...]:
    """Examples of what those scripts do not use."""
    return tuple(example for path in sorted(FOLDER.glob("more_*.toml")) for example in read(path))


@cache
def lists() -> tuple[Example, ...]:
    """Every option of every list, in the statement its list gives."""
    data = tomllib.loads((FOLDER / "lists.toml").read_text("utf-8"))
    return tuple(
        Example(entry["title"], option, entry["sql"].replace("{0}", option), entry.get("setup", ""))
        for entry in data["list"]
        for option in entry["values"]
    )


def script(example: Example) -> list[str]:
    """The batches of an example with its prologue, without its setup's own batches."""
    return [
        batch.sql
        for batch in split_batches(setups()[example.setup].prologue.lstrip() + example.sql)
    ]


def run(example: Example) -> Outcome:
    """Run an example on an instance of its own and say what became of it."""
    instance = Instance(seed=1)
    session = instance.connect()
    for batch in (
        f"CREATE DATABASE {DATABASE};",
        f"USE {DATABASE};",
        *setups()[example.setup].batches,
    ):
        found = submit(instance, session, batch)
        if found is not None:
            return Outcome(found.status, f"setup {example.setup}: {found.message}", found.number)
    value = None
    for batch in script(example):
        found = submit(instance, session, batch)
        if found is not None:
            return found
        sets = session.sink.result_sets
        value = sets[-1].rows[0][0] if sets and sets[-1].rows else None
    if example.answer is not None and value != example.answer:
        return Outcome(FAILS, f"answers {value!r}, not {example.answer!r}")
    return Outcome(RUNS)


def submit(instance: Instance, session: Session, sql: str) -> Outcome | None:
    """Run one batch to its end, in virtual time; None when nothing went wrong."""
    sink = session.sink
    sink.clear()
    session.submit(Batch(sql))
    instance.run()
    if not sink.finished:
        instance.advance(PATIENCE_S)
    if not sink.finished:
        return Outcome(FAILS, "does not come to an end")
    error = sink.error()
    if error is None:
        return None
    status = REFUSED if error.number == NOT_SUPPORTED else FAILS
    return Outcome(status, error.text, error.number)
