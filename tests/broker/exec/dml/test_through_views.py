"""Data changes through views, common tables and derived tables."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE t (k int NOT NULL CONSTRAINT pk PRIMARY KEY, a varchar(5) NULL,
    d int NOT NULL DEFAULT (7));
CREATE TABLE u (id int NOT NULL PRIMARY KEY, k int NOT NULL, x varchar(5) NULL);
CREATE TABLE log (k int, what varchar(10));
INSERT t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4);
INSERT u VALUES (10, 1, 'x'), (20, 2, 'y');
"""
VIEWS = [
    "CREATE VIEW v (number, letter, twice) AS SELECT k, a, d * 2 FROM t WHERE k > 1",
    "CREATE VIEW joined AS SELECT t.k, t.a, u.id, u.x FROM t JOIN u ON u.k = t.k",
    "CREATE VIEW few AS SELECT k, d FROM t WHERE d < 10 WITH CHECK OPTION",
    "CREATE VIEW fewer AS SELECT k, d FROM few WHERE d > 0",
    "CREATE VIEW counted AS SELECT a, COUNT(*) AS n FROM t GROUP BY a",
    "CREATE VIEW both_ways AS SELECT k FROM t UNION ALL SELECT k FROM u",
]
ALL = "SELECT k, a, d FROM t ORDER BY k"


@pytest.fixture
def lab():
    made = Lab()
    made.run(SETUP)
    for view in VIEWS:
        made.run(view)
    return made


def test_an_update_of_a_view_changes_only_rows_the_view_shows(lab):
    assert (
        lab.value(
            "UPDATE v SET letter = 'z', number = number + 10 WHERE number < 4; SELECT @@ROWCOUNT"
        )
        == 2
    )
    assert lab.rows(ALL) == [(1, "a", 1), (4, "d", 4), (12, "z", 2), (13, "z", 3)]


def test_a_delete_through_a_view_keeps_to_its_rows(lab):
    lab.run("DELETE v WHERE twice <= 4; DELETE FROM v WHERE number = 1")
    assert [k for k, *_ in lab.rows(ALL)] == [1, 3, 4]


def test_an_insert_through_a_view_fills_the_other_columns_by_default(lab):
    lab.run("INSERT v (letter, number) VALUES ('n', 9)")
    assert lab.rows("SELECT * FROM t WHERE k = 9") == [(9, "n", 7)]
    assert lab.rows("INSERT INTO few OUTPUT inserted.k VALUES (5, 5)") == [(5,)]


def test_a_join_view_takes_updates_of_one_of_its_tables_at_a_time(lab):
    lab.run("UPDATE joined SET a = 'J' WHERE x = 'y'")
    lab.run("UPDATE joined SET x = 'K' WHERE k = 1; INSERT joined (k, a) VALUES (8, 'new')")
    assert lab.rows(ALL)[1] == (2, "J", 2) and lab.rows(ALL)[-1] == (8, "new", 7)
    assert lab.rows("SELECT x FROM u ORDER BY id") == [("K",), ("y",)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("UPDATE joined SET a = '1', x = '2'", 4405),
        ("DELETE joined", 4405),
        ("UPDATE v SET twice = 1", 4406),
        ("INSERT v VALUES (9, 'x', 2)", 4406),
        ("UPDATE counted SET a = 'q'", 4403),
        ("DELETE counted", 4403),
        ("DELETE both_ways", 4426),
        ("UPDATE v SET nope = 1", 207),
        ("INSERT v (nope) VALUES (1)", 207),
        ("WITH c AS (SELECT k * 2 AS k FROM t) UPDATE c SET k = 1", 4406),
        ("UPDATE x SET n = 1 FROM (SELECT d + 1 AS n FROM t) AS x", 4421),
        ("DELETE x FROM (SELECT DISTINCT a FROM t) AS x", 4418),
        ("DELETE x FROM (SELECT t.k FROM t JOIN u ON u.k = t.k) AS x", 4420),
        ("SELECT * FROM v WITH (NOEXPAND)", 8171),
    ],
)
def test_what_cannot_be_written_through_is_refused(lab, sql, number):
    assert lab.error(sql) == number
    assert len(lab.rows(ALL)) == 4


