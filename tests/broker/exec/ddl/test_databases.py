"""CREATE, ALTER and DROP DATABASE."""

import pytest

from redial_broker.instance.instance import Instance


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE DATABASE App", 1801),
        ("BEGIN TRAN; CREATE DATABASE Other", 226),
        ("DROP DATABASE nowhere", 3701),
        ("DROP DATABASE master", 3708),
        ("DROP DATABASE App", 3702),
        ("ALTER DATABASE nowhere SET RECOVERY SIMPLE", 5011),
        ("ALTER DATABASE App COLLATE Latin1_General_BIN2", 60001),
        ("USE nowhere", 911),
    ],
)
def test_what_is_wrong_is_named_by_the_servers_number(error, text, number):
    assert error(text) == number


@pytest.mark.parametrize(
    ("option", "column", "value"),
    [
        ("READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE", "is_read_committed_snapshot_on", 1),
        ("TRUSTWORTHY ON", "is_trustworthy_on", 1),
        ("HONOR_BROKER_PRIORITY ON", "is_honor_broker_priority_on", 1),
        ("RECOVERY SIMPLE", "recovery_model_desc", "SIMPLE"),
        ("DISABLE_BROKER", "is_broker_enabled", 0),
        ("SINGLE_USER", "user_access_desc", "SINGLE_USER"),
    ],
)
def test_an_option_has_its_effect_and_is_shown(run, option, column, value):
    run(f"ALTER DATABASE App SET {option}")
    assert run(f"SELECT {column} FROM sys.databases WHERE name = 'App'").one() == value


def test_options_that_are_so_anyway_are_accepted(run):
    run("ALTER DATABASE CURRENT SET AUTO_CLOSE OFF, AUTO_SHRINK OFF, PAGE_VERIFY CHECKSUM")


def test_rollback_immediate_ends_the_other_sessions(run, instance):
    other = instance.connect("App")
    other.execute("CREATE TABLE dbo.T (a int)")
    other.execute("BEGIN TRAN; INSERT dbo.T VALUES (1)")
    run("ALTER DATABASE App SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE")
    assert other.id not in instance.sessions
    assert run("SELECT COUNT(*) FROM dbo.T").one() == 0


def test_a_single_user_database_lets_nobody_else_in(run, error, instance):
    run("ALTER DATABASE App SET SINGLE_USER")
    other = instance.connect()
    assert other.execute("USE App").error().number == 924
    run("ALTER DATABASE App SET MULTI_USER")
    assert not other.execute("USE App").errors


def test_no_wait_fails_while_others_are_there(run, error, instance):
    instance.connect("App")
    assert error("ALTER DATABASE App SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT") == 5070
    assert error("ALTER DATABASE App SET READ_COMMITTED_SNAPSHOT OFF WITH NO_WAIT") is None


def test_without_a_clause_it_waits_until_the_others_have_left(session, instance):
    """Each session in a database holds a shared lock on it, idle or not (F-101, F-481)."""
    other = instance.connect("App")
    other.execute("BEGIN TRAN; CREATE TABLE dbo.T (a int)")
    waiting = session.execute("ALTER DATABASE App SET READ_COMMITTED_SNAPSHOT ON")
    other.execute("COMMIT")
    instance.advance(3600)
    assert not waiting.finished
    other.execute("USE master")
    assert waiting.ok().finished


def test_the_broker_gets_a_new_identity(run):
    before = run("SELECT service_broker_guid FROM sys.databases WHERE name = 'App'").one()
    run("ALTER DATABASE App SET NEW_BROKER WITH ROLLBACK IMMEDIATE")
    assert run("SELECT service_broker_guid FROM sys.databases WHERE name = 'App'").one() != before


def test_a_dropped_database_is_gone(run, instance):
    admin = instance.connect()
    admin.execute("CREATE DATABASE Gone")
    admin.execute("DROP DATABASE Gone; DROP DATABASE IF EXISTS Gone")
    assert admin.execute("SELECT DB_ID('Gone')").one() is None


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE DATABASE n WITH CATALOG_COLLATION = DATABASE_DEFAULT, LEDGER = OFF",
        "ALTER DATABASE db SET FILESTREAM( NON_TRANSACTED_ACCESS = OFF )",
        "ALTER DATABASE db SET QUERY_STORE (OPERATION_MODE = READ_WRITE, CLEANUP_POLICY = "
        "(STALE_QUERY_THRESHOLD_DAYS = 30), MAX_STORAGE_SIZE_MB = 1000)",
    ],
)
def test_what_management_studio_scripts_for_a_database_is_taken(sql):
    session = Instance().connect()
    session.execute("CREATE DATABASE db").ok()
    session.execute(sql).ok()


