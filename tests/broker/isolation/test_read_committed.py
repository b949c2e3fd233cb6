"""READ COMMITTED by locks: a reader waits for an uncommitted row, and for nothing longer."""

from .conftest import ALL, START, Play

LEVEL = "READ COMMITTED"


def test_g1a_aborted_reads_are_prevented(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.blocks(ALL)
    t1.unblocks("ROLLBACK", t2)
    t2.has_seen(START)


def test_g1b_intermediate_reads_are_prevented(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.blocks(ALL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.has_seen([(1, 11), (2, 20)])


def test_g1c_circular_information_flow_ends_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 22 WHERE id = 2")
    t1.blocks(f"{ALL} WHERE id = 2")
    t2.fails(f"{ALL} WHERE id = 1", 1205)
    t1.has_seen([(2, 20)])
    t1.does("COMMIT")


def test_otv_no_observed_transaction_vanishes(locking):
    t1, t2, t3 = locking.begin(LEVEL, 3)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 19 WHERE id = 2")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t3.blocks(ALL)
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2")
    t2.unblocks("COMMIT", t3)
    t3.has_seen([(1, 12), (2, 18)])


def test_pmp_a_second_predicate_finds_a_new_row(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars = 30", [])
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30)])


def test_pmp_a_write_predicate_meets_rows_changed_since_they_were_read(locking):
    t1, t2 = locking.begin(LEVEL)
    t2.sees(ALL, START)
    t1.does("UPDATE dbo.shelf SET jars = jars + 10")
    t2.blocks(ALL)
    t1.unblocks("COMMIT", t2)
    t2.has_seen([(1, 20), (2, 30)])
    t2.does("DELETE dbo.shelf WHERE jars = 20")
    t2.sees(ALL, [(2, 30)])


def test_p4_an_update_is_lost(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.has_succeeded()
    t2.does("COMMIT")


def test_g_single_reads_are_skewed(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 18)])


def test_locks_a_savepoint_gives_back_leave_the_row_to_others():
    """Switch savepoint_locks: the change is undone, so another's change and commit stand."""
    play = Play(switches={"savepoint_locks": "released"})
    t1, t2 = play.begin("READ COMMITTED")
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1; SAVE TRANSACTION s")
    t1.does("UPDATE dbo.shelf SET jars = 21 WHERE id = 2; INSERT dbo.shelf VALUES (3, 30)")
    t1.does("ROLLBACK TRANSACTION s")
    t2.does("UPDATE dbo.shelf SET jars = 22 WHERE id = 2; INSERT dbo.shelf VALUES (3, 33)")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.does("COMMIT")
    play.actor().sees(ALL, [(1, 12), (2, 22), (3, 33)])
