"""What a user does wrong is told at once, with cause and next step; a server's error too."""

from __future__ import annotations

import pyodbc
import pytest

from redial.spark.connect import SourceError, explained, open_connection, told
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
    with pytest.raises(SourceError, match=r"Next: hostNameInCertificate .*trustServerCertificate"):
        open_connection(options)


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
