"""The server goes away in mid-stream and comes back: the same one, or another in its place."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from harness.broker.tds.process import BrokerProcess
from harness.pipeline.connect import SourceError, open_connection
from harness.pipeline.options import StreamReadOptions, parse
from pyspark_servicebroker.stream import StreamReader

from .test_reading import LATE_TABLE, bodies, insert

pytestmark = pytest.mark.driver


def options_of(broker: BrokerProcess) -> StreamReadOptions:
    return parse(StreamReadOptions, {"odbc": broker.odbc, "schema": "audit", "loginTimeout": "1"})


def test_a_broker_that_is_restarted_in_mid_stream_is_told_from_its_successor():
    """The embedded broker keeps nothing: what comes back at its address is another database."""
    with BrokerProcess(seed=1) as broker:
        connection = open_connection(options_of(broker))
        connection.execute("CREATE SCHEMA audit;")
        connection.execute(LATE_TABLE)
        insert(connection, b"before")
        reader = StreamReader(options_of(broker))
        start = reader.initialOffset()
        end = reader.latestOffset(start)
        assert bodies(reader, start, end) == [b"before"]
    with pytest.raises(SourceError, match=r"Next: check server"):
        reader.latestOffset(end)
    with BrokerProcess(seed=2) as successor:
        reader.options = options_of(successor)
        with pytest.raises(SourceError, match=r"WITH NEW_BROKER"):
            reader.latestOffset(end)
        reader.stop()
