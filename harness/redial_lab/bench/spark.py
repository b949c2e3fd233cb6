"""The delivery audit at scale, beside plain scans of the same rows.

``python -m redial_lab.bench.spark [ROWS]`` generates ROWS landed messages (100 million by default)
with known faults as the landing job keeps them, but without bodies, which an audit never reads;
audits them, and fails unless it finds exactly those faults. In the same run the same columns are
scanned from the same Parquet without any audit, and a landing table of the embedded broker is read
with plain ``spark.read.jdbc``: fewer rows, since the broker, not Spark, is what that measures.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from redial_lab.bench.memory import peak_mb

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Done = TypeVar("Done")

ROWS = 100_000_000
LENGTH = 1_000
"""Numbers of a dialog: 999 messages and EndOfStream."""

LIVE = 500
"""Dialogs that are sent on at one time, at most."""

RECEIVED = 50
"""Messages of one dialog landed at one moment."""

FAULTY = 20
"""Dialogs with each of the faults, at most."""

JDBC_ROWS = 20_000
DAY = 86_400_000
"""Milliseconds over which the generated messages land."""

EXACT_SHARE = 10
"""Every conversation of one row in so many is verified number by number."""

MEMORY = "4g"
"""Java heap of the session that audits."""


@dataclass(frozen=True)
class Faults:
    """What was put in, per dialog: the numbers of dialogs with each fault, and what must be found.

    1 loses number 500; 2 has 500 twice; 3 loses its last ten, EndOfStream with them; 4 lands 500
    later than the rest; 5 loses 300 and has 301 twice; 6 is open at 700.
    """

    each: int

    @property
    def expected(self) -> dict[str, int]:
        """Counts by the names of report.Report."""
        n = self.each
        return {"lost": n + 9 * n + n, "repeated": 2 * n, "late": n, "open": n}


def generate(spark: SparkSession, rows: int, place: Path) -> Faults:
    """Write ``place``/landed and ``place``/log. rows: rounded down to whole dialogs."""
    from pyspark.sql import functions as f

    dialogs = max(12, rows // LENGTH)
    stride = max(12, dialogs // FAULTY)
    faults = Faults(len(range(1, dialogs, stride)))
    names = spark.range(dialogs).select(
        f.col("id").alias("dialog"), _guid(f.col("id")).alias("conversation")
    )
    # Block after block of live dialogs; in a block RECEIVED messages of one, then of the next one.
    live = min(LIVE, dialogs)
    row, block = f.col("id"), f.lit(live * LENGTH)
    place_in_block = row % block
    turn = f.floor(place_in_block / RECEIVED)
    flat = (
        spark.range(-(-dialogs // live) * live * LENGTH)
        .select(
            (f.floor(row / block) * live + turn % live).alias("dialog"),
            (f.floor(turn / live) * RECEIVED + row % RECEIVED).alias("sequence"),
            f.floor(row / RECEIVED).alias("moment"),
        )
        .where(f.col("dialog") < dialogs)
    )
    fault = (f.col("dialog") % stride).alias("fault")
    spoilt = _spoilt(flat.withColumn("fault", fault), live)
    # Spread over a day; a message lands 5 ms and a random time after it was sent.
    blocks = -(-dialogs // live)
    turns = live * LENGTH // RECEIVED
    step = max(1, DAY // (blocks * turns))
    draw = (f.pmod(f.xxhash64("dialog", "sequence"), f.lit(10**6)) + 1) / 10**6
    latency = f.lit(5) + f.floor(-f.log(draw) * 200)
    landed = spoilt.join(f.broadcast(names), "dialog").select(
        "conversation",
        "sequence",
        f.when(f.col("sequence") == LENGTH - 1, "EndOfStream").otherwise("event").alias("type"),
        _at(f.col("moment") * step).alias("landed"),
        _at(f.col("moment") * step - latency).alias("sent"),
    )
    landed.write.parquet(str(place / "landed"))
    is_open = f.col("dialog") % stride == 6
    begun = f.floor(f.col("dialog") / live) * turns * step
    over = f.when(~is_open, _at(begun + (turns + f.col("dialog") % live) * step))
    names.select(
        f.col("conversation").alias("Handle"),
        f.col("conversation").alias("ConversationId"),
        f.lit(None).cast("string").alias("ConversationKey"),
        f.lit(None).cast("string").alias("ResendOf"),
        _at(begun).alias("BegunUtc"),
        over.alias("EndOfStreamUtc"),
        over.alias("EndedUtc"),
        f.when(~is_open, f.lit(LENGTH - 1)).cast("bigint").alias("Messages"),
        f.lit(None).cast("bigint").alias("Resent"),
    ).write.parquet(str(place / "log"))
    return faults


def _spoilt(rows: DataFrame, live: int) -> DataFrame:
    """Rows taken away, moved and doubled as ``Faults`` says. live: dialogs of a block."""
    from pyspark.sql import functions as f

    fault, number = f.col("fault"), f.col("sequence")
    gone = (
        (fault.isin(1) & (number == 500))
        | ((fault == 3) & (number >= LENGTH - 10))
        | ((fault == 5) & (number == 300))
        | ((fault == 6) & (number >= 700))
    )
    later = (fault == 4) & (number == 500)
    twice = ((fault == 2) & (number == 500)) | ((fault == 5) & (number == 301))
    copies = f.explode(f.when(twice, f.array(f.lit(0), f.lit(0))).otherwise(f.array(f.lit(0))))
    return (
        rows.where(~gone)
        .withColumn("moment", f.when(later, f.col("moment") + 3 * live).otherwise(f.col("moment")))
        .select("*", copies)
        .drop("col")
    )


def _guid(number: Column) -> Column:
    """A name as wide as a conversation id, the same for the same number."""
    from pyspark.sql import functions as f

    text = f.upper(f.md5(number.cast("string")))
    edges = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    return f.concat_ws("-", *(text.substr(start, size) for start, size in edges))


def _at(milliseconds: Column) -> Column:
    """A moment so many milliseconds into 2026."""
    from pyspark.sql import functions as f

    return f.timestamp_millis(f.lit(1_767_225_600_000) + milliseconds)


def measure(
    spark: SparkSession, rows: int, place: Path, tell: Callable[[str], None], exact: bool = True
) -> dict[str, float]:
    """Generate, scan, audit; with ``exact`` a part of it again, number by number.

    Raises RuntimeError when the audit finds other faults than were put in.
    """
    from redial.spark.audit import audit

    faults, seconds = _timed(lambda: generate(spark, rows, place))
    landed = spark.read.parquet(str(place / "landed"))
    log = spark.read.parquet(str(place / "log"))
    count = landed.count()
    size = sum(file.stat().st_size for file in place.rglob("*.parquet")) / 2**20
    tell(f"{count:,} rows generated in {seconds:.0f} s, {size:,.0f} MB of Parquet")
    found = {"spark.rows": float(count), "spark.scale": count / ROWS}
    _, seconds = _timed(lambda: landed.write.format("noop").mode("overwrite").save())
    found["spark.parquet_scan_rows_per_s"] = count / seconds
    tell(f"plain scan of its columns: {seconds:.1f} s")
    report, seconds = _timed(lambda: audit(landed, log, label="generated"))
    found["spark.audit_rows_per_s"] = count / seconds
    tell(f"audit (screen, suspects exactly, profile): {seconds:.1f} s; {report.verdict()}")
    wrong = {k: v for k, v in faults.expected.items() if getattr(report, k) != v}
    if wrong:
        raise RuntimeError(f"the audit should have found {wrong}: {report.as_json()}")
    if exact:
        found["spark.audit_exact_rows_per_s"] = _exactly(landed, log, tell)
    return found


def _exactly(landed: DataFrame, log: DataFrame, tell: Callable[[str], None]) -> float:
    """Rows a second when every conversation is verified, over a part of them."""
    from redial.spark.audit import audit
    from redial.spark.judging import Rules

    share = log.sample(fraction=1 / EXACT_SHARE, seed=1).persist()
    part = landed.join(
        share.select("ConversationId").withColumnRenamed("ConversationId", "conversation"),
        "conversation",
        "left_semi",
    )
    exact, seconds = _timed(lambda: audit(part, share, rules=Rules(exact=True)))
    tell(f"every conversation exactly, {exact.landed:,} rows: {seconds:.1f} s")
    return exact.landed / seconds


def jdbc_rate(spark: SparkSession, rows: int, tell: Callable[[str], None]) -> float:
    """Rows a second of plain ``spark.read.jdbc`` over a landing table of the embedded broker."""
    from redial.spark.jar import DRIVER
    from redial.spark.ranges import rowversion_predicates
    from redial_broker.tds.process import BrokerProcess
    from redial_lab.bench.reads import fill

    with BrokerProcess() as broker:
        connection = fill(broker, rows)
        first, last = connection.execute(
            "SELECT MIN(l.RowVersion), MAX(l.RowVersion) FROM audit.Landing AS l;"
        ).fetchone()
        read = spark.read.jdbc(
            broker.jdbc,
            "[audit].[Landing]",
            predicates=rowversion_predicates(bytes(first), bytes(last), 2),
            properties={"driver": DRIVER, "fetchsize": "5000"},
        ).drop("Body")
        _, seconds = _timed(lambda: read.write.format("noop").mode("overwrite").save())
        connection.close()
    tell(f"plain spark.read.jdbc from the embedded broker, {rows:,} rows: {seconds:.1f} s")
    return rows / seconds


def _timed(work: Callable[[], Done]) -> tuple[Done, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def main(rows: int = ROWS, tell: Callable[[str], None] = print) -> dict[str, float]:
    """The whole load in a session of its own. Returns the figures by their stable names."""
    from redial.spark.jar import jdbc_jar
    from redial.spark.session import spark_session

    spark = spark_session(
        "redial-bench",
        jars=[jdbc_jar()],
        java_options="",
        settings={"spark.driver.memory": MEMORY, "spark.sql.shuffle.partitions": "16"},
    )
    place = Path(tempfile.mkdtemp(prefix="redial-bench-"))
    try:
        found = measure(spark, rows, place, tell)
        found["spark.jdbc_read_rows_per_s"] = jdbc_rate(spark, JDBC_ROWS, tell)
        jvm: Any = spark.sparkContext._jvm  # of Py4J: every name is some class of Java's
        java = jvm.java.lang.ProcessHandle.current().pid()
        found["spark.peak_memory_mb"] = peak_mb(java) + peak_mb()
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)
    return found


def command(arguments: list[str]) -> int:
    """Print every figure under its name. arguments: ROWS, or nothing."""
    rows = int(arguments[0].replace(",", "").replace("_", "")) if arguments else ROWS
    for name, value in main(rows, lambda line: print(line, flush=True)).items():
        print(f"{name} {value:,.4f}" if value < 1 else f"{name} {value:,.2f}")
    return 0


if __name__ == "__main__":
    from redial.spark.errors import status_of

    raise SystemExit(status_of(lambda: command(sys.argv[1:])))
