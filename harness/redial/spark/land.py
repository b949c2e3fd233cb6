"""The landing job: the landing table -> Parquet or Delta, each message once.

``python -m redial.spark.land --help``, also under spark-submit. It reads with
``format("servicebroker")``: all there is and then ends, or for ever with ``--every``. Killed at any
point and started again with the same checkpoint, it loses and repeats nothing: see tables.py.
docs/pipeline.md: operation, restart, retention.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from redial.spark.errors import PipelineError, reason, status_of
from redial.spark.properties import QUERY_PROPERTY
from redial.spark.tables import KINDS, Table, table
from redial.spark.totals import total_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

MARK = "mark"
"""Column of the source with a row's rowversion."""

Hook = Callable[[str, int, "DataFrame"], "DataFrame"]
"""Called with the point, the batch and its rows; returns the rows. Tests stop a job with it."""


@dataclass
class Landing:
    """Writes micro-batches to a table and acknowledges each after it is written."""

    target: Table
    acknowledge: Callable[[int], None] | None = None
    """Told a mark below which every row is in the table; None: nobody is."""
    hook: Hook = lambda point, batch, rows: rows
    batches: int = 0
    rows: int = 0
    mark: int = field(default=0)
    """batches, rows, mark: what this process has landed."""

    def land(self, rows: DataFrame, batch: int) -> None:
        """One micro-batch, with one action: Spark reads the source anew for each."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        # The id under which the checkpoint knows this query; a restart keeps it.
        query = rows.sparkSession.sparkContext.getLocalProperty(QUERY_PROPERTY)
        if query is None:
            raise PipelineError(
                self.target.path,
                f"Spark gives the batch no {QUERY_PROPERTY}, without which nobody can tell whose "
                "the table is",
                "foreachBatch of a streaming query",
            )
        rows = self.hook("before the write", batch, rows)
        seen = Observation()
        counted = rows.observe(seen, f.count(f.lit(1)).alias("rows"), f.max(MARK).alias("mark"))
        written = self.target.write(counted, query, batch)
        self.hook("after the write", batch, rows)
        self.batches += 1
        if written:
            self.rows += seen.get.get("rows") or 0
        last = (
            seen.get.get("mark")
            if written
            else total_of(rows.agg(f.max(MARK)), f"the last mark of batch {batch}")[0]
        )
        if last is not None:
            self.mark = int.from_bytes(last, "big") + 1
            if self.acknowledge is not None:
                self.acknowledge(self.mark)
        self.hook("after the acknowledgement", batch, rows)


def start(
    source: DataFrame, landing: Landing, checkpoint: str, every: float | None = None
) -> StreamingQuery:
    """Start landing a streaming DataFrame that has the data source's columns.

    checkpoint: where Spark keeps how far it is; it belongs to the table and is never shared. every:
    seconds between looks; None: all there is now, then the query ends.
    """
    writer = source.writeStream.queryName("redial-landing").option("checkpointLocation", checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if every is None
        else writer.trigger(processingTime=f"{every} seconds")
    )
    return writer.foreachBatch(landing.land).start()


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit status is returned."""
    from redial.spark.audit import configuration
    from redial.spark.credentials import from_odbc
    from redial.spark.session import spark_session

    chosen = _parser().parse_args(arguments)
    server = chosen.server or os.environ.get("REDIAL_SERVER")
    if not server:
        raise PipelineError(
            "--server",
            "no database is named",
            "--server or REDIAL_SERVER with an ODBC connection string",
        )
    config = configuration(chosen.config)
    options = from_odbc(server) | {
        "schema": config.schema_name,
        "startingMark": chosen.starting_mark,
        "numPartitions": str(chosen.partitions),
    }
    if chosen.max_rows is not None:
        options["maxMessagesPerTrigger"] = str(chosen.max_rows)
    if chosen.reader:
        options["reader"] = chosen.reader
    landing = Landing(table(chosen.kind, chosen.to), acknowledger(options), _tell)
    checkpoint = chosen.checkpoint or f"{landing.target.path}/_checkpoint"
    spark = spark_session("redial-landing")
    source = spark.readStream.format("servicebroker").options(**options).load()
    while True:
        had = landing.batches
        follow(start(source, landing, checkpoint, chosen.every))
        if chosen.every is not None or lands_all() or landing.batches == had:
            break
    print(
        f"{landing.rows:,} rows in {landing.batches:,} batches to {landing.target.path}, "
        f"up to mark 0x{landing.mark:016X}"
    )
    return 0


def lands_all() -> bool:
    """Whether one AvailableNow query lands all there is.

    Before Spark 4.2 it is one batch, of as many rows as it may have or of those a killed run had
    begun: then another query follows until there is nothing left.
    """
    return find_spec("pyspark.sql.streaming.datasource") is not None


def acknowledger(options: dict[str, str]) -> Callable[[int], None] | None:
    """Tells the server how far the job is, over a connection of its own each time; None when the
    options name no reader."""
    if "reader" not in options:
        return None
    from redial.spark.acknowledge import acknowledge
    from redial.spark.connect import open_connection
    from redial.spark.options import StreamReadOptions, parse

    parsed = parse(StreamReadOptions, options)

    def tell(mark: int) -> None:
        connection = open_connection(parsed)
        try:
            acknowledge(connection, parsed, mark)
        finally:
            connection.close()

    return tell


def follow(query: StreamingQuery) -> None:
    """Wait for the query's end; an interrupt stops it between batches. Raises PipelineError."""
    from pyspark.errors import StreamingQueryException

    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
    except StreamingQueryException as error:
        raise PipelineError(
            "landing",
            reason(str(error)),
            "remove the cause and start it again with the same checkpoint: it goes on where it was",
        ) from None


def _tell(point: str, batch: int, rows: DataFrame) -> DataFrame:
    """One line per batch."""
    if point == "after the acknowledgement":
        print(f"batch {batch} written", flush=True)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m redial.spark.land",
        description="Land what activation has landed: the landing table to Parquet or Delta, each "
        "message once. Exit status: 0 done, 2 not; start it again after either.",
    )
    add = parser.add_argument
    add("--to", required=True, help="directory of the table, any file system Spark knows")
    add(
        "--kind",
        choices=sorted(KINDS),
        default="parquet",
        help="delta: with deltalake from PyPI; delta-spark: where the cluster has it",
    )
    add("--config", default="audit", help="name of a file in sql/configs, or a path; default audit")
    add("--server", help="ODBC connection string of the database; also from REDIAL_SERVER")
    add("--checkpoint", help="default: _checkpoint in the table's directory")
    add(
        "--every",
        type=float,
        metavar="SECONDS",
        help="go on for ever, looking so often; default: land what there is and end",
    )
    add(
        "--reader",
        default="redial-landing",
        help="name under which usp_AcknowledgeLanding hears "
        "how far the job is, one for each table; '' for none: then nothing may be purged",
    )
    add("--max-rows", type=int, help="rows of one batch, at most (Spark 4.2 and later)")
    add("--partitions", type=int, default=2, help="ranges read side by side; default 2")
    add(
        "--starting-mark",
        default="earliest",
        help="where a first run begins: earliest, latest or a mark such as 0x00000000000007D1",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(status_of(main))
