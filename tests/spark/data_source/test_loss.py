"""Rows that a purge took before somebody had read them: never without a word."""

from __future__ import annotations

import logging
import shutil

import pyodbc
import pytest

pytest.importorskip("pyspark")

from pyspark_servicebroker.read import BatchReader
from pyspark_servicebroker.stream import StreamReader
from redial.cli.configs import load_named
from redial.deploy import apply, connect_odbc
from redial.server import with_database
from redial.spark import readers
from redial.spark.acknowledge import acknowledge
from redial.spark.connect import SourceError
from redial.spark.errors import PipelineError
from redial.spark.land import main
from redial.spark.options import BatchReadOptions
from redial.spark.parsing import parse
from redial.spark.sources import files

from .test_reading import bodies

pytestmark = pytest.mark.driver
DATABASE = "purged"
OLD = (
    "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body, LandedUtc) "
    "VALUES (NEWID(), 0, N'event', ?, '2020-01-01');"
)


class Site:
    """A database with ``audit`` whose rows are old enough to be purged."""

    def __init__(self, lab) -> None:
        self.lab = lab
        with pyodbc.connect(lab.broker.odbc, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE};")
        self.odbc = with_database(lab.broker.odbc, DATABASE)
        apply(load_named("audit"), connect_odbc(self.odbc))
        self.sa = pyodbc.connect(self.odbc, autocommit=True)

    def land(self, *bodies: bytes) -> None:
        for body in bodies:
            self.sa.execute(OLD, body)

    def mark(self) -> str:
        value = self.sa.execute("SELECT MIN_ACTIVE_ROWVERSION();").fetchval()
        return "0x" + bytes(value).hex().upper()

    def purge(self, up_to: str | None = None) -> int:
        """Rows that went; up_to: needed where there is no reader."""
        call = "EXECUTE audit.usp_PurgeLanding @olderThanDays = 30, @WhatIf = 0, @upTo = "
        return self.sa.execute(call + (up_to or "NULL") + ";").fetchone()[3]

    def readers(self) -> dict[str, str]:
        rows = self.sa.execute("SELECT Reader, UpTo FROM audit.LandingAcknowledged;").fetchall()
        return {name: "0x" + bytes(mark).hex().upper() for name, mark in rows}

    def stream(self, **more: str) -> StreamReader:
        """A process of a stream's driver."""
        return StreamReader(
            self.lab.stream_options(**{"database": DATABASE, "startingMark": "earliest"} | more)
        )

    def batch(self, **more: str) -> BatchReader:
        return BatchReader(parse(BatchReadOptions, self.lab.options(database=DATABASE) | more))


@pytest.fixture(scope="module")
def made(lab):
    return Site(lab)


@pytest.fixture
def site(made):
    """Without rows and without readers; what earlier tests purged is told all the same."""
    made.sa.execute("DELETE FROM audit.Landing;")
    for name in made.readers():
        if name != "usp_PurgeLanding":
            made.sa.execute("EXECUTE audit.usp_AcknowledgeLanding @reader = ?, @forget = 1;", name)
    return made


def test_a_purge_does_not_pass_a_query_that_has_a_reader(site):
    """1 A reads 2 rows; 2 three more land, and B, under a name of its own, reads all five; 3 a purge
    takes what A has committed; 4 A, restarted, gets the other three."""
    a, b = site.stream(reader="A"), site.stream(reader="B")
    site.land(b"1", b"2")
    first = a.initialOffset()
    second = a.latestOffset(first)
    assert bodies(a, first, second) == [b"1", b"2"]
    a.commit(second)
    site.land(b"3", b"4", b"5")
    begin = b.initialOffset()
    end = b.latestOffset(begin)
    assert len(bodies(b, begin, end)) == 5
    b.commit(end)
    assert site.purge() == 2
    restarted = site.stream(reader="A")
    assert bodies(restarted, second, restarted.latestOffset(second)) == [b"3", b"4", b"5"]


def test_a_batch_that_is_run_again_still_has_its_rows(site):
    """The driver is killed between the write and Spark's commit: nothing of it is acknowledged."""
    a = site.stream(reader="A")
    site.land(b"1")
    first = a.initialOffset()
    second = a.latestOffset(first)
    assert bodies(a, first, second) == [b"1"]
    assert site.purge() == 0
    assert bodies(site.stream(reader="A"), first, second) == [b"1"]


def test_another_query_is_refused_a_name_that_is_taken(site):
    a = site.stream(reader="A")
    site.land(b"1")
    first = a.initialOffset()
    a.commit(a.latestOffset(first))
    with pytest.raises(SourceError, match=r"reader 'A' has acknowledged .*@forget = 1"):
        site.stream(reader="A").initialOffset()
    latest = site.stream(reader="A", startingMark="latest")
    assert latest.initialOffset(), "nothing lies between: nobody is passed"
    site.land(b"2")
    with pytest.raises(SourceError, match=r"@forget = 1"):
        site.stream(reader="A", startingMark="latest").initialOffset()


