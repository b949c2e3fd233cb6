"""ROLLUP, CUBE, GROUPING SETS, GROUPING(), PIVOT, UNPIVOT, numbers in an order."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE sale (region varchar(5) NULL, year int NOT NULL, sum int NOT NULL); "
        "INSERT sale VALUES ('n', 1, 10), ('n', 2, 20), ('s', 1, 5), ('s', 2, 6), "
        "('s', 2, 4)"
    )
    return made


DETAIL = [("n", 1, 10), ("n", 2, 20), ("s", 1, 5), ("s", 2, 10)]
REGIONS = [("n", None, 30), ("s", None, 15)]
YEARS = [(None, 1, 15), (None, 2, 30)]
TOTAL = [(None, None, 45)]


@pytest.mark.parametrize(
    ("group_by", "rows"),
    [
        ("ROLLUP (region, year)", DETAIL + REGIONS + TOTAL),
        ("CUBE (region, year)", DETAIL + REGIONS + YEARS + TOTAL),
        ("GROUPING SETS ((region, year), year, ())", DETAIL + YEARS + TOTAL),
        ("GROUPING SETS (ROLLUP (region), CUBE (year))", [*REGIONS, *TOTAL, *YEARS, *TOTAL]),
        ("ROLLUP ((region, year))", DETAIL + TOTAL),
        ("region, ROLLUP (year)", DETAIL + REGIONS),
        ("region, year WITH ROLLUP", DETAIL + REGIONS + TOTAL),
        ("region, year WITH CUBE", DETAIL + REGIONS + YEARS + TOTAL),
        ("GROUPING SETS ((region, year))", DETAIL),
    ],
)
def test_every_set_gives_its_groups(lab, group_by, rows):
    found = lab.rows(f"SELECT region, year, SUM(sum) FROM sale GROUP BY {group_by}")
    assert sorted(found, key=repr) == sorted(rows, key=repr)


def test_grouping_tells_a_total_from_a_null(lab):
    lab.run("INSERT sale VALUES (NULL, 1, 1)")
    assert lab.rows(
        "SELECT region, GROUPING(region), SUM(sum) FROM sale GROUP BY ROLLUP (region) ORDER BY 2, 1"
    ) == [(None, 0, 1), ("n", 0, 30), ("s", 0, 15), (None, 1, 46)]


def test_grouping_id_is_the_bits_of_its_arguments(lab):
    assert lab.rows(
        "SELECT GROUPING_ID(region, year), COUNT(*) FROM sale GROUP BY "
        "CUBE (region, year) HAVING GROUPING_ID(region, year) > 0 "
        "ORDER BY GROUPING_ID(region, year), 2"
    ) == [(1, 2), (1, 3), (2, 2), (2, 3), (3, 5)]
    assert lab.rows("SELECT GROUPING(region) FROM sale GROUP BY region") == [(0,), (0,)]


def test_the_empty_set_is_one_group_without_rows_too(lab):
    assert lab.rows("SELECT COUNT(*) FROM sale WHERE year = 9 GROUP BY ()") == [(0,)]
    assert lab.rows("SELECT region, COUNT(*) FROM sale WHERE year = 9 GROUP BY region") == []


def test_totals_make_a_column_nullable(lab):
    sink = lab.run("SELECT year FROM sale GROUP BY ROLLUP (year)")
    assert sink.result_sets[0].columns[0].nullable
    sink = lab.run("SELECT year FROM sale GROUP BY year")
    assert not sink.result_sets[0].columns[0].nullable


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT GROUPING(sum) FROM sale GROUP BY region", 8161),
        ("SELECT GROUPING_ID(region, sum) FROM sale GROUP BY region", 8161),
        ("SELECT sum FROM sale GROUP BY ROLLUP (region)", 8120),
        (
            "SELECT 1 FROM sale GROUP BY CUBE (region, year), CUBE (region, year), CUBE (region, year), "
            "CUBE (region, year), CUBE (region, year), CUBE (region, year), CUBE (region)",
            10703,
        ),
    ],
)
def test_what_is_no_set_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


# ---------------------------------------------------------------------- PIVOT, UNPIVOT
def test_pivot_turns_values_into_columns(lab):
    sink = lab.run(
        "SELECT * FROM sale PIVOT (SUM(sum) FOR year IN ([1], [2], [3])) AS p ORDER BY region"
    )
    assert [c.name for c in sink.result_sets[0].columns] == ["region", "1", "2", "3"]
    assert sink.result_sets[0].rows == [("n", 10, 20, None), ("s", 5, 10, None)]


def test_pivot_without_other_columns_is_one_row(lab):
    assert lab.rows(
        "SELECT [n], p.[s] FROM (SELECT region, sum FROM sale) AS x "
        "PIVOT (COUNT(sum) FOR region IN (n, s)) AS p"
    ) == [(2, 3)]


def test_unpivot_turns_columns_into_rows_and_leaves_nulls_out(lab):
    assert lab.rows(
        "SELECT * FROM (VALUES (1, 10, 20), (2, NULL, 40)) AS v(id, a, b) "
        "UNPIVOT (amount FOR label IN (a, b)) AS u"
    ) == [(1, 10, "a"), (1, 20, "b"), (2, 40, "b")]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT * FROM sale PIVOT (SUM(nope) FOR year IN ([1])) AS p", 207),
        ("SELECT * FROM sale PIVOT (SUM(sum) FOR nope IN ([1])) AS p", 207),
        ("SELECT * FROM sale PIVOT (SUM(sum) FOR year IN ([1], [1])) AS p", 8156),
        ("SELECT * FROM sale PIVOT (SUM(sum) FOR year IN ([region])) AS p", 265),
        ("SELECT * FROM sale UNPIVOT (x FOR y IN (region, year)) AS u", 8167),
        ("SELECT * FROM sale UNPIVOT (region FOR y IN (year, sum)) AS u", 265),
        ("SELECT * FROM sale UNPIVOT (x FOR y IN (year, year)) AS u", 8156),
        ("SELECT * FROM sale UNPIVOT (x FOR y IN (nope)) AS u", 207),
    ],
)
def test_what_cannot_be_turned_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


# ---------------------------------------------------------------------- sequences
def test_next_value_for_over_numbers_rows_in_an_order(lab):
    lab.run("CREATE SEQUENCE q START WITH 1")
    assert lab.rows(
        "SELECT sum, NEXT VALUE FOR q OVER (ORDER BY sum DESC) FROM sale ORDER BY 1"
    ) == [(4, 5), (5, 4), (6, 3), (10, 2), (20, 1)]
