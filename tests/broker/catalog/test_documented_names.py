"""Every name of Microsoft's documentation runs or is refused by name."""

from importlib.resources import files

import pytest

from redial_broker.exec import documented
from redial_broker.exec.functions.registry import FUNCTIONS
from redial_broker.exec.objects import TABLE_FUNCTIONS
from redial_broker.instance.instance import Instance

REFUSED = 60001
UNKNOWN = frozenset({102, 156, 195, 208, 319, 2526, 2812, 4121})
"""Numbers that say a name or a syntax does not exist."""

WRITTEN = {
    "$PARTITION": "SELECT $PARTITION.f(1)",
    "AI_GENERATE_CHUNKS": "SELECT * FROM AI_GENERATE_CHUNKS(1)",
    "CAST": "SELECT CAST(1 AS int)",
    "CONVERT": "SELECT CONVERT(int, 1)",
    "CURRENT_DATE": "SELECT CURRENT_DATE",
    "CURRENT_TIMESTAMP": "SELECT CURRENT_TIMESTAMP",
    "CURRENT_USER": "SELECT CURRENT_USER",
    "GENERATE_SERIES": "SELECT * FROM GENERATE_SERIES(1, 2)",
    "IDENTITY": "SELECT IDENTITY(int, 1, 1) AS i INTO #t",
    "IIF": "SELECT IIF(1 = 1, 1, 2)",
    "OPENDATASOURCE": "SELECT * FROM OPENDATASOURCE('a', 'b').c.d.e",
    "OPENJSON": "SELECT * FROM OPENJSON('{}')",
    "OPENQUERY": "SELECT * FROM OPENQUERY(a, 'b')",
    "OPENROWSET": "SELECT * FROM OPENROWSET('a', 'b', 'c') AS x",
    "OPENXML": "DECLARE @i int SELECT * FROM OPENXML(@i, '/a') WITH (b int)",
    "PARSE": "SELECT PARSE('1' AS int)",
    "SESSION_USER": "SELECT SESSION_USER",
    "STRING_SPLIT": "SELECT * FROM STRING_SPLIT('a', ',')",
    "SYSTEM_USER": "SELECT SYSTEM_USER",
    "TRIM": "SELECT TRIM('a')",
    "TRY_CAST": "SELECT TRY_CAST(1 AS int)",
    "TRY_CONVERT": "SELECT TRY_CONVERT(int, 1)",
    "TRY_PARSE": "SELECT TRY_PARSE('1' AS int)",
    "UPDATE": "CREATE TABLE u (a int) EXEC('CREATE TRIGGER g ON u FOR INSERT AS IF UPDATE(a) RETURN')",
    "USER": "SELECT USER",
    "changetable": "SELECT * FROM CHANGETABLE(CHANGES t, 0) AS c",
    "containstable": "SELECT * FROM CONTAINSTABLE(t, *, 'a') AS k",
    "freetexttable": "SELECT * FROM FREETEXTTABLE(t, *, 'a') AS k",
}
"""Functions with a form of their own."""

OTHERWISE_CALLED = dict.fromkeys(
    ("semantickeyphrasetable", "semanticsimilaritydetailstable", "semanticsimilaritytable"),
    "semantic search",
)
"""Refused by the feature's name."""

DATEPART_FIRST = frozenset(
    {"DATEADD", "DATEDIFF", "DATEDIFF_BIG", "DATENAME", "DATEPART", "DATETRUNC", "DATE_BUCKET"}
)
SET_VALUES = {
    "CONTEXT_INFO": "0x01",
    "DATEFIRST": "1",
    "DATEFORMAT": "dmy",
    "DEADLOCK_PRIORITY": "LOW",
    "FIPS_FLAGGER": "OFF",
    "LANGUAGE": "english",
    "LOCK_TIMEOUT": "1",
    "OFFSETS": "SELECT ON",
    "QUERY_GOVERNOR_COST_LIMIT": "1",
    "ROWCOUNT": "1",
    "TEXTSIZE": "1",
    "TRANSACTION ISOLATION LEVEL": "SNAPSHOT",
}
DATABASE_VALUES = {
    "ALLOW_SNAPSHOT_ISOLATION": "ON",
    "COMPATIBILITY_LEVEL": "= 130",
    "READ_COMMITTED_SNAPSHOT": "ON",
    "RECOVERY": "SIMPLE",
    "TRUSTWORTHY": "ON",
}
BARE = frozenset(
    [
        "DISABLE_BROKER",
        "EMERGENCY",
        "ENABLE_BROKER",
        "ERROR_BROKER_CONVERSATIONS",
        "MULTI_USER",
        "NEW_BROKER",
        "OFFLINE",
        "ONLINE",
        "READ_ONLY",
        "READ_WRITE",
        "RESTRICTED_USER",
        "SINGLE_USER",
    ]
)
"""Database options without a value."""


