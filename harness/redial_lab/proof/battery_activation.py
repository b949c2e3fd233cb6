"""Cases of the initiator's activated procedure: the timer that recycles, and whatever else comes."""

from __future__ import annotations

from collections.abc import Mapping

from redial_lab.proof.audit_setups import send
from redial_lab.proof.wanted import (
    BLIND,
    DEAD_TRIGGER,
    ENDS,
    FAILS_IN_IT,
    HANDLE,
    NO_CLOSING,
    NO_TIMER,
    NOTES,
    NOTHING,
    OFF,
    OLD_OTHER,
    OPENS,
    OURS,
    POISON,
    READER,
    READS,
    REMOVE,
    SAYS,
    SERIALIZABLE,
    SEVERE,
    STRANGER,
    TWICE,
    Wanted,
)

RECYCLING: Mapping[str, Wanted] = {
    "bad optimizer, beside": Wanted(
        "senders=2 warm=1 caller=transaction switches=bad_optimizer:true", (), ("SELECT 1;",)
    ),
    "timer": Wanted("senders=1"),
    "transaction": Wanted("senders=1 caller=transaction"),
    "arming fails": Wanted("senders=1", (NO_TIMER,), NOTHING, claims=False),
    "closing fails": Wanted("senders=1", (NO_CLOSING,), NOTHING, claims=False),
    "timer, target ends": Wanted("senders=1 faults=target_ends", (), NOTHING),
    "timer, removed": Wanted("senders=1", (), (REMOVE,), claims=False),
    "timer, reader dies": Wanted("senders=1 faults=reader_restart", (), NOTHING, claims=False),
    "retired": Wanted("senders=1 retire=1", (), NOTHING),
    "armed beside": Wanted(
        "senders=1 firings=0",
        (),
        (
            HANDLE.format(1) + "SET LOCK_TIMEOUT 0; BEGIN TRANSACTION; EXECUTE audit.usp_ArmTimer "
            "@h, 5; COMMIT TRANSACTION;",
        ),
        False,
        others=(
            HANDLE.format(1) + "BEGIN TRANSACTION; BEGIN CONVERSATION TIMER (@h) TIMEOUT = 7; "
            "ROLLBACK TRANSACTION;",
        ),
    ),
    "trigger on a dead dialog": Wanted("senders=1", (DEAD_TRIGGER,), (ENDS,), False),
    "recycled by hand": Wanted(
        "senders=1 firings=0",
        (),
        (f"{SERIALIZABLE}{OURS} EXECUTE audit.usp_RecycleConversation @h, 1;",),
        False,
        others=(f"{OURS} EXECUTE audit.usp_RecycleConversation @h, 0; {send('B1')}",),
    ),
    "arming fails, lifetime": Wanted("senders=1 lifetimes=1", (NO_TIMER,), (), False),
    "arming fails in it": Wanted("senders=1", (FAILS_IN_IT,), NOTHING, False),
    "arming fails in it, busy": Wanted("senders=1 caller=transaction", (FAILS_IN_IT,), (), False),
    "arming fails, by hand": Wanted("senders=1", (OFF, NO_TIMER), (READER, READER, READER), False),
    "timer, log held": Wanted(
        "senders=1",
        (OFF,),
        ("DELETE FROM audit.SessionConversations;", READER),
        False,
        others=(OPENS.format("UPDATE audit.ConversationLog SET Code = 1;"),),
    ),
    "overdue, busy": Wanted("senders=1 caller=transaction overdue=1"),
    "another overdue, busy": Wanted("senders=1 caller=transaction", (OLD_OTHER,)),
}
"""The timer fires, an age is reached: closing, arming, recycling, in time or not."""
RECEIVING: Mapping[str, Wanted] = {
    "target ends": Wanted("senders=1 firings=0 faults=target_ends"),
    "error message": Wanted("senders=1 firings=0 faults=error_message"),
    "blind": Wanted("senders=1 firings=0 faults=target_ends", (BLIND,), claims=False),
    "failing": Wanted("senders=1 firings=0 faults=target_ends", (POISON,), claims=False),
    "target ends, XACT_ABORT": Wanted("senders=1 firings=0 caller=xact_abort faults=target_ends"),
    "RCSI": Wanted("senders=1 isolation=rcsi firings=0 faults=target_ends"),
    "by hand": Wanted("senders=1 firings=0", batches=("EXECUTE audit.usp_SenderActivation;",)),
    "queue off": Wanted("senders=1 faults=initiator_queue_off_and_on", (), NOTHING, claims=False),
    "failing, reader dies": Wanted(
        "senders=1 firings=0 faults=reader_restart",
        (POISON,),
        (HANDLE.format(0) + "END CONVERSATION @h;",),
        claims=False,
    ),
    "by hand, SERIALIZABLE": Wanted(
        "senders=1 firings=0", (OFF,), (ENDS, SERIALIZABLE + READER), False, others=(NOTES,)
    ),
    "a stranger's message": Wanted(
        "senders=1 firings=0", STRANGER, (SAYS.format("//stranger"),), False
    ),
    "a stranger's message, reader dies": Wanted(
        "senders=1 firings=0 faults=reader_restart", STRANGER, (SAYS.format("//stranger"),), False
    ),
    "queue off, by hand": Wanted(
        "senders=1 firings=0",
        (),
        ("ALTER QUEUE audit.InitiatorQueue WITH STATUS = OFF;", READER),
        False,
    ),
    "deadlock with a query": Wanted(
        "senders=1 firings=0",
        (),
        (ENDS,),
        False,
        deadlocks=True,
        others=(
            HANDLE.format(1)
            + "SET DEADLOCK_PRIORITY HIGH; "
            + OPENS.format(
                "UPDATE audit.ConversationLog SET Reason = N'x'; "
                "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 99;"
            ),
        ),
    ),
    "bad optimizer, ended": Wanted(
        "senders=1 firings=0 switches=bad_optimizer:true",
        (),
        (ENDS,),
        False,
        others=(OPENS.format(NOTES),),
    ),
    "severe, by hand": Wanted("senders=1 firings=0", (OFF, SEVERE), (ENDS, READER, READER), False),
    "a stranger's messages, one refused": Wanted(
        "senders=1 firings=0",
        (*STRANGER, OFF, TWICE),
        (
            SAYS.format("//stranger").replace(
                " (0xEE);", " (0xEE); SEND ON CONVERSATION @x (0xEF);"
            ),
            *[READER] * 3,
        ),
        False,
    ),
    "reads wait": Wanted(f"senders=1 firings=0 faults=target_ends {READS}"),
}
"""Ends, errors, strangers' messages, the reader called by hand, its queue off."""
