"""Sch-M: whoever redefines or empties a table waits for all its readers, and they for him."""

import pytest

from .conftest import ALL

REDEFINE = [
    "ALTER TABLE dbo.shelf ADD label int NULL",
    "TRUNCATE TABLE dbo.shelf",
    "CREATE INDEX by_jars ON dbo.shelf (jars)",
]
READ_COMMITTED = "READ COMMITTED"


@pytest.mark.parametrize("change", REDEFINE)
def test_it_waits_for_a_transaction_that_has_locked_the_table(locking, change):
    t1, t2 = locking.begin(READ_COMMITTED)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks(change)
    t1.unblocks("COMMIT", t2)


@pytest.mark.parametrize("change", REDEFINE)
@pytest.mark.parametrize("read", [ALL, f"{ALL} WITH (NOLOCK)"])
def test_every_reader_waits_for_it(locking, change, read):
    t1, t2 = locking.begin(READ_COMMITTED)
    t1.does(change)
    t2.blocks(read)
    t1.unblocks("ROLLBACK", t2)


def test_a_reader_of_versions_waits_for_it_too(versioned):
    t1, t2 = versioned.begin(READ_COMMITTED)
    t1.does("TRUNCATE TABLE dbo.shelf")
    t2.blocks(ALL)
    assert t2.session.wait.request.mode == "Sch-S"
    t1.unblocks("COMMIT", t2)
    t2.has_seen([])


def test_a_snapshot_waits_for_it_too(snapshots):
    [t1] = snapshots.begin(READ_COMMITTED, 1)
    [t2] = snapshots.begin("SNAPSHOT", 1)
    t1.does("TRUNCATE TABLE dbo.shelf")
    t2.blocks(ALL)
    t1.unblocks("COMMIT", t2)
    t2.has_seen([])


def test_readers_queue_behind_one_that_waits(locking):
    t1, t2, t3 = locking.begin(READ_COMMITTED, 3)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("TRUNCATE TABLE dbo.shelf")
    t3.blocks(f"{ALL} WITH (NOLOCK)")
    t1.unblocks("COMMIT", t2)
    assert not t3.last.finished
    t2.unblocks("COMMIT", t3)
    t3.has_seen([])
