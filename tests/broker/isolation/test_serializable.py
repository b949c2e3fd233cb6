"""SERIALIZABLE: ranges that were read stay as they were, gaps included."""

from .conftest import ALL, START

LEVEL = "SERIALIZABLE"


def test_pmp_a_second_predicate_finds_nothing_new(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars = 30", [])
    t2.blocks("INSERT dbo.shelf VALUES (3, 30)")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t1.unblocks("COMMIT", t2)
    t2.does("COMMIT")


def test_pmp_a_write_over_a_range_that_was_read_ends_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t2.sees(f"{ALL} WHERE jars = 20", [(2, 20)])
    t1.blocks("UPDATE dbo.shelf SET jars = jars + 10")
    t2.fails("DELETE dbo.shelf WHERE jars = 20", 1205)
    t1.has_succeeded()
    t1.does("COMMIT")


def test_g_single_reads_by_predicate_see_one_state(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 5 = 0", START)
    t2.blocks("INSERT dbo.shelf VALUES (3, 30)")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t1.unblocks("COMMIT", t2)
    t2.does("COMMIT")


def test_g2_two_inserts_into_a_gap_both_have_read_end_in_a_deadlock(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t2.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t1.blocks("INSERT dbo.shelf VALUES (3, 30)")
    t2.fails("INSERT dbo.shelf VALUES (4, 42)", 1205)
    t1.has_succeeded()
    t1.does("COMMIT")


def test_g2_two_antidependencies_through_a_reader_end_in_a_deadlock(locking):
    """The reader that waited sees what the second writer committed."""
    t1, t2, t3 = locking.begin(LEVEL, 3)
    t1.sees(ALL, START)
    t2.blocks("UPDATE dbo.shelf SET jars = jars + 5 WHERE id = 2")
    t3.blocks(ALL)
    waiting = t2.last
    t1.fails("UPDATE dbo.shelf SET jars = 0 WHERE id = 1", 1205)
    assert waiting.ok().finished
    t2.unblocks("COMMIT", t3)
    t3.has_seen([(1, 10), (2, 25)])


# ---------------------------------------------------------------------- ranges
def test_a_key_deleted_and_not_committed_still_bounds_the_gap_before_it(locking):
    t1, t2 = locking.begin(LEVEL)
    t3 = locking.actor()
    t1.does("DELETE dbo.shelf WHERE id = 2")
    t2.blocks(f"{ALL} WHERE id > 1 AND id < 2")
    t1.unblocks("ROLLBACK", t2)
    t2.has_seen([])
    t3.does("INSERT dbo.shelf VALUES (3, 30)")
    t3.does("UPDATE dbo.shelf SET jars = 21 WHERE id = 1")


def test_an_insert_outside_the_range_that_was_read_does_not_wait(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id < 2", [(1, 10)])
    t2.does("INSERT dbo.shelf VALUES (3, 30)")
    t2.blocks("INSERT dbo.shelf VALUES (0, 5)")
    t1.unblocks("COMMIT", t2)
