"""A queue: its options, which conversations have something to receive, who waits for that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sortedcontainers import SortedDict

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.owners import OWNER
from redial_broker.engine.state import SAME, definition, journaled, made, plain, state
from redial_broker.ssb import columns
from redial_broker.ssb.inbox import owner_of
from redial_broker.ssb.monitor import QueueMonitor
from redial_broker.ssb.names import SYSTEM_TABLES
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.needs import LockKey, Ordered, RowValues
    from redial_broker.engine.transactions import Transaction
    from redial_broker.engine.types import ResultColumn
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.definitions import MessageType
    from redial_broker.ssb.inbox import Inbox
    from redial_broker.ssb.needs import BrokerHome, Caller, HeldRow, ReadyKey

POISON_LIMIT = 5
"""Consecutive rollbacks that disable a queue (removing-poison-messages page)."""


@definition()
@dataclass(frozen=True, slots=True)
class Activation:
    """ACTIVATION of a queue."""

    procedure: str
    """Its name as T-SQL."""
    max_readers: int
    execute_as: int | None = OWNER
    """Principal id or OWNER."""
    enabled: bool = True


@lru_cache(maxsize=256)
def _activated(activation: Activation | None) -> Any:
    return plain(activation)


def _held(held: dict[int, HeldRow]) -> Any:
    if not held:
        return None
    return [_held_row(row) for _, row in sorted(held.items())]


def _held_row(row: HeldRow) -> tuple[Any, ...]:
    return row[0].endpoint.handle, row[1], row[2], row[3].name, row[4], owner_of(row[5])


def _held_entry(queue: Queue, order: int, row: HeldRow, counted: frozenset[str]) -> Any:
    return row is not MISSING and _held_row(row)


def _waiting(queue: Queue) -> Any:
    """Who waits, and whether for a conversation or group it named."""
    if not queue.waiters:
        return None
    return sorted([(session.id, queue.waiters[session.id][1]) for session in queue.waiting()])


def _sorted(mapping: dict[Any, int]) -> Any:
    return sorted(mapping.items(), key=repr) if mapping else None


def _arrived(queue: Queue) -> Any:
    """The order of conversations, where the oldest message is received first."""
    if not queue.oldest_first:
        return None
    return [inbox.endpoint.handle for inbox in queue.ready.values() if inbox.oldest() is not None]


class Queue(Part):
    """A queue, an object of its schema.

    ready: (order key) -> inbox that may hold something to receive; it may list too many, never too
    few, and is not undone: readers drop what turns out to be empty. held: system rows that could
    not be put in while the queue was off. internal_id: object id of the internal table. waiters:
    session id -> (session, it named a conversation or group). poison: rollbacks in a row, by key.
    going_off: a task waits to switch it off (F-485). started: tasks launched so far. watched: event
    notifications for QUEUE_ACTIVATION.
    """

    __slots__ = (
        "activation",
        "broker",
        "enabled",
        "going_off",
        "held",
        "internal_id",
        "kind",
        "lock_key",
        "monitor",
        "name",
        "next_order",
        "object_id",
        "oldest_first",
        "parent_id",
        "poison",
        "poison_handling",
        "ready",
        "retention",
        "schema",
        "started",
        "waiters",
        "watched",
    )
    STATE = state(
        made("schema", "name", "object_id"),
        journaled("enabled", "going_off", "retention", "poison_handling", "watched"),
        journaled("activation", show=_activated),
        journaled("held", show=_held, entry=_held_entry),
        journaled("waiters", of=_waiting),
        journaled("poison", show=_sorted),
        journaled("ready", of=_arrived),
        journaled("next_order", when="order"),
        journaled("started", hidden="names the ids of the tasks to come"),
        made("oldest_first", hidden="a switch, which no statement changes"),
        made("monitor", hidden="a part of its own"),
        made("internal_id", "kind", "parent_id", "lock_key", hidden="follows from the id"),
        made("broker", hidden=SAME),
        journal="broker.engine.journal",
    )

    def __init__(self, broker: Broker, schema: str, name: str, object_id: int) -> None:
        super().__init__()
        self.broker = broker
        self.internal_id = SYSTEM_TABLES.get(object_id, 0)
        self.schema = schema
        self.name = name
        self.object_id = object_id
        self.kind = "QUEUE"
        self.parent_id = 0
        # Not ("OBJECT", id): what RECEIVE locks is the queue's internal table, another object.
        self.lock_key = ("QUEUE", broker.database.id, object_id)
        self.enabled = True
        self.going_off = False
        self.retention = False
        self.poison_handling = True
        self.activation: Activation | None = None
        self.ready: Ordered[ReadyKey, Inbox] = SortedDict()
        self.held: dict[int, HeldRow] = {}
        self.waiters: dict[int, tuple[Caller, bool]] = {}
        self.poison: dict[tuple[str, int] | None, int] = {}
        self.next_order = 1
        self.started = 0
        self.watched = 0
        self.oldest_first = value(broker.engine, "receive_order") == "oldest"
        self.monitor = QueueMonitor(self)

    @property
    def database(self) -> BrokerHome:
        """The database the queue is in."""
        return self.broker.database

    @property
    def is_system(self) -> bool:
        """Whether every database is born with it."""
        return self.object_id in SYSTEM_TABLES

    @property
    def full_name(self) -> str:
        """schema.queue, as error texts print it."""
        return f"{self.schema}.{self.name}"

    def __str__(self) -> str:
        """database.schema.queue, stable for the state hash."""
        return f"{self.broker.database.name}.{self.full_name}"

    # ------------------------------------------------------------------ rows
    def put(
        self,
        transaction: Transaction | None,
        inbox: Inbox,
        sequence: int,
        message_type: MessageType,
        body: bytes | None,
    ) -> None:
        """Append a numbered message of a conversation; invisible to others until the commit."""
        engine = self.broker.engine
        journal = engine.journal
        order = self.next_order
        if journal.recording:
            journal.assign(None, self, "next_order", order + 1)
        else:
            self.next_order = order + 1
        if transaction is not None and inbox.writer is not transaction:
            journal.assign(transaction, inbox, "settled", inbox.tail)
            journal.assign(transaction, inbox, "writer", transaction)
            self.broker.note(transaction, ("ssb.enqueued", inbox))
        # By place, not by number: numbers are missing where END has dropped what was pending.
        place = inbox.tail
        journal.put(
            transaction,
            inbox,
            inbox.rows,
            place,
            (order, sequence, message_type, body, engine.clock.now()),
        )
        journal.assign(transaction, inbox, "tail", place + 1)
        self.broker.counters.enqueued(journal, inbox.endpoint.priority)
        if inbox.ready_key is None:
            self.list_ready(inbox, order)
        if transaction is None:
            self.poke()

    def put_special(
        self,
        transaction: Transaction | None,
        inbox: Inbox,
        rank: int,
        sequence: int,
        message_type: MessageType,
        body: bytes | None,
    ) -> None:
        """Add a DialogTimer or Error row; while the queue is off it is held until it is on."""
        engine = self.broker.engine
        journal = engine.journal
        order = self.next_order
        journal.assign(None, self, "next_order", order + 1)
        if not self.enabled:
            journal.put(
                transaction,
                self,
                self.held,
                order,
                (inbox, rank, sequence, message_type, body, transaction),
            )
            if transaction is not None:
                self.broker.note(transaction, ("ssb.held", self))
            return
        shown = order if value(engine, "system_queuing_order") == "next" else 0
        message = (shown, sequence, message_type, body, engine.clock.now())
        key = (rank, order)
        journal.put(transaction, inbox, inbox.special, key, (message, transaction))
        self.broker.counters.enqueued(journal, inbox.endpoint.priority)
        if inbox.ready_key is None:
            self.list_ready(inbox, order)
        if transaction is None:
            self.poke()
        else:
            self.broker.note(transaction, ("ssb.special", inbox))

    def release_held(self) -> None:
        """The queue is on again: what was held comes in, in order."""
        for order in sorted(self.held):
            inbox, rank, sequence, message_type, body, writer = self.held[order]
            if writer is not None:
                continue
            self.broker.engine.journal.put(None, self, self.held, order, MISSING)
            if not inbox.endpoint.dead:
                self.put_special(None, inbox, rank, sequence, message_type, body)

    def forget(self, inbox: Inbox, *, but_later: bool = False) -> None:
        """A conversation is over: none of its rows stays, held ones neither.

        but_later: those stay that its END has not found.
        """
        if but_later:
            inbox.clear_to_cut()
            self.relist(inbox)
        else:
            inbox.clear()
            self.unlist(inbox)
        journal = self.broker.engine.journal
        for order in [order for order, row in self.held.items() if row[0] is inbox]:
            journal.put(None, self, self.held, order, MISSING)

    # ------------------------------------------------------------------ ready list
    def list_ready(self, inbox: Inbox, order: int) -> None:
        """Put an inbox on the ready list."""
        endpoint = inbox.endpoint
        if self.oldest_first:
            key = (-endpoint.priority, order, endpoint.handle)
        else:
            key = (-endpoint.priority, endpoint.group.group_id, endpoint.handle)  # type: ignore[assignment]
        journal = self.broker.engine.journal
        if journal.recording:
            journal.put(None, self, self.ready, key, inbox)
            journal.assign(None, inbox, "ready_key", key)
        else:
            self.ready[key] = inbox
            inbox.ready_key = key

    def unlist(self, inbox: Inbox) -> None:
        """Take an inbox off the ready list."""
        key = inbox.ready_key
        if key is None:
            return
        journal = self.broker.engine.journal
        if journal.recording:
            journal.put(None, self, self.ready, key, MISSING)
            journal.assign(None, inbox, "ready_key", None)
        else:
            self.ready.pop(key, None)
            inbox.ready_key = None

    def relist(self, inbox: Inbox) -> None:
        """List an inbox by what is in it now, taken or not, committed or not."""
        order = inbox.oldest()
        if order is None:
            self.unlist(inbox)
        elif inbox.ready_key is None or (self.oldest_first and inbox.ready_key[1] != order):
            self.unlist(inbox)
            self.list_ready(inbox, order)

    def has_receivable(self) -> bool:
        """Whether a committed message waits to be received, its group locked or not."""
        return any(inbox.readable(None) for inbox in self.ready.values())

    # ------------------------------------------------------------------ waiting
    def wait(self, session: Caller, named: bool) -> None:
        """Note a session that waits for a message. named: for one conversation or group only."""
        self.broker.engine.journal.put(None, self, self.waiters, session.id, (session, named))

    def stop_waiting(self, session: Caller) -> None:
        """The session waits no more."""
        if session.id in self.waiters:
            self.broker.engine.journal.put(None, self, self.waiters, session.id, MISSING)

    def waiting(self) -> list[Caller]:
        """Sessions that wait here now (an ended or cancelled wait leaves a stale entry)."""
        return [session for _, (session, _) in self._in_order() if self._waits(session)]

    def waits_for_any(self) -> bool:
        """Whether a session waits in a RECEIVE or GET without WHERE."""
        return any(not named and self._waits(session) for _, (session, named) in self._in_order())

    def _in_order(self) -> list[tuple[int, tuple[Caller, bool]]]:
        """Who waits, by session: who came first counts for no state, and makes no difference."""
        return sorted(self.waiters.items(), key=itemgetter(0))

    def _waits(self, session: Caller) -> bool:
        wait = session.wait
        return wait is not None and wait.kind == "queue" and wait.what is self  # type: ignore[attr-defined]  # no lock

    def wake(self, error: SqlError | None = None) -> None:
        """Let every waiting session look again, or fail with ``error``."""
        if not self.waiters:
            return
        engine = self.broker.engine
        for session in self.waiting():
            engine.timers.cancel(None, "wait", session)
            session.end_wait()
            if error is None:
                session.wake()
            else:
                session.interrupt(error)
        for session_id in list(self.waiters):
            engine.journal.put(None, self, self.waiters, session_id, MISSING)

    def poke(self) -> None:
        """There may be something to receive: waiting sessions look, the monitor acts."""
        monitor = self.monitor  # asked first: a waiting session makes a new reader unnecessary
        if self.activation is not None or self.watched:
            monitor.poke()
        if self.waiters:
            self.wake()

    # ------------------------------------------------------------------ poison
    def rolled_back(self, first: tuple[str, int]) -> bool:
        """A transaction that received here was rolled back; True when the queue is to go off now.

        With POISON_MESSAGE_HANDLING OFF the same may be begun and come to nothing (F-485).
        """
        engine = self.broker.engine
        key = first if value(engine, "poison_counts") == "message" else None
        count = min(self.poison.get(key, 0) + 1, POISON_LIMIT)
        if count < POISON_LIMIT or self.going_off or not self._answers_poison():
            engine.journal.put(None, self, self.poison, key, count)
            return False
        self.reset_poison()
        return True

    def _answers_poison(self) -> bool:
        """Whether anything is done about the fifth rollback in a row."""
        return self.poison_handling or value(self.broker.engine, "poison_task_without_handling")

    def restarted(self) -> None:
        """The server has started again (F-607)."""
        self.reset_poison()
        self.monitor.restarted()

    def reset_poison(self) -> None:
        """A transaction that received here has committed, or the queue was altered."""
        if self.poison:
            for key in list(self.poison):
                self.broker.engine.journal.put(None, self, self.poison, key, MISSING)

    # ------------------------------------------------------------------ queries
    @property
    def select_columns(self) -> list[ResultColumn]:
        """Columns of SELECT .. FROM queue, as ``ResultColumn``."""
        return columns.RESULT_COLUMNS

    @property
    def broker_names(self) -> frozenset[str]:
        """Columns with names of services, contracts and message types."""
        return columns.BROKER_NAMES

    def select_rows(self, session: Caller, nolock: bool) -> list[RowValues]:
        """Rows for SELECT. Without nolock a row that is not committed is waited for (S lock)."""
        engine = self.broker.engine
        transaction = None if nolock else session.work()
        found: list[RowValues] = []
        for endpoint in self._living():
            inbox = endpoint.inbox
            taker = endpoint.group.lock_key
            for status, message, writer in inbox.stored():
                taken = inbox.ended or (
                    status == 0 and message[1] >= inbox.base and not self.retention
                )
                owner = writer or (_holder(engine, taker) if taken else None)
                if transaction is not None and owner is not None and owner is not transaction:
                    engine.locks.wait_for_writer(
                        transaction, owner, ("KEY", self.lock_key, (endpoint.handle, message[0]))
                    )
                if not taken:
                    found.append(columns.full_row(endpoint, message, status))
        return sorted(found, key=_order)

    def stored_rows(self) -> int:
        """Rows of the internal table: retained and uncommitted ones count, held ones do not yet."""
        return sum(sum(1 for _ in endpoint.inbox.stored()) for endpoint in self._living())

    def stored_bytes(self, beside: int) -> int:
        """Bytes of the bodies of those rows, and ``beside`` for each."""
        bodies = (m[3] for endpoint in self._living() for _, m, _ in endpoint.inbox.stored())
        return sum(beside + len(body or b"") for body in bodies)

    def _living(self) -> Iterator[Endpoint]:
        """Endpoints whose rows may be here. Found by group: CLOSED ones, of which there may be
        millions (a dialog per message, seed 001), have left theirs."""
        for group in list(self.broker.groups.values()):
            for endpoint in list(group.members.values()):
                if endpoint.service.queue is self:
                    yield endpoint

    def hash(self) -> bytes:
        """Not cached while it depends on waiting sessions, or on inboxes for the ready order."""
        if not self.waiters and not (self.oldest_first and self.ready):
            return super().hash()
        self.digest = None
        digest = super().hash()
        self.digest = None
        return digest


def _order(row: RowValues) -> Any:
    """Of a row as SELECT shows it: a number, though a row may hold anything."""
    return row[columns.QUEUING_ORDER]


def _holder(engine: Engine, key: LockKey) -> Transaction | None:
    """The transaction that holds a group's lock, None when nobody does."""
    resource = engine.locks.resources.get(key)
    return next(iter(resource.granted), None) if resource else None
