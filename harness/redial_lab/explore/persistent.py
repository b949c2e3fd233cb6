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
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redial_lab.explore.diverged import Diverged
from redial_lab.explore.effects import KEPT, Digests, Effect, digests
from redial_lab.explore.footprints import ALL, Footprint, Lookout
from redial_lab.explore.read_memory import Reads
from redial_lab.explore.scenario import Scenario, Step
from redial_lab.explore.search import Limits, Result, collecting_seldom, search
from redial_lab.explore.world import OWN_TIMERS, World

if TYPE_CHECKING:
    Question = TypeVar("Question")
    Answer = TypeVar("Answer")

UNKNOWN = -1
"""Of a state whose future is not known: anything may follow."""

REMEMBERED = 200_000
"""So many answers are kept of each question about futures; then they are forgotten."""

CHECKED = 61
"""Of so many steps whose end is known one that is taken is compared with it, to be sure."""

LATE = ("late",)
"""Who acts where nobody else can: time. It never comes before a session's step."""


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


class Futures:
    """What may follow a state, as numbers: sets of elements, each a step and who it comes after.

    An element is (actor, its footprint, and the actors of steps since the state that it depends on:
    those it surely comes after, and all it may come after, by way of others too). All are kept once
    and compared by number; what is asked often is remembered.
    """

    def __init__(self) -> None:
        self.actors: dict[Hashable, int] = {}
        self.prints: dict[tuple[int, Footprint], int] = {}
        self.print_list: list[tuple[int, Footprint]] = []
        self.elements: dict[tuple[int, int, int], int] = {}
        self.element_list: list[tuple[int, int, int]] = []
        self.sets: dict[tuple[int, ...], int] = {}
        self.set_list: list[tuple[int, ...]] = []
        self._after: dict[tuple[int, int], int] = {}
        self._touching: dict[int, dict[int, bool]] = {}
        self._races: dict[tuple[int, int], tuple[int, ...] | None] = {}

    def actor(self, who: Hashable) -> int:
        """The bit of an actor."""
        return self.actors.setdefault(who, 1 << len(self.actors))

    def step(self, who: Hashable, footprint: Footprint) -> int:
        """The number of a step: an actor and a footprint."""
        return self.step_of(self.actor(who), footprint)

    def step_of(self, who: int, footprint: Footprint) -> int:
        """The same, of an actor's bit."""
        key = (who, footprint)
        found = self.prints.get(key)
        if found is None:
            found = self.prints[key] = len(self.print_list)
            self.print_list.append(key)
        return found

    def element(self, step: int, surely: int = 0, perhaps: int = 0) -> int:
        """The number of a step with who it comes after."""
        key = (step, surely, perhaps)
        found = self.elements.get(key)
        if found is None:
            found = self.elements[key] = len(self.element_list)
            self.element_list.append(key)
        return found

    def set_of(self, elements: tuple[int, ...]) -> int:
        """The number of a set of elements."""
        found = self.sets.get(elements)
        if found is None:
            found = self.sets[elements] = len(self.set_list)
            self.set_list.append(elements)
        return found

    def union(self, sets: set[int]) -> int:
        """All of them together, without what another element covers."""
        if UNKNOWN in sets:
            return UNKNOWN
        if len(sets) == 1:
            return next(iter(sets))
        return self.set_of(self._least(sorted(set().union(*(self.set_list[n] for n in sets)))))

    def _least(self, elements: list[int]) -> tuple[int, ...]:
        """The same in fewer elements, sorted as they are: all steps of an actor that surely come
        after the same actors are one that reads and changes what they do and comes after all they
        may come after. That can only add to what seems to depend on what, and to who has to be
        tried for it.
        """
        kept: dict[tuple[int, int], int] = {}
        element_list, print_list, merged = self.element_list, self.print_list, False
        for number in elements:
            step, surely, perhaps = element_list[number]
            who, footprint = print_list[step]
            other = kept.setdefault((who, surely), number)
            if other != number:
                merged = True
                step, _, more = self.element_list[other]
                kept[who, surely] = self.element(
                    self.step_of(who, self.print_list[step][1] | footprint), surely, perhaps | more
                )
        return tuple(sorted(kept.values()) if merged else elements)

    def after(self, step: int, rest: int) -> int:
        """What follows a state in which ``step`` is taken, ``rest`` following that."""
        if rest == UNKNOWN:
            return UNKNOWN
        key = (step, rest)
        found = self._after.get(key)
        if found is None:
            found = self.set_of(self._least(sorted(self._moved(step, self.set_list[rest]))))
            _remember(self._after, key, found)
        return found

    def _moved(self, step: int, elements: tuple[int, ...]) -> set[int]:
        """Elements seen from before ``step``: after whom they come by way of it."""
        who = self.print_list[step][0]
        touched, moved = 0, {self.element(step)}
        here, element = [], self.element
        steps, known = self.element_list, self._touching.setdefault(step, {})
        for number in elements:
            later, surely, perhaps = steps[number]
            near = known.get(later)
            if near is None:
                near = known[later] = self._near(step, later)
            if near:
                touched |= self.print_list[later][0]
            here.append((number, later, surely, perhaps, near or surely & who))
        for number, later, surely, perhaps, sure in here:
            if sure:
                if not surely & perhaps & who:
                    number = element(later, surely | who, perhaps | who)
            elif perhaps & touched and not perhaps & who:
                number = element(later, surely, perhaps | who)
            moved.add(number)
        return moved

    def _near(self, step: int, later: int) -> bool:
        """Whether a later step is the same actor's, or depends on this one."""
        who, footprint = self.print_list[step]
        whose, print_ = self.print_list[later]
        return who == whose or footprint.touches(print_)

    def races(self, step: int, rest: int, runs: bool) -> tuple[int, ...] | None:
        """Who else might have acted instead: for each later step that depends on ``step`` and on
        nothing that surely comes after it, the actors by one of which it would have begun (those
        that cannot act have not). None: anybody.

        runs: it is a session's own step: what only time brings does not come before it.
        """
        if rest == UNKNOWN:
            return None
        key = (step, rest)
        known = self._races.get(key)
        if known is not None:
            return known
        who = self.print_list[step][0]
        found = set()
        late = self.actor(LATE) if runs else 0
        for number in self.set_list[rest]:
            later, surely, perhaps = self.element_list[number]
            whose = self.print_list[later][0]
            if whose not in (who, late) and not surely & who and self._near(step, later):
                found.add((perhaps | whose) & ~who)
        result = tuple(sorted(found))
        _remember(self._races, key, result)
        return result


