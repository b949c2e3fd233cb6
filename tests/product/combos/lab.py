"""A variant deployed on the process's one instance, its callers, and the books they keep.

The instance is put back after every variant, so a deployment finds it empty and only the parsed
texts are kept: many variants share most of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from redial.config import Config
from redial.envelope import caller_bytes as unwrap
from redial.render.quoting import literal, quote_name
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.installed import rendered, split
from tests.key_cases import CASES

DATABASE = "combos"


@cache
def _instance() -> Instance:
    """One per process: what it has parsed serves the next variant too."""
    return Instance(seed=1)


@contextmanager
def empty_instance() -> Iterator[Instance]:
    """The instance with an empty database; afterwards it is as if nothing had happened."""
    instance = _instance()
    moment = instance.snapshot()
    session = instance.connect()
    session.execute(f"CREATE DATABASE {DATABASE};").ok()
    session.close()
    try:
        yield instance
    finally:
        moment.restore()
        moment.release()


class Lab:
    """One installation and its database. ``acknowledged``: (key, body) of every send that was
    answered with success and, in a transaction, committed."""

    def __init__(self, instance: Instance, config: Config) -> None:
        self.instance, self.config = instance, config
        self.files = rendered(config)
        self.sa = instance.connect(DATABASE)
        self.acknowledged: list[tuple[str | None, bytes | None]] = []
        self.repeats = 0
        self._number = 1000

    # ------------------------------------------------------------------ doing
    def run(self, sql: str) -> Collector:
        """A batch of the administrator's; its first error is raised."""
        return self.sa.execute(sql).ok()

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the administrator's query."""
        return self.run(sql).rows()

    def own(self, name: str) -> str:
        """A name of the configuration's schema."""
        return f"{quote_name(self.config.schema_name)}.{quote_name(name)}"

    def script(self, text: str) -> None:
        """A script with GO lines; virtual time passes where a batch waits."""
        session = self.instance.connect(DATABASE)
        for batch in split(text):
            out = session.execute(batch.sql)
            for _ in range(600):
                if out.finished:
                    break
                self.instance.advance(1)
            assert out.finished, f"waits: {batch.sql}"
            error = out.error()
            if error is not None:
                text = f"Msg {error.number}, {error.procedure or 'line'} {error.line}: {error.text}"
                raise AssertionError(f"{text}\n{batch.sql[:400]}")
        session.close()

    def deploy(self) -> None:
        """Run every part of the installation."""
        with unprobed(self.instance.server):
            for name, text in self.files.items():
                if name[:2].isdigit():
                    self.script(text)

    def has(self, name: str) -> bool:
        """Whether the installation has a table or procedure of that name."""
        return self.rows(f"SELECT OBJECT_ID({literal(self.own(name))});") != [(None,)]

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.instance.advance(seconds)

    def queue(self, side: str, clause: str) -> None:
        """ALTER QUEUE of one side."""
        self.run(f"ALTER QUEUE {self.own(getattr(self.config.queues, side))} WITH {clause};")
        self.instance.run()

    def body(self) -> bytes:
        """Bytes nobody has sent before: digits, for poison is letters."""
        self._number += 1
        return b"%d" % self._number

    def caller(self, key: str = "A") -> Caller:
        """A session of an application; ``key`` is what it passes where the caller gives the key."""
        return Caller(self, key)

    # ------------------------------------------------------------------ looking
    @property
    def event(self) -> str:
        """The message type callers send."""
        return self.config.message_types[0].name

    def handles(self, is_initiator: int) -> list[str]:
        """Handles of one side's open endpoints."""
        return [
            row[0]
            for row in self.rows(
                "SELECT conversation_handle FROM sys.conversation_endpoints WHERE state <> 'CD' "
                f"AND is_initiator = {is_initiator} ORDER BY send_sequence DESC;"
            )
        ]

    def states(self) -> Counter:
        """How many endpoints are in which state: (state, is_initiator)."""
        return Counter(self.rows("SELECT state, is_initiator FROM sys.conversation_endpoints;"))

    def landed(self) -> list[dict[str, Any]]:
        """The user messages that landed, in landing order."""
        (found,) = self.run(
            f"SELECT * FROM {self.own('Landing')} WHERE MessageType = {literal(self.event)} "
            "ORDER BY RowVersion;"
        ).result_sets
        return found.dicts()

    def dead(self) -> list[tuple[bytes | None, int | None, str]]:
        """(body, code, side) of the dead-lettered user messages."""
        return [
            (unwrap(body), code, side)
            for body, code, side in self.rows(
                f"SELECT Body, Code, Side FROM {self.own('DeadLetter')} "
                f"WHERE MessageType = {literal(self.event)} ORDER BY DeadLetterId;"
            )
        ]

    def pending(self) -> list[bytes | None]:
        """Bodies on their way: in the transmission queue or unread in the target's."""
        kind = f"WHERE message_type_name = {literal(self.event)}"
        found = self.rows(f"SELECT message_body FROM sys.transmission_queue {kind};")
        if self.has(self.config.queues.target):
            found += self.rows(
                "SELECT message_body FROM "
                f"{self.own(self.config.queues.target)} WITH (NOLOCK) {kind};"
            )
        return [unwrap(body) for (body,) in found]

    def errors(self) -> list[tuple]:
        """The configuration's error log."""
        return self.rows(
            "SELECT ProcedureName, ErrorNumber, ErrorMessage FROM "
            f"{self.own('ErrorLog')} ORDER BY ErrorLogId;"
        )

    def queues_off(self) -> int:
        """How many queues have been switched off."""
        return self.rows(
            "SELECT COUNT(*) FROM sys.service_queues WHERE is_ms_shipped = 0 "
            "AND (is_receive_enabled = 0 OR is_enqueue_enabled = 0);"
        )[0][0]

    # ------------------------------------------------------------------ what must hold
    def balance(self) -> dict[bytes | None, int]:
        """Bodies acknowledged and nowhere (positive), or there too often (negative)."""
        found = Counter(unwrap(row["Body"]) for row in self.landed())
        found.update(body for body, _, _ in self.dead())
        found.update(self.pending())
        sent = Counter(body for _, body in self.acknowledged)
        return {b: sent[b] - found[b] for b in sent | found if sent[b] != found[b]}

    def check(self) -> None:
        """Accounting, order and stamps, at any moment."""
        assert self.balance() == {}, self.errors()
        landed = self.landed()
        last: dict[str, int] = {}
        for row in landed:
            handle, sequence = row["ConversationHandle"], row["MessageSequence"]
            assert sequence > last.get(handle, -1), f"out of order in {handle}"
            last[handle] = sequence
        if self.config.conversation.order.value == "key":
            self._check_key_order(landed)
        if self.config.conversation.delivery.value == "exactly_once":
            ids = [row["MessageId"] for row in landed]
            assert None not in ids and len(set(ids)) == len(ids)

    def _check_key_order(self, landed: list[dict[str, Any]]) -> None:
        """Numbers of a key are those of its acknowledged sends, in their order, without a gap."""
        everything = [
            (row["ConversationKey"], row["KeySequence"], unwrap(row["Body"])) for row in landed
        ]
        assert all(number for _, number, _ in everything)
        if self.pending() or self.dead():
            return
        for key in {key for key, _, _ in everything}:
            found = sorted((n, body) for k, n, body in everything if k == key)
            assert [n for n, _ in found] == list(range(1, len(found) + 1)), key
            sent = [body for k, body in self.acknowledged if k == key]
            assert [body for _, body in found] == sent, key

    def rest(self, seconds: float = 120, dead: int = 0) -> None:
        """Let all come to rest; then everything has landed but ``dead`` messages."""
        self.advance(seconds)
        self.check()
        assert self.pending() == []
        assert len(self.dead()) == dead
        assert self.queues_off() == 0
        self.idle()

    def idle(self) -> None:
        """No lock is held and no transaction open, but by readers that wait for a message."""
        waiting = {s.id for s in self.instance.sessions.values() if s.background}
        assert all(
            s.transaction is None for s in self.instance.sessions.values() if s.id not in waiting
        )
        assert not [
            name
            for name in self.instance.engine.locks.resources
            if "SessionConversations" in str(name)
        ]


