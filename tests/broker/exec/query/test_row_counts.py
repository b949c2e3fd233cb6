"""What counts rows in TOP, OFFSET and FETCH.

Source: TOP and "SELECT - ORDER BY clause" pages, numbers of the errors-events pages; which is whose
is known from captures others published.
"""

import pytest

ORDERED = "SELECT id FROM person ORDER BY id "
DECLARED = "DECLARE @none int, @minus int = -1, @text varchar(5) = '1', @d decimal(5, 0) = 1, @f float = 1; "


@pytest.mark.parametrize(
    ("count", "number"),
    [
        ("('2')", 1060),
        ("(1.5)", 1060),
        ("(1e0)", 1060),
        ("(NULL)", 1060),
        ("(CAST(1 AS bit))", 1060),
        ("(CAST(1 AS decimal(5, 0)))", 1060),
        ("(@text)", 1060),
        ("(@d)", 1060),
        ("(@f)", 1060),
        ("(-1)", 127),
        ("(@minus)", 127),
        ("(@none)", 1014),
        ("(101) PERCENT", 1031),
        ("(-0.5) PERCENT", 1031),
        ("(NULL) PERCENT", 1014),
        ("(@none) PERCENT", 1014),
        ("(@minus) PERCENT", 1031),
    ],
)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT TOP {} id FROM person",
        "DELETE TOP {} FROM person",
        "UPDATE TOP {} person SET team = 1",
        "INSERT TOP {} INTO team (id, title) SELECT id, name FROM person",
        "MERGE TOP {} person AS p USING team AS t ON p.team = t.id WHEN MATCHED THEN DELETE;",
    ],
)
def test_top_takes_a_number_of_rows(lab, statement, count, number):
    assert lab.error(DECLARED + statement.format(count)) == number


@pytest.mark.parametrize(
    "count", ["2", "(2)", "(1 + 1)", "(CAST(2 AS tinyint))", "(2.)", "(CAST(2 AS numeric(5, 0)))"]
)
def test_whole_numbers_are_taken(lab, count):
    assert len(lab.rows(f"SELECT TOP {count} id FROM person")) == 2


@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("OFFSET -1 ROWS", 10742),
        ("OFFSET @minus ROWS", 10742),
        ("OFFSET 1.5 ROWS", 10743),
        ("OFFSET '1' ROWS", 10743),
        ("OFFSET NULL ROWS", 10743),
        ("OFFSET @text ROWS", 10743),
        ("OFFSET 0 ROWS FETCH NEXT 0 ROWS ONLY", 10744),
        ("OFFSET 0 ROWS FETCH NEXT -1 ROWS ONLY", 10744),
        ("OFFSET 0 ROWS FETCH NEXT @minus ROWS ONLY", 10744),
        ("OFFSET 0 ROWS FETCH NEXT '1' ROWS ONLY", 1060),
        ("OFFSET 0 ROWS FETCH NEXT @d ROWS ONLY", 1060),
        ("OFFSET 0 ROWS FETCH NEXT @none ROWS ONLY", 1014),
    ],
)
def test_offset_and_fetch_have_numbers_of_their_own(lab, page, number):
    assert lab.error(DECLARED + ORDERED + page) == number


def test_a_count_found_wrong_while_running_leaves_the_transaction_open(lab):
    lab.send(DECLARED + "BEGIN TRANSACTION; SELECT TOP (@minus) id FROM person; ROLLBACK")
    assert lab.value("SELECT @@TRANCOUNT") == 1
