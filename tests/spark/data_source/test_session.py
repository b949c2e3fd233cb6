"""The data source inside Spark: one session, the embedded broker, real ODBC."""

from __future__ import annotations

import datetime
import os
import uuid

import pytest

pytestmark = [pytest.mark.driver, pytest.mark.jvm]
TYPE = "//redial/audit/event"


@pytest.fixture
def job() -> str:
    return f"job {uuid.uuid4()}"


def read(spark, lab, since: str, **more: str):
    """What landed since a mark, and nothing after now."""
    options = lab.options(startingMark=since) | more
    return spark.read.format("servicebroker").options(**options).load()


def write(frame, lab, schema: str = "audit", **more: str) -> None:
    options = lab.sending(schema) | more
    frame.write.format("servicebroker").options(**options).mode("append").save()


def numbers(spark, rows: int, parts: int = 2):
    """A DataFrame whose bodies are 0, 1, 2 ..."""
    frame = spark.range(0, rows, 1, parts)
    return frame.selectExpr("CAST(CAST(id AS string) AS binary) AS body")


# --- batch -------------------------------------------------------------------------------------


def test_a_dataframe_goes_out_and_comes_back_in_order_of_its_keys(spark, lab, job):
    since = lab.mark()
    frame = spark.range(0, 40, 1, 2).selectExpr(
        "encode(to_json(struct(id, id * 2 AS twice)), 'UTF-8') AS body",
        "concat('order ', id % 4) AS key",
    )
    in_order = frame.repartition(2, "key").sortWithinPartitions("key", "body")
    write(in_order, lab, "orders", jobId=job)
    lab.landed(since, 40, "orders")
    back = read(spark, lab, since, schema="orders", numPartitions="2")
    decoded = back.selectExpr(
        "key", "key_seq", "from_json(CAST(body AS string), 'id INT, twice INT') AS event"
    ).orderBy("key", "key_seq")
    rows = [(r.key, r.key_seq, r.event.id, r.event.twice) for r in decoded.collect()]
    assert [r[2] for r in sorted(rows, key=lambda r: r[2])] == list(range(40))
    assert all(twice == 2 * number for *_, number, twice in rows)
    assert [seq for _, seq, *_ in rows] == [*range(1, 11)] * 4


def test_the_same_job_again_sends_nothing_and_another_one_everything(spark, lab, job):
    since = lab.mark()
    for name in (job, job, f"{job}, again"):
        write(numbers(spark, 6), lab, jobId=name)
    assert len(lab.landed(since, 12)) == 12
    assert lab.ledger(job) == [(0, 0, 0, 3), (0, 1, 0, 3)]


def test_without_a_job_id_each_run_is_a_job_of_its_own(spark, lab):
    since = lab.mark()
    for _ in range(2):
        write(numbers(spark, 2), lab)
    assert len(lab.landed(since, 4)) == 4


def test_a_killed_task_of_a_random_job_leaves_nothing_half_sent(spark, lab, job, tmp_path):
    """The first attempt has sent five rows when its worker is killed; the second makes others."""
    from pyspark.sql import functions as f

    killed = str(tmp_path / "killed")

    @f.udf("string")
    def made(number: int) -> str:
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        if number == 15 and not os.path.exists(killed):
            open(killed, "w").close()
            os.kill(os.getpid(), 9)
        return f"{attempt} {uuid.uuid4()}"

    since = lab.mark()
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
    try:
        frame = spark.range(0, 20, 1, 1).select(f.encode(made("id"), "UTF-8").alias("body"))
        write(frame, lab, jobId=job, batchRows="1")
        assert os.path.exists(killed)
        found = lab.landed(since, 20)
        assert len(found) == 20 and {body[:2] for body in found} == {b"1 "}
        with pytest.raises(Exception, match=r"50243") as caught:  # the job run again makes others
            write(frame, lab, jobId=job)
        assert f"Job {job}, batch 0, partition 0" in str(caught.value)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert len(lab.landed(since, 20)) == 20


def test_an_empty_dataframe_is_written_and_an_empty_range_read(spark, lab, job):
    write(numbers(spark, 0), lab, jobId=job)
    assert sum(n for *_, n in lab.ledger(job)) == 0
    assert read(spark, lab, lab.mark()).count() == 0


# --- what is wrong -----------------------------------------------------------------------------


def test_wrong_options_are_named_together_and_secrets_in_none_of_it(spark, lab):
    options = lab.options(password="hunter2", numPartitions="0", speed="high")
    frame = spark.read.format("servicebroker").options(**options)
    with pytest.raises(Exception, match=r"servicebroker options") as caught:
        frame.load().count()
    text = str(caught.value)
    assert "numPartitions: " in text and "speed: " in text and "hunter2" not in text


