"""Depth-first search of states with rewinds and a set of visited states.

It counts states, never schedules: a state reached twice is searched once, unless it is reached by a
shorter way while a shortest trace is wanted.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from redial_lab.explore.counted import counting
from redial_lab.explore.heat import Heat
from redial_lab.explore.scenario import Witness
from redial_lab.explore.world import DEFECT, GOING_ON, Scenario, Step, World

EXHAUSTED, REDUCED, BOUNDED, TRUNCATED = "exhausted", "reduced", "bounded", "truncated"
"""How far a search came. Exhausted: every state that can be reached was seen. Reduced: every outcome
was seen, but orders of independent steps were left out, and states in between with them. Bounded: a
limit ended it. Truncated: something was cut off on purpose (what lies behind a violation)."""

NOT_COVERED = (
    "What a search does not cover: what others do inside a statement of Service Broker (SEND, RECEIVE and "
    "their kin) or of a definition, or between two numbers a statement draws from a sequence, which is "
    "one step unless it waits; that a change may write some rows before it has read the others; a wait's "
    "time limit (LOCK_TIMEOUT, WAITFOR) that ends or a queue monitor that looks while a session can run, "
    "unless a fault (time_limit, monitor_looks) brings it; a session that is struck when all of its batch "
    "is done and before its client hears of that, unless the fault is answer_lost; a value kept in a "
    "place where no test has hidden one."
)
"""What *exhausted* and *reduced* leave out. It stands beside the words wherever they are printed;
docs/glossary.md has it for pages written by hand."""

ATOMIC = "each statement in one step"
"""Beside the word, of a search in which nobody comes in inside a statement."""

HELD, VIOLATED, UNFINISHED, IN_VAIN = 0, 1, 3, 4
"""Exit statuses: nothing is violated and all was seen (exhausted or reduced); something is violated;
nothing is, but not all was seen; nothing is, but a claim never had anything to say (a witness of
it was not met), or no batch was ever done. What cannot be searched at all is 2, or 1 as for any command."""

ALSO = "; "
"""Between the names of what a replayed path meets at once; a name may have commas."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a search stops."""

    transitions: int | None = 2_000_000
    depth: int | None = 400
    """transitions, depth: at most so many; None: no bound."""
    until: str | None = None
    """Stop when a violation of that name is found."""
    first: bool = False
    """Of any name. Without either the search goes on to the end."""
    past: bool = False
    """What may happen after a violation is searched too (but not after a defect of the broker)."""


@dataclass(slots=True)
class Violation:
    """Something a check named, and the shortest way to it found so far."""

    name: str
    path: tuple[Step, ...]
    walk: int | None = None
    """Its schedule's number where it was met on a walk."""


