"""Scenarios of tables: letters, errors, growth, what is missing."""

from __future__ import annotations

from redial_broker.exec import trouble
from tests.product.sql.lab import Lab, configured

from .scenario import Scenario, sent, steps

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
    "index-missing: disabled": Scenario(
        "ALTER INDEX IX_ConversationLog_ConversationId ON audit.ConversationLog DISABLE;"
    ),
    "index-missing: gone": Scenario(
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations;",
        also=frozenset({"not-looked-at"}),
        stays=frozenset({"errors"}),
    ),
    "landing-past-time": Scenario(
        fault=steps(
            "UPDATE audit.Landing SET LandedUtc = DATEADD(day, -3, LandedUtc);", acknowledged
        ),
        config=configured(retention={"landing_days": 1}),
    ),
}
