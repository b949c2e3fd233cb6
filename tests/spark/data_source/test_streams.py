"""Streams in and out, restarted, replayed and empty."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.waiting import HANGS

pytestmark = [pytest.mark.driver, pytest.mark.jvm]

ADMITS = find_spec("pyspark") and find_spec("pyspark.sql.streaming.datasource")
LIMITED = [2, 2, 1] if ADMITS else [2]
"""Rows of the batches of five under a limit of two: before 4.2 AvailableNow is one batch."""


def landing_stream(spark, lab, since: str, folder: Path, **more: str):
    """One AvailableNow run of the landing table into Parquet; its progress."""
    options = lab.options(startingMark=since) | more
    query = (
        spark.readStream.format("servicebroker")
        .options(**options)
        .load()
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(HANGS)
    return query


def sending_stream(spark, lab, folder: Path, **more: str):
    """One AvailableNow run of a folder of JSON lines, a file a batch, into messages."""
    options = lab.sending(**more)
    query = (
        spark.readStream.schema("body STRING")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "in"))
        .selectExpr("CAST(body AS binary) AS body")
        .writeStream.format("servicebroker")
        .options(**options)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(HANGS)
    return query


def file_of(folder: Path, name: str, *bodies: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text("".join(json.dumps({"body": b}) + "\n" for b in bodies))


def forget_last_batch(folder: Path) -> None:
    """As a driver that was killed after its tasks and before the commit log: the batch again."""
    commits = folder / "checkpoint" / "commits"
    last = max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
    for path in (commits / str(last), commits / f".{last}.crc"):
        path.unlink(missing_ok=True)


def read_back(spark, folder: Path) -> list[bytes]:
    return sorted(bytes(r.body) for r in spark.read.parquet(str(folder / "out")).collect())


def another_broker(lab, folder: Path) -> None:
    """The checkpoint's offsets as a database with another broker guid would have written them."""
    guid = lab.value(
        "CONVERT(char(36), service_broker_guid) FROM sys.databases WHERE database_id = DB_ID()"
    )
    for path in (folder / "checkpoint" / "offsets").iterdir():
        if path.name.isdigit():
            path.write_text(path.read_text().replace(guid, "0" * 8 + guid[8:]))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_every_row_arrives_once_over_limits_restarts_and_replays(spark, lab, tmp_path):
    """1 batches of two; 2 the last one again, without what landed since, which is the next; 3
    nothing new; 4 the database is another one, as after a restore WITH NEW_BROKER."""
    since = lab.mark()
    lab.land(*(b"%d" % n for n in range(5)))
    query = landing_stream(spark, lab, since, tmp_path, maxMessagesPerTrigger="2", reader="once")
    assert [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]] == LIMITED

    forget_last_batch(tmp_path)
    lab.land(b"5", b"6")
    landing_stream(spark, lab, since, tmp_path, numPartitions="2")
    expected = [b"%d" % n for n in range(7)]
    if LIMITED == [2]:  # what was left over, and AvailableNow is one batch: the replay
        landing_stream(spark, lab, since, tmp_path)
    assert read_back(spark, tmp_path) == expected

    empty = landing_stream(spark, lab, since, tmp_path)
    assert sum(p["numInputRows"] for p in empty.recentProgress) == 0
    assert read_back(spark, tmp_path) == expected

    another_broker(lab, tmp_path)
    with pytest.raises(Exception, match=r"restored WITH NEW_BROKER"):
        landing_stream(spark, lab, since, tmp_path)


def test_a_replayed_batch_sends_nothing_twice_and_nothing_else(spark, lab, tmp_path):
    """1 a batch; 2 it is run again, then the next; 3 that one is run again and its source has
    changed under the checkpoint: neither run is the right one, and it fails by name."""
    since = lab.mark()
    file_of(tmp_path, "1.json", "a", "b")
    sending_stream(spark, lab, tmp_path)

    forget_last_batch(tmp_path)
    file_of(tmp_path, "2.json", "c")
    sending_stream(spark, lab, tmp_path)
    assert sorted(lab.landed(since, 3)) == [b"a", b"b", b"c"]
    metadata = json.loads((tmp_path / "checkpoint" / "metadata").read_text())
    assert {batch for batch, *_ in lab.ledger(f"stream {metadata['id']}")} == {0, 1}

    forget_last_batch(tmp_path)
    file_of(tmp_path, "2.json", "z")
    with pytest.raises(Exception, match=r"50243.*batch 1"):
        sending_stream(spark, lab, tmp_path)
    assert sorted(lab.landed(since, 3)) == [b"a", b"b", b"c"]


def test_a_stream_cannot_be_given_a_job_id(spark, lab, tmp_path):
    file_of(tmp_path, "1.json", "a")
    with pytest.raises(Exception, match=r"jobId: is an option of df.write"):
        sending_stream(spark, lab, tmp_path, jobId="x")
