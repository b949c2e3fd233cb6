"""Searching the cells of the answer matrix and the questions: resumable, in processes of their own.

What says most comes first: what we ship at the defaults, the questions, the comparisons, values of
switches many at a time, larger stories, values one at a time. What was found is kept after every
step (``matrix_kept``). A cell is searched again when the T-SQL it installs or its stories have
changed; with ``again`` also when explorer or broker have.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from redial.paths import ROOT
from redial_broker.engine.switches import given, parse
from redial_broker.instance.instance import Instance
from redial_lab.explore.search import Limits, search
from redial_lab.git import head
from redial_lab.proof.audit_setups import DATABASE, deployed
from redial_lab.proof.kept_searches import engine_digest
from redial_lab.proof.matrix import (
    STORIES,
    TRANSITIONS,
    Cell,
    Story,
    Watch,
    essence,
    scenario,
    stories,
)
from redial_lab.proof.matrix_kept import (
    Judged,
    Told,
    bounds_digest,
    keep,
    left,
    missing,
    stale,
    stale_search,
)
from redial_lab.proof.mutant_search import forked
from redial_lab.proof.questions import SEARCHES

if TYPE_CHECKING:
    Answer = TypeVar("Answer")
    Unit = TypeVar("Unit")

SECONDS = 900.0
"""A process that needs longer for one installation's searches is given up."""


# ---------------------------------------------------------------------- one search
def one(cell: Cell, story: Story, base: Instance, read: set[str], *, first: bool = False) -> Told:
    """Search a story on an installation, which is changed. read: switches asked for so far.

    first: only as far as the first violation.
    """
    setup = cell.setup(story)
    for text in setup.first:
        session = base.connect(DATABASE)
        session.execute(text).ok()
        session.close()
        base.run()
    watch = None if first else Watch()
    made = scenario(cell, story, watch, prepare=lambda: base)
    result = search(made, Limits(transitions=TRANSITIONS, first=first))
    found, waits = set(result.violations), []
    if watch is not None:
        found |= watch.deadlocks
        waits = sorted(watch.waits)
    return Told(
        result.states,
        result.transitions,
        result.ends,
        result.deepest,
        "" if first and found else result.bounded_by,
        sorted(found),
        waits,
        sorted(read),
    )


def asked(name: str, value: str, first: bool) -> Told:
    """Search for a question's answer, under a value of a switch ('': the defaults)."""
    made, read = SEARCHES[name].made.scenario(), cast("set[str]", set())
    made = replace(made, switches={**made.switches, **parse([value] if value else [])})
    result = search(made, Limits(transitions=TRANSITIONS, first=first), read)
    found = sorted(result.violations)
    return Told(
        result.states,
        result.transitions,
        result.ends,
        result.deepest,
        "" if first and found else result.bounded_by,
        found,
        [],
        sorted(read),
    )


def searched(
    installed: Cell, wanted: list[tuple[Cell, str]], value: str, first: frozenset[tuple[Cell, str]]
) -> list[tuple[Cell, str, Told]]:
    """Install under a value of a switch ('a=b'; '': the defaults; 'a=b+c=d': both), search each
    cell's story of a fork."""
    switches, read = parse(value.split("+") if value else []), cast("set[str]", set())
    with given(switches, read):
        base = _installed(installed)
    gc.collect()
    gc.freeze()
    found = []
    for cell, name in wanted:
        told = forked(
            cast(
                "Callable[[], Told]",
                lambda cell=cell, name=name: one(
                    cell, STORIES[name], base, read, first=(cell, name) in first
                ),
            ),
            SECONDS,
        )
        if isinstance(told, str):
            raise RuntimeError(f"{cell}, {name} {value}: {told}")
        found.append((cell, name, told))
    return found


def _installed(cell: Cell) -> Instance:
    return deployed(cell.setup(STORIES["first"]).config, rcsi=cell.isolation == "rcsi")


