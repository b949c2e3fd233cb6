"""Setups that have every two values of any two of their fields together, where that is allowed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

from pydantic import ValidationError

from redial_lab.explore.faults import OF_THE_SERVER
from redial_lab.proof.setups import ALLOWED, FAULTS, Setup

APART = ("reconnect", "answer_lost", "victim", "disk_full", "time_limit", *OF_THE_SERVER)
"""Faults of which test_fewer_is_total has a setup each: with them every setup here would be another."""
SMALL: dict[str, tuple[Any, ...]] = {
    **ALLOWED,
    "senders": (1, 2),
    "warm": (0, 1),
    "messages": (1, 2),
    "sends": (1, 2),
    "retries": (0, 1),
    "shared": (True, False),
    "readers": (1, 2),
    "target_readers": (0, 1),
    "firings": (0, 1),
    "overdue": (False, True),
    "lifetimes": (0, 1),
    "expiries": (0, 1),
    "retire": (False, True),
    "drain": (False, True),
    "slots": (1, 2),
    "faults": ((), *((name,) for name in FAULTS if name not in APART)),
    "switches": ({}, {"bad_optimizer": True}, {"killed_reader": "relaunched"}),
}
"""Every field of a setup but the mutant's, and small values of each."""

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two (field, value as text)."""


def made(values: dict[str, Any]) -> Setup | None:
    """A setup of these values; None where it is refused."""
    try:
        setup = Setup(**values)
        return setup if setup.config else None
    except (ValueError, ValidationError):
        return None


def pairs_of(values: dict[str, Any]) -> set[Pair]:
    """What two values a setup has together."""
    words = sorted((name, repr(value)) for name, value in values.items())
    return set(combinations(words, 2))


def wanted() -> Iterator[tuple[str, Any, str, Any]]:
    """All pairs, allowed or not."""
    for one, two in combinations(sorted(SMALL), 2):
        for first in SMALL[one]:
            for second in SMALL[two]:
                yield one, first, two, second


@cache
def pairwise() -> tuple[tuple[Setup, ...], int, int]:
    """Setups that cover all pairs that are allowed; how many pairs are covered, and how many are
    refused with everything else at its default. Always the same.
    """
    dice, covered, found, refused = random.Random(17), set[Pair](), list[Setup](), 0
    plain = {name: getattr(Setup(), name) for name in SMALL}
    for one, first, two, second in wanted():
        pair = tuple(sorted(((one, repr(first)), (two, repr(second)))))
        if pair in covered:
            continue
        best = _filled({**plain, one: first, two: second}, {one, two}, dice, covered)
        if best is None:
            refused += 1
            continue
        covered |= pairs_of(best)
        found.append(Setup(**best))
    return tuple(found), len(covered), refused


def _filled(
    values: dict[str, Any], kept: set[str], dice: random.Random, covered: set[Pair]
) -> dict[str, Any] | None:
    """The same with as many other fields changed as are allowed, so that more is covered."""
    if made(values) is None:
        return None
    names = sorted(set(values) - kept)
    dice.shuffle(names)
    for name in names[:8]:
        changed = {**values, name: dice.choice(SMALL[name])}
        if made(changed) is not None and len(pairs_of(changed) - covered) > len(
            pairs_of(values) - covered
        ):
            values = changed
    return values
