"""A look waits for nobody longer than it was told, and says who is in its way."""

from __future__ import annotations

from contextlib import closing, contextmanager
from importlib import import_module

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.cli.history import history
from redial.cli.uninstalling import uninstall
from redial.deploy import connect_odbc
from redial.deploy.apply import looking
from tests.product.sql.lab import SHIPPED

from .conftest import run, status_of

pytestmark = pytest.mark.driver
TABLES = [
    *("Setting", "DeploymentText", "DeploymentHistory", "DeploymentAttempt", "Gate", "Landing"),
    *("SessionConversations", "Migration", "OwnedObject"),
]
WAITED_FOR = {"Setting", "Migration", "DeploymentText", "DeploymentHistory", "DeploymentAttempt"}
"""Tables that plan's check or history reads under a lock; the others are read in passing."""
HOTFIX = "ALTER PROCEDURE audit.usp_StartQueue AS /* Redial 0.1.0, configuration audit */ RETURN 0;"


@contextmanager
def held(server: str, table: str):
    """A table is locked by a transaction that is not over."""
    with closing(connect_odbc(server)()) as connection:
        connection.autocommit = False
        connection.cursor().execute(
            f"DECLARE @n int = (SELECT COUNT(*) FROM audit.{table} WITH (TABLOCKX, HOLDLOCK));"
        )
        yield
        connection.rollback()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nobody waits in these tests."""
    monkeypatch.setattr(import_module("redial.deploy.apply"), "LOOK_WAIT_MS", 0)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", ["DROP VIEW audit.vw_Errors;", HOTFIX], ids=["view", "hotfix"])
def test_a_look_at_what_somebody_has_locked_ends_and_names_him(site, capsys, table, change):
    """With a difference, for without one fewer tables are read."""
    run(site.server, change)
    refused = False
    with held(site.server, table):
        for command in (plan, verify, history, uninstall):
            capsys.readouterr()
            status = status_of(command, server=site.server)
            said = "".join(capsys.readouterr())
            assert status in (0, 1, 2, 3)
            assert "1222" not in said or "Who has it: session " in said
            refused |= "Who has it: session " in said
    assert refused == (table in WAITED_FOR)


def test_a_deployment_that_may_not_wait_says_who_is_in_its_way(site, capsys):
    run(site.server, HOTFIX)
    for table in ("Setting", "DeploymentText", "DeploymentAttempt"):
        with held(site.server, table):
            capsys.readouterr()
            assert status_of(deploy, server=site.server, overwrite=True, wait_seconds=0) in (1, 3)
            assert "Who has it: session " in "".join(capsys.readouterr())
    assert status_of(deploy, server=site.server, overwrite=True, wait_seconds=0) == 0


def test_how_long_a_look_waits_can_be_said(site):
    with looking(connect_odbc(site.server), SHIPPED, 7) as connection:
        assert connection.cursor().execute("SELECT @@LOCK_TIMEOUT;").fetchone()[0] == 7000
