"""The landing job: each message once, wherever it was stopped and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from redial.paths import ROOT
from redial.spark import errors
from redial.spark.errors import PipelineError
from redial.spark.land import READER_LONGEST, Landed, Landing, follow, reader_of, start
from redial.spark.sources import files
from redial.spark.tables import ParquetTable, table
from tests.sampling import full
from tests.spark.pipeline.logs import moment
from tests.waiting import HANGS

SCHEMA = "mark binary, conversation string, sequence long, type string, landed timestamp"
BATCHES, ROWS = 3, 8
MIDDLE = "in the middle of the write"
POINTS = ("before the write", MIDDLE, "after the write")


class Stopped(Exception):
    """Stands for the process going away."""


@pytest.fixture(scope="module")
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


def stream(spark, source):
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2)
    return reader.parquet(f"{source}/*")


def land_all(spark, source, landing, place):
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


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_stopped_at_every_point_and_started_again_each_row_is_there_once(
    spark, source, tmp_path, kind
):
    target = tmp_path / kind
    for point in POINTS:
        stopped = Landing(table(kind, str(target)), stops(point, 1))
        with pytest.raises(PipelineError, match="start it again with the same checkpoint"):
            land_all(spark, source, stopped, tmp_path)
    land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert landed(spark, target) == Counter(range(BATCHES * ROWS))


KILLS = [
    (kind, point)
    for kind in ("parquet", "delta")
    for point in sorted(POINTS, key=lambda point: point != MIDDLE)
]
"""The sample is the first: killed by a task, when other tasks have written their files."""


@pytest.mark.sampled(every=6, last=False)  # a Spark process for each, two with REDIAL_FULL
@pytest.mark.parametrize(("kind", "point"), KILLS)
def test_killed_at_every_point_and_started_again_each_row_is_there_once(
    spark, source, tmp_path, kind, point
):
    target = tmp_path / kind
    job = [
        sys.executable,
        "-m",
        "tests.spark.pipeline.killed_job",
        str(source),
        str(target),
        kind,
        str(tmp_path / "checkpoint"),
    ]
    killed = subprocess.run(
        [*job, point], cwd=ROOT, capture_output=True, timeout=HANGS, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    before = landed(spark, target)
    assert before < Counter(range(BATCHES * ROWS)) and before
    if full():
        done = subprocess.run([*job, ""], cwd=ROOT, capture_output=True, timeout=HANGS, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    else:  # the tests' own session goes on
        land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert landed(spark, target) == Counter(range(BATCHES * ROWS))


def test_a_connect_client_counts_the_same_rows(spark, source, tmp_path):
    """It is sent a query's progress without the totals: seen on 4.2.1, in test_connect.py's runs."""
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    counted, over_connect = Landed(), Landed()
    query = start(
        stream(spark, source), Landing(table("parquet", f"{tmp_path}/t")), f"{tmp_path}/c"
    )
    follow(query, counted)
    progress = [json.loads(one.json) for one in query.recentProgress]
    for one in progress:
        del one["numInputRows"], one["inputRowsPerSecond"], one["processedRowsPerSecond"]
    over_connect.count(
        SimpleNamespace(recentProgress=list(map(StreamingQueryProgress.fromJson, progress)))
    )
    assert counted.rows == over_connect.rows == BATCHES * ROWS
    assert counted.batches == over_connect.batches == BATCHES


def test_what_stops_it_is_two_lines_and_a_file_with_the_rest(spark, source, tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "user_log_path", lambda name: tmp_path / "logs")
    with pytest.raises(PipelineError) as caught:
        land_all(
            spark,
            source,
            Landing(table("parquet", f"{tmp_path}/t"), stops("after the write", 0)),
            tmp_path,
        )
    cause, step, rest = errors.shown(caught.value).splitlines()
    assert cause.startswith("landing: ") and cause.endswith("Stopped: after the write of batch 0")
    assert step.startswith("  Next: ")
    (kept,) = (tmp_path / "logs").iterdir()
    assert rest.endswith(str(kept)) and "Traceback" in kept.read_text(encoding="utf-8")
    monkeypatch.setattr(errors, "user_log_path", lambda name: kept / "below a file")
    assert len(errors.shown(caught.value).splitlines()) == 2


def test_a_reader_has_the_name_of_its_table_whatever_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        reader_of("lake/") == reader_of(str(tmp_path / "lake")) == f"redial-landing {tmp_path}/lake"
    )
    assert reader_of("s3a://bucket/lake/") == "redial-landing s3a://bucket/lake"
    long = reader_of("s3a://bucket/" + "x" * 200), reader_of("s3a://bucket/" + "x" * 201)
    assert len(set(long)) == 2 and all(len(name) <= READER_LONGEST for name in long)


def test_a_table_is_not_shared_by_queries(spark, source, tmp_path):
    first = Landing(table("parquet", str(tmp_path / "t")))
    follow(start(stream(spark, source), first, f"{tmp_path}/one"))
    second = Landing(table("parquet", str(tmp_path / "t")))
    with pytest.raises(PipelineError, match="belongs to query"):
        follow(start(stream(spark, source), second, f"{tmp_path}/two"))
    assert landed(spark, tmp_path / "t") == Counter(range(BATCHES * ROWS))


def test_a_day_is_a_partition_whatever_the_sessions_time_zone(spark, source, tmp_path):
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        rows = spark.read.schema(SCHEMA).parquet(f"{source}/*")
        ParquetTable(str(tmp_path / "t")).write(rows, lambda: "query", 7)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    days = {path.name: path for path in (tmp_path / "t" / "batch=7").glob("landed_date=*")}
    assert sorted(days) == ["landed_date=2026-03-01", "landed_date=2026-03-02"]
    first = spark.read.parquet(str(days["landed_date=2026-03-01"]))
    assert first.count() == 2 * ROWS
