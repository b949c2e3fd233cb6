"""Options: every wrong one is named at once, and no secret is shown."""

from __future__ import annotations

import pickle
import traceback

import pytest

from redial.spark.connect import SourceError, connection_string, hidden, told
from redial.spark.credentials import from_odbc
from redial.spark.options import (
    BatchReadOptions,
    BatchWriteOptions,
    OptionsError,
    StreamReadOptions,
    WriteOptions,
)
from redial.spark.parsing import EVERY, described, parse, parse_either

SECRET = "hunter2};PWD=x"
READ = {
    "server": "db:1433",
    "database": "shop",
    "user": "u",
    "password": SECRET,
    "schema": "audit",
}
WRITE = READ | {"fromService": "a", "toService": "b", "contract": "c"}


def problems(model, given) -> list[str]:
    with pytest.raises(OptionsError) as caught:
        parse(model, given)
    return caught.value.problems


def test_all_that_is_wrong_is_named_together_with_rule_and_allowed_values():
    found = problems(
        StreamReadOptions,
        {
            "password": SECRET,
            "numPartitions": "many",
            "STARTINGMARK": "0x1",
            "speed": "high",
            "jobId": "j",
            "stalledMark": "ignore",
            "maxMessagesPerTrigger": "0",
        },
    )
    named = {line.split(":")[0] for line in found}
    assert named == {
        "server",
        "database",
        "user",
        "schema",
        "numPartitions",
        "startingMark",
        "speed",
        "jobId",
        "stalledMark",
        "maxMessagesPerTrigger",
    }
    assert all("; allowed: " in line or "; did you mean " in line for line in found)
    assert "numPartitions: is not allowed so; allowed: 1 to 1024" in found
    assert any(line.startswith("jobId: is an option of df.write") for line in found)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pasword", "password"),
        ("PWD", "password"),
        ("numPartition", "numPartitions"),
        ("orderColum", "orderColumn"),
        ("url", "server"),
        ("token", "accessToken"),
    ],
)
def test_an_unknown_option_is_told_with_the_one_that_was_meant(typed, meant):
    found = problems(BatchReadOptions, READ | {typed: SECRET})
    assert len(found) == 1
    assert found == [f"{typed}: there is no such option; did you mean {meant}?"]


def test_an_option_like_no_other_is_told_without_a_guess():
    (line,) = problems(BatchReadOptions, READ | {"zzz": "1"})
    assert line.startswith("zzz: there is no such option; allowed: server, database, ")


def test_names_are_taken_in_any_case_as_spark_passes_them():
    found = parse(BatchReadOptions, {name.lower(): value for name, value in READ.items()})
    assert found.schema_name == "audit" and found.num_partitions == 1


@pytest.mark.parametrize("model", EVERY)
def test_every_option_says_what_is_allowed(model):
    assert all(described(model).values())


@pytest.mark.parametrize("model", EVERY)
def test_every_option_says_how_long_it_may_be(model):
    for name, field in model.model_fields.items():
        longest = next((m.max_length for m in field.metadata if hasattr(m, "max_length")), None)
        assert longest is None or f"1 to {longest} characters" in field.description, name


@pytest.mark.parametrize(
    "wrong",
    [
        {"maxMessagesPerTrigger": "0"},
        {"stalledMark": "x"},
        {"reader": ""},
        {"reader": "x" * 129},
        {"maxBytesPerTrigger": "-1", "stallSeconds": "x"},
        {"stallSeconds": "x", "endingMarks": "latest"},
        {"endingMark": "never"},
        {"endingTimestamp": "soon", "numPartitions": "0"},
    ],
)
def test_a_wrong_value_is_told_as_that_of_the_use_that_has_the_option(wrong):
    """Spark does not say at load() whether a batch or a stream will be read."""
    with pytest.raises(OptionsError) as caught:
        parse_either((BatchReadOptions, StreamReadOptions), READ | wrong)
    assert {line.split(":")[0] for line in caught.value.problems} == set(wrong)
    assert "is an option of" not in str(caught.value)


@pytest.mark.parametrize("name", ["trustServerCertificate", "failOnDataLoss"])
def test_a_switch_takes_the_words_that_are_named_and_no_others(name):
    for word in ("true", "FALSE"):
        parse(BatchReadOptions, READ | {name: word})
    for word in ("yes", "1", "on", ""):
        (line,) = problems(BatchReadOptions, READ | {name: word})
        assert line.startswith(f"{name}: is not allowed so; allowed: true, false")


def test_a_connection_is_told_in_one_way():
    found = problems(BatchReadOptions, READ | {"odbc": "Server=x", "encrypt": "yes"})
    assert [line.split(":")[0] for line in found] == ["server", "database", "encrypt"]
    assert problems(BatchReadOptions, {"schema": "s", "server": "a b", "database": "d"}) == [
        "server: is not allowed so; allowed: host, host,port or host:port"
    ]
    assert parse(BatchReadOptions, {"schema": "s", "odbc": "Server=x"}).server is None


def test_chunks_need_a_declared_order():
    (problem,) = problems(WriteOptions, WRITE | {"chunkRows": "10"})
    assert problem.startswith("orderColumn: ")
    (problem,) = problems(BatchWriteOptions, WRITE | {"orderColumn": "n"})
    assert problem.startswith("chunkRows: ")


def test_what_spark_adds_by_itself_is_no_unknown_option():
    parse(WriteOptions, WRITE | {"checkpointlocation": "/tmp/x"})
    assert problems(BatchReadOptions, READ | {"path": "x"})[0].startswith("path: ")


def test_no_secret_is_in_a_repr_a_message_or_a_traceback():
    options = parse(BatchReadOptions, READ)
    shown = [repr(options), str(options), repr(pickle.loads(pickle.dumps(options)))]
    error = told(Exception(f"Login failed {SECRET}"), options, "reading", "try")
    shown += [str(error), repr(error)]
    try:
        parse(BatchReadOptions, READ | {"encrypt": SECRET, "nonsense": SECRET})
    except OptionsError as wrong:
        shown += traceback.format_exception(wrong)
    assert not [text for text in shown if "hunter2" in text]


def test_a_password_is_hidden_as_it_is_and_as_a_connection_string_writes_it():
    given = from_odbc("Server=x;UID=u;PWD={pa}}ss}") | {"schema": "s"}
    options = parse(BatchReadOptions, given)
    assert hidden("pa}ss was wrong: PWD={pa}}ss}", options) == "*** was wrong: PWD={***}"


def test_values_cannot_break_out_of_the_connection_string():
    pytest.importorskip("mssql_python_odbc")
    text = connection_string(parse(BatchReadOptions, READ))
    assert "PWD={hunter2}};PWD=x};" in text
    assert ";Server=db,1433;" in text and "TrustServerCertificate=no" in text
    trusted = parse(BatchReadOptions, {"server": "db", "database": "d", "schema": "s"})
    assert "Trusted_Connection=yes" in connection_string(trusted)


def test_an_error_survives_the_way_from_a_task_to_the_driver():
    error = pickle.loads(pickle.dumps(SourceError("text", 229)))
    assert (str(error), error.number) == ("text", 229)
