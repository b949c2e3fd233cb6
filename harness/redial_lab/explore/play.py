"""A windows script played on the embedded broker, by as many sessions as it has windows.

It reads the text a DBA gets: sections, batches between GO. What it meets is judged by the checks of
the scenario, which see the instance as if it had been searched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from redial.tsql import split_batches
from redial_broker.engine.locks import Deadlock
from redial_broker.engine.state import derived, state
from redial_broker.engine.switches import given
from redial_broker.engine.types import Message
from redial_broker.instance.requests import Batch
from redial_broker.instance.session import Session
from redial_lab.explore.progress import Incidents, Moment, Progress, RecordingSink
from redial_lab.explore.replay_words import violated
from redial_lab.explore.world import CANCELLED, Scenario, Step, World

if TYPE_CHECKING:
    from redial_broker.engine.journal import Journal
    from redial_lab.explore.world import Searchable

LONGEST = 900.0
"""Seconds of virtual time a script may take."""
BUSIEST = 5_000
"""Turns of statements in which no time may pass."""

_SECTION = re.compile(r"^-- =+ (SETUP|WINDOW \d+|CLEAN-UP) =+$", re.MULTILINE)
_MARK = re.compile(
    r"^-- \[(client|reader|operator|cancel) (?:window )?(\w+)"
    r"(?: batch (\d+))?( tidies up)?\]$",
    re.MULTILINE,
)


class PlayError(Exception):
    """The script could not be run: a batch of SETUP or CLEAN-UP failed, or a window never ends."""


class _Sink(RecordingSink):
    """What a window is told, printed lines too."""

    __slots__ = ("printed",)
    STATE = state(derived("printed", why="a script is played once and never taken back"))

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.printed: list[str] = []

    def message(self, message: Message) -> None:
        """Keep errors apart from what is printed."""
        super().message(message)
        if message.severity <= 10:
            self.printed.append(message.text)


@dataclass(slots=True)
class _Window:
    """One query window at work."""

    number: int
    session: Session
    sink: _Sink
    batches: list[str]
    """Still to run."""
    mark: re.Match[str] | None = None
    """Of the one under way."""
    running: bool = False
    dead: bool = False


@dataclass(slots=True)
class Played:
    """What came of it."""

    met: list[str] = field(default_factory=list)
    """Names of violations."""
    printed: list[tuple[int, str]] = field(default_factory=list)
    """(window, line) in order; left: the steps a window could not do in their turn."""
    errors: list[tuple[int, int]] = field(default_factory=list)
    """(window, number) as the windows were told."""
    waited: set[int] = field(default_factory=set)

    @property
    def left(self) -> list[str]:
        """Complaints of explorer.Turn."""
        return [line for _, line in self.printed if line.startswith("LEFT THE SCRIPT")]


class Stage(World):
    """A world for the checks of a scenario whose clients are query windows."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        with given(scenario.switches):
            self.instance = cast("Searchable", scenario.prepare())
        self.instance.run()
        self.instance.quantum = 1
        self.journal = self.instance.engine.journal
        self.progress = Progress(scenario)
        self.clients: list[Session] = []
        self.sinks: list[RecordingSink] = []
        self.faults = scenario.all_faults
        self.operators: dict[int, Session] = {}
        self.observer: Session | None = None
        self.incidents = Incidents(self.journal)
        self.moment = Moment(self.journal, self.instance.clock)
        self._report_deadlock = self.instance.engine.locks.on_deadlock
        self.instance.engine.locks.on_deadlock = self._deadlock
        self.readers: list[Session] = []
        self.moving = True

    def name_of(self, session: Session) -> str:
        """A client by its name, a window that stands for activation as a reader."""
        if session in self.clients:
            return super().name_of(session)
        return f"reader {session.id} (by hand)" if session in self.readers else "operator"

    def _deadlock(self, deadlock: Deadlock) -> None:
        """To the checks a reader by hand is an activated one."""
        for session in self.readers:
            session.background = True
        try:
            super()._deadlock(deadlock)
        finally:
            for session in self.readers:
                session.background = False

    def steps(self) -> list[Step]:
        """Something while the windows are at it, nothing at the end."""
        return [Step("run", 0)] if self.moving else []


def sections(text: str) -> dict[str, str]:
    """The parts of a script by their headings."""
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2]))


def play(text: str, scenario: Scenario) -> Played:
    """Run SETUP, then all windows at once, then CLEAN-UP.

    Raises PlayError when SETUP or CLEAN-UP fails, or a window goes on for ever.
    """
    return _Player(text, scenario).run()