# ---------------------------------------------------------------------- WITH CHECK OPTION
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE few SET d = 10 WHERE k = 1",
        "INSERT few VALUES (9, 99)",
        "UPDATE fewer SET d = 10 WHERE k = 1",
        "MERGE few USING (SELECT 1 AS k) s ON s.k = few.k WHEN MATCHED THEN UPDATE SET d = 11;",
    ],
)
def test_check_option_refuses_rows_that_would_leave_the_view(lab, sql):
    assert lab.error(sql) == 550
    assert lab.rows("SELECT COUNT(*), SUM(d) FROM t") == [(4, 10)]


def test_a_view_without_check_option_lets_rows_leave_it(lab):
    lab.run("UPDATE v SET number = 0 WHERE number = 2; UPDATE fewer SET d = -1 WHERE k = 1")
    assert lab.rows("SELECT k, d FROM t WHERE k < 2 ORDER BY k") == [(0, 2), (1, -1)]


def test_top_in_a_view_with_check_option_is_4427(lab):
    lab.run("CREATE VIEW topped AS SELECT TOP (2) k, d FROM t ORDER BY k WITH CHECK OPTION")
    assert lab.error("UPDATE topped SET d = 1") == 4427


# ---------------------------------------------------------------------- common tables
def test_deleting_the_first_rows_of_a_common_table_is_a_queue(lab):
    assert lab.rows(
        "WITH next AS (SELECT TOP (2) * FROM t WITH (ROWLOCK, READPAST) ORDER BY k) "
        "DELETE FROM next OUTPUT deleted.k, deleted.a"
    ) == [(1, "a"), (2, "b")]
    assert [k for k, *_ in lab.rows(ALL)] == [3, 4]


def test_two_readers_of_such_a_queue_skip_each_others_rows(lab):
    take = (
        "BEGIN TRANSACTION; WITH next AS (SELECT TOP (1) * FROM t WITH (ROWLOCK, READPAST) "
        "ORDER BY k) DELETE FROM next OUTPUT deleted.k"
    )
    assert lab.rows(take) == [(1,)]
    other = lab.other()
    assert other.rows(take) == [(2,)]
    other.run("COMMIT")
    lab.run("ROLLBACK")
    assert [k for k, *_ in lab.rows(ALL)] == [1, 3, 4]


def test_duplicates_go_by_their_row_number(lab):
    lab.run("INSERT t VALUES (5, 'a', 9), (6, 'a', 9)")
    lab.run(
        "WITH c AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY k) AS n FROM t) "
        "DELETE c WHERE n > 1"
    )
    assert [k for k, *_ in lab.rows(ALL)] == [1, 2, 3, 4]


def test_output_cannot_name_a_column_made_by_a_window_function(lab):
    sql = (
        "WITH c AS (SELECT k, d + 1 AS e, ROW_NUMBER() OVER (ORDER BY k) AS n, "
        "(SELECT 1) AS q FROM t) UPDATE c SET k = k OUTPUT "
    )
    assert lab.error(sql + "inserted.n") == 4196
    assert lab.error(sql + "deleted.q") == 4186
    assert lab.rows(sql + "inserted.e WHERE n = 2") == [(3,)]


def test_a_common_table_may_be_updated_from_a_join_with_another_table(lab):
    lab.run(
        "WITH c AS (SELECT k AS id, a FROM t WHERE d < 3) "
        "UPDATE c SET a = u.x FROM c JOIN u ON u.k = c.id WHERE u.id > 10"
    )
    assert lab.rows("SELECT a FROM t ORDER BY k") == [("a",), ("y",), ("c",), ("d",)]


def test_a_derived_table_is_a_target_by_its_alias(lab):
    lab.run(
        "UPDATE x SET d = n FROM (SELECT k, d, k * 100 AS n FROM t) AS x WHERE x.k = 2; "
        "DELETE y FROM (SELECT TOP (1) * FROM t ORDER BY k DESC) AS y"
    )
    assert lab.rows("SELECT k, d FROM t ORDER BY k") == [(1, 1), (2, 200), (3, 3)]


def test_compound_assignment_and_output_use_the_views_names(lab):
    assert lab.rows(
        "UPDATE v SET number += 100, letter += '!' OUTPUT deleted.*, "
        "inserted.letter, inserted.twice WHERE number = 4"
    ) == [(4, "d", 8, "d!", 8)]


