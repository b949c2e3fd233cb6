"""usp_Send called under every isolation level, with and without row versions in the database."""

import pytest

from tests.choices import ONE_DIALOG

from .stage import Stage, row_ways, switched, ways

pytestmark = pytest.mark.sampled(every=16, meets=("key",))

LEVELS = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"]
VERSIONS = pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])


def on_stage(key, rcsi=False, switches=None):
    """A stage whose database allows SNAPSHOT, and reads versions if asked."""
    stage = Stage(key, switches)
    stage.dba.does("ALTER DATABASE lab SET ALLOW_SNAPSHOT_ISOLATION ON;")
    if rcsi:
        stage.dba.does("ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;")
    return stage


@ways
@VERSIONS
@pytest.mark.parametrize("level", LEVELS)
def test_it_sends_under_every_level_and_gives_the_callers_back(key, rcsi, level):
    """1 T1 sends under a level.

    2 Its level is still that one, in autocommit and in a transaction.
    """
    stage = on_stage(key, rcsi)
    t1 = stage.caller()
    t1.does(f"SET TRANSACTION ISOLATION LEVEL {level};" + stage.send("01"))
    seen = t1.rows(
        "SELECT CASE transaction_isolation_level WHEN 1 THEN 'READ UNCOMMITTED' WHEN 2 "
        "THEN 'READ COMMITTED' WHEN 3 THEN 'REPEATABLE READ' WHEN 4 THEN "
        "'SERIALIZABLE' WHEN 5 THEN 'SNAPSHOT' END FROM sys.dm_exec_sessions "
        "WHERE session_id = @@SPID;"
    )
    assert seen == [(level,)]
    t1.does("BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);" + stage.send("02") + "COMMIT;")
    assert (stage.orders(), stage.landed()) == ([1], ["01", "02"])
    stage.is_clean()


@ways
@VERSIONS
@pytest.mark.parametrize("level", LEVELS)
def test_the_callers_level_ties_no_other_key_to_it(key, rcsi, level):
    """1 T1 sends and stays open. 2 T2, another key, sends and commits (single: one dialog waits).

    650 (READPAST under SERIALIZABLE or SNAPSHOT) does not come: the procedure sets READ COMMITTED
    for itself (F-116, F-125).
    """
    stage = on_stage(key, rcsi)
    t1, t2 = stage.caller(), stage.caller()
    t1.does(
        f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION; "
        "SELECT COUNT(*) FROM dbo.Orders;" + stage.send("01", "k1")
    )
    sql = f"SET TRANSACTION ISOLATION LEVEL {level};" + stage.send("02", "k2")
    if stage.key in ONE_DIALOG:
        t2.blocks(sql)
    else:
        t2.does(sql)
    t1.does("COMMIT;")
    t2.has_ended()
    assert sorted(stage.landed()) == ["01", "02"]
    stage.is_clean()


@ways
@switched(
    "snapshot_level_taken",
    "snapshot_3952_ends",
    "snapshot_updlock_conflict",
    "snapshot_insert_over_deleted",
)
def test_a_snapshot_caller_that_has_read_sends_and_goes_on(key, switches):
    """F-144: 1 T1, SNAPSHOT, reads. 2 It sends. 3 It reads and writes on under its snapshot."""
    stage = on_stage(key, switches=switches)
    t1 = stage.caller()
    t1.does(
        "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION; "
        "SELECT COUNT(*) FROM dbo.Orders;" + stage.send("01")
    )
    stage.dba.does("INSERT INTO dbo.Orders VALUES (1);")
    t1.does("SELECT COUNT(*) FROM dbo.Orders;")
    assert t1.out.result_sets[-1].rows == [(0,)]
    t1.does("INSERT INTO dbo.Orders VALUES (2);" + stage.send("02") + "COMMIT;")
    assert (stage.orders(), stage.landed()) == ([1, 2], ["01", "02"])
    stage.is_clean()


@ways
@switched("snapshot_level_taken")
def test_a_snapshot_caller_whose_first_access_is_the_send_is_told_or_goes_on(key, switches):
    """F-144: 1 T1, SNAPSHOT, sends first. 2 Its next read.

    3951 and nothing arrives, or it goes on.
    """
    stage = on_stage(key, switches=switches)
    t1 = stage.caller()
    t1.does("SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION;" + stage.send("01"))
    t1.starts("SELECT COUNT(*) FROM dbo.Orders;")
    told = t1.errors == [3951]
    assert told or t1.errors == []
    t1.does("IF XACT_STATE() = 1 COMMIT; IF XACT_STATE() = -1 ROLLBACK;")
    assert t1.value("@@TRANCOUNT") == 0
    assert stage.landed() in ([], ["01"])
    assert told or stage.landed() == ["01"]
    stage.is_clean()


@row_ways
@switched("snapshot_level_taken", "snapshot_updlock_conflict")
def test_a_row_changed_since_a_callers_snapshot_raises_no_3960(key, switches):
    """1 T1, SNAPSHOT, reads. 2 Its dialog is replaced by others meanwhile. 3 It sends: no conflict.

    usp_Send reads R as it is now, not as the caller's snapshot has it.
    """
    stage = on_stage(key, switches=switches)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.does(
        "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION; "
        "SELECT COUNT(*) FROM dbo.Orders;"
    )
    ((handle,),) = stage.dba.rows(
        "SELECT sc.Handle FROM audit.SessionConversations AS sc INNER JOIN "
        "sys.conversation_endpoints AS ce ON ce.conversation_handle = sc.Handle;"
    )
    stage.dba.does(f"EXECUTE audit.usp_RecycleConversation '{handle}', 1;")
    t1.does(stage.send("02") + "COMMIT;")
    assert stage.landed() == ["01", "02"]
    stage.is_clean()


@ways
@switched("broker_error_dooms", "snapshot_level_taken")
@pytest.mark.parametrize("level", ["SERIALIZABLE", "SNAPSHOT"])
def test_a_dead_dialog_under_a_strict_level_is_replaced_or_an_error_raised(key, level, switches):
    """1 The dialog dies. 2 T1 writes a row and sends under the level.

    both, or an error and none.
    """
    stage = on_stage(key, switches=switches)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.loses_dialogs(
        f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION; "
        f"INSERT INTO dbo.Orders VALUES (1); {stage.send('02')} COMMIT;"
    )
    refused = t1.errors
    t1.does("IF XACT_STATE() <> 0 ROLLBACK;")
    assert not refused or (switches["broker_error_dooms"] and refused[0] == 8426)
    assert (stage.orders(), stage.landed()) == (([], ["01"]) if refused else ([1], ["01", "02"]))
    stage.is_clean()


@ways
def test_uncommitted_rows_of_others_are_not_taken_for_dialogs(key):
    """1 T1's first send is not committed. 2 T2, READ UNCOMMITTED, sends. 3 T1 rolls back."""
    stage = on_stage(key)
    t1, t2 = stage.caller(), stage.caller()
    t1.does("BEGIN TRANSACTION;" + stage.send("01", "k1"))
    sql = "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;" + stage.send("02", "k1")
    t2.starts(sql)
    t1.does("ROLLBACK;")
    t2.has_ended()
    assert stage.landed() == ["02"]
    stage.is_clean()
