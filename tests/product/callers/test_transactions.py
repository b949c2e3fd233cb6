"""usp_Send inside transactions, TRY blocks and procedures of its caller."""

import pytest

from redial.config.keys import keys_with
from tests.choices import ONE_DIALOG

from .stage import Stage, keys, row_ways, switched, ways

pytestmark = pytest.mark.sampled(every=8, meets=("key",))

ABORT = pytest.mark.parametrize("abort", ["OFF", "ON"])


@ways
@ABORT
@switched("broker_error_dooms")
def test_inside_a_callers_try_it_is_sent_or_the_catch_hears_of_it(key, abort, switches):
    """1 A dialog dies. 2 T1 writes a row and sends in a TRY; its CATCH commits what it may.

    Row and message come together or not at all: CATCH sees 8426 only where the error dooms (F-131).
    """
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    stage.forget_dialogs()
    t1.does(
        f"SET XACT_ABORT {abort}; BEGIN TRY BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES "
        f"(1); {stage.send('02')} COMMIT; SELECT 0; END TRY BEGIN CATCH SELECT ERROR_NUMBER(); "
        "IF XACT_STATE() = 1 COMMIT; IF XACT_STATE() = -1 ROLLBACK; END CATCH;"
    )
    ((error,),) = t1.out.result_sets[-1].rows
    if error == 0:
        assert (stage.orders(), stage.landed()) == ([1], ["01", "02"])
    else:
        assert switches["broker_error_dooms"] and error == 8426
        assert (stage.orders(), stage.landed()) == ([], ["01"])
    stage.is_clean()


@ways
@ABORT
def test_in_a_doomed_transaction_a_clear_error_comes_and_no_message(key, abort):
    """1 T1's transaction is doomed. 2 It sends from its CATCH: an error of the server.

    3 It rolls back.

    Number 3930: nothing that writes is allowed before the rollback.
    """
    stage = Stage(key)
    t1 = stage.caller()
    t1.starts(
        f"SET XACT_ABORT {abort}; BEGIN TRANSACTION; BEGIN TRY SELECT CONVERT(xml, N'<a'); END TRY "
        f"BEGIN CATCH IF XACT_STATE() <> -1 THROW 50999, N'not doomed', 1; {stage.send('02')} "
        "END CATCH;"
    )
    assert t1.out.finished and t1.errors[0] == 3930
    assert t1.value("@@TRANCOUNT") == 0
    assert stage.landed() == []
    stage.is_clean()


@ways
@ABORT
def test_in_a_doomed_transaction_with_a_dialog_the_error_can_be_caught(key, abort):
    """1 T1 has a dialog. 2 Its transaction is doomed.

    3 It sends in an inner TRY, is told, rolls back.
    """
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.does(
        f"SET XACT_ABORT {abort}; BEGIN TRANSACTION; BEGIN TRY SELECT CONVERT(xml, N'<a'); END TRY "
        f"BEGIN CATCH BEGIN TRY {stage.send('02')} SELECT 0; END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER(); END CATCH; ROLLBACK; END CATCH;"
    )
    assert t1.out.result_sets[-1].rows == [(3930,)]
    assert stage.landed() == ["01"]
    stage.is_clean()


@ways
@switched("implicit_transactions_266")
def test_under_implicit_transactions_the_client_commits(key, switches):
    """1 T1 works with IMPLICIT_TRANSACTIONS ON and sends. 2 Nothing has arrived.

    3 It commits (F-137).
    """
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.starts("SET IMPLICIT_TRANSACTIONS ON;" + stage.send("01"))
    assert t1.errors == ([266] if switches["implicit_transactions_266"] else [])
    assert stage.landed() == []
    t1.does("IF @@TRANCOUNT > 0 COMMIT;")
    assert stage.landed() == ["01"]
    t1.starts(stage.send("02"))
    t1.does("IF @@TRANCOUNT > 0 ROLLBACK;")
    assert stage.landed() == ["01"]
    stage.is_clean()


