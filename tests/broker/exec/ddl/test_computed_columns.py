"""Computed columns ("Specify computed columns in a table")."""

import pytest


@pytest.fixture
def table(run):
    run("""CREATE TABLE dbo.T (id int PRIMARY KEY, a int, b int, twice AS a * 2,
        total AS a + ISNULL(b, 0) PERSISTED, name AS UPPER(CONCAT('x', a)) PERSISTED NOT NULL)""")
    run("INSERT dbo.T VALUES (1, 1, NULL), (2, 5, 2)")


def test_values_follow_the_other_columns(table, run):
    assert run("SELECT * FROM dbo.T").rows() == [(1, 1, None, 2, 1, "X1"), (2, 5, 2, 10, 7, "X5")]
    run("UPDATE dbo.T SET a += 1 WHERE total = 7")
    assert run("SELECT twice, total, name FROM dbo.T WHERE id = 2").rows() == [(12, 8, "X6")]
    assert run(
        "UPDATE dbo.T SET b = 1 OUTPUT deleted.total, inserted.total WHERE id = 1"
    ).rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("INSERT dbo.T (id, a, twice) VALUES (3, 1, 2)", 271),
        ("UPDATE dbo.T SET total = 1", 271),
        ("INSERT dbo.T VALUES (3, 1, 2, 3)", 213),
        ("ALTER TABLE dbo.T ADD z AS twice + 1", 1759),
        ("ALTER TABLE dbo.T ADD z AS z + 1", 1759),
        ("ALTER TABLE dbo.T ADD z AS GETDATE() PERSISTED", 4936),
        ("ALTER TABLE dbo.T ADD z AS NEWID()", 60001),
        ("ALTER TABLE dbo.T ADD z AS (SELECT 1)", 1046),
        ("ALTER TABLE dbo.T ADD z AS nope", 207),
        ("ALTER TABLE dbo.T ADD z AS CAST(CONCAT(id, 1) AS date) PERSISTED", 4936),
        ("ALTER TABLE dbo.T DROP COLUMN a", 5074),
        ("ALTER TABLE dbo.T ALTER COLUMN b bigint", 5074),
        ("ALTER TABLE dbo.T ALTER COLUMN twice bigint", 4928),
        ("INSERT dbo.T VALUES (9, 2147483647, 1)", 60001),
    ],
)
def test_what_cannot_be_is_named_by_the_servers_number(table, error, text, number):
    assert error(text) == number


def test_functions_of_text_are_deterministic(table, run):
    """All but FORMAT, says the page "Deterministic and nondeterministic functions"."""
    run(
        "ALTER TABLE dbo.T ADD s AS SOUNDEX('Smith') PERSISTED, d AS DIFFERENCE('a', 'b') PERSISTED"
    )
    assert run("SELECT DISTINCT s, d FROM dbo.T").rows() == [("S530", 3)]


def test_one_can_be_added_indexed_and_dropped(table, run, error):
    run("ALTER TABLE dbo.T ADD half AS a / 2; CREATE UNIQUE INDEX IX ON dbo.T (half)")
    assert error("INSERT dbo.T VALUES (3, 4, 4)") == 2601
    assert run("SELECT id FROM dbo.T WHERE half = 2").rows() == [(2,)]
    run("UPDATE dbo.T SET a = 100 WHERE id = 2; INSERT dbo.T VALUES (3, 4, 4)")
    run("DROP INDEX IX ON dbo.T; ALTER TABLE dbo.T DROP COLUMN half")
    run(
        "ALTER TABLE dbo.T DROP COLUMN name; ALTER TABLE dbo.T DROP COLUMN twice;"
        "ALTER TABLE dbo.T DROP COLUMN total; ALTER TABLE dbo.T DROP COLUMN a"
    )
    assert run("SELECT * FROM dbo.T").rows() == [(1, None), (2, 2), (3, 4)]


def test_columns_keep_their_meaning_when_others_before_them_go(run):
    run("""CREATE TABLE dbo.T (x int, a int, b AS a + 1, CHECK (a < 10));
        CREATE INDEX IX ON dbo.T (a) WHERE a > 2;
        INSERT dbo.T VALUES (7, 1); ALTER TABLE dbo.T DROP COLUMN x; INSERT dbo.T VALUES (3)""")
    assert run("SELECT a, b FROM dbo.T ORDER BY a").rows() == [(1, 2), (3, 4)]


def test_the_catalog_shows_it(table, run):
    assert run(
        "SELECT name, definition, is_persisted, is_nullable FROM sys.computed_columns "
        "ORDER BY column_id"
    ).rows() == [
        ("twice", "(a * 2)", 0, 1),
        ("total", "(a + ISNULL(b, 0))", 1, 1),
        ("name", "(UPPER(CONCAT('x', a)))", 1, 0),
    ]
    assert run("SELECT COUNT(*) FROM sys.columns WHERE is_computed = 1").rows() == [(3,)]


def test_key_constraints_may_stand_on_one(run, error):
    run("CREATE TABLE dbo.T (a int, b AS a % 10 PERSISTED NOT NULL PRIMARY KEY)")
    run("INSERT dbo.T VALUES (1)")
    assert error("INSERT dbo.T VALUES (11)") == 2627
