"""SNAPSHOT: the anomalies; what else there is to the level stands in ``test_snapshot_rules``."""

from .conftest import ALL, START

LEVEL = "SNAPSHOT"


def test_pmp_a_second_predicate_finds_nothing_new(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars = 30", [])
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])


def test_pmp_a_write_predicate_meets_the_snapshot_and_conflicts(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = jars + 10")
    t2.sees(f"{ALL} WHERE jars = 20", [(2, 20)])
    t2.blocks("DELETE dbo.shelf WHERE jars = 20")
    t1.unblocks("COMMIT", t2)
    t2.has_failed(3960)


def test_p4_no_update_is_lost(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.has_failed(3960)


def test_g_single_a_reader_sees_one_state(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 20)])


def test_g_single_reads_by_predicate_see_one_state(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 5 = 0", START)
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])


def test_g_single_a_write_by_predicate_conflicts(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")
    t1.fails("DELETE dbo.shelf WHERE jars = 20", 3960)


def test_g2_item_writes_are_skewed(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id IN (1, 2)", START)
    t2.sees(f"{ALL} WHERE id IN (1, 2)", START)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 21 WHERE id = 2")
    t1.does("COMMIT")
    t2.does("COMMIT")
    t1.sees(ALL, [(1, 11), (2, 21)])


def test_g2_two_inserts_miss_each_other(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t2.sees(f"{ALL} WHERE jars % 3 = 0", [])
    t1.does("INSERT dbo.shelf VALUES (3, 30)")
    t2.does("INSERT dbo.shelf VALUES (4, 42)")
    t1.does("COMMIT")
    t2.does("COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30), (4, 42)])
