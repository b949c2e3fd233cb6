"""``df.write`` and ``df.writeStream`` with ``format("servicebroker")``: rows become messages.

A task sends its partition in one transaction (redial.spark.sending). commit() and abort() have
nothing left to do: what a task sent is sent, whatever becomes of the others.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter, WriterCommitMessage

from redial.spark.connect import SourceError
from redial.spark.options import BatchWriteOptions, OptionsError, WriteOptions
from redial.spark.properties import BATCH_PROPERTY, QUERY_PROPERTY
from redial.spark.sending import Message, Piece, Sent, send_partition

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.types import StructType

COLUMNS: dict[str, tuple[str, ...]] = {
    "body": ("binary",),
    "type": ("string",),
    "key": ("string",),
    "message_id": ("string",),
}
"""What a DataFrame may have; body alone is required. Any further column is refused."""
WHOLE = ("tinyint", "smallint", "int", "bigint")


@dataclass
class PartitionSent(WriterCommitMessage):
    """What a task tells the driver."""

    sent: Sent


def checked(schema: StructType, options: WriteOptions, overwrite: bool) -> list[str]:
    """Names of the DataFrame's columns, in order. Raises OptionsError with all that is wrong."""
    kinds = {field.name: field.dataType.simpleString() for field in schema}
    allowed = dict(COLUMNS)
    if options.order_column is not None:
        allowed[options.order_column] = WHOLE
    problems = []
    if overwrite:
        problems.append("mode: messages that are sent cannot be replaced; allowed: append")
    if "body" not in kinds:
        problems.append(
            "column body: must be there; allowed: binary (encode(to_json(...), 'UTF-8'))"
        )
    if "type" not in kinds and options.message_type is None:
        problems.append("messageType: must be given; allowed: a message type, or a column type")
    if options.order_column is not None and options.order_column not in kinds:
        problems.append(f"orderColumn: there is no column {options.order_column}")
    for name, kind in kinds.items():
        if name not in allowed:
            problems.append(f"column {name}: is none of ours; allowed: {', '.join(allowed)}")
        elif kind not in allowed[name]:
            problems.append(f"column {name}: is {kind}; allowed: {', '.join(allowed[name])}")
    if problems:
        raise OptionsError(problems)
    return list(kinds)


def converter(columns: list[str], options: WriteOptions) -> Callable[[Row], Message]:
    """A row of the DataFrame as a message."""
    place = {name: n for n, name in enumerate(columns)}
    body, kind, key, message_id = (place.get(n) for n in ("body", "type", "key", "message_id"))
    order = place.get(options.order_column) if options.order_column else None

    def value(row: Row, at: int | None) -> Any:
        return None if at is None else row[at]

    def convert(row: Row) -> Message:
        raw = value(row, body)
        given = value(row, message_id)
        return Message(
            value(row, kind) or options.message_type or "",
            None if raw is None else bytes(raw),
            value(row, key),
            None if given is None else _uuid(given),
            value(row, order),
        )

    return convert


def _uuid(text: str) -> str:
    """A message id as the server writes it. Raises SourceError."""
    try:
        return str(uuid.UUID(text)).upper()
    except ValueError:
        raise SourceError(
            f"message_id {text!r} is no uuid. Next: uuid() of Spark is not the same in a replay; "
            "derive it from the row"
        ) from None


class BatchWriter(DataSourceWriter):
    """One job. Without ``jobId`` it has a name of its own: its tasks may be retried, and running it
    again sends everything again (at least once)."""

    def __init__(self, options: BatchWriteOptions, columns: list[str]) -> None:
        self.options = options
        self.columns = columns
        self.job = options.job_id or f"once {uuid.uuid4()}"

    def write(self, iterator: Iterator[Row]) -> PartitionSent:
        """In a task: its partition."""
        partition = _context().partitionId()
        rows = map(converter(self.columns, self.options), iterator)
        return PartitionSent(send_partition(self.options, Piece(self.job, 0, partition), rows))


class StreamWriter(DataSourceStreamWriter):
    """A sink: the query's id and the number of its batch name what is sent."""

    def __init__(self, options: WriteOptions, columns: list[str]) -> None:
        self.options = options
        self.columns = columns

    def write(self, iterator: Iterator[Row]) -> PartitionSent:
        """In a task: its partition of a micro-batch."""
        context = _context()  # write() itself is told neither query nor batch
        query = context.getLocalProperty(QUERY_PROPERTY)
        batch = context.getLocalProperty(BATCH_PROPERTY)
        if query is None or batch is None:
            raise SourceError(
                f"Spark gave the task no {QUERY_PROPERTY} and {BATCH_PROPERTY}, without which a "
                "replay cannot be told. Next: foreachBatch with df.write and option jobId"
            )
        piece = Piece(f"stream {query}", int(batch), context.partitionId())
        rows = map(converter(self.columns, self.options), iterator)
        return PartitionSent(send_partition(self.options, piece, rows))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing left to do: each task has committed its own."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to take back: the batch is run again, and what was sent is passed over."""


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise SourceError("a partition is sent in a Spark task only. Next: df.write")
    return context
