"""Pool contention: three times as many callers as the pool has slots, some of them in no hurry.

A slot is taken by its row lock, so a commit gives it back and a killed caller cannot keep it. Who
finds none free waits; who has waited long enough gets an error of its own (50101) and nothing else.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story
from redial_lab.scenarios.total_queue import Expected

SLOTS, CALLERS, ROUNDS = 4, 12, 3


def tell(story: Story) -> None:
    """All slots are held; the others wait, some in vain; one holder is killed, and all goes on."""
    senders = [story.sender() for _ in range(CALLERS)]
    for _ in range(ROUNDS):
        story.together(senders, 5, in_transaction=5)
        story.together(senders, 5)
    holders, others = senders[:SLOTS], senders[SLOTS:]
    story.say(f"{SLOTS} callers hold every slot in transactions; the others wait in vain")
    for sender in holders:
        sender.begins()
        story.together([sender], 1)
    before = len(story.ledger.errors)
    story.together(others, 1)
    refused = story.ledger.errors[before:]
    story.insists(len(refused) == len(others), f"{len(refused)} of {len(others)} were refused")
    story.say("one holder is killed, the others commit: every slot is free again")
    story.kill(holders[0].client.session)
    story.together(holders[:1], 1)
    for sender in holders[1:]:
        sender.commits()
    story.together(senders, 5)
    slots = story.count("SessionConversations")
    story.insists(slots == SLOTS, f"the pool has {slots} slots instead of {SLOTS}")


SCENARIO = Scenario(
    "pool-contention",
    tell,
    mutant="slot_waited_for_ever",
    changes={
        "conversation": {"key": "pool"},
        "pool": {"size": SLOTS, "wait_ms": 3000},
        "timer": {"after_seconds": 6, "spread_seconds": 4, "retry_seconds": 1},
    },
    expected=Expected(errors=frozenset({50101}), kills=True),
)
