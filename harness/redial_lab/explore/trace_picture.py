"""A trace as one HTML file: who did what when, who waited for whom, and the script for windows.

Nothing is loaded from anywhere; it is read on a screen, light or dark, and on paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import wrap

from redial_lab.explore.held_locks import Waiting
from redial_lab.explore.trace import Trace, TraceStep, heard
from redial_lab.explore.window_turns import Plan, Window
from redial_lab.explore.windows import Script, environment, script

COLUMN, ROW, LEFT, HEAD = 300, 66, 28, 58
"""Width of a lane, height of a step, room for the numbers and for the heading."""

BOX, LETTERS, LINES, HEADING = 280, 38, 2, 36
"""Width of a step's box, letters of its statement in a line, lines, and letters of its heading."""

NODE, GAP, GRAPH = 300, 220, 74
"""Width of a node of the lock graph, room between its sides, height of a node's row."""

MOST = 300_000
"""Bytes a picture may have; a longer script is left out of it."""


@dataclass(frozen=True, slots=True)
class Box:
    """A step in its lane."""

    number: int
    x: int
    y: int
    head: str
    lines: tuple[str, ...]
    title: str
    look: str
    """Plain, blocks, fault, timer or victim."""


@dataclass(frozen=True, slots=True)
class Span:
    """A wait: dashed, from the step that began it to the one that ended it."""

    x: int
    top: int
    bottom: int
    text: str
    to: int = 0
    """Centre of the lane of who holds what is waited for, 0 when that is nobody here."""


