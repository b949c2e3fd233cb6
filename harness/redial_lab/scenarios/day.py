"""Day: 24 hours at 200 messages a second, with three spikes of 3,000 a second for ten minutes.

The rates are divided by the story's scale; the hours are not. Dialogs are replaced every hour, and
at the end of the day not one message may be missing and not one dialog left.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, HOURS, MINUTES = 6, 24, 10
STEADY, SPIKE = 200, 3000
"""Messages a second."""
AT_ONCE = 2000
"""Messages of one burst of a caller."""
SPIKES = (9, 13, 20)
"""Hours whose first ten minutes are a spike."""


def tell(story: Story) -> None:
    """Ten minutes after ten minutes."""
    senders = [story.sender() for _ in range(CALLERS)]
    owed = 0.0
    for hour in range(HOURS):
        for ten in range(60 // MINUTES):
            rate = SPIKE if hour in SPIKES and ten == 0 else STEADY
            owed += rate * MINUTES * 60 / story.scale / CALLERS
            while owed >= 1:
                count = min(int(owed), AT_ONCE)
                owed -= count
                story.together(senders, count, in_transaction=ten % 3 * 2)
            story.wait(MINUTES * 60)
        story.closes_the_books()
        story.say(f"hour {hour + 1}: {sum(story.booked.values()):,} messages so far")
    dialogs = story.count("ConversationLog")
    story.insists(dialogs >= CALLERS * HOURS // 2, f"only {dialogs} dialogs in a day")


SCENARIO = Scenario(
    "day",
    tell,
    mutant="minutes_for_seconds",
    scale=20_000,
    differs=(
        "a server takes the whole day",
        "the scale is 1:20,000; invoke bench --what spikes plays the full rates",
    ),
)
