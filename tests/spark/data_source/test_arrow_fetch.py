"""Rows by arrow-odbc: the same as by pyodbc, which goes on wherever it ends early."""

from __future__ import annotations

import sys
import uuid

import pytest
from pydantic import SecretStr

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytest.importorskip("arrow_odbc")

from redial.spark import arrow_fetch, reading
from redial.spark.connect import SourceError
from redial.spark.options import BatchReadOptions
from redial.spark.parsing import parse
from redial.spark.reading import Range, read
from tests.broker.drivers.proxy import Proxy
from tests.waiting import HANGS

pytestmark = pytest.mark.driver

ROW = (
    "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body, LandedUtc, "
    "ConversationKey, SentUtc, MessageId) VALUES (?, ?, ?, CONVERT(varbinary(max), ?), ?, ?, ?, ?);"
)
MANY = (
    "WITH t AS (SELECT n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v(n)) "
    "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body) "
    "SELECT NEWID(), a.n * 100 + b.n * 10 + c.n, N'event', "
    "CONVERT(varbinary(max), REPLICATE('x', 8000)) FROM t AS a, t AS b, t AS c;"
)


@pytest.fixture
def by_pyodbc(monkeypatch):
    """A line for each batch that pyodbc read."""
    found: list[int] = []

    def counted(*given):
        for one in batches(*given):
            found.append(1)
            yield one

    batches = reading.batches
    monkeypatch.setattr(reading, "batches", counted)
    return found


def options(lab, **more: str) -> BatchReadOptions:
    return parse(BatchReadOptions, lab.options() | more)


def rows(parsed, start: str) -> list[dict]:
    return [row for b in read(parsed, Range(int(start, 16), 2**63)) for row in b.to_pylist()]


def test_every_value_is_the_same_by_both_ways(lab, by_pyodbc, monkeypatch):
    start = lab.mark()
    for number, (text, body, time) in enumerate(
        [
            ("", b"", "0001-01-01"),
            ("a\0b ", b"\0", "9999-12-31T23:59:59.999"),
            ("\U0001f600" * 100, b"\xff" * arrow_fetch.LONGEST, "2026-03-29T01:30:00.001"),
            ("Ω\ufeff", None, None),
        ]
    ):
        one = str(uuid.UUID(int=2**128 - 1 - number))
        lab.sa.execute(ROW, one, number, text, body, time or "1752-09-10", text, time, one)
    fast = rows(options(lab), start)
    assert len(fast) == 4 and not by_pyodbc
    monkeypatch.setitem(sys.modules, "arrow_odbc", None)
    assert rows(options(lab), start) == fast and by_pyodbc


@pytest.mark.parametrize("lengths", [(9, 10, 11, 1, 12, 2), (11, 1), (1, 2, 3, 11), (1,) * 7])
def test_from_a_long_body_on_pyodbc_reads_the_rest(lab, by_pyodbc, monkeypatch, lengths):
    monkeypatch.setattr(arrow_fetch, "ROWS", 3)
    monkeypatch.setattr(arrow_fetch, "LONGEST", 10)
    monkeypatch.setattr(reading, "LONGEST", 10)
    start = lab.mark()
    lab.land(*(bytes([n]) * length for n, length in enumerate(lengths)))
    found = rows(options(lab), start)
    assert [row["body"] for row in found] == [bytes([n]) * m for n, m in enumerate(lengths)]
    assert len(by_pyodbc) == (max(lengths) > 10)


def test_from_a_text_that_may_be_another_on_pyodbc_reads_the_rest(lab, by_pyodbc, monkeypatch):
    """Half of a surrogate pair is U+FFFD here: no key may become another's."""
    monkeypatch.setattr(arrow_fetch, "ROWS", 2)
    start = lab.mark()
    for number, key in enumerate(["a", None, "a\ufffdb", "c"]):
        lab.sa.execute(ROW, uuid.uuid4(), number, "event", b"x", "2026-01-01", key, None, None)
    assert [row["key"] for row in rows(options(lab), start)] == ["a", None, "a\ufffdb", "c"]
    assert len(by_pyodbc) == 1


