"""How much of a family is run: a sample, always the same, or all of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from typing import Any

FULL = "REDIAL_FULL"
"""Environment variable: 1 runs every variant of every family (``invoke test --full``)."""
PART, DONE, KEEPS = "REDIAL_PART", "REDIAL_DONE", "REDIAL_KEEPS"
"""Environment variables of tests/parts.py: K/N; ids that are not run again; where outcomes are written."""
NIGHT = "REDIAL_NIGHT"
"""Environment variable: the number of a night, or ``all`` for what several nights do in turns."""
NIGHTS, OF_PLACES = 3, 8
"""Nights in which each case that the gate leaves out has had its turn, and each place of a kill."""
LEFT_OUT = ("sampled", "nightly")
"""Markers of what the gate may leave out."""


def full() -> bool:
    """Whether every variant of every family is wanted."""
    return os.environ.get(FULL) == "1"


def turn(of: int) -> int:
    """Which of so many parts of a long sample is this night's, from 0: they take turns by the day, and
    where each night runs one of N parts of the suite, by N days. A run says its number at the end, and
    with it in REDIAL_NIGHT the same is run again.
    """
    night = os.environ.setdefault(NIGHT, str(date.today().toordinal()))
    parts = os.environ.get(PART, "1/1").split("/")[1]
    return 0 if every_night() else int(night) // int(parts) % of


def has_turn(id: str) -> bool:
    """Whether it is this night's turn of a case. id: pytest's."""
    number = int.from_bytes(blake2b(id.encode(), digest_size=4).digest())
    return number % NIGHTS == turn(NIGHTS)


def longest_tonight(night: int) -> bool:
    """Whether one of the longest searches has its turn: on that night of three, from 0."""
    return os.environ.get(FULL) == "1" and (every_night() or turn(NIGHTS) == night)


def every_night() -> bool:
    """Whether all is wanted that several nights do in turns."""
    return os.environ.get(NIGHT) == "all"


def tonight(places: Sequence[int]) -> Sequence[int]:
    """An eighth of where a test kills, in turns; all with REDIAL_CRASH_STRIDE=1."""
    all_of_them = every_night() or os.environ.get("REDIAL_CRASH_STRIDE")
    return places if all_of_them else places[turn(OF_PLACES) :: OF_PLACES]


def parts(value: Any) -> Iterable[str]:
    """The choices in an argument: the words of a name, the members of a tuple, or itself."""
    if isinstance(value, str):
        return value.split("-")
    return [str(one) for one in value] if isinstance(value, tuple) else [str(value)]


def sample(
    family: Sequence[Mapping[str, Any]], every: int, meets: Sequence[str] = (), last: bool = True
) -> set[int]:
    """The places in a family that run, always the same: every N-th, the last, and as many more as
    it takes until each choice of the arguments ``meets`` is met. So a new choice is never left out,
    nor is a new case at the end of its list.

    family: the arguments of each case, by name. last: not for lists that a program has made.
    """
    kept = set(range(0, len(family), every)) | set(range(len(family))[-1:] if last else ())
    choices = [
        {(name, part) for name in meets if name in case for part in parts(case[name])}
        for case in family
    ]
    met = set().union(*(choices[place] for place in kept))
    for place, own in enumerate(choices):
        if not own <= met:
            kept.add(place)
            met |= own
    return kept


def crash_stride(usual: int) -> int:
    """Every how many places a test of crashes kills; REDIAL_CRASH_STRIDE says another number."""
    return int(os.environ.get("REDIAL_CRASH_STRIDE") or (1 if full() else usual))


class Cases:
    """States that were tried: what leaves the same state again is the same case, and not tried twice.

    Only for a state that holds all a next run can see, or a test would pass over what it is for.
    """

    def __init__(self) -> None:
        self._tried: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._tried)

    def new(self, state: object) -> bool:
        """Whether it is met for the first time; told by what it shows."""
        found = blake2b(repr(state).encode(), digest_size=16).digest()
        if found in self._tried:
            return False
        self._tried.add(found)
        return True


SMALL = (
    {}
    if full()
    else {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
)
"""Spark's settings for frames of some rows: its expressions are interpreted rather than compiled,
and a plan is not made anew after each stage. With REDIAL_FULL they are what they are by default."""
