"""This code beside an older one, in turns in one run, and what the ratios are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from redial_lab.git import git

COMPARED = (
    "send.in_process_per_s",
    "send.odbc_1_per_s",
    "land.per_s",
    "database.restore_ms",
    "explore.transitions_per_s",
)
"""Figures of ``run.FIGURES`` that a change of the engine moves."""

_MEASURE = """
import sys
import redial_lab
if not redial_lab.__file__.startswith(sys.argv[2]):
    sys.exit("it has no redial_lab")
from redial_lab.bench.run import FIGURES
found = [figure for figure in FIGURES if figure.name == sys.argv[1]]
print(found[0].measure() if found else sys.exit("it has no such figure"))
"""


class Ratio(NamedTuple):
    """A figure of both codes."""

    name: str
    old: float
    """Median, in the figure's unit."""
    new: float
    """The same of this code."""
    least: float
    """Of the ratios of single turns."""
    most: float
    """The same."""

    @property
    def times(self) -> float:
        """How many times as good the new one is: more a second, or less time."""
        return _times(self.name, self.old, self.new)


Measure = Callable[[Path, str], float]
"""A figure of the code in a folder. Raises RuntimeError."""


def measure(tree: Path, name: str) -> float:
    """A figure of the code in a work tree, by this Python and its libraries. Raises RuntimeError."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, name, f"{tree}{os.sep}"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "harness")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise RuntimeError(f"{name} of {tree.name}: {words[-1] if words else 'failed'}")
    return float(done.stdout)


def compare(
    old: Path, new: Path, runs: int, tell: Callable[[str], None], measure: Measure = measure
) -> list[Ratio]:
    """Each figure, the old and the new code in turns. Raises RuntimeError.

    old, new: work trees. runs: turns of each. tell: hears what is measured. measure: of one figure.
    """
    found = []
    for name in COMPARED:
        turns = []
        for turn in range(runs):
            tell(f"{name}, {turn + 1} of {runs}")
            # who is first changes: a machine gets warm
            order = (old, new) if turn % 2 == 0 else (new, old)
            seen = {tree: measure(tree, name) for tree in order}
            turns.append((seen[old], seen[new]))
        times = [_times(name, *turn) for turn in turns]
        was, now = (median(each) for each in zip(*turns, strict=True))
        found.append(Ratio(name, was, now, min(times), max(times)))
    return found


def _times(name: str, old: float, new: float) -> float:
    return new / old if name.endswith("per_s") else old / new


@contextmanager
def checked_out(root: Path, commit: str) -> Iterator[Path]:
    """A work tree of a commit beside the clone, gone at the end. Raises RuntimeError."""
    with TemporaryDirectory(prefix="redial-compare-") as folder:
        tree = Path(folder) / commit[:12]
        git(root, "worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git(root, "worktree", "remove", "--force", str(tree))


class Kept:
    """A file with a line for each two codes."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError for a file of something else, OSError for one that can't be opened."""
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        try:
            self._lines = {(read["new"], read["old"]): read for read in map(json.loads, lines)}
        except (KeyError, TypeError, ValueError):
            raise ValueError("is no file of comparisons, a line each") from None
        path.open("a").close()  # what can't be written is told before an hour is spent

    def text(self, entry: dict[str, Any]) -> str:
        """With this line, in place of the one of the same two codes."""
        self._lines.pop((entry["new"], entry["old"]), None)
        self._lines[entry["new"], entry["old"]] = entry
        return "".join(f"{json.dumps(line)}\n" for line in self._lines.values())
