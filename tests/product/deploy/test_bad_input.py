"""Whatever is in the way is named with what to do, and nothing is left half done that the next command
does not finish. Over TCP, with three logins: sysadmin, db_owner, and the least rights of docs/security.md."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.errors import explained
from redial.cli.history import baseline, history, repair, rollback
from redial.cli.uninstalling import uninstall
from redial.deploy import apply, connect_odbc
from redial.deploy.fingerprint.lookers import rights_to_look
from redial_broker.exec import replicas, trouble
from tests.product.sql.lab import SHIPPED

from .conftest import SITE, Site, logged_in_as, run, status_of

pytestmark = pytest.mark.driver
ERROR, CHANGES, BLOCKED = 1, 2, 3
PASSWORD = "Long-enough-1"


def login(site: Site, name: str, *, owner: bool = False, sees: bool = False) -> str:
    """A login of its own: member of db_owner, or with the rights to look, or with none."""
    run(site.server, f"CREATE LOGIN {name} WITH PASSWORD = N'{PASSWORD}';")
    run(site.server, f"CREATE USER {name} FOR LOGIN {name};")
    if owner:
        run(site.server, f"ALTER ROLE db_owner ADD MEMBER {name};")
    if sees:
        run(site.server, rights_to_look("audit", name))
    return logged_in_as(site.server, name, PASSWORD)


# --- three logins ----------------------------------------------------------------------------------------


def test_an_owner_of_the_database_does_everything(site, capsys):
    server = login(site, "owner3", owner=True)
    assert status_of(baseline, server=site.server) == 0  # whose membership is meant to be so
    run(site.server, "DROP VIEW audit.vw_Errors;")
    assert status_of(plan, server=server) == CHANGES
    assert status_of(deploy, server=server) == 0
    for looks in (verify, drift, history, repair, baseline):
        assert status_of(looks, server=server) == 0, looks
    assert status_of(uninstall, server=server, purge_data=True) == CHANGES
    assert status_of(uninstall, server=server, yes="audit", purge_data=True) == 0
    assert status_of(deploy, server=server) == 0


def test_who_may_look_looks_and_is_told_what_is_missing_for_more(site, capsys):
    server = login(site, "looker1", sees=True)
    run(site.server, "DROP VIEW audit.vw_Errors;")
    for looks in (verify, drift):
        assert status_of(looks, server=server) == 1
        assert "module vw_Errors is missing" in capsys.readouterr().out
    assert status_of(history, server=server) == 0
    # what a deployment would lack is said by the plan already
    assert status_of(plan, server=server) == BLOCKED
    said = capsys.readouterr().out
    assert "Missing: CONTROL on the database" in said
    assert "ALTER ROLE [db_owner] ADD MEMBER [looker1];" in said
    assert status_of(deploy, server=server) == BLOCKED
    run(site.server, "UPDATE audit.DeploymentAttempt SET Outcome = N'running', EndedUtc = NULL;")
    for writes in (baseline, repair):
        assert status_of(writes, server=server) == ERROR
        assert "Next: " in capsys.readouterr().err
    assert status_of(uninstall, server=server, yes="audit") == ERROR
    assert "50200" in capsys.readouterr().err
    assert run(site.server, "SELECT OBJECT_ID(N'audit.vw_Errors');") == [(None,)]


def test_who_may_see_nothing_is_told_the_grant(site, capsys):
    server = login(site, "nobody1")
    for looks in (verify, plan, deploy):
        assert status_of(looks, server=server) != 0
        said = "".join(capsys.readouterr())
        assert "GRANT VIEW DEFINITION TO [nobody1];" in said
    assert status_of(uninstall, server=server) == ERROR
    said = capsys.readouterr().err
    assert "GRANT VIEW DEFINITION TO [nobody1];" in said


def test_a_login_without_a_user_is_told_to_make_one(site, capsys):
    run(site.server, f"CREATE LOGIN stranger1 WITH PASSWORD = N'{PASSWORD}';")
    server = logged_in_as(site.server, "stranger1", PASSWORD)
    assert status_of(verify, server=server) == ERROR
    assert "4060" in (said := capsys.readouterr().err) or "916" in said
    assert "Next: " in said


# --- states of a database --------------------------------------------------------------------------------

STATES = {
    # what somebody does, what the plan says, what helps
    "read only": (
        f"ALTER DATABASE {SITE} SET READ_ONLY WITH ROLLBACK IMMEDIATE;",
        "cannot be written to here: it is READ_ONLY",
        f"ALTER DATABASE [{SITE}] SET READ_WRITE;",
    ),
    "an old level": (
        f"ALTER DATABASE {SITE} SET COMPATIBILITY_LEVEL = 120;",
        "has compatibility level 120; needed is 130 or more",
        f"ALTER DATABASE [{SITE}] SET COMPATIBILITY_LEVEL = 130;",
    ),
}


@pytest.mark.parametrize("what", STATES)
def test_a_state_that_refuses_a_deployment_is_in_the_plan(site, what, capsys):
    sql, said, helps = STATES[what]
    run(site.server, "DROP VIEW audit.vw_Errors;")
    run(site.broker.odbc, sql)
    for command in (plan, deploy):
        assert status_of(command, server=site.server) == BLOCKED
        out = capsys.readouterr().out
        assert said in out and helps in out and "BLOCKED" in out
    assert status_of(verify, server=site.server) == 1


CLOSED = {
    # what somebody does, what the command says
    "single user": (
        f"ALTER DATABASE {SITE} SET SINGLE_USER WITH ROLLBACK IMMEDIATE; USE {SITE};",
        "let whoever has it go; then ALTER DATABASE",
    ),
    "offline": (
        f"ALTER DATABASE {SITE} SET OFFLINE WITH ROLLBACK IMMEDIATE;",
        "SET ONLINE",
    ),
}


@pytest.mark.parametrize("what", CLOSED)
def test_a_database_nobody_comes_into_is_named_with_what_opens_it(site, what, capsys):
    sql, helps = CLOSED[what]
    with closing(connect_odbc(site.broker.odbc)()) as holder:
        holder.execute(sql).close()
        for command in (verify, plan, deploy, uninstall):
            assert status_of(command, server=site.server) == ERROR
            said = capsys.readouterr().err
            assert SITE in said and helps in said, said
        holder.execute(f"USE master; ALTER DATABASE {SITE} SET ONLINE;").close()
        holder.execute(f"ALTER DATABASE {SITE} SET MULTI_USER;").close()
    assert status_of(verify, server=site.server) == 0


def test_a_secondary_replica_is_named_and_where_to_go(site, capsys):
    run(site.server, "DROP VIEW audit.vw_Errors;")

    def secondary(instance) -> None:
        database = instance.database(SITE)
        replicas.join_group(database)
        replicas.fail_over(database)

    site.broker.call(secondary)
    try:
        for command in (plan, deploy):
            assert status_of(command, server=site.server) != 0
            said = "".join(capsys.readouterr())
            assert "secondary" in said and "primary replica" in said, said
    finally:
        site.broker.call(lambda instance: replicas.leave_group(instance.database(SITE)))


# --- in the middle of it ---------------------------------------------------------------------------------

TROUBLE = {
    "a full disk": (trouble.DATA_FULL, "1105", "space"),
    "a full log": (trouble.LOG_FULL, "9002", "log"),
}


@pytest.mark.parametrize("what", TROUBLE)
def test_a_disk_that_fills_up_in_mid_deploy_is_named_and_the_next_one_finishes(site, what, capsys):
    kind, number, word = TROUBLE[what]
    run(site.server, "DROP VIEW audit.vw_Errors; DROP TABLE audit.LandingAcknowledged;")

    def fills(name: str, at: int, total: int) -> None:
        if name.startswith("30_LandingAcknowledged"):
            site.broker.call(lambda instance: trouble.begin(instance.database(SITE), kind))

    with pytest.raises(Exception, match=number) as stopped:
        apply(SHIPPED, connect_odbc(site.server), fills)
    told = explained(stopped.value) or ""
    assert word in told and "Next: " in told and "again" in told
    site.broker.call(lambda instance: trouble.end(instance.database(SITE)))
    assert status_of(deploy, server=site.server) == 0


def test_a_session_that_is_killed_in_mid_deploy_is_named_and_the_next_one_finishes(site, capsys):
    run(site.server, "DROP VIEW audit.vw_Errors;")

    def killed(name: str, at: int, total: int) -> None:
        if name.startswith("60_"):
            [(session,)] = run(
                site.server,
                "SELECT request_session_id FROM sys.dm_tran_locks WHERE resource_type = N'APPLICATION';",
            )
            run(site.server, f"KILL {session};")

    with pytest.raises(Exception) as stopped:
        apply(SHIPPED, connect_odbc(site.server), killed)
    told = explained(stopped.value) or ""
    assert "1_core.sql:" in told and "run the same command again" in told
    assert status_of(deploy, server=site.server) == 0


def test_a_rollback_of_what_is_not_there_asks_for_nothing(site, capsys):
    assert status_of(rollback, server=site.empty) == ERROR
    assert "there is no deployment before the last" in capsys.readouterr().err


# --- secrets ---------------------------------------------------------------------------------------------

SECRET = "S3cret-that-nobody-may-see"
TEXTS = [
    "Server=127.0.0.1,1;Database=x;UID=sa;PWD={s}",
    "Server=127.0.0.1,1;Database=x;UID=sa;PWD={{{s}}}",
    "Server=127.0.0.1,1;UID=sa;PWD={s}",
    "Server=127.0.0.1,1;Database=master;UID=sa;PWD={s}",
    "Driver={{no such driver}};Server=127.0.0.1,1;Database=x;UID=sa;PWD={s}",
    "Server=no.such.host.invalid,1433;Database=x;UID=sa;PWD={s}",
    "Server=127.0.0.1,99999;Database=x;UID=sa;PWD={s}",
    "Data Source=127.0.0.1,1;Initial Catalog=x;User Id=sa;Password={s}",
    "mssql://sa:{s}@127.0.0.1:1/x",
    "mssql+pyodbc://sa:{s}@127.0.0.1:1/x?driver=ODBC+Driver+18",
    "jdbc:sqlserver://127.0.0.1:1;databaseName=x;user=sa;password={s}",
    "sqlserver://sa:{s}@127.0.0.1:1?database=x",
    "sa:{s}@127.0.0.1",
    "{s}",
]
COMMANDS: list[Callable[..., object]] = [
    *(plan, deploy, verify, drift, history, rollback, baseline, repair, uninstall)
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_password_is_in_no_error_whatever_form_it_came_in(text, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("redial.server.CONNECT_SECONDS", 1)
    monkeypatch.setattr("redial.deploy.port.CONNECT_SECONDS", 1)
    server = text.format(s=SECRET)
    for number, command in enumerate(COMMANDS if "Server=" not in text else COMMANDS[:2]):
        # 1. on the command line, in the environment, in a file
        if number % 3 == 1:
            monkeypatch.setenv("REDIAL_SERVER", server)
            assert status_of(command) == ERROR
            monkeypatch.delenv("REDIAL_SERVER")
        elif number % 3 == 2:
            file = tmp_path / "server"
            file.write_text(server + "\n")
            assert status_of(command, server=f"@{file}") == ERROR
        else:
            assert status_of(command, server=server) == ERROR
        said = "".join(capsys.readouterr())
        assert SECRET not in said and "Next: " in said, said


def test_a_wrong_password_is_in_no_error(site, capsys, monkeypatch):
    monkeypatch.setattr(
        "redial_broker.tds.lockout.FREE", 100
    )  # answers that wait have their own test
    server = logged_in_as(site.server, "sa", SECRET)
    for command in COMMANDS:
        assert status_of(command, server=server) == ERROR
        said = "".join(capsys.readouterr())
        assert SECRET not in said and "check UID and PWD" in said


def test_a_server_may_be_named_by_a_file(site, tmp_path, capsys):
    file = tmp_path / "server"
    file.write_text(f"{site.server}\na second line is for people\n")
    assert status_of(verify, server=f"@{file}") == 0
    file.write_text("\n")
    assert status_of(verify, server=f"@{file}") == ERROR
    assert "its first line is empty" in capsys.readouterr().err
    assert status_of(verify, server=f"@{tmp_path}/none") == ERROR
    assert "cannot be read: No such file or directory" in capsys.readouterr().err
