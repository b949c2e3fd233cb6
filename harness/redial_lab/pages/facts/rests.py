"""How many promises of what we ship rest on a fact, and what the kept searches say of its answers.

A promise is a story of a shipped cell of the answer matrix: all claims are looked at in it. It
rests on a fact when its search asked for a switch of that fact. Where it was never searched, or the
fact has no switch, it does when the text it runs cites the fact, or the fact names a module of that
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from redial_lab.pages.facts.sheet import CITED, Fact
from redial_lab.proof.installed import reached
from redial_lab.proof.matrix import STORIES, Cell, every_cell, stories
from redial_lab.proof.matrix_kept import Judged, Told, same_text, stale

OBJECT = re.compile(r"_((?:usp|ufn)_\w+)\.")
"""The module a rendered script makes, in its name."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A story of a shipped cell."""

    cell: Cell
    story: str
    names: frozenset[str]
    """Facts its text cites and modules it makes."""
    told: Told | None = None
    """What was found the last time, None where it was never searched."""
    asked: frozenset[str] | None = None
    """Switches its search asked for; where it was never searched those of its cell, None where
    that never was."""
    old: bool = True
    """Not of today's text."""

    def rests(self, fact: Fact) -> bool:
        """Whether it rests on the fact; as its last search says, if only of an older text."""
        if fact.switches and self.asked is not None:
            return bool(self.of(fact)) or self.named(fact)
        return fact.number in self.names or not fact.modules.isdisjoint(self.names)

    def of(self, fact: Fact) -> set[str]:
        """Switches of the fact that its search asked for."""
        return {switch.name for switch in fact.switches} & (self.asked or frozenset())

    def named(self, fact: Fact) -> bool:
        """Whether a claim was violated that names the fact it needs."""
        found = [] if self.told is None else self.told.found
        return any(f"depends on {fact.number}" in each for each in found)

    def depends(self, fact: Fact) -> bool:
        """Whether another answer was seen to break it."""
        if self.told is None or self.old:
            return False
        parts = [part for value in self.told.changed for part in value.split("+")]
        return self.named(fact) or not _switches(parts).isdisjoint(self.of(fact))

    def left(self, fact: Fact) -> bool:
        """Whether an answer was not tried, in a story that is searched under every one."""
        if self.told is None or not STORIES[self.story].varied:
            return False
        return not _switches(self.told.untouched()).isdisjoint(self.of(fact))


def _switches(values: Iterable[str]) -> set[str]:
    """The names in front of 'switch=value'."""
    return {value.partition("=")[0] for value in values}


@dataclass(slots=True)
class Tally:
    """What rests on a fact."""

    promises: int = 0
    cells: set[Cell] = field(default_factory=set)
    depends: int = 0
    """Promises another answer breaks."""
    old: int = 0
    """Promises whose search is not of today's text, or that were never searched."""
    left: int = 0
    """Promises not searched under every answer."""


def promises(results: Mapping[str, Judged]) -> list[Promise]:
    """Every promise of what we ship, with what is kept of it."""
    shared, found = same_text(cell for cell in every_cell() if cell.ours), []
    texts: dict[Cell, frozenset[str]] = {}
    for cell, searched in shared.items():
        names = texts.get(cell.installed) or texts.setdefault(cell.installed, _names(cell))
        judged = results.get(str(searched))
        old = stale(searched, judged)
        all_told = judged.told if judged else {}
        every = frozenset(name for each in all_told.values() for name in each.asked)
        for story in stories(cell):
            told = all_told.get(story)
            asked = frozenset(told.asked) if told else every if all_told else None
            found.append(Promise(cell, story, names, told, asked, old or told is None))
    return found


def _names(cell: Cell) -> frozenset[str]:
    texts = reached(cell.setup(STORIES["first"]).config)
    cited = {number for text in texts.values() for number in CITED.findall(text)}
    return frozenset(cited | {name for file in texts for name in OBJECT.findall(file)})


def tally(fact: Fact, all_promises: Iterable[Promise]) -> Tally:
    """What rests on a fact, counted."""
    found = Tally()
    for promise in all_promises:
        if not promise.rests(fact):
            continue
        found.promises += 1
        found.cells.add(promise.cell)
        found.depends += promise.depends(fact)
        found.old += promise.old
        found.left += not promise.old and promise.left(fact)
    return found
