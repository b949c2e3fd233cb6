"""Option where: the server gives the rows that Spark would keep, and nothing gets out of a quote."""

from __future__ import annotations

import datetime
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark_servicebroker.read import BatchReader, range_of
from redial.spark.connect import SourceError
from redial.spark.options import BatchReadOptions, OptionsError
from redial.spark.parsing import parse
from redial.spark.ranges import mark_literal
from redial.spark.reading import Range, read, select
from redial.spark.where import narrowed, where_condition, wrong_where

pytestmark = pytest.mark.driver

TEXTS = ["event", "EVENT", "Event", "event ", " event", "event  ", "", " ", "it's", "it''s", "'"]
TEXTS += [
    "é",
    "e\u0301",
    "E",
    "ß",
    "ss",
    "𝒳",
    "日本",
    "a%",
    "a_",
    "[a]",
    "\\",
    "x\ty",
    "--",
    ";",
    "a\\\nb",
    "a\\\r\nb",
    "ab",
    "?",
    "{fn x}",
]
IDS = [f"0000000{n}-aaaa-BBBB-cccc-{n:012d}" for n in range(3)]
TIMES = [
    "2026-03-29T01:30:00.123",
    "2026-03-29T01:30:00.124",
    "0001-01-01",
    "9999-12-31T23:59:59.999",
]
NUMBERS = [0, 1, -1, 2**63 - 1, -(2**63)]
INSERT = """INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, MessageType,
    Body, LandedUtc, ConversationKey, KeySequence, MessageId, SentUtc, SenderApp)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);"""


@pytest.fixture(scope="module")
def table(lab, spark):
    """Rows with every text, NULLs among them; as Spark has them once it has read all."""
    start = lab.mark()
    for n, text in enumerate(TEXTS):
        some = n % 4 != 0
        lab.sa.execute(
            INSERT,
            *(IDS[n % 3] if some else None, IDS[n % 3], NUMBERS[n % 5], text or "e"),
            *(b"x" * n or None, TIMES[n % 4], text if some else None),
            *(NUMBERS[n % 5] if some else None, IDS[n % 3] if some else None),
            *(TIMES[n % 4] if some else None, TEXTS[-n] if some else None),
        )
    end = lab.mark()
    given = lab.options(startingMark=start, endingMark=end)
    rows = spark.read.format("servicebroker").options(**given).load().persist()
    assert rows.count() == len(TEXTS)
    yield SimpleNamespace(rows=rows, given=given, range=Range(int(start, 16), int(end, 16)))
    rows.unpersist()
    lab.sa.execute(
        "DELETE FROM audit.Landing WHERE RowVersion >= ? AND RowVersion < ?;",
        *(int(mark, 16).to_bytes(8, "big") for mark in (start, end)),
    )


def by_server(table, text: str) -> list[bytes]:
    options = parse(BatchReadOptions, table.given | {"where": text, "columns": "mark"})
    return [bytes(m) for b in read(options, table.range) for m in b.column("mark").to_pylist()]


def by_spark(table, condition) -> list[bytes]:
    return sorted(bytes(row.mark) for row in table.rows.where(condition).select("mark").collect())


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.jvm
@pytest.mark.parametrize("sign", ["=", "<>"])
@pytest.mark.parametrize("column", ["type", "key", "sender_app"])
def test_a_text_is_compared_as_spark_compares_it(table, column, sign):
    """Case, accents and blanks count, though the server's own collations pass over them."""
    from pyspark.sql import functions as f

    for text in [*TEXTS, "evenT", "missing"]:
        there = f.col(column) == text
        found = by_server(table, f"{column} {sign} {quoted(text)}")
        assert found == by_spark(table, there if sign == "=" else ~there), text


@pytest.mark.jvm
def test_a_list_of_texts_is_compared_as_spark_compares_it(table):
    from pyspark.sql import functions as f

    some = ["event", "it's", "é", "nothing"]
    text = f"key IN ({', '.join(map(quoted, some))})"
    assert by_server(table, text) == by_spark(table, f.col("key").isin(some)) != []


