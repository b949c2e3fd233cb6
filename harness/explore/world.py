"""What is searched: an instance, the actors on it, the faults and firings still allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from harness.broker.engine.clock import VirtualClock
from harness.broker.engine.journal import Part
from harness.broker.engine.types import Message
from harness.broker.instance.instance import Instance
from harness.broker.instance.requests import Batch
from harness.broker.instance.session import Session

ACTIVATED_STEPS = 100_000
"""Bound of statements when a reader runs in one go."""


CANCELLED = -1
"""Stands for an error number where the client cancelled: it knows of no outcome."""


@dataclass(frozen=True, slots=True)
class Client:
    """An application's session.

    name: as traces show it. batches: run one after the other, searched. warm: run before the search
    begins, each to quiescence (a dialog that exists already, say). on_cancel: what the application
    runs after it cancelled a batch (a transaction it began itself is its own to roll back).
    """

    name: str
    batches: tuple[str, ...]
    database: str = ""
    warm: tuple[str, ...] = ()
    on_cancel: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition. kind: run, timer, expire, kill, cancel; who: session id or timer key."""

    kind: str
    who: Any

    def __str__(self) -> str:
        return f"{self.kind} {self.who}"


@dataclass(slots=True)
class Scenario:
    """What to search.

    prepare: makes the instance: databases, objects, data (before recording starts). clients: the
    applications. in_one_go: names of queues whose activated readers run in a single step (their
    inner interleavings are not searched; say so where the result is quoted). timer_kinds: which
    timers may fire, at any moment. firings, kills, cancels: how many of each at most in one run.
    on_every_state and at_the_end: checks; each returns the names of what is violated.
    """

    name: str
    prepare: Callable[[], Instance]
    clients: tuple[Client, ...]
    on_every_state: Callable[[World], list[str]] = lambda world: []
    at_the_end: Callable[[World], list[str]] = lambda world: []
    in_one_go: frozenset[str] = frozenset()
    timer_kinds: frozenset[str] = frozenset({"ssb.timer"})
    firings: int = 1
    kills: int = 0
    cancels: int = 0
    notes: tuple[str, ...] = field(default=())


