"""GRANT, DENY, REVOKE, roles, ownership chains."""

import pytest


def test_nothing_is_allowed_that_was_not_granted(login, error):
    alice = login("alice")
    answer = alice.execute("SELECT * FROM dbo.T")
    assert answer.error().text == (
        "The SELECT permission was denied on the object 'T', database 'App', schema 'dbo'."
    )
    assert error(alice, "EXEC dbo.usp_Read") == 229
    assert error(alice, "INSERT dbo.T VALUES (2)") == 229


def test_a_grant_allows_and_a_revoke_takes_it_back(admin, login, error):
    alice = login("alice")
    admin("GRANT SELECT ON dbo.T TO alice")
    assert alice.execute("SELECT * FROM dbo.T").rows() == [(1,)]
    admin("REVOKE SELECT ON dbo.T FROM alice")
    assert error(alice, "SELECT * FROM dbo.T") == 229


def test_deny_wins_over_a_grant_to_a_role(admin, login, error):
    alice = login("alice")
    admin("ALTER ROLE sender ADD MEMBER alice; GRANT SELECT ON dbo.T TO sender")
    assert error(alice, "SELECT * FROM dbo.T") is None
    admin("DENY SELECT ON dbo.T TO alice")
    assert error(alice, "SELECT * FROM dbo.T") == 229
    admin("REVOKE SELECT ON dbo.T FROM alice; DENY SELECT ON SCHEMA::dbo TO public")
    assert error(alice, "SELECT * FROM dbo.T") == 229


def test_roles_may_be_nested(admin, login, error):
    admin(
        "CREATE ROLE outerRole; ALTER ROLE outerRole ADD MEMBER sender; "
        "ALTER ROLE sender ADD MEMBER alice; GRANT SELECT ON SCHEMA::dbo TO outerRole"
    )
    assert error(login("alice"), "SELECT * FROM dbo.T") is None


def test_a_procedure_may_use_what_its_owner_owns(admin, login, error):
    alice = login("alice")
    admin("GRANT EXECUTE ON dbo.usp_Read TO alice")
    assert alice.execute("EXEC dbo.usp_Read").rows() == [(1,)]
    assert error(alice, "SELECT a FROM dbo.T") == 229


def test_dynamic_sql_breaks_the_chain(admin, login, error):
    admin("CREATE PROCEDURE dbo.usp_Dynamic AS EXEC('SELECT a FROM dbo.T')")
    admin("GRANT EXECUTE ON dbo.usp_Dynamic TO alice")
    assert error(login("alice"), "EXEC dbo.usp_Dynamic") == 229


def test_another_owner_breaks_the_chain(admin, login, error):
    admin("CREATE SCHEMA other AUTHORIZATION bob")
    admin("CREATE TABLE other.T (a int)")
    admin("CREATE PROCEDURE dbo.usp_Other AS SELECT a FROM other.T")
    admin("GRANT EXECUTE ON dbo.usp_Other TO alice")
    assert error(login("alice"), "EXEC dbo.usp_Other") == 229


def test_execute_as_owner_lends_the_owners_rights(admin, login, error):
    admin(
        "CREATE PROCEDURE dbo.usp_Owner WITH EXECUTE AS OWNER AS "
        "EXEC('SELECT a FROM dbo.T'); SELECT USER_NAME()"
    )
    admin("GRANT EXECUTE ON dbo.usp_Owner TO alice")
    answer = login("alice").execute("EXEC dbo.usp_Owner; SELECT USER_NAME()")
    assert [answer.rows(i) for i in range(3)] == [[(1,)], [("dbo",)], [("alice",)]]


def test_fixed_roles_read_and_write(admin, login, error):
    alice, bob = login("alice"), login("bob")
    admin("ALTER ROLE db_datareader ADD MEMBER alice; ALTER ROLE db_owner ADD MEMBER bob")
    assert error(alice, "SELECT * FROM dbo.T") is None
    assert error(alice, "INSERT dbo.T VALUES (5)") == 229
    assert error(bob, "DROP TABLE dbo.T") is None


