"""Tests that cost much processor time: of those of a file every day the cheapest third, all with
--full.

One test in fifty takes half of the suite's time. The list is measured, not kept by hand:

    REDIAL_COSTS=costs.txt invoke test
    python -m tests.dear costs.txt

A test that is not on it runs, so a new one is measured by the next run. What a run leaves out keeps
what it last cost; ``invoke test --full`` measures all. Mark ``daily`` what must run however dear it is.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from redial.paths import ROOT

LIST = Path(__file__).with_name("dear.json")
"""Processor seconds of each dear test, by its id; of children it started, too."""
A_THIRD = 3
"""Of so many dear tests of a file one runs every day."""
SECONDS = 0.3
"""Processor time from which a test is dear, on the machine that measured."""
MEASURED = "REDIAL_COSTS"
"""Environment variable: a file, to which every test writes what it cost."""


def known() -> dict[str, float]:
    """The list."""
    found: dict[str, float] = json.loads(LIST.read_text("utf-8"))
    return found


def beyond(tests: Iterable[str], costs: Mapping[str, float]) -> set[str]:
    """Of the ids of tests those that wait for --full: of each file all but the cheapest third of
    the dear ones, rounded up. The same ones each time; one alone always runs.
    """
    files: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for test in tests:
        if test in costs:
            files[test.partition("::")[0]].append((costs[test], test))
    return {test for dear in files.values() for _, test in sorted(dear)[-(-len(dear) // A_THIRD) :]}


def spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def note(test: str, seconds: float) -> None:
    """Write down what a test has cost, where that is asked for; one write, for processes share it."""
    if file := os.environ.get(MEASURED):
        with Path(file).open("a", encoding="utf-8") as costs:
            costs.write(f"{seconds:.2f} {json.dumps(test)}\n")


def is_there(test: str) -> bool:
    """Whether the function behind a test's id is (still) in its file."""
    file, name = test.split("::")[:2]
    path = ROOT / file
    return path.exists() and f"def {name.partition('[')[0]}(" in path.read_text("utf-8")


def main(file: str) -> None:
    """Put what was written down into the list, and take out of it what is not there any more."""
    lines = (line.split(" ", 1) for line in Path(file).read_text("utf-8").splitlines())
    costs = {json.loads(test): float(seconds) for seconds, test in lines}
    old = {test: cost for test, cost in known().items() if test not in costs and is_there(test)}
    new = {test: round(cost, 1) for test, cost in costs.items() if cost >= SECONDS}
    dear = dict(sorted((old | new).items()))
    LIST.write_text(json.dumps(dear, indent=0, ensure_ascii=False) + "\n", "utf-8")
    print(
        f"{len(new)} of {len(costs)} tests cost {SECONDS} seconds or more; {len(old)} others on the "
        "list were not run"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
