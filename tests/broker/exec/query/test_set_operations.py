"""UNION, EXCEPT, INTERSECT and common table expressions."""

import pytest


def test_union_removes_duplicates_and_union_all_does_not(lab):
    assert lab.rows("SELECT 1 AS a UNION SELECT 2 UNION SELECT 1 ORDER BY a") == [(1,), (2,)]
    assert lab.rows("SELECT 1 UNION ALL SELECT 1") == [(1,), (1,)]


def test_except_and_intersect_compare_null_as_equal(lab):
    assert lab.rows("SELECT team FROM person EXCEPT SELECT 10 ORDER BY team") == [(None,), (20,)]
    assert lab.rows("SELECT team FROM person INTERSECT SELECT NULL") == [(None,)]


def test_the_columns_take_the_common_type_and_the_first_names(lab):
    result = lab.run("SELECT 1 AS n UNION ALL SELECT 2.5").result_sets[0]
    assert result.names == ["n"]
    assert [str(row[0]) for row in result.rows] == ["1.0", "2.5"]


def test_parentheses_and_order_over_the_whole(lab):
    assert lab.rows("(SELECT 1 AS a UNION ALL SELECT 3) EXCEPT SELECT 1") == [(3,)]
    assert lab.rows(
        "SELECT id FROM person WHERE id < 3 UNION ALL SELECT id FROM team ORDER BY id DESC"
    ) == [(30,), (20,), (10,), (2,), (1,)]


def test_common_tables_build_on_each_other(lab):
    assert lab.rows(
        "WITH a AS (SELECT id FROM person WHERE id > 2), "
        "b(n) AS (SELECT id * 2 FROM a) SELECT n FROM b ORDER BY n"
    ) == [(6,), (8,)]


def test_a_recursive_common_table_counts(lab):
    assert lab.rows(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n"
    ) == [(1,), (2,), (3,), (4,)]


def test_recursion_without_end_stops_at_100(lab):
    assert lab.error("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n") == 530


def test_maxrecursion_moves_the_limit_and_0_lifts_it(lab):
    count = (
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
        "SELECT COUNT(*) FROM n OPTION (MAXRECURSION {})"
    )
    assert lab.value(count.format(0)) == lab.value(count.format(200)) == 200
    assert lab.error(count.format(50)) == 530


def test_a_view_is_its_query(lab):
    lab.run("CREATE VIEW reds AS SELECT p.id, p.name FROM person p WHERE p.team = 10")
    assert lab.rows("SELECT name FROM reds WHERE id = 2") == [("Bob",)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT 1 UNION SELECT 1, 2", 205),
        ("SELECT 1 AS a UNION SELECT 2 ORDER BY a + 1", 104),
        ("WITH a AS (SELECT 1) SELECT * FROM a", 8155),
        ("WITH a(x, y) AS (SELECT 1 AS z) SELECT * FROM a", 8159),
        ("WITH a(x) AS (SELECT 1, 2) SELECT * FROM a", 8158),
        ("WITH a AS (SELECT 1 AS x), a AS (SELECT 2 AS x) SELECT * FROM a", 239),
    ],
)
def test_a_mismatch_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


def test_a_set_operation_is_ordered_by_a_column_as_its_first_select_wrote_it(lab):
    assert lab.rows(
        "SELECT p.id, p.team FROM person p WHERE p.id <= 2 UNION "
        "SELECT q.id + 10, q.team FROM person q WHERE q.id <= 2 "
        "ORDER BY p.team, P.ID DESC"
    ) == [(12, 10), (11, 10), (2, 10), (1, 10)]
    assert (
        lab.error("SELECT p.id FROM person p UNION SELECT q.id FROM person q ORDER BY q.id") == 104
    )


def test_a_set_operation_assigns_no_variable(lab):
    assert lab.error("DECLARE @a int; SELECT @a = 1 UNION SELECT 2") == 10734


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("q AS (SELECT nowhere FROM person)", 207),
        ("q AS (SELECT id FROM nowhere)", 208),
        ("q AS (SELECT id AS x, id AS x FROM person)", 8156),
        ("q AS (SELECT id + 1 FROM person)", 8155),
        ("q (a, b) AS (SELECT id FROM person)", 8159),
        ("r AS (SELECT id FROM person), q AS (SELECT nowhere FROM r)", 207),
    ],
)
@pytest.mark.parametrize(
    "statement", ["SELECT 1", "DELETE FROM person", "UPDATE person SET id = 1"]
)
def test_a_common_table_that_nobody_reads_is_compiled_all_the_same(lab, table, number, statement):
    """Others have seen 207 for it with NOEXEC ON, so before anything runs."""
    assert lab.error(f"WITH {table} {statement}") == number
    assert lab.value("SELECT COUNT(*) FROM person") == 4


def test_nor_does_it_run(lab):
    assert lab.value("WITH q AS (SELECT 1 / 0 AS x) SELECT 7") == 7
