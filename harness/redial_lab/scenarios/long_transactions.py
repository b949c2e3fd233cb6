"""Long caller transactions: callers keep their transactions open far beyond their dialogs' age.

Such a caller holds the row and the conversation. Recycling must neither wait behind him nor go on
without him: the timer asks again and again, the others are not held up, and after the commit the
dialog is replaced as if nothing had been.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story
from redial_lab.scenarios.total_queue import Expected

SLOW, QUICK, AGE, MINUTES = 4, 6, 20, 2


def tell(story: Story) -> None:
    """Two minutes in one transaction: of four slow callers one rolls back, one is killed."""
    slow = [story.sender() for _ in range(SLOW)]
    quick = [story.sender() for _ in range(QUICK)]
    story.together([*slow, *quick], 3)
    for sender in slow:
        sender.begins()
    story.together(slow, 2)
    story.say(f"{SLOW} callers keep transactions open for {MINUTES} minutes; others go on")
    for _ in range(MINUTES * 6):
        story.together(quick, 2, in_transaction=2)
        story.wait(10)
    story.together(slow, 2)
    slow[0].rolls_back()
    story.kill(slow[1].client.session)
    for sender in slow[2:]:
        sender.commits()
    story.together(slow[1:2], 1)
    story.together([*slow, *quick], 3)


SCENARIO = Scenario(
    "long-transactions",
    tell,
    mutant="one_transaction",
    changes={"timer": {"after_seconds": AGE, "spread_seconds": 5, "retry_seconds": 5}},
    expected=Expected(kills=True),
    differs=("a real server takes two minutes; its log cannot be truncated meanwhile",),
)
