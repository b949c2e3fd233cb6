"""Ownership chains: what a module's owner lends to its callers ("Ownership chains" page)."""

import pytest


@pytest.fixture
def bobs(admin):
    """A schema of bob's with a table."""
    admin("CREATE SCHEMA b AUTHORIZATION bob")
    admin("CREATE TABLE b.T (a int); INSERT b.T VALUES (2)")


def test_a_chain_goes_through_procedures_views_and_functions_of_one_owner(admin, login, error):
    admin("CREATE VIEW dbo.V AS SELECT a FROM dbo.T")
    admin("CREATE FUNCTION dbo.F() RETURNS int AS BEGIN RETURN (SELECT MAX(a) FROM dbo.T) END")
    admin("CREATE PROCEDURE dbo.Inner_ AS SELECT a FROM dbo.V; SELECT dbo.F()")
    admin("CREATE PROCEDURE dbo.Outer_ AS EXEC dbo.Inner_")
    admin("GRANT EXECUTE ON dbo.Outer_ TO alice")
    alice = login("alice")
    answer = alice.execute("EXEC dbo.Outer_")
    assert not answer.errors and answer.rows(0) == [(1,)] and answer.one(1) == 1
    for text in ("EXEC dbo.Inner_", "SELECT a FROM dbo.V", "SELECT dbo.F()"):
        assert error(alice, text) == 229


def test_a_denial_does_not_reach_into_a_chain(admin, login):
    admin("GRANT EXECUTE ON dbo.usp_Read TO alice; DENY SELECT ON dbo.T TO alice")
    assert login("alice").execute("EXEC dbo.usp_Read").rows() == [(1,)]


def test_the_chain_covers_data_and_execution_but_no_definition(admin, login, error):
    admin(
        "CREATE PROCEDURE dbo.Change AS INSERT dbo.T VALUES (5); UPDATE dbo.T SET a = 6 WHERE "
        "a = 5; DELETE dbo.T WHERE a = 6"
    )
    admin("CREATE PROCEDURE dbo.Define AS TRUNCATE TABLE dbo.T")
    admin("GRANT EXECUTE ON dbo.Change TO alice; GRANT EXECUTE ON dbo.Define TO alice")
    alice = login("alice")
    assert error(alice, "EXEC dbo.Change") is None
    assert error(alice, "EXEC dbo.Define") is not None


def test_a_trigger_chains_from_its_tables_owner(admin, login, bobs, error):
    admin("CREATE TABLE dbo.Log_ (a int)")
    admin("CREATE TRIGGER dbo.TR ON dbo.T AFTER INSERT AS INSERT dbo.Log_ SELECT a FROM inserted")
    admin("GRANT INSERT ON dbo.T TO alice")
    assert error(login("alice"), "INSERT dbo.T VALUES (9)") is None
    admin("ALTER AUTHORIZATION ON dbo.Log_ TO bob")
    assert error(login("alice"), "INSERT dbo.T VALUES (10)") == 229


def test_a_link_of_another_owner_is_checked_and_a_new_chain_begins(admin, login, bobs, error):
    admin("CREATE PROCEDURE b.Read_ AS SELECT a FROM b.T")
    admin("CREATE PROCEDURE dbo.CallsBob AS EXEC b.Read_")
    admin("GRANT EXECUTE ON dbo.CallsBob TO alice")
    alice = login("alice")
    assert error(alice, "EXEC dbo.CallsBob") == 229
    admin("GRANT EXECUTE ON b.Read_ TO alice")
    assert alice.execute("EXEC dbo.CallsBob").rows() == [(2,)]


def test_an_objects_own_owner_counts_before_its_schemas(admin, login, bobs, error):
    admin("CREATE PROCEDURE dbo.ReadsBob AS SELECT a FROM b.T")
    admin("GRANT EXECUTE ON dbo.ReadsBob TO alice")
    assert error(login("alice"), "EXEC dbo.ReadsBob") == 229
    admin("ALTER AUTHORIZATION ON b.T TO dbo")
    assert login("alice").execute("EXEC dbo.ReadsBob").rows() == [(2,)]


def test_dynamic_text_has_the_callers_rights_however_deep(admin, login, error):
    admin("CREATE PROCEDURE dbo.Dyn AS EXEC sp_executesql N'SELECT a FROM dbo.T'")
    admin("GRANT EXECUTE ON dbo.Dyn TO alice")
    assert error(login("alice"), "EXEC dbo.Dyn") == 229


# ---------------------------------------------------------------------- between databases
@pytest.fixture
def other(instance):
    """A second database of the same owner, where alice is a user without rights."""
    s = instance.connect("master")
    s.execute("CREATE DATABASE Other")
    s.execute("USE Other; CREATE TABLE dbo.O (a int); INSERT dbo.O VALUES (7); CREATE USER alice")
    return s


