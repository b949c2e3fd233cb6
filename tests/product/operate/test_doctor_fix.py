"""``redial doctor --fix``, --list and --explain: what may run, who may, and what is left."""

from __future__ import annotations

import subprocess
import sys

import pytest

from redial.cli.doctor import doctor
from redial.deploy import apply, connect_odbc
from redial.operate.doctor import Status
from redial.quoting import quote_name
from redial.render.findings import Priority, heads
from redial.render.renderer import register
from redial.server import with_database
from tests.product.deploy.conftest import run, status_of

from .test_doctor import AUDIT, HEALTH, NOBODY, OFF, in_two, operator, quick, says

__all__ = ["operator", "quick"]
pytestmark = pytest.mark.driver
HOSTILE = "a]b'c<i>&\"d\ne"


def reported(*rows: tuple[str, str, str]) -> str:
    """A usp_Health that says so: ids, objects and statements."""
    lines = " UNION ALL ".join(
        f"SELECT 1, N'x', N'{object}', NULL, N'advice', N'{statement}', N'somebody', N'{id}', N''"
        for id, object, statement in rows
    )
    names = "Priority, Finding, Object, Figure, Advice, Statement, Who, Id, Page"
    return HEALTH + f"SELECT * FROM ({lines}) AS f({names});"


def on(server: str) -> set[str]:
    """Queues that are on."""
    sql = "SELECT name FROM sys.service_queues WHERE is_receive_enabled = 1;"
    return {name for (name,) in run(server, sql)}


# --- fix ---------------------------------------------------------------------------------------


def test_without_yes_the_statement_is_shown_and_nothing_runs(site, capsys):
    run(site.server, OFF)
    status, said = says(capsys, site.server, fix="queue-off")
    assert status == Status.ACT_NOW
    assert "who      a member of audit_operator" in said
    assert "run      EXECUTE [audit].[usp_StartQueue] @queue = N'TargetQueue'" in said
    assert "Nothing was run. Next: redial doctor --config audit --fix queue-off --yes" in said
    assert "TargetQueue" not in on(site.server)


def test_an_operator_mends_what_he_may_and_sees_it_gone(site, operator, capsys):
    run(site.server, OFF)
    status, said = says(capsys, operator, fix="queue-off", yes=True)
    assert status == Status.CLEAN, said
    assert "Outcome: done" in said and "gone: queue off: TargetQueue" in said
    assert "TargetQueue" in on(site.server)
    status, said = says(capsys, operator, fix="queue-off", yes=True)
    assert status == Status.CLEAN and "nothing of it is found" in said


def test_behind_a_statement_that_fails_none_runs_and_all_are_named(site, capsys):
    run(site.server, OFF + OFF.replace("Target", "Initiator"))
    run(
        site.server,
        "CREATE OR ALTER PROCEDURE audit.usp_StartQueue @queue sysname, @reason nvarchar(99), "
        "@WhatIf bit AS THROW 50001, N'no', 1;",
    )
    status, said = says(capsys, site.server, fix="queue-off", yes=True)
    assert status == Status.ACT_NOW
    failed, left = said.index("N'InitiatorQueue'"), said.index("not run in 127.0.0.1,")
    assert failed < left and "no (50001)" in said and "N'TargetQueue'" in said[left:]
    assert "Next: mend that, or let a member of audit_operator run it" in said
    assert "remains: queue off: InitiatorQueue" in said
    assert "remains: queue off: TargetQueue" in said and "gone: " not in said


def test_a_right_that_is_missing_is_told_with_who_may(site, operator, capsys):
    run(site.server, "ALTER DATABASE CURRENT SET AUTO_CLOSE ON;")
    status, said = says(capsys, operator, fix="database-closes-by-itself", yes=True)
    assert status == Status.NOT_ALL
    assert "let a member of db_owner run it" in said and "remains: " in said


def test_a_finding_without_a_statement_says_what_to_do_instead(site, capsys):
    run(site.server, "DROP INDEX IX_ConversationLog_ConversationId ON audit.ConversationLog;")
    status, said = says(capsys, site.server, fix="index-missing", yes=True)
    assert status == Status.ACT_NOW, said
    assert "who      whoever deploys" in said and "no statement mends this" in said


def test_what_was_not_looked_for_is_not_called_gone(operator, capsys):
    status, said = says(capsys, operator, fix="activation-stuck", yes=True)
    assert status == Status.NOT_ALL
    assert "activation-stuck: was not looked for" in said and "VIEW SERVER STATE" in said


def test_a_server_that_does_not_answer_is_not_called_mended(quick, capsys):
    status, said = says(capsys, NOBODY, fix="queue-off", yes=True)
    assert status == Status.NOT_ALL and "Next: check that the server runs" in said


