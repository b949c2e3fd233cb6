"""Where a read begins and ends, how much a batch may have, and how rows are divided."""

from __future__ import annotations

from itertools import chain

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark_servicebroker.read import BatchReader
from pyspark_servicebroker.stream import StreamReader
from redial.spark.connect import SourceError
from redial.spark.options import BatchReadOptions, OptionsError, StreamReadOptions
from redial.spark.parsing import parse
from redial.spark.readers import Known, begins, refuse_loss

pytestmark = pytest.mark.driver


@pytest.fixture
def stream(lab):
    """Makes a reader of what lands from now on."""
    made = []

    def make(**more: str) -> StreamReader:
        made.append(StreamReader(lab.stream_options(startingMark=lab.mark(), **more)))
        return made[-1]

    yield make
    for reader in made:
        reader.stop()


def parts_of(reader, parts) -> list[list[bytes]]:
    """Bodies of each partition."""
    return [
        [row["body"] for batch in reader.read(part) for row in batch.to_pylist()] for part in parts
    ]


def batch(lab, **more: str) -> list[list[bytes]]:
    reader = BatchReader(parse(BatchReadOptions, lab.options(**more)))
    return parts_of(reader, reader.partitions())


# --- partitions --------------------------------------------------------------------------------


def test_partitions_have_as_many_rows_each_wherever_the_rows_lie(lab):
    """Other tables' changes between our rows move the marks: nine rows at one end, one at the other."""
    start = lab.mark()
    lab.land(*(b"%d" % n for n in range(9)))
    lab.sa.execute("CREATE TABLE dbo.Busy (Id int NOT NULL, Changed rowversion NOT NULL);")
    lab.sa.execute("INSERT INTO dbo.Busy (Id) SELECT TOP (300) 1 FROM sys.all_objects;")
    lab.sa.execute("DROP TABLE dbo.Busy;")
    lab.land(b"9")
    found = batch(lab, startingMark=start, numPartitions="3")
    assert [len(part) for part in found] == [4, 4, 2]
    assert sorted(chain(*found)) == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize(("rows", "parts"), [(0, [0]), (1, [1]), (3, [1, 1, 1])])
def test_fewer_rows_than_partitions_are_a_partition_each(lab, rows, parts):
    start = lab.mark()
    lab.land(*(b"%d" % n for n in range(rows)))
    assert [len(p) for p in batch(lab, startingMark=start, numPartitions="8")] == parts


def test_a_batch_that_is_planned_again_has_the_same_partitions(lab, stream):
    first, again = stream(numPartitions="3"), stream(numPartitions="3")
    start = first.initialOffset()
    lab.land(*(b"%d" % n for n in range(7)))
    end = first.latestOffset(start)
    planned = parts_of(first, first.partitions(start, end))
    lab.land(b"later")
    assert parts_of(again, again.partitions(start, end)) == planned
    assert [len(part) for part in planned] == [3, 3, 1]


# --- what a batch may have ---------------------------------------------------------------------


def admitted(lab, reader, *sizes: int) -> list[list[int]]:
    """Bytes of the bodies, batch by batch, until nothing is left."""
    start = reader.initialOffset()
    lab.land(*(b"x" * size or None for size in sizes))
    found = []
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        ((part),) = parts_of(reader, reader.partitions(start, end))
        found.append([len(body or b"") for body in part])
        start = end
    return found


def test_a_batch_has_at_most_as_many_bytes_as_it_may(lab, stream):
    reader = stream(maxBytesPerTrigger="10")
    assert admitted(lab, reader, 4, 6, 1, 0, 9, 10, 0) == [[4, 6], [1, 0, 9], [10, 0]]


def test_a_message_that_alone_has_more_is_a_batch_of_its_own(lab, stream):
    reader = stream(maxBytesPerTrigger="10")
    assert admitted(lab, reader, 3, 30, 40, 5) == [[3], [30], [40], [5]]


def test_rows_and_bytes_bound_a_batch_together(lab, stream):
    reader = stream(maxBytesPerTrigger="10", maxMessagesPerTrigger="2")
    assert admitted(lab, reader, 1, 1, 1, 8, 2, 2) == [[1, 1], [1, 8], [2, 2]]


def test_spark_may_ask_for_everything_whatever_the_options_say(lab, stream):
    """Trigger.Once does."""
    everything = pytest.importorskip("pyspark.sql.streaming.datasource").ReadAllAvailable()
    reader = stream(maxBytesPerTrigger="10", maxMessagesPerTrigger="2")
    start = reader.initialOffset()
    lab.land(*[b"12345"] * 5)
    (part,) = parts_of(reader, reader.partitions(start, reader.latestOffset(start, everything)))
    assert len(part) == 5


# --- by time -----------------------------------------------------------------------------------


@pytest.fixture
def dated(lab):
    """Options of a read of four rows that landed at 8, 10, 9 and 11 o'clock of one day, in the order
    of their marks. No other row is of that day or later."""
    later = "DELETE FROM audit.Landing WHERE LandedUtc >= '20310501';"
    lab.sa.execute(later)
    start = lab.mark()
    for hour in (8, 10, 9, 11):
        lab.land(b"%d" % hour)
        lab.sa.execute(
            "UPDATE audit.Landing SET LandedUtc = DATETIMEFROMPARTS(2031, 5, 1, ?, 0, 0, 0) "
            "WHERE RowVersion = (SELECT MAX(RowVersion) FROM audit.Landing);",
            hour,
        )
    yield {"startingMark": start}
    lab.sa.execute(later)


