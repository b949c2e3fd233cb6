"""A trace as a T-SQL script for query windows of a real server.

One section a window; each keeps the order by itself: before a statement that must not run yet, the
window waits for an application lock that the window before it in the order holds until it is done
(sp_getapplock with @LockOwner = 'Session': it lasts whatever transactions come and go; what this
rests on: docs/facts.md, F-390 to F-394).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from redial_lab.explore.installation import Installation
from redial_lab.explore.stops import NoPlace, create_or_alter, with_stops
from redial_lab.explore.trace import TIDIES, Lane, Trace, TraceStep
from redial_lab.explore.tracing_machine import Place
from redial_lab.explore.window_turns import (
    DEADLY,
    LIMIT,
    OWN,
    TIMER,
    Plan,
    Stop,
    Turn,
    Window,
    plan,
)

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 100

CANCELS = frozenset({"cancel", "rollback"})
"""Kinds of step where a person presses Cancel."""


@dataclass(frozen=True, slots=True)
class Part:
    """A batch of a window."""

    text: str
    """As it is run."""
    before: tuple[str, ...] = ()
    """Comment lines above it; turn: it begins with that turn, 0 when with none."""
    mark: str = ""
    """Tells a player whose batch it is."""


@dataclass(slots=True)
class Module:
    """A procedure or trigger with stops in it."""

    name: str
    original: str
    """As it was."""
    text: str
    """With stops."""


@dataclass(slots=True)
class Script:
    """The script and what it was made of."""

    plan: Plan
    modules: list[Module] = field(default_factory=list)
    parts: dict[int, list[Part]] = field(default_factory=dict)
    text: str = ""

    @property
    def windows(self) -> list[Window]:
        """Its query windows."""
        return self.plan.windows


def script(trace: Trace, installed: Installation | None = None) -> Script:
    """The script that plays a trace in query windows; a plan that is refused has none, its text is
    the steps and the reason. installed: what is run before it.
    """
    made = Script(plan(trace))
    places = dict.fromkeys(stop.place for stop in made.plan.stops)
    names = {place: f"p{number}" for number, place in enumerate(places, 1)}
    texts = _stopped(made, names)
    for window in made.plan.windows:
        made.parts[window.number] = list(_parts(made, window, texts))
    made.text = (
        environment()
        .get_template("windows.sql.j2")
        .render(
            trace=trace,
            installed=installed,
            plan=made.plan,
            script=made,
            names=names,
            database=_database(trace),
            queues=sorted(trace.activated),
            quote=quote,
            rows=list(_rows(made.plan, names)),
            own=_own(made.plan),
            steps=list(_table(made.plan)),
            wrap=comment,
            numbered=numbered,
            limit=LIMIT,
            impatient={step.lane for step in trace.steps if step.step.kind == "lock_timeout"},
            kinds={step.step.kind for step in trace.steps},
        )
    )
    return made


def quote(name: str) -> str:
    """A name of several parts in brackets."""
    return ".".join(f"[{part.replace(']', ']]')}]" for part in name.split("."))


def comment(text: str, lead: str = "-- ") -> str:
    """A text as comment lines of at most WIDTH characters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(lead) + len(line) + len(word) + 1 > WIDTH:
            lines.append(lead + line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, lead + line]).rstrip()


def numbered(number: int, text: str) -> str:
    """A step as comment lines, its number hanging."""
    lead = "--      "
    return f"-- {number:3}. " + comment(text, lead).removeprefix(lead)


