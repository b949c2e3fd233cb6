"""State search that leaves out orders of independent steps: fewer states, the same outcomes.

In each state a step of one session is searched first. When that is done it is known what the others
can still do from there (``Rest``): where nothing of it depends on that step unless it comes after
it anyway, the other steps need not be searched in this state, since the same follows whether they
come before or after (a persistent set: Godefroid 1996; found by looking back, as dynamic partial
order reduction does: Flanagan and Godefroid 2005, with a summary per visited state: Yang, Chen,
Gopalakrishnan and Kirby 2008). Otherwise those it depends on are searched too.

What it keeps: every state at rest, every run up to the order of independent steps, so every
outcome, deadlock and error. What it does not keep: each state in between. Therefore a step that
changes what the checks of every state look at (``Scenario.watched``) depends on every other such
step. Where a state's future is not known to its end (a bound, a violation, a circle), everything
counts as dependent. Faults and timers whose budget is spent count as if they could still come.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, cast

from redial_lab.explore.cells import IN_NO_CELL
from redial_lab.explore.counted import counting
from redial_lab.explore.diverged import Diverged
from redial_lab.explore.effects import KEPT, Digests, Effect, digests
from redial_lab.explore.faults import MEET_EVERYTHING, OWN_TIMERS
from redial_lab.explore.footprints import ALL, EVERYTHING, Footprint, Lookout
from redial_lab.explore.futures import LATE, UNKNOWN, Futures
from redial_lab.explore.read_memory import Reads
from redial_lab.explore.scenario import Scenario, Step
from redial_lab.explore.search import Limits, Result, collecting_seldom, search
from redial_lab.explore.world import World

CHECKED = 61
"""Of so many steps whose end is known one that is taken is compared with it, to be sure."""


def actor(world: World, step: Step) -> Any:  # hashable, as ``Step.who`` is
    """Who acts: its next step is one thing, whoever acts before."""
    if step.kind == "run":
        return step.who
    if step.kind in {"expire", "resume"} or (
        step.kind == "timer"
        and step.who[0] in OWN_TIMERS
        and step.who[0] not in world.scenario.timer_kinds
    ):
        return LATE
    return step.kind, step.who


@dataclass(slots=True)
class Entry:
    """A state on the way."""

    mark: int
    key: bytes
    digests: Digests
    steps: dict[int, Step]
    watched: object
    runs: int = 0
    everybody: int = 0
    """Who can act."""
    chosen: int = 0
    """Actors to be searched."""
    done: int = 0
    """Those that have been."""
    futures: set[int] = field(default_factory=set)
    under_way: int = 0


class Persistent:
    """The search. ``run`` gives the result; its states are those of the reduced graph."""

    def __init__(
        self, world: World, limits: Limits, opaque: frozenset[Hashable] = frozenset()
    ) -> None:
        """opaque: places whose steps are taken to depend on everything."""
        self.opaque = opaque
        self.world = world
        self.limits = limits
        self.look = Lookout(world)
        self.futures = Futures()
        self.result = Result(world.scenario.name, fewer=True, unseen=world.scenario.to_witness)
        self.rest: dict[bytes, int | None] = {}
        self.path: list[Step] = []
        self.stack: list[Entry] = []
        self.watched = world.scenario.watched
        self.visible = self.look.bit(("watched",))
        self.kept = 0
        self.spent: dict[Step, int] = {}
        self.misses: dict[Hashable, int] = {}

    def run(self) -> Result:
        """Search; the world is at its start again afterwards."""
        started = time.perf_counter()
        journal = self.world.journal
        self._enter(journal.mark(), digests(self.world), self._watched())
        while self.stack:
            entry = self.stack[-1]
            number = self._next(entry)
            if number:
                self._take(entry, number)
            else:
                self._leave(entry)
        self.result.states = len(self.rest)
        self.result.seconds = time.perf_counter() - started
        return self.result

    def _watched(self) -> object:
        return self.watched(self.world) if self.watched is not None else None

    # ------------------------------------------------------------------ a state
    def _enter(self, mark: int, found: Digests, watched: object) -> None:
        """A state that is new: check it and see what may happen."""
        world, futures = self.world, self.futures
        key = found.key()
        self.rest[key] = None
        names, steps = self.result.meet(world, self.path)
        self.result.deepest = max(self.result.deepest, len(self.path))
        entry = Entry(mark, key, found, {}, watched)
        followed = self.result.goes_on(names, steps, self.limits.past)
        if names and not followed:
            entry.futures.add(UNKNOWN)
        else:
            for step in followed:
                bit = futures.actor(actor(world, step))
                if bit in entry.steps:  # time: all of it is searched
                    bit = futures.actor((step.kind, step.who))
                entry.steps[bit] = step
                entry.everybody |= bit
                if step.kind == "run":
                    entry.runs |= bit
            entry.futures.update(map(self._could, world.spent()))
            entry.chosen = self._first(entry)
        self.stack.append(entry)

    def _could(self, step: Step) -> int:
        """The future of a step that only a spent budget forbids."""
        found = self.spent.get(step)
        if found is None:
            number = self.futures.step((step.kind, step.who), self.look.possible(step))
            found = self.spent[step] = self.futures.set_of((self.futures.element(number),))
        return found

    def _first(self, entry: Entry) -> int:
        """Whose step is searched first: of the sessions the one that was seldom enough."""
        if not entry.runs or self.watched is None:
            return entry.everybody
        best, least = 0, None
        for bit, step in entry.steps.items():
            if bit & entry.runs:
                cost = self.misses.get(self._place(step), 0)
                if least is None or cost < least:
                    best, least = bit, cost
        return best

    def _place(self, step: Step) -> Hashable:
        session = self.world.instance.sessions[step.who]
        frame = session.frames[-1]
        return session.stream, frame.program.name, frame.pc

    def _text_place(self, step: Step) -> Hashable:
        """Where a session's step stands in the T-SQL, whoever runs it."""
        if step.kind != "run":
            return None
        frame = self.world.instance.sessions[step.who].frames[-1]
        return frame.program.full_name, frame.program.infos[frame.pc].line, frame.pc

    def _next(self, entry: Entry) -> int:
        """The next actor to search in a state; 0 when that is enough."""
        waiting = entry.chosen & ~entry.done
        if not waiting or self.result.enough(self.limits):
            if waiting:
                entry.futures.add(UNKNOWN)
            return 0
        return waiting & -waiting

    def _leave(self, entry: Entry) -> None:
        """All of a state that is to be searched has been."""
        futures = self.futures
        rest = futures.union(entry.futures) if entry.futures else futures.set_of(())
        self.rest[entry.key] = rest
        self.stack.pop()
        self.world.journal.rewind(entry.mark)
        if self.stack:
            self.path.pop()
            self._done(self.stack[-1], rest)

    # ------------------------------------------------------------------ a step
    def _take(self, entry: Entry, bit: int) -> None:
        """Search what follows a step, once: where it leads may be known without taking it."""
        result, step = self.result, entry.steps[bit]
        result.transitions += 1
        result.taken[step.kind] += 1
        entry.done |= bit
        place = self._text_place(step)
        if place is not None and place in self.opaque:
            self._walk(entry, bit, None, None)
            return
        try:
            self._remembered(entry, bit, step)
        except Diverged as error:
            raise Diverged(str(error), place) from None

    def _remembered(self, entry: Entry, bit: int, step: Step) -> None:
        """Take a step, or know from an earlier time where it leads."""
        reads = self.look.foresee(step)
        effect = reads.effect if reads is not None else None
        found = effect.leads_to(entry.digests) if effect is not None else None
        rest = self.rest.get(found.key()) if found is not None else None
        if rest is None:
            self._walk(entry, bit, reads, found)
        else:
            self._follows(entry, effect)  # type: ignore[arg-type]  # it led to the state that is known
            self._done(entry, rest)

    def _walk(self, entry: Entry, bit: int, reads: Reads | None, found: Digests | None) -> None:
        """Take a step and enter the state it leads to, if that is new. found: that state, where it
        is known.
        """
        world, result, step = self.world, self.result, entry.steps[bit]
        opaque = bool(self.opaque) and self._text_place(step) in self.opaque
        if reads is None:
            reads = Reads(EVERYTHING, frozenset()) if opaque else self.look.watch(step)
        mark = world.journal.mark()
        self.path.append(step)
        if reads.effect is None:
            self._see(entry, step, reads, opaque)
        else:
            world.take(step)
            world.recount()
        effect = cast(Effect, reads.effect)
        if found is None:
            found = digests(world)
            effect.keep(self._disabled(entry, bit), entry.digests, found)
            self._count()
        elif not result.transitions % CHECKED and digests(world) != found:
            raise Diverged(f"{step} leads elsewhere than it did after the same reads")
        self._follows(entry, effect)
        key = found.key()
        depth = self.limits.depth
        if key in self.rest:
            rest = self.rest[key]
            if rest is None:
                at = next(n for n, other in enumerate(self.stack) if other.key == key)
                result.circle(world, self.path, at)
                rest = UNKNOWN
        elif depth is not None and len(self.path) > depth:
            result.bounded_by = result.bounded_by or f"depth {depth}"
            rest = UNKNOWN
        else:
            self._enter(mark, found, self._watched() if effect.visible else entry.watched)
            return
        world.journal.rewind(mark)
        self.path.pop()
        self._done(entry, rest)

    def _see(self, entry: Entry, step: Step, reads: Reads, opaque: bool) -> None:
        """Take a step and see what it does, for this time and all others."""
        world = self.world
        footprint = self.look.take(step, reads)
        world.recount()
        who = actor(world, step)
        if who is LATE or opaque or step.kind in MEET_EVERYTHING:
            footprint = ALL
        visible = self._watched() != entry.watched
        if visible:
            footprint |= Footprint(self.visible, self.visible, 0)
        reads.effect = Effect(self.futures.step(who, footprint), visible)

    def _disabled(self, entry: Entry, bit: int) -> int:
        """Actors whose step is impossible after the one just taken."""
        found, possible = 0, set(self.world.steps())
        for other, step in entry.steps.items():
            if other != bit and step not in possible:
                found |= other
        return found

    def _count(self) -> None:
        """One more change of digests is kept."""
        self.kept += 1
        if self.kept >= KEPT:
            self.kept = 0
            self.look.known.tree.clear()

    @staticmethod
    def _follows(entry: Entry, effect: Effect) -> None:
        """A step is under way. What it makes impossible has to be tried before it."""
        entry.under_way = effect.step
        entry.chosen |= effect.places[entry.digests.layout].disabled & entry.everybody

    def _done(self, entry: Entry, rest: int) -> None:
        """The step under way is searched to its end: who else has to be?"""
        futures = self.futures
        entry.futures.add(futures.after(entry.under_way, rest))
        everybody = entry.everybody
        if entry.chosen == everybody:
            return
        who = futures.print_list[entry.under_way][0]
        races = futures.races(entry.under_way, rest, bool(who & entry.runs))
        before = entry.chosen
        if races is None:
            entry.chosen = everybody
        else:
            for actors in races:
                entry.chosen |= actors & everybody
        if entry.chosen != before and who in entry.steps and who & entry.runs:
            place = self._place(entry.steps[who])
            self.misses[place] = self.misses.get(place, 0) + 1


