"""Callers that are themselves activated, that impersonate, that come from elsewhere, that nest.

One that comes over MARS is no caller here: the embedded broker refuses MARS at the connection
(tests/broker/tds/test_odbc.py), so that one session is one request.
"""

import pytest

from .stage import Stage, keys, switched, ways

pytestmark = pytest.mark.sampled(every=4, meets=("key",))

RELAY = """
CREATE PROCEDURE dbo.Relay AS
BEGIN
    DECLARE @h uniqueidentifier, @type sysname, @body varbinary(max);
    WHILE 1 = 1
    BEGIN
        BEGIN TRANSACTION;
        SET @h = NULL;
        RECEIVE TOP (1) @h = conversation_handle, @type = message_type_name,
            @body = message_body FROM dbo.InQueue;
        IF @h IS NULL BEGIN COMMIT; BREAK; END;
        IF @type = N'DEFAULT' BEGIN %s END;
        IF @type LIKE N'%%EndDialog' OR @type LIKE N'%%Error' END CONVERSATION @h;
        COMMIT;
    END;
END;
"""


def relayed(key, switches=None):
    """A stage with a queue of its own whose activated procedure sends on what it receives."""
    stage = Stage(key, switches)
    call = stage.send("00").replace("0x00", "@body")
    stage.dba.does("CREATE USER relay WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER relay;")
    stage.dba.does(RELAY % call)
    stage.dba.does(
        "CREATE QUEUE dbo.InQueue WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = "
        "dbo.Relay, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER); CREATE QUEUE dbo.OutQueue;"
        "CREATE SERVICE InService ON QUEUE dbo.InQueue ([DEFAULT]); "
        "CREATE SERVICE OutService ON QUEUE dbo.OutQueue;"
    )
    return stage


def feed(stage, *bodies):
    """Messages for the relay, on a dialog of their own."""
    sends = " ".join(f"SEND ON CONVERSATION @h (0x{body});" for body in bodies)
    stage.dba.does(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE OutService TO "
        f"SERVICE N'InService' WITH ENCRYPTION = OFF; {sends}"
    )
    stage.instance.advance(10)


@keys
def test_an_activated_procedure_sends_on_what_it_received(key):
    """1 Three messages come in. 2 The activated caller relays each in its RECEIVE's transaction."""
    stage = relayed(key)
    feed(stage, "01", "02", "03")
    assert stage.landed() == ["01", "02", "03"]
    stage.is_clean()


@keys
@switched("broker_error_dooms")
def test_an_activated_caller_on_a_dead_dialog_loses_nothing(key, switches):
    """1 A message is relayed. 2 The dialog dies. 3 The next one: relayed, or still in the queue.

    An error rolls the RECEIVE back; where 8426 dooms (F-131), five of them switch the queue off.
    """
    stage = relayed(key, switches)
    feed(stage, "01")
    stage.forget_dialogs()
    feed(stage, "02")
    waiting = [
        row[0]
        for row in stage.dba.rows(
            "SELECT CONVERT(varchar(10), message_body, 2) FROM dbo.InQueue "
            "WHERE message_body IS NOT NULL;"
        )
    ]
    assert (stage.landed(), waiting) in ((["01", "02"], []), (["01"], ["02"]))
    assert switches["broker_error_dooms"] or waiting == []
    stage.is_clean()


@ways
@pytest.mark.parametrize(
    "first", ["EXECUTE AS USER = N'app';", "EXECUTE AS USER = N'app' WITH NO REVERT;"]
)
def test_an_impersonating_caller_sends_and_stays_who_it_was(key, first):
    """1 T1 becomes a user of the sender role. 2 It sends. 3 It is still that user."""
    stage = Stage(key)
    stage.dba.does("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    t1 = stage.caller()
    assert t1.rows(f"{first} {stage.send('01')} SELECT USER_NAME();") == [("app",)]
    assert stage.landed() == ["01"]
    stage.is_clean()


@ways
def test_a_caller_from_another_database_sends(key):
    """1 T1 works in another database and calls by three-part name, in and out of a transaction."""
    stage = Stage(key)
    t1 = stage.caller()
    three = stage.send("01").replace("audit.usp_Send", "lab.audit.usp_Send")
    t1.does("USE tempdb;" + three)
    t1.does("BEGIN TRANSACTION; CREATE TABLE #t (a int);" + three + "COMMIT;")
    assert stage.landed() == ["01", "01"]
    stage.is_clean()


@ways
def test_thirty_levels_down_it_still_sends(key):
    """1 A procedure calls itself 25 times, then sends: the nesting limit of 32 leaves room."""
    stage = Stage(key)
    stage.dba.does(
        "CREATE PROCEDURE dbo.Down @n int AS BEGIN SET @n = @n - 1; "
        f"IF @n > 0 EXECUTE dbo.Down @n; ELSE {stage.send('01')} END;"
    )
    t1 = stage.caller()
    t1.does("EXECUTE dbo.Down 25;")
    assert stage.landed() == ["01"]
    stage.is_clean()


@ways
@pytest.mark.parametrize("own", [True, False], ids=["its own transaction", "the caller's"])
def test_at_the_nesting_limit_a_clear_error_comes_and_nothing_is_sent(key, own):
    """1 A procedure nests as deep as it goes, then sends: 217, no message. 2 T1 rolls back."""
    stage = Stage(key)
    stage.dba.does(
        "CREATE PROCEDURE dbo.Down @n int AS BEGIN SET @n = @n - 1; "
        f"IF @n > 0 EXECUTE dbo.Down @n; ELSE {stage.send('01')} END;"
    )
    t1 = stage.caller()
    t1.starts(("" if own else "BEGIN TRANSACTION;") + "EXECUTE dbo.Down 31;")
    assert t1.out.finished and t1.errors[0] == 217
    t1.does("IF @@TRANCOUNT > 0 ROLLBACK;")
    assert stage.landed() == []
    stage.is_clean()
