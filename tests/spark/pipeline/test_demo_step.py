"""The demo's last step: landed, aggregated as the original data, audited; or what is missing."""

from __future__ import annotations

import pytest
from rich.console import Console

from redial.cli.configs import load_named
from redial.cli.server import broker_process
from redial.spark import demo_step, session
from redial.spark.demo_step import Step, StepResult, run, take
from redial.spark.errors import PipelineError, reason
from redial_lab.commands.demo import _set_up as set_up
from redial_lab.scenarios.flights import event, flights, mean_departure_delay


def result(delays, expected, tmp_path):
    return StepResult(tmp_path, tmp_path, 3, 1, 1.0, delays, expected, "clean", True)


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


def test_without_java_the_next_command_installs_it(monkeypatch, tmp_path):
    monkeypatch.setattr(session.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(PipelineError, match="Next: apt-get install -y openjdk"):
        take(None, None, tmp_path, tmp_path, {})


def test_without_pyspark_the_next_command_installs_it(monkeypatch, tmp_path):
    monkeypatch.setattr(session.shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(PipelineError, match=r"Next: pip install .*\[spark\].*tools/setup --spark"):
        take(None, None, tmp_path, tmp_path, {})


def test_what_made_the_process_fail_is_shown():
    with pytest.raises(PipelineError, match=r"failed: .*ValidationError: 6 validation errors"):
        demo_step._run(Step("", {}, "", ""))


def test_sparks_innermost_cause_is_shown():
    log = (
        "26/11/21 WARN x\npy4j.Py4JJavaError: An error occurred\n"
        ": org.apache.spark.SparkException: Job aborted\n\tat x\n"
        "Caused by: com.microsoft.sqlserver.jdbc.SQLServerException: Invalid object name 'x'.\n\tat"
    )
    assert reason(log).endswith("SQLServerException: Invalid object name 'x'.")


@pytest.mark.jvm
@pytest.mark.driver
@pytest.mark.nightly("a broker and a deployment of its own")
def test_two_hundred_landed_flights_are_aggregated_as_the_original_and_audited(
    spark, monkeypatch, tmp_path
):
    """In the tests' own session instead of a process: the same code but for the process."""
    monkeypatch.setattr(spark, "stop", lambda: None)
    config = load_named("audit")
    insert = (
        "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
        "MessageType, Body) VALUES ('11111111-2222-3333-4444-555555555555', NEWID(), ?, ?, ?);"
    )
    with broker_process() as broker:
        server = set_up(Console(quiet=True), broker, config)
        connection = server.connect()
        kind = config.message_types[0].name
        for number, record in enumerate(flights(200)):
            connection.execute(insert, number, kind, event(0, number, record))
        connection.execute(insert, 200, config.contract.end_of_stream, None)
        found = run(
            Step(
                server.odbc,
                config.model_dump(by_alias=True, mode="json"),
                str(tmp_path / "out"),
                str(tmp_path / "audit.html"),
            )
        )
        connection.close()
    assert found["rows"] == 200 and found["clean"], found
    assert "201 rows" in found["verdict"] and "1 complete" in found["verdict"]
    delays = {name: (n, mean) for name, n, mean in found["delays"]}
    assert result(delays, mean_departure_delay(200), tmp_path).differences() == []
    assert list((tmp_path / "out").glob("batch=*/landed_date=*/*.parquet"))
    assert "<svg" in (tmp_path / "audit.html").read_text(encoding="utf-8")
