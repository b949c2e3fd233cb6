"""Marks, ranges and Arrow batches; over ODBC, with PySpark's classes and without a JVM."""

from __future__ import annotations

import datetime
import logging
import sys
import uuid
from dataclasses import replace
from typing import ClassVar

import pytest

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

from pyspark_servicebroker.read import BatchReader, RangePartition  # noqa: E402
from pyspark_servicebroker.stream import StreamReader  # noqa: E402
from redial.spark.columns import COLUMNS  # noqa: E402
from redial.spark.connect import SourceError  # noqa: E402
from redial.spark.marks import Offset, StallWatch, refuse_another_table  # noqa: E402
from redial.spark.options import BatchReadOptions  # noqa: E402
from redial.spark.parsing import parse  # noqa: E402
from redial.spark.reading import Range, batches, read, to_arrow  # noqa: E402

pytestmark = pytest.mark.driver


class Limit:
    """Spark's ReadMaxRows, whichever version is installed."""

    def __init__(self, rows: int) -> None:
        self.max_rows = rows


@pytest.fixture
def stream(lab):
    """A reader of what lands from now on."""
    reader = StreamReader(lab.stream_options())
    yield reader
    reader.stop()


def bodies(reader, start, end) -> list[bytes]:
    """What tasks would read between two offsets, in the order of landing."""
    found = [
        row
        for part in reader.partitions(start, end)
        for batch in reader.read(part)
        for row in batch.to_pylist()
    ]
    return [row["body"] for row in sorted(found, key=lambda row: row["mark"])]


# --- marks -------------------------------------------------------------------------------------


LATE = """CREATE DATABASE late; ALTER DATABASE late SET READ_COMMITTED_SNAPSHOT ON;"""
LATE_TABLE = """
CREATE TABLE audit.Landing (RowVersion rowversion NOT NULL PRIMARY KEY, Id int IDENTITY NOT NULL,
    ConversationId uniqueidentifier NULL, ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NOT NULL, MessageType nvarchar(256) NOT NULL, Body varbinary(max) NULL,
    LandedUtc datetime2(3) NOT NULL DEFAULT (SYSUTCDATETIME()), ConversationKey nvarchar(200) NULL,
    KeySequence bigint NULL, MessageId uniqueidentifier NULL, SentUtc datetime2(3) NULL,
    SenderLogin nvarchar(128) NULL, SenderApp nvarchar(128) NULL, SenderHost nvarchar(128) NULL);"""


@pytest.fixture(scope="module")
def late(lab):
    """A database of row versions, where a reader does not wait for a writer: another session."""
    lab.sa.execute(LATE)

    def connect(autocommit: bool = True):
        found = lab.connect()
        found.execute("USE late;")
        found.autocommit = autocommit
        return found

    first = connect()
    first.execute("CREATE SCHEMA audit;")
    first.execute(LATE_TABLE)
    first.close()
    return connect


def insert(connection, body: bytes) -> None:
    connection.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body) "
        "VALUES (NEWID(), 0, N'event', ?);",
        body,
    )


def test_an_identity_offset_loses_a_late_commit_and_a_mark_does_not(lab, late):
    """T1 inserts a row, T2 inserts another and commits, both readers read, T1 commits, they read
    again. The row with the smaller number became visible last."""
    reader = StreamReader(lab.stream_options(database="late"))
    start = reader.initialOffset()
    writer, other, looker = late(autocommit=False), late(), late()
    by_identity: list[bytes] = []
    last = 0

    def read_by_identity(last: int) -> int:
        rows = looker.execute("SELECT Id, Body FROM audit.Landing WHERE Id > ?;", last).fetchall()
        by_identity.extend(bytes(body) for _, body in rows)
        return max([last, *(number for number, _ in rows)])

    insert(writer, b"late")
    insert(other, b"early")
    middle = reader.latestOffset(start)
    by_mark = bodies(reader, start, middle)
    last = read_by_identity(last)
    writer.commit()
    end = reader.latestOffset(middle)
    by_mark += bodies(reader, middle, end)
    read_by_identity(last)
    assert by_identity == [b"early"]  # b"late", with the smaller number, is lost
    assert by_mark == [b"late", b"early"]
    for connection in (writer, other, looker):
        connection.close()
    reader.stop()


