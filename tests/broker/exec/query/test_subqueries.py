"""Queries inside expressions."""

import pytest


def test_a_scalar_subquery_is_null_without_a_row(lab):
    assert lab.value("SELECT (SELECT name FROM person WHERE id = 99)") is None


def test_a_correlated_subquery_sees_the_outer_row(lab):
    assert lab.rows(
        "SELECT t.id, (SELECT COUNT(*) FROM person p WHERE p.team = t.id) FROM team t ORDER BY 1"
    ) == [(10, 2), (20, 1), (30, 0)]


def test_exists_and_not_exists(lab):
    assert lab.rows(
        "SELECT id FROM team t WHERE NOT EXISTS (SELECT * FROM person WHERE team = t.id)"
    ) == [(30,)]
    assert (
        lab.value("IF EXISTS (SELECT 1 FROM person WHERE id = 2) SELECT 'yes' ELSE SELECT 'no'")
        == "yes"
    )


def test_in_and_not_in_with_null(lab):
    assert lab.rows("SELECT id FROM team WHERE id IN (SELECT team FROM person) ORDER BY id") == [
        (10,),
        (20,),
    ]
    assert lab.rows("SELECT id FROM team WHERE id NOT IN (SELECT team FROM person)") == []


def test_any_and_all(lab):
    assert lab.rows("SELECT id FROM person WHERE id >= ALL (SELECT id FROM person)") == [(4,)]
    assert lab.rows(
        "SELECT id FROM person WHERE id * 10 = ANY (SELECT id FROM team) ORDER BY id"
    ) == [(1,), (2,), (3,)]


def test_subqueries_nest_over_two_levels(lab):
    assert lab.rows(
        "SELECT p.id FROM person p WHERE EXISTS (SELECT 1 FROM team t "
        "WHERE t.id = p.team AND EXISTS (SELECT 1 FROM person q "
        "WHERE q.team = t.id AND q.id = p.id + 1))"
    ) == [(1,)]


def test_a_subquery_in_the_on_condition_of_a_left_join(lab):
    assert lab.rows(
        "SELECT t.id, p.id FROM team t LEFT JOIN person p ON p.team = t.id AND p.id = "
        "(SELECT MAX(q.id) FROM person q WHERE q.team = t.id) ORDER BY 1"
    ) == [(10, 2), (20, 3), (30, None)]


def test_set_and_declare_take_subqueries(lab):
    assert (
        lab.value(
            "DECLARE @n int = (SELECT COUNT(*) FROM person); "
            "SET @n += (SELECT MAX(id) FROM team); SELECT @n"
        )
        == 34
    )


def test_a_subquery_inside_apply_reads_all_outer_levels(lab):
    assert lab.rows(
        "SELECT t.id, x.c FROM team t CROSS APPLY (SELECT (SELECT COUNT(*) "
        "FROM person p WHERE p.team = t.id) AS c) x "
        "ORDER BY 1"
    ) == [(10, 2), (20, 1), (30, 0)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT (SELECT id FROM person)", 512),
        ("SELECT (SELECT 1, 2)", 116),
        ("SELECT 1 WHERE 1 IN (SELECT 1, 2)", 116),
    ],
)
def test_a_wrong_subquery_is_an_error(lab, sql, number):
    assert lab.error(sql) == number
