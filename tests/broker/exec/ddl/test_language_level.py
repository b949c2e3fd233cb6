"""What T-SQL a version and a compatibility level know (F-480), and what the server says it is."""

import pytest

from redial_broker.exec.product import PRODUCTS, ProductError
from redial_broker.instance.instance import Instance


def made(product=None, level=None):
    """A session in a database App of an instance of that product."""
    session = Instance(product=product).connect()
    session.execute("CREATE DATABASE App").ok()
    if level is not None:
        session.execute(f"ALTER DATABASE App SET COMPATIBILITY_LEVEL = {level}").ok()
    session.execute("ALTER DATABASE App SET DISABLE_BROKER")
    if product != "Azure SQL Database":
        session.execute("USE App").ok()
    return session


def number(session, sql):
    found = session.execute(sql).error()
    return found.number if found else None


# ---------------------------------------------------------------------- levels
@pytest.mark.parametrize(
    ("sql", "level", "below"),
    [
        ("SELECT [key] FROM OPENJSON(N'[1]')", 130, 208),
        ("SELECT a FROM OPENJSON(N'[{}]') WITH (a int)", 130, 319),
        ("SELECT value FROM STRING_SPLIT(N'a b', N' ')", 130, 208),
        ("SELECT value FROM GENERATE_SERIES(1, 2)", 160, 208),
        ("SELECT TRIM(LEADING N'a' FROM N'ab')", 160, 102),
        ("SELECT LTRIM(N'ab', N'a')", 160, 174),
        ("SELECT SUM(a) OVER w FROM (VALUES (1)) AS t (a) WINDOW w AS (ORDER BY a)", 160, 102),
    ],
)
def test_below_its_level_a_construct_is_refused(sql, level, below):
    assert number(made(level=level), sql) is None
    assert number(made(level=level - 10), sql) == below


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT JSON_VALUE(N'{}', '$.a'), ISJSON(N'{}'), JSON_QUERY(N'{}')",
        "SELECT 1 AS a FOR JSON PATH",
        "SELECT STRING_AGG(a, N',') WITHIN GROUP (ORDER BY a) FROM (VALUES (N'x')) AS t (a)",
        "SELECT TRIM(N'a' FROM N'ab'), GREATEST(1, 2), DATETRUNC(day, SYSUTCDATETIME())",
        "SELECT SYSUTCDATETIME() AT TIME ZONE 'UTC', FORMAT(1, N'N')",
        "CREATE OR ALTER PROCEDURE dbo.P AS SELECT 1",
    ],
)
def test_what_depends_on_the_version_alone_is_known_at_level_110(sql):
    assert number(made(level=110), sql) is None


def test_a_procedure_with_openjson_is_created_and_fails_when_it_runs():
    session = made(level=120)
    session.execute("CREATE PROCEDURE dbo.P AS SELECT [key] FROM OPENJSON(N'[1]')").ok()
    assert number(session, "EXEC dbo.P") == 208


def test_a_procedure_with_openjson_and_a_schema_is_not_created():
    session = made(level=120)
    sql = "CREATE PROCEDURE dbo.P AS SELECT a FROM OPENJSON(N'[{}]') WITH (a int)"
    assert number(session, sql) == 319
    assert session.execute("SELECT OBJECT_ID(N'dbo.P')").rows() == [(None,)]


def test_a_change_of_the_level_counts_for_what_was_compiled_before():
    session = made()
    sql = "SELECT a FROM OPENJSON(N'[{}]') WITH (a int)"
    session.execute("CREATE PROCEDURE dbo.P AS SELECT [key] FROM OPENJSON(N'[1]')").ok()
    session.execute("EXEC dbo.P").ok()
    session.execute(sql).ok()
    session.execute("ALTER DATABASE App SET COMPATIBILITY_LEVEL = 120").ok()
    assert (number(session, "EXEC dbo.P"), number(session, sql)) == (208, 319)
    session.execute("ALTER DATABASE App SET COMPATIBILITY_LEVEL = 130").ok()
    assert (number(session, "EXEC dbo.P"), number(session, sql)) == (None, None)


def test_a_batch_has_the_level_of_the_database_it_runs_in_and_a_procedure_of_its_own():
    session = made(level=120)
    session.execute("CREATE PROCEDURE dbo.P AS SELECT [key] FROM OPENJSON(N'[1]')").ok()
    session.execute("USE master; SELECT [key] FROM OPENJSON(N'[1]')").ok()
    assert number(session, "USE master; EXEC App.dbo.P") == 208