@pytest.mark.parametrize("same", ["LAKE", "Lake", "lake  "])
def test_a_name_is_the_one_the_server_takes_it_for(site, same):
    """Its collation passes over case, and SQL over blanks at the end."""
    a = site.stream(reader="lake")
    site.land(b"1")
    a.commit(a.latestOffset(a.initialOffset()))
    site.land(b"2")
    with pytest.raises(SourceError, match=r"has acknowledged .*@forget = 1"):
        site.stream(reader=same, startingMark="latest").initialOffset()
    assert site.purge() == 1, "the second row is kept for lake"


def test_a_checkpoint_of_one_schema_is_refused_for_another(lab):
    """Both tables share the database's marks: rows below would pass for read."""
    audit, orders = (
        StreamReader(lab.stream_options()),
        StreamReader(lab.stream_options(schema="orders")),
    )
    stored = audit.initialOffset()
    for ask in (orders.latestOffset, lambda offset: orders.partitions(offset, offset)):
        with pytest.raises(
            SourceError, match=r"of schema audit, and this query reads orders.*Next"
        ):
            ask(stored)
    whatever_case = StreamReader(lab.stream_options(schema="AUDIT"))
    assert whatever_case.latestOffset(stored)["schema"] == "audit"
    del stored["schema"]
    assert audit.latestOffset(stored)["schema"] == "audit", "a checkpoint of an older version"


def test_a_first_start_that_was_cut_off_is_no_other_query(site):
    site.land(b"1")
    first = site.stream(reader="A").initialOffset()
    assert site.stream(reader="A").initialOffset() == first


def test_two_queries_that_begin_under_one_name_are_told_apart_at_the_next_batch(site):
    a, b = site.stream(reader="A"), site.stream(reader="A")
    site.land(b"1")
    first = a.initialOffset()
    assert b.initialOffset() == first
    a.commit(a.latestOffset(first))
    with pytest.raises(SourceError, match=r"another query uses the name"):
        bodies(b, first, b.latestOffset(first))


def test_a_purge_between_a_query_s_first_look_and_its_name_is_seen(site, monkeypatch):
    """1 the query looks what is gone; 2 a purge takes two rows; 3 the query writes its name, and
    looks again: it begins behind them."""
    site.land(b"1", b"2")

    def late(connection, options, mark):
        monkeypatch.undo()
        assert site.purge(site.mark()) == 2
        acknowledge(connection, options, mark)

    monkeypatch.setattr(readers, "acknowledge", late)
    first = site.stream(reader="A").initialOffset()
    assert first["mark"] == site.readers()["usp_PurgeLanding"] == site.readers()["A"]


def test_a_reader_that_an_operator_forgot_is_written_again(site):
    a = site.stream(reader="A")
    site.land(b"1")
    first = a.initialOffset()
    site.sa.execute("EXECUTE audit.usp_AcknowledgeLanding @reader = N'A', @forget = 1;")
    a.partitions(first, a.latestOffset(first))
    assert site.readers()["A"] == first["mark"]


def test_what_went_behind_a_stream_without_a_reader_is_named_and_stops_it(site, caplog):
    a = site.stream()
    first = a.initialOffset()
    site.land(b"1", b"2")
    assert site.purge(site.mark()) == 2
    gone = site.readers()["usp_PurgeLanding"]
    site.land(b"3")
    end = a.latestOffset(first)
    with pytest.raises(
        SourceError, match=rf"from mark {first['mark']} to below {gone} may be gone"
    ):
        a.partitions(first, end)
    tolerant = site.stream(failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "pyspark_servicebroker"):
        assert bodies(tolerant, first, end) == [b"3"]
    assert gone in caplog.text


def test_what_went_is_named_although_nothing_has_landed_since(site, caplog):
    """A nightly run would be green until the next row. It is told once, and passed with the option."""
    a = site.stream()
    first = a.initialOffset()
    site.land(b"1", b"2")
    assert site.purge(site.mark()) == 2
    with pytest.raises(SourceError, match=rf"from mark {first['mark']} .* may be gone"):
        a.latestOffset(first)
    tolerant = site.stream(failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "pyspark_servicebroker"):
        behind = tolerant.latestOffset(first)
        assert behind["mark"] == site.readers()["usp_PurgeLanding"]
        assert tolerant.latestOffset(behind) == behind
    assert caplog.text.count("may be gone") == 1
    assert bodies(tolerant, first, behind) == []


def test_a_new_query_begins_behind_what_is_gone_and_misses_nothing(site):
    """Before Spark 4.2 the end of a first batch is asked for before its beginning."""
    site.land(b"1")
    site.purge(site.mark())
    a = site.stream()
    end = a.latestOffset()
    assert a.initialOffset() == end and end["mark"] == site.readers()["usp_PurgeLanding"]
    site.land(b"2")
    assert bodies(a, end, a.latestOffset()) == [b"2"]


