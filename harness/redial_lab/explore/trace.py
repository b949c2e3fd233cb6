"""A violation as a ``Trace``: its steps, the statements of each, who holds what and waits for what.

The text form is here; ``held_locks`` says who holds what, ``trace_picture`` draws the trace, ``windows``
makes query windows of it, ``seed`` names it in one word that replays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from redial_broker.instance.session import Session
from redial_lab.explore.held_locks import Held, held_by
from redial_lab.explore.replay_words import encode
from redial_lab.explore.search import Violation
from redial_lab.explore.tracing_machine import Place, TracingMachine, place_of
from redial_lab.explore.world import CANCELLED, GOING_ON, Scenario, Step, World

if TYPE_CHECKING:
    import redial_broker.ssb.queue
    from redial_broker.engine.locks import Deadlock
    from redial_lab.explore.world import Searchable

    class ActivatedQueue(redial_broker.ssb.queue.Queue):
        """One with an activation procedure."""

        activation: redial_broker.ssb.queue.Activation


TIDIES = -2
"""Stands for the number of a batch: what a client runs after it cancelled one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement a step ran."""

    place: Place
    shared: bool
    """Others can see it."""
    waited: bool = False
    """It had to wait (and runs again when it may)."""
    again: bool = False
    """It is the one that had waited or was left."""
    left: bool = False
    """Others come in inside it: it runs again."""

    @property
    def how_far(self) -> str:
        """Behind its text: whether it begins or ends here only in part."""
        if self.left:
            return " (goes on, not to its end)" if self.again else " (begins)"
        return " (goes on)" if self.again and not self.waited else ""


@dataclass(slots=True)
class Lane:
    """A session of the trace."""

    key: str
    """Unique."""
    name: str
    kind: str
    """Client, reader, operator, or task: one of the server's own (F-485)."""
    spid: int
    """Its session id in the search."""
    client: int = -1
    """Its number."""
    database: str = ""
    queue: str = ""
    procedure: str = ""
    """queue, procedure: of a reader."""
    sql: str = ""
    """What an operator runs."""
    one_go: bool = False
    """It ran in one step."""


@dataclass(slots=True)
class TraceStep:
    """One transition."""

    number: int
    step: Step
    lane: str
    """Whose, "" for the server's own."""
    title: str
    statements: tuple[Statement, ...] = ()
    """What ran."""
    batch: int = -1
    """Number of the client's batch under way before it."""
    starts: bool = False
    """It is the first of its batch or of its reader's run."""
    rank: int = 0
    """Of a timer that fires, among the armed ones by due time."""
    warm_rank: int = 0
    """The same before the first step, 0 when it was not armed then."""
    held: dict[str, Held] = field(default_factory=dict)
    """Of every lane after it."""
    errors: tuple[tuple[str, int, str], ...] = ()
    """(lane, number, text) it raised."""
    began_waiting: tuple[str, ...] = ()
    at: Place | None = None
    """Where the lane stood when a fault struck it, None when it was waiting or not begun; fault:
    somebody or something disturbs."""

    @property
    def fault(self) -> bool:
        """Not a session going on, nor a timer or a wait whose time has come."""
        return self.step.kind not in GOING_ON


@dataclass(slots=True)
class Trace:
    """A violation, played."""

    scenario: Scenario
    violation: str
    seed: str
    """The word that replays it."""
    lanes: dict[str, Lane] = field(default_factory=dict)
    steps: list[TraceStep] = field(default_factory=list)
    standing: dict[str, Held] = field(default_factory=dict)
    """The lanes when it is met, for a deadlock those of the cycle before its victim was thrown out."""
    victim: str = ""
    """Its lane."""
    rest: dict[str, Place | None] = field(default_factory=dict)
    """Where each lane would go on."""
    activated: dict[str, str] = field(default_factory=dict)
    """(database.schema.queue -> procedure) of every queue with activation on at the start."""

    def turns(self) -> list[list[TraceStep]]:
        """The steps by turns: what one session does until somebody else acts or something happens.
        Nothing is left out, and nothing came between the steps of a turn.
        """
        return [
            list(steps)
            for _, steps in groupby(
                self.steps, key=lambda step: step.lane if step.step.kind == "run" else step.number
            )
        ]

    def lines(self) -> list[str]:
        """Numbered turns, and their steps with who begins to wait, for what, holding what."""
        found: list[str] = []
        for number, turn in enumerate(self.turns(), 1):
            if len(turn) == 1:
                found += [f"{number:3}. {turn[0].title}", *self._seen(turn[0])]
                continue
            name = self.lanes[turn[0].lane].name
            found.append(f"{number:3}. {name}, steps {turn[0].number} to {turn[-1].number}:")
            for step in turn:
                found += [f"      {step.title.removeprefix(name + ': ')}", *self._seen(step)]
        found += [
            f"  at the end {self.lanes[key].name} holds {held}"
            for key, held in self.standing.items()
            if held.locks or held.waits
        ]
        if self.victim:
            found.append(f"  the victim is {self.lanes[self.victim].name}")
        return [*found, f"  => {self.violation or 'nothing is violated'}"]

    def _seen(self, step: TraceStep) -> list[str]:
        """What somebody else would see of a step."""
        return [
            *(
                f"        {self.lanes[key].name} waits; it holds {self.held(step, key)}"
                for key in step.began_waiting
            ),
            *(
                f"        {self.lanes[key].name} {heard(number, text)}"
                for key, number, text in step.errors
                if key in self.lanes
            ),
        ]

    def held(self, step: TraceStep, key: str) -> Held:
        """A lane's locks while it waits: the cycle's own, when its victim has lost them since."""
        now = step.held.get(key, Held())
        if now.waits is None and step is self.steps[-1]:
            return self.standing.get(key, now)
        return now


