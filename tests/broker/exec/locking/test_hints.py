"""Table hints: what each does to locks, and which are refused where."""

import pytest


def test_readpast_skips_locked_rows(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 2")
    hints = "WITH (ROWLOCK, READPAST, UPDLOCK)"
    assert lab.rows(f"SELECT k FROM t {hints}") == [(1,), (3,)]


def test_top_with_readpast_locks_only_the_row_it_returns(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 1")
    lab.run("BEGIN TRAN")
    sql = "SELECT TOP (1) k FROM t WITH (ROWLOCK, UPDLOCK, READPAST) ORDER BY k"
    assert lab.rows(sql) == [(2,)]
    assert lab.held() == {"T": "IX", "C(2)": "U"}


def test_top_with_a_sort_that_no_index_gives_locks_every_row(lab):
    lab.run("BEGIN TRAN; SELECT TOP (1) k FROM t WITH (UPDLOCK) ORDER BY a DESC")
    assert lab.held() == {"T": "IX", "C(1)": "U", "C(2)": "U", "C(3)": "U"}


def test_delete_top_with_readpast_takes_the_first_free_row(lab):
    other = lab.other()
    other.run("BEGIN TRAN; SELECT k FROM t WITH (UPDLOCK) WHERE k = 1")
    assert lab.rows("DELETE TOP (1) t WITH (READPAST) OUTPUT deleted.k") == [(2,)]


def test_readpast_is_refused_when_read_in_serializable(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    assert lab.error("SELECT k FROM t WITH (READPAST)") == 650


def test_readpast_passes_in_serializable_for_a_delete_by_exactly_the_key(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    lab.run("DELETE t WITH (READPAST) WHERE k = 1")
    assert lab.error("DELETE t WITH (READPAST) WHERE k = 2 AND a = 0") == 650


def test_a_plain_readpast_under_rcsi_reads_versions_and_skips_nothing(rcsi):
    other = rcsi.other()
    other.run("BEGIN TRAN; DELETE t WHERE k = 2")
    assert rcsi.rows("SELECT k FROM t WITH (READPAST)") == [(1,), (2,), (3,)]
    hints = "WITH (READPAST, READCOMMITTEDLOCK)"
    assert rcsi.rows(f"SELECT k FROM t {hints}") == [(1,), (3,)]


def test_nolock_reads_uncommitted_rows(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 7 WHERE k = 2")
    assert lab.rows("SELECT a FROM t WITH (NOLOCK) WHERE k = 2") == [(7,)]
    assert lab.locks("SELECT a FROM t WITH (NOLOCK) WHERE k = 2") == ["Sch-S T"]


def test_nowait_fails_at_once_with_1222(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 7 WHERE k = 2")
    assert lab.error("SELECT a FROM t WITH (UPDLOCK, NOWAIT) WHERE k = 2") == 1222


def test_lock_timeout_0_fails_at_once_and_leaves_the_transaction_usable(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 7 WHERE k = 2")
    lab.run("BEGIN TRAN; UPDATE t SET a = 5 WHERE k = 1; SET LOCK_TIMEOUT 0")
    assert lab.error("DELETE t WHERE k = 2") == 1222
    assert lab.value("SELECT XACT_STATE()") == 1
    lab.run("COMMIT")
    assert lab.value("SELECT a FROM t WHERE k = 1") == 5


def test_xlock_takes_x_on_the_key(lab):
    lab.run("BEGIN TRAN; SELECT a FROM t WITH (XLOCK) WHERE k = 1")
    assert lab.held() == {"T": "IX", "C(1)": "X"}


def test_tablockx_takes_the_whole_table_and_no_rows(lab):
    lab.run("BEGIN TRAN; SELECT a FROM t WITH (TABLOCKX)")
    assert lab.held() == {"T": "X"}


def test_tablock_with_holdlock_keeps_s_on_the_table(lab):
    lab.run("BEGIN TRAN; SELECT a FROM t WITH (TABLOCK, HOLDLOCK)")
    assert lab.held() == {"T": "S"}


def test_updlock_with_tablock_becomes_x_on_the_table(lab):
    lab.run("BEGIN TRAN; SELECT a FROM t WITH (UPDLOCK, TABLOCK)")
    assert lab.held() == {"T": "X"}


def test_hints_on_the_from_clause_of_an_update_count_for_its_target(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 1")
    lab.run("UPDATE x SET a = 9 FROM t AS x WITH (READPAST)")
    assert lab.rows("SELECT a FROM t WITH (NOLOCK)") == [(1,), (9,), (9,)]


def test_an_index_hint_forces_the_other_index(lab):
    sql = "BEGIN TRAN; SELECT a FROM t WITH (UPDLOCK, INDEX(uq)) WHERE k = 1 AND h = 10"
    assert lab.locks(sql) == ["IX T", "U N(10)", "U C(1)"]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT a FROM t WITH (NOLOCK, HOLDLOCK)", 1047),
        ("SELECT a FROM t WITH (UPDLOCK, NOLOCK)", 1047),
        ("SELECT a FROM t WITH (UPDLOCK, XLOCK)", 1047),
        ("SELECT a FROM t WITH (ROWLOCK, TABLOCK)", 1047),
        ("DELETE t WITH (NOLOCK) WHERE k = 1", 1065),
        ("DELETE x FROM t AS x WITH (NOLOCK) WHERE k = 1", 1065),
        ("DELETE t WITH (INDEX(pk)) WHERE k = 1", 1069),
        ("INSERT t WITH (READPAST) (k, h) VALUES (9, 9)", 4102),
        ("INSERT t WITH (READCOMMITTEDLOCK) (k, h) VALUES (9, 9)", 4140),
        ("SELECT a FROM t WITH (FORCESEEK)", 8622),
        ("SELECT a FROM t WITH (FORCESEEK, INDEX(uq)) WHERE k = 1", 8622),
        ("SELECT a FROM t WITH (INDEX(nothing))", 308),
        ("SELECT a FROM t WITH (INDEX(7))", 307),
    ],
)
def test_a_wrong_hint_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


def test_an_unknown_hint_is_refused_by_name_and_position(lab):
    text = lab.refusal("SELECT a FROM t WITH (PAGLOCK)")
    assert "PAGLOCK" in text and "line 1, column 23" in text
