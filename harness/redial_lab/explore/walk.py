"""Random and PCT walks: schedules beyond the bounds of a search, each repeatable from its seed.

A walk counts schedules, a search counts states. PCT (Burckhardt, Kothari, Musuvathi, Nagarakatti,
2010): every actor has a random priority, the highest that can run does, and at ``changes`` random
moments the one that runs falls below all others: a bug that needs d ordered events is met with
probability at least 1 / (n * k^(d-1)) for n actors, k steps and d - 1 changes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Hashable
from dataclasses import dataclass

from redial_lab.explore.counted import counting
from redial_lab.explore.scenario import GOING_ON, Scenario, Step
from redial_lab.explore.search import Result
from redial_lab.explore.world import World


@dataclass(frozen=True, slots=True)
class Walks:
    """How to walk."""

    count: int = 1000
    """Schedules."""
    seed: int = 1
    """Of all of them."""
    first: int = 0
    """Number of the first one."""
    steps: int = 400
    """Bound of one walk."""
    changes: int | None = None
    """Of PCT; None: every possible step is as likely as the others."""
    length: int = 60
    """Faults and changes fall on one of so many first steps."""
    until: str | None = None
    """Stop when a violation of that name is found."""

    def __str__(self) -> str:
        """What a report says of them."""
        how = "random" if self.changes is None else f"PCT, {self.changes} changes"
        return f"{self.count} walks from {self.first} ({how}), seed {self.seed}"


class _Chooser:
    """Chooses the steps of one walk."""

    def __init__(self, plan: Walks, number: int, faults: int) -> None:
        self.random = random.Random(f"{plan.seed}/{number}")
        self.pct = plan.changes is not None
        self.changes = {self.random.randrange(plan.length) for _ in range(plan.changes or 0)}
        self.strikes = {self.random.randrange(plan.length) for _ in range(faults)}
        self.priority: dict[Hashable, float] = {}

    def choose(self, steps: list[Step], at: int) -> Step:
        """The next step; faults strike at the moments drawn for them."""
        going = [step for step in steps if step.kind in GOING_ON]
        faults = [step for step in steps if step.kind not in GOING_ON]
        if faults and (at in self.strikes or not going):
            self.strikes.discard(at)
            return self.random.choice(faults)
        if at in self.strikes:  # none is possible yet: at the next step
            self.strikes.discard(at)
            self.strikes.add(at + 1)
        if not self.pct:
            return self.random.choice(going)
        for step in going:
            self.priority.setdefault(_actor(step), 1 + self.random.random())
        chosen = max(going, key=lambda step: self.priority[_actor(step)])
        if at in self.changes:
            self.priority[_actor(chosen)] = -at
            chosen = max(going, key=lambda step: self.priority[_actor(step)])
        return chosen


def _actor(step: Step) -> Hashable:
    """Whose priority counts: a session's, whatever it does; a timer's."""
    return ("timer", step.who) if step.kind == "timer" else step.who


def walk(scenario: Scenario, plan: Walks | None = None, read: set[str] | None = None) -> Result:
    """Walk a scenario. Deterministic: the same plan gives the same result.

    A walk's faults strike with the scenario's whole budget or less. read: as of ``World``. States
    are counted by their hash; a violation's path is the shortest met, its ``walk`` the number of
    the schedule.
    """
    plan = plan or Walks()
    return counting(lambda counted: _walked(World(scenario, read, counted), plan))


def _walked(world: World, plan: Walks) -> Result:
    started, scenario = time.perf_counter(), world.scenario
    journal = world.journal
    origin = journal.mark()
    result = Result(scenario.name, seed=plan.seed, bounded_by=str(plan), unseen=scenario.to_witness)
    seen = {world.hash()}
    try:
        _all(world, plan, result, seen, origin)
        result.looked_at(world)
    finally:
        world.close()
    result.states = len(seen)
    result.seconds = time.perf_counter() - started
    return result


def _all(world: World, plan: Walks, result: Result, seen: set[bytes], origin: int) -> None:
    budget = sum(fault.times for fault in world.faults)
    for number in range(plan.first, plan.first + plan.count):
        faults = random.Random(f"{plan.seed}/{number}/faults").randint(0, budget) if budget else 0
        chooser = _Chooser(plan, number, faults)
        _one(world, chooser, plan, result, seen, number)
        result.walks += 1
        world.journal.rewind(origin)
        if plan.until is not None and plan.until in result.violations:
            result.bounded_by, result.stopped = f"the first {plan.until!r}", True
            break


def _one(
    world: World, chooser: _Chooser, plan: Walks, result: Result, seen: set[bytes], number: int
) -> None:
    """One walk from the beginning to rest, a violation or its bound."""
    path: list[Step] = []
    while len(path) < plan.steps:
        ends = result.ends
        names, steps = result.meet(world, path, number)
        if names or result.ends > ends:
            break
        step = chooser.choose(steps, len(path))
        world.journal.mark()
        struck = world.take(step)
        world.recount()
        path.append(step)
        result.transitions += 1
        result.taken[step.kind if struck else "run"] += 1
        if not struck:
            chooser.strikes.add(len(path))  # at the next step, then
        seen.add(world.hash())
    result.deepest = max(result.deepest, len(path))
