"""Searching the cells of the answer matrix: resumable, in processes of their own.

What was found lies in ``docs/answer-matrix.json``, one line for a cell, written after every step;
a run goes on where the last one ended. A cell is searched again when the T-SQL it installs or its
stories have changed; with ``again`` also when the explorer or the broker has.
"""

from __future__ import annotations

import gc
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.broker.engine.switches import SWITCHES, given, parse, shown
from harness.broker.instance.instance import Instance
from harness.explore.report import commit
from harness.explore.search import Limits, search
from harness.proof.audit import deployed
from harness.proof.hunt import forked
from harness.proof.matrix import (
    STORIES,
    TRANSITIONS,
    Cell,
    Story,
    Watch,
    essence,
    every_cell,
    scenario,
    stories,
)

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "answer-matrix.json"
SECONDS = 900.0
"""A process that needs longer for one installation's searches is given up."""


@dataclass(slots=True)
class Told:
    """What a story found of a cell.

    found: names of what is violated, at the defaults. waits: who waited for whose lock. bounded: by
    what, '' when exhausted. asked: switches asked for, under any value. tried: values searched
    besides the defaults, 'switch=value'. changed: of those, the ones under which something else is
    found: what. (A story violated at the defaults is searched there up to the first violation.)
    """

    states: int = 0
    transitions: int = 0
    ends: int = 0
    depth: int = 0
    bounded: str = ""
    found: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=dict)
    more: list[int] = field(default_factory=lambda: [0, 0])  # states, transitions of tried

    def waiting(self) -> list[str]:
        """Values still to be tried."""
        wanted = (f"{name}={shown(value)}" for name in self.asked
                  for value in SWITCHES[name].values[1:])
        return [each for each in wanted if each not in self.tried]


@dataclass(slots=True)
class Judged:
    """A cell's results. text: its ``essence``; stories_: digest of its stories' bounds; engine:
    digest of explorer and broker; commit: searched at."""

    text: str
    stories_: str
    engine: str
    commit: str
    told: dict[str, Told] = field(default_factory=dict)


