"""CREATE DATABASE, ALTER DATABASE: options honoured, shown, or refused by name (their pages)."""

import pytest


@pytest.fixture
def master(instance):
    return instance.connect()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SET COMPATIBILITY_LEVEL = 160", None),
        ("SET COMPATIBILITY_LEVEL = 150", None),
        ("SET COMPATIBILITY_LEVEL = 99", 15048),
        ("SET COMPATIBILITY_LEVEL = 170", 15048),
        ("SET QUERY_STORE = ON", None),
        ("SET PARAMETERIZATION FORCED", None),
        ("SET DELAYED_DURABILITY = FORCED", None),
        ("SET AUTO_CLOSE ON", None),
        ("SET ENCRYPTION ON", 60001),
        ("SET CHANGE_TRACKING = ON", 60001),
        ("SET OFFLINE", None),
        ("SET EMERGENCY", None),
        ("SET CURSOR_DEFAULT LOCAL", 60001),
        ("SET ARITHABORT ON, ANSI_NULLS ON", None),
        ("SET NUMERIC_ROUNDABORT ON", 60001),
        ("SET RECOVERY SIMPLE", None),
        ("SET ACCELERATED_DATABASE_RECOVERY = ON", None),
        ("COLLATE SQL_Latin1_General_CP1_CI_AS", None),
        ("COLLATE Latin1_General_CS_AS", 60001),
        ("COLLATE nonsense", 448),
        ("ADD FILEGROUP fg", 60001),
        ("MODIFY NAME = master", 1801),
    ],
)
def test_every_option_has_its_effect_or_its_number(master, text, number):
    found = master.execute(f"ALTER DATABASE App {text}").error()
    assert (found.number if found else None) == number


@pytest.mark.parametrize(
    "text",
    [
        "master SET READ_COMMITTED_SNAPSHOT ON",
        "tempdb SET RECOVERY FULL",
        "msdb SET ALLOW_SNAPSHOT_ISOLATION OFF",
        "tempdb SET SINGLE_USER",
        "master SET READ_ONLY",
    ],
)
def test_system_databases_keep_their_options(master, text):
    assert master.execute(f"ALTER DATABASE {text}").error().number == 5058


def test_options_are_shown(master):
    master.execute(
        "ALTER DATABASE App SET PAGE_VERIFY NONE, QUERY_STORE = ON, ANSI_NULLS ON, "
        "DELAYED_DURABILITY = ALLOWED, RECURSIVE_TRIGGERS ON, "
        "TARGET_RECOVERY_TIME = 30 SECONDS"
    ).ok()
    assert master.execute(
        "SELECT page_verify_option_desc, is_query_store_on, is_ansi_nulls_on, is_arithabort_on, "
        "delayed_durability_desc, is_recursive_triggers_on, target_recovery_time_in_seconds "
        "FROM sys.databases WHERE name = 'App'"
    ).rows() == [("NONE", 1, 1, 0, "ALLOWED", 1, 30)]


def test_a_read_only_database_is_not_written_to(master, instance):
    app = instance.connect("App")
    app.execute("CREATE TABLE dbo.T (a int); INSERT dbo.T VALUES (1)").ok()
    app.execute("CREATE PROCEDURE dbo.P AS INSERT dbo.T VALUES (2)").ok()
    app.execute("USE master").ok()
    master.execute("ALTER DATABASE App SET READ_ONLY WITH ROLLBACK IMMEDIATE").ok()
    app = instance.connect("App")
    for text in (
        "INSERT dbo.T VALUES (2)",
        "UPDATE dbo.T SET a = 2",
        "DELETE dbo.T",
        "UPDATE t SET a = 2 FROM dbo.T AS t",
        "EXEC dbo.P",
        "TRUNCATE TABLE dbo.T",
        "CREATE TABLE dbo.U (a int)",
        "DROP TABLE dbo.T",
        "ALTER TABLE dbo.T ADD b int",
        "SELECT 1 AS x INTO dbo.U",
    ):
        error = app.execute(text).error()
        assert error.number == 3906 and '"App"' in error.text, text
    assert master.execute("INSERT App.dbo.T VALUES (2)").error().number == 3906
    assert app.execute(
        "CREATE TABLE #t (a int); INSERT #t SELECT a FROM dbo.T; "
        "UPDATE t SET a = 5 FROM dbo.T AS o INNER JOIN #t AS t ON t.a = o.a; SELECT a FROM #t"
    ).rows() == [(5,)]
    assert master.execute("SELECT is_read_only FROM sys.databases WHERE name = 'App'").rows() == [
        (1,)
    ]
    app.execute("USE master").ok()
    master.execute("ALTER DATABASE App SET READ_WRITE").ok()
    app.execute("USE App; EXEC dbo.P").ok()


