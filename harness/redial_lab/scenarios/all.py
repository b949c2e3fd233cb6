"""Every scenario by its name: the modules beside this one that have a SCENARIO."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from redial_lab import scenarios
from redial_lab.scenarios.story import Scenario

_MODULES = [
    import_module(f"{scenarios.__name__}.{found.name}")
    for found in iter_modules(scenarios.__path__)
    if found.name != "all"
]
STORIES = tuple(module for module in _MODULES if hasattr(module, "SCENARIO"))

SCENARIOS: dict[str, Scenario] = {story.SCENARIO.name: story.SCENARIO for story in STORIES}


def summary(name: str) -> str:
    """A scenario in one sentence: the first line of its file."""
    story = next(story for story in STORIES if story.SCENARIO.name == name)
    return (story.__doc__ or "").partition("\n")[0]
