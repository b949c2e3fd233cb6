"""UPDATE in all its forms."""

import pytest


@pytest.fixture
def lab(lab):
    lab.run("INSERT t (k, a) VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    return lab


def test_values_come_from_the_old_row(lab):
    lab.run("UPDATE t SET k = d, d = k WHERE k = 1")
    assert lab.rows("SELECT k, d FROM t WHERE k = 7") == [(7, 1)]


def test_compound_assignment_and_default(lab):
    lab.run("UPDATE t SET a += '!', d *= 2 WHERE k < 3; UPDATE t SET d = DEFAULT WHERE k = 2")
    assert lab.rows("SELECT a, d FROM t ORDER BY k") == [("a!", 14), ("b!", 7), (None, 7)]


def test_every_update_gives_the_row_a_new_version(lab):
    before = lab.value("SELECT v FROM t WHERE k = 1")
    lab.run("UPDATE t SET d = d WHERE k = 1")
    assert lab.value("SELECT v FROM t WHERE k = 1") > before


def test_keys_may_trade_places(lab):
    lab.run("UPDATE t SET k = CASE k WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE k END")
    assert lab.rows("SELECT k, a FROM t ORDER BY k") == [(1, "b"), (2, "a"), (3, None)]
    lab.run("UPDATE t SET k = k + 1")
    assert lab.rows("SELECT k FROM t ORDER BY k") == [(2,), (3,), (4,)]


def test_from_joins_the_target_by_alias_or_by_name(lab):
    lab.run(
        "UPDATE x SET a = v.a FROM t AS x JOIN (VALUES (1, 'p'), (3, 'q')) v(k, a) ON v.k = x.k"
    )
    assert lab.rows("SELECT a FROM t ORDER BY k") == [("p",), ("b",), ("q",)]
    lab.run("UPDATE t SET a = 'z' FROM t JOIN t AS other ON other.k = t.k + 1 WHERE other.k = 3")
    assert lab.rows("SELECT k FROM t WHERE a = 'z'") == [(2,)]


def test_from_without_the_target_in_it_is_a_cross_join(lab):
    lab.run("UPDATE t SET a = v.a FROM (VALUES (2, 'new')) v(k, a) WHERE v.k = t.k")
    assert lab.rows("SELECT a FROM t ORDER BY k") == [("a",), ("new",), (None,)]


def test_a_row_matched_twice_is_changed_once(lab):
    lab.run("UPDATE t SET d = d + v.x FROM t CROSS JOIN (VALUES (1), (2)) v(x) WHERE t.k = 1")
    assert lab.value("SELECT d FROM t WHERE k = 1") == 8
    assert (
        lab.value("UPDATE t SET d = 1 FROM t CROSS JOIN (VALUES (1), (2)) v(x); SELECT @@ROWCOUNT")
        == 3
    )


def test_a_variable_takes_the_new_value_or_an_expression_over_the_old_row(lab):
    assert lab.rows(
        "DECLARE @new int, @old varchar(5); UPDATE t SET @old = a, @new = d = d + 1 "
        "WHERE k = 2; SELECT @new, @old"
    ) == [(8, "b")]


def test_variables_count_through_the_rows(lab):
    lab.run("DECLARE @n int = 0; UPDATE t SET @n = d = @n + 1")
    assert lab.rows("SELECT d FROM t ORDER BY k") == [(1,), (2,), (3,)]


def test_output_shows_both_images_and_the_joined_row(lab):
    assert lab.rows(
        "UPDATE t SET a = 'n' OUTPUT deleted.a, inserted.a, v.x FROM t "
        "JOIN (VALUES (2, 'j')) v(k, x) ON v.k = t.k"
    ) == [("b", "n", "j")]


def test_top_limits_the_rows(lab):
    assert lab.value("UPDATE TOP (2) t SET d = 0; SELECT COUNT(*) FROM t WHERE d = 0") == 2


def test_a_subquery_as_the_value(lab):
    lab.run("UPDATE t SET d = (SELECT COUNT(*) FROM t AS o WHERE o.k <= t.k)")
    assert lab.rows("SELECT d FROM t ORDER BY k") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("UPDATE t SET d = NULL", 515),
        ("UPDATE t SET d = 100", 547),
        ("UPDATE t SET a = 'too long'", 2628),
        ("UPDATE t SET k = 1", 2627),
        ("UPDATE t SET id = 1", 8102),
        ("UPDATE t SET v = 0x01", 272),
        ("UPDATE t SET nothing = 1", 207),
        ("UPDATE t SET a = 1, a = 2", 264),
        ("UPDATE nothing SET a = 1", 208),
        ("UPDATE t SET a = 'x' FROM t AS x, t AS y", 8154),
    ],
)
def test_a_wrong_update_is_an_error_and_changes_nothing(lab, sql, number):
    before = lab.rows("SELECT k, a, d FROM t ORDER BY k")
    assert lab.error(sql) == number
    assert lab.rows("SELECT k, a, d FROM t ORDER BY k") == before


def test_an_update_that_waits_reads_the_row_again_when_it_runs(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET d = 50 WHERE k = 1")
    lab.send("UPDATE t SET d += 1 WHERE k = 1")
    other.run("COMMIT")
    assert lab.value("SELECT d FROM t WHERE k = 1") == 51