class RecordingSink(Part):
    """A client's sink while exploring: what was acknowledged, what failed. Rewound too."""

    __slots__ = ("errors", "finished", "journal")

    def __init__(self, journal: Any) -> None:
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

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Rows and ends of statements are not looked at."""

    columns = row = done = env = return_status = return_value = proc_done = _nothing


class Progress(Part):
    """How far each client is, and what is left of the budgets.

    position: next batch by client. results: per client, (errors) of each finished batch. killed:
    clients that are gone. tidying: clients that run their on_cancel.
    """

    __slots__ = ("cancels", "firings", "killed", "kills", "position", "results", "tidying")

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.position = [0] * len(scenario.clients)
        self.results: list[tuple[tuple[int, ...], ...]] = [()] * len(scenario.clients)
        self.killed: frozenset[int] = frozenset()
        self.tidying: frozenset[int] = frozenset()
        self.firings = scenario.firings
        self.kills = scenario.kills
        self.cancels = scenario.cancels

    def memento(self) -> Any:
        """All fields."""
        return (self.position[:], self.results[:], self.killed, self.tidying, self.firings,
                self.kills, self.cancels)

    def restore(self, memento: Any) -> None:
        """Put the fields back."""
        (self.position, self.results, self.killed, self.tidying, self.firings, self.kills,
         self.cancels) = memento

    def content(self) -> Any:
        """All of it decides what can still happen."""
        return self.memento()


class World:
    """A scenario under way. ``steps`` lists what may happen next, ``take`` lets it happen."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.instance = scenario.prepare()
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
                session.execute(text).ok()
            session.sink = RecordingSink(self.journal)
            session.app_name = client.name
            self.clients.append(session)
            self.sinks.append(session.sink)
        self.journal.recording = self.instance.searched = True
        for number in range(len(self.clients)):
            self._next_batch(number)

    # ------------------------------------------------------------------ what may happen
    def steps(self) -> list[Step]:
        """Every transition that is possible now, in a fixed order."""
        found: list[Step] = []
        waiting: list[Session] = []
        sessions = self.instance.sessions
        for number in sorted(sessions):
            session = sessions[number]
            if not session.frames:
                continue
            if session.wait is None:
                found.append(Step("run", number))
            else:
                waiting.append(session)
        progress = self.progress
        if progress.firings > 0:
            found += [Step("timer", key) for key in sorted(
                self.instance.engine.timers.entries, key=repr)
                if key[0] in self.scenario.timer_kinds]
        if not found:  # time passes only when nobody can run: waits with a time limit end
            found += [Step("expire", session.id) for session in waiting
                      if ("wait", session) in self.instance.engine.timers.entries]
        found += self._faults()
        return found

    def _faults(self) -> list[Step]:
        faults: list[Step] = []
        progress = self.progress
        for session in self.instance.sessions.values():
            if not session.frames:
                continue
            if progress.kills > 0:
                faults.append(Step("kill", session.id))
            if progress.cancels > 0 and not session.background:
                faults.append(Step("cancel", session.id))
        return sorted(faults, key=lambda step: (step.kind, step.who))

    # ------------------------------------------------------------------ letting it happen
    def take(self, step: Step) -> None:
        """Let one transition happen."""
        instance = self.instance
        if step.kind == "run":
            session = instance.sessions[step.who]
            if self._in_one_go(session):
                instance.machine.run(session, ACTIVATED_STEPS)
            else:
                instance.machine.run(session, single=True)
            self._client_progress()
            return
        self.journal.save(self.progress)
        if step.kind == "timer":
            self.progress.firings -= 1
            instance.engine.timers.cancel(None, *step.who)
            instance.fire(*step.who)
        elif step.kind == "expire":
            instance.engine.timers.cancel(None, "wait", instance.sessions[step.who])
            instance.sessions[step.who].time_out()
        elif step.kind == "kill":
            self.progress.kills -= 1
            session = instance.sessions[step.who]
            if session in self.clients:
                self.progress.killed |= {self.clients.index(session)}
            session.killed()
        elif step.kind == "cancel":
            self.progress.cancels -= 1
            self._cancel(instance.sessions[step.who])

    def _cancel(self, session: Session) -> None:
        number = self.clients.index(session)
        session.attention()
        session.sink.message(Message(CANCELLED, 11, 1, "Operation cancelled by user."))
        self._client_progress(number)
        tidy = self.scenario.clients[number].on_cancel
        if tidy and not session.active:
            self.progress.tidying |= {number}
            session.submit(Batch(tidy))

    def _in_one_go(self, session: Session) -> bool:
        return session.background and any(
            f"/{queue}/" in session.stream for queue in self.scenario.in_one_go)

    def _client_progress(self, cancelled: int | None = None) -> None:
        """Note the outcome of every batch that is over and start its client's next one.

        cancelled: a client that has something to tidy up before it goes on.
        """
        progress = self.progress
        for number, sink in enumerate(self.sinks):
            if not sink.finished:
                continue
            self.journal.save(progress)
            if number in progress.tidying:
                progress.tidying -= {number}
            else:
                progress.results[number] = (
                    *progress.results[number], tuple(e.number for e in sink.errors))
            if number == cancelled and self.scenario.clients[number].on_cancel:
                self.journal.save(sink)
                sink.errors, sink.finished = (), False
            else:
                self._next_batch(number)

    def _next_batch(self, number: int) -> None:
        sink, client = self.sinks[number], self.scenario.clients[number]
        position = self.progress.position[number]
        self.journal.save(sink)
        sink.errors, sink.finished = (), False
        if position < len(client.batches) and number not in self.progress.killed:
            self.journal.save(self.progress)
            self.progress.position[number] = position + 1
            self.journal.save(self.clients[number])
            self.clients[number].submit(Batch(client.batches[position]))

    # ------------------------------------------------------------------ looking at it
    def hash(self) -> bytes:
        """The state hash: every part's own, in a fixed order."""
        found = [part.digest or part.hash() for part in self.instance.parts()]
        found += [sink.digest or sink.hash() for sink in self.sinks]
        found.append(self.progress.digest or self.progress.hash())
        return blake2b(b"".join(found), digest_size=16).digest()

    def describe(self, step: Step) -> str:
        """A step as a numbered trace shows it: who, and which statement is about to run."""
        if step.kind == "timer":
            return f"the conversation timer fires ({step.who[0]})"
        session = self.instance.sessions[step.who]
        name = self.name_of(session)
        if step.kind == "kill":
            return f"{name} is killed"
        if step.kind == "cancel":
            return f"{name}: the client cancels"
        if step.kind == "expire":
            return f"{name}: its wait times out"
        return f"{name}: {self._statement(session)}"

    def name_of(self, session: Session) -> str:
        """A session by its client's name, or as the queue's reader."""
        if session in self.clients:
            return self.scenario.clients[self.clients.index(session)].name
        return f"reader {session.id} ({session.stream.split('/')[-2]})"

    @staticmethod
    def _statement(session: Session) -> str:
        for procedure, line, _, _, text in session.stack():
            short = " ".join(text.split())
            return f"{procedure.split('.')[-1]} line {line}: {short[:90]}"
        return "starts"

    def locks_of(self, session: Session) -> str:
        """What a session holds and waits for, in one line."""
        held = []
        if session.transaction is not None:
            held = [f"{mode} {describe_resource(key)}"
                    for key, mode in session.transaction.locks.items()
                    if key[0] != "OBJECT"]
        waits = ""
        if session.wait is not None and session.wait.kind == "lock":
            wait = session.wait
            waits = f"; waits for {wait.request.mode} {describe_resource(wait.resource.key)}"
        return (", ".join(held) or "nothing") + waits


def describe_resource(key: tuple) -> str:
    """A lock resource for a reader: KEY 720...(value), CONVERSATION_GROUP 8A21..."""
    if key[0] == "KEY":
        return f"KEY {key[1] & 0xFFFFFFFF:x}{key[2]}"
    return f"{key[0]} {str(key[-1])[:8]}"
