"""One partition of a DataFrame becomes messages: all of them or none, and never twice.

In one transaction: usp_BeginPartition asks whether this piece is sent, usp_SendBatch sends, and
usp_EndPartition keeps count and hash, or compares them where it was sent before (F-430). A task
that fails, is killed or runs beside its twin leaves nothing half sent: its transaction is rolled
back with its connection, and its twin waits for the ledger's row.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from redial.quoting import quote_name
from redial.spark.connect import SourceError, close, open_connection, told
from redial.spark.options import WriteOptions
from redial.spark.retrying import again

MODULUS = 1 << 256
KEPT = 16_777_216
"""Bytes of messages that are kept in memory for another attempt."""


@dataclass(frozen=True)
class Message:
    """One row of the DataFrame."""

    type: str
    body: bytes | None
    key: str | None = None
    message_id: str | None = None
    order: int | None = None
    """Of the order column, None without one."""


@dataclass(frozen=True)
class Piece:
    """What the ledger knows a partition by."""

    job: str
    """The same when it is run again."""
    batch: int
    partition: int

    def __str__(self) -> str:
        return f"job {self.job}, batch {self.batch}, partition {self.partition}"


@dataclass(frozen=True)
class Sent:
    """What came of a partition."""

    piece: Piece
    messages: int
    replayed: int
    """Messages an earlier attempt had sent."""


@dataclass
class Content:
    """Count and hash of messages as they pass.

    The hash does not depend on their order where the piece is one transaction: a replay of the same
    rows in another order has nothing to send either. It is the sum of the messages' SHA-256 modulo
    2**256, so it counts repeats; it guards against mistakes, not against somebody who makes them.
    In chunks the order is part of it.
    """

    ordered: bool = False
    count: int = 0
    total: int = 0
    chain: Any = field(default_factory=hashlib.sha256)

    def add(self, message: Message) -> None:
        """Take one message into account."""
        digest = digest_of(message)
        self.count += 1
        self.total = (self.total + int.from_bytes(digest, "big")) % MODULUS
        if self.ordered:
            self.chain.update(digest)

    def hash(self) -> bytes:
        """32 bytes."""
        return self.chain.digest() if self.ordered else self.total.to_bytes(32, "big")


def digest_of(message: Message) -> bytes:
    """SHA-256 over the fields, each with its length, so that no two messages read alike."""
    found = hashlib.sha256()
    parts = (message.type, message.body, message.key, message.message_id)
    for part in parts:
        value = part.encode("utf-16-le") if isinstance(part, str) else part
        found.update(struct.pack(">q", -1 if value is None else len(value)))
        found.update(value or b"")
    return found.digest()


def send_partition(options: WriteOptions, piece: Piece, messages: Iterable[Message]) -> Sent:
    """Send a partition on a connection of its own. Raises SourceError; then nothing of it is sent.

    In chunks (``chunkRows``) what earlier chunks sent stays, and a replay passes over them. A server
    that was lost is tried again: the ledger tells what of an attempt was sent.
    """
    if options.retry_seconds == 0:  # one attempt needs nothing twice
        return _attempt(options, piece, messages)
    with Replay(messages) as rows:
        return again(options, f"sending {piece}", lambda: _attempt(options, piece, rows))


def _attempt(options: WriteOptions, piece: Piece, rows: Iterable[Message]) -> Sent:
    connection = open_connection(options, autocommit=False)
    try:
        return _Sender(options, piece, connection).send(iter(rows))
    finally:
        close(connection)


class Replay:
    """Messages that can be gone through again, though Spark gives them once: what has passed is kept,
    in memory up to KEPT bytes, then in a file without a name."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self.rest = iter(messages)
        self.passed: IO[bytes] = SpooledTemporaryFile(max_size=KEPT)  # noqa: SIM115 - see __exit__
        self.count = 0

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.passed.close()

    def __iter__(self) -> Iterator[Message]:
        """From the first message."""
        self.passed.seek(0)
        for _ in range(self.count):
            yield pickle.load(self.passed)
        for message in self.rest:
            self.passed.seek(0, os.SEEK_END)
            pickle.dump(message, self.passed, pickle.HIGHEST_PROTOCOL)
            self.count += 1
            yield message