def test_a_stalled_mark_is_reported_with_its_oldest_session(lab, stream, caplog):
    """Rows land, and the mark stands: an open transaction has a rowversion below theirs."""
    now = [0.0]
    stream.watch = StallWatch(60, clock=lambda: now[0])
    start = stream.initialOffset()
    holder = lab.connect(autocommit=False)
    lab.land(b"held back", connection=holder)
    session = holder.execute("SELECT @@SPID;").fetchone()[0]
    lab.land(b"waits")
    with caplog.at_level(logging.WARNING, "pyspark_servicebroker"):
        assert stream.latestOffset(start) == start
        assert not caplog.records
        now[0] = 61.0
        assert stream.latestOffset(start) == start
    (record,) = caplog.records
    assert f"session {session} (sa" in record.message and f"KILL {session}" in record.message
    stream.options = stream.options.model_copy(update={"stalled_mark": "fail"})
    now[0] = 122.0
    with pytest.raises(SourceError, match=f"session {session}"):
        stream.latestOffset(start)
    holder.commit()
    holder.close()
    assert bodies(stream, start, stream.latestOffset(start)) == [b"held back", b"waits"]


def test_a_quiet_table_is_no_stalled_mark(stream, caplog):
    now = [0.0]
    stream.watch = StallWatch(60, clock=lambda: now[0])
    start = stream.initialOffset()
    for seconds in (0.0, 100.0, 200.0):
        now[0] = seconds
        assert stream.latestOffset(start) == start
    assert not caplog.records


def test_without_the_right_to_see_sessions_the_report_says_which(lab, stream, caplog):
    login = "CREATE LOGIN reader1 WITH PASSWORD = 'R34der!pass'; CREATE USER reader1;"
    lab.sa.execute(login + " ALTER ROLE audit_reader ADD MEMBER reader1;")
    now = [0.0]
    own = StreamReader(lab.stream_options(user="reader1", password="R34der!pass", reader="r1"))
    own.watch = StallWatch(60, clock=lambda: now[0])
    start = own.initialOffset()
    holder = lab.connect(autocommit=False)
    lab.land(b"held back", connection=holder)
    lab.land(b"waits")
    own.latestOffset(start)
    now[0] = 61.0
    own.latestOffset(start)
    assert "needs VIEW SERVER STATE" in caplog.records[-1].message
    holder.rollback()
    holder.close()
    assert bodies(own, start, own.latestOffset(start)) == [b"waits"]
    own.stop()


# --- offsets -----------------------------------------------------------------------------------


def test_a_copy_with_another_broker_is_refused_by_name(lab, late, stream):
    start = stream.initialOffset()
    reader = StreamReader(lab.stream_options(database="late"))
    with pytest.raises(SourceError, match=start["broker"] + ".*restored WITH NEW_BROKER"):
        reader.partitions(start, start)
    with pytest.raises(SourceError, match=r"new checkpointLocation"):
        reader.latestOffset(start)
    reader.stop()


def test_a_database_restored_to_an_earlier_time_is_refused_by_name():
    before, after = Offset("G", "audit", 2000), Offset("G", "audit", 1000)
    refuse_another_table(after, before)
    with pytest.raises(SourceError, match=r"0x00000000000007D0 is above.*restored to an earlier"):
        refuse_another_table(before, after)


def test_an_offset_that_is_none_of_ours_is_refused():
    with pytest.raises(SourceError, match=r"is none of ours"):
        Offset.of({"seq": "12"})


def test_a_batch_has_at_most_as_many_rows_as_it_may(lab, stream):
    start = stream.initialOffset()
    lab.land(*(b"%d" % n for n in range(5)))
    first = stream.latestOffset(start, Limit(2))
    second = stream.latestOffset(first, Limit(2))
    third = stream.latestOffset(second, Limit(2))
    assert [
        len(bodies(stream, *ends)) for ends in ((start, first), (first, second), (second, third))
    ] == [2, 2, 1]
    assert stream.latestOffset(third, Limit(2)) == third
    assert bodies(stream, first, second) == [b"2", b"3"]  # again, as after a restart


