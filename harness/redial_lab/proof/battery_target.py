"""Cases of the target's side: landing, poison, locks that do not come, several readers."""

from __future__ import annotations

from collections.abc import Mapping

from redial_lab.proof.audit_setups import send
from redial_lab.proof.wanted import (
    ENDS,
    HANDLE,
    NOTES,
    OPENS,
    OURS,
    SERIALIZABLE,
    STRAY,
    TARGET,
    Wanted,
    give_up,
)

STILL = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
"""Nobody reads the target's queue unless a case says so."""
READS = "EXECUTE audit.usp_TargetActivation;"
REFUSES = "ALTER TABLE audit.Landing ADD CONSTRAINT CK_Fault CHECK (Body <> 0xA1);"
"""One row cannot land; the transaction goes on."""
DOOMS = (
    "CREATE TRIGGER audit.Bad ON audit.Landing AFTER INSERT AS IF EXISTS (SELECT 1 FROM "
    "inserted WHERE Body = 0xA1) THROW 50999, N'a fault', 1;"
)
"""One row dooms the transaction it is landed in."""
DOOMS_TWO = DOOMS.replace("Body = 0xA1", "Body IN (0xA1, 0xA2)")
ONCE = (
    "CREATE TRIGGER audit.Bad ON audit.Landing AFTER INSERT AS IF (SELECT COUNT(*) FROM "
    "inserted) > 1 THROW 50999, N'a fault', 1;"
)
"""A batch dooms its transaction, each row alone lands."""
ENDING_DOOMS = (
    "CREATE TRIGGER audit.Worse ON audit.PoisonAttempt AFTER DELETE AS "
    "IF EXISTS (SELECT 1 FROM deleted) THROW 50999, N'a fault', 1;"
)
HELD = "CREATE TABLE dbo.Held (Id int NOT NULL PRIMARY KEY); INSERT INTO dbo.Held VALUES (1);"
LOOKS = (
    "CREATE TRIGGER audit.Bad ON audit.Landing AFTER INSERT AS BEGIN DECLARE @i int; "
    "SET XACT_ABORT {}; SELECT @i = h.Id FROM dbo.Held AS h WITH (NOWAIT); END;"
)
"""Landing looks at a table somebody may hold: 1222."""
HOLDS = (
    "BEGIN TRANSACTION; UPDATE dbo.Held SET Id = 2; WAITFOR DELAY '00:00:{}'; COMMIT TRANSACTION;"
)
ENDS_IT = (
    "CREATE TRIGGER audit.Bad ON audit.Landing AFTER INSERT AS IF EXISTS (SELECT 1 FROM "
    "inserted WHERE Body = 0xA1) ROLLBACK TRANSACTION;"
)
"""A row whose landing ends the transaction."""
SEVERE = (
    "CREATE TRIGGER audit.Severe ON audit.Landing AFTER INSERT AS BEGIN SET XACT_ABORT {}; "
    "IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0xA2) RAISERROR (N'no room', 17, 1); "
    "END;"
)
"""A row that is said to be the server's trouble."""
DOOMS_OR_LOOKS = (
    "CREATE TRIGGER audit.Bad ON audit.Landing AFTER INSERT AS BEGIN DECLARE @i int; "
    "IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0xA1) THROW 50999, N'a fault', 1; "
    "SELECT @i = h.Id FROM dbo.Held AS h{}; END;"
)
NO_NOTES = "ALTER TABLE audit.PoisonAttempt ADD CONSTRAINT CK_Fault CHECK (Attempts < 0);"
KNOWN = "EXECUTE audit.usp_RecordPoison @h, 1, N'//redial/audit/event';"
FAILS = f"{OURS} END CONVERSATION @h WITH ERROR = 50001 DESCRIPTION = N'x';"
SENDS_THREE = (send("A1"), send("A2"), send("A3"))
LATER = (*SENDS_THREE, READS)
IDS = (
    "SELECT COUNT(*) FROM audit.Landing AS l INNER JOIN sys.conversation_endpoints AS ce ON "
    "ce.conversation_handle = l.ConversationHandle AND ce.conversation_id = l.ConversationId;"
)
"""How many rows have the id of their conversation."""
IN_HAND = HANDLE.format(0)
ROWS = (
    "DECLARE @rows audit.ReceivedBatch; INSERT INTO @rows (MessageSequence, MessageType, Body) "
    "VALUES (0, N'x', 0x01); DECLARE @h uniqueidentifier = NEWID(); "
)
SAME = "'11111111-1111-1111-1111-111111111111'"
NOTES_SAME = f"EXECUTE audit.usp_RecordPoison {SAME}, 1, N'x';"
BATCHES_OF_ONE = (("target", "receive_batch", 1),)
PLAIN = "senders=1 firings=0 warm=0"
WARM = "senders=1 firings=0"

