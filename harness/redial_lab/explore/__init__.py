"""State search over T-SQL as deployed: every interleaving and fault of a scenario, by rewinds.

It knows an instance and nothing of the procedures it runs: a scenario brings the text, the actors
and the checks.
"""

from __future__ import annotations

from redial_lab.explore.search import Limits, Result, Violation, search, shortest
from redial_lab.explore.world import Client, Scenario, World

__all__ = [
    "Client",
    "Limits",
    "Result",
    "Scenario",
    "Violation",
    "World",
    "search",
    "shortest",
]