# ---------------------------------------------------------------------- all of them
class Run:
    """A run under way. results: filled. progress: told a line about each step."""

    def __init__(
        self,
        results: dict[str, Judged],
        progress: Callable[[str], None],
        path: Path | None = None,
        again: bool = False,
    ) -> None:
        self.results, self.progress, self.path = results, progress, path
        self.lock = threading.Lock()
        self.engine, self.commit = engine_digest(), head(ROOT)
        self.stale_engine = self.engine if again else ""

    def defaults(self, cells: list[Cell], varied: bool) -> None:
        """Search stories of cells of one installation at the defaults: those that are varied (the
        small ones), or the others."""
        with self.lock:
            for cell in cells:
                if stale(cell, self.results.get(str(cell)), self.stale_engine):
                    self.results[str(cell)] = Judged(
                        essence(cell), bounds_digest(cell), self.engine, self.commit
                    )
        wanted = [
            (cell, name)
            for cell in cells
            for name in missing(self.results[str(cell)], cell)
            if STORIES[name].varied == varied
        ]
        found = _searched(cells[0], wanted, "", frozenset())
        with self.lock:
            for cell, name, told in found:
                self.results[str(cell)].told[name] = told
            self._save(
                f"{cells[0]}: {len(found)} searches at the defaults, "
                f"{sum(told.transitions for _, _, told in found)} transitions"
            )

    def values(self, cells: list[Cell], red: bool) -> None:
        """Search stories of cells of one installation under every value, one at a time: those in
        which something is found at the defaults, or the varied ones of the others."""
        number = transitions = 0
        _installed(cells[0])  # the texts are parsed once here, not in every process forked
        while (step := self.next_value(cells, red)) is not None:
            value, wanted = step
            first = frozenset(each for each in wanted if self._told(*each).found)
            for cell, name, told in _searched(cells[0], wanted, value, first):
                self._told(cell, name).take(value, told)
                number, transitions = number + 1, transitions + told.transitions
        with self.lock:
            self._save(
                f"{cells[0]}: {number} searches under other values, {transitions} transitions"
            )

    def open(self, cell: Cell, varied: bool) -> bool:
        """Whether a story of that kind is still to be searched at the defaults."""
        judged = self.results.get(str(cell))
        names = (
            stories(cell)
            if stale(cell, judged, self.stale_engine)
            else missing(cast(Judged, judged), cell)
        )
        return any(STORIES[name].varied == varied for name in names)

    def together(self, cells: list[Cell]) -> None:
        """Search what is green at the defaults under all values of all switches, many at a time;
        where something is found, the values that it takes."""
        _installed(cells[0])
        waves = 0
        while wave := self._wave(cells):
            self._blame(cells[0], *wave)
            waves += 1
        with self.lock:
            self._save(f"{cells[0]}: all values, many at a time, {waves} times")

    def untouched(self, cells: list[Cell]) -> dict[tuple[Cell, str], list[str]]:
        """Values in force in no search of a varied story yet that is green at the defaults."""
        told = {
            (cell, name): self._told(cell, name)
            for cell in cells
            for name in stories(cell)
            if STORIES[name].varied
        }
        return {
            each: values
            for each, found in told.items()
            if not found.found and (values := found.untouched())
        }

    def _wave(self, cells: list[Cell]) -> tuple[list[str], list[tuple[Cell, str]]] | None:
        """One value of each switch that was in force in no search yet, and the stories it is for;
        the bad optimizer, which changes every plan, by itself."""
        open_ = self.untouched(cells)
        every = sorted({each for values in open_.values() for each in values}, reverse=True)
        wave = {each.partition("=")[0]: each for each in every}
        if len(wave) > 1:
            wave.pop("bad_optimizer", None)
        chosen = sorted(wave.values())
        wanted = [each for each, values in open_.items() if set(values) & set(chosen)]
        return (chosen, wanted) if wanted else None

    def _blame(self, installed: Cell, values: list[str], wanted: list[tuple[Cell, str]]) -> None:
        """Search stories under many values; where something is found, under each half of them."""
        red = []
        for cell, name, other in _searched(installed, wanted, "+".join(values), frozenset(wanted)):
            told = self._told(cell, name)
            if len(values) == 1:
                told.take(values[0], other)
                continue
            told.count(other)
            told.asked = sorted({*told.asked, *other.asked})
            if other.found or other.bounded:
                red.append((cell, name, other, dict(told.changed)))
            else:
                touched = {*told.together, *values}
                told.together = [each for each in told.waiting() if each in touched]
        if not red:
            return
        half = len(values) // 2
        for side in (values[:half], values[half:]):
            self._blame(installed, side, [(cell, name) for cell, name, _, _ in red])
        for cell, name, other, before in red:
            told = self._told(cell, name)
            if told.changed == before:  # neither half is enough: it takes something of both
                told.changed["+".join(values)] = other.found or [other.bounded]

    def next_value(self, cells: list[Cell], red: bool) -> tuple[str, list[tuple[Cell, str]]] | None:
        """A value still to be tried, and the stories that ask for its switch."""
        open_ = {
            (cell, name): left(self.results[str(cell)], name)
            for cell in cells
            for name in stories(cell)
            if bool(self._told(cell, name).found) == red
        }
        value = min((each for waiting in open_.values() for each in waiting), default=None)
        return (
            None
            if value is None
            else (value, [each for each, waiting in open_.items() if value in waiting])
        )

    def question(self, name: str) -> None:
        """Search for an answer at the defaults."""
        judged = Judged(SEARCHES[name].made.essence(), "", self.engine, self.commit)
        judged.told[""] = told = _apart(lambda: asked(name, "", False))
        with self.lock:
            self.results[name] = judged
            self._save(f"{name}: {told.transitions} transitions; {', '.join(told.found)}")

    def question_values(self, name: str) -> None:
        """Search for an answer under every value."""
        told = self.results[name].told[""]
        while values := told.waiting():
            value = values[0]
            told.take(
                value,
                _apart(
                    cast(
                        "Callable[[], Told]",
                        lambda value=value: asked(name, value, bool(told.found)),
                    )
                ),
            )
        with self.lock:
            self._save(f"{name}: {told.more[1]} transitions under other values")

    def _told(self, cell: Cell, name: str) -> Told:
        return self.results[str(cell)].told[name]

    def _save(self, line: str) -> None:
        keep(self.results, self.path)
        self.progress(line)


