"""Recycle race: callers send in autocommit at the moment at which their dialog's EndOfStream goes.

A message behind EndOfStream is lost without a word: the target ends the dialog when it reads that.
The sender's row lock, held from look-up to commit, is all that keeps the two apart.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, SECONDS = 12, 30


def tell(story: Story) -> None:
    """Nobody ever pauses, so every recycle meets a sender."""
    senders = [story.sender() for _ in range(CALLERS)]
    story.say(f"{CALLERS} callers send for {SECONDS} s; a dialog lives one second")
    for _ in story.rounds(SECONDS):
        story.together(senders, 12)
    recycled = story.count("ConversationLog WHERE EndOfStreamUtc IS NOT NULL")
    story.insists(recycled > CALLERS, f"only {recycled} dialogs were recycled under load")
    story.rests()
    behind = story.count(
        f"Landing AS l WHERE EXISTS (SELECT 1 FROM {story.schema}.Landing AS e "
        "WHERE e.ConversationId = l.ConversationId AND e.MessageType = N'EndOfStream' "
        "AND e.MessageSequence < l.MessageSequence)"
    )
    story.insists(behind == 0, f"{behind} messages were sent behind EndOfStream")


SCENARIO = Scenario(
    "recycle-race",
    tell,
    mutant="autocommit_send",
    changes={
        "initiator": {"readers": 4},
        "timer": {"after_seconds": 1, "spread_seconds": 0, "retry_seconds": 1},
    },
    differs=(
        "how often the race is met depends on the server's speed: a mutant that is caught "
        "on the virtual clock may need several runs on a fast server",
    ),
)
