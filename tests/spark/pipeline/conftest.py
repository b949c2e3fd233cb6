"""A source of micro-batches, and the kinds of table they are landed to."""

from __future__ import annotations

import os

import pytest

from tests.spark.pipeline.landing import BATCHES, ROWS, SCHEMA, TRIED
from tests.spark.pipeline.logs import moment


@pytest.fixture(scope="package")
def source(spark, tmp_path_factory):
    """A directory a file stream reads as BATCHES micro-batches over two days of landing."""
    directory = tmp_path_factory.mktemp("landing")
    for batch in range(BATCHES):
        rows = [
            (
                (1 + batch * ROWS + n).to_bytes(8, "big"),
                f"C{n % 2}",
                batch * ROWS + n,
                "event",
                moment(43_200 * batch + n),
            )
            for n in range(ROWS)
        ]
        frame = spark.createDataFrame(rows, SCHEMA).repartition(2, "conversation")
        frame.write.parquet(str(directory / f"f{batch}"))
        for file in (directory / f"f{batch}").glob("*.parquet"):
            os.utime(file, (batch, batch))  # the stream takes them by age
    return directory


@pytest.fixture(params=TRIED)
def kind(request, spark, jars) -> str:
    """Each kind of table; delta-spark is skipped, with the reason, where its jars are not."""
    why_not = jars.get(request.param, "")
    if why_not.startswith(" "):
        pytest.skip(why_not.strip())
    return request.param
