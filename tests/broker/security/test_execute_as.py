"""EXECUTE AS as statement and clause, REVERT, and how far an identity reaches."""

import pytest

WHO = "SELECT USER_NAME(), SUSER_SNAME(), ORIGINAL_LOGIN(), SESSION_USER"


def test_contexts_stack_and_revert_goes_back_one_at_a_time(instance):
    s = instance.connect("App")
    s.execute("EXECUTE AS LOGIN = 'alice'")
    assert s.execute(WHO).rows() == [("alice", "alice", "sa", "alice")]
    s.execute("REVERT; EXECUTE AS USER = 'alice'; GRANT IMPERSONATE ON USER::bob TO alice")
    s.execute(
        "REVERT; GRANT IMPERSONATE ON USER::bob TO alice; EXECUTE AS LOGIN = 'alice'; "
        "EXECUTE AS USER = 'bob'"
    )
    assert s.execute(WHO).rows() == [("bob", "bob", "sa", "bob")]
    assert s.execute(f"REVERT; {WHO}").rows() == [("alice", "alice", "sa", "alice")]
    assert s.execute(f"REVERT; {WHO}").rows() == [("dbo", "sa", "sa", "dbo")]
    assert not s.execute("REVERT").errors


def test_a_context_set_by_a_batch_outlives_it_and_an_error(instance):
    s = instance.connect("App")
    s.execute("EXECUTE AS USER = 'alice'")
    assert s.execute("SELECT * FROM dbo.T").error().number == 229
    assert s.execute("SELECT USER_NAME()").one() == "alice"


def test_a_context_set_in_a_module_ends_with_it(admin, instance):
    admin("CREATE PROCEDURE dbo.Switch AS EXECUTE AS USER = 'alice'; SELECT USER_NAME()")
    s = instance.connect("App")
    answer = s.execute(
        "EXEC dbo.Switch; SELECT USER_NAME(); EXEC('EXECUTE AS USER = ''bob'''); SELECT USER_NAME()"
    )
    assert [answer.one(i) for i in range(3)] == ["alice", "dbo", "dbo"]


def test_revert_in_a_module_leaves_what_its_caller_has_set(admin, instance):
    admin("CREATE PROCEDURE dbo.Back AS REVERT; SELECT USER_NAME()")
    admin("GRANT EXECUTE ON dbo.Back TO alice")
    answer = instance.connect("App").execute(
        "EXECUTE AS USER = 'alice'; EXEC dbo.Back; REVERT; SELECT USER_NAME()"
    )
    assert [answer.one(i) for i in range(2)] == ["alice", "dbo"]


def test_no_revert_stays_and_ends_the_batch_that_tries(instance):
    s = instance.connect("App")
    s.execute("EXECUTE AS USER = 'alice' WITH NO REVERT")
    answer = s.execute("REVERT; SELECT 1")
    assert answer.error().number == 15196 and not answer.result_sets
    assert s.execute("SELECT USER_NAME()").one() == "alice"


def test_a_cookie_opens_what_it_closed(instance):
    s = instance.connect("App")
    cookie = s.execute(
        "DECLARE @c varbinary(8000); EXECUTE AS USER = 'alice' WITH COOKIE INTO @c; SELECT @c"
    ).one()
    assert len(cookie) == 100
    assert s.execute("REVERT").error().number == 15591
    assert (
        s.execute("DECLARE @c varbinary(100) = 0x01; REVERT WITH COOKIE = @c").error().number
        == 15591
    )
    assert (
        s.execute(
            f"DECLARE @c varbinary(100) = 0x{cookie.hex()}; REVERT WITH COOKIE = @c; "
            "SELECT USER_NAME()"
        ).one()
        == "dbo"
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("EXEC('EXECUTE AS USER = ''alice'' WITH NO REVERT')", 15590),
        ("DECLARE @c int; EXECUTE AS USER = 'alice' WITH COOKIE INTO @c", 15533),
        ("EXECUTE AS USER = 'nobody'", 15517),
        ("EXECUTE AS USER = 'sender'", 15517),
        ("EXECUTE AS USER = 'sys'", 15517),
        ("EXECUTE AS LOGIN = 'nobody'", 15406),
        ("EXECUTE AS LOGIN = 'sysadmin'", 15406),
    ],
)
def test_whom_nobody_can_be(instance, error, text, number):
    assert error(instance.connect("App"), text) == number


def test_a_login_without_a_user_cannot_be_here(instance, error):
    sa = instance.connect("App")
    sa.execute("CREATE LOGIN carol WITH PASSWORD = 'Strong-Word-1'")
    assert error(sa, "EXECUTE AS LOGIN = 'carol'") == 916