@dataclass(frozen=True, slots=True)
class Node:
    """A session (left) or a resource (right) of the lock graph."""

    x: int
    y: int
    lines: tuple[str, ...]
    title: str
    look: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Between a session and a resource."""

    x1: int
    y1: int
    x2: int
    y2: int
    text: str
    waits: bool
    """It is not held but asked for."""


@dataclass(slots=True)
class Picture:
    """Where everything stands."""

    columns: list[tuple[int, str, str]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    width: int = 0
    height: int = 0
    graph_width: int = 0
    graph_height: int = 0


def page(trace: Trace, made: Script | None = None, command: str = "") -> str:
    """The HTML of a trace. made: its script, where there is one already; command: replays it."""
    made = made or script(trace)
    picture = Picture()
    _columns(picture, made.plan)
    _steps(picture, made.plan)
    _graph(picture, made.plan)
    template = environment().get_template("picture.html.j2")
    given = {
        "trace": trace,
        "picture": picture,
        "plan": made.plan,
        "command": command,
        "rows": list(_rows(trace)),
        "box": BOX,
        "row": ROW,
        "head": HEAD,
        "left": LEFT,
        "node": NODE,
    }
    text = template.render(**given, script=made.text)
    if len(text.encode()) >= MOST:
        text = template.render(**given, script="")
    return text


# ---------------------------------------------------------------------- sequence
def _columns(picture: Picture, plan: Plan) -> None:
    names = [(f"window {window.number}", _name(window)[:LETTERS]) for window in plan.windows]
    if any(not step.lane for step in plan.trace.steps):
        names.append(("", "the server itself"))
    picture.columns = [(_x(number), *name) for number, name in enumerate(names)]
    picture.width = LEFT + len(names) * COLUMN + 8
    picture.height = HEAD + (len(plan.trace.steps) + bool(plan.trace.victim)) * ROW + 30


def _name(window: Window) -> str:
    if window.lanes and window.lanes[0].kind == "reader":
        return "readers of " + ", ".join(
            dict.fromkeys(lane.queue.rpartition(".")[2] for lane in window.lanes)
        )
    return window.name


def _x(column: int) -> int:
    return LEFT + column * COLUMN + COLUMN // 2


def _column(plan: Plan, lane: str) -> int:
    """The number of a lane's column; the server's own is the last."""
    return plan.window_of(lane) - 1 if lane else len(plan.windows)


def _y(number: int) -> int:
    return HEAD + (number - 1) * ROW


def _steps(picture: Picture, plan: Plan) -> None:
    trace = plan.trace
    waiting: dict[str, tuple[int, Waiting]] = {}
    for step in trace.steps:
        picture.boxes.append(_box(plan, step))
        for lane in [
            key for key in waiting if key == step.lane or trace.held(step, key).waits is None
        ]:
            if lane not in step.began_waiting:
                _span(picture, plan, lane, waiting.pop(lane), _y(step.number) + 6)
        for lane in step.began_waiting:
            held = trace.held(step, lane)
            if held.waits is not None and lane in trace.lanes:
                waiting[lane] = (step.number, held.waits)
    bottom = _y(len(trace.steps) + 1) + 8
    for lane, wait in waiting.items():
        _span(picture, plan, lane, wait, bottom)
    if trace.victim:
        picture.boxes.append(
            Box(
                0,
                _x(_column(plan, trace.victim)),
                bottom - 4,
                "deadlock victim",
                ("its transaction is rolled back",),
                "error 1205",
                "victim",
            )
        )


def _box(plan: Plan, step: TraceStep) -> Box:
    first = next(
        (s for s in step.statements if s.shared), step.statements[0] if step.statements else None
    )
    look = (
        "fault"
        if step.fault
        else "timer"
        if step.step.kind == "timer"
        else "blocks"
        if step.lane in step.began_waiting
        else "plain"
    )
    lead = f"{step.number}  "
    if first is None:
        head, text = "", step.title
        if step.step.kind == "timer":
            head, text = "conversation timer", "a DialogTimer message goes to the queue"
        elif step.step.kind == "expire":
            head, text = "time is up", "the wait ends without what was waited for"
        elif step.fault:
            head = step.step.kind.replace("_", " ")
    else:
        line = f", line {first.place.line}"
        name = first.place.module.rpartition(".")[2] or "batch"
        head, text = name[: HEADING - len(lead) - len(line)] + line, first.place.text
    head = f"{lead}{head}".rstrip()
    return Box(
        step.number,
        _x(_column(plan, step.lane)),
        _y(step.number),
        head,
        _cut(text, LETTERS, LINES),
        f"{step.title}\n{text}",
        look,
    )


def _span(picture: Picture, plan: Plan, lane: str, wait: tuple[int, Waiting], bottom: int) -> None:
    number, waits = wait
    column = _column(plan, lane)
    holder = next((_column(plan, key) for key in waits.holders if key in plan.trace.lanes), None)
    to = _x(holder) if holder is not None and holder != column else 0
    picture.spans.append(
        Span(_x(column) - BOX // 2 + 7, _y(number) + ROW - 16, bottom, f"waits for {waits}", to)
    )


def _cut(text: str, letters: int, most: int) -> tuple[str, ...]:
    """A text in lines of so many letters, the last one ending in dots when there is more."""
    return tuple(wrap(text, letters, max_lines=most, placeholder=" …"))


# ---------------------------------------------------------------------- lock graph
def _graph(picture: Picture, plan: Plan) -> None:
    """Who holds and asks for what at the end: resources somebody waits for, or else all held."""
    trace = plan.trace
    standing = {key: held for key, held in trace.standing.items() if held.locks or held.waits}
    wanted = [held.waits.name for held in standing.values() if held.waits and held.waits.mode]
    names = list(
        dict.fromkeys(wanted or [lock.name for held in standing.values() for lock in held.locks])
    )[:12]
    lanes = [
        key
        for key, held in standing.items()
        if any(lock.name in names for lock in held.locks)
        or (held.waits is not None and held.waits.name in names)
    ]
    if not names or not lanes:
        return
    left, right = NODE // 2 + 8, NODE + GAP + NODE // 2 + 8
    place = {name: 40 + row * GRAPH for row, name in enumerate(names)}
    for row, key in enumerate(lanes):
        y = 40 + row * GRAPH
        lane, held = trace.lanes[key], standing[key]
        picture.nodes.append(
            Node(
                left,
                y,
                _cut(lane.name, 36, 1),
                lane.name,
                "victim" if key == trace.victim else "session",
            )
        )
        for lock in held.locks:
            if lock.name in place:
                picture.edges.append(
                    Edge(
                        right - NODE // 2,
                        place[lock.name] - 6,
                        left + NODE // 2,
                        y - 6,
                        f"{lock.mode} held",
                        False,
                    )
                )
        if held.waits is not None and held.waits.name in place:
            picture.edges.append(
                Edge(
                    left + NODE // 2,
                    y + 8,
                    right - NODE // 2,
                    place[held.waits.name] + 8,
                    f"waits for {held.waits.mode}",
                    True,
                )
            )
    picture.nodes += [
        Node(right, y, _cut(name, 40, 3), name, "resource") for name, y in place.items()
    ]
    picture.graph_width = 2 * NODE + GAP + 16
    picture.graph_height = 20 + GRAPH * max(len(lanes), len(names))


# ---------------------------------------------------------------------- table
def _rows(
    trace: Trace,
) -> Iterator[tuple[TraceStep, str, str, list[tuple[str, str, str]], list[str]]]:
    """(step, session, what it did, [(who, what it holds, what it waits for)]) for the table."""
    for step in trace.steps:
        states = []
        for key in step.held:
            shown = trace.held(step, key)
            if key in trace.lanes and (shown.locks or shown.waits):
                states.append(
                    (
                        trace.lanes[key].name,
                        ", ".join(map(str, shown.locks)),
                        str(shown.waits) if shown.waits else "",
                    )
                )
        lane = trace.lanes[step.lane].name if step.lane in trace.lanes else "the server"
        did = "; ".join(str(s.place) for s in step.statements if s.shared) or step.title
        errors = [
            f"{trace.lanes[key].name} {heard(number, text)}"
            for key, number, text in step.errors
            if key in trace.lanes
        ]
        yield step, lane, did, states, errors
