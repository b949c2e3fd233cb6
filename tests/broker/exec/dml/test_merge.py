"""MERGE: which rows each clause takes, errors, OUTPUT, triggers, locks."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE t (k int NOT NULL CONSTRAINT pk PRIMARY KEY, a varchar(5) NULL,
    d int NOT NULL DEFAULT (7), CONSTRAINT ck CHECK (d < 100));
CREATE TABLE s (k int NOT NULL, a varchar(5) NULL);
CREATE TABLE log (what varchar(20), k int);
INSERT t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);
INSERT s VALUES (2, 'B'), (4, 'D');
"""
ALL = "SELECT k, a, d FROM t ORDER BY k"


@pytest.fixture
def lab():
    made = Lab()
    made.run(SETUP)
    return made


def test_the_three_clauses_take_their_rows(lab):
    assert (
        lab.value(
            "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET a = s.a, d += 10 "
            "WHEN NOT MATCHED BY TARGET THEN INSERT (k, a) VALUES (s.k, s.a) "
            "WHEN NOT MATCHED BY SOURCE AND t.k > 1 THEN DELETE; SELECT @@ROWCOUNT"
        )
        == 3
    )
    assert lab.rows(ALL) == [(1, "a", 1), (2, "B", 12), (4, "D", 7)]


def test_the_first_clause_that_accepts_a_row_takes_it(lab):
    lab.run(
        "MERGE t USING (VALUES (1), (2)) v(k) ON v.k = t.k "
        "WHEN MATCHED AND t.d = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET a = 'z';"
    )
    assert lab.rows(ALL) == [(2, "z", 2), (3, "c", 3)]


def test_rows_no_source_row_meets_may_be_updated_and_deleted(lab):
    lab.run(
        "MERGE INTO t AS x USING s AS y ON y.k = x.k "
        "WHEN NOT MATCHED BY SOURCE AND x.k = 1 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 'gone';"
    )
    assert lab.rows(ALL) == [(2, "b", 2), (3, "gone", 3)]


def test_output_names_the_action_both_images_and_the_source(lab):
    assert lab.rows(
        "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET a = s.a "
        "WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a) "
        "WHEN NOT MATCHED BY SOURCE AND t.k = 3 THEN DELETE "
        "OUTPUT $action, inserted.k, deleted.k, deleted.a, s.a AS source;"
    ) == [
        ("UPDATE", 2, 2, "b", "B"),
        ("INSERT", 4, None, None, "D"),
        ("DELETE", None, 3, "c", None),
    ]


def test_output_into_keeps_the_action(lab):
    lab.run(
        "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE "
        "OUTPUT $action, deleted.k INTO log (what, k);"
    )
    assert lab.rows("SELECT * FROM log") == [("DELETE", 2)]


def test_an_upsert_by_variables_works_on_a_table_variable_too(lab):
    assert lab.rows(
        "DECLARE @v TABLE (k int PRIMARY KEY, n int); DECLARE @k int = 5, @i int = 0; "
        "WHILE @i < 3 BEGIN MERGE @v AS x USING (SELECT @k AS k) AS y ON x.k = y.k "
        "WHEN MATCHED THEN UPDATE SET n = x.n + 1 WHEN NOT MATCHED THEN INSERT VALUES (y.k, 1); "
        "SET @i += 1 END; SELECT * FROM @v"
    ) == [(5, 3)]


