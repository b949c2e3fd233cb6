"""States, owners and availability groups of a database, as a preflight meets them (F-483, F-484)."""

import pytest

from redial_broker.exec import replicas

STATE = "SELECT state, state_desc, is_read_only FROM sys.databases WHERE name = N'App'"
UPDATEABILITY = "SELECT CONVERT(nvarchar(20), DATABASEPROPERTYEX(N'App', N'Updateability'))"


@pytest.fixture
def master(instance):
    return instance.connect()


@pytest.fixture
def app(instance):
    return instance.database("App")


def numbers(answer):
    return [error.number for error in answer.errors]


# ---------------------------------------------------------------------- OFFLINE, EMERGENCY
def test_nobody_gets_into_a_database_that_is_offline(master, instance):
    master.execute("CREATE TABLE App.dbo.T (a int)").ok()
    master.execute("ALTER DATABASE App SET OFFLINE").ok()
    assert master.execute(STATE).rows() == [(6, "OFFLINE", 0)]
    for sql in ("USE App", "SELECT * FROM App.dbo.T", "INSERT App.dbo.T VALUES (1)"):
        error = master.execute(sql).error()
        assert (error.number, error.text) == (
            942,
            "Database 'App' cannot be opened because it is offline.",
        ), sql
    master.execute("ALTER DATABASE App SET ONLINE").ok()
    assert master.execute(STATE).rows() == [(0, "ONLINE", 0)]
    assert master.execute("USE App; SELECT * FROM dbo.T").rows() == []


def test_no_catch_block_sees_942_and_the_transaction_is_rolled_back(master):
    master.execute("ALTER DATABASE App SET OFFLINE").ok()
    answer = master.execute(
        "BEGIN TRAN; BEGIN TRY SELECT * FROM App.dbo.T END TRY BEGIN CATCH SELECT 1 END CATCH"
    )
    assert (numbers(answer), answer.result_sets) == ([942], [])
    assert master.execute("SELECT @@TRANCOUNT").rows() == [(0,)]


def test_who_takes_its_own_database_offline_is_in_master(instance):
    session = instance.connect("App")
    answer = session.execute("ALTER DATABASE App SET OFFLINE; SELECT DB_NAME()").ok()
    assert answer.rows() == [("master",)]
    assert [m.number for m in answer.messages] == [5068]


def test_an_emergency_lets_readers_in_and_no_writer(master, instance):
    session = instance.connect("App")
    session.execute("CREATE TABLE dbo.T (a int); INSERT dbo.T VALUES (1)").ok()
    master.execute("ALTER DATABASE App SET EMERGENCY").ok()
    assert session.execute("SELECT a FROM dbo.T").rows() == [(1,)]
    answer = session.execute("BEGIN TRAN; INSERT dbo.T VALUES (2)")
    assert answer.error().number == 3908
    assert session.execute("SELECT @@TRANCOUNT, XACT_STATE()").rows() == [(1, 1)]
    assert master.execute(UPDATEABILITY).rows() == [("READ_ONLY",)]
    assert master.execute(STATE).rows() == [(5, "EMERGENCY", 0)]


def test_a_read_only_database_says_so(master):
    master.execute("ALTER DATABASE App SET READ_ONLY").ok()
    assert master.execute(UPDATEABILITY).rows() == [("READ_ONLY",)]
    assert master.execute(STATE).rows() == [(0, "ONLINE", 1)]


# ---------------------------------------------------------------------- availability groups
def test_a_database_in_no_group_is_nobodys_replica(master):
    assert master.execute(
        "SELECT replica_id, group_database_id, sys.fn_hadr_is_primary_replica(name), "
        "CONVERT(int, SERVERPROPERTY('IsHadrEnabled')) FROM sys.databases WHERE name = N'App'"
    ).rows() == [(None, None, None, 0)]


