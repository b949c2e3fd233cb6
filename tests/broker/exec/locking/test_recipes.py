"""Which keys each statement locks, in which order: the recipes of the access-path facts, a to r.

T is the table, C(k) a key of the clustered index, N(h) one of the unique nonclustered index.
"""

import pytest

from tests.broker.exec.locking.conftest import make


def test_a_read_by_key_asks_for_no_key_lock_where_nothing_is_uncommitted(lab):
    assert lab.locks("SELECT a FROM t WHERE k = 1") == ["IS T"]
    assert lab.held() == {}


def test_a_read_by_key_waits_in_s_for_an_uncommitted_change(lab):
    writer = lab.other()
    writer.run("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 1")
    lab.send("SELECT a FROM t WHERE k = 1")
    assert lab.waiting == "S C(1)"


def test_a_read_is_not_blocked_by_a_mere_lock_hint(lab):
    other = lab.other()
    other.run("BEGIN TRAN; SELECT a FROM t WITH (XLOCK) WHERE k = 1")
    assert lab.rows("SELECT a FROM t WHERE k = 1") == [(0,)]


def test_where_every_row_is_locked_a_plain_read_asks_for_s_and_waits_for_a_hint():
    """As beside another uncommitted row of the page: the entry is kept until its row is read (F-202)."""
    lab = make(switches={"plain_read_locks": "every row"})
    assert lab.locks("SELECT a FROM t WHERE k = 1") == ["IS T", "S C(1)"]
    assert lab.locks("SELECT a FROM t WHERE h = 10") == ["IS T", "S N(10)", "S C(1)"]
    assert lab.held() == {}
    other = lab.other()
    other.run("BEGIN TRAN; SELECT a FROM t WITH (XLOCK) WHERE k = 1")
    lab.send("SELECT a FROM t WHERE k = 1")
    assert lab.waiting == "S C(1)"


def test_b_a_versioned_read_takes_schema_stability_only(rcsi):
    assert rcsi.locks("SELECT a FROM t WHERE k = 1") == ["Sch-S T"]


def test_b_a_versioned_read_sees_the_committed_row_beside_a_writer(rcsi):
    writer = rcsi.other()
    writer.run("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 1; DELETE t WHERE k = 2")
    assert rcsi.rows("SELECT k, a FROM t") == [(1, 0), (2, 0), (3, 0)]


def test_c_updlock_by_the_clustered_key_leaves_the_other_index_alone(lab):
    sql = "BEGIN TRAN; SELECT h FROM t WITH (UPDLOCK) WHERE k = 1"
    assert lab.locks(sql) == ["IX T", "U C(1)"]
    assert lab.held() == {"T": "IX", "C(1)": "U"}


def test_c_updlock_locks_the_current_row_under_rcsi_too(rcsi):
    sql = "BEGIN TRAN; SELECT h FROM t WITH (UPDLOCK) WHERE k = 1"
    assert rcsi.locks(sql) == ["IX T", "U C(1)"]


def test_d_a_covering_index_protects_only_its_own_key(lab):
    sql = "BEGIN TRAN; SELECT k FROM t WITH (UPDLOCK) WHERE h = 10"
    assert lab.locks(sql) == ["IX T", "U N(10)"]


def test_e_updlock_by_handle_locks_the_entry_and_then_the_row(lab):
    sql = "BEGIN TRAN; SELECT * FROM t WITH (UPDLOCK) WHERE h = 10"
    assert lab.locks(sql) == ["IX T", "U N(10)", "U C(1)"]


def test_f_holdlock_on_a_full_unique_key_locks_the_key_and_no_range(lab):
    sql = "BEGIN TRAN; SELECT a FROM t WITH (HOLDLOCK) WHERE k = 2"
    assert lab.locks(sql) == ["IS T", "S C(2)"]
    assert lab.held() == {"T": "IS", "C(2)": "S"}


def test_g_holdlock_on_a_missing_key_locks_the_gap_before_the_next_one(lab):
    lab.run("DELETE t WHERE k = 2")
    sql = "BEGIN TRAN; SELECT a FROM t WITH (HOLDLOCK) WHERE k = 2"
    assert lab.locks(sql) == ["IS T", "RangeS-S C(3)"]


