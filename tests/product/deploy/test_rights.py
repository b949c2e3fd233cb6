"""Each kind of login gets its work done, or is told what is missing, on what, and who can give it."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.errors import explained
from redial.cli.history import baseline, history, repair, rollback
from redial.cli.uninstalling import uninstall
from redial.config import load
from redial.deploy import DeployError, connect_odbc
from redial.deploy.apply import check
from redial.paths import CONFIGS
from redial.render import render

from .conftest import logged_in_as, run, status_of

pytestmark = pytest.mark.driver
FILES = render(load(CONFIGS / "audit.toml"))
PASSWORD = "Op-3rator"
DONE, ERROR, CHANGES, BLOCKED = 0, 1, 2, 3
LOGINS = {
    "sysadmin": "ALTER SERVER ROLE sysadmin ADD MEMBER w;",
    "db_owner": "CREATE USER w FOR LOGIN w; ALTER ROLE db_owner ADD MEMBER w;",
    "CONTROL": "CREATE USER w FOR LOGIN w; GRANT CONTROL TO w;",
    "db_ddladmin": "CREATE USER w FOR LOGIN w; ALTER ROLE db_ddladmin ADD MEMBER w;",
    "operator": "CREATE USER w FOR LOGIN w; ALTER ROLE audit_operator ADD MEMBER w;",
    "operator who sees definitions": "CREATE USER w FOR LOGIN w; ALTER ROLE audit_operator ADD MEMBER w; "
    "GRANT VIEW DEFINITION TO w;",
    "nobody": "CREATE USER w FOR LOGIN w;",
    "stranger": "SELECT 1;",
}
MAY = {"sysadmin", "db_owner", "CONTROL"}
READS_HISTORY = MAY | {"operator", "operator who sees definitions"}
SINCE = {
    "CONTROL": "permission of others CONTROL to w",
    "db_owner": "membership of others db_owner of w",
}
"""What verification says of a login that has come since the last deployment."""
COMMANDS = {
    "plan": plan,
    "verify": verify,
    "deploy": deploy,
    "history": history,
    "drift": drift,
    "baseline": baseline,
    "repair": repair,
    "rollback": rollback,
    "uninstall": uninstall,
}
WHO_CAN = r"(a member of (its )?db_owner|a sysadmin|owner)"
"""Who can do it, or give the right."""
RIGHTS = r"(VIEW DEFINITION|SELECT|UPDATE|INSERT|CONTROL|CREATE USER)"


def prepared(server: str, login: str) -> str:
    """The server for a login of that kind."""
    run(server, f"CREATE LOGIN w WITH PASSWORD = '{PASSWORD}';")
    rights = LOGINS[login]
    if not run(server, "SELECT 1 WHERE DATABASE_PRINCIPAL_ID(N'audit_operator') IS NOT NULL;"):
        rights = rights.replace("ALTER ROLE audit_operator ADD MEMBER w;", "")
    run(server, rights)
    return logged_in_as(server, "w", PASSWORD)


def told(capsys) -> str:
    """What a command has said, the lines of its progress apart."""
    out, err = capsys.readouterr()
    return re.sub(r"(?m)^ +\d+/\d+ .*\n", "", out + err)


@pytest.mark.parametrize("login", LOGINS)
def test_in_an_empty_database(login, site, capsys):
    server = prepared(site.empty, login)
    may = login in MAY
    for name, function in COMMANDS.items():
        if may and name in ("drift", "baseline", "repair", "rollback", "uninstall"):
            continue  # of what is there they tell in the other test
        capsys.readouterr()
        status = status_of(function, server=server)
        said = told(capsys)
        if may:
            expected = {"plan": CHANGES, "verify": ERROR, "deploy": DONE, "history": DONE}[name]
            assert status == expected, said
            continue
        assert status in (ERROR, BLOCKED) or name == "history", (name, said)
        assert "Traceback" not in said and "Msg 229" not in said, said
        if name in ("plan", "deploy") or login == "stranger":
            assert re.search(WHO_CAN, said) and re.search(RIGHTS, said), (name, said)


def test_after_a_deployment_by_each_who_may_the_history_names_him(site, capsys):
    server = prepared(site.empty, "CONTROL")
    assert status_of(deploy, server=server) == DONE
    assert status_of(verify, server=server) == DONE
    capsys.readouterr()
    assert status_of(history, server=server) == DONE
    assert re.search(r"^     1  .* by w$", capsys.readouterr().out, re.M)


@pytest.mark.parametrize("login", LOGINS)
def test_where_it_is_installed(login, site, capsys):
    server = prepared(site.server, login)
    for name, function in COMMANDS.items():
        if login in MAY and name in ("rollback", "uninstall", "baseline", "repair"):
            continue
        capsys.readouterr()
        status = status_of(function, server=server)
        said = told(capsys)
        if name == "history" and login in READS_HISTORY:
            assert status == DONE and "by sa" in said and "not kept" not in said, said
        elif login in SINCE and name != "plan":
            # Power given since the last deployment is a finding, and says who can undo or keep it.
            assert status == ERROR and SINCE[login] in said, said
        elif login in MAY:
            assert status == DONE, said
        else:
            _refused(name, login, status, said)


def _refused(name: str, login: str, status: int, said: str) -> None:
    """An error that names the object, the missing right and who can grant it; nothing that is not so."""
    planned = name in ("plan", "deploy") and login != "stranger"
    assert status == (BLOCKED if planned else ERROR), (name, said)
    assert "not made by Redial" not in said and "nothing is deployed" not in said, said
    assert "nothing was ever deployed" not in said and "is missing" not in said, said
    if name == "rollback" and login in READS_HISTORY:
        return  # there is none before the first
    assert re.search(WHO_CAN, said) and re.search(RIGHTS, said), (name, said)
    assert re.search(r"site|\[audit\]|audit\.", said), (name, said)


def test_what_a_login_may_not_see_is_not_called_open_or_none(site, capsys):
    server = prepared(site.server, "nobody")
    assert status_of(plan, server=server) == BLOCKED
    said = capsys.readouterr().out
    assert "plan: configuration audit, database site\n" in said
    assert "server   embedded broker" in said
    for line in ("gate", "dialogs", "pending", "files", "loss"):
        assert re.search(rf"^  {line} +hidden from this login$", said, re.M), said


@pytest.mark.parametrize("login", ["operator", "nobody", "db_ddladmin"])
def test_the_files_own_check_calls_nothing_foreign_that_is_only_hidden(login, site):
    """In sqlcmd nobody looks before it; and what it may not read is no error of its own (229)."""
    with closing(connect_odbc(prepared(site.server, login))()) as connection:
        connection.autocommit = True
        with pytest.raises(DeployError) as refused:
            check(connection, FILES)
    assert refused.value.number == 50200
    assert "not made by Redial" not in refused.value.text
    assert "Missing: CONTROL on the database" in refused.value.text


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (
            229,
            "The SELECT permission was denied on the object 'Gate', database 'shop', schema 'audit'.",
            ["a member of db_owner of [shop]", "GRANT SELECT ON [audit].[Gate]"],
        ),
        (
            229,
            "The UPDATE permission was denied on the object 'Gate', database 'shop', schema 'audit'.",
            ["let a member of db_owner of [shop] run this command"],
        ),
        (
            262,
            "CREATE DATABASE permission denied in database 'master'.",
            ["dbcreator", "CREATE DATABASE"],
        ),
        (262, "CREATE TABLE permission denied in database 'shop'.", ["db_owner of [shop]"]),
        (
            300,
            "VIEW SERVER STATE permission was denied on object 'server', database 'master'.",
            ["a sysadmin", "GRANT VIEW SERVER STATE"],
        ),
        (15247, "User does not have permission to perform this action.", ["db_owner", "sysadmin"]),
    ],
)
def test_a_right_that_is_missing_is_told_with_who_can_give_it(number, text, words):
    said = explained(DeployError("1_core.sql", 7, number, text)) or ""
    step = said.partition("Next: ")[2]
    assert all(word in step for word in words), said
    assert "remove the cause" not in said


def test_the_servers_own_next_step_is_said_once():
    text = "User [w] cannot deploy. Nothing was done. Next: have a member of db_owner deploy."
    said = explained(DeployError("0_preflight.sql", 1, 50200, text)) or ""
    assert said.count("Next: ") == 1
    assert said.endswith("Next: have a member of db_owner deploy; then run the same command again")
