"""What was deployed and tried is written down, and there is a way back without an old checkout."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from invoke.context import Context

from redial.cli import deploy_commands
from redial.cli.deploy import deploy, drift, verify
from redial.cli.history import baseline, history, repair, rollback
from redial.cli.uninstalling import uninstall
from redial.config import load
from redial.deploy import apply, connect_odbc
from redial.deploy import history as kept
from redial.deploy.verify import look
from redial.paths import CONFIGS, GENERATED
from redial.render import read

from .conftest import another_revision, cut_off, logged_in_as
from .test_plan import BLOCKED, CHANGES, ERROR, NOTHING, broker, installed, run, server, status_of

__all__ = ["broker", "installed", "server"]
pytestmark = pytest.mark.driver
AUDIT = load(CONFIGS / "audit.toml")


@pytest.fixture
def later(tmp_path) -> Path:
    """The files of a later revision: a procedure says something more."""
    folder = Path(shutil.copytree(GENERATED / "audit", tmp_path / "later"))
    return another_revision(folder, "usp_LogError")


def text_of_logerror(server: str) -> str:
    [(text,)] = run(server, "SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_LogError'));")
    return text


def test_an_attempt_says_who_what_and_how_it_ended(installed, monkeypatch, capsys):
    [row] = run(
        installed,
        "SELECT Outcome, What, StartedBy, ToolVersion, HashBefore, HashAfter, Message, "
        "CASE WHEN EndedUtc >= StartedUtc THEN 1 END, CASE WHEN LEN(SourceRevision) > 0 THEN 1 END "
        "FROM audit.DeploymentAttempt;",
    )
    [(content,)] = run(installed, "SELECT ContentHash FROM audit.DeploymentHistory;")
    assert row[:4] == ("finished", "deploy", "sa", "0.1.0")
    assert row[4:] == (None, content, None, 1, 1)
    assert status_of(history, server=installed) == NOTHING
    said = capsys.readouterr().out
    assert re.search(rf"^     1  \S+ \S+  {content[:8]}  0\.1\.0 by sa$", said, re.M), said
    assert re.search(
        rf"1  \S+ \S+  deploy finished in [0-9.]+ s  nothing -> {content[:8]}  by sa from ", said
    ), said


def test_a_deployment_without_a_change_is_no_attempt(installed, capsys):
    assert status_of(deploy, server=installed) == NOTHING
    assert run(installed, "SELECT COUNT(*) FROM audit.DeploymentAttempt;") == [(1,)]


def test_the_way_back_is_planned_first_and_gone_with_yes(installed, later, capsys):
    before = text_of_logerror(installed)
    # 1. a later revision comes
    assert status_of(deploy, server=installed, from_folder=str(later)) == NOTHING
    assert "/* later */" in text_of_logerror(installed)
    capsys.readouterr()
    # 2. without --yes the way back is only planned
    assert status_of(rollback, server=installed) == CHANGES
    said = capsys.readouterr().out
    assert "back to deployment 1 of " in said and "-    SET NOCOUNT ON;" in said
    assert "Next: the same command with --yes" in said
    assert "/* later */" in text_of_logerror(installed)
    # 3. with it, it is gone; what is there is what the first files make
    assert status_of(rollback, server=installed, yes=True) == NOTHING
    assert text_of_logerror(installed) == before
    capsys.readouterr()
    assert status_of(verify, server=installed) == NOTHING
    # 4. it is a deployment as others, and there is a way forward again
    whats = run(installed, "SELECT What, Outcome FROM audit.DeploymentAttempt ORDER BY AttemptId;")
    assert whats == [("deploy", "finished"), ("deploy", "finished"), ("rollback", "finished")]
    assert status_of(rollback, server=installed, to=2, yes=True) == NOTHING
    assert "/* later */" in text_of_logerror(installed)
    assert status_of(rollback, server=installed, to=2) == NOTHING


def test_there_is_no_way_back_to_what_is_not_there(installed, capsys):
    assert status_of(rollback, server=installed) == ERROR
    assert "there is no deployment before the last" in capsys.readouterr().err
    assert status_of(rollback, server=installed, to=7) == ERROR
    said = capsys.readouterr().err
    assert "there is no deployment 7" in said and "Next: redial history" in said


def test_nothing_goes_back_behind_a_migration_of_a_later_version(installed, later, capsys):
    assert status_of(deploy, server=installed, from_folder=str(later)) == NOTHING
    run(installed, "INSERT INTO audit.Migration (Number, Name) VALUES (7, N'later');")
    capsys.readouterr()
    assert status_of(rollback, server=installed, yes=True) == BLOCKED
    said = capsys.readouterr().out
    assert "BLOCKED" in said and "migration 7" in said
    assert "/* later */" in text_of_logerror(installed)


def test_a_failure_is_written_down_with_its_reason_and_the_next_attempt_goes_on(
    installed, later, capsys
):
    files = read(later)
    files["70_usp_LogError.procedure.sql"] = "THROW 51000, N'no more', 1;\nGO\n"
    said = kept.Story("deploy", "cd" * 32)
    with pytest.raises(Exception, match="no more"):
        apply(AUDIT, connect_odbc(installed), files=files, story=said)
    [_, (outcome, message)] = run(
        installed, "SELECT Outcome, Message FROM audit.DeploymentAttempt ORDER BY AttemptId;"
    )
    assert outcome == "failed" and "1_core.sql:" in message and "51000: no more" in message
    capsys.readouterr()
    assert status_of(deploy, server=installed) == NOTHING
    assert status_of(history, server=installed) == NOTHING
    assert re.search(r"2  \S+ \S+  deploy failed in .*no more", capsys.readouterr().out)


def test_one_that_was_cut_off_is_called_abandoned_by_the_next(installed, later):
    run(installed, "UPDATE audit.DeploymentAttempt SET Outcome = N'running', EndedUtc = NULL;")
    assert status_of(deploy, server=installed, from_folder=str(later)) == NOTHING
    assert run(installed, "SELECT Outcome FROM audit.DeploymentAttempt ORDER BY AttemptId;") == [
        ("abandoned",),
        ("finished",),
    ]


def test_one_that_says_no_end_while_nobody_is_at_work_is_called_abandoned(installed, capsys):
    """History only looks: the row is the next one's to write."""
    said = "UPDATE audit.DeploymentAttempt SET Outcome = N'running', EndedUtc = NULL;"
    run(installed, said)
    capsys.readouterr()
    with closing(connect_odbc(installed)()) as other:
        other.execute(
            "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session', 0;"
        )
        assert status_of(history, server=installed) == NOTHING
        assert "deploy running" in capsys.readouterr().out
    assert status_of(history, server=installed) == NOTHING
    assert "deploy abandoned" in capsys.readouterr().out
    assert run(installed, "SELECT Outcome FROM audit.DeploymentAttempt;") == [("running",)]


