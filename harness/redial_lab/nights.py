"""Which cases that the gate leaves out a night has passed: ``evidence/nightly.txt``.

A line is a family of tests and a digest of each of its cases that has passed in ``invoke test --full``. What
is not there, the gate runs: a case is new until a night has seen it green, and one that was red is new again.
Where there is no file, no run was whole yet, and nobody knows what is new: .ci/nightly then runs all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

NIGHTLY = "evidence/nightly.txt"
"""Path of what nights have passed, in the clone."""
_DIGEST = re.compile(r"[0-9a-f]{6}")


class Ended(StrEnum):
    """How a test has ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It was another night's turn, or the machine lacks what it needs."""


class Outcome(NamedTuple):
    """A test that has ended."""

    how: Ended
    left_out: bool
    """Whether the gate may leave it out."""
    id: str
    """Pytest's."""

    def line(self) -> str:
        """Of the file a run writes, one for each test."""
        return f"{self.how} {'night' if self.left_out else 'gate'} {self.id}\n"

    @classmethod
    def of(cls, line: str) -> Outcome:
        """Of a line without its end."""
        how, when, id = line.split(" ", 2)
        return cls(Ended(how), when == "night", id)


class Nights:
    """Families of tests, and the cases of each that have passed."""

    def __init__(self, cases: dict[str, set[str]] | None = None) -> None:
        """cases: digests by family; None: nothing is known."""
        self._cases = cases

    @property
    def known(self) -> bool:
        """Whether a run was whole, so that it can be told what is new."""
        return self._cases is not None

    @classmethod
    def read(cls, path: Path) -> Nights:
        """What is kept in a file, which may be missing."""
        if not path.exists():
            return cls()
        cases = {}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            family, *digests = line.split() or [""]
            if "::" not in family or not all(map(_DIGEST.fullmatch, digests)):
                raise ValueError(
                    f"{path}, line {number}: no family of tests with digests. "
                    "Next: take a commit's, git restore --source=REF; the next night adds what it lacks"
                )
            cases[family] = set(digests)
        return cls(cases)

    def new(self, id: str) -> bool:
        """Whether it is known that no night has passed the test with this id."""
        family, digest = _told(id)
        return self._cases is not None and digest not in self._cases.get(family, ())

    def after(self, outcomes: Iterable[Outcome], ended: str) -> Nights:
        """What is known after a run. ended: the part, K/N, that has come to its end: what it has not met
        of its families is gone; empty: none has.
        """
        if self._cases is None and ended != "1/1":
            return Nights()
        known = self._cases or {}
        cases = {
            family: set(digests)
            for family, digests in known.items()
            if not (ended and in_part(family, ended))
        }
        red = set()
        for outcome in outcomes:
            family, digest = _told(outcome.id)
            # A red one is asked for no marker: a test that ends its process comes without.
            if outcome.how is Ended.FAILED:
                red.add((family, digest))
            elif outcome.left_out and (
                outcome.how is Ended.PASSED or digest in known.get(family, ())
            ):
                cases.setdefault(family, set()).add(digest)
        for family, digest in red:
            cases.get(family, set()).discard(digest)
        return Nights(cases)

    def write(self, path: Path) -> None:
        """In the order of the names, so that a difference is read; nothing where nothing is known."""
        if self._cases is None:
            return
        lines = (
            f"{family} {' '.join(sorted(each))}\n"
            for family, each in sorted(self._cases.items())
            if each
        )
        path.write_text("".join(lines), "utf-8", newline="\n")


def in_part(id: str, part: str) -> bool:
    """Whether a test is in the K-th of N parts. A family stays together: its fixtures are shared."""
    number, _, of = part.partition("/")
    family = blake2b(id.partition("[")[0].encode(), digest_size=8).digest()
    return int.from_bytes(family) % int(of) == int(number) - 1


def _told(id: str) -> tuple[str, str]:
    family, _, case = id.partition("[")
    return family, blake2b(case.encode(), digest_size=3).hexdigest()
