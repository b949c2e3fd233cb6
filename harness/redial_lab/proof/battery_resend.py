"""Cases of resending: a dialog is given up while messages pend, by an operator or by its lifetime."""

from __future__ import annotations

from collections.abc import Mapping

from redial_lab.proof.audit_setups import send
from redial_lab.proof.wanted import (
    BLIND,
    CLOSES,
    CODES,
    GIVES_UP,
    HANDLE,
    NEVER_SENT,
    NO_COUNT,
    NO_RESEND,
    NOTES,
    OFF,
    OPENS,
    OURS,
    SAYS,
    SENDS,
    SERIALIZABLE,
    STRANGER,
    STRAY,
    TARGET,
    Wanted,
    give_up,
)

RESENDING: Mapping[str, Wanted] = {
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
    "bad optimizer, pending": Wanted(
        "senders=1 firings=0 switches=bad_optimizer:true",
        (TARGET.format("OFF"),),
        (*SENDS, give_up(0), *SENDS, give_up(50001), TARGET.format("ON")),
        claims=False,
    ),
    "long bodies": Wanted("senders=1 firings=0 lifetimes=1", (), (send("A1A2A3"),), claims=False),
    "given up, SERIALIZABLE": Wanted(
        "senders=1 firings=0",
        (TARGET.format("OFF"),),
        (send("A1"), SERIALIZABLE + give_up(0)),
        False,
        others=(NOTES,),
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
    "bad optimizer, given up": Wanted(
        "key=application senders=2 shared=0 warm=1 firings=0 caller=transaction "
        "switches=bad_optimizer:true",
        (TARGET.format("OFF"),),
        (give_up(0),),
        False,
        others=(OPENS.format(NOTES),),
    ),
}
"""What pends when a dialog is given up, and who is in the way."""