class _Recorder:
    """Plays a path on a fresh world and writes the trace."""

    def __init__(self, scenario: Scenario, violation: Violation) -> None:
        self.world = world = World(scenario)
        self.instance = world.instance
        self.machine = self.instance.machine = TracingMachine(self.instance.machine)
        self.trace = Trace(scenario, violation.name, encode(scenario, violation.path))
        self.warm = self.armed()
        self.keys: dict[Session, str] = {}
        self.unfinished: dict[str, Place] = {}
        self.told: dict[int, tuple[int, int]] = {}
        self.begun: set[tuple[str, int]] = set()
        self.cycle: dict[str, Held] = {}
        self.victim: Session | None = None
        locks = self.instance.engine.locks
        self.on_deadlock, locks.on_deadlock = locks.on_deadlock, self.deadlock
        for queue in queues(self.instance):
            if queue.activation.procedure and queue.activation.enabled:
                self.trace.activated[name_of_queue(queue)] = queue.activation.procedure
        for number, session in enumerate(world.clients):
            self.lane(session, number)

    def deadlock(self, deadlock: Deadlock) -> None:
        """A cycle is closed: everybody's locks, before the victim loses its own."""
        self.on_deadlock(deadlock)
        self.victim = cast(Session, deadlock.victim.owner)
        self.cycle = self.held()

    def lane(self, session: Session, client: int = -1) -> str:
        """The key of a session's lane, made when it is first seen."""
        if session not in self.keys:
            key = f"s{len(self.keys) + 1}"
            self.keys[session] = key
            lane = Lane(key, "", "client", session.id, client, session.database.name)
            operator = next((n for n, s in self.world.operators.items() if s is session), None)
            if client >= 0:
                lane.name = self.world.scenario.clients[client].name
            elif operator is not None:
                fault = self.world.faults[operator]
                lane.kind, lane.sql = "operator", fault.sql
                lane.name = f"operator: {fault.kind.replace('_', ' ')}"
            elif session.is_system:
                lane.kind, lane.name = "task", self.world.name_of(session)
            else:
                queue = cast("ActivatedQueue", session.queue)
                same = sum(
                    other.queue == name_of_queue(queue) for other in self.trace.lanes.values()
                )
                lane.kind, lane.queue = "reader", name_of_queue(queue)
                lane.procedure = queue.activation.procedure
                lane.name = f"reader of {queue.name}" + (f" ({same + 1})" if same else "")
                lane.one_go = queue.name in self.world.scenario.in_one_go
            self.trace.lanes[key] = lane
        return self.keys[session]

    def play(self, path: tuple[Step, ...]) -> Trace:
        """Take every step."""
        for number, step in enumerate(path, 1):
            self.take(number, step)
        trace = self.trace
        trace.standing = self.cycle or self.held()
        if self.victim is not None:
            trace.victim = self.lane(self.victim)
        used = {step.lane for step in trace.steps}
        for session in self.instance.sessions.values():
            key = self.keys.get(session, "")
            if session.frames and key in used and (key, self.progress(key)) in self.begun:
                trace.rest[key] = place_of(session)
        trace.standing = {key: held for key, held in trace.standing.items() if key in used}
        trace.lanes = {key: lane for key, lane in trace.lanes.items() if key in used}
        return trace

    def take(self, number: int, step: Step) -> None:
        """Take one step and note it."""
        session = self.instance.sessions.get(step.who) if isinstance(step.who, int) else None
        key = self.lane(session, -1) if session is not None else ""
        batch = self.progress(key)
        rank = warm = 0
        if step.kind == "timer":
            rank = self.armed().index(step.who) + 1
            warm = self.warm.index(step.who) + 1 if step.who in self.warm else 0
        title = self.world.describe(step)
        stood = None
        if (
            step.kind not in GOING_ON
            and session is not None
            and session.frames
            and session.wait is None
            and (key, batch) in self.begun
        ):
            stood = place_of(session)
        before = {s: s.wait for s in self.instance.sessions.values()}
        self.machine.noted.clear()
        self.world.take(step)
        done = self.statements(key)
        first = next((s for s in done if s.shared), done[0] if done else None)
        if step.kind == "run" and first is not None:
            title = f"{self.trace.lanes[key].name}: {first.place}{first.how_far}"
        elif step.kind == "answer_lost" and first is not None:
            title = f"{title}, behind {first.place}"
        held = self.held()
        began = tuple(
            self.keys[s]
            for s in before
            if before[s] is None
            and s in self.keys
            and (
                s.wait is not None or (s is self.victim and not self.trace.victim and s is session)
            )
        )
        starts = (key, batch) not in self.begun and step.kind in ("run", "answer_lost")
        self.begun.add((key, batch))
        self.trace.steps.append(
            TraceStep(
                number,
                step,
                key,
                title,
                done,
                batch,
                starts,
                rank,
                warm,
                held,
                self.errors(),
                began,
                stood,
            )
        )

    def armed(self) -> list[tuple[str, Any]]:  # Any: what a kind of timer goes by
        """The timers that may fire, by due time, then in the order of arming."""
        entries = self.instance.engine.timers.entries
        return [
            key
            for _, key in sorted(
                (
                    (due, key)
                    for key, due in entries.items()
                    if key[0] in self.world.scenario.timer_kinds
                ),
                key=lambda entry: entry[0],
            )
        ]

    def progress(self, key: str) -> int:
        """The batch a client's lane is in; for an operator how often it struck; a reader: -1."""
        if not key:
            return -1
        lane = self.trace.lanes[key]
        if lane.kind == "operator":
            return sum(step.lane == key and step.fault for step in self.trace.steps)
        if lane.client < 0:
            return -1
        tidies = lane.client in self.world.progress.tidying
        return TIDIES if tidies else self.world.progress.position[lane.client] - 1

    def statements(self, key: str) -> tuple[Statement, ...]:
        """What the step's session ran; a statement that had waited or was left before is marked."""
        found = []
        for session, place, shared, waited, left in self.machine.noted:
            if self.lane(session) != key:
                continue
            again = self.unfinished.pop(key, None) == place
            found.append(Statement(place, shared, waited, again, left))
            if waited or left:
                self.unfinished[key] = place
        return tuple(found)

    def held(self) -> dict[str, Held]:
        """Locks and waits of every session that has a lane."""
        return {
            self.keys[session]: held_by(session, self.keys)
            for session in self.instance.sessions.values()
            if session in self.keys
        }

    def errors(self) -> tuple[tuple[str, int, str], ...]:
        """Errors the clients have been told since the step before."""
        found = []
        for number, sink in enumerate(self.world.sinks):
            key = self.keys[self.world.clients[number]]
            results = self.world.progress.results[number]
            now = [(e.number, e.text) for e in sink.errors]
            known = self.told.get(number, (0, 0))
            if len(results) > known[0]:
                found += [(key, e, "") for e in results[known[0]][known[1] :]]
                known = (len(results), 0)
            found += [(key, *error) for error in now[known[1] :]]
            self.told[number] = (len(results), len(now))
        return tuple(found)


def heard(number: int, text: str) -> str:
    """What an application is told."""
    if number == CANCELLED:
        return "does not hear what became of its batch"
    return f"gets {number}{': ' if text else ''}{text}"


def queues(instance: Searchable) -> list[ActivatedQueue]:
    """Every queue with an activation procedure."""
    return [
        item
        for database in instance.server.databases.values()
        for item in database.objects.values()
        if getattr(getattr(item, "activation", None), "procedure", None)
    ]


def name_of_queue(queue: redial_broker.ssb.queue.Queue) -> str:
    """database.schema.name of a queue."""
    return f"{queue.broker.database.name}.{queue.schema}.{queue.name}"


def record(scenario: Scenario, violation: Violation) -> Trace:
    """Play a violation's steps on a fresh world. The same scenario gives the same trace."""
    return _Recorder(scenario, violation).play(violation.path)


def replay(scenario: Scenario, violation: Violation) -> list[str]:
    """A violation as numbered lines (see ``Trace.lines``)."""
    return record(scenario, violation).lines()
