"""Cases of the keys pool, single and message: whose dialog a send takes."""

from __future__ import annotations

from redial_lab.proof.audit_setups import send
from redial_lab.proof.battery_operator import DRAIN, RETIRE, TOLD
from redial_lab.proof.battery_target import HELD as OF_CALLER
from redial_lab.proof.setups import LONG_AGO
from redial_lab.proof.wanted import (
    CAUGHT,
    ENDS,
    HANDLE,
    NO_CLOSING,
    NO_LOG,
    OFF,
    OLD_OTHER,
    OPENS,
    REMOVE,
    SERIALIZABLE,
    TARGET,
    Wanted,
    closed,
)

HELD = f"BEGIN TRANSACTION; {send('B1')} WAITFOR DELAY '00:00:05'; COMMIT TRANSACTION;"
ACQUIRES = (
    "DECLARE @h uniqueidentifier; EXECUTE audit.usp_AcquireConversation N'1', NULL, 1, @h OUTPUT;"
)
WAITS = "EXECUTE audit.usp_WaitForSlot N'0001', 1;"
TWICE = OPENS.format(send("A1") + " " + send("A2"))
IMPLICIT = (
    f"SET IMPLICIT_TRANSACTIONS ON; {send('A1')} {send('A2')} COMMIT TRANSACTION; "
    "SET IMPLICIT_TRANSACTIONS OFF;"
)
CAREFUL = (CAUGHT.format(send("A1"), "ON"), CAUGHT.format(send("A1"), "OFF"))
BLIND = "DENY VIEW DEFINITION TO audit_module;"


