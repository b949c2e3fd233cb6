"""STDEV, STDEVP, VAR, VARP, CHECKSUM_AGG and APPROX_COUNT_DISTINCT.

Sources: their pages. The statistics are float; those of a sample are NULL for one value.
CHECKSUM_AGG: F-210. APPROX_COUNT_DISTINCT promises at most 2 % of error; here there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import fsum, sqrt
from operator import xor
from typing import Any

from redial_broker.engine.errors import SqlError
from redial_broker.exec.conversion.rules import group, shown_name
from redial_broker.exec.expressions.expr import Expr

STATISTICS = frozenset({"STDEV", "STDEVP", "VAR", "VARP"})


def statistic(name: str, operand: Expr) -> Callable[[list[Any]], float | None]:
    """The function of a group's values. Raises 8117 for what is no number."""
    of = operand.type
    if group(of) not in {"int", "exact", "money", "float"} or of.name == "bit":
        raise SqlError(8117, shown_name(of), name.lower(), aborts="scope")
    population, rooted = name.endswith("P"), name.startswith("STDEV")

    def compute(values: list[Any]) -> float | None:
        count = len(values) - (not population)
        if count <= 0:
            return None
        numbers = [float(value) for value in values]
        mean = fsum(numbers) / len(numbers)
        variance = fsum((number - mean) ** 2 for number in numbers) / count
        return sqrt(variance) if rooted else variance

    return compute


def checksum(operand: Expr) -> Callable[[list[Any]], int | None]:
    """CHECKSUM_AGG: the integers joined by exclusive or (F-210); 8117 for other types."""
    if group(operand.type) != "int" or operand.type.name == "bigint":
        raise SqlError(8117, shown_name(operand.type), "checksum_agg", aborts="scope")
    return lambda values: reduce(xor, values) if values else None
