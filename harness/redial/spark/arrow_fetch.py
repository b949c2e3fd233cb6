"""A statement's rows as Arrow batches straight from the ODBC driver, where arrow-odbc is installed.

It takes about half of the processor time: pyodbc makes a Python object of each value. Yet it is only a
first try: what it cannot do, or fails at, pyodbc reads again, and tells what is wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redial.spark.columns import arrow_schema, chosen, fetched
from redial.spark.connect import connection_string, hidden
from redial.spark.options import ReadOptions
from redial.spark.ranges import mark_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2048
LONGEST = 8000
"""Rows of a batch, and bytes of a body that is fetched this way: each row has room for so many, 16 MB
in all, and as much again for the batch behind it, which a thread of arrow-odbc fetches meanwhile."""

log = logging.getLogger("pyspark_servicebroker")


def fetched_by_arrow(
    options: ReadOptions, sql: str, longest: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with their last marks, as far as it goes: what is behind the last one is still to be read.

    sql: of the columns ``fetched`` names. longest: bytes of a body in it, at most LONGEST; it ends
    before the first row whose body has more, or that may be other than the server's.
    """
    login = connection_string(options)
    # Both would go to the driver in the machine's encoding; a token has no place there.
    if options.access_token is not None or not (login + sql).isascii():
        return
    try:
        import arrow_odbc
    except (ImportError, OSError):  # OSError: there is no libodbc
        return
    try:
        found = arrow_odbc.read_arrow_batches_from_odbc(
            sql,
            login,
            batch_size=ROWS,
            max_binary_size=LONGEST,
            login_timeout_sec=options.login_timeout,
            query_timeout_sec=options.query_timeout,
            payload_text_encoding=arrow_odbc.TextEncoding.UTF16,
        )
        yield from _plain_ones(found, options, longest)
    except Exception as error:
        log.info("pyodbc reads on after arrow-odbc's %s", hidden(str(error), options))


def _plain_ones(
    found: Any, options: ReadOptions, longest: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """As Spark asks for them, up to the first row that is not read this way."""
    import pyarrow as pa

    inside, asked = arrow_schema(fetched(options.columns)), arrow_schema(chosen(options.columns))
    last = -1
    for raw in found:
        arrays = [array.cast(kind) for array, kind in zip(raw.columns, inside.types, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=inside)
        marks = batch.column("mark")
        if mark_of(marks[0].as_py()) <= last:
            return
        rows = _before_the_odd(batch, longest)
        if rows:
            last = mark_of(marks[rows - 1].as_py())
            yield last, batch.slice(0, rows).select(asked.names)
        if rows < batch.num_rows:
            return


def _before_the_odd(batch: pa.RecordBatch, longest: int) -> int:
    """Rows before the first that pyodbc has to read: its body is too long; a text has U+FFFD, which
    half of a surrogate pair becomes here; its mark is not above the one before, as in a block whose
    row was never fetched."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made when it is imported
    odd = [pc.match_substring(c, "\ufffd") for c in batch.columns if c.type == pa.string()]
    if "body" in batch.schema.names:
        odd.append(pc.greater(batch.column("body_bytes"), longest))
    found = [pc.index(rows, True).as_py() for rows in odd]
    marks = batch.column("mark")
    back = pc.index(pc.less_equal(marks.slice(1), marks.slice(0, len(marks) - 1)), True).as_py()
    found.append(back + 1 if back >= 0 else -1)
    return min((row for row in found if row >= 0), default=batch.num_rows)