REFUSES = (
    "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Fault CHECK (EndOfStreamUtc IS NULL);"
)
"""Closing fails, and nothing is doomed."""
TOLD_STATE = (
    "SET XACT_ABORT ON; SET LOCK_TIMEOUT 500; BEGIN TRANSACTION; BEGIN TRY {} END TRY "
    "BEGIN CATCH PRINT XACT_STATE(); END CATCH; "
    "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET XACT_ABORT OFF;"
)
POOL = {
    "pool, start taken": Wanted(
        "key=pool slots=2 senders=1 warm=0 firings=0",
        (),
        (TWICE,),
        False,
        others=("SELECT 1;", OPENS.format(send("C1"))),
    ),
    "pool, start taken, implicit": Wanted(
        "key=pool slots=2 senders=1 warm=0 firings=0",
        (),
        (IMPLICIT,),
        False,
        others=("SELECT 1;", OPENS.format(send("C1"))),
    ),
    "pool of two, three senders": Wanted(
        "key=pool slots=2 senders=3 warm=0 firings=0 caller=transaction"
    ),
    "pool of two, all busy": Wanted(
        "key=pool slots=2 senders=1 firings=0", (), (send("A1"),), False, others=(HELD, HELD)
    ),
    "pool, busy, told": Wanted(
        "key=pool senders=1 firings=0",
        (),
        (TOLD_STATE.format(send("A1")),),
        False,
        others=(HELD,),
        listens=True,
    ),
    "pool, a deadlock of the caller's": Wanted(
        "key=pool senders=1 firings=0",
        (OF_CALLER,),
        (OPENS.format(f"UPDATE dbo.Held SET Id = 2; {send('A1')}"),),
        False,
        deadlocks=True,
        others=(
            "SET DEADLOCK_PRIORITY HIGH; "
            + OPENS.format(f"{send('B1')} UPDATE dbo.Held SET Id = 3;"),
        ),
    ),
    "pool, drained, told": Wanted(
        "key=pool slots=2 senders=1 firings=0", (TOLD,), (DRAIN,), False, one_go=True, listens=True
    ),
    "pool, retired, told": Wanted(
        "key=pool slots=2 senders=1 firings=0",
        (TOLD,),
        (LONG_AGO, RETIRE),
        False,
        one_go=True,
        listens=True,
    ),
    "pool": Wanted("key=pool senders=2 warm=1 firings=0"),
    "pool, transactions": Wanted("key=pool senders=2 warm=0 firings=0 caller=transaction"),
    "pool, XACT_ABORT": Wanted("key=pool senders=2 warm=0 firings=0 caller=xact_abort"),
    "pool of two": Wanted("key=pool slots=2 senders=2 warm=0 firings=0 caller=transaction"),
    "pool, timer": Wanted("key=pool senders=1"),
    "pool, target ends": Wanted("key=pool senders=1 firings=0 faults=target_ends"),
    "pool, retired": Wanted("key=pool senders=1 firings=0 retire=1", (), ("SELECT 1;",)),
    "pool, drained": Wanted("key=pool slots=2 senders=1 firings=0 drain=1", one_go=True),
    "pool, busy": Wanted(
        "key=pool senders=1 firings=0", (), (send("A1"), *CAREFUL), False, others=(HELD,)
    ),
    "pool, busy, less patience": Wanted(
        "key=pool senders=1 firings=0",
        (),
        (
            "SET LOCK_TIMEOUT 500; " + send("A1"),
            "SET LOCK_TIMEOUT 0; " + send("A2"),
            "SET LOCK_TIMEOUT 60000; " + send("A3"),
        ),
        False,
        others=(HELD,),
    ),
    "pool, two messages": Wanted(
        "key=pool slots=2 senders=1 warm=0 firings=0",
        (),
        (TWICE, TWICE),
        False,
        others=(OPENS.format(send("B1")),),
    ),
    "pool, two messages, implicit": Wanted(
        "key=pool slots=2 senders=1 warm=0 firings=0",
        (),
        (IMPLICIT,),
        False,
        others=(OPENS.format(send("B1")),),
    ),
    "pool, SERIALIZABLE": Wanted(
        "key=pool slots=2 senders=2 warm=0 firings=0 caller=transaction", before=SERIALIZABLE
    ),
    "pool, RCSI": Wanted(
        "key=pool slots=2 senders=2 warm=1 firings=0 isolation=rcsi caller=transaction"
    ),
    "pool, bad optimizer": Wanted(
        "key=pool slots=2 senders=2 warm=0 firings=0 caller=transaction switches=bad_optimizer:true"
    ),
    "pool, calls": Wanted(
        "key=pool senders=1 firings=0",
        (),
        (
            ACQUIRES,
            WAITS,
            OPENS.format(WAITS),
            send("A1"),
            "DECLARE @h uniqueidentifier = NEWID(); EXECUTE audit.usp_RecycleConversation @h, 1;",
        ),
        False,
    ),
    "pool, gate": Wanted(
        "key=pool slots=2 senders=1 firings=0",
        (),
        (closed(0), send("A1"), *CAREFUL, closed(1), send("A2")),
        False,
    ),
    "pool, dead before": Wanted(
        "key=pool senders=1 firings=0", (OFF,), (ENDS, send("A1"), *CAREFUL), False
    ),
    "pool, removed before": Wanted(
        "key=pool senders=1 firings=0", (OFF,), (REMOVE, send("A1"), *CAREFUL), False
    ),
    "pool, beginning fails": Wanted(
        "key=pool senders=1 warm=0 firings=0", (NO_LOG,), (send("A1"), *CAREFUL), False
    ),
    "pool, no service": Wanted(
        "key=pool senders=1 firings=0 warm=0",
        ("DROP SERVICE [//redial/audit/initiator];",),
        (send("A1"), *CAREFUL),
        False,
    ),
}
SINGLE = {
    "single": Wanted("key=single recycle=never senders=2 warm=1 firings=0"),
    "single, first users": Wanted("key=single recycle=never senders=2 warm=0 firings=0"),
    "single, transactions": Wanted(
        "key=single recycle=never senders=2 warm=0 firings=0 caller=transaction"
    ),
    "single, XACT_ABORT": Wanted(
        "key=single recycle=never senders=2 warm=0 firings=0 caller=xact_abort"
    ),
    "single, drained": Wanted("key=single recycle=never senders=1 firings=0 drain=1", one_go=True),
    "single, drained beside a first user": Wanted(
        "key=single recycle=never senders=1 warm=0 firings=0 drain=1", one_go=True
    ),
    "single, target ends": Wanted(
        "key=single recycle=never senders=1 firings=0 faults=target_ends", claims=False
    ),
    "single, reads wait": Wanted(
        "key=single recycle=never senders=2 warm=0 firings=0 switches=endpoint_reads_wait:true"
    ),
    "single, calls": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (),
        (ACQUIRES, send("A1"), closed(0), send("A2"), *CAREFUL, closed(1), send("A3")),
        False,
    ),
    "single, dead before": Wanted(
        "key=single recycle=never senders=1 firings=0", (OFF,), (ENDS, send("A1"), *CAREFUL), False
    ),
    "single, removed before": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (OFF,),
        (REMOVE, send("A1"), *CAREFUL),
        False,
    ),
    "single, told to close": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (OFF,),
        (
            HANDLE.format(1) + OPENS.format("EXECUTE audit.usp_SendEndOfStream @h;"),
            send("A1"),
            *CAREFUL,
        ),
        False,
    ),
    "single, blind": Wanted(
        "key=single recycle=never senders=1 warm=0 firings=0",
        (BLIND,),
        (send("A1"), *CAREFUL),
        False,
    ),
    "single, bad optimizer": Wanted(
        "key=single recycle=never senders=2 warm=1 firings=0 "
        "caller=transaction switches=bad_optimizer:true"
    ),
    "single, drained, told": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (TOLD,),
        (DRAIN, DRAIN),
        False,
        one_go=True,
        listens=True,
    ),
    "single, drained too late": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (TOLD,),
        (DRAIN,),
        False,
        others=(HELD,),
        one_go=True,
        listens=True,
    ),
    "single, drained, a late sender": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (TOLD,),
        (DRAIN,),
        False,
        others=(
            f"BEGIN TRANSACTION; BEGIN TRY {send('B1')} END TRY BEGIN CATCH PRINT 1; END CATCH; "
            "WAITFOR DELAY '00:00:05'; COMMIT TRANSACTION;",
        ),
        one_go=True,
        listens=True,
    ),
    "single, first users, again": Wanted(
        "key=single recycle=never senders=2 messages=2 warm=0 firings=0"
    ),
    "single, drained after it died": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (TOLD, OFF),
        (ENDS, DRAIN),
        False,
        one_go=True,
        listens=True,
    ),
    "single, bad optimizer, log held": Wanted(
        "key=single recycle=never senders=1 firings=0 switches=bad_optimizer:true",
        (OLD_OTHER,),
        (),
        False,
        others=(
            OPENS.format(
                "UPDATE audit.ConversationLog SET Code = 1 WHERE BegunUtc < '2002-01-01';"
            ),
        ),
    ),
    "single, target off": Wanted(
        "key=single recycle=never senders=1 firings=0",
        (TARGET.format("OFF"),),
        (send("A1"), "EXECUTE audit.usp_Drain @reason = N'x', @waitSeconds = 1, @WhatIf = 0;"),
        False,
        one_go=True,
    ),
}
MESSAGE = {
    "message": Wanted("key=message recycle=never senders=2 warm=0 firings=0"),
    "message, transactions": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0 messages=2 caller=transaction"
    ),
    "message, calls": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0",
        (),
        (ACQUIRES, send("A1"), closed(0), send("A2"), *CAREFUL, closed(1), send("A3")),
        False,
    ),
    "message, cancel": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0 faults=cancel",
        (),
        ("SET XACT_ABORT ON; BEGIN TRANSACTION;", send("A1"), "COMMIT TRANSACTION;"),
        False,
        untidy=True,
        left=True,
    ),
    "message, drained": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0 drain=1 caller=transaction",
        one_go=True,
    ),
    "message, closing refused": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0",
        (REFUSES,),
        (send("A1"), *CAREFUL),
        False,
    ),
    "message, told in a transaction": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0",
        (NO_CLOSING,),
        (
            OPENS.format(send("A1")),
            f"SET XACT_ABORT ON; {OPENS.format(send('A1'))}",
            "SET XACT_ABORT OFF;",
            closed(0),
            OPENS.format(send("A2")),
        ),
        False,
    ),
    "message, closing fails": Wanted(
        "key=message recycle=never senders=1 warm=0 firings=0",
        (NO_CLOSING,),
        (send("A1"), *CAREFUL),
        False,
    ),
}