def micros(text: str) -> str:
    """A time in quotes as Spark takes it whatever the session's zone; UTC where it has none."""
    moment = datetime.datetime.fromisoformat(text.strip("'"))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return f"timestamp_micros({since // datetime.timedelta(microseconds=1)})"


NUMBER = ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"]
TIME = ["2026-03-29T01:30:00.123", "2026-03-29 01:30:00.123001Z", "2026-03-29T03:30:00.1239+02:00"]
TIME += ["2026-03-29", "0001-01-01", "9999-12-31T23:59:59.999999"]
ORDERED = [(c, v) for c in ("sequence", "key_seq", "body_bytes") for v in NUMBER]
ORDERED += [(c, f"'{v}'") for c in ("sent", "landed") for v in TIME]


@pytest.mark.jvm
@pytest.mark.parametrize(("column", "value"), ORDERED)
def test_numbers_and_times_are_compared_as_spark_compares_them(table, column, value):
    as_spark = micros(value) if value.startswith("'") else value
    for sign in ("=", "<>", "!=", "<", "<=", ">", ">="):
        found = by_server(table, f"{column} {sign} {value}")
        assert found == by_spark(table, f"{column} {sign} {as_spark}"), sign
    assert by_server(table, f"{column} in ({value},{value})") == by_spark(
        table, f"{column} IN ({as_spark})"
    )


@pytest.mark.jvm
@pytest.mark.parametrize("column", ["conversation", "handle", "message_id"])
def test_an_id_is_found_in_any_case(table, column):
    for value in IDS:
        for sign in ("=", "<>"):
            found = by_server(table, f"{column} {sign} '{value.lower()}'")
            assert found == by_spark(table, f"{column} {sign} '{value.upper()}'") != []


@pytest.mark.jvm
@pytest.mark.parametrize("column", ["conversation", "key", "key_seq", "sent", "type", "mark"])
@pytest.mark.parametrize("null", ["IS NULL", "is not null"])
def test_null_is_found_as_spark_finds_it(table, column, null):
    assert by_server(table, f"{column} {null}") == by_spark(table, f"{column} {null}")


@pytest.mark.jvm
def test_a_mark_is_compared_as_spark_compares_it_and_narrows_the_range(table):
    marks = [int.from_bytes(mark, "big") for mark in by_spark(table, "true")]
    for mark in (0, marks[0], marks[3], marks[-1] + 1, 2**64 - 1):
        for sign in ("=", "<>", "<", "<=", ">", ">="):
            text = f"mark {sign} {mark_literal(mark)}"
            wanted = by_spark(table, f"mark {sign} X'{mark:016X}'")
            assert by_server(table, text) == wanted, text
            options = parse(BatchReadOptions, table.given | {"where": text, "numPartitions": "3"})
            reader = BatchReader(options)
            parts = reader.partitions()
            batches = [batch for part in parts for batch in reader.read(part)]
            found = [mark for batch in batches for mark in batch.column("mark").to_pylist()]
            assert sorted(found) == wanted, text
    (part,) = BatchReader(
        parse(BatchReadOptions, table.given | {"where": f"mark = {mark_literal(marks[3])}"})
    ).partitions()
    assert range_of(part) == Range(marks[3], marks[3] + 1)


@pytest.mark.jvm
def test_conditions_hold_together_and_the_source_reads_so(table, spark):
    text = "sequence >= 0 AND `key` <> 'event' and landed < '2026-03-29T01:30:00.124'"
    given = table.given | {"where": text, "columns": "mark"}
    frame = spark.read.format("servicebroker").options(**given).load()
    until = "'2026-03-29T01:30:00.124'"
    wanted = by_spark(table, text.replace(until, micros(until)))
    assert sorted(bytes(row.mark) for row in frame.collect()) == wanted != []


def test_marks_in_a_list_or_together_narrow_to_what_lies_between():
    assert narrowed("mark IN (0x0000000000000007, 0x0000000000000003)", 0, 100) == (3, 8)
    assert narrowed("mark > 0x0000000000000003 AND mark <= 0x0000000000000007", 0, 100) == (4, 8)
    assert narrowed("mark < 0x0000000000000003 AND sequence = 7", 5, 100) == (5, 5)
    assert narrowed("mark <> 0x0000000000000003", 2, 9) == narrowed(None, 2, 9) == (2, 9)


