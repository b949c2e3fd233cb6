"""Ranges of the landing table as Arrow batches of one schema.

No read ever RECEIVEs: Spark runs a read as often as it likes (count() and a write read twice, a
retried task again), so it reads ranges of what activation has landed, the same every time.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.spark.arrow_fetch import LONGEST, fetched_by_arrow
from redial.spark.columns import EXPRESSIONS, IDS, Column, arrow_schema, chosen, fetched
from redial.spark.connect import READER, SourceError, close, explained, open_connection
from redial.spark.marks import landing, present, unreadable
from redial.spark.options import ReadOptions
from redial.spark.ranges import mark_of, range_condition
from redial.spark.readers import known, refuse_loss
from redial.spark.retrying import again, ask
from redial.spark.where import where_condition

if TYPE_CHECKING:
    import pyarrow as pa

SELECT = """
SELECT {columns}
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


def select(options: ReadOptions, part: Range, longest: int | None = None) -> str:
    """The statement of one range: a seek of the clustered key, no lock kept, no row written.

    longest: bytes of a body that leaves the server; None: maxBodyBytes.
    """
    longest = options.max_body_bytes if longest is None else longest
    condition = range_condition(part.start, part.end, "l.RowVersion")
    condition += where_condition(options.where)
    return SELECT.format(
        columns=", ".join(_expression(column.name, longest) for column in fetched(options.columns)),
        table=landing(options),
        condition=condition,
    )


def _expression(name: str, longest: int) -> str:
    if name == "body":  # what is too long does not leave the server
        return f"CASE WHEN DATALENGTH(l.Body) > {longest} THEN NULL ELSE l.Body END"
    return EXPRESSIONS[name]


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
        self.by_arrow = True
        """Whether arrow-odbc may still be tried; what it has left, pyodbc reads."""
        self.connection: Any = None
        self.found: Iterator[tuple[int, pa.RecordBatch]] | None = None

    def next(self) -> pa.RecordBatch | None:
        """The next batch, over a new connection where there is none; None behind the last row. After
        an error it goes on where it was. Raises SourceError."""
        options = self.options
        try:
            with explained(options, unreadable(options), READER):
                if self.found is None:
                    self.found = self._batches()
                last, batch = next(self.found, (None, None))
                if last is None:
                    refuse_loss(options, self.part.start, known(self._connected(), options))
                else:
                    self.at = last + 1
                return batch
        except SourceError:
            self.close()
            raise

    def _batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Those from ``at`` on, which ``next`` moves before it asks for another."""
        options = self.options
        if self.by_arrow:
            self.by_arrow = False
            longest = min(LONGEST, options.max_body_bytes)
            sql = select(options, Range(self.at, self.part.end), longest)
            yield from fetched_by_arrow(options, sql, longest)
        # Behind the last row, also where there is none: no block's end is taken for the range's.
        sql = select(options, Range(self.at, self.part.end))
        yield from batches(self._connected().execute(sql), options)

    def _connected(self) -> Any:
        if self.connection is None:
            self.connection = open_connection(self.options)
        return self.connection

    def close(self) -> None:
        """The connection, if there is one; the next look makes another."""
        connection, self.connection, self.found = self.connection, None, None
        if connection is not None:
            close(connection)


def batches(cursor: Any, options: ReadOptions) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The cursor's rows as Arrow batches, bounded in rows and in bytes, each with its last mark."""
    inside, asked = fetched(options.columns), chosen(options.columns)
    for rows in _blocks(cursor, options, [column.name for column in inside]):
        yield mark_of(rows[-1][0]), to_arrow(rows, inside, asked)


def _blocks(cursor: Any, options: ReadOptions, names: list[str]) -> Iterator[list[Any]]:
    """The cursor's rows in pieces of one batch; raises SourceError for a body that is too long."""
    if "body" not in names:
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield rows
        return
    length = names.index("body_bytes")
    longest = sys.maxsize if options.oversized_bodies == "null" else options.max_body_bytes
    rows, size = [], 0
    for row in cursor:
        if row[length] > longest:
            raise _oversized(dict(zip(names, row, strict=True)), options)
        rows.append(row)
        size += len(row[-1] or b"")
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def to_arrow(
    rows: list[Any], inside: tuple[Column, ...], asked: tuple[Column, ...]
) -> pa.RecordBatch:
    """Rows of SELECT with exactly the types Spark asks for (4.2 refuses any other).

    inside: the columns of a row. asked: those of the batch, in its order.
    """
    import pyarrow as pa

    values: dict[str, Sequence[Any]] = dict(
        zip([column.name for column in inside], zip(*rows, strict=True), strict=True)
    )
    for name in IDS:
        if name in values:
            values[name] = _texts(values[name])
    # datetime2 is without a zone: Arrow takes these for UTC, which they are by their names
    schema = arrow_schema(asked)
    return pa.RecordBatch.from_arrays(
        [pa.array(values[field.name], field.type) for field in schema], schema=schema
    )


def _texts(ids: Sequence[Any]) -> Sequence[str | None]:
    """Ids in upper case: pyodbc gives texts, but UUIDs where somebody set its native_uuid."""
    if any(isinstance(value, uuid.UUID) for value in ids):
        return [None if value is None else str(value).upper() for value in ids]
    return ids


def _oversized(row: dict[str, Any], options: ReadOptions) -> SourceError:
    where = uuid.UUID(str(row["conversation"] or row["handle"]))
    return SourceError(
        f"message {row['sequence']} of conversation {where} has a body of {row['body_bytes']:,} "
        f"bytes, above maxBodyBytes = {options.max_body_bytes:,}; it was not fetched. Next: a larger "
        "maxBodyBytes, or oversizedBodies = null, which gives body NULL and its body_bytes"
    )
