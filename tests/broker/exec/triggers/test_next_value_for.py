"""NEXT VALUE FOR: one number per row, never given back."""

import pytest


@pytest.fixture
def numbered(lab):
    lab.run("CREATE SEQUENCE dbo.s AS int START WITH 5 INCREMENT BY 2 MAXVALUE 13")
    return lab


def test_every_row_gets_its_number(numbered):
    lab = numbered
    assert lab.value("SELECT NEXT VALUE FOR dbo.s") == 5
    assert lab.value("DECLARE @n int = NEXT VALUE FOR s; SELECT @n") == 7
    lab.run("INSERT dbo.t VALUES (NEXT VALUE FOR dbo.s, 0), (NEXT VALUE FOR dbo.s, 0)")
    assert lab.rows("SELECT id FROM dbo.t") == [(9,), (11,)]


def test_numbers_are_not_given_back_and_run_out(numbered):
    lab = numbered
    lab.run("BEGIN TRANSACTION; INSERT dbo.t SELECT NEXT VALUE FOR dbo.s, 0; ROLLBACK")
    lab.run("INSERT dbo.t (id, x) SELECT NEXT VALUE FOR dbo.s, v FROM (VALUES (1), (2)) AS d (v)")
    assert lab.rows("SELECT id, x FROM dbo.t") == [(7, 1), (9, 2)]
    assert (
        lab.error(
            "INSERT dbo.t SELECT NEXT VALUE FOR dbo.s, v FROM (VALUES (1), (2), (3)) AS d (v)"
        )
        == 11728
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SELECT 1 WHERE NEXT VALUE FOR dbo.s > 1", 11720),
        ("SELECT v FROM (VALUES (1)) AS d (v) GROUP BY v HAVING NEXT VALUE FOR dbo.s > 1", 11720),
        ("SELECT (SELECT NEXT VALUE FOR dbo.s)", 11719),
        ("SELECT n FROM (SELECT NEXT VALUE FOR dbo.s AS n) AS d", 11719),
        ("WITH c AS (SELECT NEXT VALUE FOR dbo.s AS n) SELECT n FROM c", 11719),
        ("SELECT CASE WHEN 1 = 1 THEN NEXT VALUE FOR dbo.s END", 11741),
        ("SELECT ISNULL(NEXT VALUE FOR dbo.s, 1)", 11741),
        ("SELECT DISTINCT NEXT VALUE FOR dbo.s", 11721),
        ("SELECT NEXT VALUE FOR dbo.s UNION ALL SELECT 1", 11721),
        ("SELECT NEXT VALUE FOR dbo.s FROM (VALUES (1)) AS d (v) ORDER BY v", 11723),
    ],
)
def test_places_that_the_page_excludes(numbered, text, number):
    """Its Limitations; 11719 and 11721 are recorded (F-531)."""
    assert numbered.error(text) == number


def test_two_numbers_of_one_sequence_in_a_row_are_refused(numbered):
    text = "SELECT NEXT VALUE FOR dbo.s, NEXT VALUE FOR dbo.s"
    assert "NEXT VALUE FOR" in numbered.refusal(text)


def test_restart_begins_where_the_last_restart_with_did(numbered):
    """Recorded (F-531)."""
    numbered.run("ALTER SEQUENCE dbo.s RESTART WITH 2")
    numbered.value("SELECT NEXT VALUE FOR dbo.s")
    numbered.run("ALTER SEQUENCE dbo.s RESTART")
    assert numbered.value("SELECT NEXT VALUE FOR dbo.s") == 2


def test_an_unknown_sequence_is_208(lab):
    assert lab.error("SELECT NEXT VALUE FOR dbo.nope") == 208