def test_the_levels_are_those_of_the_version():
    error = made("2016 SP1").execute("ALTER DATABASE App SET COMPATIBILITY_LEVEL = 140").error()
    assert (error.number, error.text) == (
        15048,
        "Valid values of the database compatibility level are 100, 110, 120, or 130.",
    )
    assert number(made("2025"), "ALTER DATABASE App SET COMPATIBILITY_LEVEL = 170") is None


def test_a_new_database_has_the_newest_level_of_its_version():
    shown = "SELECT compatibility_level FROM sys.databases WHERE name = N'App'"
    levels = {name: made(name).execute(shown).rows()[0][0] for name in ("2014", "2022", "2025")}
    assert levels == {"2014": 120, "2022": 160, "2025": 170}


# ---------------------------------------------------------------------- versions
@pytest.mark.parametrize(
    ("sql", "first", "last", "below"),
    [
        ("CREATE OR ALTER PROCEDURE dbo.P AS SELECT 1", "2016 SP1", "2016 RTM", 156),
        ("CREATE OR ALTER VIEW dbo.V AS SELECT 1 AS a", "2016 SP1", "2016 RTM", 156),
        ("DROP TABLE IF EXISTS dbo.T", "2016 RTM", "2014", 156),
        ("SELECT SYSUTCDATETIME() AT TIME ZONE 'UTC'", "2016 RTM", "2014", 102),
        ("SELECT SESSION_CONTEXT(N'a')", "2016 RTM", "2014", 195),
        ("SELECT value FROM STRING_SPLIT(N'a', N' ')", "2016 RTM", "2014", 208),
        ("SELECT STRING_AGG(a, N',') FROM (VALUES (N'x')) AS t (a)", "2017", "2016 SP1", 195),
        ("SELECT TRIM(N' a')", "2017", "2016 SP1", 195),
        ("SELECT GREATEST(1, 2)", "2022", "2019", 195),
        ("SELECT JSON_OBJECT('a': 1)", "2022", "2019", 195),
        ("SELECT 1 WHERE 1 IS DISTINCT FROM 2", "2022", "2019", 156),
    ],
)
def test_before_its_version_a_construct_is_refused(sql, first, last, below):
    assert number(made(first), sql) is None
    assert number(made(last), sql) == below


@pytest.mark.parametrize("name", PRODUCTS)
def test_serverproperty_tells_version_and_edition(name):
    product = PRODUCTS[name]
    (row,) = (
        made(name)
        .execute(
            "SELECT CONVERT(nvarchar(60), SERVERPROPERTY('ProductVersion')), "
            "CONVERT(int, SERVERPROPERTY('ProductMajorVersion')), "
            "CONVERT(nvarchar(60), SERVERPROPERTY('ProductLevel')), "
            "CONVERT(int, SERVERPROPERTY('EngineEdition')), "
            "CONVERT(nvarchar(60), SERVERPROPERTY('Edition')), @@VERSION"
        )
        .rows()
    )
    major = int(product.version.partition(".")[0])
    assert row[:5] == (
        product.version,
        major,
        product.level,
        product.engine_edition,
        product.edition,
    )
    assert product.version in row[5] and "a test double, not SQL Server" in row[5]


def test_a_product_there_is_none_of_is_named():
    with pytest.raises(ProductError, match=r"2012.*2014, 2016 RTM"):
        Instance(product="2012")


# ---------------------------------------------------------------------- Azure
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE QUEUE dbo.Q",
        "CREATE MESSAGE TYPE [//m]",
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b'",
        "RECEIVE * FROM dbo.Q",
    ],
)
def test_azure_sql_database_has_no_service_broker(sql):
    assert number(made("Azure SQL Database"), sql) == 40510


def test_azure_sql_database_knows_no_use():
    session = made("Azure SQL Database")
    assert number(session, "USE App") == 40508
    assert number(session, "USE master") is None


@pytest.mark.parametrize("option", ["ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER"])
def test_a_managed_instance_keeps_its_broker_on(option):
    session = made("Managed Instance")
    shown = "SELECT is_broker_enabled FROM sys.databases WHERE name = N'App'"
    answer = session.execute(f"ALTER DATABASE App SET {option}")
    assert [error.number for error in answer.errors] == [5008, 5069]
    assert session.execute(shown).rows() == [(1,)]
    assert number(session, "CREATE QUEUE dbo.Q") is None
