"""The setups generated mutants are hunted in: small ones, each exhausted in a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redial.config import Config
from redial_lab.explore.checks import no_deadlock, nothing_left_behind
from redial_lab.explore.scenario import Client, Scenario
from redial_lab.explore.world import World
from redial_lab.proof.audit import DATABASE, TIDY, send
from redial_lab.proof.battery_choices import CHOICES, IN_CHOICES
from redial_lab.proof.battery_operator import IN_OPERATOR, OPERATOR
from redial_lab.proof.battery_target import IN_TARGET, TARGETS
from redial_lab.proof.setups import NAMES, Setup
from redial_lab.proof.wanted import (
    BLIND,
    CALLS,
    CAUGHT,
    CLOSES,
    CODES,
    DEAD_TRIGGER,
    ENDS,
    FAILS_IN_IT,
    GIVES_UP,
    HANDLE,
    NEVER_SENT,
    NO_CLOSING,
    NO_COUNT,
    NO_LOG,
    NO_RESEND,
    NO_TIMER,
    NOTES,
    NOTHING,
    OFF,
    OLD_OTHER,
    ONE_LOG,
    OPENS,
    OTHER,
    OTHER_CONTRACT,
    OURS,
    POISON,
    READER,
    READS,
    REMOVE,
    SAYS,
    SENDS,
    SERIALIZABLE,
    SEVERE,
    STRANGER,
    STRAY,
    TARGET,
    TWICE,
    Wanted,
    closed,
    give_up,
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
    "given up": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"), STRAY),
        (*SENDS, give_up(0), TARGET.format("ON")),
        claims=False,
    ),
    "dead-lettered": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"), STRAY),
        (*SENDS, give_up(0, 0), TARGET.format("ON")),
        claims=False,
    ),
    "codes": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"),),
        (*(text for code in CODES for text in (send("A1"), give_up(code))), TARGET.format("ON")),
        claims=False,
    ),
    "ended by hand": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"),),
        (
            send("A1"),
            f"{OURS} END CONVERSATION @h;",
            give_up(0),
            send("B1"),
            f"{OURS} END CONVERSATION @h WITH ERROR = 50001 DESCRIPTION = N'x';",
            give_up(0),
            send("C1"),
            CLOSES,
            give_up(0),
            send("D1"),
            CLOSES,
            give_up(50001),
            send("E1"),
            f"{OURS} END CONVERSATION @h;",
            give_up(50001),
            TARGET.format("ON"),
        ),
        claims=False,
    ),
    "giving up fails": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"), NO_COUNT),
        (send("A1"), give_up(0), TARGET.format("ON")),
        claims=False,
    ),
    "given up beside a sender": Wanted(
        "key=application senders=2 warm=1 firings=0",
        (TARGET.format("OFF"),),
        (give_up(0),),
        claims=False,
    ),
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
    "own keys": Wanted("key=application senders=2 firings=0 warm=2 shared=0"),
    "one key": Wanted("key=application senders=2 firings=0 warm=0"),
    "one key, transactions": Wanted(
        "key=application senders=2 firings=0 warm=0 caller=transaction"
    ),
    "one key, XACT_ABORT": Wanted("key=application senders=2 firings=0 warm=0 caller=xact_abort"),
    "beginning fails, caught": Wanted(
        "senders=1 firings=0 warm=0",
        (NO_LOG,),
        (CAUGHT.format(send("A1"), "ON"), CAUGHT.format(send("A1"), "OFF")),
        False,
    ),
    "dead before, caught": Wanted(
        "senders=1 firings=0 caller=xact_abort",
        (OFF,),
        (ENDS, CAUGHT.format(send("A1") + " SELECT 1 / 0;", "ON"), send("B1")),
    ),
    "bad optimizer, pending": Wanted(
        "senders=1 firings=0 switches=bad_optimizer:true",
        (TARGET.format("OFF"),),
        (*SENDS, give_up(0), *SENDS, give_up(50001), TARGET.format("ON")),
        claims=False,
    ),
    "long bodies": Wanted("senders=1 firings=0 lifetimes=1", (), (send("A1A2A3"),), claims=False),
    "bad optimizer": Wanted("senders=2 warm=2 firings=0 switches=bad_optimizer:true"),
    "bad optimizer, first": Wanted(
        "senders=2 warm=0 firings=0 caller=transaction switches=bad_optimizer:true"
    ),
    "bad optimizer, beside": Wanted(
        "senders=2 warm=1 caller=transaction switches=bad_optimizer:true", (), ("SELECT 1;",)
    ),
    "target ends": Wanted("senders=1 firings=0 faults=target_ends"),
    "error message": Wanted("senders=1 firings=0 faults=error_message"),
    "timer": Wanted("senders=1"),
    "transaction": Wanted("senders=1 caller=transaction"),
    "blind": Wanted("senders=1 firings=0 faults=target_ends", (BLIND,), claims=False),
    "failing": Wanted("senders=1 firings=0 faults=target_ends", (POISON,), claims=False),
    "target ends, XACT_ABORT": Wanted("senders=1 firings=0 caller=xact_abort faults=target_ends"),
    "RCSI": Wanted("senders=1 isolation=rcsi firings=0 faults=target_ends"),
    "taken for ever": Wanted(
        "senders=1 firings=0", (OFF,), (REMOVE, ONE_LOG, send("A1")), claims=False
    ),
    "by hand": Wanted("senders=1 firings=0", batches=("EXECUTE audit.usp_SenderActivation;",)),
    "arming fails": Wanted("senders=1", (NO_TIMER,), NOTHING, claims=False),
    "closing fails": Wanted("senders=1", (NO_CLOSING,), NOTHING, claims=False),
    "queue off": Wanted("senders=1 faults=initiator_queue_off_and_on", (), NOTHING, claims=False),
    "timer, target ends": Wanted("senders=1 faults=target_ends", (), NOTHING),
    "timer, removed": Wanted("senders=1", (), (REMOVE,), claims=False),
    "timer, reader dies": Wanted("senders=1 faults=reader_restart", (), NOTHING, claims=False),
    "failing, reader dies": Wanted(
        "senders=1 firings=0 faults=reader_restart",
        (POISON,),
        (HANDLE.format(0) + "END CONVERSATION @h;",),
        claims=False,
    ),
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
    "wrong calls, doomed": Wanted(
        "senders=1 firings=0 switches=broker_error_dooms:true", (), CALLS, False
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
    "trigger on a dead dialog": Wanted("senders=1", (DEAD_TRIGGER,), (ENDS,), False),
    "recycled by hand": Wanted(
        "senders=1 firings=0",
        (),
        (f"{SERIALIZABLE}{OURS} EXECUTE audit.usp_RecycleConversation @h, 1;",),
        False,
        others=(f"{OURS} EXECUTE audit.usp_RecycleConversation @h, 0; {send('B1')}",),
    ),
    "bad optimizer, beginning fails": Wanted(
        "key=application senders=2 shared=0 warm=0 firings=0 caller=transaction "
        "switches=bad_optimizer:true",
        (NO_LOG,),
        (),
        False,
    ),
    "given up, SERIALIZABLE": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"),),
        (send("A1"), SERIALIZABLE + give_up(0)),
        False,
        others=(NOTES,),
    ),
    "by hand, SERIALIZABLE": Wanted(
        "senders=1 firings=0", (OFF,), (ENDS, SERIALIZABLE + READER), False, others=(NOTES,)
    ),
    "arming fails, lifetime": Wanted("senders=1 lifetimes=1", (NO_TIMER,), (), False),
    "arming fails in it": Wanted("senders=1", (FAILS_IN_IT,), NOTHING, False),
    "arming fails in it, busy": Wanted("senders=1 caller=transaction", (FAILS_IN_IT,), (), False),
    "arming fails, by hand": Wanted("senders=1", (OFF, NO_TIMER), (READER, READER, READER), False),
    "a stranger's message": Wanted(
        "senders=1 firings=0", STRANGER, (SAYS.format("//stranger"),), False
    ),
    "a stranger's message, reader dies": Wanted(
        "senders=1 firings=0 faults=reader_restart", STRANGER, (SAYS.format("//stranger"),), False
    ),
    "strangers given up": Wanted(
        "senders=1 firings=0",
        (OFF, *STRANGER),
        (
            SAYS.format("//redial/audit/initiator"),
            "DECLARE @h uniqueidentifier = (SELECT TOP (1) "
            "ce.conversation_handle FROM sys.conversation_endpoints AS ce INNER JOIN sys.services AS s "
            "ON s.service_id = ce.service_id WHERE s.name = N'//redial/audit/initiator' AND "
            f"ce.is_initiator = 0); {GIVES_UP}",
            "DECLARE @h uniqueidentifier = (SELECT TOP (1) "
            "ce.conversation_handle FROM sys.conversation_endpoints AS ce WHERE ce.far_service = "
            f"N'//redial/audit/initiator' AND ce.is_initiator = 1); {GIVES_UP}",
        ),
        False,
    ),
    "many pending": Wanted(
        "senders=1 messages=2 firings=0 lifetimes=1",
        (),
        (),
        False,
        choices=(("operations", "resend_limit", 1),),
    ),
    "few pending": Wanted(
        "senders=1 firings=0 lifetimes=1 warm=0",
        (STRAY,),
        (),
        False,
        choices=(("operations", "resend_limit", 1),),
    ),
    "few pending, strangers": Wanted(
        "senders=1 firings=0 lifetimes=1 warm=0",
        (),
        (STRAY, send("A1")),
        False,
        choices=(("operations", "resend_limit", 1),),
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
    "deadlock with a query, pending": Wanted(
        "senders=1 firings=0 lifetimes=1 warm=0",
        (),
        (),
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
    "given up, blind": Wanted(
        "senders=1 firings=0", (BLIND, TARGET.format("OFF")), (send("A1"), give_up(0)), False
    ),
    "given up while it begins": Wanted(
        "key=application senders=1 firings=0 warm=0 caller=transaction",
        (TARGET.format("OFF"),),
        (),
        False,
        others=(
            "DECLARE @h uniqueidentifier = (SELECT TOP (1) Handle FROM "
            f"audit.SessionConversations WITH (NOLOCK)); {GIVES_UP}",
        ),
    ),
    "never sent on": Wanted(
        "senders=1 firings=0 warm=0", (), (NEVER_SENT, HANDLE.format(1) + GIVES_UP), False
    ),
    "resend fails once": Wanted("senders=1 firings=0 lifetimes=1", (NO_RESEND, NOTES), (), False),
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
    "bad optimizer, given up": Wanted(
        "key=application senders=2 shared=0 warm=1 firings=0 caller=transaction "
        "switches=bad_optimizer:true",
        (TARGET.format("OFF"),),
        (give_up(0),),
        False,
        others=(OPENS.format(NOTES),),
    ),
    "bad optimizer, ended": Wanted(
        "senders=1 firings=0 switches=bad_optimizer:true",
        (),
        (ENDS,),
        False,
        others=(OPENS.format(NOTES),),
    ),
    "severe, by hand": Wanted("senders=1 firings=0", (OFF, SEVERE), (ENDS, READER, READER), False),
    "timer, log held": Wanted(
        "senders=1",
        (OFF,),
        ("DELETE FROM audit.SessionConversations;", READER),
        False,
        others=(OPENS.format("UPDATE audit.ConversationLog SET Code = 1;"),),
    ),
    "overdue, busy": Wanted("senders=1 caller=transaction overdue=1"),
    "another overdue, busy": Wanted("senders=1 caller=transaction", (OLD_OTHER,)),
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
    "reads wait, one key": Wanted(f"key=application senders=2 firings=0 warm=0 {READS}"),
}
"""The cases of the sending side."""

WANTED: Mapping[str, Wanted] = {**SENDING, **TARGETS, **OPERATOR, **CHOICES}
"""Every case."""


_SENDS = (
    "xact_abort",
    "serializable",
    "wrong calls",
    "dead before",
    "removed before",
    "removed before, XACT_ABORT",
    "gate",
    "dead before, caught",
    "cancel",
    "cancel, transaction",
    "cancel, XACT_ABORT",
    "other contract",
    "removed before, doomed",
    "one key",
    "one key, transactions",
    "one key, XACT_ABORT",
)
_BEGINS = (
    "bad optimizer",
    "bad optimizer, first",
    "beginning fails",
    "beginning again fails",
    "taken for ever",
    "beginning fails, told",
    "beginning fails, caught",
    "no service",
    "bad optimizer, beginning fails",
)
_IN: Mapping[str, tuple[str, ...]] = {
    "usp_Send": (
        *_SENDS,
        "trigger ends it",
        "no key",
        "long body",
        "serializable, two",
        *_BEGINS,
        "target ends, XACT_ABORT",
        "timer",
    ),
    "usp_AcquireConversation": (
        *_SENDS,
        "gate, dialog",
        "own keys",
        *_BEGINS,
        "reads wait, one key",
        "reads wait",
        "target ends, XACT_ABORT",
        "timer",
        "transaction",
    ),
    "usp_BeginConversation": ("first send", *_SENDS, "own keys", *_BEGINS, "reads wait, one key"),
    "usp_RecycleConversation": (
        "first send",
        "wrong calls",
        "timer, removed",
        "closing fails",
        "timer, target ends",
        "target ends",
        "failing",
        "timer",
        "transaction",
        "bad optimizer, beside",
        "retired",
        "RCSI",
        "trigger on a dead dialog",
        "recycled by hand",
        "overdue, busy",
    ),
    "usp_SenderActivation": (
        "first send",
        "by hand",
        "arming fails",
        "closing fails",
        "error message",
        "blind",
        "failing",
        "timer",
        "queue off",
        "timer, reader dies",
        "failing, reader dies",
        "by hand, SERIALIZABLE",
        "arming fails, lifetime",
        "arming fails in it",
        "arming fails in it, busy",
        "arming fails, by hand",
        "a stranger's message",
        "a stranger's message, reader dies",
        "many pending",
        "few pending",
        "few pending, strangers",
        "queue off, by hand",
        "deadlock with a query",
        "resend fails once",
        "deadlock with a query, pending",
        "bad optimizer, ended",
        "severe, by hand",
        "timer, log held",
        "overdue, busy",
        "another overdue, busy",
        "a stranger's messages, one refused",
        "reads wait",
    ),
    "usp_SendEndOfStream": (
        "wrong calls",
        "first send",
        "closing fails",
        "reads wait",
        "bad optimizer, beside",
    ),
    "usp_ArmTimer": (
        "wrong calls",
        "armed beside",
        "wrong calls, doomed",
        "first send",
        "failing",
        "timer",
    ),
    "usp_ResendPending": (
        "wrong calls",
        "given up",
        "dead-lettered",
        "codes",
        "ended by hand",
        "giving up fails",
        "given up beside a sender",
        "long bodies",
        "failing",
        "error message",
        "failing, reader dies",
        "given up, SERIALIZABLE",
        "strangers given up",
        "given up, blind",
        "given up while it begins",
        "never sent on",
        "resend fails once",
        "bad optimizer, given up",
        "bad optimizer, pending",
        "reads wait",
    ),
}

PROCEDURES = frozenset({*_IN, *IN_TARGET, *IN_OPERATOR, *IN_CHOICES})
"""Whose mutants are made."""


LARGE = frozenset(
    {
        "long bodies",
        "bad optimizer, beside",
        "target ends",
        "error message",
        "timer",
        "transaction",
        "failing",
        "target ends, XACT_ABORT",
        "RCSI",
        "queue off",
        "timer, target ends",
        "retired",
        "recycled by hand",
        "arming fails, lifetime",
        "arming fails in it, busy",
        "many pending",
        "resend fails once",
        "bad optimizer, given up",
        "reads wait",
        "timer, reader dies",
        "two readers, poison",
        "reads wait at the target",
        "bad optimizer, ended after poison",
        "lands, recycled",
        "drained beside a sender",
        "drained beside a transaction",
        "drained, a row held",
        "drained, bad optimizer",
        "retired, bad optimizer",
        "retired together",
        "retired, both of two",
        "pool, start taken",
        "pool, start taken, implicit",
        "pool of two, three senders",
        "pool of two, all busy",
        "single, first users, again",
        "aged, beginning again fails",
        "aged, ended by hand, XACT_ABORT",
        "once, two readers",
        "overdue, busy",
        "another overdue, busy",
        "deadlock with a query, pending",
        "lands, SERIALIZABLE",
        "pool, timer",
        "pool, target ends",
        "pool, busy",
        "pool, busy, less patience",
        "pool, two messages",
        "pool, drained",
        "message",
        "aged, ended by hand",
        "aged, of before",
        "once",
        "once, resent",
    }
)
"""Cases of more than 700 transitions: who hunts for many mutants looks into the others first."""


def cases_of(mutant: str) -> tuple[str, ...]:
    """The cases a mutant is hunted in: those in which its procedure does something of its own; the
    other choices' cases where the text is theirs only (its name says so: usp_X@pool.where.it).
    """
    name, _, choice = mutant.partition(".")[0].partition("@")
    return (
        *_IN.get(name, ()),
        *IN_TARGET.get(name, ()),
        *IN_OPERATOR.get(name, ()),
        *(IN_CHOICES.get(name, ()) if choice else ()),
    )


def scenario(wanted: Wanted) -> tuple[Scenario, Config]:
    """What is searched without a mutant, and its configuration."""
    setup = Setup.parse(wanted.setup)
    made = setup.scenario()
    client = made.clients[0]
    first = replace(
        client,
        batches=wanted.batches or client.batches,
        **({"on_cancel": "", "on_error": ""} if wanted.untidy else {}),
    )
    changes: dict = {"listens": wanted.listens}
    if wanted.one_go:
        changes |= {"in_one_go": frozenset({"InitiatorQueue", "TargetQueue"})}
    if wanted.batches or wanted.others or not wanted.claims:
        changes |= {"at_the_end": _nothing if wanted.left else nothing_left_behind, "account": None}
    if not wanted.claims:
        changes |= {"on_every_state": _nothing if wanted.deadlocks else no_deadlock}
    clients = (first, *made.clients[1:])
    if wanted.before:
        clients = tuple(
            replace(client, batches=tuple(f"{wanted.before} {text}" for text in client.batches))
            for client in clients
        )
    clients += tuple(
        Client(f"somebody {number}", (text,), DATABASE, (), TIDY, TIDY)
        for number, text in enumerate(wanted.others, 1)
    )
    return replace(made, clients=clients, **changes), _config(setup, wanted)


def _nothing(_: World) -> list[str]:
    return []


def _config(setup: Setup, wanted: Wanted) -> Config:
    if not wanted.choices:
        return setup.config
    data = setup.config.model_dump(by_alias=True, mode="json")
    for section, name, value in wanted.choices:
        data[section][name] = value
    return Config.model_validate(data)
