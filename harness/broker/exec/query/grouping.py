"""GROUP BY: rows become groups, and the names that may be used of a group.

A group's row is: the outer row, one value per GROUP BY expression, and one tuple with the values
of all aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.exec.expressions import compile_expression
from harness.broker.exec.expressions.expr import Expr
from harness.broker.exec.expressions.scope import Scope, ScopeColumn
from harness.broker.exec.query.aggregates import Aggregate, comparison_key, compile_aggregate
from harness.broker.exec.query.names import Names
from harness.broker.exec.query.rowset import QueryScope, fit, query_scope, scope_width
from harness.tsql import ast


class Grouping:
    """Compiles what stands behind GROUP BY and runs it.

    scope: what expressions over groups are compiled in.
    """

    def __init__(
        self, group_by: ast.GroupBy | None, source: QueryScope, outer: Scope, names: Names,
        context: Any,
    ) -> None:
        self.source = source
        self.names = names
        self.context = context
        self.aggregates: list[Aggregate] = []
        self._known: dict[Any, int] = {}
        self.base = scope_width(outer)
        items = group_by.items if group_by is not None else []
        for item in items:
            if isinstance(item, ast.GroupingSet):
                raise context.not_supported(item, item.kind)
            if isinstance(item, ast.Literal):
                raise context.fail(item, SqlError(164, aborts="scope"))
        self.keys = [compile_expression(item, source) for item in items]
        self.canonical = [names.canonical(item) for item in items]
        self.scalar = group_by is None
        self.scope = query_scope(outer, self._columns(items), self.base + len(items) + 1)
        self.scope.aggregate = self._aggregate
        self.scope.replaced = self._replaced

    def _columns(self, items: list[Any]) -> list[ScopeColumn]:
        """Plain columns of GROUP BY keep their names, for subqueries and ORDER BY too."""
        found = []
        for number, (item, key) in enumerate(zip(items, self.keys)):
            place = self.names.one(item)
            if place is not None:
                source, ordinal = place
                column = source.columns[ordinal]
                found.append(ScopeColumn(source.qualifiers, column.name, key.type,
                                         self.base + number, key.nullable, key.collation))
        return found

    # ------------------------------------------------------------------ hooks of the scope
    def _replaced(self, node: ast.Node) -> Expr | None:
        """A GROUP BY expression is its column of the group; any other column of a source is 8120.
        """
        canonical = self.names.canonical(node)
        for number, known in enumerate(self.canonical):
            if known == canonical:
                key = self.keys[number]
                return Expr(_at(self.base + number), key.type, key.nullable,
                            index=self.base + number, collation=key.collation)
        if isinstance(node, ast.ColumnRef) and self.names.find(node):
            raise self.context.fail(node, SqlError(8120, ".".join(node.parts), aborts="scope"))
        return None

    def _aggregate(self, node: ast.FunctionCall) -> Expr:
        canonical = self.names.canonical(node)
        number = self._known.get(canonical)
        if number is None:
            number = self._known[canonical] = len(self.aggregates)
            self.aggregates.append(compile_aggregate(node, self.source))
        made = self.aggregates[number]
        place = self.base + len(self.keys)
        return Expr(lambda s, v, r: r[place][number], made.type, made.nullable,
                    collation=made.collation)

    # ------------------------------------------------------------------ running
    def runner(self) -> Callable[[Any, Any, tuple, list[tuple]], list[tuple]]:
        """run(s, v, outer row, rows) -> group rows, in order of first appearance."""
        keys = [(key.fn, comparison_key(key.type, key.collation)) for key in self.keys]
        aggregates, base, scalar = self.aggregates, self.base, self.scalar

        def run(s: Any, v: Any, r: tuple, rows: list[tuple]) -> list[tuple]:
            outer = fit(r, base)
            if scalar:
                return [(*outer, tuple([a.compute(s, v, rows) for a in aggregates]))]
            groups: dict[Any, tuple[tuple, list[tuple]]] = {}
            for row in rows:
                values = tuple([fn(s, v, row) for fn, _ in keys])
                group = tuple([key(value) for (_, key), value in zip(keys, values)])
                found = groups.get(group)
                if found is None:
                    groups[group] = (values, [row])
                else:
                    found[1].append(row)
            return [
                (*outer, *values, tuple([a.compute(s, v, members) for a in aggregates]))
                for values, members in groups.values()
            ]

        return run


def _at(index: int) -> Callable[[Any, Any, tuple], Any]:
    return lambda s, v, r: r[index]
