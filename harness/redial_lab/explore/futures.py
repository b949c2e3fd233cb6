"""What may follow a state, for the search that leaves out orders of independent steps.

The futures of a state are a set of steps, each with those it comes after; ``persistent`` asks which
of them race with a step that was taken first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from redial_lab.explore.footprints import Footprint

if TYPE_CHECKING:
    from typing import TypeVar

    Question = TypeVar("Question")
    Answer = TypeVar("Answer")

UNKNOWN = -1
"""Of a state whose future is not known: anything may follow."""

REMEMBERED = 200_000
"""So many answers are kept of each question about futures; then they are forgotten."""

LATE = ("late",)
"""Who acts where nobody else can: time. It never comes before a session's step."""


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
