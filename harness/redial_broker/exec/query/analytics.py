"""Ranking and analytic functions: what they make of the ordered rows of a partition.

Sources: pages of RANK, NTILE, LAG, FIRST_VALUE, CUME_DIST, PERCENT_RANK, PERCENTILE_CONT and kin.
"""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, FLOAT, SqlType
from redial_broker.exec.conversion.rules import group, shown_name
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.frames import compile_frame

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values, Windowed
    from redial_broker.exec.session import SessionState

RANKS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE"})
DISTRIBUTIONS = frozenset({"PERCENT_RANK", "CUME_DIST"})
OFFSETS = frozenset({"LAG", "LEAD"})
ENDS = frozenset({"FIRST_VALUE", "LAST_VALUE"})
PERCENTILES = frozenset({"PERCENTILE_CONT", "PERCENTILE_DISC"})
ANALYTIC = RANKS | DISTRIBUTIONS | OFFSETS | ENDS | PERCENTILES


def compile_analytic(node: ast.FunctionCall, scope: Scope) -> tuple[Windowed, SqlType, bool]:
    """(values, type, nullable) of a function that only exists with OVER. Raises 4112, 10752."""
    name, over = node.name.name.upper(), node.over
    if name in PERCENTILES:
        return _percentile(name, node, scope)
    assert over is not None
    if not over.order:
        raise SqlError(4112, node.name.name, aborts="scope")
    if node.within_group is not None:
        raise SqlError(10757, node.name.name, aborts="scope")
    if name in ENDS:
        return _end(name, node, scope)
    if over.frame is not None:
        raise SqlError(10752, node.name.name, aborts="scope")
    if name in OFFSETS:
        return _neighbour(name, node, scope)
    if name == "NTILE":
        return _tiles(node, scope), BIGINT, False
    if node.arguments:
        raise SqlError(174, node.name.name, 0, aborts="scope")
    ranked: dict[str, Windowed] = {
        "ROW_NUMBER": lambda session, variables, rows, keys: list(range(1, len(rows) + 1)),
        "RANK": lambda session, variables, rows, keys: _ranks(keys),
        "DENSE_RANK": lambda session, variables, rows, keys: _dense(keys),
        "PERCENT_RANK": _percent_ranks,
        "CUME_DIST": _cumulative,
    }
    return ranked[name], FLOAT if name in DISTRIBUTIONS else BIGINT, False


def _ranks(keys: list[Any]) -> list[int]:
    ranks: list[int] = []
    for number, key in enumerate(keys):
        same = number and key == keys[number - 1]
        ranks.append(ranks[-1] if same else number + 1)
    return ranks


def _dense(keys: list[Any]) -> list[int]:
    ranks: list[int] = []
    for number, key in enumerate(keys):
        before = ranks[-1] if ranks else 0
        ranks.append(before if number and key == keys[number - 1] else before + 1)
    return ranks


def _percent_ranks(
    session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
) -> list[float]:
    """(rank - 1) / (rows - 1); 0 for the only row."""
    last = len(keys) - 1
    return [(rank - 1) / last if last else 0.0 for rank in _ranks(keys)]


def _cumulative(
    session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
) -> list[float]:
    """Rows at or before the row in the order, by all rows."""
    found: list[float] = []
    for number in range(len(keys), 0, -1):
        same = number < len(keys) and keys[number - 1] == keys[number]
        found.append(found[-1] if same else number / len(keys))
    return found[::-1]


def _tiles(node: ast.FunctionCall, scope: Scope) -> Windowed:
    """NTILE: groups as equal as can be, the greater ones first. Raises 4195, 4199."""
    if len(node.arguments) != 1:
        raise SqlError(174, node.name.name, 1, aborts="scope")
    for part in node.arguments[0].walk():
        if isinstance(part, ast.ColumnRef):
            raise SqlError(4195, part.parts[-1], aborts="scope")
    count = converted(compile_expression(node.arguments[0], scope), BIGINT).fn

    def run(
        session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
    ) -> list[int]:
        groups = count(session, variables, rows[0])
        if groups is None or groups <= 0:
            raise SqlError(4199, groups or 0, 1, "ntile")
        least, greater = divmod(len(rows), groups)
        found: list[int] = []
        for number in range(1, min(groups, len(rows)) + 1):
            found += [number] * (least + (number <= greater))
        return found

    return run


