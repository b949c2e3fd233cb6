"""What no file undoes is undone by a statement of the plan, before the files are sent."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.cli.history import history
from redial.cli.installing import Allowed, install
from redial.deploy import DeployError, connect_odbc, survey
from redial.deploy.apply import looking
from redial.paths import GENERATED
from redial.render import read
from redial.tsql import split_batches
from tests.product.sql.lab import SHIPPED, send

from .conftest import run, status_of

pytestmark = pytest.mark.driver
CHANGES = {
    # what somebody does by hand, and the statement that undoes it
    "the owner of the contract": (
        "ALTER AUTHORIZATION ON CONTRACT::[//redial/audit/contract] TO joe;",
        "ALTER AUTHORIZATION ON CONTRACT::[//redial/audit/contract] TO [dbo];",
    ),
    "the owner of a message type": (
        "ALTER AUTHORIZATION ON MESSAGE TYPE::[//redial/audit/event] TO joe;",
        "ALTER AUTHORIZATION ON MESSAGE TYPE::[//redial/audit/event] TO [dbo];",
    ),
    "the owner of a procedure": (
        "ALTER AUTHORIZATION ON audit.usp_Send TO joe;",
        "ALTER AUTHORIZATION ON OBJECT::[audit].[usp_Send] TO SCHEMA OWNER;",
    ),
    "the owner of a table": (
        "ALTER AUTHORIZATION ON audit.Landing TO joe;",
        "ALTER AUTHORIZATION ON OBJECT::[audit].[Landing] TO SCHEMA OWNER;",
    ),
    "a queue that keeps its messages": (
        "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;",
        "ALTER QUEUE [audit].[TargetQueue] WITH RETENTION = OFF;",
    ),
    "a queue without poison handling": (
        "ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = OFF);",
        "ALTER QUEUE [audit].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON);",
    ),
    "a trigger that does not fire": (
        "DISABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;",
        "ENABLE TRIGGER [audit].[Outbox_Insert] ON [audit].[Outbox];",
    ),
}


MORE = {
    "a view is dropped": "DROP VIEW audit.vw_Errors;",
    "a right is taken away": "REVOKE EXECUTE ON audit.usp_Send FROM audit_sender;",
    "a procedure without our comment": "ALTER PROCEDURE audit.usp_Send AS RETURN 0;",
    "a view with a trigger is dropped": "DROP VIEW audit.Outbox;",
    "a table is locked as a whole": "ALTER TABLE audit.ErrorLog SET (LOCK_ESCALATION = DISABLE);",
}


@pytest.fixture
def sent(monkeypatch) -> list[str]:
    """Every batch that a deployment runs, but for its own lock, time-out and history."""
    found: list[str] = []
    sending, ends = import_module("redial.deploy.apply"), import_module("redial.deploy.finishing")
    run_batch, run_statement = sending.run_batch, ends._run

    def batch(connection, name, line, text, *heard):
        if name not in ("LOCK_TIMEOUT", "USE"):
            found.append(text.strip())
        run_batch(connection, name, line, text, *heard)

    def statement(connection, database, text, heard):
        found.append(text.strip())
        run_statement(connection, database, text, heard)

    monkeypatch.setattr(sending, "run_batch", batch)
    monkeypatch.setattr(ends, "_run", statement)
    return found


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("change", [*(one for one, _ in CHANGES.values()), *MORE.values()])
def test_what_plan_prints_is_what_a_deployment_runs_batch_by_batch(site, capsys, sent, change):
    run(site.server, "CREATE USER joe WITHOUT LOGIN;")
    run(site.server, change)
    capsys.readouterr()
    assert status_of(plan, server=site.server, sql=True, overwrite=True) == 2
    printed = [batch.sql for batch in split_batches(capsys.readouterr().out)]
    looked = len(sent)
    assert status_of(deploy, server=site.server, overwrite=True) == 0
    asked = sent[:looked]  # a look asks the same of the files' check before
    assert sent[looked : 2 * looked] == asked
    assert sent[2 * looked :] == [bare(text) for text in printed]


@pytest.mark.parametrize(
    ("change", "files"),
    [
        (MORE["a view is dropped"], ["80_vw_Errors.view.sql", "85_roles.grant.sql"]),
        (MORE["a right is taken away"], ["85_roles.grant.sql"]),
        (
            MORE["a view with a trigger is dropped"],
            ["72_07_Outbox.view.sql", "72_08_Outbox_Insert.trigger.sql", "85_roles.grant.sql"],
        ),
        (MORE["a table is locked as a whole"], []),
    ],
)
def test_no_more_is_sent_than_it_takes(site, capsys, change, files):
    """The check first, and what makes the thing; a table's statement is no file at all."""
    run(site.server, change)
    assert status_of(deploy, server=site.server) == 0
    said = capsys.readouterr().out
    assert re.findall(r"^ +\d+/\d+ (\S+)", said, re.M) == ["05_preflight.check.sql", *files]
    assert status_of(verify, server=site.server) == 0


