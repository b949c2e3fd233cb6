"""usp_Send inside a trigger of the caller's table: a dead dialog must never cost a row.

Threads ST#72, #155, #188, #190, #214 and #229 (peers.md A.3): "The conversation handle ... is not
found" aborted their users' INSERTs. In a trigger XACT_ABORT is ON from the start
(create-trigger-transact-sql), and every error there rolls back the statement that fired it.
"""

import pytest

from .stage import Stage, row_ways, switched, ways

pytestmark = pytest.mark.sampled(every=16, meets=("key",))

WAYS = pytest.mark.parametrize("way", ["cleaned up", "ended by the target", "ended with an error"])


def with_trigger(stage, when="INSERT", first=""):
    """A trigger on dbo.Orders that sends the event for every statement."""
    stage.dba.does(
        f"CREATE TRIGGER dbo.OrdersAudit ON dbo.Orders AFTER {when} AS BEGIN "
        f"{first} {stage.send('07')} END;"
    )


def kill_dialogs(stage, way):
    if way == "cleaned up":
        stage.forget_dialogs()
    else:
        stage.end_dialogs("" if "target" in way else "WITH ERROR = 5 DESCRIPTION = N'no'")


@ways
def test_a_row_and_its_event_are_one(key):
    """1 T1 inserts, the trigger sends. 2 T1 rolls back: neither row nor event. 3 It commits."""
    stage = Stage(key)
    with_trigger(stage)
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    t1.does("BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (2); ROLLBACK;")
    t1.does("BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (3); COMMIT;")
    assert (stage.orders(), stage.landed()) == ([1, 3], ["07", "07"])
    stage.is_clean()


@ways
@WAYS
@switched("broker_error_dooms", "error_receiver_state")
@pytest.mark.parametrize("transaction", ["", "BEGIN TRANSACTION;"], ids=["autocommit", "own"])
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_a_dead_dialog_costs_no_row(key, way, switches, transaction, abort):
    """ST#188: 1 T1 inserts. 2 The dialog dies. 3 T1's next INSERT goes through, event and all."""
    stage = Stage(key, switches)
    with_trigger(stage)
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    kill_dialogs(stage, way)
    t1.does(
        f"SET XACT_ABORT {abort}; {transaction} INSERT INTO dbo.Orders VALUES (2);"
        + ("COMMIT;" if transaction else "")
    )
    assert (stage.orders(), stage.landed()) == ([1, 2], ["07", "07"])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@row_ways
@switched("broker_error_dooms")
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_a_dialog_that_goes_while_the_trigger_sends_costs_no_row_unless_that_dooms(
    key, switches, abort
):
    """1 T1's trigger finds its dialog. 2 A DBA ends it before SEND has it: 8426. 3 The INSERT goes
    through, event and all, or is refused as a whole with the server's error (F-131).
    """
    stage = Stage(key, switches)
    with_trigger(stage)
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    t1.loses_dialogs(f"SET XACT_ABORT {abort}; INSERT INTO dbo.Orders VALUES (2);")
    if switches["broker_error_dooms"]:
        assert t1.errors[0] == 8426
        assert (stage.orders(), stage.landed()) == ([1], ["07"])
    else:
        t1.has_ended()
        assert (stage.orders(), stage.landed()) == ([1, 2], ["07", "07"])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@ways
def test_every_kind_of_statement_and_many_rows_fire_one_event_each(key):
    """ST#155: 1 INSERT of three rows. 2 UPDATE. 3 DELETE. 4 A MERGE. Each sends once."""
    stage = Stage(key)
    with_trigger(stage, "INSERT, UPDATE, DELETE")
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1), (2), (3);")
    t1.does("UPDATE dbo.Orders SET Id = Id + 10;")
    t1.does("DELETE FROM dbo.Orders WHERE Id = 11;")
    t1.does(
        "MERGE dbo.Orders AS o USING (VALUES (12), (99)) AS v (Id) ON v.Id = o.Id "
        "WHEN NOT MATCHED THEN INSERT (Id) VALUES (v.Id);"
    )
    assert (stage.orders(), stage.landed()) == ([12, 13, 99], ["07"] * 4)
    stage.is_clean()


