"""What the explorer itself remembers of a run, rewound with it: outcomes, budgets, incidents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redial_broker.engine.journal import Part
from redial_broker.engine.state import SAME, journaled, made, saved, state
from redial_broker.engine.types import Message
from redial_lab.explore.scenario import Scenario

if TYPE_CHECKING:
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.engine.journal import Journal
    from redial_broker.engine.locks import Deadlock
    from redial_broker.instance.session import Session
    from redial_lab.explore.world import World

_ID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


def without_ids(text: str) -> str:
    """A text with a word in place of each id."""
    return _ID.sub("id", text)


def printable(text: str) -> str:
    """A text in one line: a character that is not printed by its number."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _numbers(errors: tuple[Message, ...]) -> list[int]:
    """By number: texts name ids, and neither a client nor a check reads them."""
    return [message.number for message in errors]


class RecordingSink(Part):
    """A client's sink while exploring: what was acknowledged, what failed. Rewound too."""

    __slots__ = ("errors", "finished", "journal")
    streams = False
    STATE = state(
        saved("errors", show=_numbers),
        saved("finished"),
        made("journal", hidden=SAME),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.journal = journal
        self.errors: tuple[Message, ...] = ()
        self.finished = False

    def message(self, message: Message) -> None:
        """Keep errors."""
        if message.severity > 10:
            self.journal.save(self)
            self.errors = (*self.errors, message)

    def finish(self) -> None:
        """The request is over."""
        self.journal.save(self)
        self.finished = True

    def _nothing(self, *_: Any, **__: Any) -> None:  # Any: stands for calls of every shape
        """Rows and ends of statements are not looked at."""

    columns = row = done = told = call_status = call_over = env = _nothing
    return_status = return_value = proc_done = _nothing


class ListeningSink(RecordingSink):
    """One that keeps what it is shown as well, all its batches' (``Scenario.listens``).

    said: printed lines and rows in order, without ids, and of a value that is no number and no
    text its type only: ids and times are others on another way to the same state.
    """

    __slots__ = ("said",)
    STATE = state(saved("said"))

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.said: tuple[object, ...] = ()

    def message(self, message: Message) -> None:
        """Keep what is printed."""
        super().message(message)
        if message.severity <= 10:
            self._say(without_ids(message.text))

    def row(self, values: tuple[object, ...]) -> None:
        """Keep a row."""
        self._say(
            tuple(
                without_ids(value)
                if isinstance(value, str)
                else value
                if value is None or isinstance(value, int)
                else type(value).__name__
                for value in values
            )
        )

    def _say(self, text: object) -> None:
        self.journal.save(self)
        self.said = (*self.said, text)


class Progress(Part):
    """How far each client is, and what is left of the budgets.

    position: next batch by client. results: per client, (errors) of each finished batch. killed:
    clients that are gone. tidying: clients that run their on_cancel. paused: sessions that stand
    still. left: how often each of the scenario's faults may still strike. struck: kinds that have.
    fired: the timers of limited kinds that have fired.
    """

    __slots__ = (
        "fired",
        "firings",
        "killed",
        "left",
        "paused",
        "position",
        "results",
        "struck",
        "tidying",
    )
    STATE = state(
        saved("position", "results", copy=list),
        saved("killed", "tidying", show=sorted),
        saved("firings", "left"),
        saved("paused", "struck", show=sorted),
        saved("fired"),
    )

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.position = [0] * len(scenario.clients)
        self.results: list[tuple[tuple[int, ...], ...]] = [()] * len(scenario.clients)
        self.killed: frozenset[int] = frozenset()
        self.tidying: frozenset[int] = frozenset()
        self.firings = scenario.firings
        self.left: tuple[int, ...] = tuple(fault.times for fault in scenario.all_faults)
        self.paused: frozenset[int] = frozenset()
        self.struck: frozenset[str] = frozenset()
        self.fired: tuple[str, ...] = ()


def _with_time(clock: VirtualClock) -> tuple[VirtualClock, float]:
    return clock, clock.seconds


def _set(found: tuple[VirtualClock, float]) -> VirtualClock:
    clock, seconds = found
    clock.seconds = seconds
    return clock


def _now(moment: Moment) -> float:
    """What time it is."""
    return moment.clock.seconds


class Moment(Part):
    """The virtual clock, rewound with the rest. Conversation timers fire in any order and do not
    move it.
    """

    __slots__ = ("_journal", "clock")
    STATE = state(
        saved("clock", copy=_with_time, back=_set, of=_now, when="clock"),
        made("_journal", hidden=SAME),
        journal="_journal",
    )

    def __init__(self, journal: Journal, clock: VirtualClock) -> None:
        super().__init__()
        self._journal = journal
        self.clock = clock

    def come(self, due: float) -> None:
        """It is that time now, unless it is later."""
        if due > self.clock.seconds:
            self._journal.save(self)
            self.clock.seconds = due

    def jump(self, seconds: float) -> None:
        """Somebody has set the clock."""
        self._journal.save(self)
        self.clock.seconds += seconds


class Waiter(NamedTuple):
    """One session of a deadlock."""

    name: str
    background: bool
    procedures: tuple[str, ...]
    """What it was in, innermost first ('' for a batch)."""
    mode: str
    resource: str


class DeadlockSeen(NamedTuple):
    """A deadlock as it was found."""

    victim: str
    """The session's name."""
    waiters: tuple[Waiter, ...]
    """The cycle."""


def _cycles(deadlocks: tuple[DeadlockSeen, ...]) -> Any:
    """Who took part; where a cycle begins makes no difference."""
    return [(d.victim, sorted(tuple(w) for w in d.waiters)) for d in deadlocks]


class Incidents(Part):
    """The deadlocks of this run, in order. They count for the state: checks tell them apart."""

    __slots__ = ("_journal", "deadlocks")
    STATE = state(journaled("deadlocks", show=_cycles), made("_journal", hidden=SAME))

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.deadlocks: tuple[DeadlockSeen, ...] = ()

    def note(self, world: World, deadlock: Deadlock) -> None:
        """Keep who took part; called while everyone still stands where he stood."""
        waiters = []
        for transaction, resource, mode in deadlock.waits:
            session = cast("Session", transaction.owner)
            procedures = tuple(frame.program.full_name for frame in reversed(session.frames))
            waiters.append(
                Waiter(
                    world.name_of(session), session.background, procedures, mode, resource.key[0]
                )
            )
        victim = world.name_of(cast("Session", deadlock.victim.owner))
        self._journal.assign(
            None, self, "deadlocks", (*self.deadlocks, DeadlockSeen(victim, tuple(waiters)))
        )
