"""Errors say of which configuration and database they are, and hostile names are refused."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from redial.cli.configs import render as render_command
from redial.cli.deploy import deploy, plan, verify
from redial.cli.errors import explained
from redial.cli.history import history
from redial.cli.init import init
from redial.cli.uninstalling import uninstall
from redial.config import Config, ConfigError, load
from redial.deploy import DeployError, apply, connect_odbc
from redial.deploy import verify as verified
from redial.paths import CONFIGS
from redial.render import render, write
from redial.server import with_database

from .conftest import logged_in_as, run, status_of, two_databases

pytestmark = pytest.mark.driver
AUDIT = load(CONFIGS / "audit.toml")


def another(**changed) -> Config:
    """The audit configuration with other values; a table's are put into it."""
    data = AUDIT.model_dump(by_alias=True, mode="json")
    for key, value in changed.items():
        data[key] = data[key] | value if isinstance(value, dict) else value
    return Config.model_validate(data)


TWO = another(target={"database": "depot"})

# --- where -------------------------------------------------------------------------------------


@pytest.mark.parametrize("called", [plan, deploy, verify, history, uninstall])
def test_a_login_that_is_refused_is_told_of_which_configuration_and_database(called, site, capsys):
    assert status_of(called, server=logged_in_as(site.server, "nobody", "wrong")) == 1
    said = capsys.readouterr().err
    assert "\n  Where: configuration audit, database site\n  Next: check UID and PWD" in said


def test_a_batch_that_fails_is_told_with_the_database_it_ran_in(monkeypatch):
    """Also in the second of two, from which a deployment goes home before anybody is told."""
    with two_databases("shop", "depot") as (broker, connect):
        apply(TWO, connect)
        other = connect_odbc(with_database(broker.odbc, "depot"))
        with closing(other()) as connection:
            connection.cursor().execute(
                "CREATE TRIGGER stop_it ON DATABASE FOR CREATE_VIEW, ALTER_VIEW AS THROW 50001, 'no', 1;"
            )
        with pytest.raises(DeployError) as stopped:
            apply(TWO, connect)
    assert stopped.value.database == "depot"
    told = explained(stopped.value) or ""
    assert "\n  Where: configuration audit, database depot\n  Next: " in told


def test_an_error_that_names_both_says_it_once(site, capsys):
    assert status_of(uninstall, server=site.empty) == 1
    assert "Where:" not in capsys.readouterr().err


# --- two databases -----------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path, monkeypatch):
    """A project folder whose target has a database of its own, the current folder."""
    init(str(tmp_path / "two"), "audit")
    monkeypatch.chdir(tmp_path / "two")
    file = tmp_path / "two" / "sql" / "configs" / "audit.toml"
    file.write_text(
        file.read_text("utf-8").replace("\n[target]\n", '\n[target]\ndatabase = "depot"\n')
    )
    assert status_of(render_command) == 0


def databases(server: str) -> set[str]:
    return {name for (name,) in run(server, "SELECT name FROM sys.databases;")}


def test_create_makes_both_databases(two, site, capsys):
    server = with_database(site.server, "shop")
    try:
        assert status_of(deploy, server=server, create=True) == 0
        assert {"shop", "depot"} <= databases(site.server)
        assert status_of(verify, server=server) == 0
    finally:
        run(site.server, "DROP DATABASE shop; DROP DATABASE depot;")


def test_the_embedded_broker_of_a_command_has_both_databases(two, capsys):
    assert status_of(deploy, server="embedded") == 0


def test_a_target_database_that_is_not_there_is_named_before_anything_is_done(two, site, capsys):
    assert status_of(deploy, server=site.empty) == 3
    said = capsys.readouterr().out
    assert "'depot' does not exist" in said and "Next: redial deploy --create makes it" in said
    assert "nothing was done" in said
    assert run(site.empty, "SELECT COUNT(*) FROM sys.schemas WHERE name = N'audit';") == [(0,)]
    assert status_of(verify, server=site.empty) == 1
    assert "Next: redial deploy --create makes it" in capsys.readouterr().out


def test_a_target_database_that_a_login_may_not_enter_is_told_with_what_lets_it_in(
    two, site, capsys
):
    run(site.server, "CREATE DATABASE depot;")
    run(site.server, "CREATE LOGIN ops WITH PASSWORD = 'Op-3rator';")
    run(site.empty, "CREATE USER ops FOR LOGIN ops; ALTER ROLE db_owner ADD MEMBER ops;")
    try:
        assert status_of(deploy, server=logged_in_as(site.empty, "ops", "Op-3rator")) == 3
        said = capsys.readouterr().out
        assert re.search(r"Next: in \[depot\], its owner: CREATE USER \.\. FOR LOGIN", said), said
    finally:
        run(site.server, "DROP DATABASE depot;")


# --- names -------------------------------------------------------------------------------------


def test_in_schema_dbo_the_servers_own_queues_and_services_are_none_of_ours(site):
    config = another(schema="dbo")
    connect = connect_odbc(site.empty)
    apply(config, connect)
    assert verified(config, connect) == []
    run(site.empty, "CREATE QUEUE dbo.Theirs; CREATE SERVICE [//theirs] ON QUEUE dbo.Theirs;")
    assert [line.partition(" is there")[0] for line in verified(config, connect)] == [
        "in bare: queue Theirs",
        "in bare: service //theirs",
    ]


@pytest.mark.parametrize("signing", ["none", "certificate"])
def test_a_name_with_an_apostrophe_is_installed_and_verified(signing, site):
    roles = {name: f"o'{name}" for name in ("module", "sender", "operator", "reader")}
    config = another(schema="o'brien", security={"signing": signing}, roles=roles)
    connect = connect_odbc(site.empty)
    apply(config, connect)
    assert verified(config, connect) == []


@pytest.mark.parametrize("name", ["o'brien", "x GO y", "a$b$c", "${x}", "{{a}}", "a/*b"])
def test_a_name_that_some_tool_would_misread_is_named_when_files_are_written(name, tmp_path):
    with pytest.raises(ConfigError) as refused:
        write(another(schema=name), tmp_path)
    assert [line.partition(":")[0] for line in refused.value.problems] == ["schema"]
    told = explained(refused.value) or ""
    assert repr(name) in told and "audit.toml" in told and "Next: correct the file" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["o'b'c", "]x[]]", 'a"b', "a--b", "exit(1)", "GO"])
def test_other_odd_names_are_written(name, tmp_path):
    assert write(another(schema=name), tmp_path)


def test_rendering_alone_refuses_no_name():
    assert render(another(schema="o'brien"))
