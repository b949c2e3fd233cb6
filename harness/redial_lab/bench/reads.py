"""The landing table read by Spark: through the data source and through plain JDBC, side by side.

``python -m redial_lab.bench.reads [ROWS]``: rows of 200-byte bodies, one and two partitions. The
embedded broker serves them from one process, so both ways are mostly measured by its own speed.
"""

from __future__ import annotations

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
from redial.spark.ranges import rowversion_predicates
from redial.spark.session import spark_session
from redial_broker.tds.process import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 100_000
BODY = 200
TABLE = """
CREATE TABLE audit.Landing (RowVersion rowversion NOT NULL PRIMARY KEY,
    ConversationId uniqueidentifier NULL, ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NOT NULL, MessageType nvarchar(256) NOT NULL, Body varbinary(max) NULL,
    LandedUtc datetime2(3) NOT NULL DEFAULT (SYSUTCDATETIME()), ConversationKey nvarchar(200) NULL,
    KeySequence bigint NULL, MessageId uniqueidentifier NULL, SentUtc datetime2(3) NULL,
    SenderLogin nvarchar(128) NULL, SenderApp nvarchar(128) NULL, SenderHost nvarchar(128) NULL);"""
"""As the configuration's: what matters to a reader, without what it needs to be installed."""


def main(tell: Callable[[str], None] = print, rows: int = ROWS) -> dict[str, float]:
    """Rows a second, by ways and partitions. Raises JarMissing without Microsoft's driver."""
    jar = str(jdbc_jar())
    with BrokerProcess() as broker:
        connection = fill(broker, rows)
        tell(f"{rows:,} rows of {BODY} bytes ({EMBEDDED_LABEL})")
        spark = spark_session("redial-reads", jars=[jar], java_options="-XX:+UseSerialGC")
        first, last = connection.execute(
            "SELECT MIN(RowVersion), MAX(RowVersion) FROM audit.Landing;"
        ).fetchone()
        found = {}
        for parts in (1, 2):
            ranges = rowversion_predicates(bytes(first), bytes(last), parts)
            ways = {
                "data_source": spark.read.format("servicebroker")
                .options(**_options(broker), numPartitions=str(parts))
                .load(),
                "jdbc": spark.read.jdbc(
                    broker.jdbc,
                    "audit.Landing",
                    predicates=ranges,
                    properties={"driver": DRIVER, "fetchsize": "5000"},
                ),
            }
            for way, frame in ways.items():
                _seconds(frame.limit(1))  # the workers and the code they load are not measured
                found[f"reads.{way}_{parts}_rows_per_s"] = rows / _seconds(frame)
        spark.stop()
    return found


def _seconds(frame: DataFrame) -> float:
    """To read every column of every row, and keep none."""
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


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
