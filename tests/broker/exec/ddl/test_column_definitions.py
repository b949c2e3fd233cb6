"""What a column's CHECK, DEFAULT, IDENTITY and key say, and how wide a row may be.

Source: "CREATE TABLE", "IDENTITY (Property)" and "CREATE SEQUENCE" pages, "Maximum capacity
specifications" page; numbers of the errors-events pages.
"""

import pytest


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("a int CHECK (b > 0), b int", 8141),
        ("a int, b int CHECK (a > 0)", 8141),
        ("a int, b int CONSTRAINT c CHECK (a > b)", 8141),
        ("a int CHECK (z > 0)", 207),
        ("a int CHECK ((SELECT 1) = 1)", 1046),
        ("a int CHECK (COUNT(a) > 1)", 175),
        ("a int DEFAULT (SELECT 1)", 1046),
        ("a int, b int DEFAULT a", 128),
        ("a int IDENTITY(1, 0)", 2753),
        ("a int IDENTITY(1, 1.5)", 2753),
        ("a tinyint IDENTITY(1, 300)", 2753),
        ("a int IDENTITY(1.5, 1)", 2752),
        ("a tinyint IDENTITY(-1, 1)", 2752),
        ("a decimal(3, 0) IDENTITY(1000, 1)", 2752),
        ("a int IDENTITY(99999999999, 1)", 2752),
        ("a int IDENTITY(1, 'x')", 102),
        ("a int IDENTITY('x', 1)", 102),
        ("a int IDENTITY(NULL, 1)", 156),
        ("a int IDENTITY(1 + 1, 1)", 102),
        ("a int PRIMARY KEY (NULL)", 156),
        ("a int, UNIQUE (1)", 102),
        ("a int, UNIQUE ('a')", 102),
        ("a int, PRIMARY KEY (a + 1)", 102),
        ("a int, INDEX i (1)", 102),
    ],
)
def test_a_wrong_definition_is_refused(error, table, number):
    assert error(f"CREATE TABLE dbo.t ({table})") == number


@pytest.mark.parametrize(
    "table",
    [
        "a int CHECK (a > 0), b int, CHECK (a > b)",
        "a int IDENTITY(-5, -1), b int DEFAULT (1 + 1)",
        "a decimal(5, 0) IDENTITY(1., +1)",
        "a int, b int, PRIMARY KEY (b DESC, a ASC)",
    ],
)
def test_what_the_pages_allow_is_created(run, table):
    run(f"CREATE TABLE dbo.t ({table})")


def test_a_check_of_an_added_column_names_it_alone(run, error):
    run("CREATE TABLE dbo.t (a int)")
    assert error("ALTER TABLE dbo.t ADD b int CHECK (a > 0)") == 8141
    assert error("CREATE INDEX i ON dbo.t (NULL)") == 156


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ("START WITH 'x'", 102),
        ("START WITH NULL", 156),
        ("INCREMENT BY 'x'", 102),
        ("MINVALUE 'x'", 102),
        ("START WITH 1.5", 11708),
        ("AS tinyint START WITH 300", 11708),
        ("AS int MAXVALUE 3000000000", 11708),
        ("AS tinyint INCREMENT BY -1", None),
        ("INCREMENT BY 0", 11700),
        ("MINVALUE 1 MAXVALUE 5 INCREMENT BY 6", 11701),
        ("AS int START WITH 5 MAXVALUE 3", 11703),
        ("MINVALUE 5 MAXVALUE 1", 11705),
    ],
)
def test_the_numbers_of_a_sequence_fit_its_type_and_each_other(error, options, number):
    assert error(f"CREATE SEQUENCE dbo.s {options}") == number


@pytest.mark.parametrize(
    ("columns", "size"),
    [
        ("a char(8000), b char(54)", 8061),
        ("a nchar(4000), b nchar(100)", 8207),
        ("a char(8000), b char(60), v varchar(10), w varchar(10)", 8067),
        ("a char(8000), b char(40), c int, d int, e int, f int, g int, h int, i int", 8076),
    ],
)
def test_a_table_whose_shortest_row_is_too_long_is_refused(session, columns, size):
    error = session.execute(f"CREATE TABLE dbo.t ({columns})").error()
    assert error.number == 1701 and f"would be {size}, including" in error.text
    assert session.execute(f"CREATE TABLE #t ({columns})").error().number == 1701
    assert session.execute(f"DECLARE @t TABLE ({columns})").error().number == 1701


@pytest.mark.parametrize(
    "columns",
    [
        "a char(8000), b char(53)",
        "a char(8000), b char(50), " + ", ".join(f"b{i} bit" for i in range(9)),
        "a varchar(8000), b nvarchar(4000), c xml, d varbinary(max)",
        "a nchar(4000), b char(100) SPARSE",
    ],
)
def test_columns_that_may_move_and_bits_make_no_row_too_long(run, columns):
    run(f"CREATE TABLE dbo.t ({columns})")


def test_another_column_may_make_it_too_long_later(run, error):
    run("CREATE TABLE dbo.t (a char(8000), b char(40))")
    assert error("ALTER TABLE dbo.t ADD c char(20)") == 1701
    assert error("ALTER TABLE dbo.t ALTER COLUMN b char(60)") == 1701
    query = "SELECT CAST('a' AS char(8000)) AS a, CAST('b' AS char(100)) AS b INTO dbo.u"
    assert error(query) == 1701


def test_a_row_is_too_long_when_it_is_with_all_moved_that_can_be(run, session):
    run("CREATE TABLE dbo.t (a char(8000), b varchar(8000), c varchar(100))")
    run("INSERT dbo.t VALUES ('a', REPLICATE('b', 8000), NULL)")
    found = session.execute("INSERT dbo.t VALUES ('a', REPLICATE('b', 90), REPLICATE('c', 90))")
    assert found.error().number == 511
    assert "row of size 8061 which" in found.error().text
    assert session.execute("UPDATE dbo.t SET c = REPLICATE('c', 24)").error().number == 511
    run("UPDATE dbo.t SET c = 'c'")