@cache
def environment() -> Environment:
    """The templates of this package; an unknown name is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=lambda name: bool(name) and cast(str, name).endswith(".html.j2"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


# ---------------------------------------------------------------------- stops in texts
def _stopped(made: Script, names: dict[Place, str]) -> dict[tuple[str, int], str]:
    """Every text that gets stops, with them: by the text as it was and, for a batch, its window."""
    stops: dict[tuple[str, int], dict[Place, list[str]]] = defaultdict(lambda: defaultdict(list))
    for stop in made.plan.stops:
        place = stop.place
        owner = 0 if place.module else stop.window
        stops[place.source, owner][place].append(f"-- {_told(made.plan, stop)}")
    texts: dict[tuple[str, int], str] = {}
    for (source, owner), places in stops.items():
        lines = {
            (place.start, place.end): [*told, f"EXECUTE explorer.Stop @place = N'{names[place]}';"]
            for place, told in places.items()
        }
        module = next(iter(places)).module
        try:
            texts[source, owner] = text = with_stops(source, lines)
        except NoPlace as error:
            made.plan.missing.append(f"{module or 'batch'}: {error}")
            continue
        if module:
            made.modules.append(
                Module(module, create_or_alter(source).strip(), create_or_alter(text).strip())
            )
    return texts


def _told(made: Plan, stop: Stop) -> str:
    """The comment above a stop: what the window waits for here, and what comes of it."""
    if stop.turn > len(made.turns):
        return f"window {stop.window} waits here until the last step is done"
    turn = made.turns[stop.turn - 1]
    before = made.turns[stop.turn - 2] if stop.turn > 1 else None
    text = f"window {stop.window}"
    if before is not None and before.window != stop.window:
        text += (
            f" waits here until {before} is done in window {before.window}, then does {turn}"
            if len(before.steps) == 1
            else f" waits here until {before} are done in window {before.window}, then does {turn}"
        )
    else:
        text += f" does {turn}"
    if stop.blocks:
        waits = _waiting(made, turn)
        text += f"; THE STATEMENT BELOW BLOCKS{f': it waits for {waits}' if waits else ''}"
        if stop.turn < len(made.turns):
            text += f"; go to window {made.turns[stop.turn].window}"
    return text


def _waiting(made: Plan, turn: Turn) -> str:
    step = turn.steps[-1]
    held = made.trace.held(step, step.lane)
    if held.waits is None:
        return ""
    whom = ", ".join(
        f"window {made.window_of(key)}"
        for key in held.waits.holders
        if any(lane.key == key for w in made.windows for lane in w.lanes)
    )
    return f"{held.waits}{f', held by {whom}' if whom else ''}"


def _rows(made: Plan, names: dict[Place, str]) -> Iterator[tuple[int, str, int, int, int]]:
    """(window, place, visit, turn, blocks) of every stop."""
    for stop in made.stops:
        yield (stop.window, names[stop.place], stop.visit, stop.turn, int(stop.blocks))


def _own(made: Plan) -> list[tuple[int, int, str, int, bool]]:
    """(turn, window, steps, seconds to let pass before it, whether it is waited for) of every turn.

    A second when the turn before blocks, as long as it takes when a wait must time out.
    """
    found, before = [], Turn(0, 0)
    for turn in made.turns:
        seconds = before.patience or int(before.blocks)
        found.append((turn.number, turn.window, str(turn), seconds, not turn.patience))
        before = turn
    return found


# ---------------------------------------------------------------------- batches of a window
def _parts(made: Script, window: Window, texts: dict[tuple[str, int], str]) -> Iterator[Part]:
    trace = made.plan.trace
    begun: set[tuple[str, int]] = set()
    for turn, step in made.plan.in_order():
        struck = step.fault and step.step.kind not in OWN and (step.lane, step.batch) not in begun
        if step.lane:
            begun.add((step.lane, step.batch))
        if struck and any(lane.key == step.lane for lane in window.lanes):
            yield _standing(made.plan, step)
        if turn.window == window.number:
            if step.step.kind == "timer" and step.step.who[0] == TIMER:
                yield Part(_timer(turn, step.rank), _about(turn, step))
            elif step.step.kind == "timer":
                yield from _by_hand(made.plan, turn, step)
            elif step.fault and step.step.kind not in OWN:
                yield from _fault(made.plan, turn, step)
            elif step.starts:
                lane = trace.lanes[step.lane]
                if turn.steps[0] is step or turn.resumed:
                    yield Part(f"EXECUTE explorer.Turn @turn = {turn.number};", _about(turn, step))
                yield _batch(trace, lane, step, texts, window.number)


def _standing(made: Plan, step: TraceStep) -> Part:
    """A batch that is under way and has done nothing when something befalls its session."""
    part = _batch(made.trace, made.trace.lanes[step.lane], step, {}, 0)
    return Part(
        f"EXECUTE explorer.Turn @turn = {len(made.turns) + 1};\n{part.text}", part.before, part.mark
    )


def _batch(
    trace: Trace, lane: Lane, step: TraceStep, texts: dict[tuple[str, int], str], window: int
) -> Part:
    if lane.kind == "reader":
        return Part(f"EXECUTE {lane.procedure};", (f"{lane.name}, by hand:",), f"reader {lane.key}")
    if lane.kind == "operator":
        return Part(
            texts.get((lane.sql, window), lane.sql), (f"{lane.name}:",), f"operator {lane.key}"
        )
    client = trace.scenario.clients[lane.client]
    tidying = step.batch == TIDIES
    text = step.statements[0].place.source if tidying else client.batches[step.batch]
    mark = f"client {lane.client}" + (" tidies up" if tidying else f" batch {step.batch}")
    return Part(texts.get((text, window), text), (f"{lane.name}:",), mark)


def _about(turn: Turn, step: TraceStep) -> tuple[str, ...]:
    return (f"-------- {turn}: {step.title}",)


def _timer(turn: Turn, rank: int) -> str:
    return (
        f"EXECUTE explorer.Turn @turn = {turn.number};\nEXECUTE explorer.FireTimer @rank = {rank};"
    )


def _fault(made: Plan, turn: Turn, step: TraceStep) -> Iterator[Part]:
    begin = f"EXECUTE explorer.Turn @turn = {turn.number};"
    if step.step.kind in DEADLY or step.step.kind in CANCELS:
        window = made.window_of(step.lane)
        if step.step.kind in DEADLY:
            yield Part(
                f"{begin}\nEXECUTE explorer.KillWindow @window = {window};", _about(turn, step)
            )
            return
        yield Part(
            f"{begin}\nRAISERROR (N'Now press Cancel (Alt+Break) in window {window}, select "
            f"what stands there behind that batch, and run it.', 0, 1) WITH NOWAIT;\n"
            "WAITFOR DELAY '00:00:15';",
            _about(turn, step),
            f"cancel window {window}",
        )
        return
    yield from _by_hand(made, turn, step)


def _by_hand(made: Plan, turn: Turn, step: TraceStep) -> Iterator[Part]:
    """What no T-SQL can bring about at a given moment: the person is told."""
    made.missing.append(f"step {step.number} ({step.title}): no window can do that")
    title = step.title.replace("'", "''").replace("%", "%%")
    yield Part(
        f"EXECUTE explorer.Turn @turn = {turn.number};\n"
        f"RAISERROR (N'By hand, now: {title}', 0, 1) WITH NOWAIT;",
        _about(turn, step),
    )


def _table(made: Plan) -> Iterator[tuple[int, str, str, str]]:
    """(steps, window, what happens, what is waited for) for the table on top."""
    for step in made.trace.steps:
        if step in made.early:
            yield (
                step.number,
                "server",
                f"{step.title}: explorer.Ready lets it, before the first step of a window",
                "",
            )
            continue
        turn = next((turn for turn in made.turns if step in turn.steps), None)
        if turn is None:
            yield step.number, "nobody", f"{step.title} (here: its turn has not come)", ""
            continue
        waits = ""
        for key in step.began_waiting:
            held = made.trace.held(step, key)
            waits = f"{made.trace.lanes[key].name} WAITS; it holds {held}"
        yield step.number, f"window {turn.window}", step.title, waits


def _database(trace: Trace) -> str:
    """The database everything is in."""
    return next((lane.database for lane in trace.lanes.values() if lane.database), "master")