def test_top_limits_the_actions_after_the_join(lab):
    lab.run(
        "MERGE TOP (1) t USING s ON s.k = t.k WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k) "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE;"
    )
    assert lab.rows("SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,), (4,)]
    lab.run("MERGE TOP (50) PERCENT t USING s ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN DELETE;")
    assert lab.value("SELECT COUNT(*) FROM t") == 2


def test_a_common_table_is_a_source(lab):
    lab.run(
        "WITH c AS (SELECT k, MAX(a) AS a FROM s GROUP BY k) MERGE t USING c ON c.k = t.k "
        "WHEN NOT MATCHED THEN INSERT (k, a) VALUES (c.k, c.a);"
    )
    assert lab.rows("SELECT a FROM t WHERE k = 4") == [("D",)]


def test_keys_may_trade_places_between_the_actions(lab):
    lab.run(
        "MERGE t USING (VALUES (1, 2), (2, 9)) v(k, n) ON v.k = t.k "
        "WHEN MATCHED THEN UPDATE SET k = v.n WHEN NOT MATCHED BY SOURCE THEN DELETE;"
    )
    assert lab.rows("SELECT k, a FROM t ORDER BY k") == [(2, "a"), (9, "b")]
    lab.run(
        "MERGE t USING (VALUES (2, 0), (20, 2)) v(k, n) ON v.k = t.k "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (v.n);"
    )
    assert lab.rows("SELECT k, a FROM t ORDER BY k") == [(2, None), (9, "b")]


def test_variables_may_be_set_by_the_update(lab):
    assert (
        lab.value(
            "DECLARE @old varchar(5); MERGE t USING s ON s.k = t.k "
            "WHEN MATCHED THEN UPDATE SET a = s.a, @old = t.a; SELECT @old"
        )
        == "b"
    )


def test_a_row_met_twice_ends_the_batch_with_8672(lab):
    sink = lab.send(
        "MERGE t USING (VALUES (1), (1)) v(k) ON v.k = t.k "
        "WHEN MATCHED THEN UPDATE SET d = 0; PRINT 'never'"
    )
    assert [m.number for m in sink.messages] == [8672]
    assert lab.value("SELECT d FROM t WHERE k = 1") == 1


@pytest.mark.parametrize(
    ("clauses", "number"),
    [
        ("WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE", 10714),
        ("WHEN MATCHED THEN DELETE WHEN MATCHED AND 1 = 1 THEN UPDATE SET a = ''", 5324),
        (
            "WHEN NOT MATCHED THEN INSERT (k) VALUES (1) WHEN NOT MATCHED THEN INSERT (k) VALUES (2)",
            10714,
        ),
        ("WHEN NOT MATCHED THEN INSERT (k) VALUES (t.k)", 5333),
        ("WHEN NOT MATCHED AND t.d = 1 THEN INSERT (k) VALUES (1)", 5333),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = s.a", 5334),
        ("WHEN NOT MATCHED BY SOURCE AND s.a = '' THEN DELETE", 5334),
        ("WHEN NOT MATCHED THEN UPDATE SET a = ''", 10710),
        ("WHEN MATCHED THEN INSERT (k) VALUES (1)", 10711),
        ("WHEN MATCHED AND MAX(s.k) = 1 THEN DELETE", 5319),
        ("WHEN MATCHED THEN UPDATE SET @x = a = 'q'", 10723),
        ("WHEN MATCHED THEN UPDATE SET nope = 1", 207),
        ("WHEN NOT MATCHED THEN INSERT (k) VALUES (1, 2)", 110),
    ],
)
def test_clauses_that_do_not_fit_are_refused(lab, clauses, number):
    assert lab.error(f"DECLARE @x varchar(5); MERGE t USING s ON s.k = t.k {clauses};") == number


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET k = 1;", 2627),
        ("MERGE t USING s ON s.k = t.k WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);", 515),
        ("MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET d = 100;", 547),
        ("MERGE t USING t ON 1 = 0 WHEN MATCHED THEN DELETE;", 5318),
        ("MERGE t AS s USING s ON 1 = 0 WHEN MATCHED THEN DELETE;", 5318),
        ("MERGE t WITH (NOLOCK) USING s ON 1 = 0 WHEN MATCHED THEN DELETE;", 1065),
        ("MERGE nothere USING s ON 1 = 0 WHEN MATCHED THEN DELETE;", 208),
        ("MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE", 10713),
    ],
)
def test_errors_leave_the_target_as_it_was(lab, sql, number):
    assert lab.error(sql) == number
    assert lab.rows(ALL) == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]


def test_a_check_constraint_is_said_to_conflict_with_the_merge(lab):
    sink = lab.send("MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET d = 100;")
    assert sink.errors[0].text.startswith("The MERGE statement conflicted with the CHECK")


