"""Deployment stops at the first failing batch and says where, and never interleaves."""

import pytest

from redial.config import load
from redial.deploy import DeployError, apply, uninstall
from redial.paths import CONFIGS
from redial.render import render

from .fake import FakeServer

AUDIT = load(CONFIGS / "audit.toml")
ODBC = "[42000] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{} ({}) (SQLExecDirectW)"


def test_every_batch_of_every_part_is_sent_in_order_in_autocommit():
    server = FakeServer()
    seen = []
    report = apply(AUDIT, server.connect, lambda *args: seen.append(args))
    assert report.batches == len(server.scripts)
    parts = [n for n in render(AUDIT) if n[:2].isdigit()]
    assert report.files == sorted(n for n in parts if n != "81_modules.check.sql")
    assert seen[0] == ("05_preflight.check.sql", 1, len(report.files))
    assert all(not text.strip().upper().endswith("\nGO") for text in server.scripts)
    (connection,) = server.connections
    assert connection.autocommit and connection.closed


def test_a_failing_batch_stops_the_deployment_with_file_line_and_the_servers_message():
    message = ODBC.format("There is already an object named 'Landing' in the database.", 2714)
    server = FakeServer({"CREATE TABLE [audit].[Landing]": (message, 0)})
    with pytest.raises(DeployError) as caught:
        apply(AUDIT, server.connect)
    error = caught.value
    text = render(AUDIT)["1_core.sql"]
    before = text[: text.index("IF OBJECT_ID(N'[audit].[Landing]'")]
    line = before[: before.rindex("\nGO\n")].count("\n") + 3
    assert (error.file, error.line, error.number) == ("1_core.sql", line, 2714)
    assert str(error) == (
        f"1_core.sql:{line}: Msg 2714: There is already an object named 'Landing' in the database."
    )
    assert "CREATE TABLE [audit].[Landing]" in server.scripts[-1]
    assert server.connections[0].closed


def test_an_error_behind_result_sets_is_not_missed():
    message = ODBC.format("late", 50001)
    server = FakeServer({"CREATE QUEUE [": (message, 3)})
    with pytest.raises(DeployError, match=r"1_core\.sql:\d+: Msg 50001: late"):
        apply(AUDIT, server.connect)


def test_a_second_deployment_waits_for_the_first_and_then_gives_up():
    server = FakeServer()
    server.lock_result = -1
    with pytest.raises(DeployError, match="another deployment of 'audit' is running"):
        apply(AUDIT, server.connect)
    assert server.scripts == []


def test_the_lock_is_given_back_after_a_failure_too():
    server = FakeServer({"CREATE QUEUE [": ("no driver tags here", 0)})
    with pytest.raises(DeployError, match="no driver tags here"):
        apply(AUDIT, server.connect)
    assert "sp_releaseapplock" in server.sent[-1]


def test_uninstall_keeps_the_data_unless_told_otherwise():
    server = FakeServer()
    assert uninstall(AUDIT, server.connect).files == ["uninstall.sql"]
    assert not any("N'TABLE', N'Landing')" in text for text in server.scripts)
    server = FakeServer()
    report = uninstall(AUDIT, server.connect, purge_data=True, purge_rows=1_000_000)
    assert report.files == ["purge_data.sql, counting", "uninstall.sql", "purge_data.sql"]
    assert "N'TABLE', N'Landing')" in server.scripts[-1]


def test_nothing_is_dropped_before_the_drain():
    told = ODBC.format("3 endpoints are still open", 50140)
    server = FakeServer({"Not drained within": (told, 0)})
    with pytest.raises(DeployError, match="Msg 50140"):
        uninstall(AUDIT, server.connect)
    (drain,) = [text for text in server.scripts if "DROP " in text]  # one batch
    before = drain[: drain.index("THROW 50140")]
    assert "EXECUTE @left = [audit].[usp_Drain]" in before
    for kept in (
        "N'usp_Send')",
        "N'usp_SenderActivation')",
        "DROP QUEUE",
        "ACTIVATION (DROP)",
        "release",
    ):
        assert kept not in before