@pytest.mark.parametrize(
    ("blocks", "given"),
    [
        ([(1, 2), (3, 4)], 4),
        ([(1, 2), (3, 2)], 3),  # a block whose second row was not fetched has the last one's
        ([(1, 2), (1, 2)], 2),
        ([(1, 2)], 2),  # an end that is none
    ],
)
def test_what_a_block_has_twice_or_lacks_is_read_by_pyodbc(lab, monkeypatch, blocks, given):
    """The driver says that a row failed in a way that arrow-odbc passes over."""
    import arrow_odbc
    import pyarrow as pa

    start = int(lab.mark(), 16)
    lab.land(*(b"%d" % n for n in range(1, 5)))
    marks = [m for (m,) in lab.rows("SELECT RowVersion FROM audit.Landing ORDER BY RowVersion;")][
        -4:
    ]
    found = [
        pa.RecordBatch.from_pydict(
            {"mark": [marks[n - 1] for n in block], "sequence": [n - 1 for n in block]}
        )
        for block in blocks
    ]
    monkeypatch.setattr(arrow_odbc, "read_arrow_batches_from_odbc", lambda *_, **__: found)
    asked = options(lab, columns="sequence")
    sql = reading.select(asked, Range(start, 2**63))
    fast = [m for _, b in arrow_fetch.fetched_by_arrow(asked, sql, 0) for m in b.to_pylist()]
    assert len(fast) == given
    assert [row["sequence"] for row in rows(asked, f"0x{start:016X}")] == [0, 1, 2, 3]


def test_half_of_a_surrogate_pair_is_named_with_what_to_do(lab):
    start = lab.mark()
    lab.sa.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, ConversationKey) "
        "VALUES (NEWID(), 0, N'event', NCHAR(0xD83D));"
    )
    try:
        with pytest.raises(
            SourceError, match=r"Next: correct the text that has half of a surrogate"
        ):
            rows(options(lab), start)
    finally:
        lab.sa.execute("DELETE FROM audit.Landing WHERE ConversationKey = NCHAR(0xD83D);")


def test_a_fetch_that_is_cut_goes_on_behind_its_last_row(lab, by_pyodbc, monkeypatch):
    """1 a batch is read; 2 the wire is cut; 3 the other rows, each once."""
    monkeypatch.setattr(arrow_fetch, "ROWS", 50)
    start = lab.mark()
    for _ in range(3):  # more than sockets hold
        lab.sa.execute(MANY)
    found: list[int] = []
    with Proxy(lab.broker.port) as wire:
        cut = options(lab, server=f"127.0.0.1:{wire.port}")
        for number, batch in enumerate(read(cut, Range(int(start, 16), 2**63))):
            found += batch.column("sequence").to_pylist()
            if number == 0:
                assert not by_pyodbc
                wire.cut()
    assert sorted(found) == sorted([*range(1000)] * 3)
    assert by_pyodbc, "it was cut"


def test_a_fetch_that_nobody_wants_any_more_ends_its_session(lab, by_pyodbc, monkeypatch):
    monkeypatch.setattr(arrow_fetch, "ROWS", 50)
    start = lab.mark()
    lab.sa.execute(MANY)
    sessions = (
        "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'redial-spark' "
        "AND session_id <> @@SPID;"
    )
    ((before,),) = lab.rows(sessions)
    batches = read(options(lab), Range(int(start, 16), 2**63))
    next(batches)
    assert lab.rows(sessions) == [(before + 1,)] and not by_pyodbc
    batches.close()
    for _ in range(20 * HANGS):
        if lab.rows(sessions) == [(before,)]:
            break
        lab.sa.execute("WAITFOR DELAY '00:00:00.050';")
    assert lab.rows(sessions) == [(before,)]


@pytest.mark.parametrize(
    "change",
    [
        {"where": "type <> 'Ω'"},
        {"password": SecretStr("ß")},
        {"access_token": SecretStr("a.b.c"), "user": None, "password": None},
        {"user": "nobody"},
    ],
)
def test_what_it_cannot_do_or_fails_at_is_left_to_pyodbc(lab, change):
    given = options(lab).model_copy(update=change)
    if "where" in change:
        given = options(lab, **change)
    found = arrow_fetch.fetched_by_arrow(given, reading.select(given, Range(0, 2**63), 10), 10)
    assert list(found) == []
