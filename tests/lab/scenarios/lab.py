"""A scenario on the embedded broker's virtual clock, with ours or a mutant's procedures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from redial_lab.scenarios.all import SCENARIOS
from redial_lab.scenarios.story import Story, told
from redial_lab.scenarios.total_queue import TotalQueue
from redial_lab.virtual import VirtualPort


def verdict(
    name: str, mutant: str | None = None, tell: Callable[[Story], None] | None = None
) -> TotalQueue:
    """How the story ends; tell: a shorter way to tell it."""
    scenario = SCENARIOS[name]
    return told(replace(scenario, tell=tell or scenario.tell), VirtualPort(), mutant)


def caught(name: str, tell: Callable[[Story], None] | None = None) -> TotalQueue:
    """How it ends with its mutant: not clean."""
    found = verdict(name, SCENARIOS[name].mutant, tell)
    assert not found.clean
    return found


def clean(name: str, tell: Callable[[Story], None] | None = None) -> TotalQueue:
    """How it ends with ours: clean, and everything acknowledged has landed or is accounted for."""
    found = verdict(name, tell=tell)
    assert found.problems == []
    assert found.acknowledged <= found.landed + found.dead_lettered
    assert found.recycled == found.dialogs > 0
    return found
