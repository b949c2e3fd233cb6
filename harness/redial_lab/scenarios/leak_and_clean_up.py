"""Leak and clean-up: dialogs nobody owns any more, and the operator's procedure for them.

One dialog is begun and forgotten, one loses its row in our table, one is ended WITH CLEANUP behind
our back, which leaves the target's half alone. usp_EndLeaked shows them before it touches them,
ends what it may end, that half too, and leaves the dialogs in use alone.
"""

from __future__ import annotations

from redial.render.quoting import literal, quote_name
from redial_lab.scenarios.story import Scenario, Story

CALLERS, LIFETIME = 8, 90


def tell(story: Story) -> None:
    """Three leaks under load, shown, cleaned up, and nothing else is touched."""
    senders = [story.sender() for _ in range(CALLERS)]
    story.together(senders, 3)
    services = story.config.services
    story.sql(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG CONVERSATION @h FROM SERVICE "
        f"{quote_name(services.initiator)} TO SERVICE {literal(services.target)} ON CONTRACT "
        f"{quote_name(story.config.contract.name)} WITH ENCRYPTION = OFF;"
    )
    rows = f"{story.schema}.SessionConversations"
    story.sql(f"DELETE FROM {rows} WHERE Handle = (SELECT MIN(Handle) FROM {rows});")
    story.wait(1)
    story.sql(
        f"DECLARE @h uniqueidentifier = (SELECT MIN(Handle) FROM {rows}); "
        "END CONVERSATION @h WITH CLEANUP;"
    )
    shown = story.sql(f"EXECUTE {story.schema}.usp_EndLeaked;")
    story.say(f"usp_EndLeaked shows {len(shown)}: {', '.join(sorted(row[5] for row in shown))}")
    leaks = ["CLOSE", "DELETE ROW", "END ALONE", "END UNUSED"]
    story.insists(
        sorted(row[5] for row in shown) == leaks,
        "the three leaks, the last with both its halves, and only they, are shown",
    )
    story.sql(f"EXECUTE {story.schema}.usp_EndLeaked @reason = N'test', @WhatIf = 0;")
    story.together(senders, 3)
    story.wait(story.age)
    left = story.sql(
        "SELECT ce.is_initiator, ce.state_desc FROM sys.conversation_endpoints AS ce "
        "WHERE ce.state_desc <> N'CLOSED';"
    )
    story.insists(len(left) == 0, f"left: {len(left)} endpoints that have not ended")
    if story.port.virtual:
        story.wait(31 * 60)
        closed = story.sql("SELECT COUNT(*) FROM sys.conversation_endpoints;")[0][0]
        story.insists(closed == 0, f"{closed} endpoints after the half hour of CLOSED ones")


SCENARIO = Scenario(
    "leak-and-clean-up",
    tell,
    mutant="cleanup_in_activation",
    changes={
        "timer": {"after_seconds": 15, "spread_seconds": 5, "retry_seconds": 2},
        "conversation": {"lifetime_seconds": LIFETIME, "longest_transaction_seconds": 5},
    },
    differs=(
        "that CLOSED endpoints go after half an hour is looked at on the virtual clock only: "
        "on a server they are left to its memory of replays",
    ),
)