def test_merge_into_a_view_changes_its_table(lab):
    lab.run(
        "MERGE v USING (VALUES (2), (9)) s(k) ON s.k = v.number "
        "WHEN MATCHED THEN UPDATE SET letter = 'm' "
        "WHEN NOT MATCHED THEN INSERT (number, letter) VALUES (s.k, 'i') "
        "WHEN NOT MATCHED BY SOURCE AND v.number = 3 THEN DELETE;"
    )
    assert lab.rows("SELECT k, a FROM t ORDER BY k") == [(1, "a"), (2, "m"), (4, "d"), (9, "i")]


# ---------------------------------------------------------------------- triggers, undo, locks
def test_triggers_of_the_base_table_fire(lab):
    lab.run("CREATE TRIGGER tr ON t AFTER UPDATE AS INSERT log SELECT k, a FROM deleted")
    lab.run("UPDATE v SET letter = 'q' WHERE number = 3")
    assert lab.rows("SELECT * FROM log") == [(3, "c")]


def test_an_instead_of_trigger_of_the_view_takes_its_event_only(lab):
    lab.run(
        "CREATE TRIGGER tr ON v INSTEAD OF DELETE AS INSERT log SELECT number, 'gone' FROM deleted"
    )
    lab.run("DELETE v WHERE number = 2; UPDATE v SET letter = 'u' WHERE number = 3")
    assert lab.rows("SELECT * FROM log") == [(2, "gone")]
    assert lab.rows("SELECT a FROM t WHERE k = 3") == [("u",)]
    assert lab.error("DELETE x FROM v AS x JOIN u ON u.k = x.number") == 4423


def test_a_rollback_takes_changes_through_a_view_back(lab):
    lab.run(
        "BEGIN TRANSACTION; DELETE v; UPDATE few SET d = 0; INSERT v (number) VALUES (77); ROLLBACK"
    )
    assert lab.rows(ALL) == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "d", 4)]


def test_only_the_row_asked_for_is_locked(lab):
    lab.watch("t")
    assert lab.locks("BEGIN TRANSACTION; UPDATE v SET letter = 'l' WHERE number = 2") == [
        "IX T",
        "U C(2)",
        "X C(2)",
    ]
    lab.run("ROLLBACK")
    assert lab.locks("BEGIN TRANSACTION; SELECT * FROM v WITH (UPDLOCK) WHERE number = 3") == [
        "IX T",
        "U C(3)",
    ]
    assert lab.error("SELECT * FROM v WITH (UPDLOCK, XLOCK)") == 1047


def test_a_hint_on_a_view_that_contradicts_one_inside_is_4138(lab):
    lab.run("CREATE VIEW hinted AS SELECT k FROM t WITH (NOLOCK)")
    assert lab.error("SELECT * FROM hinted WITH (UPDLOCK)") == 4138


# ---------------------------------------------------------------------- ownership chain
@pytest.mark.parametrize(
    "change",
    [
        "SELECT * FROM v",
        "UPDATE v SET letter = 'o' WHERE number = 2",
        "DELETE v",
        "INSERT v (number) VALUES (50)",
    ],
)
def test_a_right_on_the_view_is_enough_where_one_principal_owns_view_and_table(lab, change):
    lab.run(
        "CREATE USER guy WITHOUT LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON v TO guy; "
        "EXECUTE AS USER = 'guy'"
    )
    lab.run(change)
    assert lab.error("SELECT * FROM t") == 229


def test_no_right_on_the_view_is_229(lab):
    lab.run(
        "CREATE USER guy WITHOUT LOGIN; GRANT SELECT ON v TO guy; "
        "GRANT SELECT, UPDATE ON t TO guy; EXECUTE AS USER = 'guy'"
    )
    assert lab.error("UPDATE v SET letter = 'o'") == 229


def test_another_owner_of_the_table_breaks_the_chain(lab):
    lab.run("CREATE USER guy WITHOUT LOGIN; CREATE USER boss WITHOUT LOGIN")
    lab.run("GRANT SELECT ON v TO guy; ALTER AUTHORIZATION ON OBJECT::t TO boss")
    lab.run("EXECUTE AS USER = 'guy'")
    assert lab.error("SELECT * FROM v") == 229