def bare(text: str) -> str:
    """Without the line that says where a batch of a plan comes from."""
    return re.sub(r"^/\* (repair in \w+|[\w/.]+\.sql) \*/\n", "", text.strip()).strip()


@pytest.mark.parametrize("what", CHANGES)
def test_one_deployment_makes_it_as_the_files_do(site, capsys, what):
    """1 Somebody changes it. 2 The plan says the statement. 3 It runs, and there is no finding left."""
    change, statement = CHANGES[what]
    run(site.server, f"CREATE USER joe WITHOUT LOGIN; {change}")
    assert status_of(plan, server=site.server) == 2
    assert f"runs: {statement}" in capsys.readouterr().out
    assert status_of(plan, server=site.server, sql=True) == 2
    assert f"{statement}\nGO\n" in capsys.readouterr().out
    assert status_of(deploy, server=site.server) == 0
    assert f"repairing in site: {statement}" in capsys.readouterr().out
    assert status_of(verify, server=site.server) == 0


def test_a_plan_that_is_no_longer_true_is_not_carried_out(site, capsys):
    """1 A plan is made. 2 Somebody changes something before it has the lock. 3 Nothing is done, and the
    attempt says why. 4 The same command plans anew."""
    files = read(GENERATED / "audit")
    run(site.server, "DROP VIEW audit.vw_Errors;")
    connect = connect_odbc(site.server)
    with looking(connect, SHIPPED) as connection:
        seen = survey(SHIPPED, connection, files)
    run(site.server, "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;")
    with pytest.raises(DeployError, match="has changed the installation since this plan was made"):
        install(SHIPPED, connect, files, seen, "deploy", Allowed())
    assert run(site.server, "SELECT OBJECT_ID(N'audit.vw_Errors');") == [(None,)]
    assert status_of(history, server=site.server) == 0
    assert re.search(r"deploy failed.*Nothing was done", capsys.readouterr().out)
    assert status_of(deploy, server=site.server) == 0


def test_what_the_server_says_of_a_repair_is_heard_and_kept(site, monkeypatch, capsys):
    """1 A repair prints. 2 The user reads it. 3 The attempt has it."""
    run(site.server, "ALTER TABLE audit.ErrorLog SET (LOCK_ESCALATION = DISABLE);")
    finishing = import_module("redial.deploy.finishing")
    repairs = finishing.undoing
    monkeypatch.setattr(
        finishing,
        "undoing",
        lambda *given: [(where, f"PRINT N'look out'; {sql}") for where, sql in repairs(*given)],
    )
    assert status_of(deploy, server=site.server) == 0
    assert "server: look out" in capsys.readouterr().out
    [(told,)] = run(
        site.server,
        "SELECT TOP (1) Message FROM audit.DeploymentAttempt ORDER BY AttemptId DESC;",
    )
    assert "look out" in told


def test_a_repair_that_fails_keeps_nothing_else_away(site, capsys):
    """1 Equal keys where a key is missing, and the procedure that sends is gone. 2 The deployment makes the
    procedure, says why it could not make the key, and is not green."""
    run(
        site.server,
        "ALTER TABLE audit.IdleWatch DROP CONSTRAINT PK_IdleWatch; DECLARE @h uniqueidentifier = NEWID(); "
        "INSERT INTO audit.IdleWatch (Handle, SendSequence, SinceUtc) VALUES (@h, 1, SYSUTCDATETIME()), "
        "(@h, 1, SYSUTCDATETIME()); DROP PROCEDURE audit.usp_Send;",
    )
    assert status_of(deploy, server=site.server) == 1
    said = capsys.readouterr().out
    assert "not repaired, and the deployment goes on: Msg 1505" in said
    assert (
        "index PK_IdleWatch of IdleWatch is missing" in said and "usp_Send is missing" not in said
    )


