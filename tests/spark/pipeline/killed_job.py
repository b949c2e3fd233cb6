"""A landing job in a process of its own that is killed (SIGKILL) at a named point of batch 1.

``python -m tests.spark.pipeline.killed_job SOURCE TARGET KIND CHECKPOINT POINT``; point '' is never.
"""

from __future__ import annotations

import os
import signal
import sys

from redial.spark.land import Landing, follow, start
from redial.spark.session import spark_session
from redial.spark.tables import table
from tests import delta_spark
from tests.sampling import SMALL
from tests.spark.pipeline.landing import MIDDLE, stream


def killing(point: str):
    driver = os.getpid()

    def kill_in_a_task(batches):
        for batch in batches:
            if "C1" in batch.column("conversation").to_pylist():
                os.kill(driver, signal.SIGKILL)
            yield batch

    def hook(at, number, rows):
        if number == 1 and at == point:
            os.kill(driver, signal.SIGKILL)
        if number == 1 and at == "before the write" and point == MIDDLE:
            return rows.mapInArrow(kill_in_a_task, rows.schema)
        return rows

    return hook


if __name__ == "__main__":
    source, target, kind, checkpoint, point = sys.argv[1:]
    by_spark = kind == "delta-spark"
    jars, more = ([delta_spark.jars()], delta_spark.SETTINGS) if by_spark else ([], {})
    spark = spark_session("killed", jars=jars, settings=SMALL | more)
    landing = Landing(table(kind, target), killing(point))
    follow(start(stream(spark, source), landing, checkpoint))
