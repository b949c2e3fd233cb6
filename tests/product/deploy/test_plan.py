"""The commands plan and deploy over ODBC: what is planned is what happens, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.deploy import connect_odbc
from redial.paths import GENERATED
from redial.render.renderer import SUMS
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed

pytestmark = pytest.mark.driver
DATABASE = "planned"
NOTHING, ERROR, CHANGES, BLOCKED = 0, 1, 2, 3


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running, unprobed(running.call(lambda instance: instance.server)):
        yield running


@pytest.fixture
def server(broker) -> str:
    """A connection string to a fresh database."""
    with closing(connect_odbc(broker.odbc)()) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE};")
        connection.execute(f"CREATE DATABASE {DATABASE};")
    return with_database(broker.odbc, DATABASE)


@pytest.fixture
def installed(server, capsys) -> str:
    """The same with configuration audit in it."""
    assert status_of(deploy, server=server) == 0
    capsys.readouterr()
    return server


def status_of(function: Any, **options: Any) -> int:
    """Exit status of a command for configuration audit."""
    try:
        function("audit", **options)
    except SystemExit as stop:
        return int(stop.code)
    return 0


def run(server: str, sql: str) -> list[tuple]:
    with closing(connect_odbc(server)()) as connection:
        cursor = connection.cursor().execute(sql)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


def _hotfix(definition: str) -> str:
    """A procedure changed in haste, our comment kept. CREATE is how the catalog begins (F-504)."""
    changed = definition.replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* hotfix */", 1)
    return changed.replace("CREATE", "ALTER", 1)


CATALOG = "SELECT o.name, o.object_id, o.modify_date FROM sys.objects AS o ORDER BY o.name;"


def test_a_plan_of_an_empty_database_counts_what_would_be_made_and_makes_nothing(server, capsys):
    before = run(server, CATALOG)
    assert status_of(plan, server=server) == CHANGES
    said = capsys.readouterr().out
    assert "fresh: nothing of it is in planned yet. To create: " in said and "17 table" in said
    assert "\nfresh: " in said and "by hand" not in said and "Nothing was changed yet." in said
    assert run(server, CATALOG) == before


def test_behind_a_deployment_there_is_nothing_to_plan_and_nothing_to_deploy(installed, capsys):
    assert status_of(plan, server=installed) == NOTHING
    assert "nothing to change" in capsys.readouterr().out
    before = run(installed, CATALOG)
    assert status_of(deploy, server=installed) == 0
    assert "nothing to do: " in capsys.readouterr().out
    assert run(installed, CATALOG) == before  # not one module was altered


def test_drift_is_planned_with_the_difference_and_a_deployment_mends_it(installed, capsys):
    # 1. a hotfix with our comment, a queue that keeps its messages, a right too few, one too many
    text = run(
        installed,
        "SELECT m.definition FROM sys.sql_modules AS m "
        "WHERE m.object_id = OBJECT_ID(N'audit.usp_LogError');",
    )[0][0]
    run(installed, _hotfix(text))
    run(installed, "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;")
    run(installed, "REVOKE EXECUTE ON audit.usp_Send FROM audit_sender;")
    run(installed, "GRANT SELECT ON audit.Landing TO public;")
    # 2. the plan names each, why, and what it takes; the hotfix wants a word
    assert status_of(plan, server=installed) == BLOCKED
    assert "usp_LogError in planned was changed by hand" in capsys.readouterr().out
    assert status_of(plan, server=installed, overwrite=True) == CHANGES
    said = capsys.readouterr().out
    for line in (
        "alter    module usp_LogError has another text than the file",
        "-    SET NOCOUNT ON; /* hotfix */",
        "+    SET NOCOUNT ON;",
        "[drift]",
        "[changed by hand]",
        "runs: ALTER QUEUE [audit].[TargetQueue] WITH RETENTION = OFF;",
        "locks: Sch-M on the queue",
        "grant    permission EXECUTE to audit_sender on OBJECT usp_Send is missing",
        "leave    permission SELECT to public on OBJECT Landing is there",
        "Next: REVOKE SELECT ON OBJECT::[audit].[Landing] FROM [public];",
    ):
        assert line in said
    # 3. a deployment mends all but what others were given, which verification still names
    assert status_of(deploy, server=installed) == BLOCKED
    assert "nothing was done" in capsys.readouterr().out
    assert status_of(deploy, server=installed, overwrite=True) == 1
    said = capsys.readouterr().out
    assert "repairing in planned: ALTER QUEUE [audit].[TargetQueue] WITH RETENTION = OFF;" in said
    run(installed, "REVOKE SELECT ON OBJECT::[audit].[Landing] FROM [public];")
    assert status_of(verify, server=installed) == 0


def test_a_queue_that_is_off_is_named_and_stays_off(installed, capsys):
    run(installed, "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    assert status_of(plan, server=installed) == NOTHING
    assert "by hand  queue TargetQueue: receive is off, not on" in capsys.readouterr().out
    assert status_of(deploy, server=installed) == 1
    assert run(
        installed,
        "SELECT q.is_receive_enabled FROM sys.service_queues AS q WHERE q.name = N'TargetQueue';",
    ) == [(False,)]


def test_a_module_without_our_comment_blocks_and_the_plan_says_how_it_goes_on(installed, capsys):
    run(installed, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    assert status_of(plan, server=installed) == BLOCKED
    said = capsys.readouterr().out
    assert "BLOCKED" in said and "redial deploy --overwrite replaces it" in said


def test_a_plan_holds_for_the_state_it_was_made_for_and_no_other(server, tmp_path, capsys):
    file = str(tmp_path / "plan.json")
    assert status_of(plan, server=server, out=file) == CHANGES
    said = json.loads(Path(file).read_text())
    assert said["config"] == "audit" and said["actions"] and said["broker"]
    # 1. as it was: it is done
    assert status_of(deploy, server=server, plan_file=file) == 0
    # 2. something has moved since: nothing is done
    capsys.readouterr()
    assert status_of(deploy, server=server, plan_file=file) == ERROR
    assert "the installation is not what it was planned for; nothing was done" in (
        capsys.readouterr().err
    )
    # 3. no plan at all
    for text in (b"{}", b"[1]", b"7", b"", b"[" * 9999, "{}".encode("utf-16"), bytes(range(256))):
        Path(file).write_bytes(text)
        assert status_of(deploy, server=server, plan_file=file) == ERROR
        said = capsys.readouterr().err
        assert said.startswith(f"--plan {file}: ") and "redial plan --out writes one" in said
        assert "no plan that" in said or "not a plan" in said
    assert status_of(deploy, server=server, plan_file=str(tmp_path)) == ERROR
    assert f"--plan {tmp_path}: Is a directory\n" in capsys.readouterr().err


def test_the_json_of_a_plan_has_every_action(installed, capsys):
    run(installed, "DROP VIEW audit.vw_Errors;")
    assert status_of(plan, server=installed, form="json") == CHANGES
    said = json.loads(capsys.readouterr().out)
    assert [(one["do"], one["thing"], one["why"]) for one in said["actions"]] == [
        ("create", "module vw_Errors", "drift"),
    ]
    assert status_of(plan, server=installed, form="yaml") == ERROR


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of the rendered files, as a CI keeps them."""
    return Path(shutil.copytree(GENERATED / "audit", tmp_path / "audit"))


