"""How far a stream is behind, as its query's progress tells it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark_servicebroker.stream import StreamReader
from redial.spark import lag as lags
from redial.spark import retrying
from redial.spark.connect import SourceError
from redial.spark.lag import Lag
from redial.spark.marks import Offset, waiting_behind

from .test_streams import ADMITS, landing_stream

pytestmark = pytest.mark.driver


@pytest.fixture
def stream(lab):
    """A reader of what lands from now on, in batches of two rows."""
    reader = StreamReader(lab.stream_options(startingMark=lab.mark(), maxMessagesPerTrigger="2"))
    yield reader
    reader.stop()


def planned(stream) -> Lag:
    """The lag when the next batch was planned, and the batch before it is its beginning."""
    stream.latestOffset(stream.initialOffset())
    found = Lag.of(stream.reportLatestOffset())
    assert found is not None
    return found


def test_what_is_in_no_batch_yet_is_counted_from_the_oldest_on(lab, stream):
    start = stream.initialOffset()
    for number in range(5):
        lab.land(b"x" * number)
    oldest = "(SELECT TOP (1) RowVersion FROM audit.Landing WHERE LEN(Body) = {} ORDER BY 1 DESC)"
    for size, seconds in ((2, 90), (3, 30), (4, 10)):
        lab.sa.execute(
            f"UPDATE audit.Landing SET LandedUtc = DATEADD(second, -{seconds}, SYSUTCDATETIME()) "
            f"WHERE RowVersion = {oldest.format(size)};"
        )
    stream.latestOffset(start)
    found = Lag.of(stream.reportLatestOffset())
    assert (found.rows, found.bytes, round(found.seconds), found.held) == (3, 9, 80, "")
    assert 90 <= found.oldest < 90 + 600
    assert str(found).startswith("3 rows (9 bytes) behind, the oldest landed ")


def test_nothing_is_behind_when_all_is_in_a_batch(lab, stream):
    lab.land(b"a", b"b")
    found = planned(stream)
    assert (found.rows, found.bytes, found.seconds, found.oldest) == (0, 0, 0, 0)
    assert str(found) == "0 rows (0 bytes) behind"


def test_a_long_way_behind_is_not_counted_to_its_end(lab, stream, monkeypatch):
    monkeypatch.setattr(lags, "MOST", 2)
    lab.land(*[b"x"] * 7)
    found = planned(stream)
    assert found.rows == 2 and "2 rows or more (2 bytes) behind" in str(found)


def test_who_holds_the_mark_back_is_named_where_rows_wait(lab, stream):
    stream.initialOffset()
    writer = lab.connect(autocommit=False)
    lab.land(b"not committed", connection=writer)
    session = writer.execute("SELECT @@SPID;").fetchone()[0]
    lab.land(b"waits")
    found = planned(stream)
    assert found.rows == 0 and f"session {session} " in found.held
    writer.rollback()
    assert planned(stream).held == ""


def test_on_a_busy_server_nobody_holds_the_mark(lab, stream):
    """A row lands while the lag is looked at: it is above the mark that was taken before."""
    taken = Offset.of(stream.initialOffset())
    lab.land(b"since")
    connection = stream.connection
    assert waiting_behind(connection, stream.options, taken.mark)
    assert lags.behind(connection, stream.options, taken.mark, taken).held == ""


def test_a_lag_that_cannot_be_told_ends_no_stream(lab, stream, monkeypatch):
    def fails(*given):
        raise SourceError("queryTimeout")

    start = stream.initialOffset()
    lab.land(b"a")
    monkeypatch.setattr("pyspark_servicebroker.stream.behind", fails)
    stream.latestOffset(start)
    found = stream.reportLatestOffset()
    assert Lag.of(found) is None and Offset.of(found) == Offset.of(stream.latestOffset(start))


def test_another_try_is_counted(lab, stream):
    before = retrying.tried_again.count
    stream.initialOffset()
    session = stream.connection.execute("SELECT @@SPID;").fetchone()[0]
    lab.sa.execute(f"KILL {session};")
    assert planned(stream).retries == before + 1


def test_an_offset_without_a_lag_has_none(stream):
    """Other sources' and Spark 4.0's and 4.1's."""
    assert Lag.of(None) is Lag.of("") is Lag.of("KafkaV2[...]") is Lag.of("7") is None
    assert Lag.of({"logOffset": 3}) is None
    assert Lag.of(json.dumps(stream.initialOffset())) is None


@pytest.mark.jvm
@pytest.mark.skipif(not ADMITS, reason="Spark asks for it from 4.2 on")
def test_a_querys_progress_shows_it_and_its_checkpoint_has_nothing_of_it(spark, lab, tmp_path):
    since = lab.mark()
    lab.land(*[b"xy"] * 5)
    query = landing_stream(spark, lab, since, tmp_path, maxMessagesPerTrigger="2")
    told = [
        Lag.of(one["sources"][0]["latestOffset"])
        for one in query.recentProgress
        if one["numInputRows"]
    ]
    assert [(lag.rows, lag.bytes) for lag in told] == [(3, 6), (1, 2), (0, 0)]
    offsets = (tmp_path / "checkpoint" / "offsets").glob("[0-9]*")
    assert all("lag" not in file.read_text() for file in offsets)
