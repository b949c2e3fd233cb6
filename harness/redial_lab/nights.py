"""Which cases that the gate leaves out a night has passed: ``evidence/nightly.txt``.

A line is a family of tests and a digest of each of its cases that has passed in ``invoke test --full``. What
is not there, the gate runs: a case is new until a night has seen it green, and one that was red is new again.
Where there is no file, no run was whole yet, and nobody knows what is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

NIGHTLY = "evidence/nightly.txt"
"""Path of what nights have passed, in the clone."""


class Outcome(NamedTuple):
    """A test that has ended."""

    passed: bool
    left_out: bool
    """Whether the gate may leave it out."""
    id: str
    """Pytest's."""

    def line(self) -> str:
        """Of the file a run writes, one for each test."""
        return f"{'passed' if self.passed else 'failed'} {'night' if self.left_out else 'gate'} {self.id}\n"

    @classmethod
    def of(cls, line: str) -> Outcome:
        """Of a line without its end."""
        outcome, when, id = line.split(" ", 2)
        return cls(outcome == "passed", when == "night", id)


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
        lines = path.read_text("utf-8").splitlines()
        return cls({family: set(digests) for family, *digests in map(str.split, lines)})

    def new(self, id: str) -> bool:
        """Whether it is known that no night has passed the test with this id."""
        family, digest = _told(id)
        return self._cases is not None and digest not in self._cases.get(family, ())

    def after(self, outcomes: Iterable[Outcome], whole: bool) -> Nights:
        """What is known after a run. whole: every test was run, so what was not met is gone."""
        if self._cases is None and not whole:
            return Nights()
        before = {} if whole or self._cases is None else self._cases
        cases = {family: set(digests) for family, digests in before.items()}
        red = set()
        for outcome in outcomes:
            if not outcome.left_out:
                continue
            told = _told(outcome.id)
            if not outcome.passed:
                red.add(told)
            cases.setdefault(told[0], set()).add(told[1])
        for family, digest in red:
            cases[family].discard(digest)
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


def _told(id: str) -> tuple[str, str]:
    family, _, case = id.partition("[")
    return family, blake2b(case.encode(), digest_size=3).hexdigest()