@dataclass(slots=True)
class Result:
    """What a search did and found."""

    scenario: str
    states: int = 0
    transitions: int = 0
    ends: int = 0
    """States at rest."""
    deepest: int = 0
    seconds: float = 0.0
    bounded_by: str = ""
    circles: int = 0
    """Steps that led back to a state they came from; none means that every run is over after at
    most ``deepest`` steps (where the search is exhausted)."""
    walks: int = 0
    """Of walks."""
    fewer: bool = False
    """States of the reduced graph (``persistent``), not of the whole one."""
    opaque: tuple[str, ...] = ()
    """Places of the T-SQL whose steps were taken to depend on everything."""
    whole_because: str = ""
    """Why the whole graph was searched although fewer orders were asked for."""
    orders: bool = False
    """Every order of dependent steps was walked, without hashes: no state is counted."""
    statements_atomic: bool = False
    """Nobody came in inside a statement (``Scenario.statements_atomic``)."""
    stopped: bool = False
    """It ended at a violation that was waited for."""
    cut: int = 0
    """States with a violation: what may happen after them was not searched."""
    offered: Counter[str] = field(default_factory=Counter)
    """In how many states each kind of fault was possible."""
    unseen: dict[str, Witness] = field(default_factory=dict)
    """Witnesses that were not met, by their names."""
    counted: frozenset[str] = frozenset()
    """What counted for the states because T-SQL reads it (``engine.state.COUNTED``)."""
    heat: Mapping[str, Sequence[Heat]] = field(default_factory=dict)
    """Of every module that was called, how often each of its statements was met, where that was
    asked for."""
    seed: int | None = None
    """Of walks."""
    taken: Counter[str] = field(default_factory=Counter)
    """Steps by kind."""
    struck: set[str] = field(default_factory=set)
    """Kinds of fault of which something came."""
    told: set[tuple[tuple[tuple[int, ...], ...], ...]] = field(default_factory=set)
    """What the applications had heard, in any state: of each, the errors of each batch that was over."""
    nothing_done: bool = False
    """There are batches, and none was ever over without an error."""
    accounts: Counter[str] = field(default_factory=Counter)
    """Of the states at rest, how many had each total."""
    violations: dict[str, Violation] = field(default_factory=dict)

    def meet(
        self, world: World, path: list[Step], walk: int | None = None
    ) -> tuple[list[str], list[Step]]:
        """Check a state just reached and keep what is found there; returns the names of what is
        violated and what may happen next.

        path: the way to it. walk: number of the schedule it is on.
        """
        names, steps, at_rest = look(world)
        self.struck |= world.progress.struck
        self.told.add(tuple(world.progress.results))
        self.offered.update({step.kind for step in steps if step.kind not in GOING_ON})
        if self.unseen:
            self._witness(world, at_rest)
        if at_rest:
            self.ends += 1
            if world.scenario.account is not None:
                self.accounts[str(world.scenario.account(world))] += 1
        for name in names:
            known = self.violations.get(name)
            if known is None or len(path) < len(known.path):
                self.violations[name] = Violation(name, tuple(path), walk)
        return names, steps

    def goes_on(self, names: list[str], steps: list[Step], past: bool) -> list[Step]:
        """What is searched behind a state: nothing where something is violated, unless ``past`` says
        so. What a defect of the broker leads to proves nothing.
        """
        if not names or (past and not any(name.startswith(DEFECT) for name in names)):
            return steps
        self.cut += bool(steps)
        return []

    def _witness(self, world: World, at_rest: bool) -> None:
        for name, witness in list(self.unseen.items()):
            if (at_rest or not witness.at_rest) and witness.seen(world):
                del self.unseen[name]

    def circle(self, world: World, path: list[Step], depth: int) -> None:
        """The path has come back to the state it was in after ``depth`` steps. A livelock when
        nobody who could run stood still on the way round and no time has passed.
        """
        self.circles += 1
        name, way = world.scenario.livelock, path[depth:]
        if not name or name in self.violations or any(step.kind != "run" for step in way):
            return
        able = {step.who for step in world.steps() if step.kind == "run"}
        if able <= {step.who for step in way}:
            self.violations[name] = Violation(name, tuple(path))

    def enough(self, limits: Limits) -> bool:
        """Whether a bound is reached; says which."""
        if limits.until is not None and limits.until in self.violations:
            self.bounded_by, self.stopped = f"the first {limits.until!r}", True
        elif limits.first and self.violations:
            self.bounded_by, self.stopped = "the first violation", True
        elif limits.transitions is not None and self.transitions >= limits.transitions:
            self.bounded_by = f"{limits.transitions} transitions"
        else:
            return False
        return True

    def looked_at(self, world: World) -> Result:
        """The same, with what counted, and what was counted, in the world."""
        self.counted = world.texts.counted
        self.statements_atomic = world.scenario.statements_atomic
        self.nothing_done = any(client.batches for client in world.scenario.clients) and not any(
            () in results for told in self.told for results in told
        )
        if world.counting is not None:
            self.heat = world.counting.heat()
        return self

    @property
    def verdict(self) -> str:
        """EXHAUSTED, REDUCED, BOUNDED or TRUNCATED."""
        if self.stopped or self.cut:
            return TRUNCATED
        if self.bounded_by:
            return BOUNDED
        return REDUCED if self.fewer or self.orders else EXHAUSTED

    @property
    def extent(self) -> str:
        """How much was searched: the verdict, and what it means here."""
        found = [f"{self.verdict}{f' by {self.bounded_by}' if self.bounded_by else ''}"]
        found += [ATOMIC] * self.statements_atomic
        if self.cut:
            found.append(f"nothing behind {self.cut} states with a violation was searched")
        return ": ".join(found)

    @property
    def ended(self) -> bool:
        """It came to its end: no limit stopped it. What lies behind violations may be left out."""
        return not self.bounded_by

    @property
    def status(self) -> int:
        """The exit status that says the same."""
        if self.violations:
            return VIOLATED
        if self.ended and (self.unseen or self.nothing_done):
            return IN_VAIN
        return HELD if self.verdict in (EXHAUSTED, REDUCED) else UNFINISHED

    def __str__(self) -> str:
        """One line for logs and test output."""
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(self.taken.items()))
        rate = self.transitions / self.seconds if self.seconds else 0
        return (
            f"{self.scenario}: {self.states} states, {self.transitions} transitions ({kinds}), "
            f"{self.ends} ends, depth {self.deepest}, {self.extent}, {self.seconds:.1f} s, "
            f"{rate:.0f} transitions/s; violations: {', '.join(self.violations) or 'none'}"
        )


