"""INSERT ... SELECT ... FROM (a data change with OUTPUT); limits of INSERT ... VALUES."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a varchar(5) NULL); "
        "CREATE TABLE s (k int NOT NULL, a varchar(5) NULL); "
        "CREATE TABLE log (what varchar(10), k int CHECK (k < 100)); "
        "INSERT t VALUES (1, 'x'), (2, 'y'), (3, 'z'); INSERT s VALUES (2, 'Y'), (4, 'W')"
    )
    return made


def test_what_a_merge_puts_out_is_inserted(lab):
    assert (
        lab.value(
            "INSERT log SELECT act, k FROM (MERGE t USING s ON s.k = t.k "
            "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.a) "
            "OUTPUT $action AS act, inserted.k) AS changed (act, k) WHERE act = 'UPDATE'; "
            "SELECT @@ROWCOUNT"
        )
        == 1
    )
    assert lab.rows("SELECT * FROM log") == [("UPDATE", 2)]
    assert lab.rows("SELECT * FROM t ORDER BY k") == [(1, "x"), (2, "Y"), (3, "z"), (4, "W")]


def test_rows_are_moved_by_one_statement(lab):
    lab.run(
        "INSERT INTO log (what, k) SELECT d.a, d.k FROM "
        "(DELETE t OUTPUT deleted.k, deleted.a WHERE k > 1) AS d"
    )
    assert lab.rows("SELECT * FROM log ORDER BY k") == [("y", 2), ("z", 3)]
    assert lab.rows("SELECT k FROM t") == [(1,)]
    lab.run(
        "INSERT log SELECT 'moved', u.k FROM (UPDATE t SET k = 9 OUTPUT inserted.k) AS u; "
        "INSERT log SELECT 'new', i.k FROM (INSERT s VALUES (7, '') OUTPUT inserted.k) AS i".replace(
            "VALUES (7, '') OUTPUT inserted.k", "OUTPUT inserted.k VALUES (7, '')"
        )
    )
    assert lab.rows("SELECT k FROM log WHERE what IN ('moved', 'new') ORDER BY k") == [(7,), (9,)]


def test_a_row_that_does_not_fit_undoes_both_changes(lab):
    assert lab.error("INSERT log SELECT 'x', d.k + 99 FROM (DELETE t OUTPUT deleted.k) AS d") == 547
    assert len(lab.rows("SELECT * FROM t")) == 3


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT * FROM (DELETE t OUTPUT deleted.k) AS d", 10729),
        ("INSERT log SELECT 'x', d.k FROM (DELETE t OUTPUT deleted.k) AS d, s", 10729),
        ("INSERT log SELECT 'x', d.k FROM (DELETE t OUTPUT deleted.k) AS d JOIN s ON 1 = 1", 10727),
        ("INSERT s (k) SELECT d.k FROM (DELETE t OUTPUT deleted.k) AS d UNION ALL SELECT 1", 10732),
        ("INSERT s (k) SELECT 1 FROM (DELETE t) AS d", 10716),
        ("INSERT s (k) SELECT 1 FROM (DELETE t OUTPUT deleted.k INTO s (k)) AS d", 10720),
    ],
)
def test_it_stands_alone_behind_an_insert(lab, sql, number):
    assert lab.error(sql) == number
    assert len(lab.rows("SELECT * FROM t")) == 3


def test_the_outer_target_has_no_triggers(lab):
    lab.run("CREATE TRIGGER tr ON log AFTER INSERT AS RETURN")
    assert lab.error("INSERT log SELECT 'x', d.k FROM (DELETE t OUTPUT deleted.k) AS d") == 355


def test_values_takes_at_most_a_thousand_rows(lab):
    rows = ", ".join(f"({i}, '')" for i in range(10, 1010))
    lab.run(f"INSERT t VALUES {rows}")
    assert lab.error(f"INSERT t VALUES {rows}, (5000, '')") == 10738
    lab.run(f"INSERT s SELECT * FROM (VALUES {rows}, (5000, '')) AS v(k, a)")
    assert lab.value("SELECT COUNT(*) FROM s") == 1003


def test_a_common_table_takes_inserts(lab):
    lab.run("WITH c (id, name) AS (SELECT k, a FROM t) INSERT INTO c (id, name) VALUES (8, 'c')")
    assert lab.rows("SELECT a FROM t WHERE k = 8") == [("c",)]


def test_a_recursive_common_table_may_have_several_members(lab):
    assert lab.rows(
        "WITH r AS (SELECT 1 AS n UNION ALL SELECT 100 UNION ALL SELECT n + 1 FROM r WHERE n < 3 "
        "UNION ALL SELECT n + 10 FROM r WHERE n < 3) SELECT n FROM r ORDER BY n"
    ) == [(1,), (2,), (3,), (11,), (12,), (100,)]
