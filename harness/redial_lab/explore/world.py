"""A scenario under way: an instance, the actors on it, the faults and firings still allowed."""

from __future__ import annotations

from contextlib import nullcontext
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, cast

from redial_broker.engine.clock import VirtualClock
from redial_broker.engine.errors import SqlError, Wait
from redial_broker.engine.inside import ATOMIC, FRESH
from redial_broker.engine.journal import Part
from redial_broker.engine.kernel import Alone
from redial_broker.engine.locks import Deadlock
from redial_broker.engine.switches import given
from redial_broker.engine.types import Message
from redial_broker.exec.machine import SINGLE, others_matter
from redial_broker.instance.overheard import heard
from redial_broker.instance.requests import Batch
from redial_broker.instance.session import Session
from redial_lab.explore.counted import STEPS, MoreCountsError, Texts
from redial_lab.explore.faults import IN_ONE_GO, OWN_TIMERS, SERVER, Fault
from redial_lab.explore.heat import CountingMachine
from redial_lab.explore.others import Others
from redial_lab.explore.prepared import lending
from redial_lab.explore.progress import Incidents, ListeningSink, Moment, Progress, RecordingSink
from redial_lab.explore.scenario import CANCELLED, GOING_ON, Client, Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.engine.kernel import Engine
    from redial_broker.exec.machine import Machine
    from redial_broker.exec.server import Server
    from redial_broker.instance.defects import Defects
    from redial_broker.instance.instance import Registry
    from redial_broker.instance.results import Collector

    class Searchable(Protocol):
        """What a search needs of an instance; its clock is virtual."""

        clock: VirtualClock
        engine: Engine
        machine: Machine
        server: Server
        registry: Registry
        defects: Defects
        quantum: int
        searched: bool
        listener: Callable[[str], None] | None

        @property
        def sessions(self) -> dict[int, Session]:
            """The live sessions by id."""

        def disconnect(self, session: Session) -> None:
            """End it."""

        def connect(self, database: str = "") -> Session:
            """A session whose results are kept."""

        def run(self) -> None:
            """Until nothing is ready."""

        def pump(self, max_steps: int = 1000) -> bool:
            """Some statements in turn; whether there is more to do at once."""

        def fire(self, kind: str, key: Any) -> None:  # Any: whatever its kind goes by
            """Let a timer happen."""

        def next_due(self) -> float | None:
            """Seconds until the next timer."""

        def parts(self) -> list[Part]:
            """Everything that is hashed, in a fixed order."""


__all__ = ["CANCELLED", "GOING_ON", "Client", "Scenario", "Step", "World"]

DEFECT = "defect of the embedded broker"
"""What the name of such a violation begins with."""


LONGEST = 10_000
"""So many thousand statements a batch may run before the search."""


class EndlessError(RuntimeError):
    """A step of a session does not end; the text says whose, and where."""


def execute(instance: Searchable, session: Session, text: str) -> Collector:
    """Run a batch before a search to its end or to a wait. Raises EndlessError where it has none."""
    heard(session.database.name, text)
    collector = cast("Collector", session.sink)
    collector.clear()
    session.submit(Batch(text))
    for _ in range(LONGEST):
        if not instance.pump():
            return collector
    raise EndlessError(f"it has run {LONGEST:,} thousand statements: a loop that never ends?")