def test_what_was_reviewed_is_what_runs(server, folder, capsys):
    # 1. an artefact with its digests is deployed as it is
    assert status_of(deploy, server=server, from_folder=str(folder)) == 0
    # 2. a line changed behind the review is refused, also for plan and verify
    file = folder / "1_core.sql"
    file.write_text(file.read_text() + "\n-- a line nobody has reviewed\n")
    for called in (deploy, plan, verify):
        capsys.readouterr()
        assert status_of(called, server=server, from_folder=str(folder)) == ERROR
        assert f"{file.name} was changed after it was rendered" in capsys.readouterr().err
    # 3. so are a file too few and one too many
    file.unlink()
    (folder / "99_mine.sql").write_text("DROP TABLE audit.Landing;")
    assert status_of(deploy, server=server, from_folder=str(folder)) == ERROR
    said = capsys.readouterr().err
    assert f"{file.name} is missing" in said and f"99_mine.sql is not in {SUMS}" in said


def test_a_plan_is_for_its_files_and_a_folder_for_its_configuration(
    server, folder, tmp_path, capsys
):
    # 1. planned with one text, deployed with another whose digests fit
    file = str(tmp_path / "plan.json")
    assert status_of(plan, server=server, out=file, from_folder=str(folder)) == CHANGES
    send, sums = folder / "1_core.sql", folder / SUMS
    old = hashlib.sha256(send.read_bytes()).hexdigest()
    send.write_text(send.read_text() + "-- not planned\n")
    sums.write_text(sums.read_text().replace(old, hashlib.sha256(send.read_bytes()).hexdigest()))
    assert status_of(deploy, server=server, plan_file=file, from_folder=str(folder)) == ERROR
    assert "the set of files is not what it was planned for" in capsys.readouterr().err
    # 2. the folder of another configuration
    assert status_of(deploy, server=server, from_folder=str(GENERATED / "etl")) == ERROR
    assert "holds the files of another configuration than audit" in capsys.readouterr().err


