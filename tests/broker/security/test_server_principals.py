"""Logins, server roles and server permissions (CREATE LOGIN, ALTER SERVER ROLE, GRANT Server)."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.instance.results import Collector


@pytest.fixture
def master(instance):
    """master(sql) -> collector, as sa in master."""
    session = instance.connect("master")

    def run(sql):
        answer = session.execute(sql)
        assert not answer.errors, answer.errors
        return answer

    return run


@pytest.mark.parametrize(
    ("role", "text", "number"),
    [
        ("securityadmin", "CREATE LOGIN n WITH PASSWORD = 'Strong-Word-1'", None),
        ("securityadmin", "CREATE DATABASE N", 262),
        ("dbcreator", "CREATE DATABASE N", None),
        ("serveradmin", "SELECT COUNT(*) FROM sys.dm_tran_locks", None),
        ("processadmin", "SELECT COUNT(*) FROM sys.dm_tran_locks", None),
        ("setupadmin", "SELECT COUNT(*) FROM sys.dm_tran_locks", 300),
        ("bulkadmin", "CREATE SERVER ROLE n", 15247),
        ("sysadmin", "CREATE SERVER ROLE n", None),
    ],
)
def test_fixed_server_roles_may_what_their_page_says(master, login, error, role, text, number):
    master(f"ALTER SERVER ROLE {role} ADD MEMBER alice")
    assert error(login("alice", "master"), text) == number


def test_a_member_of_sysadmin_is_dbo_everywhere(master, login):
    master("ALTER SERVER ROLE sysadmin ADD MEMBER bob")
    bob = login("bob")
    assert bob.execute("SELECT USER_NAME(), IS_SRVROLEMEMBER('sysadmin')").rows() == [("dbo", 1)]
    master("ALTER SERVER ROLE sysadmin DROP MEMBER bob")
    assert login("bob").execute("SELECT USER_NAME()").one() == "bob"


def test_server_roles_of_ones_own_nest_and_carry_permissions(master, login, error):
    master(
        "CREATE SERVER ROLE watchers; CREATE SERVER ROLE all_watchers; "
        "ALTER SERVER ROLE all_watchers ADD MEMBER watchers; "
        "ALTER SERVER ROLE watchers ADD MEMBER alice; GRANT VIEW SERVER STATE TO all_watchers"
    )
    alice = login("alice")
    assert error(alice, "SELECT COUNT(*) FROM sys.dm_tran_locks") is None
    assert alice.execute("SELECT IS_SRVROLEMEMBER('all_watchers')").one() == 1
    master("DENY VIEW SERVER STATE TO alice")
    assert error(alice, "SELECT COUNT(*) FROM sys.dm_tran_locks") == 300
    assert (
        master(
            "SELECT COUNT(*) FROM sys.server_role_members AS m JOIN sys.server_principals "
            "AS r ON r.principal_id = m.role_principal_id WHERE r.is_fixed_role = 0"
        ).one()
        == 2
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ALTER SERVER ROLE nobody ADD MEMBER alice", 15151),
        ("ALTER SERVER ROLE sysadmin ADD MEMBER nobody", 15151),
        ("ALTER SERVER ROLE sysadmin DROP MEMBER sa", 15405),
        ("DROP SERVER ROLE sysadmin", 15150),
        ("DROP SERVER ROLE nobody", 15151),
        ("GRANT CONTROL SERVER TO sysadmin", 4617),
        ("GRANT VIEW SERVER STATE TO sa", 4624),
        ("GRANT VIEW SERVER STATE TO nobody", 15151),
        ("GRANT IMPERSONATE ON LOGIN::nobody TO alice", 15151),
        ("CREATE LOGIN weak WITH PASSWORD = 'short'", 15116),
        ("CREATE LOGIN weak WITH PASSWORD = 'onlyletters'", 15118),
        ("CREATE LOGIN weakling WITH PASSWORD = 'Weakling-1'", 15118),
        ("CREATE LOGIN weak WITH PASSWORD = 'x', CHECK_POLICY = OFF", None),
        ("CREATE LOGIN weak WITH PASSWORD = 'Strong-Word-1' MUST_CHANGE", 60001),
        ("CREATE LOGIN weak WITH PASSWORD = 'Strong-Word-1', CHECK_EXPIRATION = ON", 60001),
        ("CREATE LOGIN weak FROM EXTERNAL PROVIDER", 60001),
        ("CREATE LOGIN k FROM CERTIFICATE nothere", 15151),
    ],
)
def test_what_is_wrong_with_logins_and_roles(instance, error, text, number):
    assert error(instance.connect("master"), text) == number


def test_server_permissions_are_given_in_master_alone(instance, error):
    assert error(instance.connect("App"), "GRANT CONTROL SERVER TO alice") == 4621


def test_control_server_covers_databases_but_names_no_user(master, instance, error, login):
    master("CREATE LOGIN carol WITH PASSWORD = 'c-Secret-1', CHECK_POLICY = OFF")
    with pytest.raises(SqlError):
        login("carol")
    master("GRANT CONTROL SERVER TO carol")
    carol = login("carol")
    assert error(carol, "SELECT * FROM dbo.T") is None
    assert carol.execute("SELECT USER_NAME()").one() == "guest"


def test_connect_any_database_lets_in_and_nothing_more(master, login, error):
    master(
        "CREATE LOGIN carol WITH PASSWORD = 'c-Secret-1', CHECK_POLICY = OFF; "
        "GRANT CONNECT ANY DATABASE TO carol"
    )
    carol = login("carol")
    assert error(carol, "SELECT * FROM dbo.T") == 229
    master("GRANT SELECT ALL USER SECURABLES TO carol")
    assert error(carol, "SELECT * FROM dbo.T") is None
    assert error(carol, "INSERT dbo.T VALUES (9)") == 229


def test_a_login_keeps_its_users_when_it_is_renamed(master, login, instance):
    master("ALTER LOGIN alice WITH NAME = alicia")
    session = instance.login("alicia", "a-Secret-1", "App")
    session.sink = Collector()
    assert session.execute("SELECT USER_NAME(), SUSER_SNAME()").rows() == [("alice", "alicia")]


def test_a_dropped_login_leaves_an_orphan(master, admin, instance, error):
    master("DROP LOGIN alice; CREATE LOGIN alice WITH PASSWORD = 'a-Secret-1', CHECK_POLICY = OFF")
    with pytest.raises(SqlError) as refused:
        instance.login("alice", "a-Secret-1", "App")
    assert refused.value.number == 4060
    assert error(instance.connect("App"), "EXECUTE AS USER = 'alice'") == 15517
    admin("ALTER USER alice WITH LOGIN = alice")
    assert instance.login("alice", "a-Secret-1", "App").user.name == "alice"


def test_a_login_changes_its_own_password_and_no_other(login, error, instance):
    alice = login("alice", "master")
    assert (
        error(alice, "ALTER LOGIN alice WITH PASSWORD = 'New-Word-12' OLD_PASSWORD = 'a-Secret-1'")
        is None
    )
    assert error(alice, "ALTER LOGIN bob WITH PASSWORD = 'New-Word-12'") == 15151
    assert instance.login("alice", "New-Word-12", "App")


def test_unlock_is_accepted_and_disable_keeps_out(master, instance):
    master("ALTER LOGIN alice WITH PASSWORD = 'New-Word-12' UNLOCK; ALTER LOGIN alice DISABLE")
    with pytest.raises(SqlError):
        instance.login("alice", "New-Word-12", "App")
    master("ALTER LOGIN alice ENABLE")
    assert instance.login("alice", "New-Word-12", "App")


def test_guest_enters_where_it_may_connect(master, admin, login, instance):
    master("CREATE LOGIN carol WITH PASSWORD = 'c-Secret-1', CHECK_POLICY = OFF")
    with pytest.raises(SqlError):
        login("carol")
    admin("GRANT CONNECT TO guest")
    assert login("carol").execute("SELECT USER_NAME()").one() == "guest"


def test_the_catalog_shows_server_permissions_and_principals(master, login):
    master("GRANT VIEW SERVER STATE TO alice WITH GRANT OPTION")
    rows = master(
        "SELECT permission_name, state_desc, type FROM sys.server_permissions WHERE "
        "grantee_principal_id = SUSER_ID('alice') ORDER BY 1"
    ).rows()
    assert rows == [
        ("CONNECT SQL", "GRANT", "COSQ"),
        ("VIEW SERVER STATE", "GRANT_WITH_GRANT_OPTION", "VWSS"),
    ]
    alice = login("alice")
    names = {n for (n,) in alice.execute("SELECT name FROM sys.server_principals").rows()}
    assert {"alice", "sa", "sysadmin"} <= names and "bob" not in names
    assert alice.execute("SELECT name, type FROM sys.login_token ORDER BY name").rows() == [
        ("alice", "SQL LOGIN"),
        ("public", "SERVER ROLE"),
    ]


def test_a_rollback_takes_server_changes_back(master, login, error):
    master("BEGIN TRAN; GRANT VIEW SERVER STATE TO alice; CREATE SERVER ROLE r; ROLLBACK")
    assert error(login("alice"), "SELECT COUNT(*) FROM sys.dm_tran_locks") == 300
    assert master("SELECT COUNT(*) FROM sys.server_principals WHERE name = 'r'").one() == 0


def test_a_login_denied_connect_sql_does_not_get_in(master, instance):
    master("DENY CONNECT SQL TO alice")
    with pytest.raises(SqlError) as refused:
        instance.login("alice", "a-Secret-1", "App")
    assert refused.value.number == 18456


def test_kill_takes_alter_any_connection(master, login, error, instance):
    victim, alice = login("bob"), login("alice")
    assert error(alice, f"KILL {victim.id}") == 6102
    master("GRANT ALTER ANY CONNECTION TO alice")
    assert error(alice, f"KILL {victim.id}") is None
    assert victim.id not in instance.sessions


def test_trust_between_databases_is_given_by_who_controls_the_server(admin, login, instance, error):
    admin("ALTER ROLE db_owner ADD MEMBER alice")
    alice = login("alice")
    assert error(alice, "ALTER DATABASE App SET TRUSTWORTHY ON") == 15247
    assert error(alice, "ALTER DATABASE App SET DB_CHAINING ON") == 15247
    assert error(instance.connect("App"), "ALTER DATABASE tempdb SET TRUSTWORTHY ON") == 15309


def test_a_denied_dmv_says_so_in_two_messages_and_catch_sees_the_second(login):
    alice = login("alice")
    answer = alice.execute("SELECT * FROM sys.dm_tran_locks")
    assert [e.number for e in answer.errors] == [300, 297]
    assert alice.execute(
        "BEGIN TRY SELECT * FROM sys.dm_tran_locks END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER() END CATCH"
    ).rows(-1) == [(297,)]


def test_view_server_performance_state_opens_the_dmvs_too(master, login, error):
    master("GRANT VIEW SERVER PERFORMANCE STATE TO alice")
    assert error(login("alice"), "SELECT * FROM sys.dm_tran_locks") is None


# ---------------------------------------------------------------------- by their old names
def test_old_procedures_run_the_statement_of_today(master, admin, instance, error):
    master(
        "EXEC sp_addlogin 'dave', 'd-Secret-1', 'App'; EXEC sp_defaultdb 'dave', 'master'; "
        "EXEC sp_password NULL, 'd-Secret-2', 'dave'"
    )
    admin(
        "EXEC sp_grantdbaccess 'dave', 'davy'; EXEC sp_addrole 'crew'; "
        "EXEC sp_addrolemember 'crew', 'davy'"
    )
    session = instance.login("dave", "d-Secret-2", "App")
    session.sink = Collector()
    assert session.execute("SELECT USER_NAME(), IS_MEMBER('crew'), SCHEMA_NAME()").rows()[0][
        :2
    ] == ("davy", 1)
    session.close()
    admin(
        "EXEC sp_droprolemember 'crew', 'davy'; EXEC sp_droprole 'crew'; EXEC sp_revokedbaccess "
        "'davy'; EXEC sp_droplogin 'dave'"
    )
    assert error(instance.connect("App"), "EXEC sp_addrole 'sender'") == 15023


def test_sp_changedbowner_and_orphans(master, admin, instance, error):
    master("CREATE LOGIN carol WITH PASSWORD = 'c-Secret-1', CHECK_POLICY = OFF")
    admin("EXEC sp_changedbowner 'carol'")
    assert (
        admin("SELECT SUSER_SNAME(owner_sid) FROM sys.databases WHERE name = 'App'").one()
        == "carol"
    )
    master("DROP LOGIN bob; CREATE LOGIN bob WITH PASSWORD = 'b-Secret-1', CHECK_POLICY = OFF")
    assert [r[0] for r in admin("EXEC sp_change_users_login 'Report'").rows()] == ["bob"]
    admin("EXEC sp_change_users_login 'Auto_Fix', 'bob'")
    assert admin("EXEC sp_change_users_login 'Report'").rows() == []
    sa = instance.connect("App")
    assert error(sa, "EXEC sp_change_users_login 'Nonsense'") == 15286
    assert error(sa, "EXEC sp_setapprole 'x', 'y'") == 60001
