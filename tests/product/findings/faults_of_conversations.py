"""Scenarios of endpoints and dialogs: too many, too old, left by everybody."""

from __future__ import annotations

from tests.product.sql.lab import Lab, configured

from .scenario import Scenario, edited

SHORT = configured(
    timer={"after_seconds": 60, "spread_seconds": 0, "retry_seconds": 1},
    conversation={"lifetime_seconds": 1000, "longest_transaction_seconds": 30},
)


ON = "ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);"


def timers_lost(lab: Lab) -> None:
    """Nobody hears them: the initiator's reader is off."""
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")


def closed(lab: Lab) -> None:
    """The stand-in removes CLOSED ones in time, so time passes without anybody looking."""
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(10)
    lab.instance.engine.timers.entries.clear()
    lab.instance.clock.advance(31 * 60)


SCENARIOS = {
    "leaked": Scenario(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract];"
    ),
    "endpoints-many": Scenario(
        edited("vw_Findings", "WHERE e.Endpoints >= 100000", "WHERE e.Endpoints >= 1"),
        mend=edited("vw_Findings", "WHERE e.Endpoints >= 1", "WHERE e.Endpoints >= 100000"),
    ),
    "closed-past-time": Scenario(closed),
    "dialogs-old": Scenario(
        timers_lost,
        after=200,
        config=SHORT,
        also=frozenset({"activation-off"}),
        first=ON,
        rest=60,
    ),
    "dialogs-ending": Scenario(
        timers_lost,
        after=950,
        config=SHORT,
        also=frozenset({"activation-off", "dialogs-old"}),
        first=ON,
        rest=60,
    ),
}
