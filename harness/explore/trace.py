"""A violation as numbered steps, with what everyone holds and waits for."""

from __future__ import annotations

from harness.explore.search import Violation
from harness.explore.world import Scenario, World


def replay(scenario: Scenario, violation: Violation) -> list[str]:
    """Play a violation's steps again on a fresh world; one numbered line per step, then locks.

    The same scenario gives the same ids, so the replay is exact.
    """
    world = World(scenario)
    lines: list[str] = []
    for number, step in enumerate(violation.path, 1):
        lines.append(f"{number:3}. {world.describe(step)}")
        before = {s.id: s.wait for s in world.instance.sessions.values()}
        world.take(step)
        for session in world.instance.sessions.values():
            if session.wait is not None and before.get(session.id) is None:
                lines.append(f"      {world.name_of(session)} waits; it holds "
                             f"{world.locks_of(session)}")
    for sink, client in zip(world.sinks, scenario.clients):
        lines += [f"     {client.name} gets {e.number}: {e.text}" for e in sink.errors]
    lines.append(f"  => {violation.name}")
    return lines
