"""`invoke explore`: the shipped procedures and what they are compared with, searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from rich.console import Console

from redial_lab.explore.against import WAYS, compared, lines
from redial_lab.explore.heat import heat_map
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.replay_words import decode
from redial_lab.explore.search import (
    HELD,
    IN_VAIN,
    UNFINISHED,
    VIOLATED,
    Limits,
    Result,
    Violation,
    search,
)
from redial_lab.explore.search_report import report
from redial_lab.explore.trace_files import Evidence, evidence
from redial_lab.explore.user_files import load
from redial_lab.explore.vary import vary
from redial_lab.explore.walk import Walks, walk
from redial_lab.explore.world import Scenario
from redial_lab.proof.audit_setups import article, two_phase
from redial_lab.proof.comparators import forum_aged, forum_pair, shared_dialog
from redial_lab.proof.setups import Setup
from redial_lab.proof.strategies import lookup, strategy

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "two_phase": lambda: two_phase(kills=1),
    "two_phase-rcsi": lambda: two_phase(rcsi=True, kills=1),
    "two_phase-transaction": lambda: two_phase(in_transaction=True, kills=1),
    "two_phase-cancel": lambda: two_phase(in_transaction=True, cancels=1),
    "article": lambda: article(in_transaction=False),
    "article-transaction": lambda: article(in_transaction=True),
    "forum_pair": lambda: forum_pair(in_transaction=False),
    "forum_pair-transaction": lambda: forum_pair(in_transaction=True),
    "forum_aged": lambda: forum_aged(in_transaction=False, job=True),
    "forum_aged-transaction": lambda: forum_aged(in_transaction=True, job=True),
    "shared_dialog": shared_dialog,
    "lock_timeout": lambda: strategy("lock_timeout"),
    "lock_timeout_rearm": lambda: strategy("lock_timeout_rearm"),
    "low_priority": lambda: strategy("low_priority"),
    "holdlock": lambda: lookup("holdlock", dead=True, firings=0),
    "no_hint": lambda: lookup("none"),
}
"""What can be searched by name."""


WORST = (VIOLATED, IN_VAIN, UNFINISHED, HELD)
"""Exit statuses, the worst first: one of several searches is the command's."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    name: str = "two_phase"
    """Of ``SCENARIOS``."""
    setup: str = ""
    """As ``Setup.parse`` reads it."""
    file: str = ""
    """A user's own TOML."""
    against: str = ""
    """Another, the old text."""
    transitions: int = 2_000_000
    """Bound of a search."""
    walks: int = 0
    """So many walks instead of a search, from seed, PCT with changes unless that is below 0."""
    seed: int = 1
    changes: int = -1
    vary: bool = False
    """Every value of every switch."""
    orders: bool = False
    """Every order of dependent steps, without hashing."""
    fewer: bool = False
    """No order of independent steps that makes no difference."""
    replay: str = ""
    """A word of an earlier violation, played instead."""
    out: str = ""
    """Folder for what is kept of each violation."""
    statements_atomic: bool = False
    """Nobody comes in inside a statement."""
    past: bool = False
    """What may happen after a violation is searched, too."""
    heat: bool = False
    """Show which statements ran."""

    @property
    def command(self) -> str:
        """What asks for this scenario again."""
        if self.file:
            what = f"--file {quote(self.file)}"
        else:
            what = f"--setup {quote(self.setup)}" if self.setup else f"--scenario {self.name}"
        return f"invoke explore {what}{' --statements-atomic' * self.statements_atomic}"

    def scenario(self) -> Scenario:
        """The scenario asked for. Raises ValueError (a setup) and OwnError (a file)."""
        if self.file:
            found = load(self.file)[0]
        else:
            found = Setup.parse(self.setup).scenario() if self.setup else SCENARIOS[self.name]()
        found.counts = self.heat
        found.statements_atomic = found.statements_atomic or self.statements_atomic
        return found


def main(wanted: Wanted | None = None) -> int:
    """Search or walk and print what was found; the worst of the exit statuses (``search``)."""
    wanted = wanted or Wanted()
    console = Console()
    scenario = wanted.scenario()
    if wanted.replay:
        return _replay(console, scenario, wanted)
    if wanted.against:
        return _against(console, scenario, wanted)
    console.print(
        f"Searching {scenario.name} on the embedded broker (not SQL Server) ...", markup=False
    )
    worst = HELD
    for number, (searched, result, read) in enumerate(_results(scenario, wanted)):
        lines = report(searched, result, read) if not number else [str(result)]
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        for line in heat_map(result.heat):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        worst = min(worst, result.status, key=WORST.index)
        _show(console, searched, result.violations.values(), wanted)
    return worst


def _results(
    scenario: Scenario, wanted: Wanted
) -> Iterator[tuple[Scenario, Result, set[str] | None]]:
    read: set[str] = set()
    if wanted.walks:
        changes = None if wanted.changes < 0 else wanted.changes
        plan = Walks(wanted.walks, wanted.seed, changes=changes)
        yield scenario, walk(scenario, plan, read), read
        return
    limits = Limits(transitions=wanted.transitions, past=wanted.past)
    if wanted.orders:
        yield scenario, reduced(scenario, limits), None
        return
    if wanted.fewer:
        yield scenario, persistent(scenario, limits, read), read
        return
    if not wanted.vary:
        yield scenario, search(scenario, limits, read), read
        return
    for variant in vary(scenario, limits):
        yield variant.scenario, variant.result, None


def _show(
    console: Console, scenario: Scenario, violations: Iterable[Violation], wanted: Wanted
) -> None:
    """Print the shortest trace of every violation."""
    command = "" if wanted.vary else wanted.command  # a variant's switches are no option
    for violation in violations:
        title = f"\n{violation.name}, every step needed:"
        console.print(title, markup=False, style="bold red", soft_wrap=True)
        _keep(console, evidence(scenario, violation, command), wanted)


def _against(console: Console, scenario: Scenario, wanted: Wanted) -> int:
    """Print what only one of two texts comes to, and the steps to it where that is the new one. Raises
    OwnError and ValueError (other sessions)."""
    old = load(wanted.against)[0]
    old.statements_atomic = scenario.statements_atomic
    found = compared(scenario, old, Limits(transitions=wanted.transitions))
    for line in lines(found, wanted.file, wanted.against):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    _show(console, found.told, found.new.violations.values(), wanted)
    for number, way in enumerate(found.ways[:WAYS], 1):
        _show(console, replace(found.told, name=f"{scenario.name} way {number}"), [way], wanted)
    return found.status


def _replay(console: Console, scenario: Scenario, wanted: Wanted) -> int:
    """Take exactly the steps of a word; 1 when they meet a violation. Raises SeedError."""
    violation = decode(scenario, wanted.replay)
    console.print(f"Replaying {len(violation.path)} steps of {scenario.name}:", markup=False)
    _keep(console, evidence(scenario, violation, wanted.command, exact=True), wanted)
    return 1 if violation.name else 0


def _keep(console: Console, found: Evidence, wanted: Wanted) -> None:
    """Print a violation's steps; with ``--out`` write all its forms."""
    console.print(found.text, markup=False, highlight=False, soft_wrap=True, end="")
    if wanted.out:
        for path in found.save(Path(wanted.out), found.trace.scenario.name):
            console.print(f"  {path}", markup=False, highlight=False, soft_wrap=True)