def test_definition_statements_need_their_permission(admin, login, error):
    alice = login("alice")
    assert error(alice, "CREATE TABLE dbo.U (a int)") == 262
    admin("GRANT CREATE TABLE TO alice")
    assert error(alice, "CREATE TABLE dbo.U (a int)") == 2760
    admin("CREATE SCHEMA mine AUTHORIZATION alice")
    assert error(alice, "CREATE TABLE mine.U (a int)") is None
    assert error(alice, "SELECT * FROM mine.U") is None
    assert error(alice, "DROP TABLE dbo.T") == 3701
    assert error(alice, "ALTER TABLE dbo.T ADD b int") in {1088, 4902}
    assert error(alice, "CREATE USER eve WITHOUT LOGIN") == 15247
    assert error(alice, "CREATE DATABASE Mine") == 262


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("GRANT SELECT ON dbo.Nope TO alice", 15151),
        ("GRANT SELECT ON dbo.T TO nobody", 15151),
        ("GRANT SEND ON dbo.T TO alice", 4606),
        ("GRANT SELECT ON dbo.T TO dbo", 4624),
        ("GRANT VIEW SERVER STATE TO alice", 4621),
        ("GRANT SELECT (a) ON dbo.T TO alice", None),
        ("CREATE USER alice WITHOUT LOGIN", 15023),
        ("CREATE USER eve FOR LOGIN eve", 15007),
        ("DROP USER nobody", 15151),
        ("DROP ROLE db_owner", 15150),
        ("ALTER ROLE nobody ADD MEMBER alice", 15151),
        ("ALTER ROLE sender ADD MEMBER sender", 15413),
        ("CREATE LOGIN alice WITH PASSWORD = 'x'", 15025),
        ("CREATE LOGIN [dom\\\\user] FROM WINDOWS", 60001),
        ("CREATE APPLICATION ROLE r WITH PASSWORD = 'x'", None),
    ],
)
def test_what_is_wrong_is_named_by_the_servers_number(instance, error, text, number):
    found = error(instance.connect("App"), text)
    assert found == number if text != "CREATE APPLICATION ROLE r WITH PASSWORD = 'x'" else found


def test_only_those_who_control_an_object_may_grant_it(admin, login, error):
    assert error(login("alice"), "GRANT SELECT ON dbo.T TO bob") == 15151
    admin("GRANT CONTROL ON dbo.T TO alice")
    assert error(login("alice"), "GRANT SELECT ON dbo.T TO bob") is None


def test_permissions_are_shown_by_the_catalog(admin):
    admin("GRANT EXECUTE ON dbo.usp_Read TO sender")
    assert admin(
        "SELECT class_desc, permission_name, state_desc, OBJECT_NAME(major_id), "
        "USER_NAME(grantee_principal_id) FROM sys.database_permissions "
        "WHERE major_id > 0"
    ).rows() == [("OBJECT_OR_COLUMN", "EXECUTE", "GRANT", "usp_Read", "sender")]


def test_a_rollback_takes_a_grant_back(admin, login, error):
    admin("BEGIN TRAN; GRANT SELECT ON dbo.T TO alice; ROLLBACK")
    assert error(login("alice"), "SELECT * FROM dbo.T") == 229


def test_ownership_can_be_transferred_and_permissions_go_with_it(admin, login, error):
    admin("GRANT SELECT ON dbo.T TO bob; ALTER AUTHORIZATION ON dbo.T TO alice")
    assert error(login("alice"), "SELECT * FROM dbo.T") is None
    assert error(login("bob"), "SELECT * FROM dbo.T") == 229


def test_service_broker_objects_carry_permissions(admin, login):
    admin("CREATE QUEUE dbo.Q; CREATE SERVICE [//S] ON QUEUE dbo.Q")
    admin("GRANT SEND ON SERVICE::[//S] TO alice; GRANT RECEIVE ON dbo.Q TO alice")
    alice = login("alice")
    assert alice.execute(
        "SELECT HAS_PERMS_BY_NAME('[//S]', 'SERVICE', 'SEND'), "
        "HAS_PERMS_BY_NAME('dbo.Q', 'OBJECT', 'RECEIVE'), "
        "HAS_PERMS_BY_NAME('[//S]', 'SERVICE', 'CONTROL')"
    ).rows() == [(1, 1, 0)]