def test_available_now_ends_where_it_began(lab, stream):
    start = stream.initialOffset()
    lab.land(b"before")
    stream.prepareForTriggerAvailableNow()
    lab.land(b"after")
    end = stream.latestOffset(start, None)
    assert bodies(stream, start, end) == [b"before"]
    assert stream.latestOffset(end, None) == end


def test_spark_before_4_2_says_nothing_and_the_limit_holds_all_the_same(lab):
    """4.0 and 4.1 call latestOffset() without arguments, before initialOffset; after a restart
    they plan (last, last) first."""
    options = lab.stream_options(startingMark=lab.mark(), maxMessagesPerTrigger="2")
    lab.land(*(b"%d" % n for n in range(3)))
    reader = StreamReader(options)
    first = reader.latestOffset()
    start = reader.initialOffset()
    second = reader.latestOffset()
    assert [len(bodies(reader, *ends)) for ends in ((start, first), (first, second))] == [2, 1]
    reader.stop()
    restarted = StreamReader(options)
    restarted.partitions(first, first)
    assert restarted.latestOffset() == second
    restarted.stop()


def test_what_is_committed_is_acknowledged_as_a_lower_bound(lab):
    reader = StreamReader(lab.stream_options(reader="lower bound"))
    mark = "SELECT UpTo FROM audit.LandingAcknowledged WHERE Reader = N'lower bound';"

    def acknowledged() -> str:
        ((found,),) = lab.rows(mark)
        return "0x" + bytes(found).hex().upper()

    start = reader.initialOffset()
    assert acknowledged() == start["mark"]  # from now on nothing it has not read is purged
    lab.land(b"a")
    end = reader.latestOffset(start)
    assert acknowledged() == start["mark"]
    reader.commit(end)
    assert acknowledged() == end["mark"]
    reader.stop()


def test_a_lost_connection_is_opened_again(lab, stream):
    start = stream.initialOffset()
    session = stream.connection.execute("SELECT @@SPID;").fetchone()[0]
    lab.sa.execute(f"KILL {session};")
    lab.land(b"a")
    assert bodies(stream, start, stream.latestOffset(start)) == [b"a"]


# --- batches -----------------------------------------------------------------------------------


def test_partitions_hold_every_row_once(lab):
    start = lab.mark()
    lab.land(*(b"%d" % n for n in range(10)))
    options = parse(BatchReadOptions, lab.options(startingMark=start, numPartitions="3"))
    reader = BatchReader(options)
    parts = reader.partitions()
    lab.land(b"after planning")
    found = [row["body"] for p in parts for b in reader.read(p) for row in b.to_pylist()]
    assert len(parts) == 3 and sorted(found) == [b"%d" % n for n in range(10)]


def test_an_empty_range_is_one_partition_without_rows(lab):
    reader = BatchReader(parse(BatchReadOptions, lab.options(startingMark="latest")))
    (part,) = reader.partitions()
    assert list(reader.read(part)) == []
    backwards = RangePartition(10, 5)
    assert list(reader.read(backwards)) == []


def test_values_come_out_as_they_are(lab, way):
    start = lab.mark()
    ids = [str(uuid.UUID(int=n)).upper() for n in (1, 2)]
    lab.sa.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body, "
        "LandedUtc, KeySequence, ConversationKey, MessageId, SentUtc, SenderLogin) VALUES "
        "(?, 9223372036854775807, N'tüp', 0x00FF, '2026-03-29T01:30:00.123', 7, N'Ω''', ?, "
        "'0001-01-01', N'домен\\user');",
        *ids,
    )
    options = parse(BatchReadOptions, lab.options())
    (batch,) = read(options, Range(int(start, 16), 2**63))
    (row,) = batch.to_pylist()
    utc = datetime.UTC
    assert row | {"mark": b""} == {
        "mark": b"",
        "conversation": None,
        "handle": ids[0],
        "sequence": 2**63 - 1,
        "type": "tüp",
        "key": "Ω'",
        "key_seq": 7,
        "message_id": ids[1],
        "sent": datetime.datetime(1, 1, 1, tzinfo=utc),
        "landed": datetime.datetime(2026, 3, 29, 1, 30, 0, 123000, utc),
        "sender_login": "домен\\user",
        "sender_app": None,
        "sender_host": None,
        "body_bytes": 2,
        "body": b"\x00\xff",
    }
    assert row["mark"] >= bytes.fromhex(start[2:])


