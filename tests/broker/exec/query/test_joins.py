"""Joins of every kind give the rows of their definition."""

import pytest


def test_inner_join(lab):
    assert lab.rows(
        "SELECT p.name, t.title FROM person p JOIN team t ON t.id = p.team ORDER BY p.id"
    ) == [("Ann", "red"), ("Bob", "red"), ("Cid", "green")]


def test_a_local_join_hint_has_a_message_and_one_of_the_query_has_none(lab):
    hinted = lab.run("SELECT p.id FROM person p INNER LOOP JOIN team t ON t.id = p.team")
    assert [m.number for m in hinted.messages] == [8625]
    query = "SELECT p.id FROM person p JOIN team t ON t.id = p.team OPTION (LOOP JOIN)"
    assert lab.run(query).messages == []


def test_comma_join_with_its_condition_in_where(lab):
    assert lab.rows(
        "SELECT p.id FROM person p, team t WHERE t.id = p.team AND t.title = 'red' ORDER BY 1"
    ) == [(1,), (2,)]


def test_left_join_keeps_every_left_row(lab):
    assert lab.rows(
        "SELECT p.id, t.title FROM person p LEFT JOIN team t ON t.id = p.team "
        "AND t.title <> 'red' ORDER BY p.id"
    ) == [(1, None), (2, None), (3, "green"), (4, None)]


def test_a_where_on_the_right_side_of_a_left_join_is_checked_after_it(lab):
    assert lab.rows(
        "SELECT p.id FROM person p LEFT JOIN team t ON t.id = p.team WHERE t.id IS NULL"
    ) == [(4,)]


def test_right_join_keeps_every_right_row(lab):
    assert lab.rows(
        "SELECT p.id, t.id FROM person p RIGHT JOIN team t ON t.id = p.team ORDER BY t.id, p.id"
    ) == [(1, 10), (2, 10), (3, 20), (None, 30)]


def test_full_join_keeps_both(lab):
    assert lab.rows(
        "SELECT p.id, t.id FROM person p FULL JOIN team t ON t.id = p.team ORDER BY p.id, t.id"
    ) == [(None, 30), (1, 10), (2, 10), (3, 20), (4, None)]


def test_cross_join(lab):
    assert lab.value("SELECT COUNT(*) FROM person CROSS JOIN team") == 12


def test_joins_nest(lab):
    assert lab.rows(
        "SELECT a.id, b.id, t.title FROM person a LEFT JOIN (person b JOIN team t "
        "ON t.id = b.team) ON b.id = a.id + 1 ORDER BY a.id"
    ) == [(1, 2, "red"), (2, 3, "green"), (3, None, None), (4, None, None)]


def test_null_keys_never_match(lab):
    assert lab.rows(
        "SELECT a.id, b.id FROM person a JOIN person b ON a.team = b.team WHERE a.id < b.id"
    ) == [(1, 2)]


def test_text_joins_by_the_collation(lab):
    assert lab.rows(
        "SELECT p.id FROM person p JOIN (VALUES ('ANN '), ('dee')) v(n) ON v.n = p.name ORDER BY 1"
    ) == [(1,), (4,)]


def test_derived_table_and_values(lab):
    assert lab.rows(
        "SELECT d.n, v.x FROM (SELECT team, COUNT(*) AS n FROM person GROUP BY team) d "
        "JOIN (VALUES (10, 'ten'), (20, 'twenty')) AS v(id, x) ON v.id = d.team "
        "ORDER BY v.id"
    ) == [(2, "ten"), (1, "twenty")]


def test_cross_apply_sees_the_row_beside_it(lab):
    assert lab.rows(
        "SELECT t.id, x.name FROM team t CROSS APPLY (SELECT TOP 1 name FROM person p "
        "WHERE p.team = t.id ORDER BY p.id DESC) x ORDER BY 1"
    ) == [(10, "Bob"), (20, "Cid")]


def test_outer_apply_keeps_rows_without_a_match(lab):
    assert lab.rows(
        "SELECT t.id, x.n FROM team t OUTER APPLY (SELECT name AS n FROM person p "
        "WHERE p.team = t.id AND p.id > 1) x ORDER BY 1"
    ) == [(10, "Bob"), (20, "Cid"), (30, None)]