class Caller:
    """One session of an application, and what it was told."""

    def __init__(self, lab: Lab, key: str) -> None:
        self.lab, self.key = lab, key
        self.session = lab.instance.connect(DATABASE)
        self._open: list[tuple[str | None, bytes | None]] | None = None
        self.order_key = self._stored() if lab.config.traits.row_of_one_key else None
        """What the installation stores as this caller's key."""

    def _stored(self) -> str:
        stored = CASES[self.lab.config.conversation.key].stored
        out = self.run(f"DECLARE @key nvarchar(200) = {literal(self.key)}; SELECT {stored};")
        return str(out.result_sets[-1].rows[0][0])

    def call(self, body: bytes | None, message_id: str | None = None) -> str:
        """T-SQL that sends one message."""
        config = self.lab.config
        arguments = {
            "fromService": literal(config.services.initiator),
            "toService": literal(config.services.target),
            "onContract": literal(config.contract.name),
            "messageType": literal(self.lab.event),
            "messageBody": "NULL" if body is None else "0x" + body.hex(),
        }
        if config.traits.named:
            arguments["key"] = literal(self.key)
        if message_id:
            arguments["messageId"] = f"'{message_id}'"
        listed = ", ".join(f"@{name} = {value}" for name, value in arguments.items())
        return f"EXECUTE {self.lab.own('usp_Send')} {listed};"

    def run(self, sql: str) -> Collector:
        """Any batch of this session; its first error is raised."""
        return self.session.execute(sql).ok()

    def send(self, *bodies: bytes | None, count: int = 0) -> None:
        """Send these bodies, or ``count`` fresh ones; each must be acknowledged."""
        for body in bodies or [self.lab.body() for _ in range(count or 1)]:
            out = self.session.execute(self.call(body))
            assert out.finished, "the caller waits"
            out.ok()
            self.acknowledge(body)

    def acknowledge(self, body: bytes | None) -> None:
        """Write a success down, at once or with the transaction."""
        books = self.lab.acknowledged if self._open is None else self._open
        books.append((self.order_key, body))

    def begin(self) -> None:
        """BEGIN TRANSACTION."""
        self.run("BEGIN TRANSACTION;")
        self._open = []

    def commit(self) -> None:
        """COMMIT: now its messages count."""
        self.run("COMMIT TRANSACTION;")
        self.lab.acknowledged += self._open or []
        self._open = None

    def rollback(self) -> None:
        """ROLLBACK: nothing was sent."""
        self.run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
        self._open = None

    def submit(self, sql: str) -> bool:
        """Start a batch and run what can run; whether it is finished."""
        self.session.sink.clear()
        self.session.submit(Batch(sql))
        self.lab.instance.run()
        return self.session.sink.finished

    def cancel(self) -> None:
        """What a driver does at a time-out."""
        self.session.attention()
        self.lab.instance.run()
