"""What is known of the answer matrix: results, kept in ``evidence/answer-matrix.json``.

One line for a cell or for a search of a question, so that an interrupted run goes on where it ended
and only what has changed is searched again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from redial.paths import EVIDENCE
from redial_broker.engine.switches import SWITCHES, shown
from redial_lab.proof.kept_ages import Ages
from redial_lab.proof.kept_searches import UNKNOWN_ENGINE, engine_digest
from redial_lab.proof.matrix import STORIES, TRANSITIONS, Cell, essence, every_cell, stories
from redial_lab.proof.questions import SEARCHES

KEPT = EVIDENCE / "answer-matrix.json"


@dataclass(slots=True)
class Told:
    """What a story found of a cell."""

    states: int = 0
    transitions: int = 0
    ends: int = 0
    depth: int = 0
    bounded: str = ""
    """By what, '' when exhausted."""
    found: list[str] = field(default_factory=list)
    """Names of what is violated, at the defaults."""
    waits: list[str] = field(default_factory=list)
    """Who waited for whose lock."""
    asked: list[str] = field(default_factory=list)
    """Switches asked for, under any value."""
    tried: list[str] = field(default_factory=list)
    """Values searched besides the defaults one at a time, 'switch=value'."""
    together: list[str] = field(default_factory=list)
    """Those searched many at a time, where nothing was found."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """Values ('a=b+c=d' where it takes both) under which something else is found: what. (A story
    violated at the defaults is searched there up to the first violation.)."""
    more: list[int] = field(default_factory=lambda: [0, 0])
    """States and transitions of all searches under other values."""

    def take(self, value: str, other: Told) -> None:
        """Add what was found under a value."""
        asked = sorted({*self.asked, *other.asked})
        tried = {*self.tried, value}
        self.asked, self.tried = asked, []
        self.tried = [each for each in self.waiting() if each in tried]
        self.count(other)
        if bool(other.found) != bool(self.found) or (other.bounded and not self.bounded):
            self.changed[value] = other.found or [other.bounded or "nothing"]

    def count(self, other: Told) -> None:
        """Add the size of another search."""
        self.more = [self.more[0] + other.states, self.more[1] + other.transitions]

    def untouched(self) -> list[str]:
        """Values that were in force in no search yet."""
        return [each for each in self.waiting() if each not in self.together]

    def waiting(self) -> list[str]:
        """Values still to be tried one at a time."""
        wanted = (
            f"{name}={shown(value)}" for name in self.asked for value in SWITCHES[name].values[1:]
        )
        return [each for each in wanted if each not in self.tried]


@dataclass(slots=True)
class Judged:
    """A cell's results, or a question's search's."""

    text: str
    """Its ``essence``."""
    bounds: str
    """Digest of those of its stories."""
    engine: str
    """Digest of the engine that found it (``engine_digest``): broker, parser, explorer, claims."""
    commit: str
    """Searched at."""
    told: dict[str, Told] = field(default_factory=dict)
    """By story; a question's search has the one named ''."""


def bounds_digest(cell: Cell) -> str:
    """Digest of what a cell is judged by."""
    told = {name: (dict(story.fields), story.varied) for name, story in stories(cell).items()}
    return hashlib.blake2b(json.dumps([told, TRANSITIONS]).encode(), digest_size=6).hexdigest()


# ---------------------------------------------------------------------- keeping
def kept(path: Path | None = None) -> dict[str, Judged]:
    """What was found so far: of cells and of the searches of questions, by name."""
    path = path or KEPT
    if not path.exists():
        return {}
    data = json.loads(path.read_text("utf-8"))
    sets = data["asked"]
    found = {}
    for name, entry in data["results"].items():
        told = {}
        for story, values in entry["told"].items():
            values["asked"] = list(sets[values["asked"]])
            for each in ("tried", "together"):
                values[each] = _values(values["asked"], values.get(each, []))
            told[story] = Told(**values)
        found[name] = Judged(**{"engine": UNKNOWN_ENGINE, **entry, "told": told})
    return found


def keep(results: Mapping[str, Judged], path: Path | None = None) -> None:
    """Write them, one line for each, in the order of the page. Those of cells that are no more, or
    have the text of another, are dropped."""
    sets: dict[str, list[str]] = {}
    lines = []
    for name in (*SEARCHES, *map(str, dict.fromkeys(same_text(every_cell()).values()))):
        judged = results.get(name)
        if judged is None:
            continue
        entry = asdict(judged)
        for values in entry["told"].values():
            number = next(
                (key for key, names in sets.items() if names == values["asked"]), str(len(sets))
            )
            sets[number] = values["asked"]
            every = _values(values["asked"], "all")
            values["asked"] = number
            values |= {
                each: "all" for each in ("tried", "together") if every and values[each] == every
            }
        lines.append(f"{json.dumps(name)}: {json.dumps(entry)}")
    text = (
        '{"asked": {\n'
        + ",\n".join(f'"{key}": {json.dumps(names)}' for key, names in sets.items())
        + '},\n"results": {\n'
        + ",\n".join(lines)
        + "}}\n"
    )
    path = path or KEPT
    new = path.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(path)


def _values(asked: Iterable[str], tried: str | list[str]) -> list[str]:
    """The values behind what the file says; 'all' stands for every one of those switches."""
    return Told(asked=list(asked)).waiting() if tried == "all" else list(tried)


def stale(cell: Cell, judged: Judged | None, engine: str = "") -> bool:
    """Whether a result does not speak of the text there is now. engine: nor of another engine."""
    return (
        judged is None
        or judged.text != essence(cell)
        or (judged.bounds != bounds_digest(cell))
        or bool(engine and judged.engine != engine)
    )


def stale_search(name: str, judged: Judged | None, engine: str = "") -> bool:
    """The same of a question's search."""
    return (
        judged is None
        or judged.text != SEARCHES[name].made.essence()
        or bool(engine and judged.engine != engine)
    )


def ages(results: Mapping[str, Judged], engine: str = "") -> Ages:
    """How many results speak of today. engine: its digest; '' works it out, which takes seconds."""
    engine, found = engine or engine_digest(), Ages("invoke matrix --again --write --traces")
    wanted: list[tuple[str, Callable[[Judged], bool]]] = [
        (str(cell), partial(stale, cell))
        for cell in dict.fromkeys(same_text(every_cell()).values())
    ]
    wanted += [(name, partial(stale_search, name)) for name in SEARCHES]
    for name, other_text in wanted:
        judged = results.get(name)
        if judged is None:
            found.missing += 1
        else:
            found.take(judged.engine == engine, not other_text(judged))
    return found


def missing(judged: Judged, cell: Cell) -> list[str]:
    """Stories not searched yet."""
    return [name for name in stories(cell) if name not in judged.told]


def left(judged: Judged, story: str) -> list[str]:
    """Values a story is still to be searched under."""
    told = judged.told.get(story)
    varied = not story or STORIES[story].varied
    found = [] if told is None else [name for name in told.found if "depends on" not in name]
    return told.waiting() if told is not None and (varied or found) else []


def same_text(cells: Iterable[Cell]) -> dict[Cell, Cell]:
    """Each cell and the one searched for it: the first that installs the same T-SQL and calls it
    the same way, in the same isolation and key and recycle."""
    seen: dict[tuple[str, ...], Cell] = {}
    return {
        cell: seen.setdefault((essence(cell), cell.isolation, cell.caller), cell) for cell in cells
    }
