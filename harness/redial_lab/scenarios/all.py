"""Every scenario by its name."""

from __future__ import annotations

from redial_lab.scenarios import (
    day,
    deadlock_storm,
    hot_keys,
    leak_and_clean_up,
    long_transactions,
    poison,
    pool_contention,
    reader_crash_loop,
    recycle_race,
    resend_under_load,
    target_down,
)
from redial_lab.scenarios.story import Scenario

STORIES = (
    deadlock_storm,
    recycle_race,
    resend_under_load,
    poison,
    leak_and_clean_up,
    target_down,
    day,
    pool_contention,
    long_transactions,
    reader_crash_loop,
    hot_keys,
)

SCENARIOS: dict[str, Scenario] = {story.SCENARIO.name: story.SCENARIO for story in STORIES}


def summary(name: str) -> str:
    """A scenario in one sentence: the first line of its file."""
    story = next(story for story in STORIES if story.SCENARIO.name == name)
    return (story.__doc__ or "").partition("\n")[0]
