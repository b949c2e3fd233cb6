"""SNAPSHOT beyond the anomalies: what is seen, what conflicts, what is refused."""

import pytest

from .conftest import ALL, START, Play

LEVEL = "SNAPSHOT"
SET = f"SET TRANSACTION ISOLATION LEVEL {LEVEL}"


def versions(play):
    return play.instance.engine.transactions.versions


# ---------------------------------------------------------------------- what is seen
def test_the_snapshot_is_taken_at_the_first_access_and_not_at_begin(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t2.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1; COMMIT")
    t1.sees(ALL, [(1, 11), (2, 20)])


def test_each_of_three_snapshots_sees_its_own_moment(snapshots):
    readers = snapshots.begin(LEVEL, 3)
    writer = snapshots.actor()
    for jars, reader in zip((11, 12, 13), readers):
        writer.does(f"UPDATE dbo.shelf SET jars = {jars} WHERE id = 1")
        reader.sees(f"{ALL} WHERE id = 1", [(1, jars)])
    writer.does("DELETE dbo.shelf WHERE id = 1")
    for jars, reader in zip((11, 12, 13), readers):
        reader.sees(ALL, [(1, jars), (2, 20)])


def test_a_transaction_sees_its_own_changes_and_nobody_elses(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.does("INSERT dbo.shelf VALUES (3, 30); DELETE dbo.shelf WHERE id = 1")
    t2.sees(ALL, START)
    t1.sees(ALL, [(2, 20), (3, 30)])
    t1.does("COMMIT")
    t2.sees(ALL, START)


def test_a_row_deleted_and_inserted_again_is_seen_as_it_was(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    writer = snapshots.actor()
    writer.does("DELETE dbo.shelf WHERE id = 2")
    writer.does("INSERT dbo.shelf VALUES (2, 99)")
    t1.sees(ALL, START)
    t1.sees(f"{ALL} WHERE id = 2", [(2, 20)])


def test_a_read_through_another_index_sees_the_same_moment(snapshots):
    writer = snapshots.actor()
    writer.does("CREATE UNIQUE INDEX by_jars ON dbo.shelf (jars)")
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    writer.does("UPDATE dbo.shelf SET jars = 21 WHERE id = 2; DELETE dbo.shelf WHERE id = 1")
    t1.sees(f"{ALL} WHERE jars = 20", [(2, 20)])
    t1.sees(f"{ALL} WHERE jars = 21", [])
    t1.sees(f"{ALL} WITH (INDEX(by_jars)) WHERE jars > 0", START)


def test_a_rolled_back_change_leaves_no_trace(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(ALL, START)
    t2.does("UPDATE dbo.shelf SET jars = 99; ROLLBACK")
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.sees(ALL, [(1, 11), (2, 20)])


def test_a_snapshot_takes_schema_stability_and_no_other_lock(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    assert t1.session.transaction.locks == {}


def test_a_procedure_that_sets_the_level_gives_it_back(snapshots):
    someone = snapshots.actor()
    someone.does(f"CREATE PROCEDURE dbo.look AS {SET}; {ALL}")
    someone.sees("EXEC dbo.look", START)
    assert someone.session.isolation == "read committed"


# ---------------------------------------------------------------------- what is kept
def test_nothing_is_kept_without_a_reader_of_the_past(snapshots):
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11")
    assert (versions(snapshots).kept, versions(snapshots).sequence) == ({}, 0)


def test_a_version_goes_with_the_last_transaction_that_could_read_it(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    writer = snapshots.actor()
    t1.sees(ALL, START)
    writer.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.sees(ALL, [(1, 11), (2, 20)])
    writer.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    [(index, key)] = versions(snapshots).kept
    assert len(index.versions[key]) == 2
    t1.does("COMMIT")
    assert len(index.versions[key]) == 1
    t2.does("ROLLBACK")
    assert (index.versions, versions(snapshots).kept) == ({}, {})


def test_a_snapshot_that_dies_with_its_session_keeps_nothing(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11")
    t1.session.close()
    assert (versions(snapshots).kept, versions(snapshots).readers) == ({}, {})


# ---------------------------------------------------------------------- conflicts
def test_3960_ends_the_transaction_and_names_table_and_database(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.fails("UPDATE dbo.shelf SET jars = 12 WHERE id = 1; PRINT 'not reached'", 3960)
    assert "table 'dbo.shelf' directly or indirectly in database 'play'" in t1.last.errors[0].text
    assert t1.last.infos == []
    assert versions(snapshots).readers == {}


def test_3960_in_a_try_block_leaves_a_transaction_that_can_only_roll_back(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.sees(
        "BEGIN TRY UPDATE dbo.shelf SET jars = 12 WHERE id = 1 END TRY "
        "BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT; ROLLBACK; END CATCH",
        [(3960, -1, 1)],
    )


def test_a_row_that_does_not_qualify_in_the_snapshot_is_no_conflict(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 0 WHERE jars = 11")
    t1.does("UPDATE dbo.shelf SET jars = 21 WHERE jars = 20")
    t1.sees(ALL, [(1, 10), (2, 21)])


def test_a_writer_that_rolls_back_is_no_conflict(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.unblocks("ROLLBACK", t2)
    t2.sees(ALL, [(1, 12), (2, 20)])


def test_an_insert_over_a_row_inserted_since_is_a_duplicate(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("INSERT dbo.shelf VALUES (3, 30)")
    t1.sees(ALL, START)
    t1.last = t1.session.execute("INSERT dbo.shelf VALUES (3, 31)")
    assert [message.number for message in t1.last.errors] == [2627]


def test_an_insert_over_a_row_deleted_since_conflicts(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("DELETE dbo.shelf WHERE id = 2")
    t1.fails("INSERT dbo.shelf VALUES (2, 21)", 3960)


def test_another_level_for_the_statement_avoids_the_conflict(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("UPDATE dbo.shelf WITH (READCOMMITTEDLOCK) SET jars = jars + 1 WHERE id = 1")
    t1.sees(ALL, [(1, 12), (2, 20)])


def test_an_updlock_in_the_snapshot_keeps_writers_away(snapshots):
    t1, t2 = snapshots.begin(LEVEL)
    t1.sees(f"{ALL} WITH (UPDLOCK) WHERE id = 1", [(1, 10)])
    t2.blocks("UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.unblocks("COMMIT", t2)
    t2.has_failed(3960)


# ---------------------------------------------------------------------- what is refused
def test_3952_where_the_database_does_not_allow_snapshots(locking):
    [t1] = locking.begin(LEVEL, 1)
    t1.fails(ALL, 3952)


@pytest.mark.parametrize(
    "write", ["INSERT dbo.shelf VALUES (3, 30)", "DELETE dbo.shelf WHERE id = 1"]
)
def test_3952_for_a_write_too(locking, write):
    [t1] = locking.begin(LEVEL, 1)
    t1.fails(write, 3952)


def test_a_hint_for_another_level_needs_no_snapshot(locking):
    [t1] = locking.begin(LEVEL, 1)
    t1.sees(f"{ALL} WITH (READCOMMITTED)", START)


def test_3951_when_the_first_access_was_made_under_another_level(snapshots):
    [t1] = snapshots.begin("READ COMMITTED", 1)
    t1.sees(ALL, START)
    t1.does(SET)
    t1.fails(ALL, 3951)


def test_a_transaction_that_has_touched_nothing_may_still_become_a_snapshot(snapshots):
    """A transaction starts with its first access to data (F-144)."""
    [t1] = snapshots.begin("READ COMMITTED", 1)
    t1.does(SET)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.sees(ALL, START)


def test_a_snapshot_transaction_whose_first_access_is_read_committed_has_no_snapshot(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.does("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    t1.sees(ALL, START)
    t1.does(SET)
    t1.fails(ALL, 3951)


def test_a_transaction_may_leave_the_level_and_come_back(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    snapshots.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t1.does("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    t1.sees(ALL, [(1, 11), (2, 20)])
    t1.does(SET)
    t1.sees(ALL, START)


def test_650_for_readpast_whether_or_not_it_locks(snapshots):
    for hints in ("READPAST", "READPAST, UPDLOCK"):
        [t1] = snapshots.begin(LEVEL, 1)
        t1.fails(f"{ALL} WITH ({hints})", 650)


@pytest.mark.parametrize(
    "ddl", ["ALTER TABLE dbo.shelf ADD label int NULL", "CREATE INDEX by_jars ON dbo.shelf (jars)"]
)
def test_3964_for_redefining_a_table_in_a_snapshot_transaction(snapshots, ddl):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.fails(ddl, 3964)
    t1.does(ddl)


@pytest.mark.parametrize(
    "ddl",
    [
        "ALTER TABLE dbo.shelf ADD label int NULL",
        "CREATE INDEX by_jars ON dbo.shelf (jars)",
        "TRUNCATE TABLE dbo.shelf",
    ],
)
def test_3961_for_a_table_redefined_since_the_snapshot(snapshots, ddl):
    snapshots.actor().does("CREATE TABLE dbo.other (id int NOT NULL PRIMARY KEY)")
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees("SELECT id FROM dbo.other", [])
    snapshots.actor().does(ddl)
    t1.sees("SELECT id FROM dbo.other", [])
    t1.fails(ALL, 3961)


# ---------------------------------------------------------------------- what shows it
def test_the_catalog_shows_the_level(snapshots):
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(
        "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID",
        [(5,)],
    )
    t1.sees("SELECT transaction_is_snapshot FROM sys.dm_tran_current_transaction", [(1,)])


def test_both_options_together_give_both_kinds_of_reading():
    play = Play("ALLOW_SNAPSHOT_ISOLATION ON", "READ_COMMITTED_SNAPSHOT ON")
    [past] = play.begin(LEVEL, 1)
    [present] = play.begin("READ COMMITTED", 1)
    past.sees(ALL, START)
    present.sees(ALL, START)
    play.actor().does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    past.sees(ALL, START)
    present.sees(ALL, [(1, 11), (2, 20)])


# ---------------------------------------------------------------------- queues
def test_a_queue_keeps_no_versions_so_selecting_from_it_is_refused(snapshots):
    someone = snapshots.actor()
    someone.does("CREATE QUEUE dbo.orders")
    someone.does(SET)
    someone.fails("SELECT * FROM dbo.orders", 60001)
    assert "SELECT from a queue under SNAPSHOT" in someone.last.errors[0].text
    someone.sees("SELECT * FROM dbo.orders WITH (READCOMMITTED)", [])


def test_a_snapshot_transaction_sends_and_receives(snapshots):
    someone = snapshots.actor()
    someone.does("CREATE QUEUE dbo.orders; CREATE SERVICE shop ON QUEUE dbo.orders ([DEFAULT])")
    [t1] = snapshots.begin(LEVEL, 1)
    t1.sees(ALL, START)
    t1.does(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE shop TO SERVICE 'shop' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01); COMMIT"
    )
    t1.sees("BEGIN TRAN; RECEIVE message_body FROM dbo.orders; COMMIT", [(b"\x01",)])