def test_what_install_sql_made_can_be_kept_for_a_way_back(server, later, capsys):
    # 1. redial.sql as sqlcmd runs it: nothing of ours beside it
    apply(AUDIT, connect_odbc(server), files=read(GENERATED / "audit"))
    assert status_of(history, server=server) == NOTHING
    assert "files not kept" in capsys.readouterr().out
    # 2. other files are refused, its own are kept
    assert status_of(baseline, server=server, from_folder=str(later)) == ERROR
    assert "and these are abababab" in capsys.readouterr().err
    assert status_of(baseline, server=server) == NOTHING
    assert "kept: the files of deployment 1" in capsys.readouterr().out
    # 3. so there is a way back to it
    assert status_of(deploy, server=server, from_folder=str(later)) == NOTHING
    assert status_of(rollback, server=server, yes=True) == NOTHING
    assert "/* later */" not in text_of_logerror(server)


def test_only_the_last_ones_are_kept(installed):
    with closing(connect_odbc(installed)()) as connection:
        connection.autocommit = True
        files = {"90_deployment.data.sql": ""}
        text = read(GENERATED / "audit")["90_deployment.data.sql"]
        for number in range(kept.KEPT_TEXTS + 3):
            files["90_deployment.data.sql"] = re.sub(r"[0-9a-f]{64}", f"{number:064x}", text)
            kept.keep(connection, "audit", files)
    rows = run(installed, "SELECT ContentHash FROM audit.DeploymentText ORDER BY ContentHash;")
    assert len(rows) == kept.KEPT_TEXTS


def test_before_anything_was_deployed_history_says_so(server, capsys):
    assert status_of(history, server=server) == NOTHING
    assert "nothing was ever deployed here" in capsys.readouterr().out


ATTEMPTS = (
    "SELECT What, Outcome, StartedBy, ToolVersion, CASE WHEN LEN(HostName) > 0 THEN 1 END, "
    "CASE WHEN EndedUtc >= StartedUtc THEN 1 END, SourceRevision FROM audit.DeploymentAttempt "
    "ORDER BY AttemptId;"
)