def test_g_holdlock_behind_the_last_key_locks_the_end_of_the_index(lab):
    sql = "BEGIN TRAN; SELECT a FROM t WITH (HOLDLOCK) WHERE k = 9"
    assert lab.locks(sql) == ["IS T", "RangeS-S C(INFINITY)"]


def test_h_updlock_and_holdlock_on_a_missing_key_take_range_s_u(lab):
    sql = "BEGIN TRAN; SELECT a FROM t WITH (UPDLOCK, HOLDLOCK) WHERE k = 9"
    assert lab.locks(sql) == ["IX T", "RangeS-U C(INFINITY)"]


def test_i_updlock_on_a_missing_key_locks_no_key_at_all(lab):
    sql = "BEGIN TRAN; SELECT a FROM t WITH (UPDLOCK) WHERE k = 9"
    assert lab.locks(sql) == ["IX T"]


def test_j_an_insert_locks_the_row_and_then_its_entry(lab):
    sql = "BEGIN TRAN; INSERT t (k, h) VALUES (4, 40)"
    assert lab.locks(sql) == ["IX T", "X C(4)", "X N(40)"]


def test_j_an_insert_tests_the_gap_against_range_locks(lab):
    reader = lab.other()
    reader.run("BEGIN TRAN; SELECT a FROM t WITH (HOLDLOCK) WHERE k = 9")
    lab.send("INSERT t (k, h) VALUES (4, 40)")
    assert lab.waiting == "RangeI-N C(INFINITY)"


@pytest.mark.parametrize("hints", ["", "WITH (ROWLOCK)"])
def test_k_a_delete_by_nothing_but_the_clustered_key_asks_for_x_directly(lab, hints):
    sql = f"BEGIN TRAN; DELETE t {hints} WHERE k = 1"
    assert lab.locks(sql) == ["IX T", "X C(1)", "X N(10)"]


def test_k_it_waits_as_x_behind_a_u_lock(lab):
    other = lab.other()
    other.run("BEGIN TRAN; SELECT h FROM t WITH (UPDLOCK) WHERE k = 1")
    lab.send("DELETE t WHERE k = 1")
    assert lab.waiting == "X C(1)"


def test_l_a_residual_condition_makes_it_u_first(lab):
    sql = "BEGIN TRAN; DELETE t WHERE k = 1 AND h = 10"
    assert lab.locks(sql) == ["IX T", "U C(1)", "X C(1)", "X N(10)"]


def test_l_a_residual_that_fails_gives_the_u_lock_back(lab):
    lab.run("BEGIN TRAN; DELETE t WHERE k = 1 AND h = 11")
    assert lab.held() == {"T": "IX"}


def test_l_an_in_list_is_u_first_too(lab):
    sql = "BEGIN TRAN; DELETE t WHERE k IN (1, 3)"
    assert lab.locks(sql) == ["IX T", "U C(1)", "U C(3)", "X C(1)", "X N(10)", "X C(3)", "X N(30)"]


def test_m_a_delete_by_handle_holds_the_entry_while_it_takes_the_row(lab):
    sql = "BEGIN TRAN; DELETE t WHERE h = 10"
    assert lab.locks(sql) == ["IX T", "U N(10)", "U C(1)", "X C(1)", "X N(10)"]


def test_m_it_keeps_the_entry_while_it_waits_for_the_row(lab):
    other = lab.other()
    other.run("BEGIN TRAN; SELECT h FROM t WITH (UPDLOCK) WHERE k = 1")
    lab.send("BEGIN TRAN; DELETE t WHERE h = 10")
    assert lab.waiting == "U C(1)"
    assert lab.held() == {"T": "IX", "N(10)": "U"}


def test_n_an_update_that_leaves_the_handle_alone_locks_the_row_only(lab):
    assert lab.locks("BEGIN TRAN; UPDATE t SET a = 1 WHERE k = 1") == ["IX T", "X C(1)"]


