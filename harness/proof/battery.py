"""The setups generated mutants are hunted in: small ones, each exhausted in a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.config import Config
from harness.explore.checks import no_deadlock, nothing_left_behind
from harness.explore.scenario import Client, Scenario
from harness.proof.audit import DATABASE, send
from harness.proof.setups import NAMES, Setup

OFF = "ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);"
BLIND = "ALTER ROLE db_owner DROP MEMBER audit_module;"
POISON = ("CREATE TRIGGER audit.Mark ON audit.ConversationLog AFTER UPDATE AS IF UPDATE (EndedUtc) "
          "THROW 50999, N'a fault', 1;")
HANDLE = ("DECLARE @h uniqueidentifier = (SELECT TOP (1) ce.conversation_handle FROM "
          "sys.conversation_endpoints AS ce WHERE ce.is_initiator = {} AND ce.state <> 'CD'); ")
OTHER = ("INSERT INTO audit.SessionConversations (ConfigId, ConversationKey, Handle) "
         "VALUES (1, N'other', NEWID());")
NO_TIMER = ("ALTER PROCEDURE audit.usp_ArmTimer @handle uniqueidentifier, @seconds int AS "
            "THROW 50999, N'a fault', 1;")
NO_CLOSING = POISON.replace("EndedUtc", "EndOfStreamUtc")
ONE_LOG = "ALTER TABLE audit.ConversationLog ADD CONSTRAINT UQ_Fault UNIQUE (ConfigId);"
REMOVE = HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;"
NOTHING = ("SELECT 1;",)
READS = "switches=endpoint_reads_wait:true+transmission_reads_wait:true"
NO_LOG = ("ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Fault CHECK "
          "(ConversationKey = N'x');")
CAUGHT = ("SET XACT_ABORT {1}; BEGIN TRANSACTION; BEGIN TRY {0} END TRY BEGIN CATCH SELECT 1; "
          "END CATCH; IF XACT_STATE() = 1 COMMIT TRANSACTION; "
          "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET XACT_ABORT OFF;")
"""A caller who goes on after our error and commits what he can."""
CALLS = (
    *(f"EXECUTE audit.usp_Send {', '.join(names)}, 0xC1;" for names in (
        ["N'x'" if at == wrong else name for at, name in enumerate(NAMES.split(", "))]
        for wrong in range(4))),
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
STRAY = ("DECLARE @x uniqueidentifier; BEGIN DIALOG CONVERSATION @x FROM SERVICE "
         "[//redial/audit/initiator] TO SERVICE N'//redial/audit/target' ON CONTRACT "
         "[//redial/audit/contract] WITH ENCRYPTION = OFF; SEND ON CONVERSATION @x MESSAGE TYPE "
         "[//redial/audit/event] (0xDD);")
"""Somebody else's dialog with a message pending."""
NO_COUNT = "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Fault CHECK (Resent = -1);"
SENDS = (send("A1A2A3"), send("A1").replace("0xA1", "NULL"), send("B1"))
CODES = (0, -8489, -8462, -9719, -9720, -28052, 50001, "NULL")
OURS = "DECLARE @h uniqueidentifier = (SELECT TOP (1) Handle FROM audit.SessionConversations);"
CLOSES = f"BEGIN TRANSACTION; {OURS} EXECUTE audit.usp_SendEndOfStream @h; COMMIT TRANSACTION;"


