"""Fake sessions over a real engine: what ``exec`` does for ssb, and no more."""

from __future__ import annotations

from types import SimpleNamespace

from redial_broker.engine.errors import SqlError, Wait
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.inside import ATOMIC
from redial_broker.engine.kernel import Engine
from redial_broker.engine.transactions import Transaction
from redial_broker.ssb import Activation, Broker, Queue, ddl, error_body, names, options, verbs
from redial_broker.ssb import receive as receiving

NONE, EMPTY, XML = names.NONE, names.EMPTY, names.XML


class Blocked(Exception):
    """The statement has to wait; ``Session.again`` runs it once more."""


class Session:
    """A session: each statement is a transaction of its own unless ``begin`` was called."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.engine, self.id = world, world.engine, number
        self.lock_timeout, self.deadlock_priority = -1, 0
        self.acted, self.asked = ATOMIC, None
        self.wait = None
        self.expired = False
        self.background = False
        self.awake = False
        self.error: SqlError | None = None
        self.transaction: Transaction | None = None
        self.explicit = False
        self.guids = 0
        self.statement = None

    # ------------------------------------------------------------------ asked by engine and ssb
    def work(self) -> Transaction:
        if self.transaction is None:
            self.transaction = Transaction(self, self.id)
        return self.transaction

    def new_guid(self) -> str:
        self.guids += 1
        return stream_guid(0, f"s{self.id}", self.guids)

    def begin_wait(self, record) -> None:
        self.wait = record

    def end_wait(self) -> None:
        self.wait = None

    def wake(self) -> None:
        self.awake = True

    def interrupt(self, error: SqlError) -> None:
        self.error = error
        self.awake = True

    def wait_for(self, kind: str, what, timeout_ms: int) -> None:
        self.wait = SimpleNamespace(kind=kind, what=what)
        raise Wait

    # ------------------------------------------------------------------ transactions
    def begin(self) -> Session:
        self.work()
        self.explicit = True
        return self

    def commit(self) -> None:
        transaction, self.transaction, self.explicit = self.transaction, None, False
        self.engine.transactions.commit(transaction)

    def rollback(self) -> None:
        transaction, self.transaction, self.explicit = self.transaction, None, False
        self.engine.transactions.rollback(transaction)

    def save(self, name: str = "p") -> None:
        self.engine.transactions.save(self.transaction, name)

    def rollback_to(self, name: str = "p") -> None:
        assert self.engine.transactions.rollback_to(self.transaction, name)

    def run(self, statement, *args, **kwargs):
        """Run one statement as the machine does: undo on Wait and on errors, autocommit."""
        self.statement = (statement, args, kwargs)
        self.awake = False
        transaction = self.work()
        mark = len(transaction.undo)
        try:
            if self.error is not None:
                error, self.error = self.error, None
                raise error
            result = statement(*args, **kwargs)
        except Wait:
            self.engine.journal.undo(transaction, mark)
            raise Blocked from None
        except SqlError:
            self.engine.journal.undo(transaction, mark)
            if not self.explicit:
                self.rollback()
            raise
        self.engine.locks.release_short(transaction)
        if not self.explicit:
            self.commit()
        return result

    def again(self):
        """Run the statement that had to wait once more; it must have been woken."""
        assert self.awake and self.wait is None, "still waiting"
        statement, args, kwargs = self.statement
        return self.run(statement, *args, **kwargs)

    # ------------------------------------------------------------------ verbs
    def dialog(self, from_service="I", to_service="T", **options_) -> str:
        options_.setdefault("contract", "C")
        return self.run(
            verbs.begin_dialog, self.world.broker, self, from_service, to_service, **options_
        )

    def send(self, handle, body: bytes | None = b"x", type_name="M") -> None:
        self.run(verbs.send, self.world.broker, self, handle, type_name, body)

    def send_many(self, handles, body: bytes | None = b"x", type_name="M") -> None:
        self.run(verbs.send_many, self.world.broker, self, handles, type_name, body)

    def end(self, handle) -> None:
        self.run(verbs.end_conversation, self.world.broker, self, handle)

    def end_error(self, handle, code=50001, text="no good") -> None:
        self.run(verbs.end_with_error, self.world.broker, self, handle, code, text)

    def cleanup(self, handle) -> None:
        self.run(verbs.end_with_cleanup, self.world.broker, self, handle)

    def timer(self, handle, seconds) -> None:
        self.run(verbs.begin_timer, self.world.broker, self, handle, seconds)

    def move(self, handle, group) -> None:
        self.run(verbs.move_conversation, self.world.broker, self, handle, group)

    def take(self, queue="TQ", top=None, **where):
        """RECEIVE: [(handle, type name, sequence, body)]."""
        return self.run(self._receive, queue, top, where)

    def wait_take(self, queue="TQ", top=None, timeout=-1, **where):
        """WAITFOR (RECEIVE ...), TIMEOUT."""
        return self.run(self._receive, queue, top, where, timeout)

    def _receive(self, queue, top, where, timeout=0):
        queue = self.world.queues[queue]
        named = bool(where)
        if "handle" in where:
            where["by_handle"] = True
        if "group_id" in where:
            where["by_group"] = True
        taken = receiving.receive(queue, self, top, **where)
        receiving.received(queue, self, taken, named)
        if not taken:
            receiving.wait_for_message(queue, self, timeout, named)
        return [(e.handle, m[2].name, m[1], m[3]) for e, m in taken]

    def bodies(self, queue="TQ", **where):
        """Bodies of one RECEIVE of everything."""
        return [row[3] for row in self.take(queue, **where)]

    def get_group(self, queue="TQ"):
        return self.run(receiving.get_group, self.world.queues[queue], self)

    def ddl(self, function, *args, **kwargs):
        return self.run(lambda: function(self.world.broker, self.work(), *args, **kwargs))


class World:
    """Engine, database, broker, and the objects most tests need."""

    def __init__(self, **switches) -> None:
        self.engine = Engine(0, None, switches)
        self.server = SimpleNamespace(databases={})
        self.sessions = 0
        self.database = self.new_database("sales")
        self.broker: Broker = self.database.broker
        self.queues: dict[str, Queue] = {}
        self.activated: list[str] = []
        self.broker.activate = lambda queue: self.activated.append(queue.name)
        self.objects(self.broker)
        self.s = self.session()

    def new_database(self, name: str):
        number = len(self.server.databases) + 5
        database = SimpleNamespace(id=number, name=name, server=self.server, objects={})
        self.server.databases[name] = database
        database.broker = Broker(self.engine, database)
        return database

    def objects(self, broker: Broker) -> None:
        """Message types M, E, X; contract C (any side), D (M by initiator only); services."""
        setup = Session(self, 999)
        t = setup.work()
        ddl.create_message_type(broker, t, "M")
        ddl.create_message_type(broker, t, "E", EMPTY)
        ddl.create_message_type(broker, t, "X", XML)
        ddl.create_contract(broker, t, "C", [(n, names.BY_ANY) for n in "MEX"])
        ddl.create_contract(broker, t, "D", [("M", names.BY_INITIATOR), ("E", names.BY_TARGET)])
        for service, queue in (("I", "IQ"), ("T", "TQ")):
            self.queues[queue] = self.new_queue(broker, queue)
            ddl.create_service(broker, t, service, self.queues[queue], ["C", "D"])
        setup.commit()

    def new_queue(self, broker: Broker, name: str) -> Queue:
        queue = Queue(broker, "dbo", name, 100 + len(broker.database.objects))
        broker.database.objects["dbo", name.lower()] = queue
        return queue

    def session(self) -> Session:
        self.sessions += 1
        return Session(self, 50 + self.sessions)

    def set_queue(self, name: str, **values) -> None:
        """ALTER QUEUE in a transaction of its own."""
        queue, s = self.queues[name], self.session()
        t = s.work()
        for field, value in values.items():
            self.engine.journal.assign(t, queue, field, value)
        ddl.queue_changed(queue, t)
        s.commit()

    def activation(self, queue="TQ", readers=1) -> None:
        self.set_queue(queue, activation=Activation("dbo.p", readers))

    def advance(self, seconds: float) -> None:
        """Move the clock, firing what is due in order."""
        end = self.engine.clock.now() + seconds
        while (due := self.engine.timers.next_due()) is not None and due <= end:
            self.engine.clock.advance(max(0.0, due - self.engine.clock.now()))
            for kind, key in self.engine.timers.pop_due(self.engine.clock.now()):
                self.broker.timer_due(kind, key)
        self.engine.clock.advance(end - self.engine.clock.now())

    # ------------------------------------------------------------------ looking
    def state(self, handle: str) -> str | None:
        """State of an endpoint, None when its row is gone."""
        endpoint = self.broker.endpoints.get(handle)
        return endpoint.state() if endpoint else None

    def target(self, handle: str) -> str:
        """Handle of the target's side of a dialog."""
        return stream_guid(0, f"target/{handle}", 0)

    def states(self, handle: str) -> tuple[str | None, str | None]:
        """(initiator's state, target's state)."""
        return self.state(handle), self.state(self.target(handle))

    def pending(self, handle: str) -> list:
        """Bodies in the transmission queue, in order."""
        return [row[2] for _, row in sorted(self.broker.endpoints[handle].pending.items())]

    def status(self, handle: str) -> str:
        return verbs.transmission_status(self.broker, handle)


def error_code(row: tuple) -> int:
    """Code of a received Error row."""
    assert row[1] == names.ERROR, row
    return error_body.decode(row[3])[0]


__all__ = ["EMPTY", "NONE", "XML", "Blocked", "Session", "World", "ddl", "error_code", "options"]
