"""The landing job: the landing table -> Parquet or Delta, each message once.

``python -m redial.spark.land --help``, also under spark-submit. It reads with
``format("servicebroker")``: all there is and then ends, or for ever with ``--every``. Killed at any
point and started again with the same checkpoint, it loses and repeats nothing: see tables.py.
docs/pipeline.md: operation, restart, retention.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from redial.spark.audit_arguments import SCHEMA
from redial.spark.errors import PipelineError, reason
from redial.spark.interrupts import noted
from redial.spark.lag import Lag
from redial.spark.tables import KINDS, Table, table

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from redial.spark.options import StreamReadOptions

LOOK = 1
"""Seconds between two looks at a query's progress."""
MARK = re.compile(r"""["']mark["']: ?["'](0x[0-9A-Fa-f]+)""")
"""In an offset's text, whoever wrote it."""
READER_LONGEST = 128
"""Characters of LandingAcknowledged.Reader."""

Hook = Callable[[str, int, "DataFrame"], "DataFrame"]
"""Called with the point, the batch and its rows; returns the rows. Tests stop a job with it."""


@dataclass
class Landing:
    """Writes micro-batches to a table. Over Spark Connect a copy of it does, in the server."""

    target: Table
    hook: Hook = lambda point, batch, rows: rows

    def land(self, rows: DataFrame, batch: int, checkpoint: str) -> None:
        """One micro-batch, with one action: Spark reads the source anew for each."""
        rows = self.hook("before the write", batch, rows)
        self.target.write(rows, lambda: query_of(rows.sparkSession, checkpoint), batch)
        self.hook("after the write", batch, rows)


@dataclass
class Landed:
    """What a run has landed, as Spark's progress says; ``mark``: every row below is in the table."""

    batches: int = 0
    rows: int = 0
    mark: int | None = None
    seen: int = -1
    """The last batch that was counted."""
    say: Callable[[str], None] = lambda text: None
    """Told of each."""

    def count(self, query: StreamingQuery) -> None:
        """Batches that have ended since the last look; Spark keeps a hundred of them."""
        for one in query.recentProgress:
            # Of its sources: over Connect the progress itself has no numInputRows.
            rows = sum(source["numInputRows"] for source in one["sources"])
            if one["batchId"] <= self.seen or not rows:
                continue
            self.seen = one["batchId"]
            self.batches += 1
            self.rows += rows
            # JSON, a dict over Connect, or in Spark 4.0 Python's text of a dict.
            if found := MARK.search(str(one["sources"][0]["endOffset"])):
                self.mark = int(found[1], 16)
            lag = Lag.of(one["sources"][0]["latestOffset"])
            still = "" if lag is None else f"; {lag}"
            self.say(f"batch {self.seen} written: {rows:,} rows{still}")


def query_of(spark: SparkSession, checkpoint: str) -> str:
    """The id under which a checkpoint knows its query; a restart keeps it. Spark writes it there
    before the first batch, and each session can read it, over Connect too."""
    line = spark.read.text(f"{checkpoint}/metadata").first()
    if line is None:
        raise PipelineError(
            f"{checkpoint}/metadata", "is empty, so nobody can tell whose the table is", "a backup"
        )
    return str(json.loads(line[0])["id"])


def start(
    source: DataFrame, landing: Landing, checkpoint: str, every: float | None = None
) -> StreamingQuery:
    """Start landing a streaming DataFrame that has the data source's columns.

    checkpoint: where Spark keeps how far it is; it belongs to the table and is never shared. every:
    seconds between looks; None: all there is now, then the query ends. Raises PipelineError.
    """
    from pyspark.errors import PySparkException

    look_at_table(source.sparkSession, landing.target, checkpoint)
    writer = source.writeStream.queryName("redial-landing").option("checkpointLocation", checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if every is None
        else writer.trigger(processingTime=f"{every} seconds")
    )
    try:
        return writer.foreachBatch(batch_function(landing, checkpoint)).start()
    except PySparkException as error:  # over Connect the server starts a process here, or cannot
        raise stopped(error) from None


def look_at_table(spark: SparkSession, target: Table, checkpoint: str) -> None:
    """Raise PipelineError where a checkpoint would go on in a table that is not its own, before the
    server is told of a reader."""
    from pyspark.errors import AnalysisException

    try:
        query = query_of(spark, checkpoint)
        begun = spark.read.text(f"{checkpoint}/commits").first() is not None
    except AnalysisException:  # no checkpoint yet, or no batch of it
        return
    target.refuse_another(spark, query, begun)


def stopped(error: PySparkException) -> PipelineError:
    """What ended the query, in a line, without the description of the query that follows it."""
    whole = str(error)
    words = reason(whole.partition("=== Streaming Query ===")[0])
    why, _, advice = words.partition(" Next: ")
    again = "start it again with the same checkpoint: it goes on where it was"
    step = f"{advice.rstrip('.') or 'remove the cause'}; then {again}"
    return PipelineError("landing", why.rstrip("."), step, whole)


