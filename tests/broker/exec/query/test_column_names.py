"""Columns of what stands in FROM: each has a name of its own, as many as the alias lists."""

import pytest


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("(SELECT 1 AS a, 2 AS a) AS x", 8156),
        ("(SELECT 1 AS a, 2 AS A) AS x", 8156),
        ("(SELECT 1, 2) AS x (a, a)", 8156),
        ("(VALUES (1, 2)) AS x (a, a)", 8156),
        ("(SELECT * FROM team AS l CROSS JOIN team AS r) AS x", 8156),
        ("OPENJSON('[]') WITH (a int, a int) AS x", 8156),
        ("team CROSS APPLY (SELECT 1 AS a, 2 AS a) AS x", 8156),
        ("(SELECT 1) AS x", 8155),
        ("(VALUES (1)) AS x", 8155),
        ("(SELECT 1, 2) AS x (a)", 8158),
        ("(SELECT 1) AS x (a, b)", 8159),
    ],
)
def test_a_wrong_list_of_columns_is_refused(lab, source, number):
    assert lab.error(f"SELECT 1 FROM {source}") == number


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("c AS (SELECT 1 AS a, 2 AS a)", 8156),
        ("c (a, a) AS (SELECT 1, 2)", 8156),
        ("c AS (SELECT 1)", 8155),
        ("c (a) AS (SELECT 1, 2)", 8158),
        ("c (a, b) AS (SELECT 1)", 8159),
        ("c AS (SELECT 1 AS a, 1 AS a UNION ALL SELECT a, a FROM c)", 8156),
    ],
)
def test_the_same_holds_for_a_common_table(lab, table, number):
    assert lab.error(f"WITH {table} SELECT 1 FROM c") == number


def test_one_name_given_twice_by_a_query_is_fine_where_the_alias_renames_it(lab):
    assert lab.rows("SELECT p, q FROM (SELECT 1 AS a, 2 AS a) AS x (p, q)") == [(1, 2)]
