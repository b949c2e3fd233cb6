"""Ranges of the landing table as Arrow batches of one fixed schema.

No read ever RECEIVEs: Spark runs a read as often as it likes (count() and a write read twice, a
retried task again), so it reads ranges of what activation has landed, the same every time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.spark.connect import READER, SourceError, close, explained, open_connection
from redial.spark.marks import landing, present, unreadable
from redial.spark.options import ReadOptions
from redial.spark.ranges import range_condition
from redial.spark.readers import known, refuse_loss
from redial.spark.retrying import again, ask

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("mark", "binary", "RowVersion: where in the table; tells new rows, not their order"),
    ("conversation", "string", "ConversationId, the same on both sides; NULL: not visible"),
    ("handle", "string", "ConversationHandle, the target's own"),
    ("sequence", "bigint", "MessageSequence: the order sent within the conversation, from 0"),
    ("type", "string", "MessageType: also EndOfStream, EndDialog and Error rows"),
    ("key", "string", "ConversationKey, where the configuration stamps one"),
    ("key_seq", "bigint", "KeySequence: the order sent within the key"),
    ("message_id", "string", "MessageId, where delivery is exactly_once"),
    ("sent", "timestamp", "SentUtc, where envelope.who is on"),
    ("landed", "timestamp", "LandedUtc"),
    ("sender_login", "string", "SenderLogin, where envelope.who is on"),
    ("sender_app", "string", "SenderApp"),
    ("sender_host", "string", "SenderHost"),
    ("body_bytes", "bigint", "length of the body, 0 for none"),
    ("body", "binary", "Body, byte for byte; NULL for none"),
)
"""Name, Spark type and meaning of each column, in order."""

SCHEMA = ", ".join(f"`{name}` {kind}" for name, kind, _ in COLUMNS)
"""As Spark takes it. Fixed: bodies are decoded by Spark's own functions."""

SELECT = """
SELECT l.RowVersion, CONVERT(char(36), l.ConversationId), CONVERT(char(36), l.ConversationHandle),
    l.MessageSequence, l.MessageType, l.ConversationKey, l.KeySequence,
    CONVERT(char(36), l.MessageId), l.SentUtc, l.LandedUtc,
    l.SenderLogin, l.SenderApp, l.SenderHost, ISNULL(DATALENGTH(l.Body), 0),
    CASE WHEN DATALENGTH(l.Body) > {longest} THEN NULL ELSE l.Body END
FROM {table} AS l
WHERE {condition}
ORDER BY l.RowVersion;"""

BATCH_ROWS = 4096
BATCH_BYTES = 16_777_216
"""A batch is handed to Spark when it has this many rows, or bytes of bodies."""


@dataclass(frozen=True)
class Range:
    """What one task reads: ``start`` <= RowVersion < ``end``."""

    start: int
    end: int


def select(options: ReadOptions, part: Range) -> str:
    """The statement of one range: a seek of the clustered key, no lock kept, no row written."""
    return SELECT.format(
        table=landing(options),
        condition=range_condition(part.start, part.end, "l.RowVersion"),
        longest=int(options.max_body_bytes),
    )


def look(options: ReadOptions) -> None:
    """Ask the server for what a read asks for, and take nothing: what is wrong is then told before
    Spark starts. Raises SourceError."""

    def once(connection: Any) -> None:
        present(connection, options)
        connection.execute(select(options, Range(0, 0))).fetchall()
        known(connection, options)

    ask(options, f"a first look at {landing(options)}", unreadable(options), once)


def read(options: ReadOptions, part: Range) -> Iterator[pa.RecordBatch]:
    """The rows of one range, each once, whatever becomes of connections meanwhile. Raises
    SourceError, also when a purge took some of them."""
    if part.start >= part.end:
        return
    rest = _Rest(options, part)
    try:
        while (batch := again(options, f"reading {landing(options)}", rest.next)) is not None:
            yield batch
    finally:
        rest.close()


class _Rest:
    """What is still to be read of a range: behind the last row that was handed on."""

    def __init__(self, options: ReadOptions, part: Range) -> None:
        self.options = options
        self.part = part
        self.at = part.start
        self.connection: Any = None
        self.found: Iterator[pa.RecordBatch] | None = None

    def next(self) -> pa.RecordBatch | None:
        """The next batch, over a new connection where there is none; None behind the last row. After
        an error it goes on where it was. Raises SourceError."""
        options = self.options
        try:
            with explained(options, unreadable(options), READER):
                if self.found is None:
                    self.connection = open_connection(options)
                    sql = select(options, Range(self.at, self.part.end))
                    self.found = batches(self.connection.execute(sql), options)
                batch = next(self.found, None)
                if batch is None:
                    refuse_loss(options, self.part.start, known(self.connection, options))
                else:
                    self.at = int.from_bytes(batch.column("mark")[-1].as_py(), "big") + 1
                return batch
        except SourceError:
            self.close()
            raise

    def close(self) -> None:
        """The connection, if there is one; the next look makes another."""
        connection, self.connection, self.found = self.connection, None, None
        if connection is not None:
            close(connection)


def batches(cursor: Any, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The cursor's rows as Arrow batches, bounded in rows and in bytes."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        _refuse_oversized(row, options)
        rows.append(row)
        size += len(row[-1] or b"")
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield to_arrow(rows)
            rows, size = [], 0
    if rows:
        yield to_arrow(rows)


def to_arrow(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows of SELECT with exactly the types Spark asks for (4.2 refuses any other)."""
    import pyarrow as pa

    kinds = {
        "binary": pa.binary(),
        "string": pa.string(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    arrays = []
    for (name, kind, _), values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        if kind == "timestamp":  # datetime2 is without a zone: these are UTC by their names
            naive = pa.array(values, pa.timestamp("us"))
            arrays.append(naive.cast(kinds[kind]))
        elif name in ("mark", "body"):
            arrays.append(pa.array([None if v is None else bytes(v) for v in values], kinds[kind]))
        else:
            arrays.append(pa.array(values, kinds[kind]))
    schema = pa.schema([(name, kinds[kind]) for name, kind, _ in COLUMNS])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _refuse_oversized(row: Any, options: ReadOptions) -> None:
    length = row[-2]
    if length <= options.max_body_bytes or options.oversized_bodies == "null":
        return
    where = uuid.UUID(row[1] or row[2])
    raise SourceError(
        f"message {row[3]} of conversation {where} has a body of {length:,} bytes, above "
        f"maxBodyBytes = {options.max_body_bytes:,}; it was not fetched. Next: a larger "
        "maxBodyBytes, or oversizedBodies = null, which gives body NULL and its body_bytes"
    )
