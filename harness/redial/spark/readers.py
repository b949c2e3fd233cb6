"""Who reads Landing, how far each has got, and what a purge may have taken from him.

usp_PurgeLanding removes what every reader has acknowledged, and its own row in LandingAcknowledged
says below which mark rows may be gone. A reader compares: before a range is planned, and again when
it was read. So rows that went are missed by name, whoever let them go.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from redial.odbc import NO_SUCH_OBJECT, server_message
from redial.quoting import quote_name
from redial.spark.acknowledge import acknowledge
from redial.spark.connect import READER, SourceError, told
from redial.spark.marks import landing
from redial.spark.options import Options, ReadOptions, StreamReadOptions
from redial.spark.ranges import mark_literal, mark_of, range_condition

PURGE = "usp_PurgeLanding"
"""Name of the purge's row among the readers."""

log = logging.getLogger("pyspark_servicebroker")


@dataclass(frozen=True)
class Known:
    """What LandingAcknowledged says."""

    gone: int = 0
    """Rows below this mark may be gone."""
    when: str = ""
    """UTC, when the last of them went."""
    reader: int | None = None
    """How far the asked reader has acknowledged; None: there is no such reader."""


def known(connection: Any, options: Options, reader: str | None = None) -> Known:
    """Ask the server, in autocommit mode. Raises SourceError.

    READCOMMITTEDLOCK: a purge that has told and not committed is waited for, also where row versions
    would show what was before. FORCESEEK: other readers' rows are not touched. Names are compared by
    the server, whose collation may take two cases of one for the same.
    """
    table = f"{quote_name(options.schema_name)}.[LandingAcknowledged]"
    try:
        rows = connection.execute(
            f"SELECT CASE WHEN la.Reader = N'{PURGE}' THEN 1 ELSE 0 END, la.UpTo, "
            f"CONVERT(char(19), la.ChangedUtc, 126) FROM {table} AS la "
            f"WITH (READCOMMITTEDLOCK, FORCESEEK) WHERE la.Reader IN (N'{PURGE}', ?);",
            reader or PURGE,
        ).fetchall()
    except Exception as error:  # whichever driver's
        if server_message(error)[0] == NO_SUCH_OBJECT:
            return Known()  # no such table, so no purge of ours either
        raise told(
            error,
            options,
            f"{table}, which says what was purged, cannot be read",
            f"{READER}, and `redial deploy` of this version, which lets that role read it",
        ) from None
    gone, when, own = 0, "", None
    for is_purge, mark, changed in rows:
        if is_purge:
            gone, when = mark_of(mark), changed
        else:
            own = mark_of(mark)
    return Known(gone, when, own)


def refuse_loss(options: ReadOptions, start: int, now: Known) -> None:
    """Rows from ``start`` that may be gone: raises SourceError, or warns with failOnDataLoss = false."""
    if now.gone <= start:
        return
    text = (
        f"rows of {landing(options)} from mark {mark_literal(start)} to below "
        f"{mark_literal(now.gone)} may be gone: {PURGE} removed old ones there, last at {now.when} UTC"
    )
    if options.fail_on_data_loss:
        raise SourceError(
            f"{text}. Next: what you still need of them from a backup; failOnDataLoss = false to go "
            "on with the rows that are left; option reader, for which a purge waits"
        )
    log.warning("%s. failOnDataLoss is false: the rows that are left are read", text)


def claim(connection: Any, options: StreamReadOptions, first: int) -> int:
    """Where a new query begins, at ``first`` or behind what is gone; the option's reader, if there is
    one, is then its own. Raises SourceError when another query has the name.

    The reader is written before the purge's row is read, and the purge tells before it looks at the
    readers: one of the two sees the other.
    """
    reader = options.reader
    before = known(connection, options, reader)
    first = begins(options, first, before)
    if reader is None:
        return first
    if before.reader is not None and _passes_rows(connection, options, before.reader, first):
        raise SourceError(
            f"reader {reader!r} has acknowledged {mark_literal(before.reader)}, and this query begins "
            f"at {mark_literal(first)}: the name is another query's, or this one's checkpoint is lost. "
            f"Next: a name of its own for each query; or, if that one is gone, EXECUTE "
            f"{quote_name(options.schema_name)}.[usp_AcknowledgeLanding] @reader = N'"
            f"{reader.replace(chr(39), chr(39) * 2)}', @forget = 1"
        )
    acknowledge(connection, options, first)
    after = begins(options, first, known(connection, options, reader))
    if after > first:
        acknowledge(connection, options, after)
    return after


def begins(options: ReadOptions, first: int, now: Known) -> int:
    """``startingMark = earliest`` is the first row that is sure to be there. A time is not: a younger
    row may have stayed below what a purge took, and is wanted."""
    everything = options.starting_mark == "earliest" and options.starting_timestamp is None
    return max(first, now.gone) if everything else first


def _passes_rows(connection: Any, options: StreamReadOptions, held: int, first: int) -> bool:
    """Whether a reader's mark that moves from ``held`` to ``first`` passes rows, forth or back."""
    if held > first:
        return True
    return (
        connection.execute(
            f"SELECT TOP (1) 1 FROM {landing(options)} AS l "
            f"WHERE {range_condition(held, first, 'l.RowVersion')};"
        ).fetchone()
        is not None
    )


def keep(connection: Any, options: StreamReadOptions, start: int) -> None:
    """Before a batch from ``start``: nothing of it is gone, and the reader is still this query's.

    A query acknowledges what Spark has committed, so its own mark is never above the start of a
    batch. Raises SourceError.
    """
    now = known(connection, options, options.reader)
    refuse_loss(options, start, now)
    if options.reader is None:
        return
    if now.reader is None:  # somebody took it for gone
        acknowledge(connection, options, start)
    elif now.reader > start:
        raise SourceError(
            f"reader {options.reader!r} has acknowledged {mark_literal(now.reader)}, above this "
            f"query's own {mark_literal(start)}: another query uses the name. "
            "Next: a name of its own for each query"
        )