def test_a_rollback_takes_all_actions_back(lab):
    lab.run(
        "BEGIN TRANSACTION; MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 'x'; ROLLBACK"
    )
    assert lab.rows(ALL) == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]


# ---------------------------------------------------------------------- triggers
def _triggers(lab, timing):
    for event in ("INSERT", "UPDATE", "DELETE"):
        lab.run(
            f"CREATE TRIGGER tr_{event} ON t {timing} {event} AS "
            f"INSERT log SELECT '{event} ' + CAST(@@ROWCOUNT AS varchar(5)), k FROM "
            f"{'deleted' if event == 'DELETE' else 'inserted'}"
        )


def test_after_triggers_fire_once_per_action_with_that_actions_rows(lab):
    _triggers(lab, "AFTER")
    lab.run(
        "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET a = 'u' "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k) "
        "WHEN NOT MATCHED BY SOURCE AND t.k = 3 THEN DELETE;"
    )
    assert lab.rows("SELECT * FROM log") == [("INSERT 3", 4), ("UPDATE 3", 2), ("DELETE 3", 3)]
    assert lab.rows("SELECT k, a FROM t ORDER BY k") == [(1, "a"), (2, "u"), (4, None)]


def test_instead_of_triggers_replace_every_action(lab):
    _triggers(lab, "INSTEAD OF")
    lab.run(
        "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);"
    )
    assert lab.rows("SELECT * FROM log") == [("INSERT 2", 4), ("DELETE 2", 2)]
    assert lab.rows("SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]


def test_instead_of_some_actions_only_is_5316(lab):
    lab.run("CREATE TRIGGER tr ON t INSTEAD OF INSERT AS RETURN")
    assert (
        lab.error(
            "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);"
        )
        == 5316
    )


def test_an_error_in_a_later_trigger_undoes_the_whole_statement(lab):
    lab.run("CREATE TRIGGER tr ON t AFTER DELETE AS THROW 50001, 'no', 1")
    assert (
        lab.error(
            "MERGE t USING s ON s.k = t.k WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);"
        )
        == 50001
    )
    assert lab.rows(ALL) == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]


# ---------------------------------------------------------------------- locks, permissions
def test_the_target_is_read_with_update_locks(lab):
    lab.watch("t", "s")
    taken = lab.locks(
        "BEGIN TRANSACTION; MERGE t USING s ON s.k = t.k WHEN MATCHED THEN UPDATE SET a = s.a;"
    )
    assert "U C(2)" in taken and "X C(2)" in taken
    assert lab.held()["T"] == "IX"
    lab.run("ROLLBACK")


def test_holdlock_makes_two_upserts_of_one_new_key_wait_for_each_other(lab):
    sql = (
        "BEGIN TRANSACTION; MERGE t WITH (HOLDLOCK) AS x USING (SELECT 9 AS k) AS y "
        "ON x.k = y.k WHEN MATCHED THEN UPDATE SET d = x.d + 1 "
        "WHEN NOT MATCHED THEN INSERT (k, d) VALUES (y.k, 1);"
    )
    lab.run(sql)
    other = lab.other()
    other.send(sql)
    assert other.waiting is not None
    lab.run("COMMIT")
    assert other.waiting is None
    other.run("COMMIT")
    assert lab.value("SELECT d FROM t WHERE k = 9") == 2


@pytest.mark.parametrize("missing", ["INSERT", "UPDATE", "SELECT"])
def test_every_action_needs_its_permission_on_the_target(lab, missing):
    lab.run(
        "CREATE USER u WITHOUT LOGIN; GRANT SELECT ON s TO u; GRANT SELECT ON t TO u; "
        "GRANT INSERT ON t TO u; GRANT UPDATE ON t TO u;"
    )
    merge = (
        "EXECUTE AS USER = 'u'; MERGE t USING s ON s.k = t.k WHEN MATCHED THEN "
        "UPDATE SET a = '' WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k); "
    )
    lab.run(f"{merge} REVERT")
    lab.run(f"REVOKE {missing} ON t FROM u")
    assert lab.error(merge) == 229