def test_who_is_the_primary_is_told_to_whoever_may_view_the_server_s_state(master):
    master.execute(
        "CREATE LOGIN dev WITH PASSWORD = N'Some-Word-1'; EXECUTE AS LOGIN = N'dev'"
    ).ok()
    asked = "SELECT sys.fn_hadr_is_primary_replica(N'App')"
    assert numbers(master.execute(asked)) == [300, 297]
    master.execute("REVERT; GRANT VIEW SERVER STATE TO dev; EXECUTE AS LOGIN = N'dev'").ok()
    assert master.execute(asked).rows() == [(None,)]


@pytest.mark.parametrize("option", ["ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER"])
def test_a_group_forbids_to_turn_the_broker_on_or_off(master, app, option):
    replicas.join_group(app)
    answer = master.execute(f"ALTER DATABASE App SET {option}")
    assert numbers(answer) == [1468, 5069]
    assert '"App" because it is involved in a database mirroring' in answer.errors[0].text
    replicas.leave_group(app)
    master.execute(f"ALTER DATABASE App SET {option}").ok()


def test_rollback_immediate_has_ended_the_others_when_1468_comes(master, app, instance):
    other = instance.connect("App")
    replicas.join_group(app)
    answer = master.execute("ALTER DATABASE App SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE")
    assert numbers(answer) == [1468, 5069]
    assert other.id not in instance.sessions


def test_a_primary_is_written_to_and_a_secondary_is_only_read(instance, app):
    session = instance.connect("App")
    session.execute("CREATE TABLE dbo.T (a int); INSERT dbo.T VALUES (1)").ok()
    replicas.join_group(app)
    session.execute("INSERT dbo.T VALUES (2)").ok()
    replicas.fail_over(app)
    assert session.execute("INSERT dbo.T VALUES (3)").error().number == 3906
    assert session.execute("CREATE TABLE dbo.U (a int)").error().number == 3906
    assert session.execute("SELECT COUNT(*) FROM dbo.T").rows() == [(2,)]
    assert session.execute(STATE).rows() == [(0, "ONLINE", 0)]
    assert session.execute(UPDATEABILITY).rows() == [("READ_ONLY",)]
    assert session.execute("SELECT sys.fn_hadr_is_primary_replica(N'App')").rows() == [(0,)]
    replicas.fail_over(app)
    session.execute("INSERT dbo.T VALUES (3)").ok()


def test_the_broker_of_a_secondary_rests(instance, app):
    replicas.join_group(app)
    assert app.broker.awake
    replicas.fail_over(app)
    assert not app.broker.awake


def test_a_secondary_that_is_not_readable_lets_nobody_in(master, app):
    replicas.join_group(app, primary=False, readable=False)
    assert master.execute("USE App").error().number == 976


def test_who_is_in_no_group_cannot_fail_over(app):
    with pytest.raises(ValueError, match="App"):
        replicas.fail_over(app)


# ---------------------------------------------------------------------- the owner
OWNER = "SELECT owner_sid, SUSER_SNAME(owner_sid) FROM sys.databases WHERE name = N'App'"


def test_an_owner_of_another_server_has_a_sid_and_no_name(master, app):
    assert master.execute(OWNER).rows() == [(b"\x01", "sa")]
    replicas.lose_owner(app)
    assert master.execute(OWNER).rows() == [(replicas.STRANGER, None)]
    replicas.lose_owner(app, None)
    assert master.execute(OWNER).rows() == [(None, None)]
    master.execute("ALTER AUTHORIZATION ON DATABASE::App TO sa").ok()
    assert master.execute(OWNER).rows() == [(b"\x01", "sa")]


def test_without_an_owner_nothing_runs_as_dbo(instance, app):
    session = instance.connect("App")
    session.execute("CREATE PROCEDURE dbo.P WITH EXECUTE AS OWNER AS SELECT 1").ok()
    session.execute("EXEC dbo.P").ok()
    replicas.lose_owner(app)
    assert session.execute("EXEC dbo.P").error().number == 15517
