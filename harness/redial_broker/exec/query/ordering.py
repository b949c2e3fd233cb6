"""DISTINCT, ORDER BY, TOP, OFFSET and FETCH.

Source: "SELECT - ORDER BY clause" and "TOP" pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, FLOAT
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.aggregates import comparison_key
from redial_broker.exec.query.rowset import QueryColumn

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Limit, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

Key = Callable[[Any], Any]


@dataclass(slots=True)
class SortKey:
    """One item of ORDER BY: an output column (output >= 0) or an expression over the source row."""

    key: Key
    descending: bool
    output: int = -1
    fn: Fn | None = None


def row_count(node: ast.Expression, scope: Scope, number: int = 1060, least: int = 0) -> Fn:
    """The closure of a count of rows. Raises ``number`` for NULL or less than ``least`` of them."""
    expr = converted(compile_expression(node, scope), BIGINT)
    if expr.constant and isinstance(expr.value, int) and expr.value >= least:
        return expr.fn
    inner = expr.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> int:
        count = inner(session, variables, row)
        if count is None or count < least:
            raise SqlError(number)
        wanted: int = count
        return wanted

    return run


def row_limit(top: ast.Top, scope: Scope) -> Limit:
    """TOP as a function of the number of rows; a percentage is rounded up (TOP page).

    Raises 1031 at run time for a percentage outside 0 to 100.
    """
    if not top.percent:
        count = row_count(top.count, scope)
        return lambda session, variables, row, rows: count(session, variables, row)
    share = converted(compile_expression(top.count, scope), FLOAT).fn

    def run(session: SessionState, variables: Values, row: RowValues, rows: int) -> int:
        percent = share(session, variables, row)
        if percent is None or not 0 <= percent <= 100:
            raise SqlError(1031)
        return ceil(Decimal(rows) * Decimal(str(percent)) / 100)

    return run


def sort_keys(
    items: list[ast.OrderItem],
    columns: list[QueryColumn],
    scope: Scope | None,
    match: Callable[[ast.Expression], int],
    context: Context,
) -> list[SortKey]:
    """Compile ORDER BY. match: number of the output column an expression means, -1 for none.

    scope: of the source rows, None where only output columns may be named (set operations). Raises
    108 for an ordinal out of range, 104 for other expressions over a set operation.
    """
    keys = []
    for item in items:
        node = item.value
        output = match(node)
        if isinstance(node, ast.Literal) and node.kind == "int" and isinstance(node.value, int):
            if not 1 <= node.value <= len(columns):
                raise context.fail(node, SqlError(108, node.value, aborts="scope"))
            output = node.value - 1
        if output >= 0:
            column = columns[output]
            keys.append(
                SortKey(comparison_key(column.type, column.collation), item.descending, output)
            )
            continue
        if scope is None:
            raise context.fail(node, SqlError(104, aborts="scope"))
        if isinstance(node, ast.Literal):
            raise context.fail(node, SqlError(408, len(keys) + 1, aborts="scope"))
        expr = compile_expression(node, scope)
        keys.append(SortKey(comparison_key(expr.type, expr.collation), item.descending, fn=expr.fn))
    return keys


def sort_pairs(
    pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]],
    keys: list[SortKey],
    session: SessionState,
    variables: Values,
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """(source row, output row) pairs in order; equal ones keep their order."""
    for sort in reversed(keys):
        pairs = sorted(pairs, key=_pair_key(sort, session, variables), reverse=sort.descending)
    return pairs


def _pair_key(
    sort: SortKey, session: SessionState, variables: Values
) -> Callable[[RowValues], Any]:
    key, output, fn = sort.key, sort.output, sort.fn
    if fn is None:
        return lambda pair: key(pair[1][output])
    return lambda pair: key(fn(session, variables, pair[0]))


def with_ties(
    pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]],
    keys: list[SortKey],
    count: int,
    session: SessionState,
    variables: Values,
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The first rows, and those equal in the order to the last of them."""
    if count <= 0 or count >= len(pairs):
        return pairs[: max(count, 0)]
    keyed = [_pair_key(sort, session, variables) for sort in keys]
    last = [key(pairs[count - 1]) for key in keyed]
    while count < len(pairs) and [key(pairs[count]) for key in keyed] == last:
        count += 1
    return pairs[:count]


def row_key(columns: list[QueryColumn]) -> Callable[[RowValues], RowValues]:
    """What makes two output rows the same row for DISTINCT and set operations."""
    keys = [comparison_key(column.type, column.collation) for column in columns]
    return lambda row: tuple([key(value) for key, value in zip(keys, row)])


def distinct(rows: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """The first of each set of equal rows, in order."""
    found: dict[Any, Any] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return list(found.values())