@ways
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_a_wrong_call_in_a_trigger_refuses_the_statement_with_a_clear_error(key, abort):
    """1 The trigger names a type there is none of. 2 The INSERT fails with 50100, whole."""
    stage = Stage(key)
    stage.dba.does(
        "CREATE TRIGGER dbo.OrdersAudit ON dbo.Orders AFTER INSERT AS BEGIN "
        + stage.send("07").replace("audit/event", "audit/none")
        + " END;"
    )
    t1 = stage.caller()
    t1.starts(f"SET XACT_ABORT {abort}; INSERT INTO dbo.Orders VALUES (1);")
    assert t1.errors[0] == stage.refusal
    assert (stage.orders(), stage.landed()) == ([], [])
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


@ways
@switched("broker_error_dooms")
def test_a_trigger_that_catches_hides_no_lost_message(key, switches):
    """ST#190: 1 The trigger has a TRY of its own. 2 The dialog dies.

    3 Row and event, or neither.
    """
    stage = Stage(key, switches)
    stage.dba.does(
        "CREATE TRIGGER dbo.OrdersAudit ON dbo.Orders AFTER INSERT AS BEGIN BEGIN TRY "
        f"{stage.send('07')} END TRY BEGIN CATCH IF XACT_STATE() = -1 ROLLBACK; THROW; END CATCH; "
        "END;"
    )
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    t1.loses_dialogs("INSERT INTO dbo.Orders VALUES (2);")
    arrived = 1 if t1.errors else 2
    assert (stage.orders(), stage.landed()) == ([1, 2][:arrived], ["07", "07"][:arrived])
    assert switches["broker_error_dooms"] or arrived == 2
    stage.is_clean()


@ways
def test_a_failing_statement_after_the_send_takes_the_message_with_it(key):
    """1 Row 1 is there. 2 Rows 2 and 1 in one INSERT with a trigger: 2627, no row and no event."""
    stage = Stage(key)
    with_trigger(stage)
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    t1.fails("INSERT INTO dbo.Orders VALUES (2), (1);", 2627)
    t1.does("CREATE TABLE dbo.Other (Id int NOT NULL CHECK (Id < 5));")
    t1.does(
        "CREATE TRIGGER dbo.After2 ON dbo.Orders AFTER INSERT AS "
        "INSERT INTO dbo.Other SELECT Id FROM inserted;"
    )
    t1.starts("INSERT INTO dbo.Orders VALUES (7);")
    assert t1.errors[0] == 547
    assert (stage.orders(), stage.landed()) == ([1], ["07"])
    stage.is_clean()


@ways
def test_nested_triggers_send_in_the_order_of_their_statements(key):
    """ST#214: 1 A trigger sends, then writes a table whose trigger sends too."""
    stage = Stage(key)
    stage.dba.does("CREATE TABLE dbo.Other (Id int);")
    stage.dba.does(f"CREATE TRIGGER dbo.T2 ON dbo.Other AFTER INSERT AS {stage.send('02')}")
    stage.dba.does(
        "CREATE TRIGGER dbo.T1 ON dbo.Orders AFTER INSERT AS BEGIN "
        f"{stage.send('01')} INSERT INTO dbo.Other SELECT Id FROM inserted; "
        f"{stage.send('03')} END;"
    )
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (1);")
    arrived = stage.landed()
    assert arrived == ["01", "02", "03"] or not stage.traits.has_rows
    assert sorted(arrived) == ["01", "02", "03"]
    stage.is_clean()


@ways
def test_a_trigger_fired_by_a_caller_without_rights_of_its_own_sends(key):
    """1 An application may write dbo.Orders and is in the sender role; its trigger's call works."""
    stage = Stage(key)
    with_trigger(stage)
    stage.dba.does(
        "CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;"
        "GRANT INSERT ON dbo.Orders TO app;"
    )
    t1 = stage.caller()
    t1.does("EXECUTE AS USER = N'app'; INSERT INTO dbo.Orders VALUES (1); REVERT;")
    assert (stage.orders(), stage.landed()) == ([1], ["07"])
    stage.is_clean()