def _searched(
    installed: Cell, wanted: list[tuple[Cell, str]], value: str, first: frozenset[tuple[Cell, str]]
) -> list[tuple[Cell, str, Told]]:
    return _apart(lambda: searched(installed, wanted, value, first))


def _apart(work: Callable[[], Answer]) -> Answer:
    """What work returns, of a process of its own. Raises RuntimeError when it fails."""
    found = forked(work, SECONDS)
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def installations(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Cells by what is installed for them; equal texts once, for the first of them."""
    ordered = list(cells)
    places = {cell.installed: number for number, cell in reversed(list(enumerate(ordered)))}
    for _, group in groupby(
        sorted(ordered, key=lambda cell: places[cell.installed]), key=lambda cell: cell.installed
    ):
        yield list(group)


def run(
    cells: list[Cell],
    results: dict[str, Judged],
    progress: Callable[[str], None],
    *,
    questions: Collection[str] = (),
    workers: int = 2,
    again: bool = False,
    values: bool = True,
    path: Path | None = None,
) -> None:
    """Search what is missing or stale: all at the defaults first, then, with values, under those.

    again: what was searched with another explorer or broker is stale too. path: of the results.
    """
    runner = Run(results, progress, path, again)
    ours, others = ([cell for cell in cells if cell.ours == each] for each in (True, False))
    with ThreadPoolExecutor(workers) as pool:

        def defaults(chosen: list[Cell], varied: bool) -> None:
            open_ = [cell for cell in chosen if runner.open(cell, varied)]
            _all(pool, lambda unit: runner.defaults(unit, varied), list(installations(open_)))

        def together(chosen: list[Cell]) -> None:
            open_ = [cell for cell in chosen if runner.untouched([cell])] if values else []
            _all(pool, runner.together, list(installations(open_)))

        defaults(ours, True)
        _all(
            pool,
            runner.question,
            [
                name
                for name in questions
                if stale_search(name, results.get(name), runner.stale_engine)
            ],
        )
        defaults(others, True)
        together(ours)
        defaults(ours, False)
        together(others)
        defaults(others, False)
        for red in (True, False) if values else ():
            open_ = [cell for cell in cells if runner.next_value([cell], red)]
            _all(
                pool,
                cast(
                    "Callable[[list[Cell]], None]",
                    lambda unit, red=red: runner.values(unit, red),
                ),
                list(installations(open_)),
            )
            _all(
                pool,
                runner.question_values,
                [name for name in questions if left(results[name], "")],
            )


def _all(pool: ThreadPoolExecutor, work: Callable[[Unit], None], units: list[Unit]) -> None:
    """Do it for every unit. Raises what the first that fails raises."""
    futures = [pool.submit(work, unit) for unit in units]
    try:
        for future in as_completed(futures):
            future.result()
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
