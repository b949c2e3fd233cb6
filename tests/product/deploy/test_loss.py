"""Rows are dropped only when somebody has said of which table and how many."""

from __future__ import annotations

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.cli.installing import Allowed, install
from redial.config import Config
from redial.deploy import DeployError, connect_odbc, survey
from redial.deploy import verify as check
from redial.deploy.apply import looking
from redial.paths import GENERATED
from redial.render import read
from tests.installed import rendered
from tests.product.sql.bare import another, second
from tests.product.sql.lab import AUDIT, SHIPPED, Lab

from .by_hand import Site, deployed
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


LANDED = (
    "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType) "
    "VALUES (NEWID(), 7, N'x'); EXECUTE (N'CREATE SCHEMA archive;'); "
    "ALTER SCHEMA archive TRANSFER audit.Landing; "
)
"""A row has landed, and somebody puts the table into another schema."""


@pytest.mark.parametrize(
    ("and_then", "now", "statement"),
    [
        ("", "archive.Landing", "ALTER SCHEMA [audit] TRANSFER [archive].[Landing];"),
        (
            "EXECUTE sp_rename N'archive.Landing', N'Old.er';",
            "archive.Old.er",
            "ALTER SCHEMA [audit] TRANSFER [archive].[Old.er]; "
            "EXECUTE sys.sp_rename N'[audit].[Old.er]', N'Landing';",
        ),
    ],
)
def test_a_table_of_ours_in_another_schema_comes_back_with_its_rows(
    site, capsys, and_then, now, statement
):
    """1 No empty one is made in its place. 2 What verify says brings it back; a transfer takes the
    rights on it away, which a deployment gives again. 3 Nothing is wrong then, and the row is there."""
    run(site.server, LANDED + and_then)
    said = f"table {now} was made by Redial, and is in another schema, and Landing is missing"
    for command in (plan, deploy):
        capsys.readouterr()
        assert status_of(command, server=site.server) == BLOCKED
        printed = capsys.readouterr().out
        assert said in printed and f" Next: {statement}\n" in printed
    assert run(site.server, "SELECT OBJECT_ID(N'audit.Landing');") == [(None,)]
    assert status_of(verify, server=site.server) == 1
    printed = capsys.readouterr().out
    assert f"a deployment is refused as long as {now} is there" in printed
    [line] = [one for one in printed.splitlines() if said in one]
    run(site.server, line.partition(" Next: ")[2])
    assert status_of(deploy, server=site.server) == 0
    assert status_of(verify, server=site.server) == 0
    assert run(site.server, "SELECT MessageSequence FROM audit.Landing;") == [(7,)]


def test_of_two_tables_in_another_schema_each_is_the_one_it_is_called(site, capsys):
    """A third has another name, so it is the one that is left."""
    run(site.server, LANDED)
    run(
        site.server,
        "ALTER SCHEMA archive TRANSFER audit.ErrorLog; ALTER SCHEMA archive TRANSFER audit.DeadLetter; "
        "EXECUTE sp_rename N'archive.DeadLetter', N'Old';",
    )
    assert status_of(verify, server=site.server) == 1
    printed = capsys.readouterr().out
    for name, missing in (("Landing", "Landing"), ("ErrorLog", "ErrorLog"), ("Old", "DeadLetter")):
        assert (
            f"table archive.{name} was made by Redial, and is in another schema, and {missing} "
            in (printed)
        )
        assert f"table {missing} is missing" in printed
        assert f"refused as long as archive.{name} is there" in printed


def test_one_in_another_schema_that_was_made_again_since_is_named(site, capsys):
    """1 Its rows are for a person. 2 Without its mark it is nobody's, and nothing is said of it."""
    run(site.server, "CREATE SCHEMA archive;")
    run(site.server, "ALTER SCHEMA archive TRANSFER audit.DeadLetter;")
    run(site.server, "SELECT * INTO audit.DeadLetter FROM archive.DeadLetter;")
    assert status_of(verify, server=site.server) == 1
    [line] = [one for one in capsys.readouterr().out.splitlines() if "archive.DeadLetter" in one]
    assert "is in another schema. Who may: db_owner. Next: look at the rows of archive" in line
    run(site.server, line.rpartition(": ")[2])
    status_of(verify, server=site.server)
    assert "archive" not in capsys.readouterr().out


def test_one_of_an_earlier_choice_may_be_in_another_schema(site, capsys):
    run(site.server, LEFT_OVER + "EXECUTE (N'CREATE SCHEMA archive;');")
    run(site.server, "ALTER SCHEMA archive TRANSFER audit.Inbox;")
    for command in (plan, deploy, verify):
        assert status_of(command, server=site.server) == 0
    assert "archive" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["second", "audit"])
def test_tables_of_another_installation_are_its_own(name):
    """1 Two installations are in one database, also under one name. 2 One has lost a table, and the
    other's is not taken for it. 3 Where the other's is in a third schema, that one only is told."""
    lab = Lab(AUDIT)
    other = another(second(), name=name)
    lab.instance.disconnect(lab.sa.session)
    site = Site(lab)
    assert deployed(other, site.connect) == 0
    assert site.findings() == [] and look_for(other, site) == []
    site.run("DROP TABLE audit.Landing;")
    assert [one for one in site.findings() if "made by Redial" in one] == []
    assert site.deploy() and site.findings() == [] and look_for(other, site) == []
    site.run("EXECUTE (N'CREATE SCHEMA archive;'); ALTER SCHEMA archive TRANSFER second.Landing;")
    assert "table archive.Landing was made by Redial" in " ".join(look_for(other, site))
    if name != "audit":
        assert site.findings() == []


def test_a_table_in_the_schema_of_another_configuration_is_ours_still():
    """One that the other has no table like, or the names of its constraints were taken there."""
    lab = Lab(AUDIT)
    other = second(modules={"pieces": False})
    lab.instance.disconnect(lab.sa.session)
    site = Site(lab)
    assert deployed(other, site.connect) == 0
    site.run("ALTER SCHEMA second TRANSFER audit.SendLedger;")
    [line] = [one for one in site.findings() if "table second.SendLedger was made by" in one]
    assert not site.deploy(overwrite=True, undo=True)
    site.run(line.rsplit(" Next: ", 1)[1])
    assert site.deploy() and site.findings() == [] and look_for(other, site) == []


def look_for(config: Config, site: Site) -> list[str]:
    """What verification says of another configuration."""
    return check(config, site.connect, rendered(config))
