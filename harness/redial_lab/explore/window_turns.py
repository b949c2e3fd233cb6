"""Who acts when, for query windows: a trace cut into turns, and where a window must stop.

A turn is a run of steps of one window. Between two of its turns a window stands at a stop: before
a batch, or before a statement inside one. A window whose statement has to wait for a lock hands
over just before it; when its wait ends it goes on by itself as far as its next stop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from redial_lab.explore.faults import OF_THE_SERVER
from redial_lab.explore.trace import Lane, Statement, Trace, TraceStep
from redial_lab.explore.tracing_machine import Place

if TYPE_CHECKING:
    from redial_lab.explore.held_locks import Waiting

OWN = frozenset({"run", "expire", "lock_timeout"})
"""Kinds of step that happen in the window of the session itself."""

TIMER = "ssb.timer"
"""Kind of a conversation timer's key; others (a lifetime) cannot be hurried."""

LIMIT = 5000
"""LOCK_TIMEOUT in milliseconds of a window whose wait is to time out."""

PATIENCE = {"lock_timeout": LIMIT // 1000 + 2, "expire": 10}
"""Seconds until a wait for a lock has timed out. The procedure's own limit is not known here."""

NOTHING = frozenset({"pause", "resume"})
"""Kinds of step that are nothing to a window: it stands still until its turn comes anyway."""

OUT_OF_REACH = frozenset(
    {*OF_THE_SERVER, "reconnect", "answer_lost", "victim", "disk_full", "time_limit"}
)
"""Kinds of step that no query window can bring about."""

DEADLY = frozenset({"kill", "reader_restart"})
"""Kinds of step that end a session."""


@dataclass(slots=True)
class Stop:
    """Where a window waits for its turn."""

    window: int
    turn: int
    place: Place
    """Before which statement."""
    visit: int = 1
    """The how manieth time the window comes by."""
    blocks: bool = False
    """The statement will wait, so the next window may go on at once."""


@dataclass(slots=True)
class Turn:
    """Steps of one window in a row."""

    number: int
    window: int
    steps: list[TraceStep] = field(default_factory=list)
    resumed: bool = False
    """It begins by a wait that ended."""
    blocks: bool = False
    """It ends in one."""
    patience: int = 0
    """Seconds after which its wait for a lock has timed out. Nobody may wait for such a turn by a
    lock: with the lock it waits for that would be a deadlock."""

    def __str__(self) -> str:
        first, last = self.steps[0].number, self.steps[-1].number
        return f"step {first}" if first == last else f"steps {first} to {last}"


@dataclass(slots=True)
class Window:
    """A query window."""

    number: int
    lanes: list[Lane] = field(default_factory=list)
    """The sessions it plays, one after the other; none: the operator's."""

    @property
    def name(self) -> str:
        """Whom it plays."""
        if not self.lanes:
            return "operator"
        if self.lanes[0].kind != "reader":
            return ", ".join(dict.fromkeys(lane.name for lane in self.lanes))
        return "activation by hand: " + ", ".join(
            dict.fromkeys(lane.queue.rpartition(".")[2] for lane in self.lanes)
        )


@dataclass(slots=True)
class Plan:
    """Windows, turns and stops of a trace."""

    trace: Trace
    windows: list[Window] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    early: list[TraceStep] = field(default_factory=list)
    """Ranks of timers fired before the first turn."""
    missing: list[str] = field(default_factory=list)
    """What no window can do, in words."""
    refused: str = ""
    """Why no windows can play it at all, or ''."""

    def in_order(self) -> list[tuple[Turn, TraceStep]]:
        """Every step that is a window's, with its turn."""
        return [(turn, step) for turn in self.turns for step in turn.steps]

    def window_of(self, lane: str) -> int:
        """The number of the window that plays a lane."""
        return next(w.number for w in self.windows if any(each.key == lane for each in w.lanes))


def plan(trace: Trace) -> Plan:
    """Cut a trace into turns of as few windows as it needs."""
    made = Plan(trace)
    for step in trace.steps:
        if step.step.kind == "timer" and step.step.who[0] != TIMER:
            made.refused = (
                f"step {step.number} ({step.title}) cannot be hurried on a server, and "
                "without it windows would meet something else"
            )
        elif step.step.kind in OUT_OF_REACH:
            made.refused = f"step {step.number} ({step.title}) is nothing that a window can do"
        elif step.lane and trace.lanes[step.lane].kind == "task":
            made.refused = (
                f"step {step.number} ({step.title}) is a task of the server's own: it takes its turn "
                "when it likes"
            )
    _windows(made)
    _turns(made)
    for turn in made.turns:
        last = turn.steps[-1]
        if any(statement.left for statement in last.statements[-1:]):
            inside = "ends inside a statement, where no window can stop"
            made.refused = f"step {last.number} ({last.title}) {inside}"
    _stops(made)
    return made


# ---------------------------------------------------------------------- windows
def _windows(made: Plan) -> None:
    """A window for each client; readers share one as long as they are not there together."""
    trace = made.trace
    spans: dict[str, list[int]] = {}
    for step in trace.steps:
        if step.lane:
            spans.setdefault(step.lane, []).append(step.number)
        if step.step.kind in DEADLY:
            spans[step.lane].append(len(trace.steps) + 1)
    for key in trace.rest:
        if key in spans:
            spans[key].append(len(trace.steps) + 1)
    busy: dict[int, int] = {}
    for key in sorted(
        spans,
        key=lambda key: (trace.lanes[key].kind != "client", trace.lanes[key].client, spans[key][0]),
    ):
        lane = trace.lanes[key]
        found = next(
            (
                w
                for w in made.windows
                if lane.kind == w.lanes[0].kind != "client" and busy[w.number] < spans[key][0]
            ),
            None,
        )
        if found is None:
            found = Window(len(made.windows) + 1)
            made.windows.append(found)
        found.lanes.append(lane)
        busy[found.number] = spans[key][-1]


# ---------------------------------------------------------------------- turns
def _turns(made: Plan) -> None:
    waiting: set[str] = set()
    locked: set[str] = set()
    started = False  # whether a reader has looked into a queue
    for position, step in enumerate(made.trace.steps):
        if (
            step.step.kind == "timer"
            and step.step.who[0] == TIMER
            and step.warm_rank
            and not started
        ):
            made.early.append(step)
            continue
        if step.step.kind in NOTHING or (
            step.fault and step.lane and made.trace.lanes[step.lane].kind == "operator"
        ):
            continue  # a window stands still anyway; an operator begins when it first runs
        started = started or (bool(step.lane) and made.trace.lanes[step.lane].kind == "reader")
        window = _actor(made, position)
        resumed = step.lane in waiting and step.step.kind in OWN
        last = made.turns[-1] if made.turns else None
        patience = 0
        if resumed and step.step.kind in PATIENCE and step.lane in locked:
            patience = PATIENCE[step.step.kind]
        if last is None or last.window != window or resumed or last.blocks or last.patience:
            last = Turn(len(made.turns) + 1, window, resumed=resumed, patience=patience)
            made.turns.append(last)
        last.steps.append(step)
        waiting = {key for key, held in step.held.items() if held.waits is not None}
        locked = {key for key in waiting if cast("Waiting", step.held[key].waits).mode}
        last.blocks = step.step.kind == "run" and (
            step.lane in waiting or any(statement.waited for statement in step.statements[-1:])
        )


def _actor(made: Plan, position: int) -> int:
    """The window that takes a step: its lane's; for a timer the next reader's; else an operator."""
    step = made.trace.steps[position]
    if step.step.kind in OWN:
        return made.window_of(step.lane)
    if step.step.kind == "timer":
        following = next(iter(made.trace.steps[position + 1 :]), None)
        if (
            following is not None
            and following.starts
            and following.lane
            and made.trace.lanes[following.lane].kind == "reader"
        ):
            return made.window_of(following.lane)
    operator = next((w for w in made.windows if not w.lanes), None)
    if operator is None:
        operator = Window(len(made.windows) + 1)
        made.windows.append(operator)
    return operator.number


# ---------------------------------------------------------------------- stops
def _stops(made: Plan) -> None:
    visits: Counter[tuple[int, Place]] = Counter()
    counted: list[tuple[Turn, TraceStep, Statement, int]] = []
    for turn in made.turns:
        for step in turn.steps:
            for statement in step.statements:
                if statement.shared and not statement.again:  # jumps share their IF's node
                    visits[turn.window, statement.place] += 1
                counted.append((turn, step, statement, visits[turn.window, statement.place]))
    stopped: set[int] = set()
    for number, (turn, step, statement, visit) in enumerate(counted):
        if statement.again or not statement.shared:
            continue
        first = turn.number not in stopped and not step.starts
        stopped.add(turn.number)
        waits = statement.waited or _waits_later(turn, statement, counted[number + 1 :])
        if first or waits:
            _stop(made, turn, statement.place, visit, waits)
    standing = made.trace.standing
    for key, place in made.trace.rest.items():
        if place is not None and key in standing and standing[key].waits is None:
            _rest(made, made.window_of(key), place, visits[made.window_of(key), place])
    for step in made.trace.steps:
        if step.at is not None and step.step.kind not in OWN | NOTHING:
            window = made.window_of(step.lane)
            passed = sum(
                1
                for turn, other, statement, _ in counted
                if turn.window == window
                and other.number < step.number
                and statement.place == step.at
                and not statement.again
                and statement.shared
            )
            _rest(made, window, step.at, passed)


def _waits_later(
    turn: Turn, statement: Statement, behind: list[tuple[Turn, TraceStep, Statement, int]]
) -> bool:
    """Whether a statement has to wait in a later step of its turn."""
    for other, _, again, _ in behind:
        if other is not turn or not again.again or again.place != statement.place:
            return False
        if again.waited:
            return True
    return False


def _rest(made: Plan, window: int, place: Place, passed: int) -> None:
    """A window that has nothing more to do at its next statement stands there till the end."""
    _stop(made, Turn(len(made.turns) + 1, window), place, passed + 1, False)


def _stop(made: Plan, turn: Turn, place: Place, visit: int, blocks: bool) -> None:
    if place.dynamic:
        made.missing.append(f"{turn}: no stop can be put into dynamic text ({place})")
        return
    if "@@ROWCOUNT" in place.text.upper() or "@@ERROR" in place.text.upper():
        made.missing.append(
            f"{turn}: there is no stop before {place}; it would change what that statement reads"
        )
        return
    made.stops.append(Stop(turn.window, turn.number, place, visit, blocks))
