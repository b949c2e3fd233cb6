"""What no file makes and a deployment found: a change of it is named until a baseline keeps it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.history import baseline
from redial.deploy.verify import UNREAD
from redial.paths import GENERATED

from .conftest import another_revision, run, status_of

pytestmark = pytest.mark.driver
CHANGES = {
    # what somebody does by hand, and the finding
    "the database is trusted": (
        "ALTER DATABASE CURRENT SET TRUSTWORTHY ON;",
        "database option trustworthy: value is on, and was off at the last deployment",
    ),
    "readers read versions": (
        "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;",
        "database option read committed snapshot: value is on",
    ),
    "sessions come with other settings": (
        "ALTER DATABASE CURRENT SET ARITHABORT ON;",
        "database option arithabort: value is on",
    ),
    "priorities are honored": (
        "ALTER DATABASE CURRENT SET HONOR_BROKER_PRIORITY ON;",
        "database option honor broker priority: value is on",
    ),
    "the broker is another one": (
        "ALTER DATABASE CURRENT SET NEW_BROKER WITH ROLLBACK IMMEDIATE;",
        "database option service broker guid: value is ",
    ),
    "the owner of the database": (
        "CREATE LOGIN owner1 WITH PASSWORD = N'Long-enough-1'; "
        "ALTER AUTHORIZATION ON DATABASE::site TO owner1;",
        "database option owner: value is owner1, and was sa at the last deployment",
    ),
    "a trigger on whatever is altered": (
        "CREATE TRIGGER nodrop ON DATABASE FOR DROP_PROCEDURE AS ROLLBACK;",
        "database trigger nodrop has come since the last deployment",
    ),
    "everything is told to somebody": (
        "CREATE EVENT NOTIFICATION told ON DATABASE FOR DROP_TABLE TO SERVICE "
        "N'//redial/audit/target', N'current database';",
        "database notification told has come since the last deployment",
    ),
    "who may do everything": (
        "CREATE USER joe WITHOUT LOGIN; GRANT CONTROL TO joe;",
        "permission of others CONTROL to joe of DATABASE has come since the last deployment",
    ),
    "guests may enter": (
        "GRANT CONNECT TO guest;",
        "permission of others CONNECT to guest of DATABASE has come since the last deployment",
    ),
    "who owns the database too": (
        "CREATE USER joe WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER joe;",
        "membership of others db_owner of joe has come since the last deployment",
    ),
    "who reads every table": (
        "CREATE USER joe WITHOUT LOGIN; ALTER ROLE db_datareader ADD MEMBER joe;",
        "membership of others db_datareader of joe has come since the last deployment",
    ),
    "who is in a role that owns the database": (
        "CREATE USER joe WITHOUT LOGIN; ALTER ROLE admins ADD MEMBER joe;",
        "membership of others admins of joe has come since the last deployment",
    ),
    "who owns a role of ours": (
        "ALTER AUTHORIZATION ON ROLE::audit_sender TO audit_module;",
        "role audit_sender: owner is audit_module, and was dbo at the last deployment",
    ),
    "nobody would drop our service": (
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SERVICE', N'//redial/audit/target';",
        "mark of making SERVICE of //redial/audit/target is gone since the last deployment",
    ),
}


BY_NOBODY = (
    "the broker is another one",
    "nobody would drop our service",
)
"""A number that nobody gives again, what only the next deployment writes."""


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_around_an_installation_is_named(site, what, capsys):
    sql, finding = CHANGES[what]
    if "admins" in sql:
        run(site.server, "CREATE ROLE admins; ALTER ROLE db_owner ADD MEMBER admins;")
        assert status_of(baseline, server=site.server) == 0
    assert status_of(verify, server=site.server) == 0
    run(site.server, sql)
    assert status_of(verify, server=site.server) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if f": {finding}" in line]
    assert "redial baseline, which keeps it as it is now." in line
    # what undoes it stands there as well, where a statement can
    said = line.rsplit(" Next: ", 1)[1]
    if not said.startswith("undo it"):
        run(site.server, said)
        assert status_of(verify, server=site.server) == 0
    else:
        assert what in BY_NOBODY


def test_a_deployment_does_not_take_it_for_meant_and_a_baseline_does(site, capsys):
    # 1. a plan has nothing to do about it, and a deployment of something else goes on naming it
    run(site.server, CHANGES["the database is trusted"][0])
    assert status_of(plan, server=site.server) == 0
    run(site.server, "DROP VIEW audit.vw_Errors;")
    assert status_of(deploy, server=site.server) == 1
    assert "database option trustworthy: value is on" in capsys.readouterr().out
    # 2. whoever knows why keeps it
    assert status_of(baseline, server=site.server) == 0
    assert status_of(verify, server=site.server) == 0


def test_a_level_that_is_too_low_is_one_finding_and_goes_back_to_what_it_was(site, capsys):
    level = "SELECT compatibility_level FROM sys.databases WHERE database_id = DB_ID();"
    before = run(site.server, level)
    run(site.server, "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;")
    capsys.readouterr()
    assert status_of(verify, server=site.server) == 1
    [line] = [one for one in capsys.readouterr().out.splitlines() if "compatibility" in one]
    assert "database itself: compatibility level is 120, not 130 or more" in line
    assert before[0][0] > 130
    run(site.server, line.rsplit(" Next: ", 1)[1])
    assert run(site.server, level) == before
    assert status_of(verify, server=site.server) == 0


def test_a_baseline_says_all_that_it_takes_for_given_and_what_gives_power_first(site, capsys):
    """1 Changes since the last deployment. 2 What was there before them and gives power. 3 All of it."""
    for what in (
        "sessions come with other settings",
        "the database is trusted",
        "who may do everything",
        "who owns a role of ours",
        "a trigger on whatever is altered",
    ):
        run(site.server, CHANGES[what][0])
    power, plain = (
        "in site: taken for given, and it gives somebody power over this: ",
        "in site: taken for given: ",
    )
    changed = "and was off at the last deployment"
    assert taken(site, capsys) == [
        f"{power}database option trustworthy: value is on, {changed}",
        f"{power}database trigger nodrop has come since the last deployment (text ...)",
        f"{power}permission of others CONTROL to joe of DATABASE has come since the last deployment",
        f"{power}role audit_sender: owner is audit_module, and was dbo at the last deployment",
        f"{plain}database option arithabort: value is on, {changed}",
    ]
    # 2. a second time
    again = taken(site, capsys)
    assert f"{power}permission of others CONTROL to joe of DATABASE: state is grant" in again
    assert f"{power}database option trustworthy: value is on" in again
    assert len(again) == 3 and all(line.startswith(power) for line in again)
    # 3. where nothing was kept
    run(site.server, "UPDATE audit.DeploymentText SET Known = NULL;")
    every = taken(site, capsys)
    assert every[:3] == again
    assert f"{plain}database option arithabort: value is on" in every
    assert f"{plain}role audit_sender: owner is audit_module" in every


def taken(site, capsys) -> list[str]:
    """What a baseline takes for given."""
    capsys.readouterr()
    assert status_of(baseline, server=site.server) == 0
    lines = re.sub(r"\btext (is )?\w+", "text ...", capsys.readouterr().out).splitlines()
    return [line for line in lines if "taken for given" in line]


OWNED_BEFORE = (
    "CREATE USER audit_module WITHOUT LOGIN; EXECUTE (N'CREATE SCHEMA audit AUTHORIZATION {};');"
)


@pytest.mark.parametrize("before", ["dbo", "audit_module"])
def test_a_schema_that_was_there_before_keeps_its_owner_and_another_since_is_named(
    site, before, capsys
):
    # 1. what was there before is nobody's change
    run(site.empty, OWNED_BEFORE.format(before))
    assert status_of(deploy, server=site.empty) == 0
    # 2. a change since is one, and the statement that stands there undoes it
    run(
        site.empty,
        "CREATE USER joe WITHOUT LOGIN; ALTER AUTHORIZATION ON SCHEMA::audit TO joe; "
        "GRANT CONTROL ON SCHEMA::audit TO audit_module;",
    )
    capsys.readouterr()
    assert status_of(verify, server=site.empty) == 1
    finding = (
        f"in bare: schema audit: owner is joe, and was {before} at the last deployment. Who may: "
    )
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith(finding)]
    # 3. a deployment does not take it for meant
    status_of(deploy, server=site.empty)
    assert status_of(verify, server=site.empty) == 1
    run(site.empty, line.rsplit(" Next: ", 1)[1])
    assert status_of(deploy, server=site.empty) == 0
    assert status_of(verify, server=site.empty) == 0


def test_a_schema_that_a_deployment_made_is_ours_without_the_mark_of_it_too(site, capsys):
    run(
        site.server,
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SCHEMA', N'audit'; "
        "CREATE USER joe WITHOUT LOGIN; ALTER AUTHORIZATION ON SCHEMA::audit TO joe;",
    )
    assert status_of(verify, server=site.server) == 1
    assert "schema audit: owner is joe, not audit_module" in capsys.readouterr().out


def test_members_of_our_roles_are_said_and_not_judged(site, capsys):
    run(site.server, "CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    assert status_of(verify, server=site.server) == 0
    assert "note: in role audit_sender, not judged: app" in capsys.readouterr().out


def test_what_nobody_had_looked_at_before_is_no_change_and_is_kept_by_the_next_deployment(
    site, capsys
):
    """1 An earlier version has kept nothing of it. 2 What is there is taken as it is. 3 A change is named."""
    run(
        site.server,
        "CREATE USER joe WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER joe; "
        "UPDATE audit.DeploymentText SET Known = "
        """STUFF(Known, CHARINDEX(N', "kinds"', Known), 2000, N'}');""",
    )
    assert run(site.server, "SELECT 1 FROM audit.DeploymentText WHERE Known LIKE N'%kinds%';") == []
    assert status_of(verify, server=site.server) == 0
    run(site.server, "DROP VIEW audit.vw_Errors;")
    assert status_of(deploy, server=site.server) == 0
    run(site.server, "CREATE USER ann WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER ann;")
    capsys.readouterr()
    assert status_of(verify, server=site.server) == 1
    said = capsys.readouterr().out
    assert "db_owner of ann has come since" in said and "db_owner of joe" not in said


def test_where_nothing_was_kept_verification_says_what_it_has_not_compared(site, capsys):
    run(site.server, "UPDATE audit.DeploymentText SET Known = NULL;")
    assert status_of(verify, server=site.server) == 0
    said = capsys.readouterr().out
    assert "note: what surrounds it" in said and "redial baseline" in said


@pytest.mark.parametrize(
    "kept", ["garbage{", "[1]", '{"surroundings": [[["a", "b", "", 5]]], "accepted": []}']
)
def test_what_was_kept_and_cannot_be_read_is_a_finding_until_a_baseline(
    site, tmp_path, kept, capsys
):
    run(site.server, f"UPDATE audit.DeploymentText SET Known = N'{kept}';")
    run(site.server, "CREATE USER joe WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER joe;")
    finding = f"in site: {UNREAD}\n"
    for command in (verify, drift, deploy):  # a deployment has nothing to do for it
        capsys.readouterr()
        assert status_of(command, server=site.server) == 1
        said = capsys.readouterr().out
        assert finding in said and "no deployment has kept it" not in said
    assert status_of(plan, server=site.server) == 0
    assert f"note     {UNREAD}\n" in capsys.readouterr().out
    # 1. a deployment takes nothing for given
    folder = Path(shutil.copytree(GENERATED / "audit", tmp_path / "audit"))
    later = {"from_folder": str(another_revision(folder, "usp_LogError"))}
    for command in (deploy, verify):
        assert status_of(command, server=site.server, **later) == 1
        assert finding in capsys.readouterr().out
    # 2. a baseline does, and says what
    assert status_of(baseline, server=site.server, **later) == 0
    assert "gives somebody power over this: membership of others" in capsys.readouterr().out
    assert status_of(verify, server=site.server, **later) == 0
