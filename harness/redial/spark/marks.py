"""How far a reader may read, and what holds it back.

A mark is MIN_ACTIVE_ROWVERSION(), taken by a statement of its own before the read: every row below
it is committed or never will be, whatever the order in which transactions commit. So rows are read
with from <= RowVersion < mark, each once (F-431). An identity would lose what commits late.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from redial.quoting import literal, quote_name
from redial.spark.connect import SourceError, explained
from redial.spark.options import BatchReadOptions, Options, ReadOptions
from redial.spark.ranges import mark_literal, mark_of, range_condition, time_literal

LOWEST = 0


@dataclass(frozen=True)
class Offset:
    """A place in one landing table: rows below ``mark`` are read."""

    broker: str
    """Sys.databases.service_broker_guid, without which a mark of one database would be taken for a
    mark of another."""
    schema: str
    """As the database writes it: its tables share its marks. Empty: an older checkpoint, unknown."""
    mark: int

    def to_dict(self) -> dict[str, str]:
        """As Spark keeps it in a checkpoint; the mark as T-SQL writes it."""
        return {"broker": self.broker, "schema": self.schema, "mark": mark_literal(self.mark)}

    @classmethod
    def of(cls, stored: dict[str, str] | str) -> Offset:
        """From a checkpoint. Raises SourceError."""
        try:
            found = json.loads(stored) if isinstance(stored, str) else stored
            return cls(str(found["broker"]), str(found.get("schema", "")), int(found["mark"], 16))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SourceError(
                f"the checkpoint's offset {stored!r} is none of ours. "
                "Next: a new checkpointLocation"
            ) from None


def landing(options: Options) -> str:
    """Quoted name of the landing table."""
    return f"{quote_name(options.schema_name)}.[Landing]"


def unreadable(options: Options) -> str:
    """What is said when a look at the landing table failed."""
    return f"{landing(options)} cannot be read"


def present(connection: Any, options: Options) -> Offset:
    """The mark of now, with the database it is of. Raises SourceError.

    connection: in autocommit mode, so that the statement has a transaction of its own: in an open
    one the mark could be older than a snapshot taken later, or of its own work.
    """
    with explained(options, "the mark cannot be taken", "a login with a user in this database"):
        broker, schema, mark = connection.execute(
            "SELECT CONVERT(char(36), d.service_broker_guid), "
            f"SCHEMA_NAME(SCHEMA_ID({literal(options.schema_name)})), MIN_ACTIVE_ROWVERSION() "
            "FROM sys.databases AS d WHERE d.database_id = DB_ID();"
        ).fetchone()
    return Offset(str(broker).upper(), schema or options.schema_name, mark_of(mark))


def starting(connection: Any, options: ReadOptions, now: Offset) -> Offset:
    """Where a read begins: ``startingMark``, or the first row that landed at ``startingTimestamp``
    or later. Rows land in another order than their marks', so younger ones may be older. Raises
    SourceError."""
    moment = options.starting_timestamp
    if moment is None:
        return replace(now, mark=_named(options, "startingMark", options.starting_mark, now))
    found = _landed(connection, options, now, f"l.LandedUtc >= {time_literal(moment)}", "ASC")
    return now if found is None else replace(now, mark=found)


def ending(connection: Any, options: BatchReadOptions, now: Offset) -> int:
    """Behind which mark a batch has no row: ``endingMark``, or behind the last row that landed before
    ``endingTimestamp``. Raises SourceError."""
    moment = options.ending_timestamp
    if moment is None:
        return _named(options, "endingMark", options.ending_mark, now)
    found = _landed(connection, options, now, f"l.LandedUtc < {time_literal(moment)}", "DESC")
    return LOWEST if found is None else found + 1


def _named(options: Options, option: str, word: str, now: Offset) -> int:
    """Earliest, latest, or a mark: rows above the one of now are still to come, and a read that said
    it had been there would lose them."""
    if word == "latest":
        return now.mark
    mark = LOWEST if word == "earliest" else int(word, 16)
    if mark > now.mark:
        raise SourceError(
            f"{option} = {mark_literal(mark)} is above the database's mark {mark_literal(now.mark)}: "
            "rows up to it may still come (a secondary may be behind), or it is another database's, or "
            "this one was restored to an earlier time. Next: latest, or a mark of this database",
            passing=options.application_intent == "ReadOnly",
        )
    return mark


def _landed(
    connection: Any, options: Options, now: Offset, condition: str, order: str
) -> int | None:
    """Mark of the first row in that order. Along the clustered key: there is no index by time."""
    found = connection.execute(
        f"SELECT TOP (1) l.RowVersion FROM {landing(options)} AS l "
        f"WHERE {range_condition(LOWEST, now.mark, 'l.RowVersion')} AND {condition} "
        f"ORDER BY l.RowVersion {order};"
    ).fetchone()
    return None if found is None else mark_of(found[0])


def refuse_another_table(stored: Offset, now: Offset) -> None:
    """Raises SourceError when a mark cannot be of the table as it is now."""
    if stored.broker.upper() != now.broker:
        raise SourceError(
            f"the checkpoint is of the database with broker {stored.broker}, and this one has "
            f"{now.broker}: another database, or a copy restored WITH NEW_BROKER. Marks of one "
            "mean nothing in the other. Next: the right server and database, or a new "
            "checkpointLocation"
        )
    if stored.schema not in ("", now.schema):
        raise SourceError(
            f"the checkpoint is of schema {stored.schema}, and this query reads {now.schema}: they "
            "share the database's marks, so rows that were never read would be passed over. Next: "
            f"schema = {stored.schema}, or a new checkpointLocation"
        )
    if stored.mark > now.mark:
        raise SourceError(
            f"the checkpoint's mark {mark_literal(stored.mark)} is above the database's "
            f"{mark_literal(now.mark)}: it was restored to an earlier time, and rows that were "
            "read may be gone or come again with other numbers. Next: a new checkpointLocation, "
            "and compare what has landed since"
        )


def behind_last(connection: Any, options: Options, start: int, end: int) -> int:
    """The mark behind the last row of ``start`` <= rv < ``end``; ``start`` if there is none.

    The database's mark counts every change of every table: an offset that followed it would make a
    batch without rows of each.
    """
    (last,) = connection.execute(
        f"SELECT MAX(l.RowVersion) FROM {landing(options)} AS l "
        f"WHERE {range_condition(start, end, 'l.RowVersion')};"
    ).fetchone()
    return start if last is None else mark_of(last) + 1


def limited(
    connection: Any, options: Options, start: int, end: int, rows: int | None, size: int | None
) -> int | None:
    """The mark of the first row from ``start`` that a batch has no room for: it may have so many
    rows, and so many bytes of bodies, but one row in any case. None: there is room for all."""
    bounds = [] if rows is None else [f"n.Place > {int(rows)}"]
    total = ""
    if size is not None:
        bounds.append(f"(n.Bytes > {int(size)} AND n.Place > 1)")
        total = (
            ", SUM(CONVERT(bigint, ISNULL(DATALENGTH(l.Body), 0))) OVER "
            "(ORDER BY l.RowVersion ROWS UNBOUNDED PRECEDING) AS Bytes"
        )
    found = connection.execute(
        "SELECT TOP (1) n.RowVersion FROM (SELECT l.RowVersion, "
        f"ROW_NUMBER() OVER (ORDER BY l.RowVersion) AS Place{total} "
        f"FROM {landing(options)} AS l WHERE {range_condition(start, end, 'l.RowVersion')}) AS n "
        f"WHERE {' OR '.join(bounds)} ORDER BY n.RowVersion;"
    ).fetchone()
    return None if found is None else mark_of(found[0])


@dataclass
class StallWatch:
    """Notices a mark that stands still while rows wait behind it."""

    seconds: float
    """How long it may."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, any that grows; a test gives its own."""
    mark: int = -1
    since: float = 0.0

    def stalled(self, mark: int) -> bool:
        """Told each mark taken; whether it has been this one for too long."""
        if mark != self.mark:
            self.mark, self.since = mark, self.clock()
            return False
        return self.clock() - self.since >= self.seconds

    def reported(self) -> None:
        """Said; to be said again only after as long again."""
        self.since = self.clock()