def test_nothing_runs_that_was_not_said_of_that_id_and_nothing_twice(site, capsys):
    run(site.server, "CREATE TABLE dbo.Ran (Word nvarchar(9));")
    words = (("queue-off", "one"), ("queue-off", "one"), ("rows", "two"), ("queue-of", "three"))
    rows = [
        (id, str(n), f"INSERT INTO dbo.Ran VALUES (N''{w}'');") for n, (id, w) in enumerate(words)
    ]
    run(site.server, reported(*rows))
    status, said = says(capsys, site.server, fix="queue-off", yes=True)
    assert status == Status.ACT_NOW and said.count("remains: ") == 2
    assert run(site.server, "SELECT Word FROM dbo.Ran;") == [("one",)]


def test_a_statement_that_takes_too_long_is_stopped_and_named(site, capsys):
    run(site.server, reported(("queue-off", "q", "WAITFOR DELAY ''00:01:00'';")))
    status, said = says(capsys, site.server, fix="queue-off", yes=True, wait_seconds=1)
    assert status == Status.ACT_NOW
    assert "WAITFOR DELAY '00:01:00'; on 127.0.0.1," in said
    assert "took longer than 1 seconds, and was stopped" in said


def test_a_database_with_a_hostile_name_is_shown_in_one_line_and_mended(site, capsys):
    run(site.server, f"CREATE DATABASE {quote_name(HOSTILE)};")
    server = with_database(site.server, HOSTILE)
    apply(AUDIT, connect_odbc(server))
    run(server, "ALTER DATABASE CURRENT SET AUTO_CLOSE ON;")
    status, said = says(capsys, server)
    assert status == Status.WARNINGS, said
    assert "database closes by itself: a]b'c<i>&\"d<U+000A>e\n" in said
    status, said = says(capsys, server, fix="database-closes-by-itself", yes=True)
    assert (
        status == Status.CLEAN
        and "gone: database closes by itself: a]b'c<i>&\"d<U+000A>e (AUTO" in said
    )
    run(site.server, f"USE master; DROP DATABASE {quote_name(HOSTILE)};")


# --- the register ------------------------------------------------------------------------------


def listed(capsys, config: str) -> dict[str, str]:
    capsys.readouterr()
    doctor(config, list_ids=True)
    lines = capsys.readouterr().out.splitlines()
    return {
        line.split("  ")[1 + (line.startswith(" "))].strip(): line for line in map(_narrow, lines)
    }


def _narrow(line: str) -> str:
    return "  ".join(cell.strip() for cell in line.split("  ") if cell.strip())


def test_the_list_has_every_finding_and_asks_no_server(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = listed(capsys, "")
    assert list(found) == [one.id for one in heads()]
    assert (
        found["queue-off"] == "nothing flows  queue-off  queue off  a member of the operator role"
    )


def test_the_list_of_a_configuration_has_only_what_is_looked_for_there(capsys):
    found = listed(capsys, "audit")
    assert list(found) == [one.id for one in register(AUDIT).findings]
    assert found["queue-off"].endswith("a member of audit_operator")
    assert "job-late" not in found


QUIET = {"endpoints", "pending-new", "unlanded"}
"""Figures of what is not there in an installation that has sent nothing."""


def test_every_finding_explains_itself_and_its_query_runs_as_it_stands(whole_site, capsys):
    for one in register(AUDIT).findings:
        capsys.readouterr()
        assert status_of(doctor, explain=one.id) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{one.id}: {one.title}\n") and one.query in said
        asked = "asked by whoever has VIEW SERVER STATE" in said
        assert asked == bool({"server", "sessions"} & set(one.needs))
        asks = said.split("    asks:\n")[1]
        found = run(whole_site.server, f"SET NOCOUNT ON; {asks}")
        assert bool(found) == (one.priority == Priority.FIGURE and one.id not in QUIET), one.id


def test_where_something_else_is_asked_in_the_targets_database_both_are_shown(capsys, monkeypatch):
    monkeypatch.setattr("redial.cli.doctor.load_named", lambda _: in_two("depot"))
    assert status_of(doctor, explain="gate-closed") == 0
    said = capsys.readouterr().out
    assert said.index("    asks:\n") < said.index("    asks, in database depot:\n")
    assert status_of(doctor, explain="queue-off") == 0
    assert capsys.readouterr().out.count("    asks") == 1


def test_what_was_not_looked_at_explains_itself_too(capsys):
    assert status_of(doctor, explain="not-looked-at") == 0
    assert "which right is missing" in capsys.readouterr().out


def test_an_unknown_id_is_answered_with_the_one_that_was_meant(capsys):
    assert status_of(doctor, explain="queueoff") == 1
    assert "did you mean queue-off?" in capsys.readouterr().err


def test_the_command_line_takes_several_servers_and_ends_with_the_worst_status():
    line = ["doctor", "--config", "audit", "--server", "embedded", "--server", "embedded"]
    done = subprocess.run(
        [sys.executable, "-c", "from redial.cli.main import main; main()", *line],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Status.NOT_ALL, done.stderr
    assert done.stdout.count("is not there, or this login may not see it (2812)") == 2
    assert done.stdout.count("redial deploy --config audit") == 2
