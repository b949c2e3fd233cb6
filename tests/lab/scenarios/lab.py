"""A scenario on the embedded broker's virtual clock, with ours or a mutant's procedures."""

from __future__ import annotations

from redial_lab.scenarios.all import SCENARIOS
from redial_lab.scenarios.story import told
from redial_lab.scenarios.total_queue import TotalQueue
from redial_lab.virtual import VirtualPort


def verdict(name: str, mutant: str | None = None) -> TotalQueue:
    """How the story ends."""
    return told(SCENARIOS[name], VirtualPort(), mutant)


def caught(name: str) -> TotalQueue:
    """How it ends with its mutant: not clean."""
    found = verdict(name, SCENARIOS[name].mutant)
    assert not found.clean
    return found


def clean(name: str) -> TotalQueue:
    """How it ends with ours: clean, and everything acknowledged has landed or is accounted for."""
    found = verdict(name)
    assert found.problems == []
    assert found.acknowledged <= found.landed + found.dead_lettered
    assert found.recycled == found.dialogs > 0
    return found
