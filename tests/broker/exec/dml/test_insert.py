"""INSERT in all its forms."""

import pytest


def test_values_fill_defaults_identity_and_rowversion(lab):
    lab.run("INSERT t (k, a) VALUES (1, 'x'), (2, DEFAULT)")
    assert lab.rows("SELECT id, k, a, d FROM t") == [(10, 1, "x", 7), (15, 2, None, 7)]
    versions = [row[0] for row in lab.rows("SELECT v FROM t ORDER BY k")]
    assert versions == sorted(set(versions)) and all(len(v) == 8 for v in versions)


def test_without_a_column_list_identity_is_left_out(lab):
    lab.run("INSERT log VALUES (1, 'a', 'b')")
    assert lab.rows("SELECT * FROM log") == [(1, "a", "b")]
    assert lab.error("INSERT log VALUES (1, 'a')") == 213


def test_default_values(lab):
    lab.run("CREATE TABLE x (id int IDENTITY, n int DEFAULT 5, m int NULL)")
    lab.run("INSERT x DEFAULT VALUES")
    assert lab.rows("SELECT * FROM x") == [(1, 5, None)]


def test_select_as_the_source_with_top(lab):
    lab.run("INSERT t (k) VALUES (1), (2), (3)")
    lab.run("INSERT TOP (2) INTO log (k, a) SELECT k, 'q' FROM t ORDER BY k")
    assert lab.rows("SELECT k FROM log ORDER BY k") == [(1,), (2,)]


def test_a_statement_inserts_what_was_there_before_it(lab):
    lab.run(
        "INSERT log (k) VALUES (1); INSERT log (k) SELECT k FROM log; "
        "INSERT log (k) SELECT k FROM log"
    )
    assert lab.value("SELECT COUNT(*) FROM log") == 4


def test_rowcount_and_identity_functions(lab):
    assert lab.rows(
        "INSERT t (k) VALUES (1), (2); SELECT @@ROWCOUNT, SCOPE_IDENTITY(), @@IDENTITY"
    ) == [(2, 15, 15)]
    assert lab.rows("INSERT log (k) VALUES (1); SELECT SCOPE_IDENTITY(), @@IDENTITY")[0][1] is None


@pytest.mark.parametrize("call", ["EXEC p", "EXEC (N'INSERT other VALUES (1)')"])
def test_what_a_module_or_text_inserts_is_not_in_its_callers_scope(lab, call):
    """SCOPE_IDENTITY page: a scope is a module, a procedure or a batch among them."""
    lab.run("CREATE TABLE other (id int IDENTITY (70, 1), n int)")
    lab.run("EXEC (N'CREATE PROCEDURE p AS INSERT other VALUES (1)')")
    text = f"INSERT t (k) VALUES (1); {call}; SELECT SCOPE_IDENTITY(), @@IDENTITY"
    assert lab.rows(text) == [(10, 70)]


def test_a_module_begins_without_an_identity_of_its_own(lab):
    lab.run("EXEC (N'CREATE PROCEDURE p AS SELECT SCOPE_IDENTITY()')")
    assert lab.rows("INSERT t (k) VALUES (1); EXEC p") == [(None,)]


def test_identity_values_are_not_given_back(lab):
    lab.run("BEGIN TRAN; INSERT t (k) VALUES (1); ROLLBACK; INSERT t (k) VALUES (1)")
    assert lab.value("SELECT id FROM t") == 15


def test_output_to_the_client_and_into_a_table(lab):
    sink = lab.run("INSERT t (k, a) OUTPUT inserted.id, inserted.k * 2 AS twice VALUES (1, 'x')")
    assert sink.result_sets[0].names == ["id", "twice"]
    assert sink.rows() == [(10, 2)]
    lab.run("INSERT t (k, a) OUTPUT inserted.k, inserted.a INTO log (k, a) VALUES (2, 'y')")
    assert lab.rows("SELECT * FROM log") == [(2, "y", "none")]


def test_output_star_and_both_targets_at_once(lab):
    rows = lab.rows(
        "DECLARE @o TABLE (k int); INSERT log (k) OUTPUT inserted.k INTO @o "
        "OUTPUT inserted.* VALUES (4); SELECT k FROM @o"
    )
    assert rows == [(4,)]


def test_identity_insert_lets_explicit_values_in(lab):
    assert lab.error("INSERT t (id, k) VALUES (1, 1)") == 544
    lab.run("SET IDENTITY_INSERT t ON; INSERT t (id, k) VALUES (1, 1)")
    assert lab.value("SELECT id FROM t") == 1
    assert lab.error("INSERT t (k) VALUES (2)") == 545
    lab.run("SET IDENTITY_INSERT t OFF; INSERT t (k) VALUES (2)")


