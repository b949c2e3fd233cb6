"""Aggregate functions: result types and how a group's values become one.

Source: "Aggregate functions" pages. NULL values do not take part; COUNT(*) counts rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, FLOAT, INT, MAX, SqlType, decimal_type, sql_type
from redial_broker.exec.conversion.numbers import BOUNDS
from redial_broker.exec.conversion.rules import INCOMPARABLE, group, shown_name
from redial_broker.exec.expressions import compile_expression, key_of
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions import AGGREGATES
from redial_broker.exec.query.metered import PIECE, in_order, made
from redial_broker.exec.query.names import walk_here
from redial_broker.exec.query.statistics import STATISTICS, checksum, statistic

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState

SUPPORTED = STATISTICS | {
    "COUNT",
    "COUNT_BIG",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "STRING_AGG",
    "CHECKSUM_AGG",
    "APPROX_COUNT_DISTINCT",
}
_WITHOUT_OVER = frozenset({"STRING_AGG", "APPROX_COUNT_DISTINCT"})


@dataclass(slots=True)
class Aggregate:
    """A compiled aggregate. compute(session, variables, rows) -> value, over the rows of one group.

    running() -> (add(session, variables, row), value()) counts on from row to row; None where
    that is no gain.
    """

    compute: Callable[[SessionState, Values, list[RowValues]], Any]
    type: SqlType
    nullable: bool = True
    collation: Collation | None = None
    running: Callable[[], tuple[Callable[..., Any], Callable[..., Any]]] | None = None
    dropped: list[int] = field(default_factory=list)
    """Not empty when ``compute`` has left out a NULL."""


def is_windowed_aggregate(name: str) -> bool:
    """Whether an aggregate may have an OVER clause."""
    return name in SUPPORTED - _WITHOUT_OVER


def is_aggregate(node: ast.Node) -> bool:
    """True for a call of an aggregate function that is not a window function."""
    return (
        isinstance(node, ast.FunctionCall)
        and node.over is None
        and len(node.name.parts) == 1
        and node.name.name.upper() in AGGREGATES
    )


def has_aggregate(node: ast.Node | None) -> bool:
    """True when an aggregate stands in the expression, subqueries not counted."""
    return node is not None and ast.noted(node, _has_aggregate)


def _has_aggregate(node: ast.Node) -> bool:
    return any(is_aggregate(part) for part in walk_here(node))


def has_window(node: ast.Node) -> bool:
    """For ``ast.noted``: whether a function with OVER stands in it, subqueries not counted."""
    return any(
        isinstance(part, ast.FunctionCall) and part.over is not None for part in walk_here(node)
    )


def refuse_incomparable(of: SqlType) -> None:
    """305 and 306: what can neither be sorted by nor grouped by."""
    if of.name == "xml":
        raise SqlError(305, aborts="scope")
    if of.name in INCOMPARABLE:
        raise SqlError(306, state=2, aborts="scope")


def comparison_key(of: SqlType, collation: Collation | None) -> Callable[[Any], Any]:
    """The function that makes values of a type comparable; NULL stands first."""
    key = collation.key if collation is not None and of.is_string else key_of(of)
    if key is None:
        return lambda value: (0,) if value is None else (1, value)
    return lambda value: (0,) if value is None else (1, key(value))


def compile_aggregate(node: ast.FunctionCall, scope: Scope) -> Aggregate:
    """Compile a call over rows of ``scope``. Raises 8117 and kin for wrong types."""
    name = node.name.name.upper()
    if name not in SUPPORTED:
        raise scope.refuse(f"aggregate {name}", node)
    if name == "STRING_AGG":
        return _string_agg(node, scope)
    if len(node.arguments) != 1:
        raise SqlError(174, node.name.name, 1, aborts="scope")
    argument = node.arguments[0]
    if isinstance(argument, ast.Star):
        if name not in {"COUNT", "COUNT_BIG"}:
            raise SqlError(102, "*", severity=15, aborts="scope")
        return Aggregate(
            lambda session, variables, rows: len(rows),
            _count_type(name),
            False,
            running=_counter(lambda session, variables, row: 1),
        )
    # Over a window the argument may be an aggregate of the group: SUM(SUM(x)) OVER ().
    nested = node.over is None and has_aggregate(argument)
    if nested or any(isinstance(part, ast.Query) for part in argument.walk()):
        raise SqlError(130, aborts="scope")
    operand = compile_expression(argument, scope)
    _refuse_uncountable(name, operand.type, node.distinct)
    dropped: list[int] = []
    values = _values(operand, node.distinct or name == "APPROX_COUNT_DISTINCT", dropped)
    made = _made(name, operand, values)
    made.dropped = dropped
    return made


def _made(name: str, operand: Expr, values: Callable[..., Any]) -> Aggregate:
    """What becomes of the values that are no NULL."""
    if name in {"COUNT", "COUNT_BIG", "APPROX_COUNT_DISTINCT"}:
        return Aggregate(
            lambda session, variables, rows: len(values(session, variables, rows)),
            _count_type(name),
            False,
            running=_counter(operand.fn),
        )
    if name in STATISTICS or name == "CHECKSUM_AGG":
        one = checksum(operand) if name == "CHECKSUM_AGG" else statistic(name, operand)
        return Aggregate(
            lambda session, variables, rows: one(values(session, variables, rows)),
            INT if name == "CHECKSUM_AGG" else FLOAT,
        )
    if name in {"MIN", "MAX"}:
        return _extreme(name, operand, values)
    return _sum(name, operand, values)


def _refuse_uncountable(name: str, of: SqlType, distinct: bool) -> None:
    """8117: COUNT takes no text, ntext or image, and no xml where it must compare."""
    counts = name in {"COUNT", "COUNT_BIG", "APPROX_COUNT_DISTINCT"}
    unlike = distinct or name == "APPROX_COUNT_DISTINCT"
    if of.name in INCOMPARABLE and counts and (unlike or of.name != "xml"):
        raise SqlError(8117, shown_name(of), name.lower(), state=2 if unlike else 1, aborts="scope")


def _counter(fn: Fn) -> Callable[[], tuple[Callable[..., Any], Callable[..., Any]]]:
    def begin() -> tuple[Callable[..., Any], Callable[..., Any]]:
        count = 0

        def add(session: SessionState, variables: Values, row: RowValues) -> None:
            nonlocal count
            count += fn(session, variables, row) is not None

        return add, lambda: count

    return begin


def _count_type(name: str) -> SqlType:
    return INT if name == "COUNT" else BIGINT


def _values(
    operand: Expr, distinct: bool, dropped: list[int]
) -> Callable[[SessionState, Values, list[RowValues]], list[Any]]:
    """The values of rows without NULL, each once if ``distinct``; what is dropped is counted."""
    fn = operand.fn
    if not distinct:

        def every(session: SessionState, variables: Values, rows: list[RowValues]) -> list[Any]:
            if len(rows) <= PIECE:
                found = [x for row in rows if (x := fn(session, variables, row)) is not None]
            else:
                found = [x for x in made(session, variables, rows, fn) if x is not None]
            if len(found) < len(rows):
                dropped.append(len(rows) - len(found))
            return found

        return every
    key = comparison_key(operand.type, operand.collation)

    def run(session: SessionState, variables: Values, rows: list[RowValues]) -> list[Any]:
        found: dict[Any, Any] = {}
        for at in range(0, len(rows), PIECE):
            for row in rows[at : at + PIECE]:
                value = fn(session, variables, row)
                if value is not None:
                    found.setdefault(key(value), value)
                elif not dropped:
                    dropped.append(1)
            if at:
                session.engine.meter.tick(PIECE)
        return list(found.values())

    return run


def _extreme(name: str, operand: Expr, values: Callable[..., Any]) -> Aggregate:
    of = operand.type
    if of.name == "bit" or of.name in INCOMPARABLE:
        raise SqlError(8117, shown_name(of), name.lower(), aborts="scope")
    key = comparison_key(of, operand.collation)
    pick = min if name == "MIN" else max

    def run(session: SessionState, variables: Values, rows: list[RowValues]) -> Any:
        found = values(session, variables, rows)
        return pick(found, key=key) if found else None

    return Aggregate(run, of, True, operand.collation)


def _sum(name: str, operand: Expr, values: Callable[..., Any]) -> Aggregate:
    of = operand.type
    kind = group(of)
    if kind not in {"int", "exact", "money", "float"} or of.name == "bit":
        raise SqlError(8117, shown_name(of), name.lower(), aborts="scope")
    result, divide = _result(name, of, kind)
    low, high = BOUNDS.get(result.name, (None, None))
    limit = Decimal(10) ** (result.precision - result.scale) if kind == "exact" else None
    zero: Any = Decimal(0) if kind in {"exact", "money"} else 0

    def run(session: SessionState, variables: Values, rows: list[RowValues]) -> Any:
        found = values(session, variables, rows)
        if not found:
            return None
        return finish(sum(found, zero), len(found))

    def finish(total: Any, count: int) -> Any:
        if low is not None and not low <= total <= high:
            raise SqlError(8115, "expression", result.name)
        if limit is not None and abs(total) >= limit:
            raise SqlError(8115, "expression", "numeric")
        return divide(total, count) if name == "AVG" else total

    def begin() -> tuple[Callable[..., Any], Callable[..., Any]]:
        total, count = zero, 0

        def add(session: SessionState, variables: Values, row: RowValues) -> None:
            nonlocal total, count
            value = operand.fn(session, variables, row)
            if value is not None:
                total, count = total + value, count + 1

        return add, lambda: finish(total, count) if count else None

    return Aggregate(run, result, running=begin)


def _result(name: str, of: SqlType, kind: str) -> tuple[SqlType, Callable[[Any, int], Any]]:
    if kind == "int":
        return (BIGINT if of.name == "bigint" else INT), _divide_whole
    if kind == "float":
        return FLOAT, lambda total, n: total / n
    if kind == "money":
        return sql_type("money"), lambda total, n: _cut(total / n, 4)
    scale = of.scale if name == "SUM" else max(of.scale, 6)
    return decimal_type(38, scale, of.name), lambda total, n: _cut(total / n, scale)


def _divide_whole(total: int, n: int) -> int:
    return total // n if total >= 0 else -(-total // n)


def _cut(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_DOWN)


def _string_agg(node: ast.FunctionCall, scope: Scope) -> Aggregate:
    if len(node.arguments) != 2:
        raise SqlError(174, node.name.name, 2, aborts="scope")
    operand = compile_expression(node.arguments[0], scope)
    separator = compile_expression(node.arguments[1], scope)
    if not separator.untyped and not separator.type.is_string:
        raise SqlError(8116, shown_name(separator.type), 2, "string_agg", aborts="scope")
    of = operand.type
    if of.length == MAX and of.is_string:
        result = of
    else:
        name = "varchar" if of.name in {"varchar", "char"} else "nvarchar"
        result = sql_type(name, 8000 if name == "varchar" else 4000)
    text = converted(operand, sql_type(result.name, MAX)).fn
    order = [
        (compile_expression(item.value, scope), item.descending) for item in node.within_group or []
    ]
    limit = None if result.length == MAX else result.length

    def run(session: SessionState, variables: Values, rows: list[RowValues]) -> Any:
        rows = sort_rows(rows, order, session, variables)
        parts = [x for x in made(session, variables, rows, text) if x is not None]
        if not parts:
            return None
        session.engine.meter.text(sum(map(len, parts)))
        joined = (separator.fn(session, variables, rows[0]) or "").join(parts)
        if limit is not None and len(joined) > limit:
            raise SqlError(9829)
        return joined

    return Aggregate(run, result, True, operand.collation)


def sort_rows(
    rows: list[RowValues], order: list[tuple[Expr, bool]], session: SessionState, variables: Values
) -> list[RowValues]:
    """Rows in the order of (expression, descending) pairs; NULLs first, last when descending."""
    for expr, descending in reversed(order):
        key, fn = comparison_key(expr.type, expr.collation), expr.fn
        made = _row_key(key, fn, session, variables)
        rows = in_order(session, rows, made, descending=descending)
    return rows


def _row_key(
    key: Callable[[Any], Any], fn: Fn, session: SessionState, variables: Values
) -> Callable[[RowValues], Any]:
    return lambda row: key(fn(session, variables, row))
