"""Who is waited for, how long, and who has the lock: said, and never longer than the user says."""

from __future__ import annotations

from contextlib import closing

import pytest

from redial.cli.deploy import deploy, plan
from redial.cli.history import baseline, repair
from redial.deploy import connect_odbc

from .conftest import logged_in_as, run, status_of

pytestmark = pytest.mark.driver
ERROR, CHANGES, BLOCKED = 1, 2, 3


def test_another_deployment_is_named_with_its_session_and_nothing_is_done(site, capsys):
    run(site.server, "DROP VIEW audit.vw_Errors;")
    with closing(connect_odbc(site.server)()) as other:
        other.execute(
            "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session', 0;"
        )
        [(session,)] = other.execute("SELECT @@SPID;").fetchall()
        assert status_of(deploy, server=site.server, wait_seconds=0) == ERROR
        said = capsys.readouterr().err
        assert "another deployment of 'audit' is running, and did not end within 0 s" in said
        assert f"session {session}, login sa, host " in said and "Nothing was done" in said
        for other_command in (repair, baseline):
            assert status_of(other_command, server=site.server, wait_seconds=0) == ERROR
            assert "another deployment of 'audit' is running" in capsys.readouterr().err
    assert run(site.server, "SELECT OBJECT_ID(N'audit.vw_Errors');") == [(None,)]
    assert status_of(deploy, server=site.server, wait_seconds=0) == 0


def test_whoever_may_not_see_other_sessions_is_told_which_right_would_help(site, capsys):
    run(site.server, "DROP VIEW audit.vw_Errors;")
    run(site.server, "CREATE LOGIN owner2 WITH PASSWORD = N'Long-enough-1';")
    run(site.server, "CREATE USER owner2 FOR LOGIN owner2; ALTER ROLE db_owner ADD MEMBER owner2;")
    server = logged_in_as(site.server, "owner2", "Long-enough-1")
    with closing(connect_odbc(site.server)()) as other:
        other.execute(
            "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session', 0;"
        )
        assert status_of(deploy, server=server, wait_seconds=0) == ERROR
        assert "who it is can be seen with VIEW SERVER STATE" in capsys.readouterr().err
        # what a plan could not see, it says
        assert status_of(plan, server=server) == CHANGES
        assert "cannot be named without VIEW SERVER STATE" in capsys.readouterr().out


def test_a_plan_names_who_would_be_waited_for_at_each_step(site, capsys):
    run(site.server, "ALTER TABLE audit.SentMessage SET (LOCK_ESCALATION = TABLE);")
    with closing(connect_odbc(site.server)()) as other:
        other.autocommit = False
        other.execute("UPDATE audit.SentMessage SET Body = Body;").close()
        [(session,)] = other.execute("SELECT @@SPID;").fetchall()
        assert status_of(plan, server=site.server) == CHANGES
        said = capsys.readouterr().out
        assert f"at work  session {session} (login sa, host " in said
        assert "locks: Sch-M on the table: waits for everybody who reads or writes it" in said
        assert f"would wait for: session {session} (login sa" in said
        other.rollback()


def test_a_lock_is_waited_for_no_longer_than_said(site, capsys):
    run(site.server, "ALTER TABLE audit.SentMessage SET (LOCK_ESCALATION = TABLE);")
    with closing(connect_odbc(site.server)()) as other:
        other.autocommit = False
        other.execute("UPDATE audit.SentMessage SET Body = Body;").close()
        [(session,)] = other.execute("SELECT @@SPID;").fetchall()
        assert status_of(deploy, server=site.server, wait_seconds=0) == ERROR
        said = capsys.readouterr().err
        assert "1222" in said and f"session {session} (login sa" in said
        assert "--wait-seconds" in said
        other.rollback()
    # the same command finishes it
    assert status_of(deploy, server=site.server, wait_seconds=0) == 0


def test_a_change_of_choices_says_how_long_senders_are_refused(site, capsys):
    run(site.server, "UPDATE audit.Setting SET Value = N'pool' WHERE Name = N'conversation.key';")
    assert status_of(plan, server=site.server) == CHANGES
    said = capsys.readouterr().out
    assert "senders  are refused while dialogs end, at most 60 s (--wait-seconds" in said
    assert "to the end of the deployment (" in said and "s the last time" in said
    assert "conversation.key: pool becomes spid" in said


def test_who_is_in_the_database_when_the_broker_is_to_be_switched_on_is_named(site, capsys):
    run(site.server, "ALTER DATABASE site SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    with closing(connect_odbc(site.server)()) as other:
        [(session,)] = other.execute("SELECT @@SPID;").fetchall()
        assert status_of(plan, server=site.server) == BLOCKED
        said = capsys.readouterr().out
        assert f"session {session} (login sa" in said
        assert "because of which a deployment would be refused (database.enable_broker)" in said
        assert "50226" in said