class _Sender:
    """One partition on its way: see send_partition."""

    def __init__(self, options: WriteOptions, piece: Piece, connection: Any) -> None:
        self.options = options
        self.piece = piece
        self.connection = connection
        self.schema = quote_name(options.schema_name)
        self.last_order: int | None = None

    def send(self, messages: Iterator[Message]) -> Sent:
        """All of it."""
        try:
            # XACT_ABORT: whatever fails on the server ends the transaction there, should this
            # process not live to say ROLLBACK. LOCK_TIMEOUT: a dead twin must not hold us for ever.
            self._do(f"SET XACT_ABORT ON; SET LOCK_TIMEOUT {self.options.lock_timeout * 1000};")
            if self.options.chunk_rows is None:
                return self._as_one(messages)
            return self._in_chunks(messages, self.options.chunk_rows)
        except SourceError:
            self._rollback()
            raise
        except BaseException as error:  # also of the DataFrame's own making, and a cancelled task
            self._rollback()
            if not type(error).__module__.startswith("pyodbc"):
                raise
            raise self._told(error) from None

    def _as_one(self, messages: Iterator[Message]) -> Sent:
        """The whole partition in one transaction."""
        content = Content()
        already = self._begin(0)
        for batch in self._batches(self._counted(messages, content)):
            if not already:
                self._send(batch)
        self._end(0, content)
        self.connection.commit()
        return Sent(self.piece, content.count, content.count if already else 0)

    def _in_chunks(self, messages: Iterator[Message], rows: int) -> Sent:
        """A transaction per chunk, and an empty chunk last: a replay that is shorter is noticed."""
        count = replayed = chunk = 0
        while True:
            content = Content(ordered=True)
            already = self._begin(chunk)
            part = islice(messages, rows)
            for batch in self._batches(self._counted(part, content)):
                if not already:
                    self._send(batch)
            self._end(chunk, content)
            self.connection.commit()
            count += content.count
            replayed += content.count if already else 0
            if content.count == 0:
                return Sent(self.piece, count, replayed)
            chunk += 1

    def _counted(self, messages: Iterator[Message], content: Content) -> Iterator[Message]:
        for message in messages:
            self._check_order(message)
            content.add(message)
            yield message

    def _check_order(self, message: Message) -> None:
        """The order that was declared must be there: a replay cuts its chunks by it."""
        if self.options.order_column is None:
            return
        if message.order is None or (
            self.last_order is not None and message.order <= self.last_order
        ):
            raise SourceError(
                f"{self.piece}: orderColumn {self.options.order_column} must grow from row to row; "
                f"{message.order} comes after {self.last_order}. Next: sortWithinPartitions("
                f"'{self.options.order_column}') with no value twice, or no chunkRows"
            )
        self.last_order = message.order

    def _batches(self, messages: Iterator[Message]) -> Iterator[list[Message]]:
        """Bounded in rows and bytes: each is one call."""
        batch: list[Message] = []
        size = 0
        for message in messages:
            batch.append(message)
            size += len(message.body or b"")
            if len(batch) >= self.options.batch_rows or size >= self.options.batch_bytes:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _begin(self, chunk: int) -> bool:
        """Whether this piece is sent already; its row in the ledger is ours until the commit."""
        row = self._do(
            f"EXECUTE {self.schema}.[usp_BeginPartition] @jobId = ?, @batchId = ?, "
            "@partitionId = ?, @chunk = ?;",
            self.piece.job,
            self.piece.batch,
            self.piece.partition,
            chunk,
        ).fetchone()
        return bool(row[0])

    def _send(self, batch: list[Message]) -> None:
        options = self.options
        rows = [(n, m.type, m.body, m.key, m.message_id) for n, m in enumerate(batch)]
        self._do(
            f"{{call {self.schema}.[usp_SendBatch](?, ?, ?, ?)}}",
            options.from_service,
            options.to_service,
            options.contract,
            rows,
        ).fetchall()

    def _end(self, chunk: int, content: Content) -> None:
        self._do(
            f"EXECUTE {self.schema}.[usp_EndPartition] @jobId = ?, @batchId = ?, "
            "@partitionId = ?, @chunk = ?, @messageCount = ?, @contentHash = ?;",
            self.piece.job,
            self.piece.batch,
            self.piece.partition,
            chunk,
            content.count,
            content.hash(),
        )

    def _do(self, sql: str, *values: Any) -> Any:
        return self.connection.execute(sql, *values)

    def _rollback(self) -> None:
        with suppress(Exception):  # a connection that is gone has rolled back
            self.connection.rollback()

    def _told(self, error: BaseException) -> SourceError:
        steps = {
            229: "add the login to the configuration's sender role",
            1222: "look who holds the ledger's row or the dialog (sys.dm_tran_locks), or a larger "
            "lockTimeout",
            50101: "write again, or deploy with a larger pool.size",
            50102: "write again after usp_OpenGate",
            50150: "correct the rows, or option messageType, and write again",
        }
        otherwise = (
            "mend what the text names, then run it again (with the same jobId, or the stream's "
            "checkpoint, nothing is sent twice)"
        )
        number = told(error, self.options, "", "").number
        next_step = steps.get(number or 0, otherwise)
        return told(error, self.options, f"{self.piece} was not sent", next_step)