def test_the_types_are_exactly_those_spark_asks_for():
    from pyspark.sql import types
    from pyspark.sql.pandas.types import to_arrow_schema

    kinds = {
        "binary": types.BinaryType,
        "string": types.StringType,
        "bigint": types.LongType,
        "timestamp": types.TimestampType,
    }
    wanted = types.StructType([types.StructField(n, kinds[k]()) for n, k, _ in COLUMNS])
    row = to_arrow([(b"", *[None] * 12, 0, None)], COLUMNS, COLUMNS)
    try:
        schema = to_arrow_schema(wanted, timezone="UTC")
    except TypeError:  # before 4.2
        schema = to_arrow_schema(wanted)
    assert row.schema.equals(schema)


class Declared:
    """A cursor whose rows declare a length; SELECT leaves the body itself out."""

    LENGTH: ClassVar[int] = 2**31 - 1

    def __iter__(self):
        handle = str(uuid.UUID(int=1))
        yield (b"\0" * 8, None, handle, 4, "t", *[None] * 8, self.LENGTH, None)


def test_a_declared_length_of_two_gigabytes_is_refused_by_name_or_kept_out(lab):
    options = lab.stream_options()
    with pytest.raises(SourceError, match=r"message 4 of conversation .* 2,147,483,647 bytes"):
        list(batches(Declared(), options))
    kept = options.model_copy(update={"oversized_bodies": "null"})
    ((_, batch),) = batches(Declared(), kept)
    assert batch.to_pylist()[0]["body_bytes"] == Declared.LENGTH


def test_a_longer_body_than_allowed_is_not_fetched(lab):
    start = lab.mark()
    lab.land(b"short", b"x" * 100)
    options = parse(BatchReadOptions, lab.options(maxBodyBytes="50", oversizedBodies="null"))
    rows = [row for b in read(options, Range(int(start, 16), 2**63)) for row in b.to_pylist()]
    assert [(row["body"], row["body_bytes"]) for row in rows] == [(b"short", 5), (None, 100)]
    strict = options.model_copy(update={"oversized_bodies": "fail"})
    with pytest.raises(SourceError, match=r"100 bytes, above maxBodyBytes = 50"):
        list(read(strict, Range(int(start, 16), 2**63)))


def test_batches_are_bounded_in_bytes(lab, monkeypatch):
    from redial.spark import reading

    monkeypatch.setattr(reading, "BATCH_BYTES", 10)
    monkeypatch.setitem(sys.modules, "arrow_odbc", None)
    start = lab.mark()
    lab.land(*[b"x" * 6] * 5)
    options = parse(BatchReadOptions, lab.options())
    found = list(read(options, Range(int(start, 16), 2**63)))
    assert [batch.num_rows for batch in found] == [2, 2, 1]


def test_without_the_right_to_read_the_role_is_named(lab):
    lab.sa.execute("CREATE LOGIN blind WITH PASSWORD = 'Bl1nd!pass'; CREATE USER blind;")
    options = parse(BatchReadOptions, lab.options(user="blind", password="Bl1nd!pass"))
    with pytest.raises(SourceError, match=r"reader role") as caught:
        list(read(options, Range(0, 2**63)))
    assert caught.value.number == 229


def test_a_server_that_is_away_is_named(lab):
    options = parse(BatchReadOptions, lab.options() | {"server": "127.0.0.1,1"})
    options = options.model_copy(update={"login_timeout": 1, "retry_seconds": 0})
    with pytest.raises(SourceError, match=r"127.0.0.1,1 as sa: .*can be reached") as caught:
        BatchReader(options).partitions()
    assert caught.value.number is None or caught.value.number != 18456


def test_offsets_are_plain_text_as_checkpoints_keep_them():
    offset = Offset("G", "audit", 2001)
    assert offset.to_dict() == {"broker": "G", "schema": "audit", "mark": "0x00000000000007D1"}
    assert Offset.of(offset.to_dict()) == offset == replace(offset)
