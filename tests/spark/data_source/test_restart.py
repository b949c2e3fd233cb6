"""The server goes away in mid-stream and comes back: the same one, or another in its place."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark_servicebroker.stream import StreamReader
from redial.spark.connect import SourceError, open_connection
from redial.spark.credentials import from_odbc
from redial.spark.options import StreamReadOptions
from redial.spark.parsing import parse
from redial_broker.tds.embedded import EmbeddedBroker, make_instance
from redial_broker.tds.process import BrokerProcess
from tests.broker.drivers.proxy import Proxy

from .test_reading import LATE_TABLE, bodies, insert

pytestmark = pytest.mark.driver
ROWS = 2


def given(odbc: str, seconds: int = 600) -> dict[str, str]:
    """Nothing is tried again here: test_retrying.py does."""
    options = {"schema": "audit", "loginTimeout": str(seconds), "retrySeconds": "0"}
    return from_odbc(odbc) | options


def options_of(odbc: str, seconds: int = 600) -> StreamReadOptions:
    """seconds: of a log-in."""
    return parse(StreamReadOptions, given(odbc, seconds))


def test_a_broker_that_is_restarted_in_mid_stream_is_told_from_its_successor():
    """A broker process keeps nothing: what comes back at its address is another database."""
    with BrokerProcess(seed=1) as broker:
        connection = open_connection(options_of(broker.odbc))
        connection.execute("CREATE SCHEMA audit;")
        connection.execute(LATE_TABLE)
        insert(connection, b"before")
        reader = StreamReader(options_of(broker.odbc))
        start = reader.initialOffset()
        end = reader.latestOffset(start)
        assert bodies(reader, start, end) == [b"before"]
        reader.options = options_of(broker.odbc, 1)
    with pytest.raises(SourceError, match=r"Next: (check server|see whether the server is up)"):
        reader.latestOffset(end)
    with BrokerProcess(seed=2) as successor:
        reader.options = options_of(successor.odbc)
        with pytest.raises(SourceError, match=r"WITH NEW_BROKER"):
            reader.latestOffset(end)
        reader.stop()


@pytest.mark.jvm
def test_a_stream_goes_on_from_its_checkpoint_when_the_same_server_is_back(spark, tmp_path):
    """The server is stopped in the stream's first batch, with a row in an open transaction.

    What a restart keeps is the instance, which this test holds: the embedded broker writes nothing
    to disk. Address, database and broker guid are the same, every session and its transaction gone.
    The address is a wire's, which stays: a port that is given up may be anybody's.
    """
    instance = make_instance(3, "real", None)
    taken: dict[int, list[bytes]] = {}

    def run(odbc: str, at_the_end) -> None:
        def take(rows, batch: int) -> None:
            taken[batch] = [bytes(row.body) for row in rows.select("body").collect()]
            at_the_end()

        source = spark.readStream.format("servicebroker").options(
            **given(odbc), maxMessagesPerTrigger="1"
        )
        writer = source.load().writeStream.foreachBatch(take)
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    with EmbeddedBroker(instance=instance) as broker, Proxy(broker.port) as wire:
        odbc = broker.odbc.replace(f",{broker.port}", f",{wire.port}")
        connection = open_connection(options_of(odbc))
        connection.execute("CREATE SCHEMA audit;")
        connection.execute(LATE_TABLE)
        for number in range(ROWS):
            insert(connection, b"%d" % number)
        lost = open_connection(options_of(odbc))
        lost.autocommit = False
        with pytest.raises(Exception, match=r"Next: (check server|see whether the server is up)"):
            run(odbc, lambda: (insert(lost, b"never committed"), broker.stop()))
        assert list(taken.values()) == [[b"0"]]
        with EmbeddedBroker(instance=instance) as same:
            wire.target = same.port
            insert(open_connection(options_of(odbc)), b"after it")
            run(odbc, lambda: None)
    assert [body for batch in sorted(taken) for body in taken[batch]] == [
        *(b"%d" % number for number in range(ROWS)),
        b"after it",
    ]
