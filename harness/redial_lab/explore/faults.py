"""Kinds of fault, as data: what may strike whom, and what it does.

A kind strikes a session (``KINDS``), or it is T-SQL an operator runs at any moment: each of its
statements is a step of its own, so it waits, blocks and is blocked like anybody's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redial_broker.engine.switches import value
from redial_broker.exec.machine import others_matter
from redial_broker.exec.trouble import disk_full
from redial_broker.instance.requests import Batch

if TYPE_CHECKING:
    from redial_broker.instance.session import Session
    from redial_lab.explore.world import World

ROLLBACK = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"

SERVER = 0
"""Who a fault of the server strikes, where a session's id would stand."""

IN_ONE_GO = 100_000
"""Bound of statements in one step."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault of a scenario."""

    kind: str
    """One of ``KINDS``, or any name when there is sql."""
    times: int = 1
    """How often at most in one run."""
    who: str = ""
    """Only the session of that name (a client's, or ``reader`` for activated ones); '' for all it
    can strike."""
    sql: str = ""
    database: str = ""
    """sql, database: what an operator runs, and where."""
    at_once: bool = False
    """In one step, and what follows a wait in another, so that nothing comes between what it looks
    at and what it does."""

    def __post_init__(self) -> None:
        """Refuse a kind that nobody knows. Raises ValueError."""
        if not self.sql and self.kind not in known_kinds():
            raise ValueError(
                f"fault {self.kind!r}: there is none of that name and it has no sql; "
                f"the kinds are {', '.join(known_kinds())}"
            )

    def spares(self, world: World, session: Session) -> bool:
        """Whether it is not meant for that session."""
        if session in world.operators.values():
            return True
        if not self.who:
            return False
        if session.background:
            return self.who != "reader"
        return world.name_of(session) != self.who

    @property
    def of_the_server(self) -> bool:
        """Whether it strikes the server, and no session in particular."""
        return not self.sql and self.kind in OF_THE_SERVER

    def lets_time_pass(self, world: World, session: Session) -> bool:
        """Whether by it time may pass between two statements of that session."""
        if self.sql or self.kind not in LET_TIME_PASS:
            return False
        # Nothing else can run when time passes for one that stands still.
        return self.kind != "pause" or (
            session in world.clients and not self.spares(world, session)
        )

    def whom(self, world: World) -> list[int]:
        """Whom it can strike now, by ids, in order: ``SERVER``, an operator, or sessions."""
        if self.of_the_server:
            return [SERVER] if OF_THE_SERVER[self.kind].may(world) else []
        sessions = world.instance.sessions
        if self.sql:
            operator = world.operator(self)
            return [operator.id] if not operator.active and operator.id in sessions else []
        may = KINDS[self.kind].may
        return [
            number
            for number, session in sorted(sessions.items())
            if session.frames and not self.spares(world, session) and may(world, session)
        ]

    def strike(self, world: World, who: int) -> bool:
        """It happens to one of ``whom``; an operator begins. False where nothing came of it."""
        if self.of_the_server:
            OF_THE_SERVER[self.kind].strike(world)
            return True
        session = world.instance.sessions[who]
        if not self.sql:
            return KINDS[self.kind].strike(world, session) is not False
        world.journal.save(session)
        session.submit(Batch(self.sql))
        if self.at_once:
            world.go_on(session)
        return True

    def title(self, name: str) -> str:
        """In a trace; name: of whom it strikes."""
        if self.of_the_server:
            return OF_THE_SERVER[self.kind].title
        return f"{name}{' begins' if self.sql else KINDS[self.kind].title}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault that strikes a session."""

    meaning: str
    title: str
    """In a trace, after the name of whom it strikes."""
    may: Callable[[World, Session], bool]
    """Whether it can now."""
    strike: Callable[[World, Session], bool | None]
    """What it does; False where it only shows then that there is nothing to strike."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A fault that strikes the server, at any moment."""

    meaning: str
    title: str
    """In a trace."""
    strike: Callable[[World], None]
    """What it does."""
    may: Callable[[World], bool] = lambda world: True
    """Whether it can now."""


def _kill(world: World, session: Session) -> None:
    if session in world.clients:
        world.progress.killed |= {world.clients.index(session)}
    session.killed()
    world.client_progress()  # now, not with whoever runs next: the two would not commute


