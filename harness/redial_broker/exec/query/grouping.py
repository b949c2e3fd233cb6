"""GROUP BY: rows become groups, and the names that may be used of a group.

A group's row is: the outer row, one value per GROUP BY expression (NULL for one its grouping set
leaves out), and one tuple with the values of all aggregates and, last, the keys of its set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, sql_type
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope, ScopeColumn
from redial_broker.exec.query.aggregates import (
    Aggregate,
    comparison_key,
    compile_aggregate,
    is_aggregate,
    refuse_incomparable,
)
from redial_broker.exec.query.grouping_sets import expressions, grouping_sets
from redial_broker.exec.query.metered import PIECE
from redial_broker.exec.query.names import Names, column_refs
from redial_broker.exec.query.rowset import QueryScope, fit, query_scope, scope_width
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

differs(
    "warnings of aggregates and join hints",
    "8153 comes once for each grouping that leaves a NULL out, a server says it once a statement; "
    "8625 comes each time the statement runs, a server says it when the statement is compiled (F-547).",
)


class Grouping:
    """Compiles what stands behind GROUP BY and runs it.

    scope: what expressions over groups are compiled in.
    """

    def __init__(
        self,
        group_by: ast.GroupBy | None,
        source: QueryScope,
        outer: Scope,
        names: Names,
        context: Context,
    ) -> None:
        self.source = source
        self.names = names
        self.context = context
        self.aggregates: list[Aggregate] = []
        self._known: dict[Any, int] = {}
        self.misused = 8120  # of the clause that is compiled: 8121 in HAVING, 8127 in ORDER BY
        self.base = scope_width(outer)
        items = group_by.items if group_by is not None else []
        nodes: list[ast.Expression] = []
        self.canonical: list[Any] = []
        for item in expressions(items):
            if names.canonical(item) not in self.canonical:
                nodes.append(item)
                self.canonical.append(names.canonical(item))
        self.sets = grouping_sets(items, lambda item: self.canonical.index(names.canonical(item)))
        self.keys = [self._key(item, number) for number, item in enumerate(nodes)]
        self.scope = query_scope(outer, self._columns(nodes), self.base + len(nodes) + 1)
        self.scope.aggregate = self._aggregate
        self.scope.replaced = self._replaced

    def _key(self, item: ast.Expression, number: int) -> Expr:
        self._refuse(item)
        key = compile_expression(item, self.source)
        refuse_incomparable(key.type)
        if all(number in chosen for chosen in self.sets):
            return key
        return replace(key, nullable=True, constant=False, slot=-1)  # NULL where left out

    def _refuse(self, item: ast.Expression) -> None:
        """144, 4148, 164: no aggregate, subquery or method of XML, and at least one column."""
        parts = list(item.walk())
        number = 0
        if any(isinstance(part, ast.Query) or is_aggregate(part) for part in parts):
            number = 144
        elif any(isinstance(part, ast.MethodCall) for part in parts):
            number = 4148
        elif not any(isinstance(part, ast.ColumnRef) for part in parts):
            number = 164
        if number:
            raise self.context.fail(item, SqlError(number, aborts="scope"))

    def _columns(self, items: list[Any]) -> list[ScopeColumn]:
        """Plain columns of GROUP BY keep their names, for subqueries and ORDER BY too."""
        found = []
        for number, (item, key) in enumerate(zip(items, self.keys)):
            place = self.names.one(item)
            if place is not None:
                source, ordinal = place
                column = source.columns[ordinal]
                found.append(
                    ScopeColumn(
                        source.qualifiers,
                        column.name,
                        key.type,
                        self.base + number,
                        key.nullable,
                        key.collation,
                    )
                )
        return found

    # ------------------------------------------------------------------ hooks of the scope
    def _replaced(self, node: ast.Node) -> Expr | None:
        """A GROUP BY expression is its column of the group; any other column of a source is 8120."""
        canonical = self.names.canonical(node)
        for number, known in enumerate(self.canonical):
            if known == canonical:
                key = self.keys[number]
                return Expr(
                    _at(self.base + number),
                    key.type,
                    key.nullable,
                    index=self.base + number,
                    collation=key.collation,
                )
        if isinstance(node, ast.ColumnRef) and self.names.find(node):
            raise self.context.fail(
                node, SqlError(self.misused, ".".join(node.parts), aborts="scope")
            )
        return None

    def _grouping(self, node: ast.FunctionCall) -> Expr:
        """GROUPING(key): 1 where the row's set leaves it out; GROUPING_ID(keys): those bits."""
        name, place = node.name.name.upper(), self.base + len(self.keys)
        if name == "GROUPING" and len(node.arguments) != 1:
            raise SqlError(174, node.name.name, 1, aborts="scope")
        numbers = []
        for at, argument in enumerate(node.arguments, 1):
            canonical = self.names.canonical(argument)
            if canonical not in self.canonical:
                raise SqlError(8161, at, name, aborts="scope")
            numbers.append(self.canonical.index(canonical))

        def run(session: SessionState, variables: Values, row: RowValues) -> int:
            bits = 0
            for number in numbers:
                bits = bits * 2 + (number not in row[place][-1])
            return bits

        return Expr(run, sql_type("tinyint") if name == "GROUPING" else INT, False)

    def _aggregate(self, node: ast.FunctionCall) -> Expr:
        if node.name.name.upper() in {"GROUPING", "GROUPING_ID"}:
            return self._grouping(node)
        canonical = self.names.canonical(node)
        number = self._known.get(canonical)
        if number is None:
            number = self._known[canonical] = len(self.aggregates)
            self.aggregates.append(compile_aggregate(node, self.source))
            self._refuse_mixed(node)
        made = self.aggregates[number]
        place = self.base + len(self.keys)
        return Expr(
            lambda session, variables, row: row[place][number],
            made.type,
            made.nullable,
            collation=made.collation,
        )

    def _refuse_mixed(self, node: ast.FunctionCall) -> None:
        """8124: a column of a query around this one must be the only one that is aggregated (F-606)."""
        columns = {
            self.names.canonical(column)
            for argument in node.arguments
            for column in column_refs(argument)
        }
        if len(columns) > 1 and any(column[0] == "outer" for column in columns):
            raise self.context.fail(node, SqlError(8124, aborts="scope"))

    # ------------------------------------------------------------------ running
    def runner(
        self,
    ) -> Callable[[SessionState, Values, RowValues, list[RowValues]], list[RowValues]]:
        """run(session, variables, outer row, rows) -> group rows, in order of first appearance."""
        keys = [(key.fn, comparison_key(key.type, key.collation)) for key in self.keys]
        aggregates, base = self.aggregates, self.base
        sets = [[number in chosen for number in range(len(keys))] for chosen in self.sets]
        marks = [frozenset(chosen) for chosen in self.sets]

        def run(
            session: SessionState, variables: Values, outer: RowValues, rows: list[RowValues]
        ) -> list[RowValues]:
            outer = fit(outer, base)
            for aggregate in aggregates:
                aggregate.dropped.clear()
            made: list[RowValues] = []
            meter = session.engine.meter
            total = (
                bool(rows)
                or len(marks) == 1
                or value(session.engine, "empty_grouping_set") == "row"
            )
            for chosen, mark in zip(sets, marks):
                groups: dict[Any, tuple[tuple[Any, ...], list[RowValues]]] = {}
                if not mark and total:  # the grand total is there without rows too (F-211)
                    groups[()] = ((None,) * len(keys), rows)
                meter.tick(len(rows) >> 2)
                for number, row in enumerate(rows if mark else ()):
                    if not number % PIECE and number:
                        meter.tick(PIECE)
                    values = tuple(
                        [
                            fn(session, variables, row) if use else None
                            for (fn, _), use in zip(keys, chosen)
                        ]
                    )
                    group = tuple([key(value) for (_, key), value in zip(keys, values)])
                    found = groups.get(group)
                    if found is None:
                        groups[group] = (values, [row])
                    else:
                        found[1].append(row)
                made += [
                    (
                        *outer,
                        *values,
                        (*[a.compute(session, variables, members) for a in aggregates], mark),
                    )
                    for values, members in groups.values()
                ]
            if any(a.dropped for a in aggregates):
                session.warn(8153)
            return made

        return run


def _at(index: int) -> Fn:
    return lambda session, variables, row: row[index]
