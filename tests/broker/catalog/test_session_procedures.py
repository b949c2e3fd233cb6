"""sp_who, sp_who2, sp_lock, DBCC INPUTBUFFER and OPENTRAN, the text functions of sessions."""

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.results import Collector


@pytest.fixture
def instance():
    made = Instance(seed=4)
    s = made.connect()
    s.execute("CREATE DATABASE App")
    s.execute(
        "USE App; CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1), (2); "
        "CREATE LOGIN alice WITH PASSWORD = 'a-Secret-1', CHECK_POLICY = OFF; "
        "CREATE USER alice"
    )
    s.close()
    return made


@pytest.fixture
def sa(instance):
    return instance.connect("App")


@pytest.fixture
def alice(instance):
    session = instance.login("alice", "a-Secret-1", "App")
    session.sink = Collector()
    return session


@pytest.fixture
def blocked(instance, sa):
    """A session that waits for sa's."""
    sa.execute("BEGIN TRAN; UPDATE dbo.T SET a = 5 WHERE a = 1")
    waiting = instance.connect("App")
    waiting.execute("DELETE dbo.T WHERE a = 5")
    return waiting


def test_sp_who_shows_who_blocks_whom(sa, blocked):
    rows = {row[0]: row for row in sa.execute("EXEC sp_who").rows()}
    assert rows[blocked.id][2] == "suspended" and rows[blocked.id][5] == str(sa.id)
    assert rows[blocked.id][7] == "DELETE"
    rows = {row[0]: row for row in sa.execute("EXEC sp_who2").rows()}
    assert rows[str(blocked.id)][4] == str(sa.id) and rows[str(sa.id)][4] == "  ."


def test_sp_who_narrows_by_login_id_and_activity(sa, alice):
    assert [r[0] for r in sa.execute("EXEC sp_who 'alice'").rows()] == [alice.id]
    assert [r[0] for r in sa.execute(f"EXEC sp_who '{sa.id}'").rows()] == [sa.id]
    assert [r[0] for r in sa.execute("EXEC sp_who 'active'").rows()] == [sa.id]
    assert sa.execute("EXEC sp_who 'nobody'").error().number == 15007
    assert [r[0] for r in alice.execute("EXEC sp_who").rows()] == [alice.id]


def test_sp_lock_shows_grants_and_waits(sa, alice, blocked):
    rows = sa.execute("EXEC sp_lock").rows()
    assert any(r[0] == blocked.id and r[4] == "KEY" and r[7] == "WAIT" for r in rows)
    assert {r[0] for r in sa.execute(f"EXEC sp_lock {blocked.id}").rows()} == {blocked.id}
    assert alice.execute("EXEC sp_lock").error().number == 300


def test_the_input_buffer_by_dbcc_and_by_function(sa, alice, blocked):
    assert sa.execute(f"DBCC INPUTBUFFER({blocked.id})").rows() == [
        ("Language Event", 0, "DELETE dbo.T WHERE a = 5")
    ]
    assert sa.execute(
        f"SELECT event_type, event_info FROM sys.dm_exec_input_buffer({blocked.id}, NULL)"
    ).rows() == [("Language Event", "DELETE dbo.T WHERE a = 5")]
    assert sa.execute("DBCC INPUTBUFFER(999)").error().number == 7955
    assert alice.execute(f"DBCC INPUTBUFFER({sa.id})").error().number == 300
    assert alice.execute(f"DBCC INPUTBUFFER({alice.id}) WITH NO_INFOMSGS").messages == []


def test_dbcc_opentran_names_the_oldest_writer(sa, alice, instance):
    assert any(m.number == 7969 for m in sa.execute("DBCC OPENTRAN").messages)
    sa.execute("BEGIN TRAN oldest; UPDATE dbo.T SET a = 5 WHERE a = 1")
    rows = dict(instance.connect("App").execute("DBCC OPENTRAN WITH TABLERESULTS").rows())
    assert rows["OLDACT_SPID"] == str(sa.id) and rows["OLDACT_NAME"] == "oldest"
    assert any(
        "SPID (server process ID)" in m.text for m in sa.execute("DBCC OPENTRAN ('App')").messages
    )
    assert alice.execute("DBCC OPENTRAN").error().number == 2571


def test_dbcc_useroptions_shows_the_options_of_the_session(sa):
    rows = dict(
        sa.execute("SET LOCK_TIMEOUT 5; SET QUOTED_IDENTIFIER OFF; DBCC USEROPTIONS").rows()
    )
    assert rows["lock_timeout"] == "5" and "quoted_identifier" not in rows
    assert rows["isolation level"] == "read committed"


@pytest.mark.parametrize("command", ["SQLPERF(LOGSPACE)", "CHECKDB", "TRACEON(1222)"])
def test_other_commands_are_refused_by_name(sa, command):
    error = sa.execute(f"DBCC {command}").error()
    assert error.number == 60001 and f"DBCC {command.partition('(')[0]}" in error.text


def test_the_text_behind_a_handle(sa, blocked):
    rows = sa.execute(
        "SELECT r.session_id, t.text FROM sys.dm_exec_requests AS r CROSS APPLY "
        f"sys.dm_exec_sql_text(r.sql_handle) AS t WHERE r.session_id = {blocked.id}"
    ).rows()
    assert rows == [(blocked.id, "DELETE dbo.T WHERE a = 5")]


def test_the_text_behind_a_modules_handle(sa, instance, alice):
    sa.execute("CREATE PROCEDURE dbo.Slow AS WAITFOR DELAY '00:01:00'")
    other = instance.connect("App")
    other.execute("EXEC dbo.Slow")
    row = sa.execute(
        "SELECT OBJECT_NAME(t.objectid), t.text FROM sys.dm_exec_requests AS r CROSS "
        "APPLY sys.dm_exec_sql_text(r.sql_handle) AS t WHERE r.session_id = "
        f"{other.id}"
    ).rows()[0]
    assert row == ("Slow", "CREATE PROCEDURE dbo.Slow AS WAITFOR DELAY '00:01:00'")
    assert alice.execute("SELECT * FROM sys.dm_exec_sql_text(0x01)").error().number == 300


def test_server_roles_by_their_old_procedures(sa):
    sa.execute("EXEC sp_addsrvrolemember 'alice', 'dbcreator'")
    assert sa.execute("SELECT IS_SRVROLEMEMBER('dbcreator', 'alice')").one() == 1
    sa.execute("EXEC sp_dropsrvrolemember @loginame = 'alice', @rolename = 'dbcreator'")
    assert sa.execute("SELECT IS_SRVROLEMEMBER('dbcreator', 'alice')").one() == 0
    assert sa.execute("EXEC sp_addsrvrolemember 'alice', 'nonsense'").error().number == 15402
