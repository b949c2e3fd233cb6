"""Checks that hold for anybody's procedures. Each returns the names of what is violated.

A check's docstring says what it means; a violation's name is what a search reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from redial_lab.explore.world import World

if TYPE_CHECKING:
    from redial_broker.instance.session import Session

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


def held_up(world: World, seconds: float) -> list[tuple[Session, Session]]:
    """Who waits for a lock, and for whom in the end: a session that keeps its locks and lets time pass, or
    waits for a message without a limit. The one who waits has waited, or will, more than so many seconds.

    Who runs, and an application that runs nothing with a transaction open, hold nobody up here. Time
    counts for no state: of two waits that differ in nothing else, one is measured.
    """
    now = world.instance.clock.seconds
    sessions = [session for _, session in sorted(world.instance.sessions.items())]
    found = []
    for session in sessions:
        if session.wait is None or session.wait.kind != "lock":
            continue
        left = seconds - (now - session.wait.since)
        seen, todo = {session.id}, [session]
        while todo:
            for holder in _holders(world, todo.pop()):
                if holder.id not in seen:
                    seen.add(holder.id)
                    todo.append(holder)
                    if _lets_time_pass(world, holder, left):
                        found.append((session, holder))
    return found


def _holders(world: World, session: Session) -> list[Session]:
    """Whom it waits for, where it waits for a lock."""
    if session.wait is None or session.wait.kind != "lock":
        return []
    waits = world.instance.engine.locks.blockers(session.wait.request.transaction)
    return [cast("Session", transaction.owner) for transaction in waits]


def _lets_time_pass(world: World, session: Session, seconds: float) -> bool:
    if session.wait is None or session.wait.kind == "lock":
        return False
    due = world.instance.engine.timers.entries.get(("wait", session))
    return due is None or due - world.instance.clock.seconds > seconds
