#!/usr/bin/env python3
"""Coverage-guided fuzzing of the packet reader, the parser and the executor (libFuzzer, atheris).

    fuzz.py                          every target, 20,000 inputs each
    fuzz.py --target parser --runs 500000 --seed 7
    fuzz.py --corpus DIRECTORY       keep what was found and start from it the next time

It prints what was seen: inputs, inputs that found new edges of our code, the slowest one, peak
memory, seconds, edges covered. A crash, a hang of more than ten seconds or more than a
gibibyte of memory ends the target; the input is kept, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402 - a tool runs from a bare clone
from rich.table import Table  # noqa: E402

NAMES = ("packets", "parser", "statements")
RUNS = 20_000
TIMEOUT_S = 10
MEMORY_MB = 1024
MAX_BYTES = 2048
"""Longest input; the corpus holds longer texts, cut at statement ends."""

_STATISTICS = {
    "inputs": r"stat::number_of_executed_units:\s+(\d+)",
    "found new": r"stat::new_units_added:\s+(\d+)",
    "slowest s": r"stat::slowest_unit_time_sec:\s+(\d+)",
    "peak MB": r"stat::peak_rss_mb:\s+(\d+)",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What one target's run showed. crash: what it ended with, '' when it came to its end."""

    target: str
    figures: dict[str, int]
    crash: str


def missing() -> str:
    """Why nothing can be fuzzed here; '' when it can."""
    if find_spec("atheris") is None:
        return "atheris is not installed. Next: pip install '.[fuzz]' (Linux, Python 3.11 to 3.13)"
    return ""


def seeds(target: str) -> list[bytes]:
    """Inputs to start from: our own statements, or what a well-behaved client says."""
    if target == "packets":
        from tests.broker.tds import client

        said = [
            client.batch("SELECT 1;"),
            client.rpc(client.call("sp_who")),
            client.attention(),
            client.prelogin() + client.login(),
            client.batch("x" * 5000),
        ]
        return [bytes([behind]) + one for one in said for behind in (0, 1, 255)]
    if target == "statements":
        from redial_lab.pages.coverage.examples import script, surface

        return [text.encode()[:MAX_BYTES] for example in surface() for text in script(example)]
    from tests.product.tsql import zoo

    return [sql.encode()[:MAX_BYTES] for sql, _ in zoo.accepted()]


def run(target: str, runs: int, seed: int, corpus: Path, rooms: str = "") -> Report:
    """One target in a process of its own.

    rooms: packages whose edges guide it, with blanks between; '': all of ours.
    """
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(target)):
        (corpus / f"seed-{number:04}").write_bytes(data)
    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-timeout={TIMEOUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={MAX_BYTES}",
        "-print_final_stats=1",
        f"-artifact_prefix={corpus}/crash-",
    ]
    started = time.monotonic()
    # A shell in between, which forks: a process begins with its parent's peak as its own (it is
    # kept over exec, see getrusage), and this one's parent may be a large test run.
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '"$@"; exit $?',
            "fuzz",
            sys.executable,
            "-m",
            "tools.fuzzing.targets",
            target,
            *options,
            str(corpus),
        ],
        cwd=ROOT,
        env=os.environ | ({"REDIAL_FUZZ_ROOMS": rooms} if rooms else {}),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return _report(target, done, time.monotonic() - started)


def _report(target: str, done: subprocess.CompletedProcess[str], seconds: float) -> Report:
    said = done.stderr
    figures = {}
    for name, pattern in _STATISTICS.items():
        found = re.search(pattern, said)
        figures[name] = int(found[1]) if found else 0
    figures["seconds"] = round(seconds)
    covered = re.findall(r"\bcov: (\d+)", said)
    figures["edges"] = int(covered[-1]) if covered else 0
    return Report(target, figures, _crash(said + done.stdout) if done.returncode else "")


def _crash(said: str) -> str:
    """The exception and where it was kept, or libFuzzer's own words."""
    at = said.find("=== Uncaught Python exception")
    words_ = said[at:] if at >= 0 else said[said.find("==ERROR") :] or said[-2000:]
    kept = re.findall(r"Test unit written to (\S+)", said)
    return words_[:3000] + (f"\ninput: {kept[-1]}" if kept else "")


def main() -> int:
    """Fuzz, print the table; 1 after a crash, 2 when it cannot be done here."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--target", choices=NAMES, action="append")
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--corpus", type=Path)
    asked = options.parse_args()
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        base = asked.corpus or Path(temporary)
        reports = [run(name, asked.runs, asked.seed, base / name) for name in asked.target or NAMES]
    show(reports)
    return 1 if any(report.crash for report in reports) else 0


def show(reports: list[Report]) -> None:
    """The figures, and every crash in full."""
    table = Table(title="coverage-guided fuzzing", title_justify="left")
    table.add_column("target")
    for name in reports[0].figures:
        table.add_column(name, justify="right")
    table.add_column("ended")
    console = Console()
    for report in reports:
        table.add_row(
            report.target,
            *(f"{value:,}" for value in report.figures.values()),
            "crash" if report.crash else "all inputs answered",
        )
    console.print(table)
    for report in reports:
        if report.crash:
            console.print(f"{report.target}:\n{report.crash}", markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
