"""Landings without a server: a directory that Spark reads as a stream of micro-batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from redial.spark.land import Landing, follow, start
from redial.spark.sources import files
from redial.spark.tables import KINDS
from tests.sampling import full

SCHEMA = "mark binary, conversation string, sequence long, type string, landed timestamp"
BATCHES, ROWS = 3, 8
WHOLE = Counter(range(BATCHES * ROWS))
"""Each row once."""
MIDDLE = "in the middle of the write"
POINTS = ("before the write", MIDDLE, "after the write")
TRIED = tuple(KINDS) if full() else tuple(kind for kind in KINDS if kind != "delta-spark")
"""Kinds of table that this run tries."""


class Stopped(Exception):
    """Stands for the process going away."""


def stream(spark, source):
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2)
    return reader.parquet(f"{source}/*")


def land_all(spark, source, landing: Landing, place: Path) -> None:
    follow(start(stream(spark, source), landing, f"{place}/checkpoint"))


def landed(spark, path) -> Counter:
    return Counter(row.sequence for row in files(spark, str(path)).select("sequence").collect())


def stops(point: str, batch: int):
    """A hook that ends the job there, once."""

    def hook(at, number, rows):
        if number == batch and at == point:
            raise Stopped(f"{point} of batch {batch}")
        if number == batch and at == "before the write" and point == MIDDLE:
            return rows.where(_fails(rows))
        return rows

    return hook


def _fails(rows):
    """Fails the tasks that come to conversation C1, when others have written their files."""
    from pyspark.sql import functions as f

    bad = f.raise_error(f.lit("stopped in the middle of the write")).cast("boolean")
    return f.when(f.col("conversation") == "C1", bad).otherwise(f.lit(True))