def test_identity_insert_is_for_one_table_at_a_time(lab):
    lab.run("CREATE TABLE x (id int IDENTITY)")
    assert lab.error("SET IDENTITY_INSERT t ON; SET IDENTITY_INSERT x ON") == 8107
    assert lab.error("SET IDENTITY_INSERT log ON") == 8106


def test_a_value_ahead_of_the_identity_becomes_the_current_one(lab):
    lab.run("CREATE TABLE up (id int IDENTITY, k int); CREATE TABLE down (id int IDENTITY(0, -2))")
    lab.run(
        "SET IDENTITY_INSERT up ON; INSERT up (id, k) VALUES (50, 0), (20, 0); "
        "SET IDENTITY_INSERT up OFF; INSERT up (k) VALUES (1)"
    )
    assert lab.value("SELECT id FROM up WHERE k = 1") == 51
    lab.run(
        "SET IDENTITY_INSERT down ON; INSERT down (id) VALUES (-10), (8); "
        "SET IDENTITY_INSERT down OFF; INSERT down DEFAULT VALUES"
    )
    assert lab.value("SELECT MIN(id) FROM down") == -12


def test_exec_fills_a_table_with_all_result_sets(lab):
    lab.run("CREATE PROCEDURE p @n int AS SELECT @n, 'one'; SELECT @n + 1, 'two'")
    lab.run("INSERT log (k, a) EXEC p 5")
    assert lab.rows("SELECT k, a FROM log ORDER BY k") == [(5, "one"), (6, "two")]
    lab.run("INSERT log (k) EXEC ('SELECT 9'); INSERT log (k) EXEC sp_executesql N'SELECT 10'")
    assert lab.value("SELECT MAX(k) FROM log") == 10


def test_exec_as_a_source_does_not_nest_and_must_fit(lab):
    lab.run("CREATE PROCEDURE one AS SELECT 1")
    lab.run("CREATE PROCEDURE two AS INSERT log (k) EXEC one")
    assert lab.error("INSERT log (k) EXEC two") == 8164
    assert lab.error("INSERT log (k, a) EXEC one") == 213
    assert lab.rows("SELECT 5") == [(5,)]
    assert lab.error("INSERT log (k) EXEC nothing") == 2812
    assert lab.rows("SELECT 6") == [(6,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("INSERT t (k) VALUES (NULL)", 515),
        ("INSERT t (a) VALUES ('x')", 515),
        ("INSERT t (k, a) VALUES (1, 'too long')", 2628),
        ("INSERT t (k, d) VALUES (1, 100)", 547),
        ("INSERT t (k) VALUES (1), (1)", 2627),
        ("INSERT t (k) VALUES ('x')", 245),
        ("INSERT t (k) VALUES (3000000000)", 8115),
        ("INSERT t (k, nothing) VALUES (1, 2)", 207),
        ("INSERT t (k, k) VALUES (1, 2)", 264),
        ("INSERT t (k, a) VALUES (1)", 109),
        ("INSERT t (k) VALUES (1, 2)", 110),
        ("INSERT t (k, a) SELECT 1", 120),
        ("INSERT t (k) SELECT 1, 2", 121),
        ("INSERT t (k, v) VALUES (1, 0x01)", 273),
        ("INSERT nothing VALUES (1)", 208),
        ("INSERT @t VALUES (1)", 1087),
    ],
)
def test_a_wrong_insert_is_an_error_and_leaves_nothing(lab, sql, number):
    assert lab.error(sql) in {number, 137 if number == 1087 else number}
    assert lab.value("SELECT COUNT(*) FROM t") == 0


def test_a_failing_row_undoes_the_whole_statement_but_not_the_transaction(lab):
    lab.run("BEGIN TRAN; INSERT t (k) VALUES (1)")
    assert lab.error("INSERT t (k) VALUES (2), (3), (1)") == 2627
    lab.run("COMMIT")
    assert lab.rows("SELECT k FROM t") == [(1,)]


def test_a_second_insert_of_an_uncommitted_key_waits_for_its_fate(lab):
    other = lab.other()
    other.run("BEGIN TRAN; INSERT t (k) VALUES (1)")
    lab.send("INSERT t (k) VALUES (1)")
    assert lab.session.wait is not None
    other.run("ROLLBACK")
    assert lab.session.wait is None and not lab.session.sink.errors
    other.run("BEGIN TRAN; DELETE t WHERE k = 1; INSERT t (k) VALUES (1)")
    lab.send("INSERT t (k) VALUES (1)")
    other.run("COMMIT")
    assert lab.session.sink.errors[0].number == 2627


def test_nothing_is_inserted_in_a_doomed_transaction(lab):
    sql = (
        "SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY INSERT t (k) VALUES (1), (1) END TRY "
        "BEGIN CATCH INSERT log (k) VALUES (1) END CATCH"
    )
    assert lab.error(sql) == 3930
