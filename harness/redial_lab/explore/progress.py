"""What the explorer itself remembers of a run, rewound with it: outcomes, budgets, incidents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redial_broker.engine.journal import Part
from redial_broker.engine.types import Message
from redial_lab.explore.scenario import Scenario

if TYPE_CHECKING:
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.engine.journal import Journal
    from redial_broker.engine.locks import Deadlock
    from redial_broker.instance.session import Session
    from redial_lab.explore.world import World

# Any of memento, restore and content below: as ``Part`` has them, each part its own.
_ID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


class RecordingSink(Part):
    """A client's sink while exploring: what was acknowledged, what failed. Rewound too."""

    __slots__ = ("errors", "finished", "journal")

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.journal = journal
        self.errors: tuple[Message, ...] = ()
        self.finished = False

    def memento(self) -> Any:
        """Errors so far and whether the request is over."""
        return self.errors, self.finished

    def restore(self, memento: Any) -> None:
        """Put them back."""
        self.errors, self.finished = memento

    def content(self) -> Any:
        """Error numbers in order."""
        return [message.number for message in self.errors], self.finished

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

    columns = row = done = env = return_status = return_value = proc_done = _nothing


class ListeningSink(RecordingSink):
    """One that keeps what it is shown as well, all its batches' (``Scenario.listens``).

    said: printed lines and rows in order, without ids, and of a value that is no number and no
    text its type only: ids and times are others on another way to the same state.
    """

    __slots__ = ("said",)

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.said: tuple[object, ...] = ()

    def memento(self) -> Any:
        """What was said, too."""
        return self.errors, self.finished, self.said

    def restore(self, memento: Any) -> None:
        """Put it back."""
        self.errors, self.finished, self.said = memento

    def content(self) -> Any:
        """What was said, too."""
        return super().content(), self.said

    def message(self, message: Message) -> None:
        """Keep what is printed."""
        super().message(message)
        if message.severity <= 10:
            self._say(_ID.sub("id", message.text))

    def row(self, values: tuple[object, ...]) -> None:
        """Keep a row."""
        self._say(
            tuple(
                _ID.sub("id", value)
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

    def memento(self) -> Any:
        """All fields."""
        return (
            self.position[:],
            self.results[:],
            self.killed,
            self.tidying,
            self.firings,
            self.left,
            self.paused,
            self.struck,
            self.fired,
        )

    def restore(self, memento: Any) -> None:
        """Put the fields back."""
        (
            self.position,
            self.results,
            self.killed,
            self.tidying,
            self.firings,
            self.left,
            self.paused,
            self.struck,
            self.fired,
        ) = memento

    def content(self) -> Any:
        """All of it decides what can still happen, or what a check says."""
        return (
            self.position,
            self.results,
            sorted(self.killed),
            sorted(self.tidying),
            self.firings,
            self.left,
            sorted(self.paused),
            sorted(self.struck),
            self.fired,
        )


class Moment(Part):
    """The virtual clock, rewound with the rest. Conversation timers fire in any order and do not
    move it; whether it counts for the state is the world's to say (``timed``).
    """

    __slots__ = ("_journal", "clock")

    def __init__(self, journal: Journal, clock: VirtualClock) -> None:
        super().__init__()
        self._journal = journal
        self.clock = clock

    def memento(self) -> Any:
        """The time."""
        return self.clock.seconds

    def restore(self, memento: Any) -> None:
        """Put it back."""
        self.clock.seconds = memento

    def come(self, due: float) -> None:
        """It is that time now, unless it is later."""
        if due > self.clock.seconds:
            self._journal.save(self)
            self.clock.seconds = due


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


class Incidents(Part):
    """The deadlocks of this run, in order. They count for the state: checks tell them apart."""

    __slots__ = ("_journal", "deadlocks")

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

    def content(self) -> Any:
        """Plain values."""
        return [(d.victim, sorted(tuple(w) for w in d.waiters)) for d in self.deadlocks]