def _waits_for_a_lock(world: World, session: Session) -> bool:
    """Waits for a lock, and a time limit is heeded there.

    An application may have set LOCK_TIMEOUT; a reader has one only where its procedure sets it.
    """
    if session.wait is None or session.wait.kind != "lock":
        return False
    engine = world.instance.engine
    if session.background:
        return _has_a_limit(world, session)
    group = session.wait.resource.key[0] == "CONVERSATION_GROUP"
    return not group or value(engine, "group_lock_timeout") == "1222"


def _pause(world: World, session: Session) -> None:
    world.progress.paused |= {session.id}


def _has_a_limit(world: World, session: Session) -> bool:
    return ("wait", session) in world.instance.engine.timers.entries


def _reconnect(world: World, session: Session) -> None:
    world.reconnect(session)
    world.client_progress()


def _time_limit(world: World, session: Session) -> None:
    world.fire(("wait", session))


def _victim(world: World, session: Session) -> None:
    world.instance.engine.locks.victim(session)


def _may_need_room(world: World, session: Session) -> bool:
    if session.wait is not None or session.pending is not None:
        return False
    return _is_local(session) or disk_full(session) is not None


def _is_local(session: Session) -> bool:
    """Whether it comes to a statement that touches its own variables only: another may be behind it."""
    frame = session.frames[-1]
    return not others_matter(session, frame.program.infos[frame.pc])


def _answer_lost(world: World, session: Session) -> bool:
    """Its next step is taken; only then is known whether that is the last of its batch."""
    world.go_on(session)
    done = world.sinks[world.clients.index(session)].finished
    if done:
        world.reconnect(session, answered=True)
    world.client_progress()
    return done


def _disk_full(world: World, session: Session) -> bool:
    machine, left = world.instance.machine, 1000
    while left and session.frames and session.wait is None and _is_local(session):
        machine.run(session, 1)
        left -= 1
    if not session.frames or session.wait is not None:
        world.client_progress()
        return False
    world.journal.save(session)
    session.pending = disk_full(session)
    if session.pending is None:
        return False
    if session.transaction is not None and session.lock_mark >= 0:  # it has not begun
        session.lock_mark = len(session.transaction.locks)
    return True


def _looks(world: World) -> list[tuple[str, Any]]:  # Any: what a kind of timer goes by
    """What the queue monitors will do by and by, the first to come first."""
    entries = world.instance.engine.timers.entries
    found = [(due, repr(key), key) for key, due in entries.items() if key[0] in OWN_TIMERS]
    return [key for _, _, key in sorted(found)]


def _monitor_looks(world: World) -> None:
    world.fire(_looks(world)[0])


def _restart(world: World) -> None:
    """A failover is the same to those who are connected: what was committed is there."""
    instance = world.instance
    brokers = [database.broker for database in instance.server.databases.values()]
    queues = [queue for broker in brokers for queue in broker.queues()]
    starting = [broker.activate for broker in brokers]
    for queue in queues:
        queue.reset_poison()
    for broker in brokers:
        broker.activate = lambda queue: None  # nobody is started while it goes down
    for _, session in sorted(instance.sessions.items()):
        if session.background:
            session.killed()
        else:
            world.reconnect(session)
    world.progress.paused = frozenset()
    for broker, activate in zip(brokers, starting, strict=True):
        broker.activate = activate
    for queue in queues:
        queue.restarted()
    world.client_progress()


def _set_clock(seconds: float) -> Callable[[World], None]:
    """What waits, waits as long as before: a wait is measured in ticks. Timers of dialogs and what is
    stored are moments."""

    def strike(world: World) -> None:
        world.moment.jump(seconds)
        timers = world.instance.engine.timers
        for (kind, key), due in list(timers.entries.items()):
            if kind in TICKING:
                timers.set(None, kind, key, due + seconds)
        for session in world.instance.sessions.values():
            world.journal.save(session)
            if session.deadline is not None:
                session.deadline += seconds
            if session.wait is not None:
                session.wait = replace(session.wait, since=session.wait.since + seconds)

    return strike


OWN_TIMERS = frozenset({"ssb.monitor", "ssb.retry"})
"""Timers of the instance itself: a queue monitor looks again, a delivery is tried again. They fire
when nobody can run, as time passes only then, and cost no budget."""
TICKING = OWN_TIMERS | {"wait"}
"""Kinds of timer that are measured in ticks."""
HOUR = 3600.0
"""Seconds by which somebody sets the clock."""