DAY = "2031-05-01T"


@pytest.mark.parametrize(
    ("since", "bodies"),
    [
        (DAY + "08:00:00Z", [b"8", b"10", b"9", b"11"]),
        (DAY + "08:00:00.001Z", [b"10", b"9", b"11"]),
        (DAY + "09:30:00", [b"10", b"9", b"11"]),
        (DAY + "12:30:00+02:00", [b"11"]),
        ("2031-05-02", []),
    ],
)
def test_nothing_that_landed_then_or_later_is_left_out(lab, dated, since, bodies):
    assert list(chain(*batch(lab, startingTimestamp=since))) == bodies


@pytest.mark.parametrize(
    ("until", "bodies"),
    [
        (DAY + "08:00:00Z", []),
        (DAY + "09:00:00.000001Z", [b"8", b"10", b"9"]),
        (DAY + "10:30:00Z", [b"8", b"10", b"9"]),
        (DAY + "11:00:00.5Z", [b"8", b"10", b"9", b"11"]),
    ],
)
def test_nothing_that_landed_before_is_left_out(lab, dated, until, bodies):
    assert list(chain(*batch(lab, **dated, endingTimestamp=until))) == bodies


def test_the_first_and_the_last_day_of_the_calendar_are_times(lab):
    start = lab.mark()
    lab.land(b"one")
    begin, end = "0001-01-01", "9999-12-31T23:59:59.999999Z"
    assert list(chain(*batch(lab, startingTimestamp=begin, endingTimestamp=end)))[-1] == b"one"
    assert list(chain(*batch(lab, startingMark=start, endingTimestamp=begin))) == []


def test_a_row_that_a_purge_has_left_below_what_it_took_is_not_passed_over():
    """It is younger than its neighbours. So the read fails by default, and reads it otherwise."""
    given = {"server": "s", "database": "d", "schema": "audit"}
    purged = Known(gone=102, when="2031-05-01")
    by_time = parse(BatchReadOptions, given | {"startingTimestamp": "2031-05-01"})
    assert begins(by_time, 100, purged) == 100
    with pytest.raises(SourceError, match=r"0x0000000000000064 to below 0x0000000000000066"):
        refuse_loss(by_time, 100, purged)
    assert begins(parse(BatchReadOptions, given), 100, purged) == 102


def test_a_stream_begins_with_the_first_row_that_is_young_enough(lab, dated):
    options = parse(StreamReadOptions, lab.options(startingTimestamp=DAY + "10:00:00Z"))
    reader = StreamReader(options)
    start = reader.initialOffset()
    (part,) = parts_of(reader, reader.partitions(start, reader.latestOffset(start)))
    assert part == [b"10", b"9", b"11"]
    reader.stop()


ABOVE = "0x0FFFFFFFFFFFFFFF"


@pytest.mark.parametrize("option", ["startingMark", "endingMark"])
def test_a_mark_above_the_database_s_is_refused_by_its_option(lab, option):
    """A later read would begin there, and what lands meanwhile would be in none."""
    with pytest.raises(
        SourceError, match=rf"{option} = {ABOVE} is above .*Next: latest, or a mark"
    ):
        batch(lab, **{option: ABOVE})


def test_a_stream_that_begins_above_the_database_s_mark_is_no_matter_of_a_checkpoint(lab):
    reader = StreamReader(lab.stream_options(startingMark=ABOVE))
    with pytest.raises(SourceError, match=rf"startingMark = {ABOVE} is above"):
        reader.initialOffset()
    reader.stop()


def test_a_beginning_above_the_end_is_refused(lab):
    start, _, end = lab.mark(), lab.land(b"one"), lab.mark()
    with pytest.raises(SourceError, match=rf"startingMark {end} is above endingMark {start}"):
        batch(lab, startingMark=end, endingMark=start)
    assert batch(lab, startingMark=start, endingMark=start) == [[]]


def test_a_time_and_a_mark_are_one_too_many():
    given = {"server": "s", "database": "d", "schema": "audit"}
    both = {"startingMark": "latest", "startingTimestamp": "2031-05-01"}
    ends = {"endingMark": "latest", "endingTimestamp": "2031-05-01"}
    with pytest.raises(OptionsError) as caught:
        parse(BatchReadOptions, given | both | ends)
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "startingTimestamp",
        "endingTimestamp",
    ]


WRONG = ["yesterday", "1764144000", "2031-13-01", "2031-05-01T25:00", ""]
WRONG += ["0001-01-01T00:00:00+02:00", "9999-12-31T23:00:00-02:00"]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_time_is_refused_with_an_example(wrong):
    given = {"server": "s", "database": "d", "schema": "audit", "startingTimestamp": wrong}
    with pytest.raises(OptionsError, match=r"startingTimestamp.*2026-11-26T08:00:00Z"):
        parse(BatchReadOptions, given)