def test_apply_over_the_nodes_of_an_xml_column(lab):
    lab.run(
        "CREATE TABLE x (id int PRIMARY KEY, d xml); "
        "INSERT x VALUES (1, '<r><i v=\"1\"/><i v=\"2\"/></r>'), (2, '<r/>')"
    )
    assert lab.rows(
        "SELECT x.id, n.c.value('@v', 'int') FROM x CROSS APPLY d.nodes('/r/i') AS n(c)"
    ) == [(1, 1), (1, 2)]


def test_a_table_variable_and_a_temp_table_join(lab):
    assert lab.rows(
        "DECLARE @t TABLE (id int PRIMARY KEY); INSERT @t VALUES (1), (3); "
        "CREATE TABLE #x (id int); INSERT #x VALUES (3), (4); "
        "SELECT p.name FROM person p JOIN @t a ON a.id = p.id JOIN #x b "
        "ON b.id = p.id"
    ) == [("Cid",)]


def test_a_join_of_many_rows_does_not_compare_every_pair(lab):
    lab.run(
        "CREATE TABLE big (a int, b int); "
        "WITH d(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM d WHERE x < 99) "
        "INSERT big SELECT l.x * 100 + r.x, r.x FROM d l CROSS JOIN d r"
    )
    assert lab.value("SELECT COUNT(*) FROM big l JOIN big r ON l.a = r.a") == 10_000


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM person TABLESAMPLE (10 PERCENT)",
    ],
)
def test_what_is_not_supported_is_refused(lab, sql):
    assert "does not support" in lab.refusal(sql)


def test_a_full_join_of_many_rows_does_not_compare_every_pair(lab):
    lab.run(
        "CREATE TABLE big (a int NULL, b int); "
        "WITH d(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM d WHERE x < 99) "
        "INSERT big SELECT l.x * 100 + r.x, r.x FROM d l CROSS JOIN d r; "
        "INSERT big VALUES (NULL, 1)"
    )
    assert (
        lab.value("SELECT COUNT(*) FROM big l FULL JOIN big r ON l.a = r.a AND r.b < 50")
        == 5000 + 5001 + 5001
    )


@pytest.mark.parametrize(
    "inner",
    [
        "(SELECT id AS k, title FROM team)",
        "titles",
        "both_ways",
    ],
)
def test_a_view_or_derived_table_is_searched_by_the_rows_before_it(lab, inner):
    lab.run("CREATE VIEW titles AS SELECT id AS k, title FROM team WHERE id > 0")
    lab.run("CREATE VIEW both_ways AS SELECT k, title FROM titles")
    alias = f"{inner} AS x" if inner.startswith("(") else f"{inner} x WITH (UPDLOCK)"
    lab.watch("team", "person")
    sql = f"SELECT p.name, x.title FROM person p JOIN {alias} ON x.k = p.team WHERE p.id = 3"
    if not inner.startswith("("):
        taken = lab.locks(f"BEGIN TRANSACTION; {sql}")
        assert [lock for lock in taken if " C(" in lock] == ["U C(20)"]
        lab.run("ROLLBACK")
    assert lab.rows(sql) == [("Cid", "green")]
    assert lab.rows(sql.replace("JOIN", "LEFT JOIN").replace("p.id = 3", "p.id = 4")) == [
        ("Dee", None)
    ]


def test_conditions_on_a_view_are_asked_of_the_rows_it_shows_only(lab):
    lab.run("CREATE TABLE x (a varchar(5)); INSERT x VALUES ('12'), ('no'), ('3')")
    lab.run("CREATE VIEW numbers AS SELECT a FROM x WHERE a NOT LIKE '%[^0-9]%'")
    assert lab.rows("SELECT a FROM numbers WHERE CAST(a AS int) > 5") == [("12",)]


def test_a_right_join_stands_beside_apply(lab):
    assert lab.rows(
        "SELECT * FROM (SELECT id, team FROM person WHERE id < 3) p "
        "RIGHT JOIN team t ON t.id = p.team CROSS APPLY (SELECT t.id + 1 AS n) x "
        "ORDER BY t.id, p.id"
    ) == [
        (1, 10, 10, "red", 11),
        (2, 10, 10, "red", 11),
        (None, None, 20, "green", 21),
        (None, None, 30, "blue", 31),
    ]
