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
    "text",
    [
        "SELECT 1 WHERE NEXT VALUE FOR dbo.s > 1",
        "SELECT (SELECT NEXT VALUE FOR dbo.s)",
        "SELECT CASE WHEN 1 = 1 THEN NEXT VALUE FOR dbo.s END",
        "SELECT NEXT VALUE FOR dbo.s, NEXT VALUE FOR dbo.s",
        "SELECT DISTINCT NEXT VALUE FOR dbo.s",
    ],
)
def test_other_places_are_refused(numbered, text):
    assert "NEXT VALUE FOR" in numbered.refusal(text)


def test_an_unknown_sequence_is_208(lab):
    assert lab.error("SELECT NEXT VALUE FOR dbo.nope") == 208
