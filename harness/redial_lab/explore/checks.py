"""Checks that hold for anybody's procedures. Each returns the names of what is violated.

A check's docstring says what it means; a violation's name is what a search reports.
"""

from __future__ import annotations

from collections.abc import Callable

from redial_lab.explore.world import World

Check = Callable[[World], list[str]]
DEADLOCK = 1205


def all_of(*checks: Check) -> Check:
    """All checks as one."""
    return lambda world: [name for check in checks for name in check(world)]


def no_deadlock(world: World) -> list[str]:
    """No deadlock has happened, whoever was the victim."""
    return ["deadlock"] if world.instance.engine.locks.deadlocks else []


def nothing_left_behind(world: World) -> list[str]:
    """No lock and no open transaction once everything has come to rest."""
    problems = []
    if world.instance.engine.locks.resources:
        problems.append("lock left behind")
    if any(s.transaction is not None for s in world.instance.sessions.values()):
        problems.append("transaction left open")
    return problems
