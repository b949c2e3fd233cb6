"""From results to verdicts: one cell of the page, in words, with what each word is evidence of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from redial_broker.engine.switches import SWITCHES
from redial_lab.explore.trace_files import slug
from redial_lab.proof.matrix import CLASSES, STORIES, Cell, class_of, classes, stories
from redial_lab.proof.matrix_kept import Judged, Told, left, missing, stale

DEPENDS = re.compile(r"depends on F-\d+")
"""A claim that names the fact it needs (claims.l1) is no violation of the cell."""

SAFE, NOT_RUN, STALE = "safe", "not run", "stale"


@dataclass(frozen=True, slots=True)
class Proof:
    """A violation and where it was met."""

    name: str
    cell: str
    story: str
    """'' for a question's search, whose name cell is then."""
    value: str = ""
    """Of the switch it needs, '' for the defaults."""

    @property
    def cause(self) -> str:
        """Whose trace it shares, as a file's name: violation, strategy, hint and value of a switch;
        a question's search has its own."""
        parts = [self.cell, self.name]
        if self.story:
            cell = Cell.parse(self.cell)
            parts = [cell.strategy, cell.hint, self.name]
        return "-".join(slug(part) for part in (*parts, self.value) if part)

    @property
    def what(self) -> str:
        """Its class, '' for what is no violation."""
        try:
            return class_of(self.name)
        except KeyError:
            return ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a cell."""

    kind: str
    """Safe, together (safe, some values were tried many at a time), unfinished (safe at the
    defaults), bounded, depends, violated, not run or stale."""
    words: tuple[tuple[str, Proof | None], ...]
    """(text, proof or None)."""
    waits: bool = False
    """A sender can wait for a sender."""
    large: bool = False
    """Larger stories were searched too, and are green."""

    def __str__(self) -> str:
        return ", ".join(text for text, _ in self.words)


def verdict(
    cell: Cell, judged: Judged | None, searched: Cell | None = None, *, fault: str = ""
) -> Verdict:
    """What is said of a cell. searched: the one whose results these are (the same T-SQL); fault:
    judge by that story only, else by all that are none."""
    owner = searched or cell
    wanted = [
        name
        for name, story in stories(owner).items()
        if (name == fault if fault else not story.fault)
    ]
    if not wanted:
        return Verdict("", (("", None),))
    if judged is None or stale(owner, judged):
        return _plain(STALE if judged else NOT_RUN)
    told = {name: judged.told[name] for name in wanted if name in judged.told}
    if not told:
        return _plain(NOT_RUN)
    waits = any("a sender waits for a sender" in each.waits for each in told.values())
    met = [Proof(name, str(owner), story) for story, each in told.items() for name in each.found]
    if met:
        kind = "depends" if all(DEPENDS.search(proof.name) for proof in met) else "violated"
        return Verdict(kind, tuple(_violated(met, told)), waits)
    if changed := list(_depends(owner, told)):
        return Verdict("depends", tuple(changed), waits)
    bounded = next((each.bounded for each in told.values() if each.bounded), "")
    if bounded:
        return Verdict("bounded", ((f"bounded ({bounded})", None),), waits)
    open_ = [each for name, each in told.items() if left(judged, name)]
    unsearched = set(missing(judged, owner)) & set(wanted)
    if any(not STORIES[name].large for name in unsearched) or any(
        each.untouched() for each in open_
    ):
        return Verdict("unfinished", (("safe at the defaults", None),), waits)
    large = not unsearched and any(STORIES[name].large for name in wanted)
    return Verdict(
        "together" if open_ else SAFE,
        (("safe, values together" if open_ else SAFE, None),),
        waits,
        large,
    )


def _plain(kind: str) -> Verdict:
    return Verdict(kind, ((kind, None),))


def _violated(met: list[Proof], told: dict[str, Told]) -> Iterable[tuple[str, Proof | None]]:
    """Each class once, by the first proof of it; then the facts that decide whether it is met."""
    own = [proof for proof in met if not DEPENDS.search(proof.name)]
    for text in classes(proof.name for proof in own):
        yield text, next(proof for proof in own if text.startswith(proof.what))
    for proof in {
        cast("re.Match[str]", DEPENDS.search(proof.name))[0]: proof
        for proof in met
        if proof not in own
    }.values():
        yield f"{cast(re.Match[str], DEPENDS.search(proof.name))[0]}: {proof.what}", proof
    red = [each for each in told.values() if each.found and not _named(each)]
    cures = (
        set.intersection(
            *(
                {value for value, found in each.changed.items() if found == ["nothing"]}
                for each in red
            )
        )
        if red
        else set()
    )
    for fact in sorted({fact_of(value) for value in cures}):
        yield f"depends on {fact}", None


def _named(told: Told) -> bool:
    """Whether all that is found names its fact itself."""
    return all(DEPENDS.search(name) for name in told.found)


def _depends(cell: Cell, told: dict[str, Told]) -> Iterable[tuple[str, Proof | None]]:
    """Of a cell that is green at the defaults: what a value of a switch changes."""
    found: dict[tuple[str, str], Proof] = {}
    for story, each in told.items():
        for value, names in each.changed.items():
            for name in names:
                proof = Proof(name, str(cell), story, value)
                found.setdefault((fact_of(value), proof.what or "bounded"), proof)
    order = [*CLASSES, "bounded"]
    for (fact, what), proof in sorted(
        found.items(), key=lambda each: (each[0][0], order.index(each[0][1]))
    ):
        yield f"depends on {fact}: {what}", proof if what != "bounded" else None


def fact_of(value: str) -> str:
    """The fact behind 'switch=value'; those of 'a=b+c=d'."""
    facts = (SWITCHES[each.partition("=")[0]].fact for each in value.split("+"))
    return " and ".join(dict.fromkeys(facts))


def proofs(results: dict[str, Judged], cells: Iterable[Cell]) -> dict[str, Proof]:
    """Every cause somebody links to, and the first that has it."""
    found: dict[str, Proof] = {}
    for cell in cells:
        judged = results.get(str(cell))
        faults = ["", *(name for name, story in stories(cell).items() if story.fault)]
        for fault in faults:
            for _, proof in verdict(cell, judged, fault=fault).words:
                if proof is not None:
                    found.setdefault(proof.cause, proof)
    return found
