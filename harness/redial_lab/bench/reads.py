"""The landing table read by Spark: through the data source and through plain JDBC, side by side.

``python -m redial_lab.bench.reads [ROWS]``: rows of 200-byte bodies: all of them in one and two
partitions, and three reads that need less. The embedded broker serves them from one process, so both
ways are mostly measured by its own speed.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.server import EMBEDDED_LABEL
from redial.spark.connect import open_connection
from redial.spark.credentials import from_odbc
from redial.spark.jar import DRIVER, jdbc_jar
from redial.spark.options import Options
from redial.spark.parsing import parse
from redial.spark.ranges import mark_of, rowversion_predicates
from redial.spark.session import spark_session
from redial_broker.tds.process import BrokerProcess
from redial_lab.bench.memory import processor_seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 100_000
BODY = 200
TURNS = 2
"""Of each read; the better one counts, as others may be at work."""
TABLE = """
CREATE TABLE audit.Landing (RowVersion rowversion NOT NULL PRIMARY KEY,
    ConversationId uniqueidentifier NULL, ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NOT NULL, MessageType nvarchar(256) NOT NULL, Body varbinary(max) NULL,
    LandedUtc datetime2(3) NOT NULL DEFAULT (SYSUTCDATETIME()), ConversationKey nvarchar(200) NULL,
    KeySequence bigint NULL, MessageId uniqueidentifier NULL, SentUtc datetime2(3) NULL,
    SenderLogin nvarchar(128) NULL, SenderApp nvarchar(128) NULL, SenderHost nvarchar(128) NULL);"""
"""As the configuration's: what matters to a reader, without what it needs to be installed."""


def main(tell: Callable[[str], None] = print, rows: int = ROWS) -> dict[str, float]:
    """Figures of each read by way. Raises JarMissing without Microsoft's driver."""
    jar = str(jdbc_jar())
    with BrokerProcess() as broker:
        connection = fill(broker, rows)
        tell(f"{datetime.date.today()}: {rows:,} rows of {BODY} bytes ({EMBEDDED_LABEL})")
        spark = spark_session("redial-reads", jars=[jar], java_options="-XX:+UseSerialGC")
        first, last = connection.execute(
            "SELECT MIN(RowVersion), MAX(RowVersion) FROM audit.Landing;"
        ).fetchone()
        found: dict[str, float] = {}
        for case, ways in _cases(spark, broker, bytes(first), bytes(last)).items():
            found |= _measured(case, ways, rows, broker.pid, tell)
        spark.stop()
    return found


def _cases(
    spark: SparkSession, broker: BrokerProcess, first: bytes, last: bytes
) -> dict[str, tuple[DataFrame, DataFrame]]:
    """Name of each read -> through the data source, through JDBC. first, last: marks of the rows."""

    def source(**more: str) -> DataFrame:
        return spark.read.format("servicebroker").options(**_options(broker), **more).load()

    def jdbc(parts: int = 1) -> DataFrame:
        return spark.read.jdbc(
            broker.jdbc,
            "audit.Landing",
            predicates=rowversion_predicates(first, last, parts),
            properties={"driver": DRIVER, "fetchsize": "5000"},
        )

    low, high = mark_of(first), mark_of(last)
    mark = f"{high - (high - low) // 100:016X}"  # the last hundredth of the marks
    return {
        "all_1": (source(), jdbc()),
        "all_2": (source(numPartitions="2"), jdbc(2)),
        "count": (source(columns="mark").groupBy().count(), jdbc().groupBy().count()),
        "two_columns": (
            source(columns="conversation, sequence"),
            jdbc().select("ConversationId", "MessageSequence"),
        ),
        "mark_filter": (
            source(where=f"mark >= 0x{mark}"),
            jdbc().where(f"RowVersion >= X'{mark}'"),
        ),
    }


def _measured(
    case: str,
    ways: tuple[DataFrame, DataFrame],
    rows: int,
    broker: int,
    tell: Callable[[str], None],
) -> dict[str, float]:
    """Seconds of each way, and of processors without the broker's; the best of TURNS, in turns."""
    names = ("data_source", "jdbc")
    for frame in ways:
        _seconds(frame, broker)  # all workers, and the code they load, are not measured
    turns = [[_seconds(frame, broker) for frame in ways] for _ in range(TURNS)]
    wall, own = ([min(turn[way][n] for turn in turns) for way in (0, 1)] for n in (0, 1))
    tell(
        f"{case}: data source {wall[0]:.2f} s, JDBC {wall[1]:.2f} s, ratio {wall[0] / wall[1]:.2f}; "
        f"Spark's processes {own[0]:.2f} and {own[1]:.2f} s on a processor"
    )
    found = {f"reads.{case}_{name}_s": seconds for name, seconds in zip(names, wall, strict=True)}
    found |= {f"reads.{case}_{name}_cpu_s": used for name, used in zip(names, own, strict=True)}
    if case.startswith("all_"):
        for name, seconds in zip(names, wall, strict=True):
            found[f"reads.{name}_{case[-1]}_rows_per_s"] = rows / seconds
    return found


def _seconds(frame: DataFrame, broker: int) -> tuple[float, float]:
    """To read every row, and keep none: on the clock, and on a processor without the broker."""
    started, used = time.perf_counter(), processor_seconds(broker)
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started, processor_seconds(broker) - used


def _options(broker: BrokerProcess) -> dict[str, str]:
    return from_odbc(broker.odbc) | {"schema": "audit"}


def fill(broker: BrokerProcess, rows: int) -> Any:  # pyodbc's connection, which has no types
    """A landing table with that many rows in the database the broker begins with; a connection."""
    connection = open_connection(parse(Options, _options(broker)))
    connection.execute("CREATE SCHEMA audit;")
    connection.execute(TABLE)
    connection.execute(
        "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
        "MessageType, Body) SELECT NEWID(), NEWID(), d.n, N'event', "
        f"CONVERT(varbinary(max), REPLICATE('x', {BODY})) FROM "
        "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS d(n);"
    )
    have = 10
    while have < rows:
        connection.execute(
            "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
            f"MessageType, Body) SELECT TOP ({min(have, rows - have)}) l.ConversationId, "
            "l.ConversationHandle, l.MessageSequence, l.MessageType, l.Body "
            "FROM audit.Landing AS l;"
        )
        have += min(have, rows - have)
    return connection


if __name__ == "__main__":
    for name, value in main(rows=int(sys.argv[1]) if len(sys.argv) > 1 else ROWS).items():
        print(f"{name} {value:.3f}")