def test_a_plan_shows_no_secret(spark, lab, capsys):
    frame = read(spark, lab, lab.mark())
    frame.explain(extended=True)
    shown = capsys.readouterr().out + str(frame) + frame._jdf.queryExecution().toString()
    assert "BatchScan servicebroker" in shown
    assert lab.options()["password"] not in shown


def test_a_wrong_password_is_told_without_it(spark, lab):
    options = lab.options(password="wrong-hunter2")
    with pytest.raises(Exception, match=r"Login failed") as caught:
        spark.read.format("servicebroker").options(**options).load().count()
    assert "hunter2" not in str(caught.value)


def test_columns_that_cannot_be_sent_are_named_together(spark, lab):
    with pytest.raises(Exception, match=r"servicebroker options") as caught:
        write(spark.range(1).selectExpr("id", "'x' AS body", "1.5 AS key"), lab)
    for line in (
        "column id: is none of ours",
        "column body: is string; allowed: binary",
        "column key: is decimal",
    ):
        assert line in str(caught.value)


def test_what_was_sent_cannot_be_overwritten_and_the_schema_not_chosen(spark, lab):
    frame = numbers(spark, 1).write.format("servicebroker").options(**lab.sending())
    with pytest.raises(Exception, match=r"cannot be replaced|append"):
        frame.mode("overwrite").save()
    chosen = spark.read.format("servicebroker").schema("body string").options(**lab.options())
    with pytest.raises(Exception, match=r"schema: is fixed"):
        chosen.load().count()


# --- values ------------------------------------------------------------------------------------


def test_times_ids_and_bytes_are_the_same_in_every_session_time_zone(spark, lab):
    """2026-03-08 02:30 does not exist in New York, the session's zone; it does in UTC."""
    since = lab.mark()
    handle = "0D0E0F10-1112-1314-1516-1718191A1B1C"
    lab.sa.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body, "
        "LandedUtc) VALUES (?, 0, N'event', 0x00FF80, '2026-03-08T02:30:00.123');",
        handle,
    )
    frame = read(spark, lab, since).selectExpr(
        "unix_micros(landed) AS at",
        "handle",
        "hex(body) AS body",
        "body_bytes",
        "hex(mark) AS mark",
    )
    (row,) = frame.collect()
    at = datetime.datetime(2026, 3, 8, 2, 30, 0, 123000, datetime.UTC)
    assert row.at == int(at.timestamp() * 1_000_000)
    assert (row.handle, row.body, row.body_bytes) == (handle, "00FF80", 3)
    assert int(row.mark, 16) >= int(since, 16)


def test_bodies_are_decoded_by_sparks_own_functions_poison_rows_and_new_fields_too(spark, lab):
    """A body that cannot be read is a row with a NULL, never a stream that stops; a field that was
    added is NULL in the older bodies."""
    since = lab.mark()
    lab.land(b'{"id": 1}', b'{"id": 2, "added": "x"}', b"{poison", None, b'{"id": "no number"}')
    schema = "id INT, added STRING, wrong STRING"
    frame = (
        read(spark, lab, since)
        .selectExpr(
            "sequence",
            f"from_json(CAST(body AS string), '{schema}', "
            "map('columnNameOfCorruptRecord', 'wrong')) AS event",
        )
        .orderBy("sequence")
    )
    found = [r.event and (r.event.id, r.event.added, r.event.wrong) for r in frame.collect()]
    assert found == [
        (1, None, None),
        (2, "x", None),
        (None, None, "{poison"),
        None,
        (None, None, '{"id": "no number"}'),
    ]
    since = lab.mark()
    lab.land(b"<event><id>7</id></event>", "<event><id>8</id></event>".encode("utf-16"))
    frame = read(spark, lab, since).selectExpr(
        "from_xml(decode(body, if(hex(substr(body, 1, 2)) = 'FFFE', 'UTF-16', 'UTF-8')), 'id INT')"
        ".id AS id"
    )  # an xml value becomes UTF-16 with its mark (F-341)
    assert sorted(r.id for r in frame.collect()) == [7, 8]


def test_avro_bodies_are_decoded_where_sparks_avro_jar_is(spark, lab, avro):
    from pyspark.sql import functions as f

    schema = '{"type": "record", "name": "e", "fields": [{"name": "id", "type": "int"}]}'
    bodies = spark.range(3).select(
        avro.to_avro(f.struct(f.col("id").cast("int").alias("id")), schema).alias("body")
    )
    since = lab.mark()
    write(bodies, lab)
    lab.landed(since, 3)
    frame = read(spark, lab, since).select(avro.from_avro("body", schema).alias("event"))
    assert sorted(r.event.id for r in frame.collect()) == [0, 1, 2]
