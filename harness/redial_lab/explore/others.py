"""What others may see or do between two statements of a session, by the scenario's texts and faults.

A fault counts also when its budget is spent: a step is one thing, whatever has struck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.kernel import Alone
from redial_lab.explore.counted import STEPS

if TYPE_CHECKING:
    from redial_broker.instance.session import Session
    from redial_lab.explore.world import World


class Others(Alone):
    """Of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.each_statement = world.scenario.each_statement or STEPS in world.texts.counted

    def time_may_pass(self, session: Session) -> bool:
        """Whether by a fault it may pass between two of the session's statements."""
        return any(fault.lets_time_pass(self.world, session) for fault in self.world.faults)
