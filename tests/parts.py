"""A part of the suite, and going on where it stopped: for ``invoke test --full --part K/N``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.sampling import DONE, KEEPS, PART


class Part:
    """The K-th of N parts, without what has passed already."""

    def __init__(self, part: str, done: Iterable[str] = ()) -> None:
        """part: K/N. done: ids of tests."""
        number, _, of = part.partition("/")
        self._number, self._of, self._done = int(number), int(of), frozenset(done)

    @classmethod
    def of_environment(cls) -> Part | None:
        """The one that the command has named; None: all is wanted."""
        if PART not in os.environ:
            return None
        done = os.environ.get(DONE)
        return cls(os.environ[PART], Path(done).read_text("utf-8").splitlines() if done else ())

    def has(self, id: str) -> bool:
        """Whether the test with this id runs. A family stays together: its fixtures are shared."""
        family = blake2b(id.partition("[")[0].encode(), digest_size=8).digest()
        mine = int.from_bytes(family) % self._of == self._number - 1
        return mine and id not in self._done


class Keeper:
    """Writes down the id of each test that has passed, once its fixtures are gone too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._red: set[str] = set()

    @classmethod
    def of_environment(cls, config: pytest.Config) -> Keeper | None:
        """None where nothing is to be kept, and in a worker: its reports are gathered elsewhere."""
        if KEEPS not in os.environ or hasattr(config, "workerinput"):
            return None
        return cls(Path(os.environ[KEEPS]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of set-up, call and teardown is over."""
        if report.failed:
            self._red.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._red:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")
