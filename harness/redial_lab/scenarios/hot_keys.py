"""Hot keys: callers share a few keys and never pause, so no row is ever free when a recycle looks.

Key = application. A row goes from the caller who commits to the one who has waited longest; a
recycle that only looked would never get it, and a dialog would live until its lifetime ends.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, KEYS, SECONDS = 12, 4, 12


def tell(story: Story) -> None:
    """All send at one time, until every dialog must have been replaced."""
    senders = [story.sender(key=f"key {number % KEYS}") for number in range(CALLERS)]
    timer = story.config.timer
    longest = timer.after_seconds + timer.spread_seconds + 4 * timer.retry_seconds
    story.say(
        f"{CALLERS} callers on {KEYS} keys for {SECONDS} s; a dialog lives "
        f"{timer.after_seconds} s and {longest} s at the most"
    )
    for _ in story.rounds(SECONDS):
        story.together(senders, 60)
    old = story.count(
        "ConversationLog WHERE DATEDIFF(millisecond, BegunUtc, ISNULL(EndOfStreamUtc, "
        f"SYSUTCDATETIME())) > {longest * 1000}"
    )
    recycled = story.count("ConversationLog WHERE EndOfStreamUtc IS NOT NULL")
    story.insists(old == 0, f"{old} dialogs of busy keys were kept past {longest} s")
    story.insists(recycled >= KEYS, f"only {recycled} dialogs were recycled under load")


SCENARIO = Scenario(
    "hot-keys",
    tell,
    mutant="recycle_never_waits",
    changes={
        "conversation": {"key": "application"},
        "timer": {"after_seconds": 2, "spread_seconds": 0, "retry_seconds": 1},
    },
    differs=(
        "how seldom a row is free depends on the server's speed: the mutant is caught on the "
        "virtual clock, and on a server when callers hand a row on without a pause",
    ),
)