def give_up(code: object, resend: int = 1) -> str:
    """An operator gives the caller's dialog up."""
    return f"{OURS} EXECUTE audit.usp_ResendPending @h, {code}, N'given up', {resend};"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case. setup: what is searched. first: T-SQL after the installation. batches: instead of the
    sender's; claims: whether they hold here; without, only outcomes are compared. before: T-SQL
    before each sender's batch; untidy: who cancels does nothing more.
    """

    setup: str
    first: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    claims: bool = True
    before: str = ""
    untidy: bool = False


def closed(gate: int) -> str:
    """The gate, as an operator sets it."""
    return f"UPDATE audit.Gate SET IsOpen = {gate};"


WANTED: Mapping[str, Wanted] = {
    "xact_abort": Wanted("senders=1 caller=xact_abort warm=0 firings=0"),
    "serializable": Wanted("senders=1 firings=0", batches=(
        f"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; {send('A1')} "
        "COMMIT TRANSACTION;",)),
    "long body": Wanted("senders=1 firings=0", (), (*SENDS, send("")), claims=False),
    "serializable, two": Wanted(
        "key=application senders=2 firings=0 warm=0 shared=0 caller=transaction",
        before="SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"),
    "wrong calls": Wanted("senders=1 firings=0", batches=CALLS),
    "dead before": Wanted("senders=1 firings=0 caller=xact_abort", (OFF,), (
        HANDLE.format(0) + "END CONVERSATION @h;",
        f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;", send("B1"))),
    "removed before": Wanted("senders=1 firings=0", (OFF,), (
        REMOVE, send("A1"))),
    "removed before, XACT_ABORT": Wanted("senders=1 firings=0 caller=xact_abort", (OFF,), (
        REMOVE,
        f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;")),
    "gate": Wanted("senders=1 firings=0 warm=0", (OTHER,), (
        closed(0), send("C1"), CAUGHT.format(send("C1"), "ON"), CAUGHT.format(send("C1"), "OFF"))),
    "gate, dialog": Wanted("senders=1 firings=0", (), (
        closed(0), CAUGHT.format(send("C1"), "OFF"))),
    "cancel": Wanted("senders=1 firings=0 warm=0 faults=cancel", untidy=True),
    "given up": Wanted("senders=1 firings=0", (TARGET.format("OFF"), STRAY), (
        *SENDS, give_up(0), TARGET.format("ON")), claims=False),
    "dead-lettered": Wanted("senders=1 firings=0", (TARGET.format("OFF"), STRAY), (
        *SENDS, give_up(0, 0), TARGET.format("ON")),
        claims=False),
    "codes": Wanted("senders=1 firings=0", (TARGET.format("OFF"),), (
        *(text for code in CODES for text in (send("A1"), give_up(code))), TARGET.format("ON")),
        claims=False),
    "ended by hand": Wanted("senders=1 firings=0", (TARGET.format("OFF"),), (
        send("A1"), f"{OURS} END CONVERSATION @h;", give_up(0),
        send("B1"), f"{OURS} END CONVERSATION @h WITH ERROR = 50001 DESCRIPTION = N'x';",
        give_up(0), send("C1"), CLOSES, give_up(0), send("D1"), CLOSES, give_up(50001),
        send("E1"), f"{OURS} END CONVERSATION @h;", give_up(50001), TARGET.format("ON")),
        claims=False),
    "giving up fails": Wanted("senders=1 firings=0", (TARGET.format("OFF"), NO_COUNT), (
        send("A1"), give_up(0), TARGET.format("ON")), claims=False),
    "given up beside a sender": Wanted(
        "key=application senders=2 warm=1 firings=0", (TARGET.format("OFF"),), (give_up(0),),
        claims=False),
    "first send": Wanted("senders=1 warm=0"),
    "beginning fails": Wanted(
        "senders=1 firings=0 warm=0", (NO_LOG,),
        (send("A1"), CAUGHT.format(send("A1"), "OFF"), CAUGHT.format(send("A1"), "ON")),
        claims=False),
    "beginning again fails": Wanted(
        "senders=1 firings=0", (OFF,),
        (REMOVE,
         NO_LOG.replace("ALTER TABLE audit.ConversationLog", "ALTER TABLE audit.ConversationLog "
                        "WITH NOCHECK"), CAUGHT.format(send("A1"), "OFF"),
         CAUGHT.format(send("A1"), "ON"), send("A1")), claims=False),
    "own keys": Wanted("key=application senders=2 firings=0 warm=2 shared=0"),
    "one key": Wanted("key=application senders=2 firings=0 warm=0"),
    "one key, transactions": Wanted(
        "key=application senders=2 firings=0 warm=0 caller=transaction"),
    "one key, XACT_ABORT": Wanted("key=application senders=2 firings=0 warm=0 caller=xact_abort"),
    "long bodies": Wanted("senders=1 firings=0 lifetimes=1", (), (send("A1A2A3"),), claims=False),
    "bad optimizer": Wanted("senders=2 warm=2 firings=0 switches=bad_optimizer:true"),
    "bad optimizer, first": Wanted(
        "senders=2 warm=0 firings=0 caller=transaction switches=bad_optimizer:true"),
    "bad optimizer, beside": Wanted(
        "senders=2 warm=1 caller=transaction switches=bad_optimizer:true", (), ("SELECT 1;",)),
    "target ends": Wanted("senders=1 firings=0 faults=target_ends"),
    "error message": Wanted("senders=1 firings=0 faults=error_message"),
    "timer": Wanted("senders=1"),
    "transaction": Wanted("senders=1 caller=transaction"),
    "blind": Wanted("senders=1 firings=0 faults=target_ends", (BLIND,), claims=False),
    "failing": Wanted("senders=1 firings=0 faults=target_ends", (POISON,), claims=False),
    "target ends, XACT_ABORT": Wanted("senders=1 firings=0 caller=xact_abort faults=target_ends"),
    "RCSI": Wanted("senders=1 isolation=rcsi firings=0 faults=target_ends"),
    "taken for ever": Wanted("senders=1 firings=0", (OFF,), (REMOVE, ONE_LOG, send("A1")),
                             claims=False),
    "by hand": Wanted("senders=1 firings=0", batches=("EXECUTE audit.usp_SenderActivation;",)),
    "arming fails": Wanted("senders=1", (NO_TIMER,), NOTHING, claims=False),
    "closing fails": Wanted("senders=1", (NO_CLOSING,), NOTHING, claims=False),
    "queue off": Wanted("senders=1 faults=initiator_queue_off_and_on", (), NOTHING, claims=False),
    "timer, target ends": Wanted("senders=1 faults=target_ends", (), NOTHING),
    "timer, removed": Wanted("senders=1", (), (REMOVE,), claims=False),
    "timer, reader dies": Wanted("senders=1 faults=reader_restart", (), NOTHING, claims=False),
    "failing, reader dies": Wanted("senders=1 firings=0 faults=reader_restart", (POISON,),
                                   (HANDLE.format(0) + "END CONVERSATION @h;",), claims=False),
    "retired": Wanted("senders=1 retire=1", (), NOTHING),
    "reads wait": Wanted(f"senders=1 firings=0 faults=target_ends {READS}"),
    "reads wait, one key": Wanted(f"key=application senders=2 firings=0 warm=0 {READS}"),
}
"""Every case, the smallest first."""


_SENDS = ("xact_abort", "serializable", "wrong calls", "dead before", "removed before",
          "removed before, XACT_ABORT", "gate", "cancel", "one key", "one key, transactions",
          "one key, XACT_ABORT")
_BEGINS = ("bad optimizer", "bad optimizer, first", "beginning fails", "beginning again fails",
           "taken for ever")
IN: Mapping[str, tuple[str, ...]] = {
    "usp_Send": (*_SENDS, "long body", "serializable, two", *_BEGINS, "target ends, XACT_ABORT",
                 "timer"),
    "usp_AcquireConversation": (*_SENDS, "gate, dialog", "own keys", *_BEGINS,
                                "reads wait, one key", "reads wait", "target ends, XACT_ABORT",
                                "timer", "transaction"),
    "usp_BeginConversation": ("first send", *_SENDS, "own keys", *_BEGINS, "reads wait, one key"),
    "usp_RecycleConversation": ("first send", "wrong calls", "timer, removed", "closing fails",
                                "timer, target ends", "target ends", "failing", "timer",
                                "transaction", "bad optimizer, beside", "retired", "RCSI"),
    "usp_SenderActivation": ("first send", "by hand", "arming fails", "closing fails",
                             "error message", "blind", "failing", "timer", "queue off",
                             "timer, reader dies", "failing, reader dies", "reads wait"),
    "usp_SendEndOfStream": ("wrong calls", "first send", "closing fails", "reads wait",
                            "bad optimizer, beside"),
    "usp_ArmTimer": ("wrong calls", "first send", "failing", "timer"),
    "usp_ResendPending": ("wrong calls", "given up", "dead-lettered", "codes", "ended by hand",
                          "giving up fails", "given up beside a sender", "long bodies", "failing",
                          "error message",
                          "failing, reader dies", "reads wait"),
}
"""The cases a procedure's mutants are hunted in: those in which it does something of its own."""


def scenario(wanted: Wanted) -> tuple[Scenario, Config]:
    """What is searched without a mutant, and its configuration."""
    setup = Setup.parse(wanted.setup)
    made = setup.scenario()
    client = made.clients[0]
    batches = wanted.batches or client.batches
    first = Client(client.name, batches, DATABASE, client.warm,
                   "" if wanted.untidy else client.on_cancel, client.on_error)
    changes: dict = {}
    if wanted.batches or not wanted.claims:
        changes |= {"at_the_end": nothing_left_behind, "account": None}
    if not wanted.claims:
        changes |= {"on_every_state": no_deadlock}
    clients = (first, *made.clients[1:])
    if wanted.before:
        clients = tuple(replace(client, batches=tuple(
            f"{wanted.before} {text}" for text in client.batches)) for client in clients)
    return replace(made, clients=clients, **changes), setup.config
