"""Grant options, columns, the hierarchy of permissions (GRANT, DENY, REVOKE pages)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.exec.permission_table import PARENTS, RULES, covering


# ---------------------------------------------------------------------- the table itself
def test_every_permission_is_covered_by_the_one_that_controls_the_server():
    for class_, name in RULES:
        assert ("SERVER", "CONTROL SERVER") in covering(class_, name), (class_, name)


@given(st.sampled_from(sorted(RULES)))
def test_what_covers_a_permission_is_itself_covered_by_what_covers_that(key):
    for other in covering(*key):
        assert covering(*other) <= covering(*key)


def test_covering_permissions_exist_in_their_class():
    for rule in RULES.values():
        assert not rule.covering or (rule.class_, rule.covering) in RULES
        assert not rule.parent_covering or (PARENTS[rule.class_], rule.parent_covering) in RULES


@pytest.mark.parametrize(
    ("scope", "permission"),
    [
        ("dbo.T", "CONTROL"),
        ("SCHEMA::dbo", "SELECT"),
        ("SCHEMA::dbo", "CONTROL"),
        ("DATABASE::App", "SELECT"),
        ("DATABASE::App", "CONTROL"),
    ],
)
def test_a_wider_permission_includes_select(admin, login, error, scope, permission):
    alice = login("alice")
    admin(f"GRANT {permission} ON {scope} TO alice")
    assert error(alice, "SELECT a FROM dbo.T") is None
    admin(f"DENY {permission} ON {scope} TO alice")
    admin("GRANT SELECT ON dbo.T TO alice")
    assert error(alice, "SELECT a FROM dbo.T") == 229


def test_alter_on_the_schema_is_alter_on_its_objects_but_reads_nothing(admin, login, error):
    admin("GRANT ALTER ON SCHEMA::dbo TO alice")
    alice = login("alice")
    assert error(alice, "ALTER TABLE dbo.T ADD b int") is None
    assert error(alice, "SELECT a FROM dbo.T") == 229


def test_a_schema_with_another_owner_has_lost_the_rights_on_what_is_in_it(admin, login, error):
    """ALTER AUTHORIZATION page: but not those on an object that has an owner of its own."""
    admin("CREATE SCHEMA s")
    admin("CREATE TABLE s.T (a int)")
    admin("CREATE TABLE s.U (a int)")
    admin(
        "ALTER AUTHORIZATION ON s.U TO dbo; GRANT SELECT ON s.T TO alice; GRANT SELECT ON s.U TO alice"
    )
    alice = login("alice")
    assert error(alice, "SELECT a FROM s.T") is None
    admin("CREATE TYPE s.N FROM int; GRANT EXECUTE ON TYPE::s.N TO alice")
    admin("ALTER AUTHORIZATION ON SCHEMA::s TO bob")
    assert not admin("SELECT 1 FROM sys.database_permissions WHERE class = 6").result_sets[-1].rows
    assert error(alice, "SELECT a FROM s.T") == 229
    assert error(alice, "SELECT a FROM s.U") is None


# ---------------------------------------------------------------------- the grant option
def test_the_grant_option_lets_the_holder_pass_a_permission_on(admin, login, error):
    admin("GRANT SELECT ON dbo.T TO alice")
    assert error(login("alice"), "GRANT SELECT ON dbo.T TO bob") == 15151
    admin("GRANT SELECT ON dbo.T TO alice WITH GRANT OPTION")
    assert error(login("alice"), "GRANT SELECT ON dbo.T TO bob") is None
    assert error(login("bob"), "SELECT a FROM dbo.T") is None
    rows = admin(
        "SELECT USER_NAME(grantee_principal_id), USER_NAME(grantor_principal_id), state "
        "FROM sys.database_permissions WHERE major_id > 0"
    ).rows()
    assert sorted(rows) == [("alice", "dbo", "W"), ("bob", "alice", "G")]


def test_revoking_a_grantable_permission_takes_cascade_and_takes_what_was_passed_on(
    instance, admin, login, error
):
    admin("GRANT SELECT ON dbo.T TO alice WITH GRANT OPTION")
    login("alice").execute("GRANT SELECT ON dbo.T TO bob")
    sa = instance.connect("App")
    assert error(sa, "REVOKE SELECT ON dbo.T FROM alice") == 4611
    assert error(sa, "DENY SELECT ON dbo.T TO alice") == 4611
    admin("REVOKE SELECT ON dbo.T FROM alice CASCADE")
    assert error(login("bob"), "SELECT a FROM dbo.T") == 229


def test_grant_option_for_leaves_the_permission(admin, login, error):
    admin("GRANT SELECT ON dbo.T TO alice WITH GRANT OPTION")
    login("alice").execute("GRANT SELECT ON dbo.T TO bob")
    admin("REVOKE GRANT OPTION FOR SELECT ON dbo.T FROM alice CASCADE")
    alice = login("alice")
    assert error(alice, "SELECT a FROM dbo.T") is None
    assert error(alice, "GRANT SELECT ON dbo.T TO bob") == 15151
    assert error(login("bob"), "SELECT a FROM dbo.T") == 229


def test_another_grantors_grant_survives_a_revoke(admin, login, error):
    admin("GRANT SELECT ON dbo.T TO alice WITH GRANT OPTION; GRANT SELECT ON dbo.T TO bob")
    login("alice").execute("GRANT SELECT ON dbo.T TO bob")
    admin("REVOKE SELECT ON dbo.T FROM bob")
    assert error(login("bob"), "SELECT a FROM dbo.T") is None


def test_the_option_a_role_holds_is_used_with_as(admin, login, error):
    admin("ALTER ROLE sender ADD MEMBER alice; GRANT SELECT ON dbo.T TO sender WITH GRANT OPTION")
    alice = login("alice")
    assert error(alice, "GRANT SELECT ON dbo.T TO bob") == 15151
    assert error(alice, "GRANT SELECT ON dbo.T TO bob AS sender") is None
    assert error(login("bob"), "GRANT SELECT ON dbo.T TO alice AS sender") == 4618


def test_a_grant_lifts_a_denial(admin, login, error):
    admin("DENY SELECT ON dbo.T TO alice; GRANT SELECT ON dbo.T TO alice")
    assert error(login("alice"), "SELECT a FROM dbo.T") is None


# ---------------------------------------------------------------------- columns
@pytest.fixture
def columns(admin):
    """A table of three columns."""
    admin("CREATE TABLE dbo.C (x int PRIMARY KEY, y int, z int); INSERT dbo.C VALUES (1, 2, 3)")


def test_columns_may_be_granted_one_by_one(columns, admin, login, error):
    admin("GRANT SELECT (x, y) ON dbo.C TO alice; GRANT UPDATE ON dbo.C (y) TO alice")
    alice = login("alice")
    assert alice.execute("SELECT x, y FROM dbo.C").rows() == [(1, 2)]
    answer = alice.execute("SELECT * FROM dbo.C")
    assert answer.error().number == 230
    assert answer.error().text == (
        "The SELECT permission was denied on the column 'z' of the "
        "object 'C', database 'App', schema 'dbo'."
    )
    assert error(alice, "SELECT x FROM dbo.C WHERE z = 3") == 230
    assert error(alice, "UPDATE dbo.C SET y = 5") is None
    assert error(alice, "UPDATE dbo.C SET z = 5") == 230
    assert error(alice, "UPDATE dbo.C SET y = z") == 230


def test_a_denial_on_the_table_does_not_take_a_columns_grant_away(columns, admin, login, error):
    admin("DENY SELECT ON dbo.C TO alice; GRANT SELECT (x) ON dbo.C TO alice")
    alice = login("alice")
    assert error(alice, "SELECT x FROM dbo.C") is None
    assert error(alice, "SELECT y FROM dbo.C") == 230


def test_a_denial_on_a_column_takes_a_tables_grant_away(columns, admin, login, error):
    admin("GRANT SELECT ON dbo.C TO alice; DENY SELECT (z) ON dbo.C TO alice")
    alice = login("alice")
    assert error(alice, "SELECT x, y FROM dbo.C") is None
    assert error(alice, "SELECT z FROM dbo.C") == 230


def test_column_permissions_in_the_catalog(columns, admin, login):
    admin("GRANT SELECT (z) ON dbo.C TO alice")
    assert admin(
        "SELECT minor_id, type, permission_name FROM sys.database_permissions WHERE minor_id > 0"
    ).rows() == [(3, "SL  ", "SELECT")]
    assert login("alice").execute(
        "SELECT HAS_PERMS_BY_NAME('dbo.C', 'OBJECT', 'SELECT', 'z', 'COLUMN'), "
        "HAS_PERMS_BY_NAME('dbo.C', 'OBJECT', 'SELECT', 'y', 'COLUMN'), "
        "HAS_PERMS_BY_NAME('dbo.C', 'OBJECT', 'SELECT')"
    ).rows() == [(1, 0, 0)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("GRANT DELETE (x) ON dbo.C TO alice", 1020),
        ("GRANT SELECT (q) ON dbo.C TO alice", 4615),
        ("GRANT EXECUTE ON dbo.C TO alice", 4606),
        ("GRANT SELECT ON dbo.usp_Read TO alice", 4606),
        ("GRANT CREATE DATABASE TO alice", 4619),
        ("GRANT CONNECT TO sender", 4627),
        ("GRANT SELECT ON dbo.C TO db_owner", 4617),
        ("GRANT SELECT ON master.dbo.C TO alice", 4610),
        ("GRANT ALL ON SERVICE::x TO alice", 15151),
        ("GRANT NONSENSE TO alice", 60001),
    ],
)
def test_what_cannot_be_granted(columns, instance, error, text, number):
    assert error(instance.connect("App"), text) == number


def test_all_stands_for_what_its_page_says(columns, admin, login, error):
    assert any(m.number == 4628 for m in admin("GRANT ALL ON dbo.C TO alice").messages)
    names = admin("SELECT permission_name FROM sys.database_permissions WHERE major_id > 0").rows()
    assert sorted(n for (n,) in names) == ["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"]


# ---------------------------------------------------------------------- fixed roles
RIGHTS = [
    ("db_ddladmin", "CREATE TABLE dbo.N (a int)", None),
    ("db_ddladmin", "SELECT a FROM dbo.T", 229),
    ("db_ddladmin", "CREATE ROLE n", 15247),
    ("db_accessadmin", "CREATE USER n WITHOUT LOGIN", None),
    ("db_accessadmin", "CREATE TABLE dbo.N (a int)", 262),
    ("db_securityadmin", "CREATE ROLE n", None),
    ("db_securityadmin", "GRANT SELECT ON dbo.T TO bob", None),
    ("db_securityadmin", "GRANT CONTROL ON dbo.T TO bob", 15151),
    ("db_securityadmin", "SELECT a FROM dbo.T", 229),
    ("db_datareader", "SELECT a FROM dbo.T", None),
    ("db_datareader", "INSERT dbo.T VALUES (2)", 229),
    ("db_datawriter", "INSERT dbo.T VALUES (2)", None),
    ("db_datawriter", "DELETE dbo.T", None),
    ("db_datawriter", "SELECT a FROM dbo.T", 229),
    ("db_backupoperator", "SELECT a FROM dbo.T", 229),
    ("db_owner", "ALTER ROLE db_owner ADD MEMBER bob", None),
    ("db_securityadmin", "ALTER ROLE db_datareader ADD MEMBER bob", 15151),
]


@pytest.mark.parametrize(("role", "text", "number"), RIGHTS)
def test_fixed_roles_may_what_their_page_says(admin, login, error, role, text, number):
    admin(f"ALTER ROLE {role} ADD MEMBER alice")
    assert error(login("alice"), text) == number


def test_the_deny_roles_win(admin, login, error):
    admin(
        "ALTER ROLE db_datareader ADD MEMBER alice; ALTER ROLE db_denydatareader ADD MEMBER "
        "alice; GRANT INSERT ON dbo.T TO alice; ALTER ROLE db_denydatawriter ADD MEMBER alice"
    )
    alice = login("alice")
    assert error(alice, "SELECT a FROM dbo.T") == 229
    assert error(alice, "INSERT dbo.T VALUES (2)") == 229


def test_an_owner_cannot_be_denied(admin, login, error):
    admin("ALTER AUTHORIZATION ON dbo.T TO alice; DENY SELECT ON SCHEMA::dbo TO public")
    assert error(login("alice"), "SELECT a FROM dbo.T") is None


@settings(max_examples=30, deadline=None)
@given(st.permutations(["grant", "deny", "revoke"]))
def test_the_last_statement_about_a_permission_decides(order):
    from redial_broker.instance.instance import Instance

    made = Instance(seed=1)
    s = made.connect()
    s.execute("CREATE DATABASE D")
    s.execute("USE D; CREATE TABLE t (a int); CREATE USER u WITHOUT LOGIN")
    words = {
        "grant": "GRANT SELECT ON t TO u",
        "deny": "DENY SELECT ON t TO u",
        "revoke": "REVOKE SELECT ON t FROM u",
    }
    for step in order:
        assert not s.execute(words[step]).errors
    error = s.execute("EXECUTE AS USER = 'u'; SELECT * FROM t; REVERT").error()
    assert (error is None) == (order[-1] == "grant")


# ---------------------------------------------------------------------- functions
def test_fn_my_permissions_lists_what_one_may(admin, login):
    admin("GRANT SELECT ON dbo.T TO alice")
    alice = login("alice")
    rows = alice.execute(
        "SELECT subentity_name, permission_name FROM fn_my_permissions('dbo.T', 'OBJECT')"
    ).rows()
    assert rows == [("", "SELECT"), ("a", "SELECT")]
    assert alice.execute(
        "SELECT permission_name FROM sys.fn_my_permissions(NULL, 'DATABASE')"
    ).rows() == [("CONNECT",)]


def test_fn_builtin_permissions_shows_the_hierarchy(admin):
    rows = admin(
        "SELECT permission_name, covering_permission_name, parent_class_desc, "
        "parent_covering_permission_name FROM sys.fn_builtin_permissions('SERVICE') "
        "WHERE type IN ('SN  ', 'AL  ')"
    ).rows()
    assert sorted(rows) == [
        ("ALTER", "CONTROL", "DATABASE", "ALTER ANY SERVICE"),
        ("SEND", "CONTROL", "DATABASE", "CONTROL"),
    ]