def test_hostile_text_stays_in_its_quotes():
    text = where_condition("key = '''; DROP TABLE audit.Landing; --'")
    assert text.count("N'''; DROP TABLE audit.Landing; --'") == 1
    assert where_condition("conversation = '{00000000-0000-0000-0000-0000000000ff}'") == (
        " AND l.ConversationId = CONVERT(uniqueidentifier, N'00000000-0000-0000-0000-0000000000FF')"
    )


WRONG = {
    "tipe = 'x'": "there is no column 'tipe' (did you mean type?)",
    "type > 'x'": "type is not compared with > on the server",
    "handle < '0'": "handle is not compared with < on the server",
    "body IS NULL": "body is not compared on the server",
    "type = 'x' OR 1=1": "AND and a comparison are missing behind type",
    "type = 'x' AND": "AND and a comparison are missing behind type",
    "type = 'x": "is not understood from character 7 on",
    "type = x": "type needs a value in single quotes",
    "type =": "type needs a value in single quotes",
    "type": "no comparison is behind type",
    "type IN ('x'": "IN (value, ...) is not whole behind type",
    "type IN ()": "type needs a value",
    "type IN ('a' ('b', 'c')": "IN (value, ...) is not whole behind type",
    "type IN ('a', 'b', )": "type needs a value",
    "type IN , 'a')": "IN (value, ...) is not whole behind type",
    "type IN 'a', 'b'": "IN (value, ...) is not whole behind type",
    "sequence = 1.5": "is not understood",
    "sequence = 9223372036854775808": "sequence needs a whole number of 64 bits",
    "sequence = '1'": "sequence needs a whole number",
    "mark > 0x01": "mark needs a mark like 0x00000000000007D1",
    "landed > 'yesterday'": "landed needs a time like",
    "landed > '2026-01-01T00:00:00.1234567'": "landed needs a time like",
    "landed > '0001-01-01T00:00:00+02:00'": "landed needs a time like",
    "handle = 'x'": "handle needs a uuid",
    "key = 'a\0'": "key needs text",
    "key = '\ud800'": "key needs text",
    "= 1": "there is no column '='",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_compared_is_refused_with_what_can(text):
    (line,) = wrong_where(text)
    assert line.startswith("where: " + WRONG[text]) and "; allowed: column = value" in line


def test_wrong_conditions_are_told_with_what_else_is_wrong(lab):
    with pytest.raises(OptionsError) as caught:
        parse(BatchReadOptions, lab.options(where="tipe = 1", columns="tipe", startingMark="x"))
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "startingMark",
        "where",
        "columns",
    ]


def test_rows_that_a_purge_took_are_missed_where_the_condition_begins_above_them(lab):
    """The check is of the range that startingMark names, whatever is asked of it."""
    start = lab.mark()
    lab.land(b"gone", b"there")
    above = lab.mark()
    given = lab.options(startingMark=start, where=f"mark >= {above}")
    options = parse(BatchReadOptions, given)
    assert BatchReader(options).partitions()
    lab.sa.execute(
        "MERGE audit.LandingAcknowledged AS a USING (SELECT N'usp_PurgeLanding' AS Reader) AS p "
        "ON a.Reader = p.Reader WHEN MATCHED THEN UPDATE SET UpTo = ? "
        "WHEN NOT MATCHED THEN INSERT (Reader, UpTo) VALUES (p.Reader, ?);",
        *[int(above, 16).to_bytes(8, "big")] * 2,
    )
    try:
        with pytest.raises(SourceError, match=r"may be gone"):
            BatchReader(options).partitions()
    finally:
        lab.sa.execute("DELETE FROM audit.LandingAcknowledged WHERE Reader = N'usp_PurgeLanding';")


def test_a_statement_without_conditions_is_as_it_was(lab):
    options = parse(BatchReadOptions, lab.options())
    assert select(options, Range(1, 2)).count("AND") == 1
