"""Scenarios of messages on their way: what the server says is in the way, and what is in nobody's."""

from __future__ import annotations

from tests.product.sql.lab import Client, Lab, configured, send

from .faults_of_queues import hangs, reader_mended
from .scenario import Scenario, sent, steps

OFF, ON = (
    f"ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = {state});" for state in ("OFF", "ON")
)
LATE = frozenset({"unlanded-long"})
KIND = (
    "CREATE OR ALTER FUNCTION audit.ufn_Pending() RETURNS @pending TABLE (ConversationHandle "
    "uniqueidentifier NOT NULL, MessageSequence bigint NULL, MessageType nvarchar(256) NULL, IsEndOfDialog "
    "bit NULL, IsError bit NULL, EnqueuedUtc datetime NULL, WaitingSeconds int NULL, ToService nvarchar(256) "
    "NULL, TransmissionStatus nvarchar(4000) NULL, Header varbinary(1300) NULL) AS BEGIN {} RETURN; END;"
)
NONE = KIND.format("")


def says(status: str) -> str:
    """What the server would say of a message stands in for it: its texts are listed in docs/facts.md."""
    return KIND.format(
        "INSERT INTO @pending (ConversationHandle, WaitingSeconds, ToService, TransmissionStatus) "
        f"VALUES ('11111111-1111-1111-1111-111111111111', 400, N'//redial/audit/target', N'{status}');"
    )


def ended_by_hand(lab: Lab) -> None:
    """Both ends, while a message waits in the target's queue."""
    lab.sa.execute(OFF)
    sent("0xA1")(lab)
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.sa.execute(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.sa.execute("DELETE FROM audit.SessionConversations;")
    lab.sa.execute(ON)


def failed(lab: Lab) -> None:
    for queue in ("TargetQueue", "InitiatorQueue"):
        lab.sa.execute(f"ALTER QUEUE audit.{queue} WITH ACTIVATION (STATUS = OFF);")
    sent("0x01", "0x02", "0x03")(lab)
    lab.advance(5)
    lab.sa.execute(
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM sys.conversation_endpoints "
        "WHERE is_initiator = 0 ORDER BY conversation_handle); "
        "END CONVERSATION @h WITH ERROR = 1 DESCRIPTION = N'x';"
    )
    for queue in ("TargetQueue", "InitiatorQueue"):
        lab.sa.execute(f"ALTER QUEUE audit.{queue} WITH ACTIVATION (STATUS = ON);")


HELD: list[Client] = []
"""Sessions that a scenario has left with an open transaction."""


def one_key_twice(lab: Lab) -> None:
    """Two callers want the dialog of one key; the first does not commit."""
    first, second = Client(lab), Client(lab)
    first.execute("BEGIN TRANSACTION; " + send("0x02", key="N'a'"))
    second.submit(send("0x03", key="N'a'"))
    HELD[:] = [first]


def begin_and_forget(lab: Lab) -> None:
    """A program that sends and never commits."""
    client = Client(lab)
    client.execute("BEGIN TRANSACTION; " + send("0x02"))
    HELD[:] = [client]


def let_go(lab: Lab) -> None:
    HELD.pop().execute("COMMIT;")


def target_cleaned_up(lab: Lab) -> None:
    """The target's side is ended by hand, with what is in its queue."""
    lab.sa.execute(OFF)
    sent("0x02")(lab)
    lab.sa.execute(
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM sys.conversation_endpoints "
        "WHERE is_initiator = 0); END CONVERSATION @h WITH CLEANUP;"
    )
    lab.sa.execute(ON)


SCENARIOS = {
    "pending-queue-off": Scenario(
        steps("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;", sent("0x02")),
        after=100,
        also=frozenset({"queue-off"}),
        rest=30,
    ),
    "pending-broker-off": Scenario(
        says("The Service Broker in the target database is disabled."), mend=NONE
    ),
    "pending-no-service": Scenario(
        steps("DROP SERVICE [//redial/audit/target];", sent("0x02")),
        after=60,
        also=frozenset({"service-not-ours"}),
        rest=60,
    ),
    "pending-no-route": Scenario(
        steps("DROP ROUTE [AutoCreatedLocal];", sent("0x02")), after=60, rest=60
    ),
    "pending-access": Scenario(
        says("An exception occurred in the security context of the dialog."), mend=NONE
    ),
    "pending-far-side-ended": Scenario(says("The end dialog message was received."), mend=NONE),
    "pending-busy": Scenario(says("The target service is busy."), mend=NONE),
    "pending-not-tried": Scenario(says(""), mend=NONE),
    "pending-other": Scenario(says("Something of another version."), mend=NONE),
    "resend-too-large": Scenario(
        failed,
        after=5,
        config=configured(operations={"resend_limit": 2}),
        also=frozenset({"errors", "leaked"}),
        stays=frozenset({"errors", "dead-letters"}),
    ),
    "dialogs-over": Scenario(
        ended_by_hand,
        after=70,
        config=configured(timer={"after_seconds": 7200, "spread_seconds": 0, "retry_seconds": 5}),
    ),
    "unlanded-long": Scenario(
        steps(OFF, sent("0x02")), after=310, also=frozenset({"activation-off"}), mend=ON, rest=10
    ),
    "landing-stands": Scenario(
        hangs,
        after=310,
        first=reader_mended,
        also=frozenset({"unlanded-long", "reader-without-receive"}),
        mend="EXECUTE audit.usp_StartQueue @queue = N'TargetQueue', @restart = 1, @reason = N'mended', "
        "@WhatIf = 0;",
        rest=60,
    ),
    "blocking": Scenario(
        one_key_twice,
        after=30,
        begins=lambda lab: Client(lab).execute(send("0x01", key="N'a'")),
        config=configured(conversation={"key": "application"}),
        mend=let_go,
    ),
    "transaction-forgotten": Scenario(
        "",
        before=begin_and_forget,
        after=400,
        mend=let_go,
    ),
    "copies-stranded": Scenario(
        target_cleaned_up,
        after=400,
        also=frozenset({"unlanded-long"}),
        rest=30,
        stays=frozenset({"leaked"}),  # its row, until a sender finds it
    ),
}
