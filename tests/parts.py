"""A part of the suite, and going on where it stopped: for ``invoke test --full --part K/N``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from redial_lab.nights import Ended, Outcome, in_part
from tests.sampling import DONE, KEEPS, LEFT_OUT, PART


class Part:
    """The K-th of N parts, without what has passed already."""

    def __init__(self, part: str, done: Iterable[str] = ()) -> None:
        """part: K/N. done: ids of tests."""
        self._part, self._done = part, frozenset(done)

    @classmethod
    def of_environment(cls) -> Part | None:
        """The one that the command has named; None: all is wanted."""
        if PART not in os.environ:
            return None
        done = os.environ.get(DONE)
        return cls(os.environ[PART], Path(done).read_text("utf-8").splitlines() if done else ())

    def has(self, id: str) -> bool:
        """Whether the test with this id runs."""
        return in_part(id, self._part) and id not in self._done


class Keeper:
    """Writes down each test that is green to the end, red, or skipped, its fixtures too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._green: set[str] = set()

    @classmethod
    def of_environment(cls, config: pytest.Config) -> Keeper | None:
        """None where nothing is to be kept, and in a worker: its reports are gathered elsewhere."""
        if KEEPS not in os.environ or hasattr(config, "workerinput"):
            return None
        return cls(Path(os.environ[KEEPS]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of set-up, call and teardown is over."""
        if report.when == "call" and report.passed:
            self._green.add(report.nodeid)
        green = report.when == "teardown" and report.nodeid in self._green
        if not report.passed or green:
            left_out = any(name in report.keywords for name in LEFT_OUT)
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(Outcome(Ended(report.outcome), left_out, report.nodeid).line())
