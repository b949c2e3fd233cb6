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
)
"""Calls with something wrong in them, one after the other."""
GIVEN_UP = (HANDLE.format(1) + "EXECUTE audit.usp_ResendPending @h, {}, N'given up', {};")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case. setup: what is searched. first: T-SQL after the installation. batches: instead of the
    sender's; claims: whether they hold here; without, only outcomes are compared.
    """

    setup: str
    first: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    claims: bool = True


def closed(gate: int) -> str:
    """The gate, as an operator sets it."""
    return f"UPDATE audit.Gate SET IsOpen = {gate};"


WANTED: Mapping[str, Wanted] = {
    "xact_abort": Wanted("senders=1 caller=xact_abort warm=0 firings=0"),
    "serializable": Wanted("senders=1 firings=0", batches=(
        f"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; {send('A1')} "
        "COMMIT TRANSACTION;",)),
    "wrong calls": Wanted("senders=1 firings=0", batches=CALLS),
    "dead before": Wanted("senders=1 firings=0 caller=xact_abort", (OFF,), (
        HANDLE.format(0) + "END CONVERSATION @h;",
        f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;")),
    "removed before": Wanted("senders=1 firings=0", (OFF,), (
        HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;", send("A1"))),
    "removed before, XACT_ABORT": Wanted("senders=1 firings=0 caller=xact_abort", (OFF,), (
        HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;",
        f"SET XACT_ABORT ON; BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;")),
    "gate": Wanted("senders=1 firings=0 warm=0", batches=(
        closed(0), send("C1"), f"SET XACT_ABORT ON; BEGIN TRANSACTION; BEGIN TRY {send('C1')} "
        "END TRY BEGIN CATCH SELECT 1; END CATCH; IF XACT_STATE() = 1 COMMIT TRANSACTION;",
        f"SET XACT_ABORT OFF; BEGIN TRANSACTION; BEGIN TRY {send('C1')} END TRY BEGIN CATCH "
        "SELECT 1; END CATCH; COMMIT TRANSACTION;", closed(1), send("A1"))),
    "cancel": Wanted("senders=1 firings=0 warm=0 faults=cancel"),
    "given up": Wanted("senders=1 firings=0", ("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;",),
                       (send("A1"), GIVEN_UP.format("NULL", 1),
                        "ALTER QUEUE audit.TargetQueue WITH STATUS = ON;"), claims=False),
    "dead-lettered": Wanted(
        "senders=1 firings=0", ("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;",),
        (send("A1"), "SET ROWCOUNT 1; " + GIVEN_UP.format(50001, 0) + " SET ROWCOUNT 0;",
         "ALTER QUEUE audit.TargetQueue WITH STATUS = ON;"), claims=False),
    "first send": Wanted("senders=1 warm=0"),
    "beginning fails": Wanted(
        "senders=1 firings=0 warm=0", (NO_LOG,),
        (send("A1"), CAUGHT.format(send("A1"), "OFF"), CAUGHT.format(send("A1"), "ON")),
        claims=False),
    "beginning again fails": Wanted(
        "senders=1 firings=0", (OFF,),
        (HANDLE.format(1) + "END CONVERSATION @h WITH CLEANUP;",
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
    "lifetime": Wanted("senders=1 firings=0 lifetimes=1"),
    "RCSI": Wanted("senders=1 isolation=rcsi"),
}
"""Every case, the smallest first."""


_SENDS = ("xact_abort", "serializable", "wrong calls", "dead before", "removed before",
          "removed before, XACT_ABORT", "gate", "cancel", "one key", "one key, transactions",
          "one key, XACT_ABORT")
IN: Mapping[str, tuple[str, ...]] = {
    "usp_Send": (*_SENDS, "timer"),
    "usp_AcquireConversation": (*_SENDS, "own keys", "bad optimizer",
                                "bad optimizer, first", "beginning fails",
                                "beginning again fails", "timer", "transaction"),
    "usp_BeginConversation": ("first send", *_SENDS, "own keys", "bad optimizer",
                              "bad optimizer, first", "beginning fails", "beginning again fails"),
    "usp_RecycleConversation": ("first send", "wrong calls", "target ends", "failing", "timer",
                                "transaction", "bad optimizer, beside", "RCSI"),
    "usp_SenderActivation": ("first send", "error message", "blind", "failing", "timer"),
    "usp_SendEndOfStream": ("wrong calls", "first send", "bad optimizer, beside"),
    "usp_ArmTimer": ("wrong calls", "first send", "failing", "timer"),
    "usp_ResendPending": ("wrong calls", "given up", "dead-lettered", "long bodies", "failing",
                          "error message", "lifetime"),
}
"""The cases a procedure's mutants are hunted in: those in which it does something of its own."""


def scenario(wanted: Wanted) -> tuple[Scenario, Config]:
    """What is searched without a mutant, and its configuration."""
    setup = Setup.parse(wanted.setup)
    made = setup.scenario()
    client = made.clients[0]
    batches = wanted.batches or client.batches
    first = Client(client.name, batches, DATABASE, client.warm, client.on_cancel, client.on_error)
    changes: dict = {}
    if wanted.batches or not wanted.claims:
        changes |= {"at_the_end": nothing_left_behind, "account": None}
    if not wanted.claims:
        changes |= {"on_every_state": no_deadlock}
    return replace(made, clients=(first, *made.clients[1:]), **changes), setup.config
