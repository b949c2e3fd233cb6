"""Scenarios of tables: letters, errors, growth, what is missing."""

from __future__ import annotations

from redial_broker.exec import trouble
from tests.product.sql.lab import Client, Lab, configured, send

from .scenario import Scenario, Step, sent, steps

DAY = 86_400


def server_refuses(lab: Lab) -> None:
    trouble.begin(lab.instance.database("lab"), trouble.TOO_LONG, ["audit.Landing"], 10)
    sent("0x" + "ee" * 11)(lab)


def server_mended(lab: Lab) -> None:
    trouble.end(lab.instance.database("lab"))


def acknowledged(lab: Lab) -> None:
    """A reader that has read all there is."""
    lab.sa.execute(
        "DECLARE @m binary(8) = MIN_ACTIVE_ROWVERSION(); EXECUTE audit.usp_AcknowledgeLanding N'etl', @m;"
    )


def sent_with_key(key: str) -> Step:
    """Three messages of one key."""

    def send_them(lab: Lab) -> None:
        client = Client(lab)
        for body in ("0xB1", "0xB2", "0xB3"):
            client.execute(send(body, key=f"N'{key}'"))
        lab.advance(5)

    return send_them


def lost_number(lab: Lab) -> None:
    """As if the second had never come."""
    lab.sa.execute("DELETE FROM audit.Landing WHERE ConversationKey = N'a' AND KeySequence = 2;")


SCENARIOS = {
    "dead-letters": Scenario(
        "DECLARE @h uniqueidentifier = (SELECT Handle FROM audit.SessionConversations); "
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, MessageType, Body) "
        "VALUES (N'target', @h, 0, N'//redial/audit/event', 0x02);"
    ),
    "errors": Scenario("EXECUTE audit.usp_LogError N'x', @message = N'y';", mend="", rest=3700),
    "poison": Scenario(
        "EXECUTE audit.usp_RecordPoison '11111111-1111-1111-1111-111111111111', 0, N'x';",
        mend="",
        rest=660,
    ),
    "server-set-up": Scenario(
        server_refuses,
        after=10,
        mend=server_mended,
        rest=60,
        also=frozenset({"errors"}),
        stays=frozenset({"errors"}),
    ),
    "slowed": Scenario(
        steps(
            "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body <> 0xDEAD);",
            sent(*["0xDEAD"] * 40),
        ),
        after=5,
        mend="ALTER TABLE audit.Landing DROP CONSTRAINT CK_No;",
        config=configured(target={"receive_batch": 5}, poison={"slow_after": 10}),
        also=frozenset({"errors", "dead-letters"}),
        stays=frozenset({"errors", "dead-letters"}),
    ),
    "key-waits": Scenario(
        steps(
            "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body <> 0xB1);",
            sent_with_key("a"),
        ),
        after=60,
        mend="EXECUTE audit.usp_MarkDeadLetter 0, 999, @reason = N'seen', @WhatIf = 0;",
        rest=60,
        begins="",
        config=configured(
            conversation={"key": "application", "order": "key"},
            poison={"after_dead_letter": "wait"},
        ),
        also=frozenset({"errors", "dead-letters"}),
        stays=frozenset({"errors"}),
    ),
    "index-missing: disabled": Scenario(
        "ALTER INDEX IX_ConversationLog_ConversationId ON audit.ConversationLog DISABLE;"
    ),
    "index-missing: gone": Scenario(
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations;",
        also=frozenset({"not-looked-at"}),
        stays=frozenset({"errors"}),
    ),
    "landing-past-time": Scenario(
        steps("UPDATE audit.Landing SET LandedUtc = DATEADD(day, -3, LandedUtc);", acknowledged),
        config=configured(retention={"landing_days": 1}),
    ),
    "trigger-of-others": Scenario(
        "EXECUTE (N'CREATE TRIGGER audit.Watch ON audit.SessionConversations AFTER INSERT AS RETURN;');"
    ),
    "locks-escalate": Scenario("ALTER TABLE audit.SentMessage SET (LOCK_ESCALATION = TABLE);"),
    "page-locks": Scenario(
        "ALTER INDEX PK_ConversationLog ON audit.ConversationLog SET (ALLOW_PAGE_LOCKS = ON);"
    ),
    "reader-stalled": Scenario(
        steps(acknowledged, sent("0x02")),
        after=DAY + 3601,
        config=configured(retention={"landing_days": 30}),
    ),
    "logs-past-time": Scenario(
        "INSERT INTO audit.ErrorLog (AddedUtc, ProcedureName, ErrorMessage) "
        "VALUES (DATEADD(day, -100, SYSUTCDATETIME()), N'x', N'y');"
    ),
    "letters-past-time": Scenario(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, AddedUtc, HandledUtc, "
        "Handling, HandledBy) "
        "VALUES (N'target', '11111111-1111-1111-1111-111111111111', 0, DATEADD(day, -100, SYSUTCDATETIME()), "
        "DATEADD(day, -100, SYSUTCDATETIME()), "
        "N'replayed', N'sa');",
        config=configured(retention={"dead_letter_days": 30}),
    ),
    "inbox-past-time": Scenario(
        "INSERT INTO audit.Inbox (MessageId, ReceivedUtc) "
        "VALUES (NEWID(), DATEADD(day, -100, SYSUTCDATETIME()));",
        config=configured(conversation={"delivery": "exactly_once"}),
    ),
    "key-gap": Scenario(
        lost_number,
        begins=sent_with_key("a"),
        after=700,
        config=configured(
            conversation={"key": "application", "order": "key"}, landing={"order_index": True}
        ),
        mend="INSERT INTO audit.SkippedNumber (ConversationKey, KeySequence, Reason) "
        "VALUES (N'a', 2, N'given up');",
    ),
}
