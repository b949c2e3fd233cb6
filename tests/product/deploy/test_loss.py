"""Rows are dropped only when somebody has said of which table and how many."""

from __future__ import annotations

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.cli.installing import Allowed, install
from redial.deploy import DeployError, connect_odbc, survey
from redial.deploy.apply import looking
from redial.paths import GENERATED
from redial.render import read
from tests.product.sql.lab import SHIPPED

from .conftest import run, status_of

pytestmark = pytest.mark.driver
ERROR, CHANGES, BLOCKED = 1, 2, 3
LEFT_OVER = (
    "CREATE TABLE audit.Inbox (MessageId uniqueidentifier NOT NULL, ReceivedUtc datetime2(3) NULL, "
    "CONSTRAINT PK_Inbox PRIMARY KEY (MessageId)); "
    "EXECUTE audit.usp_Mark N'TABLE', N'Inbox'; "
    "INSERT INTO audit.Inbox (MessageId) VALUES (NEWID()), (NEWID());"
)
"""A table as exactly_once has left it behind."""
THERE = "SELECT COUNT(*) FROM sys.tables WHERE name = N'Inbox';"


def test_a_table_of_an_earlier_choice_is_kept_and_the_plan_says_what_drops_it(site, capsys):
    run(site.server, LEFT_OVER)
    assert status_of(plan, server=site.server) == 0
    assert (
        "table Inbox is of an earlier choice and has 2 rows: it is kept. --allow-loss Inbox=2"
        in (capsys.readouterr().out)
    )
    assert status_of(deploy, server=site.server) == 0
    assert run(site.server, THERE) == [(1,)]


def test_it_goes_when_the_number_is_the_one_said(site, capsys):
    run(site.server, LEFT_OVER)
    # 1. another number is refused before anything is sent
    for command in (plan, deploy):
        capsys.readouterr()
        assert status_of(command, server=site.server, allow_loss=["Inbox=3"]) == BLOCKED
        said = capsys.readouterr().out
        assert "table Inbox has 2 rows, not 3. Next: look at them; --allow-loss Inbox=2" in said
    assert "0_preflight" not in said and run(site.server, THERE) == [(1,)]
    # 2. the right one is planned, and drops it
    assert status_of(plan, server=site.server, allow_loss=["Inbox=2"]) == CHANGES
    said = capsys.readouterr().out
    assert "table Inbox with its 2 rows is dropped (--allow-loss)" in said
    assert "\nchanges: 1 drop. Nothing was changed yet." in said
    assert status_of(plan, server=site.server, allow_loss=["Inbox=2"], sql=True) == CHANGES
    assert "DROP TABLE [audit].[Inbox]" in capsys.readouterr().out
    assert status_of(deploy, server=site.server, allow_loss=["Inbox=2"]) == 0
    assert run(site.server, THERE) == [(0,)]
    # 3. the same again finds nothing to drop, and says so
    assert "not there" not in capsys.readouterr().out
    assert status_of(deploy, server=site.server, allow_loss=["Inbox=2"]) == 0
    assert "table Inbox is not there: nothing of it is dropped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Inbox", "'Inbox' is not TABLE=ROWS"),
        ("Inbox=many", "is not TABLE=ROWS"),
        ("Landing=0", "is no table of an earlier choice here; nothing was done"),
    ],
)
def test_what_is_no_loss_is_refused_before_anything_is_done(site, said, answer, capsys):
    assert status_of(deploy, server=site.server, allow_loss=[said]) == ERROR
    assert answer in capsys.readouterr().err


def test_rows_that_have_come_since_the_plan_are_not_dropped(site, capsys):
    """The statement counts again, under a lock of the table."""
    run(site.server, LEFT_OVER)
    files, connect = read(GENERATED / "audit"), connect_odbc(site.server)
    allowed = Allowed(losses={"Inbox": 2})
    with looking(connect, SHIPPED) as connection:
        seen = survey(SHIPPED, connection, files, losses=allowed.losses)
    run(site.server, "INSERT INTO audit.Inbox (MessageId) VALUES (NEWID());")
    with pytest.raises(
        DeployError, match=r"Table Inbox has 3 rows, not 2\. Nothing of it was dropped"
    ):
        install(SHIPPED, connect, files, seen, "deploy", allowed)
    assert run(site.server, THERE) == [(1,)]


def test_a_table_of_ours_that_was_renamed_is_none_of_an_earlier_choice(site, capsys):
    """1 Somebody renames a table with a row in it. 2 No empty one is made in its place, and nothing
    drops it. 3 What verify says gives it its name back."""
    run(
        site.server,
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
        "VALUES (N'target', NEWID(), 7); EXECUTE sp_rename N'audit.DeadLetter', N'DeadLetter_old';",
    )
    for command in (plan, deploy):
        capsys.readouterr()
        assert status_of(command, server=site.server) == BLOCKED
        said = capsys.readouterr().out
        assert "table DeadLetter_old was made by Redial, and under another name" in said
        assert "earlier choice" not in said
    assert status_of(deploy, server=site.server, allow_loss=["DeadLetter_old=1"]) == ERROR
    assert status_of(verify, server=site.server) == 1
    said = capsys.readouterr().out
    [line] = [one for one in said.splitlines() if "table DeadLetter_old was" in one]
    run(site.server, line.partition(" Next: ")[2])
    assert status_of(verify, server=site.server) == 0
    assert run(site.server, "SELECT COUNT(*) FROM audit.DeadLetter;") == [(1,)]


def test_where_it_was_made_again_since_both_are_named(site, capsys):
    run(
        site.server,
        "EXECUTE sp_rename N'audit.DeadLetter', N'DeadLetter_old'; "
        "SELECT * INTO audit.DeadLetter FROM audit.DeadLetter_old;",
    )
    assert status_of(verify, server=site.server) == 1
    assert "look at the rows of DeadLetter_old: what a deployment" in capsys.readouterr().out
