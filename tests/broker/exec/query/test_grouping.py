"""GROUP BY, HAVING and aggregates."""

from decimal import Decimal

import pytest


def test_aggregates_ignore_null_and_count_star_does_not(lab):
    assert lab.rows(
        "SELECT COUNT(*), COUNT(team), COUNT(DISTINCT team), MIN(name), MAX(score) FROM person"
    ) == [(4, 3, 2, "Ann", Decimal("4.00"))]


@pytest.mark.parametrize("what", ["MAX(score)", "COUNT(team)", "SUM(DISTINCT team)"])
def test_a_null_that_takes_no_part_is_a_warning(lab, what):
    assert [m.number for m in lab.run(f"SELECT {what} FROM person").messages] == [8153]
    assert lab.run("SELECT COUNT(*), MAX(id), MAX(ISNULL(team, 0)) FROM person").messages == []


def test_groups_by_column_with_null_as_a_group(lab):
    assert lab.rows("SELECT team, COUNT(*) FROM person GROUP BY team ORDER BY team") == [
        (None, 1),
        (10, 2),
        (20, 1),
    ]


def test_groups_by_expression(lab):
    assert lab.rows("SELECT id % 2, SUM(id) FROM person GROUP BY id % 2 ORDER BY id % 2") == [
        (0, 6),
        (1, 4),
    ]


def test_having_filters_groups(lab):
    assert lab.rows("SELECT team FROM person GROUP BY team HAVING COUNT(*) > 1") == [(10,)]


def test_an_aggregate_without_group_by_gives_one_row_for_no_rows(lab):
    assert lab.rows("SELECT COUNT(*), SUM(id), MAX(name) FROM person WHERE id > 9") == [
        (0, None, None)
    ]
    assert lab.rows("SELECT COUNT(*) FROM person WHERE id > 9 GROUP BY team") == []


def test_sum_and_avg_keep_the_kind_of_number(lab):
    assert lab.rows("SELECT SUM(id), AVG(id), SUM(score), AVG(score) FROM person") == [
        (10, 2, Decimal("8.00"), Decimal("2.666666"))
    ]


def test_sum_beyond_int_overflows(lab):
    assert lab.error("SELECT SUM(x) FROM (VALUES (2147483647), (1)) v(x)") == 8115


def test_string_agg_orders_within_the_group(lab):
    assert lab.rows(
        "SELECT team, STRING_AGG(name, ', ') WITHIN GROUP (ORDER BY name DESC) "
        "FROM person WHERE team IS NOT NULL GROUP BY team ORDER BY team"
    ) == [(10, "Bob, Ann"), (20, "Cid")]


def test_expressions_over_group_columns_and_aggregates(lab):
    assert lab.rows(
        "SELECT team + 1, COUNT(*) * 10, CASE WHEN MAX(id) > 2 THEN 'late' "
        "ELSE 'early' END FROM person GROUP BY team HAVING team IS NOT NULL "
        "ORDER BY COUNT(*) DESC"
    ) == [(11, 20, "early"), (21, 10, "late")]


def test_a_subquery_in_the_select_list_may_read_group_columns(lab):
    assert lab.rows(
        "SELECT (SELECT title FROM team t WHERE t.id = p.team), COUNT(*) FROM person p "
        "WHERE team = 10 GROUP BY p.team"
    ) == [("red", 2)]


def test_groups_text_by_the_collation(lab):
    assert (
        lab.value(
            "SELECT COUNT(*) FROM (SELECT x FROM (VALUES ('a'), ('A'), ('b')) v(x) GROUP BY x) g"
        )
        == 2
    )


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT name, COUNT(*) FROM person", 8120),
        ("SELECT name FROM person GROUP BY team", 8120),
        ("SELECT id FROM person WHERE COUNT(*) > 1", 147),
        ("SELECT SUM(name) FROM person", 8117),
        ("SELECT SUM(COUNT(*)) FROM person", 130),
        ("SELECT COUNT(*) FROM person GROUP BY 1", 164),
        ("SELECT (SELECT SUM(i.id + p.id) FROM person AS i) FROM person AS p", 8124),
        ("SELECT (SELECT MAX(CONCAT(p.name, p.team)) FROM person AS i) FROM person AS p", 8124),
    ],
)
def test_what_is_no_group_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


def test_a_column_of_the_query_around_it_may_be_aggregated_alone_or_beside_the_aggregate(lab):
    lab.run("SELECT (SELECT SUM(p.id + p.id) FROM person AS i) FROM person AS p")
    lab.run("SELECT (SELECT SUM(i.id) + p.id FROM person AS i) FROM person AS p")
    names = "STRING_AGG(i.name, ',') WITHIN GROUP (ORDER BY p.id)"
    lab.run(f"SELECT (SELECT {names} FROM person AS i) FROM person AS p")
