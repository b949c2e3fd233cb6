"""Landing table to Parquet through Spark and JDBC; what is missing for it is said."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest
from rich.console import Console

from harness.cli.configs import load_named
from harness.cli.demo import _set_up as set_up
from harness.cli.server import broker_process
from harness.pipeline import landing
from harness.pipeline.jar import JarMissing, jdbc_jar
from harness.pipeline.landing import LandingResult, SparkMissing, land
from harness.scenarios.flights import event, flights, mean_departure_delay


def result(delays, expected, tmp_path):
    return LandingResult(tmp_path, 3, 1, 1.0, delays, expected)


def test_equal_figures_are_called_equal(tmp_path):
    same = {"UA": (2, 1.5)}
    assert "the same figures" in result(same, dict(same), tmp_path).compared()


@pytest.mark.parametrize(
    "delays", [{}, {"UA": (1, 1.5)}, {"UA": (2, 1.6)}, {"UA": (2, 1.5), "XX": (1, 1.0)}]
)
def test_a_carrier_that_differs_is_named(delays, tmp_path):
    compared = result(delays, {"UA": (2, 1.5)}, tmp_path).compared()
    assert compared.startswith("NOT the figures")
    assert "UA" in compared or "XX" in compared


def test_without_java_the_next_command_installs_it(monkeypatch):
    monkeypatch.setattr(landing.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkMissing, match="Next: apt-get install -y openjdk"):
        land(None, "", None, None, {})


def test_without_pyspark_the_next_command_installs_it(monkeypatch):
    monkeypatch.setattr(landing.shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr(landing, "find_spec", lambda name: None)
    with pytest.raises(SparkMissing, match="Next: tools/setup --spark"):
        land(None, "", None, None, {})


def test_a_missing_jar_is_explained_by_what_fetching_it_said(monkeypatch):
    def missing():
        raise JarMissing("no network. Next: mvn ...")

    monkeypatch.setattr(landing, "_need_java_and_spark", lambda: None)
    monkeypatch.setattr(landing, "jdbc_jar", missing)
    with pytest.raises(SparkMissing, match="Next: mvn"):
        land(None, "", None, None, {})


def test_sparks_innermost_cause_is_shown():
    log = (
        "26/11/21 WARN x\npy4j.Py4JJavaError: An error occurred\n"
        ": org.apache.spark.SparkException: Job aborted\n\tat x\n"
        "Caused by: com.microsoft.sqlserver.jdbc.SQLServerException: Invalid object name 'x'.\n\tat"
    )
    assert landing._reason(log).endswith("SQLServerException: Invalid object name 'x'.")


def spark_is_here() -> bool:
    if shutil.which("java") is None or find_spec("pyspark") is None:
        return False
    try:
        jdbc_jar()
    except JarMissing:
        return False
    return True


@pytest.mark.jvm
@pytest.mark.driver
def test_two_hundred_landed_flights_are_aggregated_as_the_original(tmp_path):
    if not spark_is_here():
        pytest.skip("Java, PySpark or the JDBC driver is missing: tools/setup --spark")
    config = load_named("audit")
    insert = (
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, Body) "
        "VALUES (NEWID(), ?, ?, ?);"
    )
    with broker_process() as broker:
        server = set_up(Console(quiet=True), broker, config)
        connection = server.connect()
        kind = config.message_types[0].name
        for number, record in enumerate(flights(200)):
            connection.execute(insert, number, kind, event(0, number, record))
        connection.execute(insert, 200, config.contract.end_of_stream, None)
        found = land(server, broker.jdbc, config, tmp_path / "out", mean_departure_delay(200))
        connection.close()
    assert found.rows == 200 and found.partitions == landing.PARTITIONS
    assert found.differences() == []
    assert list((tmp_path / "out").glob("*.parquet"))
