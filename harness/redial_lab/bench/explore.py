"""How fast the explorer is, and how large a space it exhausts, in fresh processes.

``python -m redial_lab.bench.explore`` prints figures; with HOW SETUP [TRANSITIONS] it is one search
(how: whole or fewer) and prints its own as JSON. Rates are per CPU second: a shared machine's clock
says nothing. The largest searches run side by side, READ COMMITTED and RCSI, a processor each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from redial_lab.bench.endpoints import memory_mb

Figures = dict[str, Any]
"""What ``one`` gives, as JSON: numbers, whether it was exhausted, names of violations."""

RUNS = 3
SMALL = "senders=2 readers=1"
"""Searched whole and reduced, for rates and their ratio."""

LARGE = ("senders=3 readers=2 lifetimes=1",)
"""The shipped default, a recycle and a resend: seen to the end, in both isolations."""


def one(how: str, setup: str, transitions: int | None = None) -> Figures:
    """One search's figures. Raises ValueError for a setup that cannot be searched."""
    from redial_lab.explore.persistent import persistent
    from redial_lab.explore.search import Limits, search
    from redial_lab.proof.setups import Setup

    scenario = Setup.parse(setup).scenario()
    before, cpu = memory_mb(), time.process_time()
    result = {"whole": search, "fewer": persistent}[how](
        scenario, Limits(transitions=transitions, depth=None)
    )
    return {
        "states": result.states,
        "transitions": result.transitions,
        "ends": result.ends,
        "exhausted": result.ended,
        "violations": sorted(result.violations),
        "cpu_s": time.process_time() - cpu,
        "seconds": result.seconds,
        "mb": memory_mb(),
        "bytes_per_state": (memory_mb() - before) * 2**20 / result.states,
    }


def _begin(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "redial_lab.bench.explore", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> Figures:
    out, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("a search failed; its words are above")
    figures: Figures = json.loads(out)
    return figures


def main(tell: Callable[[str], None] = print, large: tuple[str, ...] = LARGE) -> dict[str, float]:
    """Figures by their stable names. RuntimeError when a search fails, is not exhausted or finds a
    violation."""
    figures: dict[str, float] = {}
    for how in ("whole", "fewer"):
        found = []
        for run in range(RUNS):
            found.append(_ended(_begin(how, SMALL)))
            tell(
                f"{how}, {SMALL}, run {run + 1}: {found[-1]['transitions']:,} transitions in "
                f"{found[-1]['cpu_s']:.1f} CPU s"
            )
        name = f"explore.{how}"
        figures[f"{name}.states"] = found[0]["states"]
        figures[f"{name}.transitions"] = found[0]["transitions"]
        figures[f"{name}.transitions_per_cpu_s"] = median(
            each["transitions"] / each["cpu_s"] for each in found
        )
        figures[f"{name}.cpu_s"] = median(each["cpu_s"] for each in found)
        figures[f"{name}.bytes_per_state"] = median(each["bytes_per_state"] for each in found)
    for kind in ("transitions", "cpu_s"):
        figures[f"explore.whole_by_fewer.{kind}"] = (
            figures[f"explore.whole.{kind}"] / figures[f"explore.fewer.{kind}"]
        )
    for number, setup in enumerate(large, 1):
        figures |= _side_by_side(tell, number, setup)
    return figures


def _side_by_side(tell: Callable[[str], None], number: int, setup: str) -> dict[str, float]:
    """One space under both isolations at once, to the end."""
    started = time.perf_counter()
    running = {level: _begin("fewer", f"{setup} isolation={level}") for level in ("rc", "rcsi")}
    figures: dict[str, float] = {}
    for level, process in running.items():
        found = _ended(process)
        tell(
            f"{setup}, {level}: {found['states']:,} states of the reduced graph, "
            f"{found['transitions']:,} transitions, {found['ends']} at rest, "
            f"{found['cpu_s']:.0f} CPU s, {found['mb']:,.0f} MB: "
            f"{', '.join(found['violations']) or 'no violation'}"
        )
        if not found["exhausted"] or found["violations"]:
            raise RuntimeError(f"{setup}, {level}: not exhausted, or a violation")
        for name in ("states", "transitions", "ends", "cpu_s", "seconds", "mb"):
            figures[f"explore.large_{number}.{level}.{name}"] = found[name]
    figures[f"explore.large_{number}.both_s"] = time.perf_counter() - started
    return figures


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(one(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))))
    else:
        for name, value in main().items():
            print(f"{name} {value:,.3f}")
