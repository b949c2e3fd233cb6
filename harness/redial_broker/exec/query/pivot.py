"""PIVOT and UNPIVOT: values become columns, columns become rows.

Source: "Using PIVOT and UNPIVOT" page: PIVOT groups by every column of its source that is neither
aggregated nor spread; UNPIVOT leaves NULLs out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import nvarchar
from redial_broker.exec.query.rowset import QueryColumn, Rowset

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

Compile = Callable[[ast.Query], Rowset]


def _all(node: ast.Pivot | ast.Unpivot) -> ast.Query:
    """SELECT * FROM the source."""
    at = (node.pos, node.end)
    star = ast.SelectItem(*at, ast.Star(*at))
    return ast.Query(
        *at, ast.Select(*at, False, None, [star], None, [node.source], None, None, None)
    )


def pivoted(node: ast.Pivot, compile_query: Compile, context: Context) -> Rowset:
    """One aggregate per value, over the rows with that value, grouped by all other columns.

    Raises 207 for unknown columns, 265 and 8156 for names that are taken.
    """
    at = (node.pos, node.end)
    columns = [column.name for column in compile_query(_all(node)).columns]
    spread = _known(node.column.parts[-1], columns, node, context)
    used = {spread} | {
        _known(part.parts[-1], columns, node, context)
        for part in node.aggregate.walk()
        if isinstance(part, ast.ColumnRef)
    }
    if any(isinstance(part, ast.Star) for part in node.aggregate.arguments):
        raise context.fail(node, SqlError(102, "*", severity=15, aborts="scope"))
    kept = [name for name in columns if name.lower() not in used]
    seen: set[str] = set()
    items = [ast.SelectItem(*at, ast.ColumnRef(*at, (name,))) for name in kept]
    for value in node.values:
        lowered = value.text.lower()
        if lowered in {name.lower() for name in kept}:
            raise context.fail(node, SqlError(265, value.text, "PIVOT", "PIVOT", aborts="scope"))
        if lowered in seen:
            raise context.fail(node, SqlError(8156, value.text, node.alias, aborts="scope"))
        seen.add(lowered)
        items.append(ast.SelectItem(*at, _aggregate(node, value), value.text))
    group = ast.GroupBy(*at, [item.value for item in items[: len(kept)]]) if kept else None
    return compile_query(
        ast.Query(*at, ast.Select(*at, False, None, items, None, [node.source], None, group, None))
    )


def _aggregate(node: ast.Pivot, value: ast.Identifier) -> ast.FunctionCall:
    """aggregate(CASE WHEN spread column = 'value' THEN argument END)."""
    call, at = node.aggregate, (node.pos, node.end)
    text = ast.Literal(*at, "nstring", value.text)
    when = ast.When(*at, ast.Comparison(*at, "=", node.column, text), call.arguments[0])
    return ast.FunctionCall(*at, call.name, [ast.Case(*at, None, [when], None)], call.distinct)


def _known(name: str, columns: list[str], node: ast.Node, context: Context) -> str:
    if name.lower() not in {column.lower() for column in columns}:
        raise context.fail(node, SqlError(207, name))
    return name.lower()


def unpivoted(node: ast.Unpivot, compile_query: Compile, context: Context) -> Rowset:
    """One row per named column that is not NULL. Raises 207, 265, 8156, 8167."""
    source = compile_query(_all(node))
    names = [column.name.lower() for column in source.columns]
    taken = [names.index(_known(ref.parts[-1], names, node, context)) for ref in node.columns]
    if len(set(taken)) < len(taken):
        twice = next(ref for ref, i in zip(node.columns, taken) if taken.count(i) > 1)
        raise context.fail(node, SqlError(8156, twice.parts[-1], node.alias, aborts="scope"))
    first = source.columns[taken[0]]
    for ref, place in zip(node.columns, taken):
        if source.columns[place].type is not first.type:
            raise context.fail(node, SqlError(8167, ref.parts[-1], aborts="scope"))
    kept = [place for place in range(len(names)) if place not in taken]
    for name in (node.value, node.column):
        if name.lower() in {names[place] for place in kept}:
            raise context.fail(node, SqlError(265, name, "UNPIVOT", "UNPIVOT", aborts="scope"))
    columns = [source.columns[place] for place in kept]
    columns += [
        QueryColumn(node.value, first.type, False, None, first.collation),
        QueryColumn(node.column, nvarchar(128), False),
    ]
    labels = [(place, source.columns[place].name) for place in taken]
    inner = source.rows

    def rows(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
        return [
            (*[row[i] for i in kept], row[place], label)
            for row in inner(session, variables, outer)
            for place, label in labels
            if row[place] is not None
        ]

    return Rowset(columns, rows, source.correlated, source.paths)
