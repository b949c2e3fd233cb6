"""Correlated subqueries and APPLY: by index where one fits, else through one hash table."""

import pytest

from tests.broker.exec.lab import Lab

ROWS = 400


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE o (k int NOT NULL PRIMARY KEY, g int NOT NULL); "
        "CREATE TABLE i (id int NOT NULL PRIMARY KEY, k int NULL, n int NOT NULL); "
        "WITH d(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d WHERE x < 400) "
        "INSERT o SELECT x, x % 7 FROM d OPTION (MAXRECURSION 0); "
        "INSERT i SELECT k, k * 2, g FROM o"
    )
    return made


@pytest.fixture
def rows_read(monkeypatch, lab):
    """How many rows the row access has looked at so far."""
    access = type(lab.instance.engine.access)
    visited = []
    original = access._visit

    def visit(self, *arguments):
        visited.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(access, "_visit", visit)
    return lambda: len(visited)


QUERIES = [
    ("SELECT COUNT(*) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = o.k)", 200),
    ("SELECT COUNT(*) FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.k = o.k AND i.n = 3)", 371),
    ("SELECT COUNT(*) FROM o WHERE o.g IN (SELECT i.n FROM i WHERE i.k = o.k)", 28),
    ("SELECT SUM(m) FROM (SELECT (SELECT MAX(i.n) FROM i WHERE i.k = o.k) AS m FROM o) AS q", None),
    (
        "SELECT COUNT(*) FROM o CROSS APPLY (SELECT TOP (1) i.n FROM i WHERE i.k = o.k "
        "ORDER BY i.id) AS x",
        200,
    ),
    ("SELECT COUNT(x.n) FROM o OUTER APPLY (SELECT i.n FROM i WHERE i.k = o.k) AS x", 200),
    (
        "SELECT COUNT(*) FROM o WHERE EXISTS (SELECT 1 FROM i JOIN i AS j ON j.n = i.n "
        "WHERE i.k = o.k AND j.id = 1)",
        None,
    ),
]


@pytest.mark.parametrize(("sql", "expected"), QUERIES)
def test_no_table_is_scanned_once_per_row(lab, rows_read, sql, expected):
    value = lab.value(sql)
    assert expected is None or value == expected
    assert rows_read() < 6 * ROWS


@pytest.mark.parametrize(("sql", "expected"), QUERIES)
def test_the_answer_is_that_of_reading_row_by_row(lab, sql, expected):
    lab.run("DELETE o WHERE k > 40; DELETE i WHERE id > 40")
    once = lab.value(sql)
    lab.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert lab.value(sql) == once


def test_an_index_on_the_correlated_column_is_searched(lab, rows_read):
    lab.run("CREATE INDEX ix ON i (k)")
    before = rows_read()
    assert (
        lab.value(
            "SELECT COUNT(*) FROM o WHERE k < 21 AND EXISTS (SELECT 1 FROM i WHERE i.k = o.k)"
        )
        == 10
    )
    assert rows_read() - before < 60


def test_under_repeatable_read_only_rows_that_qualify_stay_locked(lab):
    lab.watch("i")
    lab.run(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRANSACTION; "
        "SELECT k FROM o WHERE k = 4 AND EXISTS (SELECT 1 FROM i WHERE i.k = o.k)"
    )
    assert [key for key in lab.held() if key.startswith("C(")] == ["C(2)"]
    lab.run("COMMIT")


def test_an_uncommitted_row_behind_the_first_match_is_not_waited_for(lab):
    other = lab.other()
    other.run("BEGIN TRANSACTION; UPDATE i SET n = 0 WHERE id = 300")
    assert (
        lab.value("SELECT COUNT(*) FROM o WHERE k = 4 AND EXISTS (SELECT 1 FROM i WHERE i.k = o.k)")
        == 1
    )
    other.run("ROLLBACK")


def test_null_matches_nothing(lab):
    lab.run("INSERT i VALUES (1000, NULL, 1)")
    assert (
        lab.value(
            "SELECT COUNT(*) FROM i AS a WHERE id = 1000 AND EXISTS "
            "(SELECT 1 FROM i AS b WHERE b.k = a.k)"
        )
        == 0
    )


def test_a_later_run_sees_later_rows(lab):
    sql = "SELECT COUNT(*) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = o.k)"
    assert lab.rows(f"{sql}; DELETE i WHERE id <= 10; {sql}") == [(190,)]


def test_an_update_by_a_correlated_value(lab):
    lab.run("UPDATE o SET g = (SELECT i.id FROM i WHERE i.k = o.k) WHERE k % 2 = 0")
    assert lab.rows("SELECT g FROM o WHERE k IN (2, 400) ORDER BY k") == [(1,), (200,)]


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT COUNT(*) AS n FROM STRING_SPLIT(t.text, ',') AS s",
        "SELECT COUNT(*) AS n FROM (SELECT value FROM STRING_SPLIT(t.text, ',') AS s) AS d",
        "SELECT COUNT(*) AS n FROM (VALUES (1)) AS v (x) CROSS APPLY STRING_SPLIT(t.text, ',') AS s",
    ],
)
def test_a_function_in_from_that_reads_an_outer_column_is_asked_for_every_row(lab, inner):
    sql = f"SELECT t.text, a.n FROM (VALUES ('a,b'), ('c')) AS t (text) CROSS APPLY ({inner}) AS a"
    assert lab.run(sql).rows() == [("a,b", 2), ("c", 1)]
