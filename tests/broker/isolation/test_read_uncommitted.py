"""READ UNCOMMITTED: writers still wait for writers, readers wait for nobody."""

from .conftest import ALL, START

LEVEL = "READ UNCOMMITTED"


def test_g0_write_cycles_are_prevented(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 21 WHERE id = 2")
    t1.unblocks("COMMIT", t2)
    t1.sees(ALL, [(1, 12), (2, 21)])
    t2.does("UPDATE dbo.shelf SET jars = 22 WHERE id = 2")
    t2.does("COMMIT")
    t1.sees(ALL, [(1, 12), (2, 22)])


def test_g1a_aborted_reads_happen(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.sees(ALL, [(1, 101), (2, 20)])
    t1.does("ROLLBACK")
    t2.sees(ALL, START)


def test_g1b_intermediate_reads_happen(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.sees(ALL, [(1, 101), (2, 20)])
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1; COMMIT")
    t2.sees(ALL, [(1, 11), (2, 20)])


def test_g1c_circular_information_flow_happens(locking):
    t1, t2 = locking.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 22 WHERE id = 2")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 22)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 11)])
    t1.does("COMMIT")
    t2.does("COMMIT")


def test_otv_an_observed_transaction_vanishes(locking):
    t1, t2, t3 = locking.begin(LEVEL, 3)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 19 WHERE id = 2")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t3.sees(ALL, [(1, 12), (2, 19)])
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2")
    t3.sees(ALL, [(1, 12), (2, 18)])
    t2.does("COMMIT")
    t3.does("COMMIT")