TARGETS: Mapping[str, Wanted] = {
    "lands": Wanted("senders=1 messages=2 firings=0 warm=0 target_readers=1"),
    "lands, recycled": Wanted("senders=1 target_readers=1", (), ("SELECT 1;",)),
    "lands by hand": Wanted(PLAIN, (STILL,), LATER, False),
    "lands, SERIALIZABLE": Wanted(
        WARM,
        (STILL, NOTES),
        (
            send("A1"),
            f"{OURS} BEGIN TRANSACTION; EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;",
            SERIALIZABLE + READS,
        ),
        False,
        others=(IN_HAND + OPENS.format("EXECUTE audit.usp_RecordPoison @h, 7, N'x';"),),
    ),
    "lands, XACT_ABORT": Wanted(
        PLAIN, (STILL, REFUSES), (*SENDS_THREE, "SET XACT_ABORT ON; " + READS), False
    ),
    "lands by hand, ids told": Wanted(PLAIN, (STILL,), (STRAY, *LATER, IDS), False, listens=True),
    "one row refused": Wanted(PLAIN, (STILL, REFUSES), LATER, False),
    "one row dooms": Wanted(PLAIN, (STILL, DOOMS), LATER, False),
    "two rows doom": Wanted(PLAIN, (STILL, DOOMS_TWO), LATER, False),
    "a batch dooms": Wanted(PLAIN, (STILL, ONCE), LATER, False),
    "one row of one dooms": Wanted(
        PLAIN, (STILL, DOOMS), (send("A1"), READS, send("A2"), READS), False
    ),
    "a poison row, activated": Wanted(
        "senders=1 messages=2 firings=0 warm=0 target_readers=1", (DOOMS,), (), False
    ),
    "two dialogs, one dooms": Wanted(
        "key=application senders=2 shared=0 firings=0 warm=2", (STILL, DOOMS, NOTES), LATER, False
    ),
    "ending dooms": Wanted(
        WARM,
        (STILL, DOOMS, ENDING_DOOMS),
        (
            send("A1"),
            READS,
            f"{OURS} BEGIN TRANSACTION; EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;",
            READS,
        ),
        False,
    ),
    "ended after poison": Wanted(
        WARM,
        (STILL, DOOMS, NOTES),
        (
            send("A1"),
            send("A2"),
            READS,
            f"{OURS} BEGIN TRANSACTION; EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;",
            READS,
        ),
        False,
    ),
    "a lock for long": Wanted(
        PLAIN, (STILL, HELD, LOOKS.format("OFF")), LATER, False, others=(HOLDS.format("09"),)
    ),
    "a lock for short": Wanted(
        PLAIN, (STILL, HELD, LOOKS.format("OFF")), LATER, False, others=(HOLDS.format("03"),)
    ),
    "a lock for long dooms": Wanted(
        PLAIN, (STILL, HELD, LOOKS.format("ON")), LATER, False, others=(HOLDS.format("19"),)
    ),
    "a lock for short dooms": Wanted(
        PLAIN, (STILL, HELD, LOOKS.format("ON")), LATER, False, others=(HOLDS.format("03"),)
    ),
    "a lock for one row dooms": Wanted(
        PLAIN,
        (STILL, HELD, LOOKS.format("ON")),
        (send("A1"), READS, READS),
        False,
        others=(HOLDS.format("19"),),
    ),
    "deadlock at the target": Wanted(
        WARM,
        (),
        (send("A1"),),
        False,
        deadlocks=True,
        others=(
            IN_HAND
            + "SET DEADLOCK_PRIORITY HIGH; "
            + OPENS.format(
                "SELECT 1 FROM audit.Landing WITH (TABLOCKX); "
                "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 99;"
            ),
        ),
    ),
    "target queue off": Wanted(
        WARM, (STILL,), (send("A1"), TARGET.format("OFF"), READS, TARGET.format("ON"), READS), False
    ),
    "initiator gives up": Wanted(
        WARM, (STILL,), (send("A1"), send("A2"), FAILS, READS), False, choices=BATCHES_OF_ONE
    ),
    "initiator ends": Wanted(
        WARM, (STILL,), (send("A1"), f"{OURS} END CONVERSATION @h;", READS), False
    ),
    "error, then poison": Wanted(
        WARM, (STILL, DOOMS), (send("A1"), send("A2"), FAILS, READS), False
    ),
    "two readers, poison": Wanted(
        PLAIN, (STILL, DOOMS_TWO), (send("A1"), send("A2"), READS), False, others=(READS,)
    ),
    "two readers, two dialogs": Wanted(
        "key=application senders=2 shared=0 firings=0 warm=2",
        (DOOMS,),
        (READS,),
        False,
        others=(READS,),
    ),
    "landing called wrongly": Wanted(
        WARM,
        (STILL,),
        (
            ROWS + "EXECUTE audit.usp_LandBatch @h, @h, @rows;",
            ROWS + OPENS.format("EXECUTE audit.usp_LandBatch @h, @h, @rows;"),
            ROWS + "EXECUTE audit.usp_LandRow @h, @h, 5, N'x', 0x02;",
            ROWS + "EXECUTE audit.usp_FindPoison @h, @h, @rows, 0;",
            ROWS + "EXECUTE audit.usp_FindPoison @h, @h, @rows, 1;",
            ROWS + "EXECUTE audit.usp_FindPoison @h, @h, @rows, 2;",
            ROWS + "EXECUTE audit.usp_FindPoison @h, @h, @rows, 3;",
        ),
        False,
    ),
    "attempts noted together": Wanted(
        PLAIN, (STILL,), (NOTES_SAME, NOTES_SAME), False, others=(NOTES_SAME, OPENS.format(NOTES))
    ),
    "attempts noted, bad optimizer": Wanted(
        PLAIN + " switches=bad_optimizer:true",
        (STILL,),
        (NOTES_SAME, NOTES_SAME),
        False,
        others=(OPENS.format(NOTES),),
    ),
    "bad optimizer, one row dooms": Wanted(
        PLAIN + " switches=bad_optimizer:true",
        (STILL, DOOMS),
        LATER,
        False,
        others=(OPENS.format(NOTES),),
    ),
    "bad optimizer, one row refused": Wanted(
        PLAIN + " switches=bad_optimizer:true", (STILL, REFUSES), LATER, False
    ),
    "bad optimizer, ended after poison": Wanted(
        WARM + " switches=bad_optimizer:true",
        (STILL, DOOMS),
        (
            send("A1"),
            READS,
            f"{OURS} BEGIN TRANSACTION; EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;",
            READS,
        ),
        False,
        others=(OPENS.format(NOTES),),
    ),
    "long rows, one refused": Wanted(
        PLAIN, (STILL, REFUSES), (send("A1"), send("A1A2A3"), READS), False
    ),
    "long rows, one dooms": Wanted(
        PLAIN, (STILL, DOOMS), (send("A1"), send("A1A2A3"), READS), False
    ),
    "attempts of another type": Wanted(
        WARM,
        (STILL,),
        (IN_HAND + "EXECUTE audit.usp_RecordPoison @h, 1, N'x';", send("A1"), READS),
        False,
    ),
    "attempts of two types": Wanted(
        WARM,
        (STILL,),
        (IN_HAND + KNOWN + " EXECUTE audit.usp_RecordPoison @h, 1, N'x';", send("A1"), READS),
        False,
    ),
    "two known poison": Wanted(
        WARM,
        (STILL,),
        (IN_HAND + KNOWN + KNOWN.replace(" 1,", " 2,"), send("A1"), send("B1"), READS),
        False,
    ),
    "known poison, one row refused": Wanted(
        WARM, (STILL, REFUSES), (IN_HAND + KNOWN, send("B1"), send("A1"), send("C1"), READS), False
    ),
    "three attempts": Wanted(
        PLAIN,
        (STILL, DOOMS),
        (send("A1"), send("A2"), READS),
        False,
        choices=(("poison", "limit", 3),),
    ),
    "refused, then doomed": Wanted(
        PLAIN, (STILL, REFUSES, DOOMS.replace("0xA1", "0xA2")), LATER, False
    ),
    "refused, then severe": Wanted(PLAIN, (STILL, REFUSES, SEVERE.format("OFF")), LATER, False),
    "severe": Wanted(PLAIN, (STILL, SEVERE.format("OFF")), LATER, False),
    "severe, doomed": Wanted(PLAIN, (STILL, SEVERE.format("ON")), LATER, False),
    "a row ends the transaction": Wanted(PLAIN, (STILL, ENDS_IT), LATER, False),
    "doomed beside a lock": Wanted(
        PLAIN,
        (STILL, HELD, DOOMS_OR_LOOKS.format(" WITH (NOWAIT)")),
        LATER,
        False,
        others=(HOLDS.format("09"),),
    ),
    "doomed beside a deadlock": Wanted(
        PLAIN,
        (STILL, HELD, DOOMS_OR_LOOKS.format("")),
        (send("A1"), send("A2"), READS),
        False,
        deadlocks=True,
        others=(
            "SET DEADLOCK_PRIORITY HIGH; "
            + OPENS.format("UPDATE dbo.Held SET Id = 2; SELECT COUNT(*) FROM audit.Landing;"),
        ),
    ),
    "bad optimizer, two rows doom": Wanted(
        PLAIN + " switches=bad_optimizer:true", (STILL, DOOMS_TWO), LATER, False
    ),
    "attempts cannot be noted": Wanted(
        PLAIN,
        (STILL, NO_NOTES),
        (NOTES, OPENS.format(NOTES), f"SET XACT_ABORT ON; {OPENS.format(NOTES)}"),
        False,
    ),
    "attempts noted together, doomed": Wanted(
        PLAIN,
        (STILL,),
        (f"SET XACT_ABORT ON; {OPENS.format(NOTES_SAME)}", NOTES_SAME.replace("N'x'", "N'y'")),
        False,
        others=(NOTES_SAME,),
    ),
    "reads wait at the target": Wanted(
        "senders=1 target_readers=1 firings=0 warm=0 switches=endpoint_reads_wait:true",
        (STILL,),
        (send("A1"), READS),
        False,
        others=(give_up(0), ENDS),
    ),
}

_LARGE = ("two readers, poison", "reads wait at the target")
_TARGET = tuple(key for key in TARGETS if key not in _LARGE)
IN_TARGET: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("usp_LandBatch", "usp_LandRow", "usp_FindPoison", "usp_RecordPoison"), _TARGET
    ),
    "usp_TargetActivation": (*_TARGET, *_LARGE),
}
