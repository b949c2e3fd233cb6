"""Cases of an operator's acts: the gate, drain, retiring idle dialogs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redial_lab.proof.audit_setups import send
from redial_lab.proof.setups import IDLE, LONG_AGO, NAMES
from redial_lab.proof.wanted import (
    ENDS,
    NO_CLOSING,
    OFF,
    OPENS,
    OURS,
    REMOVE,
    SERIALIZABLE,
    STRAY,
    TARGET,
    Wanted,
)

PLAIN = "senders=1 firings=0"
TOLD = "CREATE TABLE dbo.Told (Place int IDENTITY NOT NULL PRIMARY KEY, Answer int NULL);"
"""What procedures returned, in order."""


def asked(procedure: str, arguments: str, before: str = "") -> str:
    """Calls one and keeps what it returned."""
    return (
        f"{before} DECLARE @r int; EXECUTE @r = audit.{procedure} {arguments}; "
        "INSERT INTO dbo.Told (Answer) VALUES (@r);"
    )


WHY = "@reason = N'search'"
DRAIN = asked("usp_Drain", f"{WHY}, @waitSeconds = 1, @WhatIf = 0")
LONGER = asked("usp_Drain", f"{WHY}, @waitSeconds = 4, @WhatIf = 0")
OPEN = asked("usp_OpenGate", WHY)
CLOSE = (
    "DECLARE @d datetime2(3) = DATEADD(second, {}, SYSUTCDATETIME()), @c bit, @r int; EXECUTE "
    "@r = audit.usp_CloseGate @reason = N'search', @deadline = @d, @closed = @c OUTPUT; "
    "INSERT INTO dbo.Told (Answer) VALUES (@r), (@c);"
)
RETIRE = asked("usp_RetireIdle", "@olderThanSeconds = 1, @WhatIf = 0")
IMPLICIT = (
    "SET IMPLICIT_TRANSACTIONS ON; EXECUTE audit.{}; PRINT @@TRANCOUNT; "
    "IF @@TRANCOUNT > 0 COMMIT TRANSACTION; SET IMPLICIT_TRANSACTIONS OFF;"
)
DEPLOYS = (
    "UPDATE audit.Gate SET IsOpen = 0; "
    "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'closed');"
)
"""What a deployment does to the gate, in short."""
CAUGHT = (
    "BEGIN TRY {} END TRY BEGIN CATCH PRINT XACT_STATE(); "
    "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; END CATCH;"
)
OTHERS_DIALOG = (
    "CREATE QUEUE dbo.Others; CREATE SERVICE [//others] ON QUEUE dbo.Others ([DEFAULT]);",
    "DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE [//others] TO SERVICE "
    "N'//others' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF; SEND ON CONVERSATION @x (0xEE);",
)
"""A dialog that is none of ours."""
TWO = "key=application senders=2 shared=0 warm=2 firings=0"
OLDEST = (
    "UPDATE cl SET BegunUtc = '2001-01-01' FROM audit.ConversationLog AS cl WHERE "
    "cl.Handle = (SELECT TOP (1) sc.Handle FROM audit.SessionConversations AS sc "
    "ORDER BY sc.ConversationKey DESC);"
)
"""One of two dialogs is overdue."""
HOLDS_GATE = (
    "BEGIN TRANSACTION; SELECT 1 FROM audit.Gate WITH (UPDLOCK, HOLDLOCK); "
    "WAITFOR DELAY '00:00:{}'; COMMIT TRANSACTION;"
)
HOLDS_ROW = f"BEGIN TRANSACTION; {send('B1')} WAITFOR DELAY '00:00:{{}}'; COMMIT TRANSACTION;"
WRONG = tuple(
    asked(procedure, arguments)
    for procedure, arguments in (
        ("usp_Drain", "@Help = 1"),
        ("usp_Drain", "@WhatIf = 0"),
        ("usp_Drain", ""),
        ("usp_Drain", f"{WHY}, @waitSeconds = -1, @WhatIf = 0"),
        ("usp_Drain", f"{WHY}, @waitSeconds = 3601, @WhatIf = 0"),
        ("usp_Drain", f"{WHY}, @waitSeconds = NULL, @WhatIf = 0"),
        ("usp_Drain", f"{WHY}, @WhatIf = NULL"),
        ("usp_Drain", "@reason = N' ', @WhatIf = 0"),
        ("usp_Drain", "@WhatIf = 1, @Debug = 1"),
        ("usp_OpenGate", ""),
        ("usp_OpenGate", "@reason = N' '"),
        ("usp_OpenGate", "@Help = 1"),
        ("usp_OpenGate", f"{WHY}, @Debug = 1"),
        ("usp_RetireIdle", "@Help = 1"),
        ("usp_RetireIdle", ""),
        ("usp_RetireIdle", "@olderThanSeconds = -1, @WhatIf = 0"),
        ("usp_RetireIdle", "@WhatIf = NULL"),
        ("usp_RetireIdle", "@WhatIf = 1, @Debug = 1"),
        ("usp_RetireIdle", "@olderThanSeconds = 0, @WhatIf = 0"),
    )
)
INSIDE = tuple(OPENS.format(text) for text in (DRAIN, OPEN, RETIRE))

_OPERATOR: Mapping[str, Wanted] = {
    "wrong orders": Wanted(PLAIN, (TOLD,), (*WRONG, *INSIDE), False),
    "drained": Wanted(PLAIN, (TOLD,), (DRAIN, send("A1"), OPEN, send("A2")), False),
    "drained, nobody": Wanted("senders=1 firings=0 warm=0", (TOLD,), (DRAIN, DRAIN), False),
    "drained, implicit": Wanted(
        PLAIN,
        (TOLD,),
        tuple(
            IMPLICIT.format(text)
            for text in (
                f"usp_Drain {WHY}, @waitSeconds = 1, @WhatIf = 0",
                f"usp_OpenGate {WHY}",
                "usp_RetireIdle @WhatIf = 0",
            )
        ),
        False,
    ),
    "drained, a dialog of others": Wanted(PLAIN, (TOLD, *OTHERS_DIALOG), (DRAIN,), False),
    "drained, target off, a dialog of others": Wanted(
        PLAIN, (TOLD, *OTHERS_DIALOG, TARGET.format("OFF")), (DRAIN,), False
    ),
    "drained beside a sender": Wanted("senders=1 firings=0 drain=1"),
    "drained beside a first sender": Wanted("senders=1 firings=0 drain=1 warm=0"),
    "drained beside a transaction": Wanted("senders=1 firings=0 drain=1 caller=transaction"),
    "drained, target off": Wanted(PLAIN, (TOLD, TARGET.format("OFF")), (DRAIN, DRAIN), False),
    "drained, target off for a while": Wanted(
        PLAIN,
        (TOLD, TARGET.format("OFF")),
        (LONGER,),
        False,
        others=(f"WAITFOR DELAY '00:00:02'; {TARGET.format('ON')}",),
    ),
    "drained, closing fails": Wanted(PLAIN, (TOLD, NO_CLOSING), (DRAIN,), False),
    "drained, removed": Wanted(PLAIN, (TOLD,), (REMOVE, DRAIN), False),
    "drained, no gate row": Wanted(
        PLAIN, (TOLD, "DELETE FROM audit.Gate;"), (DRAIN, send("A1"), OPEN), False
    ),
    "drained, gate held": Wanted(PLAIN, (TOLD,), (DRAIN,), False, others=(HOLDS_GATE.format(5),)),
    "drained, gate held for short": Wanted(
        PLAIN, (TOLD,), (LONGER,), False, others=(HOLDS_GATE.format("00.5"),)
    ),
    "drained, a row held": Wanted(PLAIN, (TOLD,), (DRAIN,), False, others=(HOLDS_ROW.format(5),)),
    "drained, reads wait": Wanted(
        f"{PLAIN} switches=endpoint_reads_wait:true",
        (TOLD,),
        (LONGER,),
        False,
        others=(OPENS.format(f"{STRAY} WAITFOR DELAY '00:00:01.3';"),),
    ),
    "drained, bad optimizer": Wanted(
        "key=application senders=2 shared=0 warm=2 firings=0 switches=bad_optimizer:true",
        (TOLD,),
        (DRAIN,),
        False,
    ),
    "gate of a deployment": Wanted(
        "senders=1 firings=0 warm=0",
        (
            TOLD,
            "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'closed'); "
            "UPDATE audit.Gate SET IsOpen = 0;",
        ),
        (OPEN, send("A1"), CAUGHT.format(OPEN)),
        False,
    ),
    "gate opened beside a deployment": Wanted(
        PLAIN, (TOLD,), (OPEN,), False, others=(OPENS.format(DEPLOYS),)
    ),
    "gate opened, not written down": Wanted(
        PLAIN,
        (TOLD, "ALTER TABLE audit.OperatorLog ADD CONSTRAINT CK_Fault CHECK (Action = N'x');"),
        ("UPDATE audit.Gate SET IsOpen = 0;", OPEN),
        False,
    ),
    "gate opened, SERIALIZABLE": Wanted(
        PLAIN,
        (TOLD,),
        (SERIALIZABLE + OPEN,),
        False,
        others=(
            OPENS.format("INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.x', N'x');"),
        ),
    ),
    "gate closed": Wanted(PLAIN, (TOLD,), (CLOSE.format(1), send("A1"), OPEN), False),
    "gate closed, held": Wanted(
        PLAIN, (TOLD,), (CLOSE.format(1),), False, others=(HOLDS_GATE.format(5),)
    ),
    "gate closed twice": Wanted(
        PLAIN, (TOLD,), (CLOSE.format(1),), False, others=(CLOSE.format(1),)
    ),
    "gate opened, held": Wanted(
        PLAIN, (TOLD,), (DRAIN, OPEN), False, others=(HOLDS_GATE.format("00.5"),)
    ),
    "gate not to be closed": Wanted(
        PLAIN,
        (TOLD, "ALTER TABLE audit.Gate ADD CONSTRAINT CK_Fault CHECK (IsOpen = 1);"),
        (CLOSE.format(1), DRAIN),
        False,
    ),
    "retired twice": Wanted(
        PLAIN, (TOLD,), (*IDLE, RETIRE, send("A1"), RETIRE, *IDLE[1:], RETIRE), False
    ),
    "retired when due": Wanted(PLAIN, (TOLD,), (LONG_AGO, RETIRE), False),
    "retired, not written down": Wanted(
        PLAIN,
        (TOLD, "ALTER TABLE audit.IdleWatch ADD CONSTRAINT CK_Fault CHECK (SendSequence < 0);"),
        (LONG_AGO, RETIRE),
        False,
    ),
    "retired, log held": Wanted(
        PLAIN,
        (TOLD,),
        (RETIRE,),
        False,
        others=(OPENS.format("UPDATE audit.ConversationLog SET Code = 1;"),),
    ),
    "retired, not for being idle": Wanted(
        PLAIN,
        (TOLD,),
        (*IDLE, asked("usp_RetireIdle", "@olderThanSeconds = 0, @WhatIf = 0")),
        False,
    ),
    "retired, one of two": Wanted(TWO, (TOLD,), (OLDEST, RETIRE), False),
    "retired, both of two": Wanted(TWO, (TOLD,), (LONG_AGO, RETIRE), False),
    "retired, ended by the target": Wanted(PLAIN, (TOLD, OFF), (*IDLE, ENDS, RETIRE), False),
    "retired, only shown": Wanted(
        PLAIN, (TOLD,), (LONG_AGO, asked("usp_RetireIdle", "@WhatIf = 1")), False
    ),
    "retired, asked again": Wanted(
        PLAIN,
        (TOLD,),
        (*IDLE, asked("usp_RetireIdle", "@olderThanSeconds = 2147483647, @WhatIf = 0"), RETIRE),
        False,
    ),
    "retired, one known and one new": Wanted(
        "key=application senders=1 firings=0",
        (TOLD,),
        (RETIRE, f"EXECUTE audit.usp_Send {NAMES}, 0xB1, @key = N'z';", RETIRE),
        False,
    ),
    "retired when used": Wanted(PLAIN, (TOLD,), (*IDLE, send("A1"), RETIRE), False),
    "retired beside a sender": Wanted(
        PLAIN, (TOLD,), (*IDLE, RETIRE), False, others=(HOLDS_ROW.format("01"),)
    ),
    "retired, in use": Wanted(
        "key=application senders=2 firings=0 caller=transaction", (TOLD,), (*IDLE, RETIRE), False
    ),
    "retired together": Wanted(PLAIN, (TOLD,), (*IDLE, RETIRE), False, others=(RETIRE,)),
    "retired together at first": Wanted(PLAIN, (TOLD,), (RETIRE,), False, others=(RETIRE,)),
    "retired, removed": Wanted(PLAIN, (TOLD,), (*IDLE, REMOVE, RETIRE), False),
    "retired, ended": Wanted(
        PLAIN, (TOLD, OFF), (*IDLE, f"{OURS} END CONVERSATION @h;", RETIRE), False
    ),
    "retired, bad optimizer": Wanted(
        "key=application senders=2 shared=0 warm=2 firings=0 caller=transaction "
        "switches=bad_optimizer:true",
        (TOLD,),
        (*IDLE, RETIRE),
        False,
    ),
}

OPERATOR: Mapping[str, Wanted] = {
    key: replace(wanted, one_go=True, listens=True) for key, wanted in _OPERATOR.items()
}
"""The initiator's reader only ends what the target has ended: in one step here. What an operator is
shown counts."""

_ALL = tuple(OPERATOR)
IN_OPERATOR: Mapping[str, tuple[str, ...]] = {
    "usp_Drain": tuple(key for key in _ALL if not key.startswith("retired")),
    "usp_OpenGate": tuple(key for key in _ALL if not key.startswith("retired")),
    "usp_CloseGate": tuple(key for key in _ALL if not key.startswith("retired")),
    "usp_RetireIdle": (
        "drained, implicit",
        *(key for key in _ALL if key.startswith(("retired", "wrong"))),
    ),
}
