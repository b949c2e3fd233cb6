"""From a found plan to a small one that finds the same, and its story."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from redial_lab.torture.plan import Plan
from redial_lab.torture.trial import Outcome, run

Item = TypeVar("Item")

RUNS = 150
"""How often a plan is run again to make it smaller."""


class _Budget:
    def __init__(self, kinds: set[str], runs: int) -> None:
        self.kinds, self.left = kinds, runs

    def finds(self, plan: Plan) -> bool:
        """Whether this plan still finds one of the same kind."""
        if self.left <= 0 or not plan.clients:
            return False
        self.left -= 1
        return bool(self.kinds & run(plan).verdict.kinds)


def shrunk(plan: Plan, kinds: set[str], runs: int = RUNS) -> Plan:
    """A smaller plan with a finding of one of these kinds: fewer events, fewer units of work, fewer
    switches that are not at their default. At most ``runs`` trials.
    """
    budget = _Budget(kinds, runs)
    for _ in range(2):
        before = plan.size
        plan = _fewer_units(_fewer_events(plan, budget), budget)
        if plan.size == before:
            break
    for name in list(plan.switches):
        without = {key: value for key, value in plan.switches.items() if key != name}
        if budget.finds(replace(plan, switches=without)):
            plan = replace(plan, switches=without)
    return plan


def _fewer_events(plan: Plan, budget: _Budget) -> Plan:
    kept = fewer(plan.events, lambda some: budget.finds(replace(plan, events=tuple(some))))
    return replace(plan, events=tuple(kept))


def _fewer_units(plan: Plan, budget: _Budget) -> Plan:
    return plan.with_units(fewer(plan.units, lambda some: budget.finds(plan.with_units(some))))


def fewer(items: Sequence[Item], still: Callable[[list[Item]], bool]) -> list[Item]:
    """Delta debugging: leave out pieces, smaller and smaller ones, while ``still`` says so."""
    kept = list(items)
    if kept and still([]):
        return []
    size = max(1, len(kept) // 2)
    while kept:
        place, changed = 0, False
        while place < len(kept):
            without = kept[:place] + kept[place + size :]
            if without and still(without):
                kept, changed = without, True
            else:
                place += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    return kept


def story(outcome: Outcome, longest: int = 400) -> str:
    """What happened, for people: the plan in a few lines, the findings, every statement in turn."""
    plan = outcome.plan
    lines = [
        f"{plan.name}, seed {plan.seed}" + (f", text of {plan.mutant}" if plan.mutant else ""),
        f"read committed snapshot: {'on' if plan.rcsi else 'off'}; {len(plan.clients)} clients, "
        f"{len(plan.units)} units of work, {len(plan.events)} events",
        *(f"switch {name} = {_word(value)}" for name, value in plan.switches.items()),
        "",
        *(f"FOUND {finding.kind}: {finding.what}" for finding in outcome.verdict.findings),
        "",
    ]
    for seconds, who, what in outcome.told:
        text = " ".join(what.split())
        lines.append(f"{seconds:10.2f}  {who:<26}  {text[:longest]}")
    return "\n".join(lines) + "\n"


def _word(value: object) -> str:
    return str(value).lower()