MOST_OPAQUE = 12
"""So many places may turn out to depend on more than they were seen to read; then the whole graph
is searched."""


def persistent(
    scenario: Scenario, limits: Limits | None = None, read: set[str] | None = None
) -> Result:
    """Search a scenario's reduced graph. Deterministic. read: as of ``World``.

    Where a step turns out to depend on more than what it was seen to read, the reduction proves
    nothing of it: the search begins again, and takes all steps at that place of the T-SQL to depend
    on everything (``Result.opaque``). Where that does not help, or there are too many such places,
    the whole graph is searched, and the result says why (``whole_because``).
    """
    opaque: dict[Hashable, str] = {}
    while True:
        found = _attempt(scenario, limits or Limits(), read, frozenset(opaque))
        if isinstance(found, Result):
            found.opaque = tuple(f"{place[0]}, line {place[1]}" for place in opaque)  # type: ignore[index]
            return found
        if found.place is None or found.place in opaque or len(opaque) >= MOST_OPAQUE:
            break
        opaque[found.place] = str(found)
    result = search(scenario, limits, read)
    result.whole_because = str(found)
    return result


def _attempt(
    scenario: Scenario, limits: Limits, read: set[str] | None, opaque: frozenset[Hashable]
) -> Result | Diverged:
    """One search, or why it proves nothing."""

    def run(counted: frozenset[str]) -> Result | Diverged:
        world = World(scenario, read, counted)
        try:
            unseen = world.texts.counted & IN_NO_CELL
            if unseen:
                return Diverged(
                    f"its T-SQL reads {' and '.join(sorted(unseen))}, which steps share unseen"
                )
            with collecting_seldom():
                return Persistent(world, limits, opaque).run().looked_at(world)
        except Diverged as error:
            return error
        finally:
            world.close()

    return counting(run)
