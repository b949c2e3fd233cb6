"""Cases of the other choices: the keys (``battery_keys``), aged_out, order = key, exactly_once."""

from __future__ import annotations

from collections.abc import Mapping

from redial_lab.proof.audit_setups import send
from redial_lab.proof.battery_keys import CAREFUL, MESSAGE, POOL, REFUSES, SINGLE
from redial_lab.proof.battery_operator import RETIRE, TOLD
from redial_lab.proof.battery_target import IN_HAND, KNOWN, READS, STILL
from redial_lab.proof.setups import NAMES
from redial_lab.proof.wanted import (
    CAUGHT,
    CLOSES,
    ENDS,
    NO_CLOSING,
    NO_LOG,
    OFF,
    ONE_LOG,
    OPENS,
    OTHER,
    REMOVE,
    TARGET,
    Wanted,
    closed,
)


def keyed(body: str, key: str = "k") -> str:
    """Sends one event with a key."""
    return f"EXECUTE audit.usp_Send {NAMES}, 0x{body}, @key = N'{key}';"


def known(body: str, number: int) -> str:
    """Sends one event with an id of its own."""
    return (
        f"EXECUTE audit.usp_Send {NAMES}, 0x{body}, "
        f"@messageId = '00000000-0000-0000-0000-{number:012}';"
    )