def test_a_baseline_a_repair_and_a_removal_are_attempts_too(installed, monkeypatch, capsys):
    monkeypatch.setenv("REDIAL_REVISION", "v7")
    assert status_of(baseline, server=installed) == NOTHING
    run(installed, "UPDATE audit.DeploymentText SET Files = 0x1F8B00;")
    assert status_of(repair, server=installed) == NOTHING
    # 1. where there is nothing to repair, nothing was tried
    assert status_of(repair, server=installed) == NOTHING
    assert status_of(uninstall, server=installed, yes="audit") == NOTHING
    rows = run(installed, ATTEMPTS)
    assert [row[:2] for row in rows] == [
        ("deploy", "finished"),
        ("baseline", "finished"),
        ("repair", "finished"),
        ("uninstall", "finished"),
    ]
    assert {row[2:] for row in rows[1:]} == {("sa", "0.1.0", 1, 1, "v7")}
    # 2. who looks sees them, with what they were to do
    capsys.readouterr()
    assert status_of(history, server=installed) == NOTHING
    said = capsys.readouterr().out
    assert re.search(
        r"uninstall finished in [0-9.]+ s  \w{8} -> nothing  by sa from .*, source v7", said
    )
    for number, plan in ((3, "could not be read: dropped"), (4, "  drops    ")):
        assert status_of(history, server=installed, attempt=number) == NOTHING
        assert plan in capsys.readouterr().out


def test_a_removal_that_fails_is_written_down_with_its_reason(installed, capsys):
    run(
        installed,
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
        "VALUES (N'target', NEWID(), 7);",
    )
    assert status_of(uninstall, server=installed, yes="audit", purge_data=True) == ERROR
    capsys.readouterr()
    assert status_of(history, server=installed) == NOTHING
    assert re.search(r"uninstall failed in .*: .*50143", capsys.readouterr().out)
    # 1. with the tables its own goes, and that is no failure
    options = {"yes": "audit", "purge_data": True, "purge_rows": 1}
    assert status_of(uninstall, server=installed, **options) == NOTHING
    assert run(installed, "SELECT OBJECT_ID(N'audit.DeploymentAttempt');") == [(None,)]


def test_what_a_cut_off_deployment_made_is_no_handwork_though_a_baseline_came_after(
    installed, later, capsys
):
    """A baseline that has ended says nothing of what a deployment before it has left half done."""
    cut_off(AUDIT, installed, later, "79_")
    assert status_of(baseline, server=installed) == NOTHING
    assert status_of(deploy, server=installed) == NOTHING
    assert "/* later */" not in text_of_logerror(installed)


def test_how_long_a_deployment_takes_is_said_by_deployments_only(installed):
    run(installed, "UPDATE audit.DeploymentAttempt SET EndedUtc = DATEADD(second, 77, StartedUtc);")
    assert status_of(baseline, server=installed) == NOTHING
    [one] = look(AUDIT, connect_odbc(installed))
    assert one.seconds == 77


def test_who_may_not_read_the_history_is_told_which_right_and_who_can_give_it(installed, capsys):
    run(installed, "CREATE LOGIN outsider WITH PASSWORD = N'Long-enough-1';")
    run(installed, "CREATE USER outsider FOR LOGIN outsider;")
    server = logged_in_as(installed, "outsider", "Long-enough-1")
    rights = [
        ("VIEW DEFINITION", "GRANT VIEW DEFINITION TO [outsider]"),
        ("SELECT ON SCHEMA::[audit]", "GRANT SELECT ON [audit].[DeploymentHistory] TO"),
    ]
    for grant, lacks in rights:
        for command in (history, drift, rollback, baseline):
            assert status_of(command, server=server) == ERROR, command
            out, said = capsys.readouterr()
            assert "nothing was ever deployed" not in out + said
            assert "Next: let a member of db_owner" in said and lacks in said, said
        run(installed, f"GRANT {grant} TO outsider;")
    assert status_of(history, server=server) == NOTHING
    assert "deploy finished" in capsys.readouterr().out


def test_what_was_tried_is_called_hidden_from_who_may_read_only_what_was_deployed(
    installed, capsys
):
    run(installed, "CREATE LOGIN half WITH PASSWORD = N'Long-enough-1';")
    run(
        installed,
        "CREATE USER half FOR LOGIN half; GRANT SELECT ON audit.DeploymentHistory TO half;",
    )
    server = logged_in_as(installed, "half", "Long-enough-1")
    assert status_of(history, server=server) == NOTHING
    said = capsys.readouterr().out
    assert "by sa; whether files are kept is hidden" in said and "tried:" not in said
    assert "what was tried is hidden from this login. Next: let a member of db_owner look" in said
    assert status_of(history, server=server, form="json") == NOTHING
    assert json.loads(capsys.readouterr().out)["tried"] is None
    assert status_of(history, server=server, attempt=1) == ERROR
    assert "is hidden from this login" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option", "said"),
    [
        (deploy_commands.rollback, {"to": 0}, "there is no deployment 0 in"),
        (deploy_commands.rollback, {}, "there is no deployment before the last in"),
        (deploy_commands.history, {"attempt": 0}, "--attempt 0: was never made here"),
    ],
)
def test_a_number_that_is_said_is_not_taken_for_none(installed, command, option, said, capsys):
    assert status_of(partial(command, Context()), server=installed, **option) == ERROR
    assert said in capsys.readouterr().err