def test_impersonating_a_login_takes_permission_on_it(instance, login, error):
    alice = login("alice")
    assert error(alice, "EXECUTE AS LOGIN = 'bob'") == 15406
    master = instance.connect("master")
    master.execute("GRANT IMPERSONATE ON LOGIN::bob TO alice")
    assert alice.execute("EXECUTE AS LOGIN = 'bob'; SELECT USER_NAME(); REVERT").one() == "bob"
    master.execute(
        "REVOKE IMPERSONATE ON LOGIN::bob FROM alice; GRANT IMPERSONATE ANY LOGIN TO alice"
    )
    assert error(alice, "EXECUTE AS LOGIN = 'bob'; REVERT") is None
    master.execute(
        "REVOKE IMPERSONATE ANY LOGIN FROM alice; GRANT CONTROL SERVER TO alice; "
        "DENY IMPERSONATE ANY LOGIN TO alice"
    )
    assert error(alice, "EXECUTE AS LOGIN = 'bob'") == 15406


def test_execute_string_as_somebody(admin, login, error):
    assert admin("EXEC ('SELECT USER_NAME()') AS USER = 'alice'").one() == "alice"
    assert admin("EXEC ('SELECT SUSER_SNAME()') AS LOGIN = 'bob'").one() == "bob"
    assert error(login("alice"), "EXEC ('SELECT 1') AS USER = 'bob'") == 15517


def test_a_user_without_login_has_a_written_sid_for_a_name(admin):
    admin("CREATE USER nologin WITHOUT LOGIN")
    name = admin("EXECUTE AS USER = 'nologin'; SELECT SUSER_SNAME(); REVERT").one()
    assert name.startswith("S-1-9-3-") and len(name.split("-")) == 8


# ---------------------------------------------------------------------- clauses of modules
def test_modules_run_as_caller_self_owner_or_a_user(admin, login):
    admin("CREATE PROCEDURE dbo.AsCaller WITH EXECUTE AS CALLER AS SELECT USER_NAME()")
    admin("CREATE PROCEDURE dbo.AsOwner WITH EXECUTE AS OWNER AS SELECT USER_NAME()")
    admin("CREATE PROCEDURE dbo.AsSelf WITH EXECUTE AS SELF AS SELECT USER_NAME()")
    admin(
        "CREATE PROCEDURE dbo.AsBob WITH EXECUTE AS 'bob' AS SELECT USER_NAME(); "
        "EXECUTE AS CALLER; SELECT USER_NAME(); REVERT; SELECT USER_NAME()"
    )
    admin("GRANT EXECUTE TO alice")
    alice = login("alice")
    for name, expected in (("AsCaller", "alice"), ("AsOwner", "dbo"), ("AsSelf", "dbo")):
        assert alice.execute(f"EXEC dbo.{name}").one() == expected
    answer = alice.execute("EXEC dbo.AsBob")
    assert [answer.one(i) for i in range(3)] == ["bob", "alice", "bob"]


def test_functions_and_triggers_run_as_their_clause_says(admin, login):
    admin(
        "CREATE FUNCTION dbo.F() RETURNS sysname WITH EXECUTE AS 'bob' AS "
        "BEGIN RETURN USER_NAME() END"
    )
    admin("CREATE TABLE dbo.Seen (who sysname)")
    admin(
        "CREATE TRIGGER dbo.TR ON dbo.T WITH EXECUTE AS 'bob' AFTER INSERT AS "
        "INSERT dbo.Seen VALUES (USER_NAME())"
    )
    admin("GRANT EXECUTE ON dbo.F TO alice; GRANT INSERT ON dbo.T TO alice")
    alice = login("alice")
    assert alice.execute("SELECT dbo.F(), USER_NAME()").rows() == [("bob", "alice")]
    alice.execute("INSERT dbo.T VALUES (77)")
    assert admin("SELECT who FROM dbo.Seen").rows() == [("bob",)]


def test_a_module_whose_principal_is_gone_or_orphaned_does_not_run(instance, admin, error):
    admin("CREATE PROCEDURE dbo.AsBob WITH EXECUTE AS 'bob' AS SELECT 1")
    sa = instance.connect("App")
    assert error(sa, "DROP USER bob") == 15136
    instance.connect("master").execute("DROP LOGIN bob")
    assert error(sa, "EXEC dbo.AsBob") == 15517


# ---------------------------------------------------------------------- the fence around a user
@pytest.fixture
def other(instance):
    """A second database of sa's with a table alice may read."""
    s = instance.connect("master")
    s.execute("CREATE DATABASE Other")
    s.execute(
        "USE Other; CREATE TABLE dbo.O (a int); INSERT dbo.O VALUES (7); CREATE USER alice; "
        "GRANT SELECT ON dbo.O TO alice"
    )
    return s


