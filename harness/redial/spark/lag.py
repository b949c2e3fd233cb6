"""How far a stream is behind: in the progress of its query, where Spark shows a Python source's offsets.

Spark has no metrics for sources written in Python. What it does show is ``latestOffset``, and a
stream puts its lag there (Spark 4.2 and later ask for it, with each batch).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from redial.spark.marks import Offset, held_back_by, landing, present, waiting_behind
from redial.spark.options import Options
from redial.spark.ranges import range_condition

MOST = 10_000
"""Rows that are counted for one look, from the oldest on."""


@dataclass(frozen=True)
class Lag:
    """What is readable and in no batch yet, counted when a batch was planned."""

    rows: int
    """At most MOST: there may be more then."""
    bytes: int
    """Of their bodies."""
    seconds: float
    """From the landing of the oldest of them to that of the newest."""
    oldest: float
    """Seconds since the oldest has landed, by the server's clock."""
    retries: int
    """How often the planner's process has tried again since it began; tasks have their own."""
    held: str = ""
    """Who holds the mark back, where committed rows wait above it."""

    def __str__(self) -> str:
        more = "or more " if self.rows >= MOST else ""
        found = f"{self.rows:,} rows {more}({self.bytes:,} bytes) behind"
        if self.rows:
            found += f", the oldest landed {self.oldest:.0f} s ago"
        return f"{found}; rows wait: {self.held}" if self.held else found

    @classmethod
    def of(cls, latest: str | dict[str, Any] | None) -> Lag | None:
        """From ``latestOffset`` of a progress' source, whichever it is; None where there is none."""
        try:
            found = json.loads(latest) if isinstance(latest, str) else latest
        except ValueError:  # a source of Spark's own
            return None
        told = found.get("lag") if isinstance(found, dict) else None
        return None if told is None else cls(**told)

    def told(self, offset: Offset) -> dict[str, Any]:
        """As ``latestOffset``."""
        return offset.to_dict() | {"lag": asdict(self)}


def behind(connection: Any, options: Options, start: int, end: Offset) -> Lag:
    """Ask the server. start: where the last planned batch ends. end: the mark of now."""
    from redial.spark.retrying import tried_again  # tenacity is of the extra spark

    rows, size, seconds, oldest = connection.execute(
        "SELECT COUNT_BIG(*), ISNULL(SUM(u.Bytes), 0), "
        "ISNULL(DATEDIFF_BIG(millisecond, MIN(u.LandedUtc), MAX(u.LandedUtc)), 0) / 1000.0, "
        "ISNULL(DATEDIFF_BIG(millisecond, MIN(u.LandedUtc), SYSUTCDATETIME()), 0) / 1000.0 "
        f"FROM (SELECT TOP ({MOST}) l.LandedUtc, "
        "CONVERT(bigint, ISNULL(DATALENGTH(l.Body), 0)) AS Bytes "
        f"FROM {landing(options)} AS l WHERE {range_condition(start, end.mark, 'l.RowVersion')} "
        "ORDER BY l.RowVersion) AS u;"
    ).fetchone()
    held = ""
    # On a busy server rows land above the mark since it was taken; a mark that is held stays.
    if waiting_behind(connection, options, end.mark) and present(connection, options) == end:
        held = held_back_by(connection)[0]
    return Lag(rows, size, float(seconds), float(oldest), tried_again.count, held)
