"""The OUTPUT clause: rows of ``inserted`` and ``deleted``, to the client or into a table.

Source: "OUTPUT clause" page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.storage import Table
from harness.broker.engine.types import ResultColumn
from harness.broker.exec.dml.rows import (
    assignment,
    insert_columns,
    note_identity,
    place,
    row_maker,
)
from harness.broker.exec.dml.targets import (
    Target,
    Writes,
    checker,
    lock_for_write,
    resolve_target,
)
from harness.broker.exec.expressions import compile_expression
from harness.broker.exec.expressions.expr import Expr
from harness.broker.exec.expressions.scope import Scope, ScopeColumn
from harness.broker.exec.query.blocks import projection
from harness.broker.exec.query.hints import NO_HINTS
from harness.broker.exec.query.rowset import QueryColumn, query_scope
from harness.broker.exec.query.sources import Source, table_columns
from harness.broker.exec.triggers import triggers_on
from harness.tsql import ast


@dataclass(slots=True)
class Output:
    """One compiled OUTPUT clause.

    project: (s, v, row) -> output row, over: the FROM row, then inserted.*, then deleted.*. into:
    writes rows to a table, None for the client.
    """

    columns: list[ResultColumn]
    project: Callable[[Any, Any, tuple], tuple]
    into: Callable[[Any, Any, list[tuple]], None] | None
    late: bool = False


class Outputs:
    """The OUTPUT clauses of a statement; false when it has none."""

    def __init__(
        self, clauses: list[ast.OutputClause] | None, target: Target, context: Any,
        sources: list[Source], base: int, *, inserted: bool, deleted: bool,
        action: bool = False,
    ) -> None:
        self.items: list[Output] = []
        if not clauses:
            return
        columns = [c for source in sources for c in source.scope_columns()]
        for name, there, offset in (("inserted", inserted, base),
                                    ("deleted", deleted, base + len(target.table.columns))):
            if there:
                columns += [
                    ScopeColumn((name,), c.name, c.type, offset + i, True, c.collation)
                    for i, c in enumerate(table_columns(target.table))
                ]
        width = base + 2 * len(target.table.columns)
        scope = query_scope(context.scope, columns, width)
        scope.replaced = (lambda node: _action(node, width)) if action else None
        self.items = [_compile(clause, columns, scope, context) for clause in clauses]
        # A table variable is written last: its rows are not undone when the statement waits.
        self.items.sort(key=lambda item: item.late)

    def __bool__(self) -> bool:
        return bool(self.items)

    def deliver(self, s: Any, v: Any, rows: list[tuple]) -> None:
        """Send or store what the clauses make of the changed rows."""
        for item in self.items:
            found = [item.project(s, v, row) for row in rows]
            if item.into is None:
                s.result(item.columns, found)
            else:
                item.into(s, v, found)


def _action(node: ast.Node, width: int) -> Expr | None:
    """$action of MERGE stands behind both row images."""
    from harness.broker.engine.types import nvarchar

    if isinstance(node, ast.ColumnRef) and node.parts[-1].lower() == "$action":
        return Expr(lambda s, v, r: r[width], nvarchar(10), False)
    return None


def _compile(
    clause: ast.OutputClause, columns: list[ScopeColumn], scope: Scope, context: Any
) -> Output:
    exprs: list[Expr] = []
    names: list[str] = []
    for item in clause.items:
        if isinstance(item.value, ast.Star):
            qualifier = tuple(part.lower() for part in item.value.qualifier)
            for column in columns:
                if qualifier and column.answers(qualifier):
                    exprs.append(compile_expression(
                        ast.ColumnRef(item.pos, item.end, (*qualifier, column.name)), scope))
                    names.append(column.name)
            continue
        exprs.append(compile_expression(item.value, scope))
        last = item.value.parts[-1] if isinstance(item.value, ast.ColumnRef) else ""
        names.append(item.alias or last)
    made = [QueryColumn(name, e.type, e.nullable, None, e.collation, e.untyped)
            for name, e in zip(names, exprs)]
    into, late = None, False
    if clause.into is not None:
        target = resolve_target(clause.into, context)
        into = _into(clause, target, made, context)
        if target.slot < 0 and any(triggers_on(target.table, event)
                                   for event in ("INSERT", "UPDATE", "DELETE")):
            raise context.fail(clause, SqlError(331, target.table.name))
        late = target.slot >= 0
    return Output([column.result() for column in made], projection(exprs), into, late)


def _into(
    clause: ast.OutputClause, target: Target, columns: list[QueryColumn], context: Any
) -> Callable[[Any, Any, list[tuple]], None]:
    chosen = insert_columns(target, clause.columns, context, clause)
    if len(chosen.ordinals) != len(columns):
        raise context.fail(clause, SqlError(213, aborts="scope"))
    if chosen.identity:
        raise context.fail(clause, SqlError(544, target.table.name, aborts="scope"))
    given: dict[int, Expr] = {}
    for number, (ordinal, column) in enumerate(zip(chosen.ordinals, columns)):
        given[ordinal] = assignment(place(column, number), target, ordinal)
    make = row_maker(target, given)
    check = checker(target, "INSERT")

    def write(s: Any, v: Any, rows: list[tuple]) -> None:
        table = target.at(v)
        lock_for_write(s, table, NO_HINTS, "INSERT")
        writes = Writes(s, v, target)
        made: list[tuple] = []

        def changes() -> None:
            for row in rows:
                new = make(s, v, row, table)
                if check is not None:
                    check(s, new)
                writes.insert(new)
                made.append(new)

        writes.all(changes)
        note_identity(s, table, made)

    return write


__all__ = ["Outputs", "Table"]
