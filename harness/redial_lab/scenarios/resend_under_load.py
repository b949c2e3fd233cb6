"""Resend under load: dialogs fail with messages pending, while callers go on sending.

The target's queue is off until the dialogs' lifetime is over. Each fails (-8489), and what is
pending on it goes out again on a dialog of its own, byte for byte and in order (seed 004).
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, LIFETIME, PAUSES = 6, 75, 10


def tell(story: Story) -> None:
    """Twice: the target stops, callers go on beyond the dialogs' lifetime, the target is back."""
    senders = [story.sender() for _ in range(CALLERS)]
    for number in (1, 2):
        story.together(senders, 5, in_transaction=number)
        story.say(f"outage {number}: nothing is received for longer than the dialogs live")
        story.queue("target", "STATUS = OFF")
        for _ in range(PAUSES):
            story.together(senders, 3)
            story.wait(1.5 * LIFETIME / PAUSES)
        story.queue("target", "STATUS = ON")
        story.together(senders, 10, in_transaction=5)
    resent = story.sql(f"SELECT ISNULL(SUM(Resent), 0) FROM {story.schema}.ConversationLog;")[0][0]
    story.say(f"{resent} messages were resent")
    story.insists(resent > 0, "nothing was resent: no dialog failed with messages pending")


SCENARIO = Scenario(
    "resend-under-load",
    tell,
    mutant="resend_one_byte",
    changes={
        "timer": {"after_seconds": 6, "spread_seconds": 1, "retry_seconds": 1},
        "conversation": {"lifetime_seconds": LIFETIME, "longest_transaction_seconds": 5},
    },
    differs=(
        "a server may find out that a lifetime is over some seconds late; then fewer "
        "messages are resent, and the others just wait",
    ),
)
