"""Whether the T-SQL of a scenario can read the clock; then the time counts for the state.

The clock moves when a wait ends by time or the instance itself tries again, and nothing else in the
state need remember that: two ways can come to states that differ in the time only. Whoever compares
the time with something goes on differently from them, so they must not be taken for one. Without a
reader of the clock they are one, and a procedure that polls for ever still has finitely many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from redial_lab.explore.scenario import Scenario

if TYPE_CHECKING:
    from redial_lab.explore.world import Searchable

CLOCK = re.compile(
    r"\b(sys(utc)?datetime(offset)?|get(utc)?date|current_timestamp)\b|\{\s*fn\s+(cur|now)", re.I
)
"""Functions that say what time it is, those of ODBC ({fn NOW()}) too."""

SYSTEM = frozenset({"master", "model", "msdb", "tempdb"})


def reads_clock(instance: Searchable, scenario: Scenario) -> bool:
    """Whether a module, a default or a batch names such a function, in a comment even."""
    return any(map(_named, (*_batches(scenario), *_definitions(instance))))


def _batches(scenario: Scenario) -> Iterator[str]:
    for client in scenario.clients:
        yield from (*client.batches, client.on_cancel, client.on_error)
    yield from (fault.sql for fault in scenario.all_faults)


def _definitions(instance: Searchable) -> Iterator[str]:
    for name, database in instance.server.databases.items():
        if name.lower() not in SYSTEM:
            for found in database.objects.values():
                yield getattr(found, "text", "") or ""
                yield getattr(found, "definition", "") or ""


@lru_cache(maxsize=4096)
def _named(text: object) -> bool:
    return isinstance(text, str) and CLOCK.search(text) is not None