def test_what_others_were_given_is_not_taken_away_unasked(installed, capsys):
    run(installed, "GRANT EXECUTE ON audit.usp_Send TO audit_sender WITH GRANT OPTION;")
    assert status_of(plan, server=installed) == NOTHING
    assert "by hand  permission EXECUTE to audit_sender" in capsys.readouterr().out
    assert status_of(deploy, server=installed) == 1
    said = capsys.readouterr().out
    assert "repairing" not in said and "REVOKE GRANT OPTION FOR EXECUTE" in said


def test_a_broker_that_is_off_is_in_the_plan_and_on_again_behind_a_deployment(installed, capsys):
    run(installed, f"ALTER DATABASE {DATABASE} SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    assert status_of(plan, server=installed) == CHANGES
    assert "alter    database itself: Service Broker is off, not on" in capsys.readouterr().out
    assert status_of(deploy, server=installed) == 0


def test_stale_files_are_refused_before_the_server_is_asked(folder, monkeypatch, capsys):
    """Digests that fit do not help: the folder is not what the configuration says today."""
    file = folder / "1_core.sql"
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_text(file.read_text().replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* old */", 1))
    sums = folder / SUMS
    sums.write_text(sums.read_text().replace(old, hashlib.sha256(file.read_bytes()).hexdigest()))
    here = type("Project", (), {"generated": folder.parent})()
    monkeypatch.setattr("redial.cli.installing.project", lambda: here)
    assert status_of(deploy, server="Server=nowhere;Database=x") == ERROR
    said = capsys.readouterr().err
    assert (
        f"is not what the configuration and the templates say: {file.name}: stale, {SUMS}: " in said
    )
    shutil.rmtree(folder)
    assert status_of(deploy, server="Server=nowhere;Database=x") == ERROR
    assert "sql/generated/audit: is not there" in capsys.readouterr().err


def test_who_may_see_definitions_and_no_rows_is_told_which_right_is_missing(installed, capsys):
    run(installed, "CREATE LOGIN looker WITH PASSWORD = N'Long-enough-1';")
    run(installed, "CREATE USER looker FOR LOGIN looker; GRANT VIEW DEFINITION TO looker;")
    theirs = re.sub(r"UID=[^;]*;PWD=(\{[^}]*\}|[^;]*)", "UID=looker;PWD=Long-enough-1", installed)
    assert status_of(verify, server=theirs) == 1
    said = capsys.readouterr().out
    assert "is missing" not in said
    grants = re.search(
        r"give the right: (GRANT SELECT ON \[audit\]\.\[Setting\] TO \[looker\];.*)", said
    )
    assert grants is not None
    # 1. what verification asks for is no finding, and neither is it for a plan
    run(installed, grants[1])
    capsys.readouterr()
    assert status_of(verify, server=theirs) == 0
    assert "note: may look, not judged: looker" in capsys.readouterr().out
    assert status_of(plan, server=theirs) == 0
    # 2. one right less, or one more, is somebody's
    run(installed, "REVOKE SELECT ON audit.Gate FROM looker;")
    capsys.readouterr()
    status_of(verify, server=installed)
    said = capsys.readouterr().out
    assert "permission SELECT to looker on OBJECT Setting is there" in said
    assert "permission of others VIEW DEFINITION to looker of DATABASE has come since" in said
    run(installed, "GRANT SELECT ON audit.Gate TO looker; GRANT SELECT ON audit.Landing TO looker;")
    assert status_of(verify, server=installed) == 1
    said = capsys.readouterr().out
    assert "permission SELECT to looker on OBJECT Landing is there" in said and "1 finding " in said
    run(installed, "DROP LOGIN looker;")


def test_a_plan_that_leaves_something_is_no_leave_to_undo_it(installed, tmp_path, capsys):
    file = str(tmp_path / "plan.json")
    run(installed, "DROP VIEW audit.vw_Errors; CREATE INDEX IX_x ON audit.Landing (LandedUtc);")
    assert status_of(plan, server=installed, out=file) == CHANGES
    assert status_of(deploy, server=installed, plan_file=file, undo=True) == ERROR
    said = capsys.readouterr().err
    assert (
        "the set of options (--overwrite, --undo, --allow-loss, sql/accepted.toml) is not what"
        in said
    )
    assert status_of(deploy, server=installed, plan_file=file) == 1
