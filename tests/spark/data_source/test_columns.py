"""Option columns: only what it names leaves the server, in its order."""

from __future__ import annotations

import sys
import uuid

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from redial.spark.columns import COLUMNS, NAMES, fetched, wrong_columns
from redial.spark.connect import SourceError
from redial.spark.options import BatchReadOptions, OptionsError
from redial.spark.parsing import parse
from redial.spark.reading import Range, read, select, to_arrow

pytestmark = pytest.mark.driver
ALL = 2**63


def options(lab, columns: str, **more: str) -> BatchReadOptions:
    return parse(BatchReadOptions, lab.options(columns=columns, **more))


def test_a_name_that_no_column_has_is_told_with_the_one_that_was_meant():
    (line,) = wrong_columns("mark, boddy")
    assert line.startswith(
        "columns: there is no column 'boddy' (did you mean body?); allowed: mark"
    )
    assert wrong_columns("zzz") == [
        f"columns: there is no column 'zzz'; allowed: {', '.join(NAMES)}"
    ]
    assert wrong_columns("mark, MARK") == ["columns: mark is there twice; allowed: each once"]
    assert wrong_columns("mark,, body")[0].startswith("columns: there is no column ''")


def test_wrong_columns_are_told_with_what_else_is_wrong(lab):
    with pytest.raises(OptionsError) as caught:
        options(lab, "boddy", numPartitions="0")
    assert {line.split(":")[0] for line in caught.value.problems} == {"columns", "numPartitions"}
    with pytest.raises(OptionsError, match=r"columns: is empty"):
        options(lab, "")


def test_only_what_is_asked_for_is_fetched_and_comes_in_that_order(lab, way):
    start = lab.mark()
    conversation = lab.land(b"one", b"two")
    few = options(lab, "Sequence, `conversation`")
    (batch,) = read(few, Range(int(start, 16), ALL))
    assert batch.schema.names == ["sequence", "conversation"]
    assert batch.to_pylist() == [
        {"sequence": n, "conversation": conversation.upper()} for n in range(2)
    ]
    statement = select(few, Range(0, ALL))
    assert "Body" not in statement and "MessageType" not in statement


def test_without_its_mark_a_row_is_still_given_once_after_a_cut(lab, monkeypatch):
    from redial.spark import reading, retrying

    monkeypatch.setitem(sys.modules, "arrow_odbc", None)  # its cuts: test_arrow_fetch.py
    monkeypatch.setattr(reading, "BATCH_ROWS", 2)
    monkeypatch.setattr(retrying, "sleep", lambda _: None)
    start = lab.mark()
    lab.land(*(b"%d" % n for n in range(5)))
    batches = read(options(lab, "sequence"), Range(int(start, 16), ALL))
    found = next(batches).column("sequence").to_pylist()
    before = retrying.tried_again.count
    for (session,) in lab.rows(
        "SELECT s.session_id FROM sys.dm_exec_sessions AS s "
        "WHERE s.program_name = N'redial-spark' AND s.session_id <> @@SPID;"
    ):
        lab.sa.execute(f"KILL {session};")
    found += [n for batch in batches for n in batch.column("sequence").to_pylist()]
    assert found == [0, 1, 2, 3, 4]
    assert retrying.tried_again.count > before, "nothing was cut"


def test_a_body_alone_that_is_too_long_is_refused_by_the_name_of_its_message(lab):
    start = lab.mark()
    lab.land(b"x" * 100)
    strict = options(lab, "body", maxBodyBytes="50")
    with pytest.raises(SourceError, match=r"message 0 of conversation .* 100 bytes"):
        list(read(strict, Range(int(start, 16), ALL)))


def test_an_id_is_text_whatever_pyodbc_makes_of_it():
    inside = fetched("conversation")
    one = uuid.UUID(int=255)
    for value in (one, str(one).upper()):
        (row,) = to_arrow([(b"", value)], inside, inside[1:]).to_pylist()
        assert row == {"conversation": "00000000-0000-0000-0000-0000000000FF"}


@pytest.mark.jvm
def test_spark_has_the_columns_as_its_schema_and_counts_without_bodies(lab, spark):
    start = lab.mark()
    lab.land(b"one", b"two")

    def load(**more: str):
        given = lab.options(startingMark=start, **more)
        return spark.read.format("servicebroker").options(**given).load()

    frame = load(columns="body, sequence")
    assert frame.columns == ["body", "sequence"]
    assert sorted((r.sequence, bytes(r.body)) for r in frame.collect()) == [
        (0, b"one"),
        (1, b"two"),
    ]
    assert load(columns="mark").count() == 2
    assert load().columns == [column.name for column in COLUMNS]


@pytest.mark.jvm
def test_a_stream_has_the_columns_too(lab, spark, tmp_path):
    start = lab.mark()
    lab.land(b"one", b"two")
    stream = (
        spark.readStream.format("servicebroker")
        .options(**lab.options(startingMark=start, columns="sequence, type"))
        .load()
    )
    query = (
        stream.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(r.sequence for r in found.collect()) == [0, 1]
