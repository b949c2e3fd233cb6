"""What a case of the battery is, and the T-SQL its cases are made of."""

from __future__ import annotations

from dataclasses import dataclass

from redial_lab.proof.audit_setups import send
from redial_lab.proof.setups import NAMES

OFF = "ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);"
BLIND = "ALTER ROLE db_owner DROP MEMBER audit_module;"
POISON = (
    "CREATE TRIGGER audit.Mark ON audit.ConversationLog AFTER UPDATE AS IF UPDATE (EndedUtc) "
    "THROW 50999, N'a fault', 1;"
)
HANDLE = (
    "DECLARE @h uniqueidentifier = (SELECT TOP (1) ce.conversation_handle FROM "
    "sys.conversation_endpoints AS ce WHERE ce.is_initiator = {} AND ce.state <> 'CD'); "
)
OTHER = (
    "INSERT INTO audit.SessionConversations (ConfigId, ConversationKey, Handle) "
    "VALUES (1, N'other', NEWID());"
)
NO_TIMER = (
    "ALTER PROCEDURE audit.usp_ArmTimer @handle uniqueidentifier, @seconds int AS "
    "THROW 50999, N'a fault', 1;"
)
NO_CLOSING = POISON.replace("EndedUtc", "EndOfStreamUtc")
ONE_LOG = "ALTER TABLE audit.ConversationLog ADD CONSTRAINT UQ_Fault UNIQUE (ConfigId);"
REMOVE = HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;"
NOTHING = ("SELECT 1;",)
READS = "switches=endpoint_reads_wait:true+transmission_reads_wait:true"
NO_LOG = "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Fault CHECK (ConversationKey = N'x');"
CAUGHT = (
    "SET XACT_ABORT {1}; BEGIN TRANSACTION; BEGIN TRY {0} END TRY BEGIN CATCH SELECT 1; "
    "END CATCH; IF XACT_STATE() = 1 COMMIT TRANSACTION; "
    "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET XACT_ABORT OFF;"
)
"""A caller who goes on after our error and commits what he can."""
CALLS = (
    *(
        f"EXECUTE audit.usp_Send {', '.join(names)}, 0xC1;"
        for names in (
            ["N'x'" if at == wrong else name for at, name in enumerate(NAMES.split(", "))]
            for wrong in range(4)
        )
    ),
    f"EXECUTE audit.usp_Send {NAMES}, 0xC1, @key = N'k';",
    f"EXECUTE audit.usp_Send {NAMES}, 0xC1, @messageId = '00000000-0000-0000-0000-000000000001';",
    f"EXECUTE audit.usp_Send {NAMES.replace('event', 'EVENT')}, 0xC1;",
    "DECLARE @h uniqueidentifier; EXECUTE audit.usp_AcquireConversation N'1', NULL, 1, @h OUTPUT;",
    "DECLARE @h uniqueidentifier = NEWID(); EXECUTE audit.usp_SendEndOfStream @h;",
    "BEGIN TRANSACTION; DECLARE @h uniqueidentifier = NEWID(); EXECUTE "
    "audit.usp_RecycleConversation @h, 1; COMMIT TRANSACTION;",
    "DECLARE @h uniqueidentifier = NEWID(); EXECUTE audit.usp_ArmTimer @h, 5;",
    "DECLARE @h uniqueidentifier = NEWID(); EXECUTE audit.usp_ResendPending @h, 0;",
    HANDLE.format(0) + "EXECUTE audit.usp_ResendPending @h, 0;",
    HANDLE.format(1) + "EXECUTE audit.usp_ArmTimer @h, 2592001;",
    HANDLE.format(1) + "EXECUTE audit.usp_ArmTimer @h, 0;",
    HANDLE.format(1) + "EXECUTE audit.usp_ArmTimer @h, -1;",
    "BEGIN TRANSACTION; " + HANDLE.format(1) + "EXECUTE audit.usp_ArmTimer @h, NULL; "
    "COMMIT TRANSACTION;",
    "SET XACT_ABORT ON; BEGIN TRANSACTION; DECLARE @h uniqueidentifier = NEWID(); EXECUTE "
    "audit.usp_ArmTimer @h, 5; COMMIT TRANSACTION; SET XACT_ABORT OFF;",
    HANDLE.format(1) + "SET IMPLICIT_TRANSACTIONS ON; EXECUTE audit.usp_RecycleConversation @h, 0;",
    "SET IMPLICIT_TRANSACTIONS OFF;",
)
"""Calls with something wrong in them, one after the other."""


TARGET = "ALTER QUEUE audit.TargetQueue WITH STATUS = {};"
STRAY = (
    "DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE "
    "[//redial/audit/initiator] TO SERVICE N'//redial/audit/target' ON CONTRACT "
    "[//redial/audit/contract] WITH ENCRYPTION = OFF; SEND ON CONVERSATION @x MESSAGE TYPE "
    "[//redial/audit/event] (0xDD);"
)
"""Somebody else's dialog with a message pending."""
NO_COUNT = "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Fault CHECK (Resent = -1);"
SENDS = (send("A1A2A3"), send("A1").replace("0xA1", "NULL"), send("B1"))
CODES = (0, -8489, -8462, -9719, -9720, -28052, 50001, "NULL")
OURS = "DECLARE @h uniqueidentifier = (SELECT TOP (1) Handle FROM audit.SessionConversations);"
CLOSES = f"BEGIN TRANSACTION; {OURS} EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;"