HOLDERS = """
SELECT TOP (1) s.session_id, s.login_name, s.host_name, s.program_name, s.status,
    CONVERT(char(23), dt.database_transaction_begin_time, 126),
    DATEDIFF(second, dt.database_transaction_begin_time, GETDATE())
FROM sys.dm_tran_database_transactions AS dt
INNER JOIN sys.dm_tran_session_transactions AS st ON st.transaction_id = dt.transaction_id
INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = st.session_id
WHERE dt.database_id = DB_ID() AND dt.database_transaction_begin_time IS NOT NULL
ORDER BY dt.database_transaction_begin_time;"""
"""The session whose transaction has been writing to this database for longest. The first begin time
is that of its first change, NULL before (sys-dm-tran-database-transactions). What holds a mark back
is the oldest transaction that has a rowversion; this is the oldest that has changed anything, which
is it or older (F-432)."""


def waiting_behind(connection: Any, options: Options, mark: int) -> bool:
    """Whether a committed row lies at or above the mark; waits for nobody (READPAST)."""
    return (
        connection.execute(
            f"SELECT TOP (1) 1 FROM {landing(options)} AS l WITH (READPAST, READCOMMITTEDLOCK) "
            f"WHERE l.RowVersion >= {mark_literal(mark)};"
        ).fetchone()
        is not None
    )


def held_back_by(connection: Any) -> tuple[str, str]:
    """Who has been writing to this database for longest, and what to do."""
    try:
        holder = connection.execute(HOLDERS).fetchone()
    except Exception as error:  # 300, 297: no VIEW SERVER STATE
        said = str(error.args[-1] if error.args else error)
        allowed = "VIEW SERVER STATE" if "VIEW SERVER" in said else "the right to see sessions"
        return (
            f"Who holds it back needs {allowed} (from SQL Server 2022 on VIEW SERVER PERFORMANCE "
            "STATE)",
            "GRANT it to this login, or ask a DBA for the oldest open transaction",
        )
    if holder is None:
        return "No open transaction of this database is seen now", "nothing, if it moves"
    session, login, host, program, status, begun, age = holder
    return (
        f"The oldest open transaction is of session {session} ({login}, {program} on {host}, "
        f"{status}), writing since {begun}, {age} s",
        f"let it commit, or KILL {session}",
    )


def stall_report(connection: Any, mark: int, seconds: float) -> str:
    """What is said of a stalled mark: since when, and who has been open for longest."""
    who, step = held_back_by(connection)
    return (
        f"the mark stands at {mark_literal(mark)} for {seconds:.0f} s and rows wait behind it. "
        f"{who}. Next: {step}"
    )
