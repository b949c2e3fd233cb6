"""One scenario under every value of every switch of the engine it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from redial_broker.engine.switches import SWITCHES
from redial_lab.explore.scenario import Scenario
from redial_lab.explore.search import Limits, Result, search


class Variant(NamedTuple):
    """A search under other values."""

    name: str
    value: Any  # each switch has a type of its own
    """name, value: of the switch changed; '' for the first search."""
    result: Result
    scenario: Scenario


def vary(
    scenario: Scenario, limits: Limits | None = None, leave_out: frozenset[str] = frozenset()
) -> Iterator[Variant]:
    """Search a scenario as it is, then with each other value of each switch that was asked for.

    One switch differs at a time. What is asked for under another value and not before is varied
    too. leave_out: switches that stay. A switch the scenario sets stays as well.
    """
    read: set[str] = set()
    yield Variant("", None, search(scenario, limits, read), scenario)
    done = set(leave_out) | set(scenario.switches)
    while waiting := sorted(read - done):
        name = waiting[0]
        done.add(name)
        for value in SWITCHES[name].values[1:]:
            other = replace(
                scenario,
                name=f"{scenario.name}, {name} = {value}",
                switches={**scenario.switches, name: value},
            )
            yield Variant(name, value, search(other, limits, read), other)