def give_up(code: object, resend: int = 1) -> str:
    """An operator gives the caller's dialog up."""
    return f"{OURS} EXECUTE audit.usp_ResendPending @h, {code}, N'given up', {resend};"


OPENS = "BEGIN TRANSACTION; {0} COMMIT TRANSACTION;"
SERIALIZABLE = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; "
NOTES = "DECLARE @n uniqueidentifier = NEWID(); EXECUTE audit.usp_RecordPoison @n, 1, N'x';"
"""A reader that notes an attempt at something else."""
ENDS = HANDLE.format(0) + "END CONVERSATION @h;"
READER = "EXECUTE audit.usp_SenderActivation;"
FAILS_IN_IT = (
    "ALTER PROCEDURE audit.usp_ArmTimer @handle uniqueidentifier, @seconds int AS "
    "BEGIN IF @@TRANCOUNT > 0 THROW 50999, N'a fault', 1; "
    "BEGIN CONVERSATION TIMER (@handle) TIMEOUT = @seconds; END;"
)
"""A timer that cannot be armed in the transaction that received, and can outside."""
SEVERE = (
    "CREATE TRIGGER audit.Severe ON audit.ConversationLog AFTER UPDATE AS IF UPDATE "
    "(EndedUtc) RAISERROR (N'no room', 17, 1);"
)
"""What is said to be the server's trouble."""
NO_RESEND = (
    "CREATE TRIGGER audit.NoResend ON audit.ConversationLog AFTER INSERT AS IF EXISTS "
    "(SELECT 1 FROM inserted WHERE ResendOf IS NOT NULL) THROW 50999, N'a fault', 1;"
)
DEAD_TRIGGER = (
    "CREATE TRIGGER audit.Dead ON audit.SessionConversations AFTER DELETE AS BEGIN "
    "DECLARE @h uniqueidentifier = NEWID(); END CONVERSATION @h; END;"
)
"""A trigger of a DBA's that meets a dead dialog."""
STRANGER = (
    "CREATE SERVICE [//stranger] ON QUEUE audit.InitiatorQueue ([DEFAULT]);",
    "ALTER SERVICE [//redial/audit/initiator] (ADD CONTRACT [DEFAULT]);",
)
"""A service of somebody else's on our queue, and ours as a target."""
SAYS = (
    "DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE [//stranger] TO "
    "SERVICE N'{}' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF; "
    "SEND ON CONVERSATION @x (0xEE);"
)
TWICE = (
    "CREATE TRIGGER audit.Twice ON audit.DeadLetter AFTER INSERT AS IF NOT EXISTS (SELECT 1 "
    "FROM audit.PoisonAttempt WHERE Attempts > 1) THROW 50999, N'a fault', 1;"
)
"""What is set aside cannot be, the first two times."""
OLD_OTHER = (
    "INSERT INTO audit.ConversationLog (Handle, ConfigId, BegunUtc) "
    "VALUES (NEWID(), 1, '2001-01-01');"
)
"""Another dialog that is overdue."""
GIVES_UP = "EXECUTE audit.usp_ResendPending @h, 0;"
OTHER_CONTRACT = (
    "DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE "
    "[//redial/audit/initiator] TO SERVICE N'//redial/audit/target' ON CONTRACT [DEFAULT] WITH "
    "ENCRYPTION = OFF; UPDATE audit.SessionConversations SET Handle = @x;"
)
"""Somebody puts a dialog that does not know our message types into the row."""
NEVER_SENT = (
    "DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE "
    "[//redial/audit/initiator] TO SERVICE N'//redial/audit/target' ON CONTRACT "
    "[//redial/audit/contract] WITH ENCRYPTION = OFF;"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case. setup: what is searched. first: T-SQL after the installation. batches: instead of the
    sender's; claims: whether they hold here; without, only outcomes are compared. before: T-SQL
    before each sender's batch; untidy: who cancels does nothing more. others: what further sessions
    run, a batch each. deadlocks: there may be some; left: so may transactions that nobody ends.
    choices: (section, name, value) of the configuration. one_go: the readers of both queues run in
    one step. listens: what is shown counts for the outcome.
    """

    setup: str
    first: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    claims: bool = True
    before: str = ""
    untidy: bool = False
    others: tuple[str, ...] = ()
    deadlocks: bool = False
    left: bool = False
    choices: tuple[tuple[str, str, object], ...] = ()
    one_go: bool = False
    listens: bool = False


def closed(gate: int) -> str:
    """The gate, as an operator sets it."""
    return f"UPDATE audit.Gate SET IsOpen = {gate};"