def test_a_restricted_database_lets_only_owners_in(master, instance):
    master.execute(
        "CREATE LOGIN u WITH PASSWORD = 'Passw0rd!u'; CREATE LOGIN o WITH PASSWORD = "
        "'Passw0rd!o'; CREATE LOGIN c WITH PASSWORD = 'Passw0rd!c'; "
        "ALTER SERVER ROLE dbcreator ADD MEMBER c"
    ).ok()
    instance.connect("App").execute(
        "CREATE USER u; CREATE USER o; CREATE USER c; ALTER ROLE db_owner ADD MEMBER o;"
        "USE master; ALTER DATABASE App SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE"
    ).ok()
    for name, number in (("u", 923), ("o", None), ("c", None)):
        session = instance.login(name, f"Passw0rd!{name}", "master")
        from redial_broker.instance.results import Collector

        session.sink = Collector()
        found = session.execute("USE App").error()
        assert (found.number if found else None) == number
    master.execute("ALTER DATABASE App SET MULTI_USER").ok()


def test_a_database_can_be_renamed_while_nobody_else_uses_it(master, instance):
    app = instance.connect("App")
    app.execute("CREATE TABLE dbo.T (a int)").ok()
    assert master.execute("ALTER DATABASE App MODIFY NAME = New").error().number == 5030
    app.execute("USE master").ok()
    answer = master.execute("ALTER DATABASE App MODIFY NAME = New").ok()
    assert answer.messages[0].text == "The database name 'New' has been set."
    assert app.execute("USE App").error().number == 911
    assert app.execute("USE New; SELECT DB_NAME(), COUNT(*) FROM New.dbo.T").rows() == [("New", 0)]
    assert master.execute("BEGIN TRAN; ALTER DATABASE New MODIFY NAME = X").error().number == 226


def test_files_are_names_for_the_catalog(master):
    master.execute(
        "CREATE DATABASE d CONTAINMENT = NONE ON PRIMARY (NAME = d1, FILENAME = 'd.mdf',"
        " SIZE = 10MB, MAXSIZE = UNLIMITED, FILEGROWTH = 5%) LOG ON (NAME = d2, FILENAME"
        " = 'd.ldf') COLLATE SQL_Latin1_General_CP1_CI_AS WITH TRUSTWORTHY ON"
    ).ok()
    assert master.execute(
        "USE d; SELECT name, type_desc, physical_name FROM sys.database_files"
    ).rows() == [("d1", "ROWS", "d.mdf"), ("d2", "LOG", "d.ldf")]
    for text in (
        "CONTAINMENT = PARTIAL",
        "COLLATE Latin1_General_CS_AS",
        "ON (FILENAME = 'x') FOR ATTACH",
    ):
        assert master.execute(f"CREATE DATABASE e {text}").error().number == 60001


def test_several_databases_are_dropped_at_once(master, instance):
    master.execute("CREATE DATABASE a; CREATE DATABASE b").ok()
    held = instance.connect("b")
    assert master.execute("DROP DATABASE IF EXISTS nope, b").error().number == 3702
    held.close()
    master.execute("DROP DATABASE IF EXISTS nope, a, b").ok()
    assert master.execute("DROP DATABASE a").error().number == 3701


def test_scoped_configurations_about_plans_change_nothing(master, instance):
    app = instance.connect("App")
    app.execute(
        "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 4;"
        "ALTER DATABASE SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE"
    ).ok()
    assert (
        app.execute("ALTER DATABASE SCOPED CONFIGURATION SET ELEVATE_ONLINE = WHEN_SUPPORTED")
        .error()
        .number
        == 60001
    )


# ---------------------------------------------------------------------- collations of columns
@pytest.mark.parametrize(
    ("collation", "equal"),
    [
        ("Latin1_General_CI_AS", {"a", "A"}),
        ("Latin1_General_CS_AS", {"a"}),
        ("Latin1_General_CI_AI", {"a", "A", "á", "Á"}),
        ("Latin1_General_CS_AI", {"a", "á"}),
        ("Latin1_General_100_BIN2", {"a"}),
        ("Latin1_General_100_CI_AI_KS_WS", {"a", "A", "á", "Á"}),
    ],
)
def test_a_columns_collation_rules_comparisons_and_unique_keys(run, error, collation, equal):
    run(f"CREATE TABLE dbo.T (x nvarchar(9) COLLATE {collation})")
    for letter in ("a", "A", "á", "Á", "b"):
        run(f"INSERT dbo.T VALUES (N'{letter}')")
    assert {x for (x,) in run("SELECT x FROM dbo.T WHERE x = N'a'").rows()} == equal
    assert len(run("SELECT DISTINCT x FROM dbo.T").rows()) == {1: 5, 2: 3, 4: 2}[len(equal)]
    run(f"CREATE TABLE dbo.U (x nvarchar(9) COLLATE {collation} PRIMARY KEY)")
    for letter in ("A", "á", "Á"):
        run("DELETE dbo.U; INSERT dbo.U VALUES (N'a')")
        assert error(f"INSERT dbo.U VALUES (N'{letter}')") == (2627 if letter in equal else None)
    assert run("SELECT TOP 1 x FROM dbo.T ORDER BY x DESC").rows()[0][0] in {"b", "á"}
