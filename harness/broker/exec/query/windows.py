"""Window functions: one value per row, computed over the row's partition.

Source: "OVER clause" page. The values of all window functions of a query block stand in one tuple
at the end of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.types import BIGINT, SqlType
from harness.broker.exec.expressions import compile_expression
from harness.broker.exec.expressions.expr import Expr
from harness.broker.exec.expressions.scope import Scope
from harness.broker.exec.query.aggregates import (
    SUPPORTED,
    Aggregate,
    comparison_key,
    compile_aggregate,
    sort_rows,
)
from harness.tsql import ast

RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE"})
OFFSETS = frozenset({"LAG", "LEAD"})
_RUNNING = ("UNBOUNDED PRECEDING", "CURRENT ROW")

Values = Callable[[Any, Any, list[tuple], list[Any]], list[Any]]
"""(s, v, ordered rows of a partition, their order keys) -> one value per row."""


@dataclass(slots=True)
class Window:
    """One compiled window function."""

    partition: list[Expr]
    order: list[tuple[Expr, bool]]
    values: Values
    type: SqlType
    nullable: bool


class Windows:
    """The window functions of one query block; ``hook`` is what the scope calls."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.found: list[Window] = []

    def hook(self, node: ast.FunctionCall) -> Expr:
        """Compile a call with OVER to its place in the row."""
        window = self._compile(node)
        number = len(self.found)
        self.found.append(window)
        return Expr(lambda s, v, r: r[-1][number], window.type, window.nullable)

    def _compile(self, node: ast.FunctionCall) -> Window:
        scope, over, name = self.scope, node.over, node.name.name.upper()
        partition = [compile_expression(item, scope) for item in over.partition]
        order = [(compile_expression(item.value, scope), item.descending) for item in over.order]
        if name in RANKINGS:
            if not order:
                raise SqlError(4112, node.name.name, aborts="scope")
            return Window(partition, order, self._ranking(name, node), BIGINT, False)
        if name in OFFSETS:
            if not order:
                raise SqlError(4112, node.name.name, aborts="scope")
            return self._offset(name, node, partition, order)
        if name not in SUPPORTED - {"STRING_AGG"} or node.distinct:
            raise scope.refuse(f"window function {name}", node)
        aggregate = compile_aggregate(node, scope)
        values = self._aggregated(node, aggregate, bool(order))
        return Window(partition, order, values, aggregate.type, aggregate.nullable)

    def _ranking(self, name: str, node: ast.FunctionCall) -> Values:
        if node.over.frame is not None:
            raise SqlError(10752, node.name.name, aborts="scope")
        if name == "ROW_NUMBER":
            return lambda s, v, rows, keys: list(range(1, len(rows) + 1))
        if name == "NTILE":
            raise self.scope.refuse("window function NTILE", node)
        dense = name == "DENSE_RANK"

        def run(s: Any, v: Any, rows: list[tuple], keys: list[Any]) -> list[Any]:
            ranks: list[int] = []
            for number, key in enumerate(keys):
                if number and key == keys[number - 1]:
                    ranks.append(ranks[-1])
                else:
                    ranks.append((ranks[-1] if ranks else 0) + 1 if dense else number + 1)
            return ranks

        return run

    def _offset(
        self, name: str, node: ast.FunctionCall, partition: list[Expr],
        order: list[tuple[Expr, bool]],
    ) -> Window:
        if not 1 <= len(node.arguments) <= 2:
            raise self.scope.refuse(f"{name} with a default value", node)
        value = compile_expression(node.arguments[0], self.scope)
        steps = [compile_expression(part, self.scope) for part in node.arguments[1:]]
        sign = -1 if name == "LAG" else 1

        def run(s: Any, v: Any, rows: list[tuple], keys: list[Any]) -> list[Any]:
            found = []
            for number, row in enumerate(rows):
                other = number + sign * (steps[0].fn(s, v, row) if steps else 1)
                inside = 0 <= other < len(rows)
                found.append(value.fn(s, v, rows[other]) if inside else None)
            return found

        return Window(partition, order, run, value.type, True)

    def _aggregated(
        self, node: ast.FunctionCall, aggregate: Aggregate, ordered: bool
    ) -> Values:
        frame = node.over.frame
        by_rows = False
        if frame is not None:
            start = frame.start[0]
            finish = frame.finish[0] if frame.finish is not None else "CURRENT ROW"
            if (start, finish) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"):
                ordered = False
            elif (start, finish) == _RUNNING:
                by_rows = frame.unit == "ROWS"
            else:
                raise self.scope.refuse("this window frame", node)

        def run(s: Any, v: Any, rows: list[tuple], keys: list[Any]) -> list[Any]:
            if not ordered:
                return [aggregate.compute(s, v, rows)] * len(rows)
            found: list[Any] = []
            for number in range(len(rows)):
                last = number
                # Without ROWS, rows equal in the order belong to the frame together.
                while not by_rows and last + 1 < len(rows) and keys[last + 1] == keys[number]:
                    last += 1
                found.append(aggregate.compute(s, v, rows[:last + 1]))
            return found

        return run

    def run(self, s: Any, v: Any, rows: list[tuple]) -> list[tuple]:
        """The rows, each with one more item: the tuple of its window values."""
        columns = [self._column(window, s, v, rows) for window in self.found]
        return [
            (*row, tuple([column[i] for column in columns])) for i, row in enumerate(rows)
        ]

    @staticmethod
    def _column(window: Window, s: Any, v: Any, rows: list[tuple]) -> list[Any]:
        split = [(e.fn, comparison_key(e.type, e.collation)) for e in window.partition]
        parts: dict[Any, list[tuple[int, tuple]]] = {}
        for number, row in enumerate(rows):
            key = tuple([k(fn(s, v, row)) for fn, k in split])
            parts.setdefault(key, []).append((number, row))
        keys = [(e.fn, comparison_key(e.type, e.collation)) for e, _ in window.order]
        values: list[Any] = [None] * len(rows)
        for members in parts.values():
            numbered = [(*row, number) for number, row in members]
            ordered = sort_rows(numbered, window.order, s, v)
            order_keys = [tuple([k(fn(s, v, row)) for fn, k in keys]) for row in ordered]
            plain = [row[:-1] for row in ordered]
            for row, value in zip(ordered, window.values(s, v, plain, order_keys)):
                values[row[-1]] = value
        return values
