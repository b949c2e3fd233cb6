"""Rows are dropped only when somebody has said of which table and how many."""

from __future__ import annotations

import pytest

from redial.cli.deploy import deploy, plan

from .conftest import run, status_of

pytestmark = pytest.mark.driver
ERROR = 1
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
    # 1. another number drops nothing, and the deployment says so
    assert status_of(deploy, server=site.server, allow_loss=["Inbox=3"]) == ERROR
    assert "Table Inbox has 2 rows, not 3. Nothing of it was dropped." in capsys.readouterr().err
    assert run(site.server, THERE) == [(1,)]
    # 2. the right one drops it
    assert status_of(deploy, server=site.server, allow_loss=["Inbox=2"]) == 0
    assert run(site.server, THERE) == [(0,)]


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
