"""REPEATABLE READ: rows that were read stay as they were; new rows may appear."""

from .conftest import ALL, START

LEVEL = "REPEATABLE READ"


def test_pmp_a_second_predicate_finds_a_new_row(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars = 30", [])
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30)])


def test_pmp_a_write_over_rows_that_were_read_ends_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t2.sees(ALL, START)
    t1.blocks("UPDATE dbo.shelf SET jars = jars + 10")
    t2.fails("DELETE dbo.shelf WHERE jars = 20", 1205)
    t1.has_succeeded()
    t1.does("COMMIT")
    t1.sees(ALL, [(1, 20), (2, 30)])


def test_p4_no_update_is_lost(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t1.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.fails("UPDATE dbo.shelf SET jars = 11 WHERE id = 1", 1205)
    t1.has_succeeded()
    t1.does("COMMIT")


def test_g_single_a_reader_of_rows_sees_one_state(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 20)])
    t1.unblocks("COMMIT", t2)
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")


def test_g_single_reads_by_predicate_are_skewed(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 5 = 0", START)
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30)])


def test_g_single_a_write_by_predicate_ends_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.fails("DELETE dbo.shelf WHERE jars = 20", 1205)
    t2.has_succeeded()
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")
    t2.sees(ALL, [(1, 12), (2, 18)])


def test_g2_item_write_skew_ends_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id IN (1, 2)", START)
    t2.sees(f"{ALL} WHERE id IN (1, 2)", START)
    t1.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.fails("UPDATE dbo.shelf SET jars = 21 WHERE id = 2", 1205)
    t1.has_succeeded()
    t1.does("COMMIT")


def test_g2_two_inserts_miss_each_other(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t2.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t1.does("INSERT dbo.shelf VALUES (3, 30)")
    t2.does("INSERT dbo.shelf VALUES (4, 42)")
    t1.does("COMMIT")
    t2.does("COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30), (4, 42)])