def test_rows_that_a_purge_has_left_behind_the_end_of_a_run_are_not_passed(site):
    """1 a run begins, and will end here; 2 two rows land; 3 a purge takes the second; 4 the run looks
    no further than its end, and the next one reads the first."""
    a = site.stream(failOnDataLoss="false")
    start = a.initialOffset()
    a.prepareForTriggerAvailableNow()
    site.sa.execute(OLD.replace("'2020-01-01'", "SYSUTCDATETIME()"), b"young")
    site.land(b"old")
    assert site.purge(site.mark()) == 1
    end = a.latestOffset(start)
    following = site.stream(failOnDataLoss="false")
    assert bodies(following, end, following.latestOffset(end)) == [b"young"]


def test_a_range_without_rows_says_nothing_of_its_reader(site):
    """Spark 4.0 and 4.1 ask for one, where the batch of a killed driver was to end: its rows are wanted."""
    site.land(b"1")
    a = site.stream(reader="A")
    first = a.initialOffset()
    end = a.latestOffset(first)
    renamed = site.stream(reader="B")
    renamed.partitions(end, end)
    assert "B" not in site.readers()
    assert bodies(renamed, first, end) == [b"1"] and site.readers()["B"] == first["mark"]


def test_a_beginning_is_not_above_the_end_that_was_asked_for_first(site):
    """Spark 4.0 and 4.1 do, and commit that end: the reader may not be further."""
    a = site.stream(reader="A", startingMark="latest")
    end = a.latestOffset()
    site.sa.execute("CREATE TABLE dbo.Else1 (Id int NOT NULL, Changed rowversion NOT NULL);")
    site.sa.execute("INSERT INTO dbo.Else1 (Id) VALUES (1); DROP TABLE dbo.Else1;")
    assert site.mark() > end["mark"] and a.initialOffset() == end
    assert site.readers()["A"] == end["mark"]


def test_what_goes_between_planning_and_reading_is_seen_too(site):
    site.land(b"1", b"2")
    reader = site.batch()
    (part,) = reader.partitions()
    assert site.purge(site.mark()) == 2
    with pytest.raises(SourceError, match=r"may be gone"):
        list(reader.read(part))


def test_a_batch_from_a_mark_fails_and_one_from_the_earliest_reads_what_there_is(site):
    since = site.mark()
    site.land(b"1")
    site.purge(site.mark())
    site.land(b"2")
    with pytest.raises(SourceError, match=r"failOnDataLoss = false"):
        site.batch(startingMark=since).partitions()
    for reader in (site.batch(), site.batch(startingMark=since, failOnDataLoss="false")):
        (part,) = reader.partitions()
        assert [row["body"] for b in reader.read(part) for row in b.to_pylist()] == [b"2"]


def test_an_offset_moves_with_the_rows_of_landing_and_no_others(site):
    site.land(b"1")
    a = site.stream()
    end = a.latestOffset(a.initialOffset())
    site.sa.execute(
        "UPDATE audit.Gate SET Reason = Reason; UPDATE audit.Landing SET Body = Body WHERE 1 = 0;"
    )
    assert site.mark() >= end["mark"] and a.latestOffset(end) == end


@pytest.mark.jvm
def test_two_landing_jobs_with_their_defaults_and_a_purge_between_lose_nothing(
    spark, site, tmp_path
):
    """1 A lands; 2 more rows; 3 B lands all into another table; 4 a purge takes what both have; 5
    another row; 6 A goes on. Then A's table is landed into anew, with its checkpoint gone."""

    def land(name: str, *more: str) -> int:
        arguments = ["--server", site.odbc, "--schema", "audit", "--to", str(tmp_path / name)]
        return main([*arguments, *more])

    def landed(name: str) -> list[bytes]:
        return sorted(bytes(row.body) for row in files(spark, str(tmp_path / name)).collect())

    site.land(b"1", b"2")
    assert land("A") == 0
    site.land(b"3")
    assert land("B", "--kind", "delta") == 0
    assert site.purge() == 2
    site.land(b"4")
    assert land("A") == 0
    assert landed("A") == [b"1", b"2", b"3", b"4"]
    assert landed("B") == [b"1", b"2", b"3"]
    shutil.rmtree(tmp_path / "A")
    with pytest.raises(PipelineError, match=r"reader 'redial-landing .*@forget = 1"):
        land("A")


def test_who_may_not_look_what_was_purged_is_told_how(site):
    site.sa.execute("CREATE LOGIN blind2 WITH PASSWORD = 'Bl1nd!pass'; CREATE USER blind2;")
    site.sa.execute("GRANT SELECT ON OBJECT::audit.Landing TO blind2;")
    reader = site.batch(user="blind2", password="Bl1nd!pass")
    with pytest.raises(SourceError, match=r"what was purged.*229.*Next: .*redial deploy"):
        reader.partitions()
