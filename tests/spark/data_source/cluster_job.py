"""What a test submits to a cluster: send, read and, if told so, land; prints which executors did
what, as JSON.

Imports nothing of the tests, for it runs where only the package is.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from redial.spark import land
from redial.spark.session import spark_session


def executors(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """The folder of the executor that has each batch of rows, and how many they are."""
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"executor": [str(Path.cwd())], "rows": [batch.num_rows]})


def main(given: dict) -> dict:
    """Six messages in two partitions, read in two ranges, landed in a folder all can see."""
    spark = spark_session("cluster")
    bodies = spark.range(6, numPartitions=2).selectExpr(
        "CAST(CAST(id AS string) AS binary) AS body"
    )
    sent = bodies.write.format("servicebroker").options(**given["sending"])
    sent.option("jobId", given["job"]).mode("append").save()
    source = spark.read.format("servicebroker").options(**given["reading"])
    source = source.option("numPartitions", 2)
    rows: list = []
    while sum(row["rows"] for row in rows) < 6:
        rows = source.load().mapInArrow(executors, "executor string, rows long").collect()
    said = {
        "master": spark.sparkContext.master,
        "executors": sorted({row["executor"] for row in rows}),
        "read": sum(row["rows"] for row in rows),
    }
    if given["land"]:
        os.environ["REDIAL_SERVER"] = given["odbc"]  # not --server: Spark would keep it
        said["status"] = land.main(["--to", given["to"], "--partitions", "2"])
        said["landed"] = spark.read.parquet(given["to"]).count()
    return said


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