@ways
@switched("broker_error_dooms", "implicit_transactions_266")
def test_under_implicit_transactions_a_dead_dialog_leaves_a_message_or_an_error(key, switches):
    """1 T1 sends and commits. 2 The dialog dies. 3 T1 sends.

    with an error nothing arrives (F-131).
    """
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.loses_dialogs("SET IMPLICIT_TRANSACTIONS ON;" + stage.send("02"))
    refused = set(t1.errors) - {266}
    t1.starts("IF XACT_STATE() = 1 COMMIT; IF XACT_STATE() = -1 ROLLBACK;")
    assert stage.landed() == (["01"] if refused else ["01", "02"])
    assert refused <= ({8426, 8429} if switches["broker_error_dooms"] else set())
    stage.is_clean()


@ways
@ABORT
@switched("savepoint_locks")
def test_a_savepoint_the_caller_rolls_back_takes_the_message_only(key, abort, switches):
    """1 T1 writes, saves, sends, rolls back to the savepoint, sends again, commits (F-320)."""
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(
        f"SET XACT_ABORT {abort}; BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); "
        f"SAVE TRANSACTION s; {stage.send('01')} ROLLBACK TRANSACTION s; {stage.send('02')} "
        "COMMIT;"
    )
    assert (stage.orders(), stage.landed()) == ([1], ["02"])
    t1.does(
        f"BEGIN TRANSACTION; {stage.send('03')} SAVE TRANSACTION s; {stage.send('04')} "
        f"ROLLBACK TRANSACTION s; {stage.send('05')} COMMIT;"
    )
    assert sorted(stage.landed()) == ["02", "03", "05"]
    stage.is_clean()


@row_ways
@switched("savepoint_locks")
def test_a_first_send_that_is_rolled_back_to_a_savepoint_leaves_no_row_and_no_dialog(key, switches):
    """1 T1's first send ever lies behind a savepoint it rolls back to. 2 It commits the rest."""
    stage = Stage(key, switches)
    t1 = stage.caller()
    before = stage.dba.rows("SELECT Handle FROM audit.SessionConversations;")
    t1.does(
        f"BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); SAVE TRANSACTION s; "
        f"{stage.send('01')} ROLLBACK TRANSACTION s; COMMIT;"
    )
    assert stage.dba.rows("SELECT Handle FROM audit.SessionConversations;") == before
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    t1.does(stage.send("02"))
    assert (stage.orders(), stage.landed()) == ([1], ["02"])
    stage.is_clean()


@ways
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_transaction_count_is_what_it_was(key, depth):
    """266, 3915, 3916: 1 T1 opens ``depth`` transactions. 2 It sends, also wrongly.

    3 They are open.
    """
    stage = Stage(key)
    t1 = stage.caller()
    begins = "BEGIN TRANSACTION; " * depth
    t1.does(f"{begins} {stage.send('01')} SELECT @@TRANCOUNT, XACT_STATE();")
    assert t1.out.result_sets[-1].rows == [(depth, 1 if depth else 0)]
    t1.fails(stage.send("02").replace("audit/event", "audit/none"), stage.refusal)
    assert t1.value("@@TRANCOUNT") == depth
    t1.does("COMMIT; " * depth)
    assert stage.landed() == ["01"]
    stage.is_clean()


@keys
@ABORT
def test_inside_insert_exec_it_sends_and_inserts_no_row(key, abort):
    """1 A procedure sends and selects. 2 T1 catches its rows by INSERT ... EXECUTE.

    ROLLBACK inside INSERT EXEC is refused with 915 or 3916; usp_Send commits what it began there.
    """
    stage = Stage(key)
    stage.dba.does(f"CREATE PROCEDURE dbo.Ask AS BEGIN {stage.send('01')} SELECT 7; END;")
    t1 = stage.caller()
    t1.does(
        f"SET XACT_ABORT {abort}; DECLARE @t table (Id int); INSERT INTO @t EXECUTE dbo.Ask; "
        "INSERT INTO dbo.Orders SELECT Id FROM @t;"
    )
    assert (stage.orders(), stage.landed()) == ([7], ["01"])
    t1.does(f"INSERT INTO dbo.Orders {stage.send('02')}")
    assert (stage.orders(), stage.landed()) == ([7], ["01", "02"])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@keys
