"""What a search or a set of walks says of itself, line by line."""

from __future__ import annotations

import subprocess
from pathlib import Path

from redial.paths import ROOT
from redial_lab.explore.scenario import GOING_ON, Scenario
from redial_lab.explore.search import Result


def commit(folder: Path | None = None) -> str:
    """Short hash of the commit searched, with + when files differ from it; 'none' outside git."""
    folder = folder or ROOT
    found = []
    for words in (
        ["rev-parse", "--short", "HEAD"],
        ["status", "--porcelain", "--untracked-files=no"],
    ):
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *words],
                capture_output=True,
                text=True,
                timeout=20,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return "none"
        found.append(done.stdout.strip())
    return found[0] + ("+" if found[1] else "")


def report(scenario: Scenario, result: Result, read: set[str] | None = None) -> list[str]:
    """Figures of a search. read: switches it asked for."""
    rate = result.transitions / result.seconds if result.seconds else 0
    faults = {kind: n for kind, n in sorted(result.taken.items()) if kind not in GOING_ON}
    going = {kind: n for kind, n in sorted(result.taken.items()) if kind in GOING_ON}
    seed = "not used: every order is searched" if result.seed is None else str(result.seed)
    lines = [
        f"scenario     {result.scenario}",
        f"result       {', '.join(result.violations) or 'no violation'}; {result.extent}",
        f"states       {result.states}{' of the reduced graph' * result.fewer}, "
        f"{result.ends} at rest, depth {result.deepest}"
        + ("" if result.walks else f", {result.circles} circles"),
        f"transitions  {result.transitions} ({_counted(going)})",
        f"faults       {_counted(faults) if scenario.all_faults else 'none in this scenario'}",
        f"switches     {_switches(scenario, read)}",
        f"seed         {seed}",
        f"commit       {commit()}",
        f"seconds      {result.seconds:.1f}, {rate:.0f} transitions/s",
    ]
    if result.whole_because:
        lines.append(
            f"note         the whole graph, not a reduced one: {result.whole_because[:160]}"
        )
    if result.walks:
        lines.insert(3, f"walks        {result.walks}")
    lines += [
        f"at rest      {times} x {account}" for account, times in result.accounts.most_common(8)
    ]
    lines += [f"note         {note}" for note in scenario.notes]
    return lines


def _counted(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in kinds.items()) or "none struck"


def _switches(scenario: Scenario, read: set[str] | None) -> str:
    chosen = ", ".join(f"{name} = {value}" for name, value in scenario.switches.items())
    asked = f"{len(read)} asked for: {', '.join(sorted(read))}" if read else ""
    return "; ".join(part for part in (chosen or "all at their defaults", asked) if part)