def batch_function(landing: Landing, checkpoint: str) -> Callable[[DataFrame, int], None]:
    """What Spark calls with each batch; over Connect it is pickled and called in the server."""

    def land(rows: DataFrame, batch: int) -> None:
        landing.land(rows, batch, checkpoint)

    return land


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit status is returned."""
    from redial.spark.answers import NO_VERDICT
    from redial.spark.options import StreamReadOptions
    from redial.spark.parsing import parse
    from redial.spark.reading import look
    from redial.spark.session import REMOTE, spark_session

    chosen = _parser().parse_args(arguments)
    options = options_of(chosen)
    parsed = parse(StreamReadOptions, options)
    landing = Landing(table(chosen.kind, chosen.to))
    checkpoint = chosen.checkpoint or f"{landing.target.path}/_checkpoint"
    if REMOTE not in os.environ:  # there the server looks, not this process
        look(parsed)
    quiet = {"spark.log.level": "OFF"}  # the error is told in two lines, and kept whole
    spark = spark_session("redial-landing", master="local[2, 4]", settings=quiet)
    source = spark.readStream.format("servicebroker").options(**options).load()
    landed = Landed(say=lambda text: print(text, flush=True))
    while True:
        had = landed.batches
        cut = follow(start(source, landing, checkpoint, chosen.every), landed)
        if cut or chosen.every is not None or lands_all() or landed.batches == had:
            break
    if landed.mark is not None and parsed.reader is not None:
        tell(parsed, landed.mark)
    up_to = "nothing new" if landed.mark is None else f"up to mark 0x{landed.mark:016X}"
    print(f"{landed.rows:,} rows in {landed.batches:,} batches to {landing.target.path}, {up_to}")
    return NO_VERDICT if cut and chosen.every is None else 0


def answer(arguments: list[str] | None = None) -> int:
    """The command's exit status: 0 landed, 2 not all of it, whatever the reason, which is said."""
    from redial.spark.answers import status_of_verdict

    return status_of_verdict(lambda: main(arguments), "the landing has stopped")


def options_of(chosen: argparse.Namespace) -> dict[str, str]:
    """Of the data source. Raises PipelineError."""
    from redial.spark.credentials import from_odbc, server_of

    server = server_of(chosen.server)
    if not server:
        raise PipelineError(
            "--server",
            "no database is named",
            "--server or REDIAL_SERVER with an ODBC connection string",
        )
    options = from_odbc(server) | {
        "schema": schema_of(chosen.config) if chosen.config else chosen.schema,
        "numPartitions": str(chosen.partitions),
        "failOnDataLoss": "false" if chosen.go_on_after_loss else "true",
    }
    given = {
        "startingMark": chosen.starting_mark,
        "startingTimestamp": chosen.starting_timestamp,
        "maxMessagesPerTrigger": chosen.max_rows,
        "maxBytesPerTrigger": chosen.max_bytes,
        "reader": (reader_of(chosen.to) if chosen.reader is None else chosen.reader) or None,
    }
    return options | {name: str(value) for name, value in given.items() if value is not None}


def schema_of(config: str) -> str:
    """Schema of a configuration. Raises PipelineError."""
    from redial.spark.audit import configuration

    return configuration(config).schema_name


def reader_of(path: str) -> str:
    """The reader's name of a table's job: one for each table, as a table belongs to one query; the
    same from whatever folder the job is started."""
    place = path.rstrip("/") if "://" in path else os.path.abspath(path)
    name = f"redial-landing {place}"
    if len(name) <= READER_LONGEST:
        return name
    return f"redial-landing {hashlib.sha256(place.encode()).hexdigest()} {place[-30:]}"


def tell(options: StreamReadOptions, mark: int) -> None:
    """Acknowledge the last batch too: Spark has committed it, and tells a source only when it plans
    another."""
    from redial.spark.acknowledge import acknowledge
    from redial.spark.retrying import ask

    doing = "acknowledging the last batch"
    ask(options, doing, doing, lambda connection: acknowledge(connection, options, mark))


def lands_all() -> bool:
    """Whether one AvailableNow query lands all there is.

    Before Spark 4.2 it is one batch, of as many rows as it may have or of those a killed run had
    begun: then another query follows until there is nothing left.
    """
    return find_spec("pyspark.sql.streaming.datasource") is not None


def follow(query: StreamingQuery, landed: Landed | None = None) -> bool:
    """Wait for the query's end and count what it lands. Whether an interrupt has stopped it, with the
    batch that was being written: the next run writes it again. Raises PipelineError."""
    from pyspark.errors import StreamingQueryException

    landed, cut = landed or Landed(), False
    try:
        with noted() as interrupted:
            while not query.awaitTermination(LOOK):
                landed.count(query)
                if cut := interrupted():
                    query.stop()
    except KeyboardInterrupt:  # the second one
        query.stop()
        cut = True
    except StreamingQueryException as error:
        raise stopped(error) from None
    landed.count(query)
    return cut


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
    where = parser.add_mutually_exclusive_group().add_argument
    where("--schema", default=SCHEMA, help="schema of the configuration (default: audit)")
    where("--config", help="a name in sql/configs or a path of a .toml: says the schema instead")
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
        help="name under which usp_AcknowledgeLanding hears how far the job is; default: one for "
        "each table, by its path; '' for none: then a purge may pass this job",
    )
    add(
        "--go-on-after-loss",
        action="store_true",
        help="where a purge has taken rows this job had not landed, warn and land the rest; default: "
        "fail, and name them",
    )
    add("--max-rows", type=int, help="rows of one batch, at most")
    add("--max-bytes", type=int, help="bytes of bodies of one batch, at most, or one message")
    add("--partitions", type=int, default=2, help="ranges read side by side; default 2")
    begin = parser.add_mutually_exclusive_group().add_argument
    begin(
        "--starting-mark",
        help="where a first run begins: earliest (default), latest or a mark such as "
        "0x00000000000007D1",
    )
    begin(
        "--starting-timestamp",
        help="or a time like 2026-11-26T08:00:00Z: nothing that landed then or later, and is still there, is "
        "left out",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(answer())