def test_o_an_update_of_the_handle_locks_the_old_and_the_new_entry(lab):
    sql = "BEGIN TRAN; UPDATE t SET h = 11 WHERE k = 1"
    assert lab.locks(sql) == ["IX T", "X C(1)", "X N(10)", "X N(11)"]


def test_p_a_scan_locks_every_row_on_its_way_and_keeps_the_hits(lab):
    sql = "BEGIN TRAN; DELETE t WHERE a = 0 AND h > 15 AND a + k = 2"
    lab.log.entries.clear()
    taken = lab.locks(sql.replace("h > 15 AND ", ""))
    assert taken == ["IX T", "U C(1)", "U C(2)", "U C(3)", "X C(2)", "X N(20)"]
    assert lab.held() == {"T": "IX", "C(2)": "X", "N(20)": "X"}


def test_q_a_serializable_delete_of_one_key_leaves_x_on_it(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    lab.run("BEGIN TRAN; DELETE t WHERE k = 2")
    assert lab.held()["C(2)"] == "X"


def test_r_a_repeatable_read_through_the_other_index_locks_entry_and_row(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    sql = "BEGIN TRAN; SELECT * FROM t WHERE h = 10"
    assert lab.locks(sql) == ["IS T", "S N(10)", "S C(1)"]


def test_r_a_serializable_range_through_the_other_index(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    sql = "BEGIN TRAN; SELECT * FROM t WHERE h BETWEEN 10 AND 20"
    assert lab.locks(sql) == [
        "IS T",
        "RangeS-S N(10)",
        "S C(1)",
        "RangeS-S N(20)",
        "S C(2)",
        "RangeS-S N(30)",
    ]


def test_q_a_serializable_delete_of_a_range_turns_it_into_range_x_x(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    lab.run("BEGIN TRAN; DELETE t WHERE k BETWEEN 1 AND 2")
    assert lab.held() == {
        "T": "IX",
        "C(1)": "RangeX-X",
        "C(2)": "RangeX-X",
        "C(3)": "RangeS-U",
        "N(10)": "X",
        "N(20)": "X",
    }


def test_q_xlock_and_holdlock_take_range_x_x_on_what_they_touch(lab):
    lab.run("BEGIN TRAN; SELECT a FROM t WITH (XLOCK, HOLDLOCK) WHERE k <= 2")
    assert lab.held() == {"T": "IX", "C(1)": "RangeX-X", "C(2)": "RangeX-X", "C(3)": "RangeX-X"}


def test_r_a_serializable_seek_of_a_unique_entry_locks_no_range(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    assert lab.locks("BEGIN TRAN; SELECT * FROM t WHERE h = 10") == ["IS T", "S N(10)", "S C(1)"]


def test_g_an_exclusive_upper_bound_locks_the_bound_and_nothing_behind_it(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    lab.run("BEGIN TRAN; SELECT a FROM t WHERE k < 2")
    assert lab.held() == {"T": "IS", "C(1)": "RangeS-S", "C(2)": "RangeS-S"}


def test_an_order_against_the_index_reads_it_backwards_and_stops_after_what_it_wants(lab):
    """A server seeks backwards: what lies before the rows that are wanted is neither read nor locked."""
    taken = lab.locks(
        "BEGIN TRAN; SELECT TOP (1) k FROM t WITH (UPDLOCK) WHERE k < 9 ORDER BY k DESC;"
    )
    assert taken == ["IX T", "U C(3)"]


def test_a_backward_read_stops_at_both_ends_of_its_range(lab):
    for where, found in (
        ("k > 1 AND k < 3", [2]),
        ("k >= 1 AND k <= 3", [3, 2, 1]),
        ("k IN (1, 3, 7)", [3, 1]),
        ("k > 3", []),
    ):
        assert lab.rows(f"SELECT k FROM t WHERE {where} ORDER BY k DESC") == [(k,) for k in found]


def test_a_backward_read_waits_for_a_row_that_another_has_deleted(lab):
    other = lab.other()
    other.run("BEGIN TRAN; DELETE t WHERE k = 3;")
    lab.send("SELECT TOP (1) k FROM t ORDER BY k DESC;")
    assert lab.waiting == "S C(3)"
