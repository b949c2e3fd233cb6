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
from redial_broker.engine.errors import THROWN, SqlError
from redial_broker.engine.types import BIGINT, FLOAT
from redial_broker.exec.conversion.rules import INCOMPARABLE
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.aggregates import comparison_key, refuse_incomparable
from redial_broker.exec.query.metered import PIECE, in_order
from redial_broker.exec.query.names import walk_here
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.switches import value

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


@dataclass(frozen=True, slots=True)
class Count:
    """The errors of a count of rows: of another type, NULL at run time, fewer than ``least``.

    Which is which is known from captures others published; the pages give the numbers only.
    """

    typed: int
    null: int
    few: int
    least: int = 0


TOP = Count(1060, 1014, 127)
OFFSET = Count(10743, 10742, 10742)
FETCH = Count(1060, 1014, 10744, 1)


def row_count(node: ast.Expression, scope: Scope, count: Count = TOP) -> Fn:
    """The closure of a count of rows: an integer, known now or at run time (TOP page)."""
    expr = _standalone(node, scope)
    if expr.untyped or not _counts(expr):
        raise SqlError(count.typed, aborts="scope")
    expr = converted(expr, BIGINT)
    if expr.constant:
        if expr.value is None:
            raise SqlError(count.typed, aborts="scope")
        if expr.value < count.least:
            raise SqlError(count.few, aborts="scope")
        return expr.fn
    inner = expr.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> int:
        found = inner(session, variables, row)
        if found is None or found < count.least:
            raise SqlError(count.null if found is None else count.few, aborts=THROWN)
        wanted: int = found
        return wanted

    return run


def _standalone(node: ast.Expression, scope: Scope) -> Expr:
    """The expression of TOP, OFFSET or FETCH, which sees no column of its own query and has no
    aggregate. Raises 4115, 162.
    """
    try:
        return compile_expression(node, scope)
    except SqlError as error:
        if error.number == 147:
            raise SqlError(162, line=scope.line(node), aborts="scope") from None
        found = (part for part in walk_here(node) if isinstance(part, ast.ColumnRef))
        column = next(found, None)  # in a subquery there is nothing wrong with one
        if error.number not in (207, 4104) or column is None:
            raise
        raise SqlError(4115, column.parts[-1], line=scope.line(column), aborts="scope") from None


def _counts(expr: Expr) -> bool:
    """Whether a type may be a count of rows: integers, and a whole numeric no variable holds."""
    of = expr.type
    if of.is_integer:
        return True
    whole = of.name in {"decimal", "numeric"} and of.scale == 0 and expr.slot < 0
    return whole and (of.name == "numeric" or expr.literal)


def row_limit(top: ast.Top, scope: Scope) -> Limit:
    """TOP as a function of the number of rows; a percentage is rounded up (TOP page).

    Raises 1031 for a percentage outside 0 to 100, 1014 for none.
    """
    if not top.percent:
        count = row_count(top.count, scope)
        return lambda session, variables, row, rows: count(session, variables, row)
    expr = converted(_standalone(top.count, scope), FLOAT)
    if expr.constant:
        _refuse_percent(expr.value, "scope")
    share = expr.fn

    def run(session: SessionState, variables: Values, row: RowValues, rows: int) -> int:
        percent = share(session, variables, row)
        _refuse_percent(percent, THROWN)
        return ceil(Decimal(rows) * Decimal(str(percent)) / 100)

    return run


def _refuse_percent(percent: float | None, ends: str) -> None:
    if percent is None:
        raise SqlError(1014, aborts=ends)
    if not 0 <= percent <= 100:
        raise SqlError(1031, aborts=ends)


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
        if isinstance(node, ast.Literal) and node.kind in {"string", "nstring"}:
            output = _named(str(node.value), columns)
        if isinstance(node, ast.Literal) and node.kind == "int" and isinstance(node.value, int):
            if not 1 <= node.value <= len(columns):
                raise context.fail(node, SqlError(108, node.value, aborts="scope"))
            output = node.value - 1
        if output >= 0:
            column = columns[output]
            refuse_incomparable(column.type)
            keys.append(
                SortKey(comparison_key(column.type, column.collation), item.descending, output)
            )
            continue
        if scope is None:
            raise context.fail(node, SqlError(104, aborts="scope"))
        _refuse_constant(node, len(keys) + 1, context)
        expr = compile_expression(node, scope)
        refuse_incomparable(expr.type)
        keys.append(SortKey(comparison_key(expr.type, expr.collation), item.descending, fn=expr.fn))
    return keys


def _named(text: str, columns: list[QueryColumn]) -> int:
    """The output column that a quoted name in ORDER BY means (coalesce page, example); -1 for none."""
    names = [column.name.lower() for column in columns]
    return names.index(text.lower()) if text and names.count(text.lower()) == 1 else -1


def _refuse_constant(node: ast.Expression, place: int, context: Context) -> None:
    """408 and 1008: constants and variables, alone or reckoned with, say nothing of a row."""
    parts = list(node.walk())
    if any(
        not isinstance(p, (ast.Literal, ast.Variable, ast.UnaryOp, ast.BinaryOp)) for p in parts
    ):
        return
    number = 1008 if any(isinstance(part, ast.Variable) for part in parts) else 408
    raise context.fail(node, SqlError(number, place, aborts="scope"))


def refuse_twice(places: list[Any], node: ast.Node, context: Context) -> None:
    """169: a column stands in ORDER BY once. places: what each item is, None for no column."""
    known = [place for place in places if place is not None]
    if len(set(known)) < len(known):
        raise context.fail(node, SqlError(169, aborts="scope"))


def sort_pairs(
    pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]],
    keys: list[SortKey],
    session: SessionState,
    variables: Values,
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """(source row, output row) pairs in order; equal ones as they were read, or the other way round."""
    if len(pairs) > 1 and keys and value(session.engine, "order_by_ties") == "reversed":
        pairs = pairs[::-1]
    for sort in reversed(keys):
        key = _pair_key(sort, session, variables)
        pairs = in_order(session, pairs, key, descending=sort.descending)
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


def row_key(
    columns: list[QueryColumn], incomparable: int = 5335
) -> Callable[[RowValues], RowValues]:
    """What makes two output rows the same row for DISTINCT and set operations.

    Raises ``incomparable`` (421 or 5335) for a column that cannot be compared.
    """
    for column in columns:
        if column.type.name in INCOMPARABLE:
            raise SqlError(incomparable, column.type.name, aborts="scope")
    keys = [comparison_key(column.type, column.collation) for column in columns]
    return lambda row: tuple([key(value) for key, value in zip(keys, row)])


def distinct(session: SessionState, rows: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """The first of each set of equal rows, in order."""
    found: dict[Any, Any] = {}
    for at in range(0, len(rows), PIECE):
        for row in rows[at : at + PIECE]:
            found.setdefault(key(row), row)
        if at:
            session.engine.meter.tick(PIECE)
    return list(found.values())