class World:
    """A scenario under way. ``steps`` lists what may happen next, ``take`` lets it happen."""

    if TYPE_CHECKING:
        scenario: Scenario
        progress: Progress

    def __init__(
        self,
        scenario: Scenario,
        read: set[str] | None = None,
        counted: frozenset[str] = frozenset(),
    ) -> None:
        """Prepare the instance and let every client come to the beginning of its first batch.

        read: filled with the names of the engine's switches that are asked for, now and later.
        counted: what counts whether or not the texts that are known read it (``counted``).
        Raises ValueError when the instance's clock is not virtual.
        """
        self.scenario = scenario
        self.faults = scenario.all_faults
        self.of_kind = {fault.kind: (number, fault) for number, fault in enumerate(self.faults)}
        # Who asks which switches are read wants those that making it reads, too.
        with given(scenario.switches, read), lending() if read is None else nullcontext() as loan:
            self.instance = cast("Searchable", scenario.prepare())
        self._loan = loan
        if not isinstance(self.instance.clock, VirtualClock):
            raise ValueError(f"scenario {scenario.name}: the instance needs a virtual clock")
        self.instance.run()
        self.journal = self.instance.engine.journal
        self.progress = Progress(scenario)
        self.clients: list[Session] = []
        self.sinks: list[RecordingSink] = []
        for client in scenario.clients:
            session = self.instance.connect(client.database)
            for text in client.warm:
                execute(self.instance, session, text).ok()
            kind = ListeningSink if scenario.listens else RecordingSink
            session.sink = kind(self.journal)
            session.app_name = client.name
            self.clients.append(session)
            self.sinks.append(cast(RecordingSink, session.sink))
        self.numbers = {session.id: number for number, session in enumerate(self.clients)}
        self.operators: dict[int, Session] = {}
        for number, fault in enumerate(self.faults):
            if fault.sql:
                session = self.operators[number] = self.instance.connect(fault.database)
                session.sink = RecordingSink(self.journal)
        self.observer = self.instance.connect(scenario.asked) if scenario.asked else None
        self.incidents = Incidents(self.journal)
        self.moment = Moment(self.journal, self.instance.clock)
        self.acted = ATOMIC if scenario.statements_atomic else FRESH
        """How a session begins a step."""
        self.texts = Texts(self.instance, scenario)
        self.texts.counted |= counted
        self.more: frozenset[str] = frozenset()
        """What turned out to count and did not: ``recount`` says so."""
        self._count(self.texts.counted)
        self.instance.listener = self._hear
        self.counting = CountingMachine(self.instance.machine) if scenario.counts else None
        if self.counting is not None:
            self.instance.machine = self.counting
        self._report_deadlock = self.instance.engine.locks.on_deadlock
        self.instance.engine.locks.on_deadlock = self._deadlock
        self.journal.recording = self.instance.searched = True
        self.others = self.instance.engine.others = Others(self)
        for number in range(len(self.clients)):
            self._next_batch(number)
        self.client_progress()

    def _count(self, counted: frozenset[str]) -> None:
        self.journal.counted = counted
        for part in self.parts():
            part.digest = None

    def _hear(self, text: str) -> None:
        self.more |= self.texts.hear(text)

    def recount(self) -> None:
        """Raise MoreCountsError when a text was run that reads what did not count."""
        if self.more:
            self.scenario.each_statement |= STEPS in self.more
            raise MoreCountsError(self.more)

    def close(self) -> None:
        """Nobody looks at it any more, wherever it stands: its instance may serve others."""
        self.instance.searched = False
        self.instance.engine.others = Alone()
        self.instance.listener = None
        if self.counting is not None:
            self.counting.close()
            self.instance.machine = self.counting.real
        self.journal.counted = frozenset()
        self.instance.engine.locks.on_deadlock = self._report_deadlock
        if self._loan is not None:
            self._loan.give_back()

    # ------------------------------------------------------------------ what may happen
    def steps(self) -> list[Step]:
        """Every transition that is possible now, in a fixed order."""
        found: list[Step] = []
        waiting: list[Session] = []
        progress = self.progress
        sessions = self.instance.sessions
        for number in sorted(sessions):
            session = sessions[number]
            if not session.frames:
                continue
            if session.wait is not None:
                waiting.append(session)
            elif number not in progress.paused:
                found.append(Step("run", number))
        nobody_runs = not found
        if progress.firings > 0:
            found += [
                Step("timer", key)
                for key in sorted(self.instance.engine.timers.entries, key=repr)
                if key[0] in self.scenario.timer_kinds and self._may_fire(key[0])
            ]
        if nobody_runs:  # time passes only then: waits with a time limit end
            found += [
                Step("expire", session.id)
                for session in waiting
                if ("wait", session) in self.instance.engine.timers.entries
            ]
            found += [
                Step("timer", key)
                for key in sorted(self.instance.engine.timers.entries, key=repr)
                if key[0] in OWN_TIMERS and key[0] not in self.scenario.timer_kinds
            ]
            found += [
                Step("resume", number)
                for number in sorted(progress.paused & sessions.keys())
                if sessions[number].frames
            ]
        if any(progress.left):
            found += self._faults()
        return found

    def _may_fire(self, kind: str) -> bool:
        limit = self.scenario.timer_limits.get(kind)
        return limit is None or self.progress.fired.count(kind) < limit

    def _faults(self) -> list[Step]:
        return [
            Step(fault.kind, who)
            for fault, left in zip(self.faults, self.progress.left, strict=True)
            if left
            for who in fault.whom(self)
        ]

    def spent(self) -> list[Step]:
        """What might happen now if its budget were not spent."""
        progress, found = self.progress, []
        for key in self.instance.engine.timers.entries:
            if key[0] in self.scenario.timer_kinds and not (
                progress.firings > 0 and self._may_fire(key[0])
            ):
                found.append(Step("timer", key))
        if not all(progress.left):
            sessions = [s.id for s in self.instance.sessions.values() if s.frames]
            found += [
                Step(fault.kind, who)
                for fault, left in zip(self.faults, progress.left, strict=True)
                if not left
                for who in ([SERVER] if fault.of_the_server else sessions)
            ]
        return found

    # ------------------------------------------------------------------ letting it happen
    def take(self, step: Step) -> bool:
        """Let one transition happen; False for a fault of which nothing came. Raises EndlessError."""
        instance = self.instance
        if step.kind == "run":
            self.go_on(instance.sessions[step.who])
            self.client_progress()
            return True
        self.journal.save(self.progress)
        if step.kind == "timer":
            kind = step.who[0]
            if kind in self.scenario.timer_limits:
                self.progress.fired = tuple(sorted((*self.progress.fired, kind)))
            if kind in self.scenario.timer_kinds:
                self.progress.firings -= 1
            self.fire(step.who, whenever=kind in self.scenario.timer_kinds)
        elif step.kind == "expire":
            self.fire(("wait", instance.sessions[step.who]))
        elif step.kind == "resume":
            self.progress.paused -= {step.who}
        else:
            return self._strike(step)
        return True

    def go_on(self, session: Session) -> None:
        """One step of a session. Raises EndlessError."""
        machine = self.instance.machine
        if self.in_one_go(session):
            machine.run(session, IN_ONE_GO)
        else:
            machine.run(session, IN_ONE_GO, single=SINGLE, acted=self.acted)
        self.check_stopped(session)

    def check_stopped(self, session: Session) -> None:
        """Raise EndlessError where a step has not come to its end."""
        if not session.frames or session.wait is not None or session.to_be_run_again:
            return
        frame = session.frames[-1]
        if session.portions is not None or session.pending is not None:
            return
        if self.in_one_go(session) or not others_matter(session, frame.program.infos[frame.pc]):
            raise EndlessError(
                f"{self.name_of(session)}: {self._statement(session)}: it has run {IN_ONE_GO:,} "
                "statements that nobody else can see, one after the other: a loop that never ends?"
            )

    def fire(
        self, timer: tuple[str, Any], *, whenever: bool = False
    ) -> None:  # Any: as in ``fire`` above
        """A timer happens, once; whenever: the clock need not have come to it."""
        timers = self.instance.engine.timers
        if not whenever:
            self.moment.come(timers.entries[timer])
        timers.cancel(None, *timer)
        self.instance.fire(*timer)

    def _strike(self, step: Step) -> bool:
        """Let a fault happen; one of which nothing came costs nothing."""
        number, fault = self.of_kind[step.kind]
        if not fault.strike(self, step.who):
            return False
        left = list(self.progress.left)
        left[number] -= 1
        self.progress.left = tuple(left)
        self.progress.struck |= {fault.kind}
        return True

    def operator(self, fault: Fault) -> Session:
        """Who runs that fault's sql."""
        return self.operators[self.of_kind[fault.kind][0]]

    def cancel(self, session: Session, tidy: str) -> None:
        """A client cancels its batch; tidy: what it runs then, before it goes on."""
        number = self.clients.index(session)
        session.attention()
        session.sink.message(Message(CANCELLED, 11, 1, "Operation cancelled by user."))
        self.client_progress(number if tidy else None)
        if tidy and not session.active:
            self.progress.tidying |= {number}
            session.submit(Batch(tidy))

    def reconnect(self, session: Session, *, answered: bool = False) -> None:
        """The connection of a client (or an operator) breaks, and is made again: the same @@SPID, nothing
        else of before. It knows of no outcome. One that is not let in again is gone.

        answered: its batch is over, and it does not hear of that."""
        self.journal.save(session)
        active = session.active or answered
        if answered:
            sink = self.sinks[self.clients.index(session)]
            self.journal.save(sink)
            sink.errors = ()
        session.attention()
        try:
            session.log_in_again()
        except (SqlError, Wait):
            self.instance.disconnect(session)
            if session in self.clients:
                self.progress.killed |= {self.clients.index(session)}
        if active and session is not self.observer:
            session.sink.message(Message(CANCELLED, 11, 1, "The connection is broken."))

    def _deadlock(self, deadlock: Deadlock) -> None:
        self._report_deadlock(deadlock)
        self.incidents.note(self, deadlock)

    def in_one_go(self, session: Session) -> bool:
        """Whether all a session does before it waits or ends is one step."""
        for number, operator in self.operators.items():
            if operator is session:
                return self.faults[number].at_once
        return session.background and any(
            f"/{queue}/" in session.stream for queue in self.scenario.in_one_go
        )

    def client_progress(self, cancelled: int | None = None) -> None:
        """Note the outcome of every batch that is over and start its client's next one.

        cancelled: a client that has something to tidy up before it goes on.
        """
        progress = self.progress
        # One that cannot be compiled is over when it is begun.
        while (number := next((n for n, s in enumerate(self.sinks) if s.finished), -1)) >= 0:
            sink = self.sinks[number]
            self.journal.save(progress)
            tidied = number in progress.tidying
            if tidied:
                progress.tidying -= {number}
            else:
                progress.results[number] = (
                    *progress.results[number],
                    tuple(e.number for e in sink.errors),
                )
            on_error = self.scenario.clients[number].on_error
            if number == cancelled:
                self.journal.save(sink)
                sink.errors, sink.finished = (), False
            elif sink.errors and on_error and not tidied and number not in progress.killed:
                self.journal.save(sink)
                sink.errors, sink.finished = (), False
                progress.tidying |= {number}
                self.journal.save(self.clients[number])
                self.clients[number].submit(Batch(on_error))
            else:
                self._next_batch(number)

    def progress_of(self, session: Session) -> tuple[object, ...] | None:
        """What decides how a client's session goes on besides its own state."""
        number, progress = self.numbers.get(session.id), self.progress
        if number is None:
            return None
        sink = self.sinks[number]
        return (
            progress.position[number],
            number in progress.killed,
            number in progress.tidying,
            sink.digest or sink.hash(),
        )

    def _next_batch(self, number: int) -> None:
        sink, client = self.sinks[number], self.scenario.clients[number]
        position = self.progress.position[number]
        self.journal.save(sink)
        sink.errors, sink.finished = (), False
        gone = self.clients[number].id not in self.instance.sessions
        if position < len(client.batches) and number not in self.progress.killed and not gone:
            self.journal.save(self.progress)
            self.progress.position[number] = position + 1
            self.journal.save(self.clients[number])
            self.clients[number].submit(Batch(client.batches[position]))

    # ------------------------------------------------------------------ looking at it
    def defects(self) -> list[str]:
        """Exceptions the broker did not foresee, each of which has ended a session here."""
        return [f"{DEFECT}: {text}" for _, text in self.instance.defects.found]

    def hash(self) -> bytes:
        """The state hash: every part's own, in a fixed order."""
        found = [part.digest or part.hash() for part in self.parts()]
        return blake2b(b"".join(found), digest_size=16).digest()

    def parts(self) -> list[Part]:
        """Everything that counts for the state, in a fixed order."""
        found = self.instance.parts()
        found += self.sinks
        found += [session.sink for session in self.operators.values()]  # type: ignore[misc]  # ours
        found += (self.progress, self.incidents, self.moment)
        return found

    def describe(self, step: Step) -> str:
        """A step as a numbered trace shows it: who, and which statement is about to run."""
        if step.kind == "timer":
            return f"a timer fires ({step.who[0]})"
        if step.who == SERVER:
            return self.of_kind[step.kind][1].title("")
        session = self.instance.sessions[step.who]
        name = self.name_of(session)
        if step.kind == "run":
            return f"{name}: {self._statement(session)}"
        if step.kind == "expire":
            return f"{name}: its wait times out"
        if step.kind == "resume":
            return f"{name} goes on"
        return self.of_kind[step.kind][1].title(name)

    def name_of(self, session: Session) -> str:
        """A session by its client's name, as an operator's, a task's, or as the queue's reader."""
        if session in self.clients:
            return self.scenario.clients[self.clients.index(session)].name
        for number, operator in self.operators.items():
            if operator is session:
                return f"operator ({self.faults[number].kind})"
        queue = session.stream.split("/")[-2]
        if session.is_system:
            return f"task {session.id} (switches {queue} off)"
        return f"reader {session.id} ({queue})"

    @staticmethod
    def _statement(session: Session) -> str:
        for procedure, line, _, _, text in session.stack():
            short = " ".join(text.split())
            return f"{procedure.split('.')[-1]} line {line}: {short[:90]}"
        return "starts"