class _Player:
    def __init__(self, text: str, scenario: Scenario) -> None:
        self.parts = sections(text)
        self.stage = Stage(scenario)
        self.played = Played()
        self.windows: list[_Window] = []
        self.noticed: set[str] = set()
        self.busy = 0
        """Turns since time has passed."""

    def run(self) -> Played:
        """Everything in its order."""
        self.script("SETUP")
        stage, instance = self.stage, self.stage.instance
        number = 1
        while (body := self.parts.get(f"WINDOW {number}")) is not None:
            session = instance.connect()
            session.sink = _Sink(stage.journal)
            self.windows.append(
                _Window(
                    number,
                    session,
                    cast(_Sink, session.sink),
                    [batch.sql for batch in split_batches(body)],
                )
            )
            number += 1
        self.cast()
        ends = instance.clock.now() + LONGEST
        while instance.clock.now() < ends and self.go_on(ends):
            self.look()
        stage.moving = False
        self.look()
        for window in self.windows:
            self.played.errors += [(window.number, e) for e in self.told(window)]
            if not window.dead:
                window.session.close()
        self.script("CLEAN-UP")
        self.played.met = sorted(self.noticed)
        return self.played

    def script(self, name: str) -> None:
        """A section in a session of its own."""
        session = self.stage.instance.connect()
        for sql, line, _ in split_batches(self.parts[name]):
            error = session.execute(sql).error()
            if error is not None:
                raise PlayError(
                    f"{name}, line {line + error.line - 1}: {error.number} {error.text}"
                )
        session.close()

    def cast(self) -> None:
        """Which window is which client, for the checks."""
        by_client = {}
        for window in self.windows:
            for sql in window.batches:
                mark = _MARK.search(sql)
                if mark is not None and mark[1] == "client":
                    by_client[int(mark[2])] = window
                elif mark is not None and mark[1] == "reader":
                    self.stage.readers.append(window.session)
        for number in range(len(self.stage.scenario.clients)):
            window = cast("_Window", by_client.get(number))
            if window is None:  # has not begun when the violation is met
                sink = RecordingSink(self.stage.journal)
                session = self.stage.instance.connect()
            else:
                session, sink = window.session, window.sink
            self.stage.clients.append(session)
            self.stage.sinks.append(sink)
        asked = self.stage.scenario.asked
        if asked:
            self.stage.observer = self.stage.instance.connect(asked)

    def go_on(self, ends: float) -> bool:
        """Let every window begin its next batch and run a little; False when all is over."""
        instance = self.stage.instance
        for window in self.windows:
            if not window.running and window.batches and not window.dead:
                self.begin(window)
        busy = instance.pump(1)
        for window in self.windows:
            self.end(window)
            if (
                window.session.wait is not None
                and window.session.wait.kind == "lock"
                and window.session.wait.resource.key[0] != "APPLICATION"
            ):
                self.played.waited.add(window.number)
        if busy or any(not w.running and w.batches and not w.dead for w in self.windows):
            self.busy += 1
            if self.busy > BUSIEST:
                raise PlayError(f"a window was not done after {BUSIEST:,} statements")
            return True
        due = instance.next_due()
        if due is None or not any(w.running for w in self.windows):
            return False
        if instance.clock.now() + due > ends:
            return False
        instance.clock.advance(due)
        self.busy = 0
        return True

    def begin(self, window: _Window) -> None:
        """The next batch of a window."""
        text = window.batches.pop(0)
        window.mark = _MARK.search(text)
        window.sink.errors, window.sink.finished = (), False
        window.running = True
        window.session.submit(Batch(text))

    def end(self, window: _Window) -> None:
        """Note what a window has printed, and the outcome of a batch that is over."""
        for line in window.sink.printed:
            self.played.printed.append((window.number, line))
            if line.startswith("Now press Cancel"):
                self.press_cancel(line)
        window.sink.printed.clear()
        if not window.running or not window.sink.finished:
            return
        window.running = False
        self.outcome(window, [error.number for error in window.sink.errors])
        if self.stage.instance.sessions.get(window.session.id) is not window.session:
            window.dead = True

    def press_cancel(self, line: str) -> None:
        """Stop the batch under way in the window the line names."""
        number = int(cast("re.Match[str]", re.search(r"window (\d+)", line))[1])
        window = self.windows[number - 1]
        if window.running:
            window.session.attention()
            window.sink.finished = True
            window.running = False
            self.outcome(window, [*(e.number for e in window.sink.errors), CANCELLED])

    def outcome(self, window: _Window, numbers: list[int]) -> None:
        """What a client's batch came to."""
        self.played.errors += [(window.number, number) for number in numbers]
        window.sink.errors = ()
        mark = window.mark
        if mark is not None and mark[1] == "client" and mark[3] is not None:
            results = self.stage.progress.results
            results[int(mark[2])] = (*results[int(mark[2])], tuple(numbers))

    def told(self, window: _Window) -> list[int]:
        """Errors of a batch that never came to its end."""
        return [error.number for error in window.sink.errors] if window.running else []

    def look(self) -> None:
        """The checks, now. What a check asks the server is recorded, and taken back by it."""
        stage = self.stage
        stage.journal.recording = stage.instance.searched = True
        try:
            self.noticed.update(violated(stage))
        finally:
            stage.journal.recording = stage.instance.searched = False