READ = "SELECT a FROM Other.dbo.O"


def test_a_user_is_nobody_outside_its_database(instance, other, error):
    s = instance.connect("App")
    assert s.execute(f"EXECUTE AS LOGIN = 'alice'; {READ}; REVERT").rows() == [(7,)]
    s.execute("EXECUTE AS USER = 'alice'")
    answer = s.execute(READ)
    assert answer.error().text == (
        'The server principal "alice" is not able to access the '
        'database "Other" under the current security context.'
    )
    assert error(s, "USE Other") == 916
    assert error(s, "EXEC Other.sys.sp_executesql N'SELECT 1'") == 916
    assert error(s, "SELECT COUNT(*) FROM sys.dm_tran_locks") == 300


def test_dynamic_text_runs_in_the_database_named_before_it(instance, other):
    """F-181: and the session is back where it was, whatever happens there."""
    s = instance.connect("App")
    answer = s.execute(
        "DECLARE @n int; EXEC Other.sys.sp_executesql N'SELECT @n = MAX(a) FROM "
        "dbo.O; SELECT DB_NAME()', N'@n int OUTPUT', @n OUTPUT; "
        "SELECT @n, DB_NAME()"
    )
    assert answer.rows() == [("Other",)] and answer.rows(1) == [(7, "App")]
    assert s.execute("EXEC Other.sys.sp_executesql N'SELECT * FROM dbo.none'").error().number == 208
    assert s.execute("EXEC Other.sys.sp_executesql N'SELEKT'").error() is not None
    assert s.execute("SELECT DB_NAME(), a FROM dbo.T").rows() == [("App", 1)]


def test_even_dbo_is_fenced_in_by_a_module(instance, other, admin):
    admin(f"CREATE PROCEDURE dbo.Out WITH EXECUTE AS OWNER AS {READ}")
    s = instance.connect("App")
    assert s.execute("EXEC dbo.Out").error().number == 916
    admin("ALTER DATABASE App SET TRUSTWORTHY ON")
    assert s.execute("EXEC dbo.Out").rows() == [(7,)]


def test_trustworthy_helps_only_an_owner_the_other_database_trusts(instance, other, admin, login):
    admin("ALTER DATABASE App SET TRUSTWORTHY ON; ALTER AUTHORIZATION ON DATABASE::Other TO sa")
    s = instance.connect("App")
    assert s.execute(f"EXECUTE AS USER = 'alice'; {READ}; REVERT").rows() == [(7,)]
    # The authenticator is App's owner: once that is carol, Other has to trust her.
    s.execute(
        "CREATE LOGIN carol WITH PASSWORD = 'Strong-Word-1'; "
        "ALTER AUTHORIZATION ON DATABASE::App TO carol"
    )
    assert s.execute(f"EXECUTE AS USER = 'alice'; {READ}").error().number == 916
    s.execute("REVERT")
    other.execute("USE Other; CREATE USER carol; GRANT AUTHENTICATE TO carol")
    assert s.execute(f"EXECUTE AS USER = 'alice'; {READ}; REVERT").rows() == [(7,)]


def test_server_rights_come_back_through_a_trusted_owner(instance, admin, error):
    instance.connect("master").execute("GRANT VIEW SERVER STATE TO alice")
    s = instance.connect("App")
    assert error(s, "EXECUTE AS USER = 'alice'; SELECT COUNT(*) FROM sys.dm_tran_locks") == 300
    s.execute("REVERT; ALTER DATABASE App SET TRUSTWORTHY ON; EXECUTE AS USER = 'alice'")
    assert error(s, "SELECT COUNT(*) FROM sys.dm_tran_locks") is None


def test_revert_wants_the_database_of_its_execute_as(instance, other):
    s = instance.connect("App")
    s.execute("EXECUTE AS LOGIN = 'alice'; USE Other")
    assert s.execute("REVERT").error().number == 15199
    assert s.execute("USE App; REVERT; SELECT USER_NAME()").one() == "dbo"


def test_being_dbo_here_is_nothing_there(instance, other):
    s = instance.connect("master")
    s.execute(
        "CREATE LOGIN carol WITH PASSWORD = 'Strong-Word-1', CHECK_POLICY = OFF; "
        "ALTER AUTHORIZATION ON DATABASE::App TO carol"
    )
    from redial_broker.instance.results import Collector

    carol = instance.login("carol", "Strong-Word-1", "App")
    carol.sink = Collector()
    assert carol.execute("SELECT USER_NAME()").one() == "dbo"
    assert carol.execute(READ).error().number == 916