def written(kind, name):
    """A statement with that name."""
    if name in WRITTEN:
        return WRITTEN[name]
    if kind == "database options":
        value = "" if name in BARE else DATABASE_VALUES.get(name, "= ON")
        return f"CREATE DATABASE d ALTER DATABASE d SET {name} {value}"
    if name == "IDENTITY_INSERT":
        return "CREATE TABLE t (i int IDENTITY); SET IDENTITY_INSERT t ON"
    if kind == "set options":
        return f"SET {name} {SET_VALUES.get(name, 'ON')}"
    if name.startswith("@@"):
        return f"SELECT {name}"
    if kind == "functions":
        return f"SELECT {name}({'day, ' if name in DATEPART_FIRST else ''})".replace(", )", ")")
    return {
        "procedures": "EXEC {0}",
        "views": "SELECT * FROM sys.{0}" + "()" * (name in TABLE_FUNCTIONS),
        "information_schema": "SELECT * FROM INFORMATION_SCHEMA.{0}",
        "tables": "SELECT * FROM msdb.dbo.{0}",
        "system functions": "SELECT * FROM sys.{0}()",
        "dbcc": "DBCC {0}",
        "scoped configurations": "ALTER DATABASE SCOPED CONFIGURATION SET {0} = ON",
    }[kind].format(name)


KINDS = {
    "procedures": 868,
    "views": 671,
    "information_schema": 21,
    "tables": 179,
    "system functions": 63,
    "functions": 335,
    "dbcc": 34,
    "set options": 41,
    "database options": 64,
    "scoped configurations": 43,
}
"""Heading of the list -> how many names it has at least."""

AFRESH = frozenset({"set options", "database options"})
"""Statements that change what the next one would do: an instance each."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_documented_name_runs_or_is_refused_by_name(kind):
    names = documented.names(kind)
    assert len(names) >= KINDS[kind]
    session, wrong = Instance().connect(), []
    for name in sorted(names):
        text = written(kind, name)
        error = (Instance().connect() if kind in AFRESH else session).execute(text).error()
        said = OTHERWISE_CALLED.get(name, name.rpartition(".")[2]).lower()
        fine = error is None or error.number not in UNKNOWN
        if error is not None and error.number == REFUSED:
            fine = said in error.text.lower()
        if not fine:
            wrong.append((text, str(error)))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("EXEC sp_nonsense", 2812),
        ("EXEC other.sp_addarticle", 2812),
        ("EXEC sp_createsnapshot", 2812),
        ("SELECT * FROM sys.nonsense", 208),
        ("SELECT * FROM INFORMATION_SCHEMA.nonsense", 208),
        ("SELECT * FROM dm_os_wait_stats", 208),
        ("SELECT * FROM sysjobs", 208),
        ("SELECT * FROM msdb.dbo.nonsense", 208),
        ("SELECT * FROM dbo.nonsense(1)", 208),
        ("SELECT * FROM nonsense(1)", 208),
        ("SELECT nonsense(1)", 195),
        ("SELECT OPENJSON('{}')", 195),
        ("SELECT dbo.nonsense(1)", 4121),
        ("SELECT sys.fn_nonsense(1)", 4121),
        ("SELECT @@nonsense", 137),
        ("SET NONSENSE ON", 195),
    ],
)
def test_a_name_that_exists_nowhere_is_not_found(text, number):
    assert Instance().connect().execute(text).error().number == number


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT * FROM syscolumns", "the system view syscolumns"),
        ("SELECT * FROM dbo.syscolumns", "the system view syscolumns"),
        ("SELECT * FROM sys.dm_os_wait_stats", "the system view dm_os_wait_stats"),
        ("USE msdb SELECT * FROM sysjobs", "the system table sysjobs"),
        ("SELECT * FROM cdc.change_tables", "the system table change_tables"),
        ("EXEC master.dbo.sp_addarticle", "the system procedure sp_addarticle"),
        ("EXEC msdb..sp_help_job", "the system procedure sp_help_job"),
        ("SELECT master.dbo.fn_varbintohexstr(0x01)", "function master.dbo.fn_varbintohexstr"),
        ("SELECT sys.fn_cdc_get_max_lsn()", "function sys.fn_cdc_get_max_lsn"),
    ],
)
def test_a_name_of_a_system_database_is_refused_where_a_server_finds_it(text, named):
    error = Instance().connect().execute(text).error()
    assert (error.number, named in error.text) == (REFUSED, True)


def test_a_table_of_ones_own_may_have_a_documented_name():
    session = Instance().connect()
    session.execute("CREATE TABLE dbo.sysjobs (a int); CREATE TABLE events (a int);")
    assert session.execute("SELECT * FROM sysjobs, events;").error() is None


def test_the_list_is_part_of_the_package_and_has_names_only():
    text = (files("redial_broker") / "exec" / "documented.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "["))]
    assert all(len(line.split()) <= 3 and len(line) <= 128 for line in lines)
    assert len(FUNCTIONS.keys() & documented.names("functions")) > 180


def test_dbcc_checkident_without_a_table_is_an_error():
    assert Instance().connect().execute("DBCC CHECKIDENT").error().number == 2583


@pytest.mark.parametrize("name", sorted(TABLE_FUNCTIONS))
def test_a_table_valued_system_function_asks_for_all_its_arguments(name):
    session = Instance().connect()
    assert session.execute(f"SELECT * FROM sys.{name}()").error().number == 313
    too_many = ", ".join(["NULL"] * 8)
    assert session.execute(f"SELECT * FROM sys.{name}({too_many})").error().number == 8144
