"""What a user does wrong is told at once, with cause and next step; a server's error too."""

from __future__ import annotations

import pyodbc
import pytest

from redial.spark.connect import (
    SourceError,
    brief,
    explained,
    open_connection,
    passing,
    told,
)
from redial.spark.marks import present
from redial.spark.options import BatchReadOptions
from redial.spark.parsing import parse
from redial.spark.reading import Range, read

pytestmark = pytest.mark.driver


def read_options(lab, **more: str) -> BatchReadOptions:
    return parse(BatchReadOptions, lab.options(**more))


def test_a_schema_that_is_wrong_is_told_as_that_and_not_as_a_right(lab):
    options = read_options(lab, schema="no_such")
    with pytest.raises(SourceError, match=r"check options database and schema \(no_such\)") as told:
        list(read(options, Range(0, 1)))
    assert told.value.number == 208 and "redial deploy" in str(told.value)
    assert "role" not in str(told.value)


def test_a_right_that_lacks_is_told_with_the_role_that_has_it(lab):
    lab.sa.execute("CREATE LOGIN nobody WITH PASSWORD = 'N0body!pass'; CREATE USER nobody;")
    options = read_options(lab, user="nobody", password="N0body!pass")
    with pytest.raises(SourceError, match=r"Next: a login in the configuration's reader role"):
        list(read(options, Range(0, 1)))


def test_a_certificate_nobody_trusts_is_told_with_the_options_for_it(lab):
    options = read_options(lab, trustServerCertificate="false")
    said = r"\)\. Next: hostNameInCertificate .*trustServerCertificate"
    with pytest.raises(SourceError, match=said) as told:
        open_connection(options)
    assert not told.value.passing


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ("SSL Provider: [error:0A000086:SSL routines::certificate verify failed:expired]", False),
        (
            "SSL Provider: The certificate chain was issued by an authority that is not trusted.",
            False,
        ),
        ("SSL Provider: The target principal name is incorrect.", False),
        ("SSL Provider: An existing connection was forcibly closed by the remote host.", True),
        ("TCP Provider: Error code 0x2746", True),
    ],
)
def test_of_the_trouble_of_tls_only_a_refused_certificate_is_for_ever(words, passes):
    error = pyodbc.OperationalError("08001", f"[08001] [Microsoft][ODBC Driver 18]{words} (-1)")
    assert passing(error, None) is passes


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"password": "wr0ng!word"}, "Next: check user and password"),
        ({"database": "no_such"}, "Next: check option database"),
        ({"odbc": "Driver=/no/such.so;Server=127.0.0.1,{port}"}, "file not found. Next: "),
        ({"odbc": "Database=lab"}, "keyword supplied. Next: mend what the text names"),
        ({"odbc": "Server=127.0.0.1,{port};Encrypt=maybe"}, "'Encrypt'. Next: mend what"),
    ],
)
def test_what_stays_wrong_however_often_it_is_tried_is_not_waited_for(lab, more, said):
    given = lab.options(**{k: v.format(port=lab.broker.port) for k, v in more.items()})
    if "odbc" in more:
        given = {k: v for k, v in given.items() if k in ("odbc", "user", "password", "schema")}
    with pytest.raises(SourceError) as told:
        open_connection(parse(BatchReadOptions, given))
    assert said in str(told.value) and not told.value.passing


def test_a_server_that_does_not_answer_is_told_in_whole_sentences(lab):
    options = read_options(lab, server="127.0.0.1:1", loginTimeout="1")
    with pytest.raises(SourceError, match=r"\w\. Next: check server") as told:
        open_connection(options)
    assert told.value.passing


def test_messages_that_are_wrong_in_one_way_are_counted_and_one_is_shown():
    many = " ".join(f"Ordinal {n}: is wrong." for n in range(9)) + " Ordinal 9: is wr"
    assert brief(f"No. {many}") == "No. Ordinal 0: is wrong. (And 9 more at least.)"
    assert brief("Ordinal 1: a. Ordinal 2: b.") == "Ordinal 1: a. Ordinal 2: b."
    assert brief("nothing of that kind") == "nothing of that kind"


def test_a_login_the_server_refuses_is_told_by_name_without_its_password(lab):
    options = read_options(lab, password="wr0ng!word")
    with pytest.raises(SourceError, match=r"as sa: .*Next: check user and password") as told:
        open_connection(options)
    assert told.value.number == 18456 and "wr0ng" not in str(told.value)


def test_a_database_that_is_not_there_is_told_by_its_option(lab):
    with pytest.raises(SourceError, match=r"Next: check option database"):
        open_connection(read_options(lab, database="no_such"))


def test_a_statement_that_does_not_answer_ends_with_its_time_out(lab):
    options = read_options(lab, queryTimeout="1")
    connection = open_connection(options)
    with (
        pytest.raises(SourceError, match=r"^waiting: .*Next: .* a larger queryTimeout"),
        explained(options, "waiting", "nothing"),
    ):
        connection.execute("WAITFOR DELAY '01:00:00';")
    assert present(connection, options).mark  # the connection is still good


def test_what_is_ours_is_told_as_it_is():
    with pytest.raises(SourceError, match=r"^ours$"), explained(None, "asking", "nothing"):
        raise SourceError("ours")


def test_a_step_of_the_servers_own_is_not_told_twice(lab):
    error = pyodbc.Error("42000", "[42000] [M][D][SQL Server]no. Next: wait (50101) (SQLExecute)")
    assert str(told(error, read_options(lab), "sending", "try")).count("Next: ") == 1


@pytest.mark.jvm
@pytest.mark.parametrize("way", ["read", "readStream"])
def test_wrong_options_are_told_at_load_before_anything_starts(spark, lab, way):
    options = lab.options(numPartitions="many", pasword="x")
    with pytest.raises(Exception, match=r"numPartitions: is not allowed so") as told:
        getattr(spark, way).format("servicebroker").options(**options).load()
    assert "did you mean password?" in str(told.value)
    assert "UnboundLocalError" not in str(told.value)


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("more", "schema", "said"),
    [
        ({"endingMark": "latest"}, None, "endingMark: is an option of spark.read"),
        ({"pasword": "x"}, "mark binary", "schema: is fixed"),
    ],
)
def test_a_stream_that_cannot_start_says_why(spark, lab, tmp_path, more, schema, said):
    """What is right for a batch read passes load(), and a schema of one's own passes it too."""
    source = spark.readStream.format("servicebroker").options(**lab.options(**more))
    writer = (source.schema(schema) if schema else source).load().writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    with pytest.raises(Exception, match="OptionsError") as told:
        query.awaitTermination()
    assert said in str(told.value) and "UnboundLocalError" not in str(told.value)
