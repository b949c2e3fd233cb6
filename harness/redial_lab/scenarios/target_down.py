"""Target down for an hour: the target's queue is off, callers notice nothing, dialogs grow old.

What is sent waits in the transmission queue, and so does the EndOfStream of each dialog that is
recycled meanwhile, behind its messages. When the queue is on again all of it lands, in order.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, MINUTES = 8, 60


def tell(story: Story) -> None:
    """Everybody sends every five minutes of an hour in which nothing is received."""
    senders = [story.sender() for _ in range(CALLERS)]
    story.together(senders, 3)
    story.wait(5)
    landed = story.count("Landing WHERE Body IS NOT NULL")
    story.queue("target", "STATUS = OFF")
    story.say(f"the target is down for {MINUTES} minutes; {CALLERS} callers go on")
    for _ in range(MINUTES // 5):
        story.together(senders, 3, in_transaction=3)
        story.wait(5 * 60)
    now = story.count("Landing WHERE Body IS NOT NULL")
    story.insists(now == landed, f"{now - landed} messages landed while the target was down")
    story.insists(not story.ledger.errors, "callers noticed")
    story.queue("target", "STATUS = ON")
    story.together(senders, 3)


SCENARIO = Scenario(
    "target-down",
    tell,
    mutant="initiator_ends_first",
    changes={"timer": {"after_seconds": 900, "spread_seconds": 60, "retry_seconds": 30}},
    differs=("a server takes the whole hour",),
)
