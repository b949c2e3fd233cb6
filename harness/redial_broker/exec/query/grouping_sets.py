"""ROLLUP, CUBE and GROUPING SETS: which groups a GROUP BY clause asks for.

Source: "GROUP BY" page. Items of the clause are multiplied with each other, those of GROUPING SETS
put one after the other; a set that stands there twice gives its groups twice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError

MAX_SETS = 4096
Set = tuple[int, ...]
Number = Callable[[ast.Expression], int]
"""expression -> number of its grouping key."""


def grouping_sets(items: list[Any], number: Number) -> list[Set]:
    """The sets of a GROUP BY clause, as numbers of its keys. Raises 10703 for more than 4096."""
    sets: list[Set] = [()]
    for item in items:
        sets = [_joined(one, two) for one in sets for two in _sets(item, number)]
        if len(sets) > MAX_SETS:
            raise SqlError(10703, MAX_SETS, aborts="scope")
    return sets


def _joined(one: Set, two: Set) -> Set:
    return one + tuple(key for key in two if key not in one)


def _sets(item: Any, number: Number) -> list[Set]:
    if not isinstance(item, ast.GroupingSet):
        return [(number(item),)]
    if item.kind == "TUPLE":
        keys = cast("list[ast.Expression]", item.items)  # a tuple holds nothing else
        return [tuple(dict.fromkeys(number(part) for part in keys))]
    if item.kind == "GROUPING SETS":
        return [found for part in item.items for found in _sets(part, number)]
    parts = [_sets(part, number)[0] for part in item.items]
    if item.kind == "ROLLUP":
        chosen: list[Any] = [parts[:count] for count in range(len(parts), -1, -1)]
    else:
        if len(parts) > 12:
            raise SqlError(10703, MAX_SETS, aborts="scope")
        chosen = [
            some for count in range(len(parts), -1, -1) for some in combinations(parts, count)
        ]
    return [tuple(dict.fromkeys(key for part in some for key in part)) for some in chosen]


def expressions(items: list[Any]) -> list[ast.Expression]:
    """All expressions of a GROUP BY clause, in order."""
    found: list[ast.Expression] = []
    for item in items:
        found += expressions(item.items) if isinstance(item, ast.GroupingSet) else [item]
    return found