def _neighbour(name: str, node: ast.FunctionCall, scope: Scope) -> tuple[Windowed, SqlType, bool]:
    """LAG and LEAD(value, offset, default); 8730 for a negative offset."""
    if not 1 <= len(node.arguments) <= 3:
        raise SqlError(10755, node.name.name, 1, 3, aborts="scope")
    value = compile_expression(node.arguments[0], scope)
    step = compile_expression(node.arguments[1], scope) if len(node.arguments) > 1 else None
    steps = None if step is None else converted(step, BIGINT).fn
    other = None
    if len(node.arguments) > 2:
        other = converted(compile_expression(node.arguments[2], scope), value.type).fn
    sign, skip = (-1 if name == "LAG" else 1), node.nulls == "IGNORE"

    def run(
        session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
    ) -> list[Any]:
        values = [value.fn(session, variables, row) for row in rows]
        found = []
        for number, row in enumerate(rows):
            distance = 1 if steps is None else steps(session, variables, row)
            if distance is not None and distance < 0:
                raise SqlError(8730)
            at = None if distance is None else _away(values, number, sign, distance, skip)
            if at is not None:
                found.append(values[at])
            else:
                found.append(None if other is None else other(session, variables, row))
        return found

    return run, value.type, True


def _away(values: list[Any], number: int, sign: int, distance: int, skip: bool) -> int | None:
    """The place so many rows away, None outside. skip: from a NULL there on to the next value
    farther away (the examples of the LAG and LEAD pages).
    """
    at = number + sign * distance
    while 0 <= at < len(values):
        if not skip or values[at] is not None:
            return at
        at += sign
    return None


def _end(name: str, node: ast.FunctionCall, scope: Scope) -> tuple[Windowed, SqlType, bool]:
    """FIRST_VALUE and LAST_VALUE over the frame."""
    if len(node.arguments) != 1:
        raise SqlError(174, node.name.name, 1, aborts="scope")
    value = compile_expression(node.arguments[0], scope)
    assert node.over is not None
    spans = compile_frame(node.over)
    first, skip = name == "FIRST_VALUE", node.nulls == "IGNORE"

    def run(
        session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
    ) -> list[Any]:
        values = [value.fn(session, variables, row) for row in rows]
        found = []
        for start, stop in spans(keys):
            frame = values[start:stop]
            if skip:
                frame = [x for x in frame if x is not None]
            found.append(None if not frame else frame[0] if first else frame[-1])
        return found

    return run, value.type, True


def _percentile(name: str, node: ast.FunctionCall, scope: Scope) -> tuple[Windowed, SqlType, bool]:
    """PERCENTILE_CONT interpolates, PERCENTILE_DISC takes a value; NULLs do not count."""
    if node.within_group is None:
        raise SqlError(10754, node.name.name, aborts="scope")
    if len(node.within_group) != 1:
        raise SqlError(10751, node.name.name, aborts="scope")
    assert node.over is not None
    if node.over.order:
        raise SqlError(10758, node.name.name, aborts="scope")
    if node.over.frame is not None:
        raise SqlError(10752, node.name.name, aborts="scope")
    if len(node.arguments) != 1:
        raise SqlError(174, node.name.name, 1, aborts="scope")
    share = node.arguments[0]
    written = share.value if isinstance(share, ast.Literal) else None
    if not isinstance(written, (int, float, Decimal)) or not 0 <= written <= 1:
        raise scope.refuse(f"{name} of anything but a constant from 0 to 1", node)
    part = float(written)
    value = compile_expression(node.within_group[0].value, scope)
    continuous = name == "PERCENTILE_CONT"
    if continuous and group(value.type) not in {"int", "exact", "money", "float"}:
        raise SqlError(8117, shown_name(value.type), name.lower(), aborts="scope")
    pick = _interpolated if continuous else _discrete

    def run(
        session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
    ) -> list[Any]:
        values = [x for row in rows if (x := value.fn(session, variables, row)) is not None]
        return [pick(values, part) if values else None] * len(rows)

    return run, FLOAT if continuous else value.type, True


def _interpolated(values: list[Any], part: float) -> float:
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return float(values[low]) + (place - low) * (float(values[high]) - float(values[low]))


def _discrete(values: list[Any], part: float) -> Any:
    """The first value whose cumulative distribution is not below the percentile."""
    return values[max(ceil(round(part * len(values), 9)) - 1, 0)]