LIMITS = "UPDATE audit.SessionConversations SET RecycleAtUtc = {}, RecycleAtMessages = {};"
AGED = {
    "aged": Wanted("recycle=aged_out senders=1 messages=2 firings=0"),
    "aged, first": Wanted(
        "recycle=aged_out senders=1 messages=2 warm=0 firings=0 caller=transaction"
    ),
    "aged, XACT_ABORT": Wanted("recycle=aged_out senders=1 messages=2 firings=0 caller=xact_abort"),
    "aged, dead before": Wanted(
        "recycle=aged_out senders=1 firings=0", (OFF,), (ENDS, send("A1"), *CAREFUL), False
    ),
    "aged, ended by hand": Wanted(
        "recycle=aged_out senders=1 firings=0 messages=2 faults=target_ends", claims=False
    ),
    "aged, removed before": Wanted(
        "recycle=aged_out senders=1 firings=0", (OFF,), (REMOVE, send("A1"), *CAREFUL), False
    ),
    "aged, closing fails": Wanted(
        "recycle=aged_out senders=1 firings=0", (NO_CLOSING,), (send("A1"), *CAREFUL), False
    ),
    "aged, closing refused": Wanted(
        "recycle=aged_out senders=1 firings=0",
        (REFUSES,),
        (send("A1"), *CAREFUL, OPENS.format(send("A2"))),
        False,
    ),
    "aged, beginning fails": Wanted(
        "recycle=aged_out senders=1 warm=0 firings=0", (NO_LOG,), (send("A1"), *CAREFUL), False
    ),
    "aged, beginning fails, told": Wanted(
        "recycle=aged_out senders=1 warm=0 firings=0",
        (NO_LOG,),
        (f"SET XACT_ABORT ON; {OPENS.format(send('A1'))}",),
        False,
    ),
    "aged, beginning again fails": Wanted(
        "recycle=aged_out senders=1 firings=0", (ONE_LOG,), (*CAREFUL, send("A2")), False
    ),
    "aged, ended by hand, XACT_ABORT": Wanted(
        "recycle=aged_out senders=1 firings=0 faults=target_ends caller=xact_abort", claims=False
    ),
    "aged, gate": Wanted(
        "recycle=aged_out senders=1 warm=0 firings=0",
        (OTHER,),
        (closed(0), send("A1"), *CAREFUL),
        False,
    ),
    "aged, one limit": Wanted(
        "recycle=aged_out senders=1 firings=0",
        (),
        (LIMITS.format("NULL", 99), send("A1"), LIMITS.format("'2099-01-01'", "NULL"), send("A2")),
        False,
    ),
    "aged, retired": Wanted(
        "recycle=aged_out senders=1 firings=0",
        (TOLD,),
        (LIMITS.format("'2000-01-01'", "NULL"), RETIRE, LIMITS.format("NULL", 1), RETIRE),
        False,
        one_go=True,
        listens=True,
    ),
    "aged, retired by number": Wanted(
        "recycle=aged_out senders=1 firings=0",
        (TOLD,),
        (LIMITS.format("NULL", 1), RETIRE),
        False,
        one_go=True,
        listens=True,
    ),
    "aged, cancel": Wanted(
        "recycle=aged_out senders=1 firings=0 faults=cancel",
        (),
        ("SET XACT_ABORT ON; BEGIN TRANSACTION;", send("A1"), "COMMIT TRANSACTION;"),
        False,
        untidy=True,
        left=True,
    ),
    "aged, of before": Wanted(
        "recycle=aged_out senders=1 firings=0",
        (),
        (
            "UPDATE audit.SessionConversations SET RecycleAtUtc = NULL, RecycleAtMessages = NULL;",
            send("A1"),
            "UPDATE audit.SessionConversations SET RecycleAtUtc = '2000-01-01', "
            "RecycleAtMessages = NULL;",
            send("A2"),
            "UPDATE audit.SessionConversations SET "
            "RecycleAtUtc = '2099-01-01', RecycleAtMessages = 5;",
            send("A3"),
        ),
        False,
    ),
}
ORDER = {
    "ordered": Wanted("key=application order=key senders=2 warm=0 firings=0"),
    "ordered, transactions": Wanted(
        "key=application order=key senders=2 warm=1 firings=0 caller=transaction"
    ),
    "ordered, two keys": Wanted(
        "key=application order=key senders=1 warm=0 firings=0",
        (),
        (
            keyed("A1"),
            keyed("A2", "l"),
            keyed("A3"),
            OPENS.format(f"{keyed('A4')} {keyed('A5', 'l')}"),
        ),
        False,
    ),
    "ordered, beside": Wanted(
        "key=application order=key senders=2 shared=0 warm=2 firings=0 "
        "caller=transaction switches=bad_optimizer:true"
    ),
    "ordered, no key": Wanted(
        "key=application order=key senders=1 warm=0 firings=0",
        (),
        (send("A1"), keyed("A2", "")),
        False,
    ),
    "ordered, dead before": Wanted(
        "key=application order=key senders=1 firings=0",
        (OFF,),
        (ENDS, keyed("A1"), CAUGHT.format(keyed("A2"), "ON")),
        False,
    ),
    "ordered, beginning fails": Wanted(
        "key=application order=key senders=1 warm=0 firings=0",
        (NO_LOG,),
        (keyed("A1"), CAUGHT.format(keyed("A2"), "OFF")),
        False,
    ),
}
ONCE = {
    "once": Wanted("delivery=exactly_once senders=2 warm=0 firings=0 target_readers=1"),
    "once, the same twice": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (),
        (known("A1", 1), known("A2", 2), known("A1", 1), send("A3"), known("A3", 1)),
        False,
    ),
    "once, no id": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0", (), (known("A1", 0),), False
    ),
    "once, known poison": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (STILL,),
        (known("A1", 1), IN_HAND + KNOWN.replace(" 1,", " 0,"), READS),
        False,
    ),
    "once, id refused": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (STILL, "ALTER TABLE audit.Inbox ADD CONSTRAINT CK_Fault CHECK (Repeats > 0);"),
        (known("A1", 1), READS),
        False,
    ),
    "once, ended": Wanted(
        "delivery=exactly_once senders=1 firings=0", (STILL,), (send("A1"), CLOSES, READS), False
    ),
    "once, two readers": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (STILL,),
        (known("A1", 1), READS),
        False,
        others=(known("A1", 1), READS),
    ),
    "once, bad optimizer, beside": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0 switches=bad_optimizer:true",
        (STILL,),
        (known("A1", 1), READS),
        False,
        others=(OPENS.format("INSERT INTO audit.Inbox (MessageId) VALUES (NEWID());"),),
    ),
    "once, the first cannot land": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (
            TARGET.format("OFF"),
            "ALTER TABLE audit.Landing ADD CONSTRAINT CK_Fault CHECK (Body <> 0xA1);",
        ),
        (known("A1", 1), known("A2", 2), TARGET.format("ON"), known("A2", 2)),
        False,
    ),
    "once, a batch": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (TARGET.format("OFF"),),
        (
            known("A1", 1),
            known("A2", 2),
            known("A1", 1),
            send("A3"),
            known("A3", 1),
            TARGET.format("ON"),
            known("A2", 2),
        ),
        False,
    ),
    "once, a batch that cannot land": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0",
        (
            TARGET.format("OFF"),
            "ALTER TABLE audit.Landing ADD CONSTRAINT CK_Fault CHECK (Body <> 0xA2);",
        ),
        (known("A1", 1), known("A2", 2), known("A1", 1), TARGET.format("ON"), known("A2", 2)),
        False,
    ),
    "once, resent": Wanted("delivery=exactly_once senders=1 firings=0 lifetimes=1", claims=False),
    "once, bad optimizer": Wanted(
        "delivery=exactly_once senders=1 warm=0 firings=0 switches=bad_optimizer:true",
        (TARGET.format("OFF"),),
        (known("A1", 1), known("A2", 2), known("A1", 1), TARGET.format("ON")),
        False,
    ),
}

CHOICES: Mapping[str, Wanted] = {**POOL, **SINGLE, **MESSAGE, **AGED, **ORDER, **ONCE}
IN_CHOICES: Mapping[str, tuple[str, ...]] = {
    "usp_AcquireConversation": (*POOL, *SINGLE, *MESSAGE, *AGED),
    "usp_BeginConversation": (*POOL, *SINGLE, *MESSAGE, *AGED),
    "usp_WaitForSlot": tuple(POOL),
    "usp_RecycleConversation": tuple(POOL),
    "usp_Send": (*MESSAGE, *ORDER, *ONCE),
    "usp_LandBatch": tuple(ONCE),
    "usp_LandRow": tuple(ONCE),
    "usp_Drain": (
        "pool, drained",
        "single, drained",
        "single, drained beside a first user",
        "single, target off",
        "pool, drained, told",
        "single, drained, told",
        "single, drained too late",
        "single, drained after it died",
        "single, drained, a late sender",
    ),
    "usp_RetireIdle": (
        "pool, retired",
        "pool, retired, told",
        "aged, retired",
        "aged, retired by number",
    ),
}
