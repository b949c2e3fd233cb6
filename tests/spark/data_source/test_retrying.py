"""A server that was lost is waited for: bounded, told once, and every row is there once."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("pyspark")

from pyspark_servicebroker.read import BatchReader
from pyspark_servicebroker.stream import StreamReader
from redial.spark import reading, retrying
from redial.spark.connect import SourceError, open_connection
from redial.spark.credentials import from_odbc
from redial.spark.options import BatchReadOptions, StreamReadOptions
from redial.spark.parsing import parse
from redial.spark.reading import Range, read
from redial.spark.sending import Message, Piece, send_partition
from redial_broker.tds.embedded import EmbeddedBroker, make_instance
from tests.broker.drivers.proxy import Proxy

from .test_reading import LATE_TABLE, bodies, insert

pytestmark = pytest.mark.driver
AWAY = SourceError("shop: away", None, passing=True)


@pytest.fixture
def slept(monkeypatch):
    """Seconds nobody sleeps."""
    seconds: list[float] = []
    monkeypatch.setattr(retrying, "sleep", seconds.append)
    return seconds


def options(lab, **more: str) -> StreamReadOptions:
    return lab.stream_options(**more)


def failing(times: int, error: Exception = AWAY):
    """Work that fails so often, and then returns how often it was tried."""
    tries = []

    def work() -> int:
        tries.append(1)
        if len(tries) <= times:
            raise error
        return len(tries)

    return work


def test_what_passes_is_tried_again_at_once_and_then_ever_more_slowly(lab, slept, caplog):
    with caplog.at_level(logging.WARNING, "pyspark_servicebroker"):
        assert retrying.again(options(lab), "reading", failing(8)) == 9
    assert slept == [0, 0.5, 1, 2, 4, 8, 10, 10]
    assert [record.message for record in caplog.records] == [
        "reading waits, and tries again for 120 s: shop: away",
        "reading: goes on after 9 tries",
    ]


def test_a_connection_that_is_made_again_at_once_is_no_news(lab, slept, caplog):
    assert retrying.again(options(lab), "reading", failing(1)) == 2
    assert slept == [0] and not caplog.records


@pytest.mark.parametrize(("seconds", "tries"), [("0", 1), ("1", 4), ("4", 6)])
def test_it_ends_with_the_last_error_when_its_time_is_over(lab, slept, seconds, tries):
    work = failing(100)
    with pytest.raises(SourceError, match="away"):
        retrying.again(options(lab, retrySeconds=seconds), "reading", work)
    assert len(slept) == tries - 1


@pytest.mark.parametrize("error", [SourceError("no right", 229), ValueError("a defect")])
def test_what_does_not_pass_fails_at_once(lab, slept, error):
    with pytest.raises(type(error), match=str(error)):
        retrying.again(options(lab), "reading", failing(1, error))
    assert slept == []


def killed(lab, but: int) -> None:
    """Ends the sessions of the data source, as a failover would."""
    for (session,) in lab.rows(
        "SELECT session_id FROM sys.dm_exec_sessions WHERE program_name LIKE 'redial-spark%';"
    ):
        if session != but:
            lab.sa.execute(f"KILL {session};")


def test_a_read_that_is_cut_goes_on_behind_its_last_row(lab, slept, monkeypatch):
    """1 a batch of two rows is read; 2 the session is killed; 3 the other rows, each once."""
    monkeypatch.setattr(reading, "BATCH_ROWS", 2)
    since = lab.mark()
    lab.land(*(bytes([n]) * 200_000 for n in range(30)))
    parsed = parse(BatchReadOptions, lab.options())
    found: list[int] = []
    for number, batch in enumerate(read(parsed, Range(int(since, 16), 2**63))):
        found += [row["body"][0] for row in batch.to_pylist()]
        if number == 0:
            killed(lab, but=lab.value("@@SPID"))
    assert found == list(range(30))
    assert slept, "it was cut"


def test_a_partition_whose_session_is_killed_is_sent_once(lab, slept):
    """1 half of its messages are on their way; 2 its session is killed; 3 all of it, once."""
    since = lab.mark()

    def messages():
        for number in range(6):
            if number == 4:
                killed(lab, but=lab.value("@@SPID"))
            yield Message("//redial/audit/event", b"%d" % number)

    sent = send_partition(lab.write_options(batchRows="2"), Piece("cut", 0, 0), messages())
    assert (sent.messages, sent.replayed) == (6, 0)
    assert lab.landed(since, 6) == [b"%d" % n for n in range(6)]
    assert slept, "it was cut"


def test_a_planner_waits_for_a_server_that_restarts_at_a_new_address(monkeypatch):
    """Stream and batch are planned while nobody is there; the server comes back during the wait."""
    instance = make_instance(3, "real", None)
    with EmbeddedBroker(instance=instance) as broker, Proxy(broker.port) as wire:
        odbc = broker.odbc.replace(f",{broker.port}", f",{wire.port}")
        pairs = from_odbc(odbc) | {"schema": "audit", "loginTimeout": "600"}
        parsed = parse(StreamReadOptions, pairs)
        connection = open_connection(parsed)
        connection.execute("CREATE SCHEMA audit;")
        connection.execute(LATE_TABLE)
        insert(connection, b"before")
        stream, batch = StreamReader(parsed), BatchReader(parse(BatchReadOptions, pairs))
        start = stream.initialOffset()
        broker.stop()
        wire.cut()
        back: list[EmbeddedBroker] = []

        def comes_back(seconds: float) -> None:
            if seconds and not back:
                back.append(EmbeddedBroker(instance=instance).__enter__())
                wire.target = back[0].port

        monkeypatch.setattr(retrying, "sleep", comes_back)
        try:
            assert bodies(stream, start, stream.latestOffset(start)) == [b"before"]
            assert back, "it was away"
            wire.cut()
            assert len(batch.partitions()) == 1
        finally:
            stream.stop()
            for one in back:
                one.__exit__(None, None, None)
