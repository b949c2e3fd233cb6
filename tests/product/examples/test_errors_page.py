"""The second table of docs/errors.md: each number is provoked, and what the table says looked at.

In a transaction with a message: what is left of it, under XACT_ABORT OFF and ON, and what lands
when the rest is committed.
"""

from __future__ import annotations

import re

import pyodbc
import pytest

from redial.odbc import server_message
from tests.waiting import LOGIN

from .stage import CALLERS

pytestmark = pytest.mark.driver
PAGE = (CALLERS.parent / "errors.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("as a caller meets them") :]
ROWS = {
    cells[0]: cells[2]
    for line in re.findall(r"^\| (.*) \|$", TABLE, re.M)
    if (cells := line.split(" | "))[0] not in {"number", "---"}
}
"""What stands in the first column -> what became of the transaction."""

SEND = (
    "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
    "N'//redial/audit/contract', N'//redial/audit/event', 0x02;"
)
ONE, TWO = (f"UPDATE dbo.Work SET Id = N'{n}' WHERE Id = N'{n}';" for n in (1, 2))
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; "
DOOMED = "BEGIN TRY SELECT CONVERT(xml, N'<a'); END TRY BEGIN CATCH {} END CATCH;"


def run(connection, sql):
    """A batch to its last answer. Raises pyodbc.Error."""
    cursor = connection.execute(sql)
    while cursor.nextset():
        pass


# ---------------------------------------------------------------------- what provokes them
def says(*batches, between=""):
    """The last of these batches fails. between: what an administrator does before it."""

    def provoke(stage, connection):
        for place, batch in enumerate(batches, 1):
            if between and place == len(batches):
                stage.does(between)
            run(connection, batch)

    return provoke


def cancelled(stage, connection):
    """The application's cancel meets the call."""
    cursor = connection.cursor()
    stage.wire.when("usp_Send", stage.wire.cancelled(cursor.cancel))
    try:
        cursor.execute(SEND)
    finally:
        stage.wire.canceller.join()


def timed_out(stage, connection):
    """The driver's time-out meets the call."""
    stage.wire.when("usp_Send", stage.wire.cancelled())
    connection.timeout = 1
    run(connection, SEND)


def lost(stage, connection):
    """The connection breaks."""
    stage.wire.when("usp_Send", stage.wire.lost)
    run(connection, SEND)


def killed(stage, connection):
    """KILL meets a statement at work."""
    stage.wire.when("WAITFOR", stage.kills_at_work)
    run(connection, "WAITFOR DELAY '00:01:00';")


def deadlocked(stage, connection):
    """1 T1 has row 1, T2 row 2. 2 T2 wants row 1. 3 T1 wants row 2, and is the victim."""
    run(connection, "SET DEADLOCK_PRIORITY LOW; " + ONE)
    stage.starts("BEGIN TRANSACTION; " + TWO, ONE + " ROLLBACK TRANSACTION;")
    run(connection, TWO)


def connects(change, stage, _):
    """A connection of its own is refused."""
    pyodbc.connect(stage.odbc.replace(*change), timeout=LOGIN)


def hung_up(stage, connection):
    """Whoever answers hangs up."""
    for _ in range(9):  # the driver tries more than once
        stage.wire.when("", stage.wire.lost)
    try:
        connects(("", ""), stage, connection)
    finally:
        stage.wire.forget()


def take_group(stage, connection):
    """The session has sent, and an operator has the conversation group of its dialog."""
    run(connection, SEND)
    stage.broker.settle()
    [(handle,)] = stage.does(DIALOGS)
    stage.does(f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 60;")


def ended_at_work(stage, connection):
    """1 T1's SEND waits for the group. 2 The operator ends the dialog."""

    def ends(data, client, server):
        server.sendall(data)
        while not stage.does("SELECT 1 FROM sys.dm_tran_locks WHERE request_status = N'WAIT';"):
            pass
        [(handle,)] = stage.does(DIALOGS)
        stage.does(f"END CONVERSATION '{handle}' WITH CLEANUP; COMMIT TRANSACTION;")

    stage.wire.when("usp_Send", ends)
    run(connection, SEND)


DIALOGS = (
    "SELECT ce.conversation_handle FROM sys.services AS s INNER JOIN "
    "sys.conversation_endpoints AS ce ON ce.service_id = s.service_id "
    "WHERE s.name = N'//redial/audit/initiator';"
)

PROVOKED = {
    "0: HY008": cancelled,
    "0: HYT00, HY008": timed_out,
    "0: 08S01": lost,
    "0: 08001, 08S01": hung_up,
    "201": says("EXECUTE audit.usp_Send;"),
    "229": says("EXECUTE AS USER = N'nobody'; " + SEND),
    "266": says("EXECUTE dbo.OneMore;"),
    "596": killed,
    "1205": deadlocked,
    "1222": says("SET LOCK_TIMEOUT 0; " + ONE, between="BEGIN TRANSACTION; " + ONE),
    "2627": says("INSERT INTO dbo.Work (Id) VALUES (N'1');"),
    "2812": says("EXECUTE audit.usp_Sent;"),
    "3902": says("ROLLBACK TRANSACTION; COMMIT TRANSACTION;"),
    "3903": says("COMMIT TRANSACTION; ROLLBACK TRANSACTION;"),
    "3930": says(DOOMED.format(SEND)),
    "3951": says(SNAPSHOT + "SELECT Id FROM dbo.Work;"),
    "3952": says(SNAPSHOT + "SELECT Id FROM dbo.Work;"),
    "3960": says(SNAPSHOT + "SELECT Id FROM dbo.Work;", ONE, between=ONE),
    "3961": says(
        SNAPSHOT + "SELECT 1 FROM audit.Landing;",
        "SELECT Id FROM dbo.Work;",
        between="ALTER TABLE dbo.Work ADD Other int NULL;",
    ),
    "3998": says(DOOMED.format("")),
    "4060": lambda *who: connects(("{shop}", "{no}"), *who),
    "8426, 8429": ended_at_work,
    "9617": says("RECEIVE * FROM audit.TargetQueue;"),
    "9618": says(SEND),
    "18456": lambda *who: connects(("PWD={", "PWD={x"), *who),
}

BEFORE = {
    "229": "CREATE USER nobody WITHOUT LOGIN;",
    "266": "CREATE PROCEDURE dbo.OneMore AS BEGIN TRANSACTION;",
    "3952": "ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION OFF;",
    "9617": "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;",
    "9618": "ALTER QUEUE audit.InitiatorQueue WITH STATUS = OFF, RETENTION = ON;",
}
"""What an administrator has done before the transaction begins."""

FIRST = {"3952", "3960", "3961", "8426, 8429", "9618"}
"""The transaction has sent nothing before: SNAPSHOT would end it, or the send is what fails."""


REFUSED = {"0: 08001, 08S01", "4060", "18456"}
"""There never was a connection, so no transaction either."""


def test_every_row_of_the_table_is_provoked():
    assert set(ROWS) == set(PROVOKED)


def left_of(connection):
    """@@TRANCOUNT, committed; None without an answer."""
    try:
        left = connection.execute("SELECT @@TRANCOUNT;").fetchall()[0][0]
        run(connection, "WHILE @@TRANCOUNT > 0 COMMIT TRANSACTION;")
    except pyodbc.Error:
        return None
    return left


def expected(number, abort):
    """What the table's words say is left."""
    said = ROWS[number]
    if number in REFUSED:
        assert said == "none"
        return 1  # of the connection beside it
    if said.startswith("open"):
        return 0 if abort == "ON" else 2 if "one level more" in said else 1
    assert said in {
        "none",
        "rolled back",
        "rolled back at the end of the batch",
        "rolled back with the connection",
    }
    return None if said.endswith("connection") else 0


@pytest.mark.parametrize("abort", ["OFF", "ON"])
@pytest.mark.parametrize("number", PROVOKED)
def test_what_the_table_says_of_the_transaction_is_so(stage, number, abort):
    """1 A message in a transaction. 2 The error. 3 What is left is committed, and lands."""
    stage.restore(broker_error_dooms=number.startswith("8426"))
    stage.does("INSERT INTO dbo.Work (Id) VALUES (N'1'), (N'2');")
    stage.does(BEFORE.get(number, "PRINT N'nothing';"))
    connection = pyodbc.connect(stage.odbc, autocommit=True)
    if number.startswith("8426"):
        take_group(stage, connection)
    run(connection, f"SET XACT_ABORT {abort}; BEGIN TRANSACTION;")
    if number not in FIRST:
        run(connection, SEND)
    with pytest.raises(pyodbc.Error) as told:
        PROVOKED[number](stage, connection)
    if number.startswith("0: "):
        assert told.value.args[0] == number[3:8]
    else:
        assert str(server_message(told.value)[0]) in number.split(", ")
    connection.timeout = 0
    left = left_of(connection)
    connection.close()
    assert left == expected(number, abort)
    if number not in FIRST:
        stage.leaves()
        stage.does("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
        committed = bool(left) or number == "3903"  # committed before the ROLLBACK that fails
        assert stage.landed() == [b"\x02"] * committed


def test_a_dialog_that_is_gone_dooms_nobody(stage):
    """1 T1's dialog is gone. 2 T1's next transaction finds that out before it sends."""
    stage.restore(broker_error_dooms=True)
    connection = pyodbc.connect(stage.odbc, autocommit=True)
    run(connection, SEND)
    stage.broker.settle()
    [(handle,)] = stage.does(DIALOGS)
    stage.does(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    run(connection, f"BEGIN TRANSACTION; {SEND} COMMIT TRANSACTION;")
    connection.close()
    assert len(stage.landed()) == 2