def test_a_chain_crosses_databases_only_when_both_have_db_chaining(
    instance, admin, login, other, error
):
    admin("CREATE PROCEDURE dbo.Cross_ AS SELECT a FROM Other.dbo.O")
    admin("GRANT EXECUTE ON dbo.Cross_ TO alice")
    alice = login("alice")
    assert error(alice, "EXEC dbo.Cross_") == 229
    admin("ALTER DATABASE App SET DB_CHAINING ON")
    assert error(alice, "EXEC dbo.Cross_") == 229
    admin("ALTER DATABASE Other SET DB_CHAINING ON")
    assert alice.execute("EXEC dbo.Cross_").rows() == [(7,)]
    assert admin("SELECT is_db_chaining_on FROM sys.databases WHERE name = 'Other'").one() == 1


def test_it_takes_one_owner_and_a_user_over_there(instance, admin, login, other, error):
    admin("CREATE PROCEDURE dbo.Cross_ AS SELECT a FROM Other.dbo.O")
    admin(
        "GRANT EXECUTE ON dbo.Cross_ TO alice; GRANT EXECUTE ON dbo.Cross_ TO bob; "
        "ALTER DATABASE App SET DB_CHAINING ON; ALTER DATABASE Other SET DB_CHAINING ON"
    )
    assert error(login("bob"), "EXEC dbo.Cross_") == 916
    admin(
        "CREATE LOGIN carol WITH PASSWORD = 'Strong-Word-1'; "
        "ALTER AUTHORIZATION ON DATABASE::Other TO carol"
    )
    assert error(login("alice"), "EXEC dbo.Cross_") == 229


def test_a_procedure_of_another_database_runs_as_the_callers_user_there(
    instance, admin, login, other, error
):
    other.execute("CREATE PROCEDURE dbo.Here_ AS SELECT DB_NAME(), USER_NAME(), a FROM dbo.O")
    assert error(login("alice"), "EXEC Other.dbo.Here_") == 229
    other.execute("GRANT EXECUTE ON dbo.Here_ TO alice")
    assert login("alice").execute("EXEC Other.dbo.Here_").rows() == [("Other", "alice", 7)]
    assert login("alice").execute("EXEC Other.dbo.Here_; SELECT DB_NAME(), USER_NAME()").rows(
        1
    ) == [("App", "alice")]
    assert error(login("bob"), "EXEC Other.dbo.Here_") == 916


# ---------------------------------------------------------------------- Service Broker's verbs
@pytest.mark.parametrize(("chained", "expected"), [(True, None), (False, 229)])
def test_whether_the_chain_covers_broker_verbs_is_a_switch(chained, expected):
    from redial_broker.instance.instance import Instance

    made = Instance(seed=3, switches={"ownership_chain_over_broker_verbs": chained})
    s = made.connect()
    s.execute("CREATE DATABASE D")
    for text in (
        "USE D; CREATE USER u WITHOUT LOGIN; CREATE QUEUE dbo.q",
        "CREATE PROCEDURE dbo.Take AS RECEIVE TOP (1) * FROM dbo.q",
        "GRANT EXECUTE ON dbo.Take TO u",
    ):
        assert not s.execute(text).errors
    found = s.execute("EXECUTE AS USER = 'u'; EXEC dbo.Take").error()
    assert (found.number if found else None) == expected


def test_what_the_broker_verbs_ask_for(admin, login, error):
    admin(
        "CREATE QUEUE dbo.q; CREATE MESSAGE TYPE m; CREATE CONTRACT c (m SENT BY ANY); "
        "CREATE SERVICE a ON QUEUE dbo.q (c); CREATE SERVICE b ON QUEUE dbo.q (c)"
    )
    alice = login("alice")
    begin = (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b' "
        "ON CONTRACT c WITH ENCRYPTION = OFF; "
    )
    assert error(alice, begin) == 229  # RECEIVE on the queue (BEGIN DIALOG page)
    admin("GRANT RECEIVE ON dbo.q TO alice")
    assert error(alice, begin) == 15151  # REFERENCES on the contract
    admin("GRANT REFERENCES ON CONTRACT::c TO alice")
    assert error(alice, begin + "SEND ON CONVERSATION @h MESSAGE TYPE m (0x01)") is None
    assert error(alice, begin + "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 60") == 229
    admin("GRANT SEND ON SERVICE::a TO alice")
    assert error(alice, begin + "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 60") is None
    assert error(alice, begin + "END CONVERSATION @h") == 229  # owner or db_owner
    admin("GRANT CONTROL ON SERVICE::a TO alice")
    assert error(alice, begin + "END CONVERSATION @h") is None
