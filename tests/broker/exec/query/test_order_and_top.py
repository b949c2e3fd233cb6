"""ORDER BY, TOP, OFFSET, DISTINCT and window functions."""

from decimal import Decimal

import pytest


def test_null_comes_first_and_last_when_descending(lab):
    assert lab.rows("SELECT score FROM person ORDER BY score") == [
        (None,),
        (Decimal("1.50"),),
        (Decimal("2.50"),),
        (Decimal("4.00"),),
    ]
    assert lab.rows("SELECT score FROM person ORDER BY score DESC")[-1] == (None,)


def test_order_by_alias_ordinal_expression_and_hidden_column(lab):
    assert lab.rows("SELECT id AS x FROM person ORDER BY x DESC") == [(4,), (3,), (2,), (1,)]
    assert lab.rows("SELECT id, name FROM person ORDER BY 2 DESC")[0] == (4, "Dee")
    assert lab.rows("SELECT id FROM person ORDER BY id % 2, id") == [(2,), (4,), (1,), (3,)]
    assert lab.rows("SELECT id FROM person ORDER BY name DESC")[0] == (4,)


def test_an_alias_wins_over_a_column_of_the_same_name(lab):
    assert lab.rows("SELECT -id AS id FROM person ORDER BY id") == [(-4,), (-3,), (-2,), (-1,)]


def test_text_is_ordered_by_the_collation(lab):
    assert lab.rows("SELECT x FROM (VALUES ('b'), ('A'), ('a'), ('B')) v(x) ORDER BY x") == [
        ("A",),
        ("a",),
        ("b",),
        ("B",),
    ]


def test_top_with_a_variable_and_with_ties(lab):
    assert lab.rows("DECLARE @n int = 2; SELECT TOP (@n) id FROM person ORDER BY id DESC") == [
        (4,),
        (3,),
    ]
    assert lab.rows("SELECT TOP (2) WITH TIES team FROM person WHERE team > 0 ORDER BY team") == [
        (10,),
        (10,),
    ]
    assert lab.rows("SELECT TOP (1) WITH TIES id FROM person ORDER BY team / 15") == [(4,)]
    assert lab.rows("SELECT TOP (0) id FROM person") == []


def test_offset_and_fetch(lab):
    assert lab.rows("SELECT id FROM person ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY") == [
        (2,),
        (3,),
    ]
    assert lab.rows("SELECT id FROM person ORDER BY id OFFSET 3 ROWS") == [(4,)]


def test_distinct(lab):
    assert lab.rows("SELECT DISTINCT team FROM person ORDER BY team") == [(None,), (10,), (20,)]


def test_row_number_rank_and_dense_rank(lab):
    assert lab.rows(
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY team ORDER BY id DESC), "
        "RANK() OVER (ORDER BY team), DENSE_RANK() OVER (ORDER BY team) FROM person ORDER BY id"
    ) == [(1, 2, 2, 2), (2, 1, 2, 2), (3, 1, 4, 3), (4, 1, 1, 1)]


def test_running_and_whole_window_sums(lab):
    assert lab.rows(
        "SELECT id, SUM(id) OVER (ORDER BY id), SUM(id) OVER (), COUNT(*) OVER "
        "(PARTITION BY team) FROM person ORDER BY id"
    ) == [(1, 1, 10, 2), (2, 3, 10, 2), (3, 6, 10, 1), (4, 10, 10, 1)]


def test_lag_and_lead(lab):
    assert lab.rows(
        "SELECT id, LAG(id) OVER (ORDER BY id), LEAD(id, 2) OVER (ORDER BY id) FROM person"
    ) == [(1, None, 3), (2, 1, 4), (3, 2, None), (4, 3, None)]


def test_a_window_over_groups(lab):
    assert lab.rows(
        "SELECT team, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, team) FROM person "
        "GROUP BY team ORDER BY 2"
    ) == [(10, 1), (None, 2), (20, 3)]


def test_delete_duplicates_by_row_number_reads_right(lab):
    assert lab.rows(
        "WITH n AS (SELECT id, ROW_NUMBER() OVER (PARTITION BY team ORDER BY id) AS r "
        "FROM person) SELECT id FROM n WHERE r > 1"
    ) == [(2,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT DISTINCT team FROM person ORDER BY id", 145),
        ("SELECT id FROM person ORDER BY 2", 108),
        ("SELECT TOP (1) WITH TIES id FROM person", 1062),
        ("SELECT TOP (1) id FROM person ORDER BY id OFFSET 1 ROWS", 10741),
        ("DECLARE @n int = -1; SELECT TOP (@n) id FROM person", 127),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY id) FROM person", 4112),
        ("SELECT id FROM person WHERE ROW_NUMBER() OVER (ORDER BY id) = 1", 4108),
    ],
)
def test_a_wrong_order_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


@pytest.mark.parametrize(
    ("percent", "rows"),
    [("0", 0), ("1", 1), ("25", 1), ("26", 2), ("50", 2), ("50.5", 3), ("100", 4)],
)
def test_a_percentage_is_rounded_up_to_whole_rows(lab, percent, rows):
    assert len(lab.rows(f"SELECT TOP ({percent}) PERCENT id FROM person ORDER BY id")) == rows


def test_percent_goes_with_ties(lab):
    assert lab.rows(
        "SELECT TOP (25) PERCENT WITH TIES id FROM person WHERE team IS NOT NULL ORDER BY team"
    ) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT TOP (101) PERCENT id FROM person", 1031),
        ("SELECT TOP (-1) PERCENT id FROM person", 1031),
        ("SELECT id FROM person ORDER BY id OFFSET -1 ROWS", 10742),
        ("SELECT id FROM person ORDER BY id OFFSET 0 ROWS FETCH NEXT 0 ROWS ONLY", 10744),
    ],
)
def test_counts_out_of_range_are_errors(lab, sql, number):
    assert lab.error(sql) == number


def test_percent_limits_data_changes_too(lab):
    assert lab.value("UPDATE TOP (50) PERCENT person SET score = 0; SELECT @@ROWCOUNT") == 2
    assert lab.value("DELETE TOP (30) PERCENT person; SELECT COUNT(*) FROM person") == 2
    assert (
        lab.value(
            "INSERT TOP (50) PERCENT team SELECT id + 100, title FROM team; SELECT @@ROWCOUNT"
        )
        == 2
    )


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT TOP (team) id FROM person", 4115),
        ("SELECT TOP (person.team + 1) PERCENT id FROM person", 4115),
        ("SELECT id FROM person ORDER BY id OFFSET team ROWS", 4115),
        ("SELECT id FROM person ORDER BY id OFFSET 0 ROWS FETCH NEXT (team) ROWS ONLY", 4115),
        ("DELETE TOP (id) FROM person", 4115),
        ("SELECT TOP (COUNT(*)) id FROM person", 162),
        ("SELECT TOP ((SELECT nowhere FROM person)) id FROM person", 207),
    ],
)
def test_a_count_of_rows_sees_no_column_of_its_own_query(lab, sql, number):
    """Numbers as others have recorded them on 2022: 4115 names the column without its table."""
    assert lab.error(sql) == number


def test_a_count_of_rows_sees_the_query_around_it(lab):
    most = "SELECT (SELECT COUNT(*) FROM (SELECT TOP (o.id) id FROM person) AS p) FROM person AS o"
    assert lab.rows(most) == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("value", ["-1", "@none", "@few"])
def test_set_rowcount_wants_a_number_that_is_not_negative(lab, value):
    assert lab.error(f"DECLARE @none int, @few int = -3; SET ROWCOUNT {value}") == 507