TWO_LIKE_OURS = (
    "ALTER TABLE audit.Landing DROP COLUMN SenderApp;",
    "ALTER TABLE audit.Landing ADD customer nvarchar(128) NULL, invoice nvarchar(128) NULL;",
    "EXECUTE (N'UPDATE audit.Landing SET customer = N''ACME'';');",
)


def test_a_column_of_somebodys_is_not_taken_for_ours(site, capsys):
    """1 Ours is dropped, and two of its form are there. 2 No deployment renames one. 3 A person may."""
    for sql in (send("0x01"), *TWO_LIKE_OURS):
        run(site.server, sql)
    for undo in (False, True):
        assert status_of(deploy, server=site.server, undo=undo) == 1
        said = capsys.readouterr().out
        assert (
            "column SenderApp of Landing is missing, and customer or invoice there is like it"
            in said
        )
        assert (
            "sp_rename N'[audit].[Landing].[customer]', N'SenderApp', N'COLUMN'; /* or another"
            in said
        )
        assert run(site.server, "SELECT DISTINCT customer FROM audit.Landing;") == [("ACME",)]


def test_of_one_column_it_takes_the_word(site, capsys):
    run(site.server, "ALTER TABLE audit.ErrorLog DROP COLUMN ErrorLine;")
    run(site.server, "ALTER TABLE audit.ErrorLog ADD tenant int NULL;")
    assert status_of(deploy, server=site.server) == 1
    said = capsys.readouterr().out
    assert "if that was it: its values become those of ours" in said and "repairing" not in said
    assert status_of(deploy, server=site.server, undo=True) == 0


def test_an_index_like_ours_stays_beside_ours(site, capsys):
    run(
        site.server,
        "EXECUTE sp_rename N'audit.SessionConversations.UX_SessionConversations_Handle', N'UX_theirs', "
        "N'INDEX';",
    )
    assert status_of(deploy, server=site.server) == 1
    names = (
        "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID(N'audit.SessionConversations') "
        "AND name LIKE N'UX%' ORDER BY name;"
    )
    assert run(site.server, names) == [("UX_SessionConversations_Handle",), ("UX_theirs",)]


def test_another_owner_takes_no_right_from_anybody(site, capsys):
    """ALTER AUTHORIZATION drops the rights on what gets another owner (its page)."""
    run(
        site.server,
        "CREATE USER joe WITHOUT LOGIN; CREATE USER rep WITHOUT LOGIN; "
        "ALTER AUTHORIZATION ON audit.Landing TO joe; GRANT SELECT ON audit.Landing TO rep "
        "WITH GRANT OPTION; DENY DELETE ON audit.Landing TO rep;",
    )
    rights = (
        "SELECT permission_name, state FROM sys.database_permissions "
        "WHERE grantee_principal_id = USER_ID(N'rep') AND class = 1 ORDER BY permission_name;"
    )
    before = run(site.server, rights)
    assert status_of(deploy, server=site.server) == 1
    said = capsys.readouterr().out
    assert "owner is joe" not in said and "permission SELECT to rep" in said
    assert run(site.server, rights) == before == [("DELETE", "D"), ("SELECT", "W")]
    assert status_of(deploy, server=site.server, undo=True) == 0
    assert run(site.server, rights) == []


def test_a_queue_is_switched_on_behind_the_files_its_reader_needs(site, capsys):
    """1 The queue is off and a message waits; the table is gone. 2 Both are mended, and it lands."""
    run(site.server, "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    run(site.server, send("0x01"))
    run(site.server, "DROP TABLE audit.Landing;")
    assert status_of(plan, server=site.server, sql=True, undo=True) == 2
    said = capsys.readouterr().out
    assert said.index("CREATE TABLE [audit].[Landing]") < said.index("WITH STATUS = ON;\nGO")
    assert status_of(deploy, server=site.server, undo=True) == 0
    assert status_of(verify, server=site.server) == 0
