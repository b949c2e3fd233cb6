"""A job that uses secrets in every way, in a process of its own, and writes down all that is said.

``python -m tests.spark.data_source.secret_job`` with JSON on standard input: folder, settings of the
session, and steps of (way, options). In the folder are then Spark's event log, its log, the
checkpoints, and ``said.json`` with what each step printed or raised and what the REST interface says.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from pyspark.sql import SparkSession

PATHS = ("sql?details=true&planDescription=true&length=1000", "jobs", "stages", "environment")


class Job:
    """Each way of using the data source, by its name."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark = spark
        self.folder = folder
        self.steps = 0

    def sql(self, options: dict[str, str]) -> None:
        said = ", ".join(f"{name} '{value}'" for name, value in options.items())
        self.spark.sql(f"CREATE OR REPLACE TEMP VIEW v USING servicebroker OPTIONS ({said})")
        self.spark.sql("DESCRIBE EXTENDED v").show(100, False)
        self.spark.sql("EXPLAIN EXTENDED SELECT * FROM v").show(1, False)
        print(self.spark.sql("SELECT COUNT(*) FROM v").collect())

    def frame(self, options: dict[str, str]) -> None:
        rows = self.spark.read.format("servicebroker").options(**options).load()
        rows.explain(True)
        print(rows, rows.count())

    def stream(self, options: dict[str, str]) -> None:
        source = self.spark.readStream.format("servicebroker").options(**options).load()
        self._run(source.writeStream.format("noop"))

    def write(self, options: dict[str, str]) -> None:
        writer = self._bodies().write.format("servicebroker").options(**options)
        writer.mode("append").save()

    def write_stream(self, options: dict[str, str]) -> None:
        folder = Path(self.folder) / f"in-{self.steps}"
        folder.mkdir()
        (folder / "1.json").write_text('{"body": "x"}')
        source = self.spark.readStream.schema("body BINARY").json(str(folder))
        self._run(source.writeStream.format("servicebroker").options(**options))

    def _bodies(self) -> Any:
        return self.spark.range(2).selectExpr("encode('x', 'UTF-8') AS body")

    def _run(self, writer: Any) -> None:
        """A query, with all that it says of itself."""
        checkpoint = f"{self.folder}/checkpoint-{self.steps}"
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.explain(True)
            print(query.status, query.lastProgress, query.exception())

    def step(self, way: str, options: dict[str, str]) -> str:
        """What it printed, and the error it ended with."""
        self.steps += 1
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                run: Callable[[dict[str, str]], None] = getattr(self, way)
                run(options)
            except Exception as error:
                print("ERROR", error, repr(error))
        return said.getvalue()


def main() -> None:
    """Everything, then what the REST interface says of it."""
    given = json.load(sys.stdin)
    builder = SparkSession.builder.appName("secrets")
    for name, value in given["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    job = Job(spark, given["folder"])
    said = {f"{n} {way}": job.step(way, options) for n, (way, options) in enumerate(given["steps"])}
    if "spark.ui.port" in given["settings"]:
        context = spark.sparkContext
        base = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        for path in PATHS:
            name = f"REST {path.partition('?')[0]}"
            said[name] = urlopen(f"{base}/{path}").read().decode()
    spark.stop()
    (Path(given["folder"]) / "said.json").write_text(json.dumps(said, ensure_ascii=False))


if __name__ == "__main__":
    main()
