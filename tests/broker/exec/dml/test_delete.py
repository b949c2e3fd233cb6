"""DELETE and TRUNCATE TABLE."""

import pytest


@pytest.fixture
def lab(lab):
    lab.run("INSERT t (k, a) VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    return lab


def left(lab):
    return [row[0] for row in lab.rows("SELECT k FROM t ORDER BY k")]


def test_where_and_count(lab):
    assert lab.value("DELETE t WHERE k > 1; SELECT @@ROWCOUNT") == 2
    assert left(lab) == [1]
    lab.run("DELETE FROM t")
    assert left(lab) == []


def test_from_joins(lab):
    lab.run("DELETE x FROM t x JOIN (VALUES (1), (3), (3)) v(k) ON v.k = x.k")
    assert left(lab) == [2]
    lab.run("DELETE t FROM (VALUES (2)) v(k) WHERE v.k = t.k")
    assert left(lab) == []


def test_the_empty_side_of_an_outer_join_is_no_row(lab):
    lab.run("DELETE x FROM (VALUES (1), (9)) v(k) LEFT JOIN t x ON x.k = v.k")
    assert left(lab) == [2, 3]


def test_output_and_top(lab):
    assert lab.rows("DELETE TOP (1) FROM t OUTPUT deleted.k, deleted.a") == [(1, "a")]
    lab.run("DELETE t OUTPUT deleted.k INTO log (k) WHERE k = 2")
    assert lab.rows("SELECT k FROM log") == [(2,)]


def test_not_exists_as_the_condition(lab):
    lab.run(
        "INSERT log (k) VALUES (1), (3); "
        "DELETE t WHERE NOT EXISTS (SELECT 1 FROM log WHERE log.k = t.k)"
    )
    assert left(lab) == [1, 3]


def test_a_rolled_back_delete_brings_every_index_back(lab):
    lab.run("BEGIN TRAN; DELETE t; ROLLBACK")
    assert left(lab) == [1, 2, 3]
    assert lab.rows("SELECT k FROM t WHERE id = 15") == [(2,)]


def test_truncate_empties_the_table_and_starts_identity_again(lab):
    lab.run("TRUNCATE TABLE t; INSERT t (k) VALUES (9)")
    assert lab.rows("SELECT id, k FROM t") == [(10, 9)]


def test_a_rolled_back_truncate_brings_the_rows_back(lab):
    lab.run("BEGIN TRAN; TRUNCATE TABLE t; ROLLBACK")
    assert left(lab) == [1, 2, 3]


def test_truncate_waits_for_readers_of_the_table(lab):
    other = lab.other()
    other.run("BEGIN TRAN; SELECT a FROM t WITH (UPDLOCK) WHERE k = 1")
    lab.send("TRUNCATE TABLE t")
    assert lab.session.wait.request.mode == "Sch-M"


def test_a_delete_from_a_system_view_is_refused(lab):
    assert "does not support" in lab.refusal("DELETE sys.objects")