@pytest.mark.parametrize(
    "sql, number",
    [
        ("ALTER DATABASE db SET FILESTREAM( NON_TRANSACTED_ACCESS = FULL )", 60001),
        ("ALTER DATABASE db SET QUERY_STORE CLEAR", 60001),
        ("ALTER DATABASE db SET QUERY_STORE (NONSENSE = 1)", 102),
        ("CREATE DATABASE n WITH LEDGER = ON", 60001),
    ],
)
def test_what_would_have_an_effect_that_nobody_sees_is_refused(sql, number):
    session = Instance().connect()
    session.execute("CREATE DATABASE db").ok()
    assert session.execute(sql).error().number == number


def test_whether_the_query_store_is_on_shows_in_sys_databases():
    session = Instance().connect()
    session.execute("CREATE DATABASE db; ALTER DATABASE db SET QUERY_STORE = ON").ok()
    asked = "SELECT is_query_store_on FROM sys.databases WHERE name = 'db'"
    assert session.execute(asked).rows() == [(1,)]
    session.execute("ALTER DATABASE db SET QUERY_STORE = OFF").ok()
    assert session.execute(asked).rows() == [(0,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM two.dbo.t",
        "SELECT k FROM v",
        "SELECT k FROM s",
    ],
    ids=["table", "view", "synonym"],
)
def test_a_new_definition_in_another_database_is_seen_at_once(query):
    """A statement is compiled again when what it reads elsewhere has changed, or is not there."""
    instance = Instance()
    owner = instance.connect()
    for sql in ("CREATE DATABASE one", "CREATE DATABASE two"):
        owner.execute(sql).ok()

    def define(value: int) -> None:
        owner.execute("USE two").ok()
        owner.execute(f"CREATE TABLE t (k int); INSERT t VALUES ({value})").ok()

    define(1)
    reader = instance.connect("one")
    reader.execute("CREATE VIEW v AS SELECT k FROM two.dbo.t").ok()
    reader.execute("CREATE SYNONYM s FOR two.dbo.t").ok()
    assert reader.execute(query).rows() == [(1,)]
    owner.execute("DROP TABLE t").ok()
    assert reader.execute(query).error() is not None
    define(2)
    assert reader.execute(query).rows() == [(2,)]
    owner.execute("USE master; DROP DATABASE two").ok()
    assert reader.execute(query).error() is not None
    owner.execute("CREATE DATABASE two").ok()
    define(3)
    assert reader.execute(query).rows() == [(3,)]


@pytest.mark.parametrize(
    "change",
    [
        "SET RECOVERY SIMPLE",
        "SET TRUSTWORTHY ON",
        "SET ALLOW_SNAPSHOT_ISOLATION ON",
        "SET COMPATIBILITY_LEVEL = 160",
        "SET ANSI_NULL_DEFAULT ON",
        "SET HONOR_BROKER_PRIORITY ON",
        "SET MULTI_USER",
        "COLLATE SQL_Latin1_General_CP1_CI_AS",
        "MODIFY NAME = Other",
    ],
)
def test_no_change_of_a_database_is_part_of_a_transaction(session, change):
    """ "ALTER DATABASE" page: it runs in autocommit mode."""
    found = session.execute(f"BEGIN TRANSACTION; ALTER DATABASE App {change}").error()
    assert found.number == 226


def test_a_service_names_a_queue_of_its_own_database(run, session):
    """ "CREATE SERVICE" page: [schema_name.]queue_name."""
    run("CREATE QUEUE dbo.q")
    run("CREATE SERVICE s ON QUEUE dbo.q")
    for sql in ("CREATE SERVICE t ON QUEUE other.dbo.q", "ALTER SERVICE s ON QUEUE App.dbo.q"):
        assert session.execute(sql).error().number == 117
