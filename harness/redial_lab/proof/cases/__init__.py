"""The cases generated mutants are hunted in: a file for each thing they show, in TOML.

A case is small: it is exhausted in a second. T-SQL is written as an operator would type it, whole,
so that a case can be read, and tried in query windows, by itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

FOLDER = Path(__file__).parent
HUNTED = "hunted.toml"
"""Which procedures' mutants are hunted in which cases; the others are files of cases."""


class CaseError(ValueError):
    """A file of cases that cannot be used; names file, case and key."""


class CaseText(BaseModel):
    """A case as its file has it. Without ``claims`` only outcomes are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    setup: str
    """What is searched: the words of ``Setup.parse``."""
    choices: tuple[tuple[str, str, Any], ...] = ()
    """(section, name, value) of the configuration, beside what the setup says."""
    first: tuple[str, ...] = ()
    """T-SQL run after the installation, before anything is searched."""
    before: str = ""
    """T-SQL in front of each sender's batch."""
    batches: tuple[str, ...] = ()
    """Run by the first sender instead of his own."""
    others: tuple[str, ...] = ()
    """What further sessions run, a batch each."""
    claims: bool = True
    """Whether the claims of Redial hold here."""
    deadlocks_allowed: bool = False
    """There may be some; only where no claims hold."""
    locks_may_stay: bool = False
    """So may transactions that nobody ends."""
    in_one_go: bool = False
    """The readers of both queues run in one step."""
    listens: bool = False
    """What a session is shown counts for the outcome."""
    untidy: bool = False
    """Who cancels, or meets an error, does nothing more."""
    large: bool = False
    """More than 700 transitions: who hunts for many mutants looks into the others first."""

    @model_validator(mode="after")
    def _one_way(self) -> CaseText:
        if self.claims and self.deadlocks_allowed:
            raise ValueError("deadlocks_allowed: the claims refuse deadlocks; claims = false")
        return self


class _Hunted(BaseModel):
    """``hunted.toml``. Both: procedure -> its cases, in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    procedures: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Of the text that choices of a configuration bring, other than audit's."""


def read(folder: Path = FOLDER) -> tuple[dict[str, CaseText], _Hunted]:
    """All cases by name, and who is hunted in them. Raises CaseError."""
    found: dict[str, CaseText] = {}
    for path in sorted(folder.glob("*.toml")):
        if path.name == HUNTED:
            continue
        for name, fields in _table(path).items():
            if name in found:
                raise CaseError(f"{path.name}: {name!r} is the name of another case, too")
            try:
                found[name] = CaseText.model_validate(fields)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise CaseError(f"{path.name}, {name!r}: {place}: {first['msg']}") from None
    try:
        hunted = _Hunted.model_validate(_table(folder / HUNTED))
    except ValidationError as error:
        raise CaseError(f"{HUNTED}: {error}") from None
    asked = {
        name
        for names in (hunted.procedures, hunted.choices)
        for each in names.values()
        for name in each
    }
    if asked - found.keys():
        raise CaseError(f"{HUNTED}: there is no case {sorted(asked - found.keys())[0]!r}")
    if found.keys() - asked:
        raise CaseError(f"{HUNTED}: nobody is hunted in {sorted(found.keys() - asked)[0]!r}")
    return found, hunted


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{path.name}: {error}") from error


CASES, _HUNTED = read()
"""Every case."""
PROCEDURES = frozenset({*_HUNTED.procedures, *_HUNTED.choices})
"""Whose mutants are made."""
LARGE = frozenset(name for name, case in CASES.items() if case.large)


def cases_of(mutant: str) -> tuple[str, ...]:
    """The cases a mutant is hunted in: those in which its procedure does something of its own; the
    other choices' cases where the text is theirs only (its name says so: usp_X@pool.where.it).
    """
    name, _, choice = mutant.partition(".")[0].partition("@")
    return (*_HUNTED.procedures.get(name, ()), *(_HUNTED.choices.get(name, ()) if choice else ()))
