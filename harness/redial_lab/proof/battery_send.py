"""Cases of a send: in its caller's transaction, beside others, and what it does to begin a dialog."""

from __future__ import annotations

from collections.abc import Mapping

from redial_lab.proof.audit_setups import send
from redial_lab.proof.setups import NAMES
from redial_lab.proof.wanted import (
    CALLS,
    CAUGHT,
    ENDS,
    HANDLE,
    NO_LOG,
    OFF,
    ONE_LOG,
    OPENS,
    OTHER,
    OTHER_CONTRACT,
    READS,
    REMOVE,
    SENDS,
    Wanted,
    closed,
)

SENDING: Mapping[str, Wanted] = {
    "xact_abort": Wanted("senders=1 caller=xact_abort warm=0 firings=0"),
    "serializable": Wanted(
        "senders=1 firings=0",
        batches=(
            f"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; {send('A1')} "
            "COMMIT TRANSACTION;",
        ),
    ),
    "long body": Wanted("senders=1 firings=0", (), (*SENDS, send("")), claims=False),
    "serializable, two": Wanted(
        "key=application senders=2 firings=0 warm=0 shared=0 caller=transaction",
        before="SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;",
    ),
    "wrong calls": Wanted("senders=1 firings=0", batches=CALLS),
    "dead before": Wanted(
        "senders=1 firings=0 caller=xact_abort",
        (OFF,),
        (
            HANDLE.format(0) + "END CONVERSATION @h;",
            f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;",
            send("B1"),
        ),
    ),
    "removed before": Wanted("senders=1 firings=0", (OFF,), (REMOVE, send("A1"))),
    "removed before, XACT_ABORT": Wanted(
        "senders=1 firings=0 caller=xact_abort",
        (OFF,),
        (REMOVE, f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;"),
    ),
    "gate": Wanted(
        "senders=1 firings=0 warm=0",
        (OTHER,),
        (closed(0), send("C1"), CAUGHT.format(send("C1"), "ON"), CAUGHT.format(send("C1"), "OFF")),
    ),
    "gate, dialog": Wanted(
        "senders=1 firings=0", (), (closed(0), CAUGHT.format(send("C1"), "OFF"))
    ),
    "cancel": Wanted("senders=1 firings=0 warm=0 faults=cancel", untidy=True),
    "cancel, transaction": Wanted(
        "senders=1 firings=0 warm=0 faults=cancel",
        (),
        ("BEGIN TRANSACTION;", send("A1"), "COMMIT TRANSACTION;"),
        False,
        untidy=True,
        left=True,
    ),
    "cancel, XACT_ABORT": Wanted(
        "senders=1 firings=0 warm=0 faults=cancel",
        (),
        ("SET XACT_ABORT ON; BEGIN TRANSACTION;", send("A1"), "COMMIT TRANSACTION;"),
        False,
        untidy=True,
        left=True,
    ),
    "other contract": Wanted(
        "senders=1 firings=0",
        (),
        (
            OTHER_CONTRACT,
            *(
                CAUGHT.format(f"UPDATE audit.Gate SET Reason = N'{how}'; {send('A1')}", how)
                for how in ("OFF", "ON")
            ),
        ),
        False,
    ),
    "removed before, doomed": Wanted(
        "senders=1 firings=0 switches=broker_error_dooms:true",
        (OFF,),
        (REMOVE, OPENS.format(send("A1"))),
        False,
    ),
    "own keys": Wanted("key=application senders=2 firings=0 warm=2 shared=0"),
    "one key": Wanted("key=application senders=2 firings=0 warm=0"),
    "one key, transactions": Wanted(
        "key=application senders=2 firings=0 warm=0 caller=transaction"
    ),
    "one key, XACT_ABORT": Wanted("key=application senders=2 firings=0 warm=0 caller=xact_abort"),
    "dead before, caught": Wanted(
        "senders=1 firings=0 caller=xact_abort",
        (OFF,),
        (ENDS, CAUGHT.format(send("A1") + " SELECT 1 / 0;", "ON"), send("B1")),
    ),
    "bad optimizer": Wanted("senders=2 warm=2 firings=0 switches=bad_optimizer:true"),
    "wrong calls, doomed": Wanted(
        "senders=1 firings=0 switches=broker_error_dooms:true", (), CALLS, False
    ),
    "no key": Wanted(
        "key=application senders=1 firings=0 warm=0",
        (),
        (
            send("A1"),
            f"EXECUTE audit.usp_Send {NAMES}, 0xA1, @key = N'';",
            f"DECLARE @k nvarchar(4000) = REPLICATE(N'k', 201); EXECUTE audit.usp_Send {NAMES}, 0xA1, "
            "@key = @k;",
        ),
        False,
    ),
    "reads wait, one key": Wanted(f"key=application senders=2 firings=0 warm=0 {READS}"),
}
"""On a dialog that is there, is dead or has been removed."""
BEGINNING: Mapping[str, Wanted] = {
    "first send": Wanted("senders=1 warm=0"),
    "beginning fails": Wanted(
        "senders=1 firings=0 warm=0",
        (NO_LOG,),
        (send("A1"), CAUGHT.format(send("A1"), "OFF"), CAUGHT.format(send("A1"), "ON")),
        claims=False,
    ),
    "beginning again fails": Wanted(
        "senders=1 firings=0",
        (OFF,),
        (
            REMOVE,
            NO_LOG.replace(
                "ALTER TABLE audit.ConversationLog",
                "ALTER TABLE audit.ConversationLog WITH NOCHECK",
            ),
            CAUGHT.format(send("A1"), "OFF"),
            CAUGHT.format(send("A1"), "ON"),
            send("A1"),
        ),
        claims=False,
    ),
    "beginning fails, caught": Wanted(
        "senders=1 firings=0 warm=0",
        (NO_LOG,),
        (CAUGHT.format(send("A1"), "ON"), CAUGHT.format(send("A1"), "OFF")),
        False,
    ),
    "bad optimizer, first": Wanted(
        "senders=2 warm=0 firings=0 caller=transaction switches=bad_optimizer:true"
    ),
    "taken for ever": Wanted(
        "senders=1 firings=0", (OFF,), (REMOVE, ONE_LOG, send("A1")), claims=False
    ),
    "beginning fails, told": Wanted(
        "senders=1 firings=0 warm=0",
        (NO_LOG,),
        (f"SET XACT_ABORT ON; {OPENS.format(send('A1'))}",),
        False,
    ),
    "no service": Wanted(
        "senders=1 firings=0 warm=0",
        ("DROP SERVICE [//redial/audit/initiator];",),
        (send("A1"), OPENS.format(send("A1"))),
        False,
    ),
    "trigger ends it": Wanted(
        "senders=1 firings=0 warm=0",
        (
            "CREATE TRIGGER audit.Ends ON audit.ConversationLog AFTER INSERT AS ROLLBACK TRANSACTION;",
        ),
        (send("A1"), OPENS.format(send("A1"))),
        False,
    ),
    "bad optimizer, beginning fails": Wanted(
        "key=application senders=2 shared=0 warm=0 firings=0 caller=transaction "
        "switches=bad_optimizer:true",
        (NO_LOG,),
        (),
        False,
    ),
}
"""No dialog is there yet, or a new one is needed; beginning may fail."""
