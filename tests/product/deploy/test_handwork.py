"""A module changed by hand: named, and kept or replaced only when somebody says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from redial.cli.deploy import adopt, deploy, drift, plan, verify
from redial.cli.history import OWN_OPTIONS, baseline, rollback
from redial.deploy import apply, connect_odbc
from redial.paths import GENERATED
from redial.render import read
from tests.product.sql.lab import SHIPPED

from .conftest import another_revision, cut_off, run, status_of

pytestmark = pytest.mark.driver
BLOCKED, CHANGES, ERROR = 3, 2, 1
TEXT = "SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.{}'));"


def hotfix(server: str, module: str = "usp_LogError") -> str:
    """Change a procedure in haste; its new text."""
    [(text,)] = run(server, TEXT.format(module))
    changed = text.replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* hotfix */", 1)
    run(server, changed.replace("CREATE", "ALTER", 1))
    return run(server, TEXT.format(module))[0][0]


@pytest.fixture
def later(tmp_path) -> Path:
    """The files of a later revision, in which usp_StartQueue is another one."""
    folder = Path(shutil.copytree(GENERATED / "audit", tmp_path / "audit"))
    return another_revision(folder, "usp_StartQueue")


def test_a_deployment_of_a_later_revision_would_undo_it_and_is_refused(site, later, capsys):
    text = hotfix(site.server)
    # 1. it is told from what the later revision changes
    assert status_of(plan, server=site.server, from_folder=str(later)) == BLOCKED
    said = capsys.readouterr().out
    assert "usp_LogError in site was changed by hand" in said and "[changed by hand]" in said
    assert "usp_StartQueue in site was changed" not in said
    # 2. nothing is done, also with what the older revision has
    assert status_of(deploy, server=site.server, from_folder=str(later)) == BLOCKED
    assert status_of(deploy, server=site.server) == BLOCKED
    assert run(site.server, TEXT.format("usp_LogError")) == [(text,)]
    # 3. said and done
    options = {"server": site.server, "from_folder": str(later), "overwrite": True}
    assert status_of(deploy, **options) == 0
    assert "hotfix" not in run(site.server, TEXT.format("usp_LogError"))[0][0]


def test_the_way_back_asks_for_the_same_word(site, later, capsys):
    assert status_of(deploy, server=site.server, from_folder=str(later)) == 0
    hotfix(site.server)
    capsys.readouterr()
    assert status_of(rollback, server=site.server, yes=True) == BLOCKED
    said = capsys.readouterr().out
    assert "redial deploy --overwrite replaces it" in said and said.endswith(f"{OWN_OPTIONS}\n")
    assert status_of(rollback, server=site.server, yes=True, overwrite=True) == 0
    assert OWN_OPTIONS not in capsys.readouterr().out
    assert status_of(drift, server=site.server) == 0


def test_one_without_our_comment_is_replaced_before_it_is_asked_whose_it_is(site, capsys):
    run(site.server, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    assert status_of(deploy, server=site.server) == BLOCKED
    assert status_of(deploy, server=site.server, overwrite=True) == 0
    assert status_of(verify, server=site.server) == 0


def test_it_is_so_too_where_the_history_has_lost_its_rows(site, capsys):
    run(site.server, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    run(site.server, "DELETE FROM audit.DeploymentHistory; DELETE FROM audit.DeploymentText;")
    assert status_of(deploy, server=site.server) == BLOCKED
    said = capsys.readouterr().out
    assert "module usp_Send in site has lost our comment" in said and "--overwrite" in said
    assert status_of(deploy, server=site.server, overwrite=True) == 0
    assert status_of(verify, server=site.server) == 0


def test_what_the_check_refuses_is_refused_with_overwrite_too_and_nothing_is_sent(site, capsys):
    """1 A module is changed by hand. 2 The database gets a level that is too low. 3 Neither is touched."""
    run(site.server, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    run(site.server, "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;")
    for command in (plan, deploy):
        capsys.readouterr()
        assert status_of(command, server=site.server, overwrite=True) == BLOCKED
        assert "has compatibility level 120; needed is 130 or more" in capsys.readouterr().out
    assert "RETURN 0" in run(site.server, TEXT.format("usp_Send"))[0][0]


def test_a_table_of_somebody_else_is_not_replaced_with_a_module_that_is(site, capsys):
    run(site.server, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    run(
        site.server,
        "DROP VIEW audit.vw_Errors; EXECUTE (N'CREATE VIEW audit.vw_Errors AS SELECT 1 AS A;');",
    )
    run(site.server, "CREATE TABLE audit.Inbox (A int);")
    assert status_of(deploy, server=site.server, overwrite=True) == BLOCKED
    said = capsys.readouterr().out
    assert "not made by Redial: user table [audit].[Inbox]. " in said
    assert "RETURN 0" in run(site.server, TEXT.format("usp_Send"))[0][0]


def test_what_was_adopted_is_part_of_the_files_from_then_on(site, project, capsys):
    # 1. it is written down, and a deployment then has nothing to replace
    text = hotfix(site.server)
    assert status_of(adopt, server=site.server, modules=["usp_LogError"]) == 0
    [path] = (project / "sql" / "adopted" / "audit").iterdir()
    assert path.name == "usp_LogError.sql" and "/* hotfix */" in path.read_text()
    assert status_of(plan, server=site.server) == CHANGES  # another content hash to write down
    assert status_of(deploy, server=site.server) == 0
    assert run(site.server, TEXT.format("usp_LogError")) == [(text,)]
    assert status_of(verify, server=site.server) == 0
    # 2. another server gets it, too
    assert status_of(deploy, server=site.empty) == 0
    assert "/* hotfix */" in run(site.empty, TEXT.format("usp_LogError"))[0][0]
    # 3. when the text it replaces becomes another one, somebody has to look
    path.write_text("-- adopted over " + "0" * 64 + "\n" + path.read_text().partition("\n")[2])
    capsys.readouterr()
    assert status_of(deploy, server=site.server) == ERROR
    assert "was adopted over another text than the one rendered now" in capsys.readouterr().err
    path.write_bytes(bytes(range(256)))
    assert status_of(plan, server=site.server) == ERROR
    assert f"{path}: is not UTF-8: " in capsys.readouterr().err


def test_adopt_names_what_it_cannot_take(site, project, capsys):
    assert status_of(adopt, server=site.server) == ERROR
    assert "--module is missing" in capsys.readouterr().err
    assert status_of(adopt, server=site.server, modules=["usp_Send"]) == ERROR
    assert "is as the files make it" in capsys.readouterr().err
    run(site.server, "ALTER PROCEDURE audit.usp_Send AS RETURN 0;")
    assert status_of(adopt, server=site.server, modules=["usp_Send"]) == ERROR
    assert "has lost the comment" in capsys.readouterr().err


def test_where_the_files_were_not_kept_it_cannot_be_told_and_is_said(site, later, capsys):
    apply(SHIPPED, connect_odbc(site.empty), files=read(GENERATED / "audit"))
    options = {"server": site.empty, "from_folder": str(later)}
    assert status_of(deploy, **options) == BLOCKED
    said = capsys.readouterr().out
    assert "whether somebody has changed usp_StartQueue cannot be told" in said
    assert "redial baseline --from" in said
    # 1. with the folder it was installed from it can
    assert status_of(baseline, server=site.empty) == 0
    assert status_of(deploy, **options) == 0


def test_what_a_deployment_that_was_cut_off_has_made_is_no_handwork(site, later, capsys):
    """Its files were kept before its first change."""
    cut_off(SHIPPED, site.server, later, "79_")
    assert "/* later */" in run(site.server, TEXT.format("usp_StartQueue"))[0][0]
    assert status_of(deploy, server=site.server) == 0
    assert "/* later */" not in run(site.server, TEXT.format("usp_StartQueue"))[0][0]


def test_only_what_differs_is_sent(site, later, capsys):
    """An unchanged procedure is not altered: no plan of it is thrown away, nobody waits for it."""
    before = dict(run(site.server, "SELECT name, modify_date FROM sys.objects WHERE type = 'P';"))
    assert status_of(deploy, server=site.server, from_folder=str(later)) == 0
    after = dict(run(site.server, "SELECT name, modify_date FROM sys.objects WHERE type = 'P';"))
    assert {name for name in after if after[name] != before[name]} == {"usp_StartQueue"}


def test_the_sql_of_a_plan_is_what_would_run_and_nothing_else(site, later, capsys):
    assert status_of(plan, server=site.server, sql=True) == 0
    assert capsys.readouterr().out == ""
    run(site.server, "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;")
    options = {"server": site.server, "from_folder": str(later), "sql": True}
    assert status_of(plan, **options) == CHANGES
    said = capsys.readouterr().out
    assert (
        "usp_StartQueue" in said
        and "/* later */" in said
        and "CREATE OR ALTER PROCEDURE [audit].[usp_Send]\n" not in said
    )
    assert said.startswith(
        "/* repair in site */\nALTER QUEUE [audit].[TargetQueue] WITH RETENTION = OFF;\nGO\n"
    )


def test_drift_needs_no_files_and_names_what_was_changed_since(site, capsys):
    assert status_of(drift, server=site.server) == 0
    hotfix(site.server)
    assert status_of(drift, server=site.server) == 1
    assert "module usp_LogError has another text" in capsys.readouterr().out
    assert status_of(drift, server=site.empty) == ERROR
    assert "nothing is deployed" in capsys.readouterr().err