# ---------------------------------------------------------------------- what was searched with
def engine_digest() -> str:
    """Digest of what a result depends on besides the cell: explorer, broker, parser, claims."""
    found = hashlib.blake2b(digest_size=6)
    rooms = [*(ROOT / "harness" / room for room in ("broker", "explore", "tsql")),
             *(ROOT / "harness" / "proof" / f"{name}.py" for name in ("audit", "claims", "setups"))]
    for room in rooms:
        for path in sorted([room] if room.is_file() else room.rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def stories_digest(cell: Cell) -> str:
    """Digest of what a cell is judged by."""
    told = {name: (dict(story.fields), story.varied) for name, story in stories(cell).items()}
    return hashlib.blake2b(json.dumps([told, TRANSITIONS]).encode(), digest_size=6).hexdigest()


# ---------------------------------------------------------------------- keeping
def kept(path: Path | None = None) -> dict[Cell, Judged]:
    """What was found so far."""
    path = path or KEPT
    if not path.exists():
        return {}
    data = json.loads(path.read_text("utf-8"))
    sets = data["asked"]
    found = {}
    for name, entry in data["cells"].items():
        told = {}
        for story, values in entry["told"].items():
            values["asked"] = sets[values["asked"]]
            values["tried"] = _values(values["asked"], values["tried"])
            told[story] = Told(**values)
        found[Cell.parse(name)] = Judged(**{**entry, "told": told})
    return found


def keep(results: Mapping[Cell, Judged], path: Path | None = None) -> None:
    """Write them, one line for a cell, in the matrix's order."""
    sets: dict[str, list[str]] = {}
    lines = []
    for cell in every_cell():
        judged = results.get(cell)
        if judged is None:
            continue
        entry = asdict(judged)
        for values in entry["told"].values():
            number = next((key for key, names in sets.items() if names == values["asked"]),
                          str(len(sets)))
            sets[number] = values["asked"]
            complete = values["tried"] == _values(values["asked"], "all")
            values |= {"asked": number, "tried": "all" if complete else values["tried"]}
        lines.append(f"{json.dumps(str(cell))}: {json.dumps(entry)}")
    text = ('{"asked": {\n' + ",\n".join(f'"{key}": {json.dumps(names)}'
                                        for key, names in sets.items())
            + '},\n"cells": {\n' + ",\n".join(lines) + "}}\n")
    path = path or KEPT
    new = path.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(path)


def _values(asked: Iterable[str], tried: str | list[str]) -> list[str]:
    """The values behind what the file says; 'all' stands for every one of the switches asked for."""
    return Told(asked=list(asked)).waiting() if tried == "all" else list(tried)


def stale(cell: Cell, judged: Judged | None, engine: str = "") -> bool:
    """Whether a result does not speak of the text there is now. engine: nor of another engine."""
    return judged is None or judged.text != essence(cell) or (
        judged.stories_ != stories_digest(cell)) or bool(engine and judged.engine != engine)


def missing(judged: Judged, cell: Cell) -> list[str]:
    """Stories not searched yet."""
    return [name for name in stories(cell) if name not in judged.told]


def left(judged: Judged, story: str) -> list[str]:
    """Values a story is still to be searched under."""
    told = judged.told.get(story)
    if told is None:
        return []
    return told.waiting() if STORIES[story].varied or told.found else []


# ---------------------------------------------------------------------- one search
def one(cell: Cell, story: Story, base: Instance, read: set[str], *, first: bool = False) -> Told:
    """Search a story on an installation, which is changed. read: switches asked for so far.

    first: only as far as the first violation.
    """
    setup = cell.setup(story)
    for text in setup.first:
        session = base.connect("Redial")
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
    return Told(result.states, result.transitions, result.ends, result.deepest,
                "" if first and found else result.bounded_by, sorted(found), waits, sorted(read))


def searched(installed: Cell, wanted: list[tuple[Cell, str]], value: str, first: frozenset
             ) -> list[tuple[Cell, str, Told]]:
    """Install under a value of a switch ('': the defaults), search each cell's story of a fork."""
    switches, read = parse([value] if value else []), set()
    with given(switches, read):
        base = _installed(installed)
    gc.collect()
    gc.freeze()
    found = []
    for cell, name in wanted:
        told = forked(lambda cell=cell, name=name: one(
            cell, STORIES[name], base, read, first=(cell, name) in first), SECONDS)
        if isinstance(told, str):
            raise RuntimeError(f"{cell}, {name} {value}: {told}")
        found.append((cell, name, told))
    return found


def _installed(cell: Cell) -> Instance:
    return deployed(cell.setup(STORIES["first"]).config, rcsi=cell.isolation == "rcsi")


# ---------------------------------------------------------------------- all of them
class Run:
    """A run under way. results: filled. progress: told a line about each step."""

    def __init__(self, results: dict[Cell, Judged], progress: Callable[[str], None],
                 path: Path | None = None, again: bool = False) -> None:
        self.results, self.progress, self.path = results, progress, path
        self.lock = threading.Lock()
        self.engine, self.commit = engine_digest(), commit(ROOT)
        self.stale_engine = self.engine if again else ""

    def defaults(self, cells: list[Cell], varied: bool) -> None:
        """Search stories of cells of one installation at the defaults: those that are varied (the
        small ones), or the others."""
        with self.lock:
            for cell in cells:
                if stale(cell, self.results.get(cell), self.stale_engine):
                    self.results[cell] = Judged(essence(cell), stories_digest(cell), self.engine,
                                                self.commit)
        wanted = [(cell, name) for cell in cells for name in missing(self.results[cell], cell)
                  if STORIES[name].varied == varied]
        found = self._apart(cells[0], wanted, "", frozenset())
        with self.lock:
            for cell, name, told in found:
                self.results[cell].told[name] = told
            self._save(f"{cells[0]}: {len(found)} searches at the defaults, "
                       f"{sum(told.transitions for _, _, told in found)} transitions")

    def values(self, cells: list[Cell]) -> None:
        """Search the varied stories of cells of one installation under every value."""
        number = transitions = 0
        _installed(cells[0])  # the texts are parsed once here, not in every process forked
        while (step := self._next_value(cells)) is not None:
            value, wanted = step
            first = frozenset(each for each in wanted if self._told(*each).found)
            for cell, name, told in self._apart(cells[0], wanted, value, first):
                self._take(self._told(cell, name), value, told)
                number, transitions = number + 1, transitions + told.transitions
        with self.lock:
            self._save(f"{cells[0]}: {number} searches under other values, "
                       f"{transitions} transitions")

    def open(self, cell: Cell, varied: bool) -> bool:
        """Whether a story of that kind is still to be searched at the defaults."""
        judged = self.results.get(cell)
        names = stories(cell) if stale(cell, judged, self.stale_engine) else missing(judged, cell)
        return any(STORIES[name].varied == varied for name in names)

    def _next_value(self, cells: list[Cell]) -> tuple[str, list[tuple[Cell, str]]] | None:
        """A value still to be tried, and the stories that ask for its switch."""
        open_ = {(cell, name): left(self.results[cell], name) for cell in cells
                 for name in stories(cell)}
        value = min((each for waiting in open_.values() for each in waiting), default=None)
        return None if value is None else (
            value, [each for each, waiting in open_.items() if value in waiting])

    def _take(self, told: Told, value: str, other: Told) -> None:
        """Add what was found under a value."""
        told.tried = [each for each in _values(sorted({*told.asked, *other.asked}), "all")
                      if each in {*told.tried, value}]
        told.asked = sorted({*told.asked, *other.asked})
        told.more = [told.more[0] + other.states, told.more[1] + other.transitions]
        if bool(other.found) != bool(told.found) or (other.bounded and not told.bounded):
            told.changed[value] = other.found or [other.bounded or "nothing"]

    def _told(self, cell: Cell, name: str) -> Told:
        return self.results[cell].told[name]

    def _apart(self, installed: Cell, wanted: list[tuple[Cell, str]], value: str, first: frozenset
               ) -> list[tuple[Cell, str, Told]]:
        found = forked(lambda: searched(installed, wanted, value, first), SECONDS)
        if isinstance(found, str):
            raise RuntimeError(f"{installed} {value}: {found}")
        return found

    def _save(self, line: str) -> None:
        keep(self.results, self.path)
        self.progress(line)


def installations(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Cells by what is installed for them; equal texts once, for the first of them."""
    ordered = list(cells)
    places = {cell.installed: number for number, cell in reversed(list(enumerate(ordered)))}
    for _, group in groupby(sorted(ordered, key=lambda cell: places[cell.installed]),
                            key=lambda cell: cell.installed):
        yield list(group)


def same_text(cells: Iterable[Cell]) -> dict[Cell, Cell]:
    """Each cell and the one searched for it: the first that installs the same T-SQL and calls it
    the same way, in the same isolation and key and recycle."""
    seen: dict[tuple[str, ...], Cell] = {}
    return {cell: seen.setdefault((essence(cell), cell.isolation, cell.caller), cell)
            for cell in cells}


def run(cells: list[Cell], results: dict[Cell, Judged], progress: Callable[[str], None], *,
        workers: int = 2, again: bool = False, path: Path | None = None) -> None:
    """Search what is missing or stale of cells: all at the defaults first, then all values.

    again: what was searched with another explorer or broker is stale too.
    """
    runner = Run(results, progress, path, again)
    with ThreadPoolExecutor(workers) as pool:
        for varied in (True, False):
            open_ = [cell for cell in cells if runner.open(cell, varied)]
            _all(pool, lambda unit, varied=varied: runner.defaults(unit, varied),
                 list(installations(open_)))
        open_ = [cell for cell in cells
                 if any(left(results[cell], name) for name in stories(cell))]
        _all(pool, runner.values, list(installations(open_)))


def _all(pool: ThreadPoolExecutor, work: Callable[[list[Cell]], None], units: list[list[Cell]]
         ) -> None:
    """Do it for every unit. Raises what the first that fails raises."""
    futures = [pool.submit(work, unit) for unit in units]
    try:
        for future in as_completed(futures):
            future.result()
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