def look(world: World) -> tuple[list[str], list[Step], bool]:
    """Of a world as it stands: names of what is violated, what may happen next, whether all is at
    rest (then what must hold at the end is looked at too). A defect of the broker is a violation:
    what is searched behind it proves nothing.
    """
    names, steps = world.scenario.on_every_state(world) + world.defects(), world.steps()
    at_rest = not any(step.kind in GOING_ON for step in steps)
    return names + world.scenario.at_the_end(world) if at_rest else names, steps, at_rest


class _Searcher:
    def __init__(self, world: World, limits: Limits) -> None:
        self.world = world
        self.limits = limits
        self.result = Result(world.scenario.name, unseen=world.scenario.to_witness)
        self.visited: dict[bytes, int] = {}
        self.path: list[Step] = []
        self.keys: list[bytes] = []
        self.depth_of: dict[bytes, int] = {}
        self.bound = limits.depth

    def run(self) -> Result:
        """Search; the world is at its start again afterwards."""
        started = time.perf_counter()
        world, journal, result = self.world, self.world.journal, self.result
        origin = journal.mark()
        self._push(world.hash())
        result.states = 1
        stack = [(origin, iter(self._enter()))]
        while stack:
            step = next(stack[-1][1], None)
            if step is None or self.result.enough(self.limits):
                mark, _ = stack.pop()
                journal.rewind(mark)
                del self.depth_of[self.keys.pop()]
                if self.path:
                    self.path.pop()
                continue
            mark = journal.mark()
            struck = world.take(step)
            if world.more:
                world.recount()
            if not struck:  # as far as it went, ``run`` goes too
                journal.rewind(mark)
                continue
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

    def _push(self, key: bytes) -> None:
        """The state just reached is searched now."""
        self.visited[key] = self.depth_of[key] = len(self.path)
        self.keys.append(key)

    def _new(self) -> bool:
        """Whether this state is to be searched: not seen, or seen only by a longer way."""
        depth = len(self.path)
        if self.bound is not None and depth > self.bound:
            self.result.bounded_by = self.result.bounded_by or f"depth {self.bound}"
            return False
        key = self.world.hash()
        known = self.visited.get(key)
        if key in self.depth_of:
            self.result.circle(self.world, self.path, self.depth_of[key])
        if known is not None and (known <= depth or not self.result.violations):
            return False
        if known is None:
            self.result.states += 1
        self._push(key)
        self.result.deepest = max(self.result.deepest, depth)
        return True

    def _enter(self) -> list[Step]:
        """Check the state just entered; returns what may happen next."""
        names, steps = self.result.meet(self.world, self.path)
        return self.result.goes_on(names, steps, self.limits.past)


def search(
    scenario: Scenario, limits: Limits | None = None, read: set[str] | None = None
) -> Result:
    """Search a scenario. Deterministic: the same scenario gives the same result.

    read: filled with the names of the engine's switches that were asked for.
    """

    def run(counted: frozenset[str]) -> Result:
        world = World(scenario, read, counted)
        try:
            with collecting_seldom():
                return _Searcher(world, limits or Limits()).run().looked_at(world)
        finally:
            world.close()

    return counting(run)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Garbage is collected in large heaps, and what is old is not looked at: walking what stays took
    a fifth of a search's time. What is frozen stays so; to count it would be to walk it too.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 500_000), 10, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def shortest(scenario: Scenario, violation: Violation) -> Violation:
    """The violation with every step left out that is not needed for it.

    Steps are dropped one by one, and in runs, while what remains can still be played and still
    ends in the same violation: no single step of the result can be left out.
    """
    world = World(scenario)
    origin = world.journal.mark()
    path = list(violation.path)
    size = len(path) // 2
    while size >= 1:
        at = 0
        while at < len(path):
            shorter = path[:at] + path[at + size :]
            played = _play(world, shorter, violation.name)
            world.journal.rewind(origin)
            if played is not None:
                path = played
            else:
                at += size
        size //= 2
    world.close()
    return Violation(violation.name, tuple(path))


def _play(world: World, steps: list[Step], name: str) -> list[Step] | None:
    """Play steps as far as the violation; None when one is impossible or it does not come."""
    for number, step in enumerate(steps):
        possible = world.steps()
        if step not in possible:
            return None
        world.take(step)
        if name in look(world)[0]:
            return steps[: number + 1]
    return None
