"""READ COMMITTED by row versions: a reader sees what was committed when its statement began."""

from .conftest import ALL, START

LEVEL = "READ COMMITTED"


def test_g1a_aborted_reads_are_prevented(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.sees(ALL, START)
    t1.does("ROLLBACK")
    t2.sees(ALL, START)


def test_g1b_intermediate_reads_are_prevented(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 101 WHERE id = 1")
    t2.sees(ALL, START)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1; COMMIT")
    t2.sees(ALL, [(1, 11), (2, 20)])


def test_g1c_circular_information_flow_is_prevented(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 22 WHERE id = 2")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 20)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t1.does("COMMIT")
    t2.does("COMMIT")


def test_otv_no_observed_transaction_vanishes(versioned):
    t1, t2, t3 = versioned.begin(LEVEL, 3)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 19 WHERE id = 2")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t3.sees(ALL, [(1, 11), (2, 19)])
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2")
    t3.sees(ALL, [(1, 11), (2, 19)])
    t2.does("COMMIT")
    t3.sees(ALL, [(1, 12), (2, 18)])


def test_pmp_a_second_predicate_finds_a_new_row(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.sees(f"{ALL} WHERE jars = 30", [])
    t2.does("INSERT dbo.shelf VALUES (3, 30); COMMIT")
    t1.sees(f"{ALL} WHERE jars % 3 = 0", [(3, 30)])


def test_pmp_a_write_predicate_meets_other_rows_than_the_read_did(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = jars + 10")
    t2.sees(f"{ALL} WHERE jars = 20", [(2, 20)])
    t2.blocks("DELETE dbo.shelf WHERE jars = 20")
    t1.unblocks("COMMIT", t2)
    t2.sees(ALL, [(2, 30)])


def test_p4_an_update_is_lost(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.has_succeeded()
    t2.does("COMMIT")


def test_g_single_reads_are_skewed(versioned):
    t1, t2 = versioned.begin(LEVEL)
    t1.sees(f"{ALL} WHERE id = 1", [(1, 10)])
    t2.sees(ALL, START)
    t2.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t2.does("UPDATE dbo.shelf SET jars = 18 WHERE id = 2; COMMIT")
    t1.sees(f"{ALL} WHERE id = 2", [(2, 18)])


# ---------------------------------------------------------------------- statements that wait
COPY = "UPDATE dbo.shelf SET jars = (SELECT jars FROM dbo.other WHERE id = 1) WHERE id = 1"


def make_other(play):
    someone = play.actor()
    someone.does("CREATE TABLE dbo.other (id int NOT NULL PRIMARY KEY, jars int NOT NULL)")
    someone.does("INSERT dbo.other VALUES (1, 500)")
    return someone


def test_a_statement_that_waits_still_reads_as_of_its_beginning(versioned):
    someone = make_other(versioned)
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks(COPY)
    someone.does("UPDATE dbo.other SET jars = 600")
    t1.unblocks("COMMIT", t2)
    t2.sees(ALL, [(1, 500), (2, 20)])


def test_the_next_statement_reads_as_of_its_own_beginning(versioned):
    someone = make_other(versioned)
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks(COPY)
    someone.does("UPDATE dbo.other SET jars = 600")
    t1.unblocks("COMMIT", t2)
    t2.sees("SELECT jars FROM dbo.other", [(600,)])


def test_nothing_is_kept_when_no_statement_waits_any_more(versioned):
    someone = make_other(versioned)
    t1, t2 = versioned.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks(COPY)
    someone.does("UPDATE dbo.other SET jars = 600")
    versions = versioned.instance.engine.transactions.versions
    assert len(versions.kept) == 1
    t2.session.attention()
    assert (versions.readers, versions.kept) == ({}, {})
