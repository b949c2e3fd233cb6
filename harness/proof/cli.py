"""`invoke explore`: the shipped procedures and what they are compared with, searched."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from harness.explore.search import Limits, search, shortest
from harness.explore.trace import replay
from harness.explore.world import Scenario
from harness.proof.audit import article, two_phase
from harness.proof.comparators import forum_aged, forum_pair, shared_dialog
from harness.proof.strategies import lookup, strategy

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


def main(name: str = "two_phase", transitions: int | None = 2_000_000) -> int:
    """Search a scenario and print what was found; 1 when a check is violated, 2 for a wrong name.

    transitions: bound of the search, None for no bound.
    """
    console = Console()
    make = SCENARIOS.get(name)
    if make is None:
        console.print(f"scenario {name!r}: unknown; allowed: {', '.join(SCENARIOS)}", markup=False)
        return 2
    scenario = make()
    console.print(f"Searching {scenario.name} on the embedded broker (not SQL Server) ...",
                  markup=False)
    for note in scenario.notes:
        console.print(f"  {note}", markup=False)
    result = search(scenario, Limits(transitions=transitions))
    console.print(str(result), markup=False, highlight=False)
    for violation in result.violations.values():
        console.print(f"\n{violation.name}, every step needed:", markup=False, style="bold red")
        for line in replay(scenario, shortest(scenario, violation)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 1 if result.violations else 0
