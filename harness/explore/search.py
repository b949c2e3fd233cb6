"""Depth-first search of states with rewinds and a set of visited states.

It counts states, never schedules: a state reached twice is searched once, unless it is reached by a
shorter way while a shortest trace is wanted.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from harness.explore.world import Scenario, Step, World


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a search stops. transitions and depth: at most so many; None: no bound.

    first: stop at the first violation; otherwise search on for a shorter trace of each.
    """

    transitions: int | None = 2_000_000
    depth: int | None = 400
    first: bool = False


@dataclass(slots=True)
class Violation:
    """Something a check named, and the shortest way to it found so far."""

    name: str
    path: tuple[Step, ...]


@dataclass(slots=True)
class Result:
    """What a search did and found."""

    scenario: str
    states: int = 0
    transitions: int = 0
    ends: int = 0
    deepest: int = 0
    seconds: float = 0.0
    bounded_by: str = ""
    taken: Counter = field(default_factory=Counter)
    violations: dict[str, Violation] = field(default_factory=dict)

    @property
    def exhausted(self) -> bool:
        """Every reachable state was seen."""
        return not self.bounded_by

    def __str__(self) -> str:
        """One line for logs and test output."""
        what = "exhausted" if self.exhausted else f"bounded by {self.bounded_by}"
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(self.taken.items()))
        rate = self.transitions / self.seconds if self.seconds else 0
        return (f"{self.scenario}: {self.states} states, {self.transitions} transitions ({kinds}), "
                f"{self.ends} ends, depth {self.deepest}, {what}, {self.seconds:.1f} s, "
                f"{rate:.0f} transitions/s; violations: {', '.join(self.violations) or 'none'}")


class _Searcher:
    def __init__(self, world: World, limits: Limits) -> None:
        self.world = world
        self.limits = limits
        self.result = Result(world.scenario.name)
        self.visited: dict[bytes, int] = {}
        self.path: list[Step] = []
        self.bound = limits.depth

    def run(self) -> Result:
        """Search; the world is at its start again afterwards."""
        started = time.perf_counter()
        world, journal, result = self.world, self.world.journal, self.result
        origin = journal.mark()
        self.visited[world.hash()] = 0
        result.states = 1
        stack = [(origin, iter(self._enter()))]
        while stack:
            step = next(stack[-1][1], None)
            if step is None or self._enough():
                mark, _ = stack.pop()
                journal.rewind(mark)
                if self.path:
                    self.path.pop()
                continue
            mark = journal.mark()
            world.take(step)
            result.transitions += 1
            result.taken[step.kind] += 1
            self.path.append(step)
            if self._new():
                stack.append((mark, iter(self._enter())))
            else:
                journal.rewind(mark)
                self.path.pop()
        result.seconds = time.perf_counter() - started
        return result

    def _enough(self) -> bool:
        limits, result = self.limits, self.result
        if limits.first and result.violations:
            result.bounded_by = result.bounded_by or "the first violation"
            return True
        if limits.transitions is not None and result.transitions >= limits.transitions:
            result.bounded_by = f"{limits.transitions} transitions"
            return True
        return False

    def _new(self) -> bool:
        """Whether this state is to be searched: not seen, or seen only by a longer way."""
        depth = len(self.path)
        if self.bound is not None and depth > self.bound:
            self.result.bounded_by = self.result.bounded_by or f"depth {self.bound}"
            return False
        key = self.world.hash()
        known = self.visited.get(key)
        if known is not None and (known <= depth or not self.result.violations):
            return False
        if known is None:
            self.result.states += 1
        self.visited[key] = depth
        self.result.deepest = max(self.result.deepest, depth)
        return True

    def _enter(self) -> list[Step]:
        """Check the state just entered; returns what may happen next."""
        world, result = self.world, self.result
        names = world.scenario.on_every_state(world)
        steps = world.steps()
        if not any(step.kind in {"run", "timer", "expire"} for step in steps):
            result.ends += 1
            names = names + world.scenario.at_the_end(world)
        for name in names:
            known = result.violations.get(name)
            if known is None or len(self.path) < len(known.path):
                result.violations[name] = Violation(name, tuple(self.path))
        return [] if names else steps


def search(scenario: Scenario, limits: Limits | None = None) -> Result:
    """Search a scenario. Deterministic: the same scenario gives the same result."""
    return _Searcher(World(scenario), limits or Limits()).run()


def shortest(scenario: Scenario, name: str, limits: Limits | None = None) -> Violation | None:
    """The shortest trace to one violation: searches again with ever smaller depth bounds."""
    best: Violation | None = None
    depth = (limits or Limits()).depth or 400
    while True:
        found = _Searcher(World(scenario), Limits(depth=depth, first=True)).run()
        if name not in found.violations:
            return best
        best = found.violations[name]
        depth = len(best.path) - 1