OF_THE_SERVER: dict[str, ServerKind] = {
    "restart": ServerKind(
        "the server is restarted, or fails over: every session ends, applications connect again and "
        "get the same @@SPID, queues start their readers anew",
        "the server is restarted",
        _restart,
    ),
    "clock_ahead": ServerKind(
        "somebody sets the server's clock an hour ahead",
        "the server's clock is set an hour ahead",
        _set_clock(HOUR),
    ),
    "clock_back": ServerKind(
        "somebody sets the server's clock back by an hour",
        "the server's clock is set back by an hour",
        _set_clock(-HOUR),
    ),
    "monitor_looks": ServerKind(
        "the queue monitor that is due next looks, or a delivery is tried again, while sessions that can "
        "run do not get on",
        "a queue monitor looks, or a delivery is tried again",
        _monitor_looks,
        lambda world: bool(_looks(world)),
    ),
}
"""Faults that strike the server."""

MEET_EVERYTHING = frozenset({"time_limit", *OF_THE_SERVER})
"""Kinds which meet everybody, or by which time passes: the order of such a step and any other matters."""


LET_TIME_PASS = (MEET_EVERYTHING - {"restart"}) | {"pause"}
"""Kinds by which time may pass between two statements of one session."""


def known_kinds() -> list[str]:
    """Every kind that needs no sql."""
    return [*KINDS, *OF_THE_SERVER]


KINDS: dict[str, Kind] = {
    "kill": Kind(
        "KILL of a session, at any yield point",
        " is killed",
        lambda world, session: not session.is_system,  # error 6107
        _kill,
    ),
    "cancel": Kind(
        "an application cancels its batch (attention), then runs its own on_cancel",
        ": the client cancels",
        lambda world, session: not session.background,
        lambda world, session: world.cancel(
            session, world.scenario.clients[world.clients.index(session)].on_cancel
        ),
    ),
    "rollback": Kind(
        "an application cancels its batch and rolls its transaction back",
        ": the client cancels and rolls back",
        lambda world, session: not session.background,
        lambda world, session: world.cancel(session, ROLLBACK),
    ),
    "lock_timeout": Kind(
        "the wait for a lock ends with 1222, however short it was",
        ": its wait for a lock times out",
        _waits_for_a_lock,
        lambda world, session: session.time_out(),
    ),
    "reader_restart": Kind(
        "an activated reader dies; the queue's monitor may start another",
        " dies",
        lambda world, session: session.background and not session.is_system,
        _kill,
    ),
    "pause": Kind(
        "an application's thread stands still until nobody else can go on, time limits "
        "of others run out meanwhile",
        " stands still",
        lambda world, session: (
            not session.background
            and session.wait is None
            and session.id not in world.progress.paused
        ),
        _pause,
    ),
    "time_limit": Kind(
        "the time limit of a wait (LOCK_TIMEOUT, WAITFOR) ends while sessions that can run do not get on",
        ": its wait times out",
        _has_a_limit,
        _time_limit,
    ),
    "reconnect": Kind(
        "an application's connection breaks: its transaction is rolled back, it connects again, gets the "
        "same @@SPID and goes on with its next batch",
        ": its connection breaks, and is made again",
        lambda world, session: not session.background,
        _reconnect,
    ),
    "answer_lost": Kind(
        "an application's connection breaks when all of its batch is done and before it hears of that: it "
        "takes for failed what is committed; an open transaction is rolled back; it connects again",
        ": its batch is done, its connection breaks before the answer",
        lambda world, session: (
            not session.background
            and session.wait is None
            and session.id not in world.progress.paused
        ),
        _answer_lost,
    ),
    "victim": Kind(
        "who waits for a lock is the victim of a deadlock, of strangers perhaps: 1205",
        " is the victim of a deadlock",
        lambda world, session: (
            not session.is_system and session.wait is not None and session.wait.kind == "lock"
        ),
        _victim,
    ),
    "disk_full": Kind(
        "a statement that needs space (INSERT, MERGE, SEND, BEGIN DIALOG, END CONVERSATION) fails with "
        "1105, before it begins or in its middle",
        ": the disk is full",
        _may_need_room,
        _disk_full,
    ),
}
"""Faults that strike a session."""
