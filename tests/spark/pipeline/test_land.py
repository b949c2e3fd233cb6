"""The landing job: each message once, wherever it was stopped and started again."""

from __future__ import annotations

import json
import shutil
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
from redial.spark.tables import OWNER, ParquetTable, table
from tests.sampling import full
from tests.spark.pipeline.landing import (
    BATCHES,
    MIDDLE,
    POINTS,
    ROWS,
    SCHEMA,
    TRIED,
    WHOLE,
    land_all,
    landed,
    stops,
    stream,
)
from tests.waiting import HANGS


def test_stopped_at_every_point_and_started_again_each_row_is_there_once(
    spark, source, tmp_path, kind
):
    """And whoever reads in between sees whole batches."""
    target = tmp_path / kind
    for point in POINTS:
        stopped = Landing(table(kind, str(target)), stops(point, 1))
        with pytest.raises(PipelineError, match="start it again with the same checkpoint"):
            land_all(spark, source, stopped, tmp_path)
        batches = 2 if point == "after the write" else 1
        assert landed(spark, target) == Counter(range(batches * ROWS))
    land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert landed(spark, target) == WHOLE


def test_a_batch_whose_commit_is_missing_is_run_again_and_adds_nothing(
    spark, source, tmp_path, kind
):
    """The checkpoint's last commit, then all of them."""
    target = tmp_path / kind
    land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    for gone in (f"{BATCHES - 1}", "[0-9]*"):
        for commit in [*commits.glob(gone), *commits.glob(f".{gone}.crc")]:
            commit.unlink()
        ran = []

        def sees(at, number, rows):
            ran.append((at, number))
            return rows

        land_all(spark, source, Landing(table(kind, str(target)), sees), tmp_path)
        assert ran == [(at, BATCHES - 1) for at in ("before the write", "after the write")]
        assert landed(spark, target) == WHOLE


KILLS = [
    (kind, point) for kind in TRIED for point in sorted(POINTS, key=lambda point: point != MIDDLE)
]
"""The sample is the first: killed by a task, when other tasks have written their files."""


@pytest.mark.sampled(every=9, last=False)  # a Spark process for each, two with REDIAL_FULL
@pytest.mark.parametrize(("kind", "point"), KILLS, indirect=["kind"])
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
    assert before in (Counter(range(ROWS)), Counter(range(2 * ROWS)))
    if full():
        done = subprocess.run([*job, ""], cwd=ROOT, capture_output=True, timeout=HANGS, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    else:  # the tests' own session goes on
        land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert landed(spark, target) == WHOLE


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


def test_a_table_is_not_shared_by_queries(spark, source, tmp_path, kind):
    first = Landing(table(kind, str(tmp_path / "t")))
    follow(start(stream(spark, source), first, f"{tmp_path}/one"))
    second = Landing(table(kind, str(tmp_path / "t")))
    with pytest.raises(PipelineError, match="belongs to query"):
        follow(start(stream(spark, source), second, f"{tmp_path}/two"))
    assert landed(spark, tmp_path / "t") == WHOLE


def test_a_checkpoint_does_not_go_on_in_another_directory(spark, source, tmp_path, kind):
    """Whether the first was removed or the second was meant: what it had landed would be missing."""
    reader = stream(spark, source)
    first = Landing(table(kind, str(tmp_path / "t")), stops("before the write", 1))
    with pytest.raises(PipelineError):
        follow(start(reader, first, f"{tmp_path}/checkpoint"))
    second = Landing(table(kind, str(tmp_path / "u")))
    with pytest.raises(
        PipelineError, match=r"has no _landing, and this checkpoint's query has landed.*Next"
    ):
        follow(start(reader, second, f"{tmp_path}/checkpoint"))
    assert not (tmp_path / "u").exists()
    third = Landing(table(kind, str(tmp_path / "t")))
    follow(start(reader, third, f"{tmp_path}/checkpoint"))
    assert landed(spark, tmp_path / "t") == WHOLE


def test_a_table_keeps_its_format(spark, source, tmp_path, kind):
    reader = stream(spark, source)
    form, other = ("parquet", "delta") if kind == "parquet" else ("delta", "parquet")
    first = Landing(table(kind, str(tmp_path / "t")), stops("before the write", 1))
    with pytest.raises(PipelineError):
        follow(start(reader, first, f"{tmp_path}/checkpoint"))
    with pytest.raises(PipelineError, match=rf"is a table of format {form}.*Next: --kind {form}"):
        second = Landing(table(other, str(tmp_path / "t")))
        follow(start(reader, second, f"{tmp_path}/checkpoint"))


def test_parquet_files_of_nobody_are_not_overwritten(spark, source, tmp_path):
    """1 a query lands; 2 somebody removes its checkpoint and its mark in the table; 3 a new query,
    whose batch 0 has other rows, is refused."""
    follow(
        start(stream(spark, source), Landing(table("parquet", f"{tmp_path}/t")), f"{tmp_path}/one")
    )
    shutil.rmtree(tmp_path / "t" / OWNER)
    again = Landing(table("parquet", f"{tmp_path}/t"))
    with pytest.raises(PipelineError, match=r"has Parquet files.*Next: an empty directory"):
        follow(start(stream(spark, source), again, f"{tmp_path}/two"))
    assert landed(spark, tmp_path / "t") == WHOLE
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "notes.txt").write_text("mine")
    with pytest.raises(PipelineError, match=r"has files that are no Parquet"):
        third = Landing(table("parquet", f"{tmp_path}/u"))
        follow(start(stream(spark, source), third, f"{tmp_path}/three"))


def test_a_day_is_a_partition_whatever_the_sessions_time_zone(spark, source, tmp_path):
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        rows = spark.read.schema(SCHEMA).parquet(f"{source}/*")
        ParquetTable(str(tmp_path / "t")).write(rows, lambda: "query", 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    days = {path.name: path for path in (tmp_path / "t" / "batch=0").glob("landed_date=*")}
    assert sorted(days) == ["landed_date=2026-03-01", "landed_date=2026-03-02"]
    first = spark.read.parquet(str(days["landed_date=2026-03-01"]))
    assert first.count() == 2 * ROWS