@ABORT
@switched("broker_error_dooms")
def test_inside_insert_exec_a_dead_dialog_is_replaced_or_an_error_raised(key, abort, switches):
    """1 The dialog dies. 2 T1 sends by INSERT ... EXECUTE: rows and message, or neither."""
    stage = Stage(key, switches)
    stage.dba.does(f"CREATE PROCEDURE dbo.Ask AS BEGIN {stage.send('02')} SELECT 7; END;")
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.loses_dialogs(f"SET XACT_ABORT {abort}; INSERT INTO dbo.Orders EXECUTE dbo.Ask;")
    assert t1.out.finished
    if t1.errors:
        assert (stage.orders(), stage.landed()) == ([], ["01"])
        assert switches["broker_error_dooms"]
    else:
        assert (stage.orders(), stage.landed()) == ([7], ["01", "02"])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@ways
@ABORT
def test_procedures_within_procedures_keep_their_counts(key, abort):
    """1 Three procedures, each with its own BEGIN and COMMIT, the innermost sends.

    2 Outer rollback.
    """
    stage = Stage(key)
    stage.dba.does(
        f"CREATE PROCEDURE dbo.P3 AS BEGIN BEGIN TRANSACTION; {stage.send('01')} COMMIT; END;"
    )
    stage.dba.does(
        "CREATE PROCEDURE dbo.P2 AS BEGIN SET NOCOUNT ON; BEGIN TRANSACTION; "
        "EXECUTE dbo.P3; DECLARE @depth int = @@TRANCOUNT; "
        "INSERT INTO dbo.Orders VALUES (@depth); COMMIT; END;"
    )
    t1 = stage.caller()
    t1.does(f"SET XACT_ABORT {abort}; EXECUTE dbo.P2;")
    t1.does("BEGIN TRANSACTION; DELETE FROM dbo.Orders; EXECUTE dbo.P2; ROLLBACK;")
    assert (stage.orders(), stage.landed()) == ([1], ["01"])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@ways
def test_a_deadlock_victim_inside_its_callers_transaction_leaves_nothing(key):
    """1 T1 writes row 1 and sends, T2 writes row 2 and sends. 2 Each wants the other's row. 3 1205.

    T2 has the lower priority, so it is the victim: all it did is gone, T1 goes on. Keys apart.
    """
    stage = Stage(key)
    stage.dba.does("INSERT INTO dbo.Orders VALUES (1), (2);")
    t1, t2 = stage.caller(), stage.caller()
    t2.does("SET DEADLOCK_PRIORITY LOW;")
    t1.does(
        "BEGIN TRANSACTION; UPDATE dbo.Orders SET Id = 1 WHERE Id = 1;" + stage.send("01", "k1")
    )
    t2.does(
        "BEGIN TRANSACTION; UPDATE dbo.Orders SET Id = 2 WHERE Id = 2;"
        + ("" if stage.key in ONE_DIALOG else stage.send("02", "k2"))
    )
    t1.blocks("UPDATE dbo.Orders SET Id = 2 WHERE Id = 2;")
    t2.fails("UPDATE dbo.Orders SET Id = 1 WHERE Id = 1;", 1205)
    t1.has_ended()
    t1.does("COMMIT;")
    assert t2.value("@@TRANCOUNT") == 0
    t2.does(stage.send("03", "k2"))
    assert stage.landed() == ["01", "03"]
    stage.is_clean()


@pytest.mark.parametrize("key", keys_with("named"))
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_two_callers_that_cross_their_keys_deadlock_with_each_other_only(key, abort):
    """1 T1 sends on a, T2 on b. 2 T1 sends on b: waits. 3 T2 sends on a: one is the victim, 1205.

    Design 3.2-7: several keys in one transaction can deadlock callers; acquire in key order.
    """
    stage = Stage(key)
    t1, t2 = stage.caller(), stage.caller()
    t1.does(stage.send("01", "a"))
    t1.does(stage.send("02", "b"))
    t2.does("SET DEADLOCK_PRIORITY LOW;")
    t1.does(f"SET XACT_ABORT {abort}; BEGIN TRANSACTION;" + stage.send("03", "a"))
    t2.does(f"SET XACT_ABORT {abort}; BEGIN TRANSACTION;" + stage.send("04", "b"))
    t1.blocks(stage.send("05", "b"))
    t2.starts(stage.send("06", "a"))
    assert t2.out.finished and t2.errors[0] == 1205
    t1.has_ended()
    t1.does("COMMIT;")
    assert t2.value("@@TRANCOUNT") == 0
    assert stage.landed() == ["01", "02", "03", "05"]
    stage.is_clean()
