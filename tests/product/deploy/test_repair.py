"""``redial repair`` puts the history right, and ``redial history`` tells one attempt with its plan."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.history import baseline, history, repair, rollback
from redial.paths import GENERATED

from .conftest import another_revision, run, status_of

pytestmark = pytest.mark.driver
ERROR = 1


def test_a_history_in_order_is_left_alone(site, capsys):
    assert status_of(repair, server=site.server) == 0
    assert "nothing to repair" in capsys.readouterr().out


def test_an_attempt_that_was_cut_off_is_called_abandoned(site, capsys):
    run(site.server, "UPDATE audit.DeploymentAttempt SET Outcome = N'running', EndedUtc = NULL;")
    assert status_of(repair, server=site.server) == 0
    assert "attempts that were cut off, now called abandoned: 1" in capsys.readouterr().out
    assert run(site.server, "SELECT Outcome FROM audit.DeploymentAttempt ORDER BY AttemptId;") == [
        ("abandoned",),
        ("finished",),
    ]


@pytest.mark.parametrize("outcome", ["running", "failed"])
def test_a_deployment_that_stopped_behind_its_files_is_run_to_its_end_by_the_next(
    site, outcome, capsys
):
    """Nothing differs from the files then, and what is around them was not kept."""
    run(
        site.server,
        f"UPDATE audit.DeploymentAttempt SET Outcome = N'{outcome}', EndedUtc = NULL; "
        "UPDATE audit.DeploymentText SET Known = NULL;",
    )
    assert status_of(plan, server=site.server) == 2
    said = capsys.readouterr().out
    assert "mend     the last deployment has sent its files and not come to its end" in said
    assert status_of(deploy, server=site.server) == 0
    said = capsys.readouterr().out
    assert re.findall(r"^ +\d+/\d+ (\S+)", said, re.M) == ["05_preflight.check.sql"]
    assert "is compared with nothing" not in said
    assert status_of(plan, server=site.server) == 0
    # 1. one of other files has changed nothing of these
    run(
        site.server,
        "INSERT INTO audit.DeploymentAttempt (What, ToolVersion, HashAfter, Outcome) "
        f"VALUES (N'deploy', N'0', REPLICATE('1', 64), N'{outcome}');",
    )
    assert status_of(plan, server=site.server) == 0


def test_files_that_cannot_be_read_are_dropped_and_there_is_no_way_back_to_them(site, capsys):
    run(site.server, "UPDATE audit.DeploymentText SET Files = 0x1F8B00;")
    assert status_of(repair, server=site.server) == 0
    assert "could not be read: dropped" in capsys.readouterr().out
    assert status_of(drift, server=site.server) == ERROR
    assert status_of(rollback, server=site.server, to=1) == ERROR
    assert "were not kept" in capsys.readouterr().err


def test_files_of_another_deployment_under_its_name_are_not_taken_for_it(site):
    run(site.server, "UPDATE audit.DeploymentText SET ContentHash = REPLICATE('0', 64);")
    assert status_of(repair, server=site.server) == 0
    assert run(site.server, "SELECT COUNT(*) FROM audit.DeploymentText;") == [(0,)]


def test_a_lost_row_is_written_again_where_all_is_as_the_files_make_it(site, capsys):
    run(site.server, "DELETE FROM audit.DeploymentHistory;")
    assert status_of(verify, server=site.server) == 1
    assert status_of(repair, server=site.server) == 0
    assert status_of(verify, server=site.server) == 0
    # 1. otherwise nobody can say what was deployed
    run(site.server, "DELETE FROM audit.DeploymentHistory; DROP VIEW audit.vw_Errors;")
    capsys.readouterr()
    assert status_of(repair, server=site.server) == 0
    assert "it cannot be said what was deployed. Next: redial deploy" in capsys.readouterr().out
    assert run(site.server, "SELECT COUNT(*) FROM audit.DeploymentHistory;") == [(0,)]


def test_a_database_without_it_has_no_history_to_repair(site, capsys):
    assert status_of(repair, server=site.empty) == ERROR
    assert capsys.readouterr().err.startswith("repair: nothing of 'audit' is in this database\n")


@pytest.mark.parametrize("command", [baseline, drift, history])
def test_an_error_of_the_history_begins_with_the_command_that_was_called(site, command, capsys):
    run(site.server, "EXECUTE sys.sp_rename N'audit.DeploymentHistory.Version', N'V2';")
    assert status_of(command, server=site.server) == ERROR
    assert capsys.readouterr().err.startswith(f"{command.__name__}: Msg 207: ")
    run(site.server, "EXECUTE sys.sp_rename N'audit.DeploymentHistory.ContentHash', N'C2';")
    assert status_of(repair, server=site.server) == 0
    assert "Next: redial deploy" in capsys.readouterr().out


def test_the_row_of_an_earlier_deployment_is_named_and_not_written_again(site, tmp_path, capsys):
    folder = Path(shutil.copytree(GENERATED / "audit", tmp_path / "audit"))
    later = {"from_folder": str(another_revision(folder, "usp_LogError"))}
    assert status_of(deploy, server=site.server, **later) == 0
    content = "SELECT ContentHash FROM audit.DeploymentHistory ORDER BY DeploymentId;"
    first, last = run(site.server, content)
    run(site.server, "DELETE FROM audit.DeploymentHistory WHERE DeploymentId = 1;")
    capsys.readouterr()
    assert status_of(repair, server=site.server, **later) == 0
    said = capsys.readouterr().out
    assert f"the row of an earlier deployment, of files {first[0][:8]}, is missing" in said
    assert "redial history --attempt 1 " in said and "nothing to repair" not in said
    assert run(site.server, content) == [last]


def test_one_attempt_is_told_with_its_plan_and_all_of_them_as_json(site, capsys):
    capsys.readouterr()
    assert status_of(history, server=site.server, attempt=1) == 0
    said = capsys.readouterr().out
    assert "plan:\ncreate user audit_module is missing [not installed]" in said
    assert status_of(history, server=site.server, attempt=7) == ERROR
    capsys.readouterr()
    assert status_of(history, server=site.server, form="json") == 0
    told = json.loads(capsys.readouterr().out)
    [one] = told["tried"]
    assert one["outcome"] == "finished" and one["by"] == "sa" and one["host"] and one["changes"]
    assert told["deployed"][0]["content"] == one["after"]


@pytest.mark.parametrize("packed", ["0x00", "COMPRESS('[1]')", "COMPRESS('{}')"])
def test_kept_files_that_cannot_be_read_are_said_with_what_drops_them(
    site, tmp_path, packed, capsys
):
    folder = Path(shutil.copytree(GENERATED / "audit", tmp_path / "audit"))
    later = another_revision(folder, "usp_LogError")
    assert status_of(deploy, server=site.server, from_folder=str(later)) == 0
    run(site.server, f"UPDATE audit.DeploymentText SET Files = {packed};")
    capsys.readouterr()
    for look, number in ((drift, 2), (rollback, 1)):
        assert status_of(look, server=site.server) == ERROR
        said = capsys.readouterr().err
        assert f"the kept files of deployment {number} cannot be read\n" in said
        assert said.endswith("Next: redial repair\n")
    # 1. a deployment of other files counts them as not kept
    assert status_of(plan, server=site.server) == 3
    assert "files of the last deployment were not kept" in capsys.readouterr().out
    assert status_of(repair, server=site.server, from_folder=str(later)) == 0
    assert status_of(drift, server=site.server) == ERROR
    assert "were not kept" in capsys.readouterr().err
