"""Deadlock storm: twenty callers in transactions while readers replace their dialogs.

Seed 002's case: usp_Send takes the row and then the conversation, activation receives (and so has)
the conversation and wants the row. Ours asks for the row with no conversation in its hands.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, SECONDS = 20, 5


def tell(story: Story) -> None:
    """Everybody sends for five lives of a dialog, most of them in transactions of five."""
    senders = [story.sender() for _ in range(CALLERS)]
    story.say(f"{CALLERS} callers send for {SECONDS} s; a dialog lives one second")
    for _ in story.rounds(SECONDS):
        for sender in senders:
            sender.starts(10, in_transaction=5 if sender.number % 4 else 0)
        story.all_answered(senders)


SCENARIO = Scenario(
    "deadlock-storm",
    tell,
    mutant="one_transaction",
    changes={
        "timer": {"after_seconds": 1, "spread_seconds": 0, "retry_seconds": 1},
        "initiator": {"readers": 4},
    },
    differs=(
        "how often the race is met: embedded, sessions take turns statement by statement on "
        "a virtual clock, some 140 messages a second; a server does as many as it can",
    ),
)