def _remember(answers: dict[Question, Answer], key: Question, answer: Answer) -> None:
    if len(answers) >= REMEMBERED:
        answers.clear()
    answers[key] = answer


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

    def __init__(self, world: World, limits: Limits) -> None:
        self.world = world
        self.limits = limits
        self.look = Lookout(world)
        self.futures = Futures()
        self.result = Result(world.scenario.name, fewer=True)
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
        if names:
            entry.futures.add(UNKNOWN)
        else:
            for step in steps:
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
        if reads is None:
            reads = self.look.watch(step)
        mark = world.journal.mark()
        self.path.append(step)
        if reads.effect is None:
            self._see(entry, step, reads)
        else:
            world.take(step)
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

    def _see(self, entry: Entry, step: Step, reads: Reads) -> None:
        """Take a step and see what it does, for this time and all others."""
        world = self.world
        footprint = self.look.take(step, reads)
        who = actor(world, step)
        if who is LATE:
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


def persistent(
    scenario: Scenario, limits: Limits | None = None, read: set[str] | None = None
) -> Result:
    """Search a scenario's reduced graph. Deterministic. read: as of ``World``.

    Where a step turns out to depend on more than what it was seen to read, the reduction proves
    nothing: then the whole graph is searched instead, and the result says so (``whole_because``).
    """
    world = World(scenario, read)
    try:
        with collecting_seldom():
            return Persistent(world, limits or Limits()).run()
    except Diverged as error:
        why = str(error)
    finally:
        world.close()
    result = search(scenario, limits, read)
    result.whole_because = why
    return result
