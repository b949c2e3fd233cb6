"""Window functions: one value per row, computed over the row's partition.

Source: "OVER clause" page. The values of all window functions of a query block stand in one tuple
at the end of each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.aggregates import (
    Aggregate,
    comparison_key,
    compile_aggregate,
    is_windowed_aggregate,
    refuse_incomparable,
    sort_rows,
)
from redial_broker.exec.query.analytics import ANALYTIC, PERCENTILES, compile_analytic
from redial_broker.exec.query.frames import Span, Spans, compile_frame

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values, Windowed
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Window:
    """One compiled window function."""

    partition: list[Expr]
    order: list[tuple[Expr, bool]]
    values: Windowed
    type: SqlType
    nullable: bool


class Windows:
    """The window functions of one query block; ``hook`` is what the scope calls."""

    def __init__(self, scope: Scope, named: list[ast.WindowDefinition] | None = None) -> None:
        self.scope = scope
        self.named = {window.name.lower(): window.over for window in named or []}
        self.found: list[Window] = []

    def hook(self, node: ast.FunctionCall) -> Expr:
        """Compile a call with OVER to its place in the row. Raises 4109 for one in another."""
        before, self.scope.window = self.scope.window, _nested
        try:
            window = self._compile(node)
        finally:
            self.scope.window = before
        number = len(self.found)
        self.found.append(window)
        return Expr(lambda session, variables, row: row[-1][number], window.type, window.nullable)

    def _compile(self, node: ast.FunctionCall) -> Window:
        assert node.over is not None
        over = self._whole(node.over)
        node = replace(node, over=over)
        scope, name = self.scope, node.name.name.upper()
        partition = [compile_expression(item, scope) for item in over.partition]
        items = node.within_group or [] if name in PERCENTILES else over.order
        order = [(self._ordered_by(item.value), item.descending) for item in items]
        for expr in [*partition, *(expr for expr, _ in order)]:
            refuse_incomparable(expr.type)
        if name in ANALYTIC:
            values, of, nullable = compile_analytic(node, scope)
            return Window(partition, order, values, of, nullable)
        if not is_windowed_aggregate(name):
            raise SqlError(4113, node.name.name, aborts="scope")
        if node.distinct:
            raise SqlError(10759, aborts="scope")
        aggregate = compile_aggregate(node, scope)
        values = _aggregated(aggregate, compile_frame(over))
        return Window(partition, order, values, aggregate.type, aggregate.nullable)

    def _whole(self, over: ast.Over, depth: int = 0) -> ast.Over:
        """An OVER clause with the window of the WINDOW clause it begins with (2022).

        Source: "SELECT - WINDOW clause" page: what the named window leaves out may be added. A name
        that is not defined, a circle, and a part given twice are refused: their errors have no
        published number.
        """
        if over.window is None:
            return over
        base = self.named.get(over.window.lower())
        if base is None:
            raise self.scope.refuse(f"the undefined window {over.window}", over)
        base = self._whole(base, depth + 1) if depth < len(self.named) else base
        if (
            (over.partition and base.partition)
            or (over.order and base.order)
            or (over.frame and base.frame)
            or base.window is not None
        ):
            raise self.scope.refuse(f"this use of the window {over.window}", over)
        return replace(
            over,
            partition=over.partition or base.partition,
            order=over.order or base.order,
            frame=over.frame or base.frame,
            window=None,
        )

    def numbered(self, node: ast.NextValueFor, take: Expr) -> Expr:
        """NEXT VALUE FOR ... OVER (ORDER BY ...): one number per row, in that order."""
        assert node.over is not None
        over = self._whole(node.over)
        if over.partition or over.frame is not None or not over.order:
            raise self.scope.refuse("NEXT VALUE FOR with anything but ORDER BY in OVER", node)
        order = [(self._ordered_by(item.value), item.descending) for item in over.order]
        self.found.append(
            Window(
                [],
                order,
                lambda session, variables, rows, keys: [
                    take.fn(session, variables, row) for row in rows
                ],
                take.type,
                False,
            )
        )
        number = len(self.found) - 1
        return Expr(lambda session, variables, row: row[-1][number], take.type, False)

    def _ordered_by(self, node: ast.Expression) -> Expr:
        """5308, 5309: neither a column number nor another constant is an order."""
        if isinstance(node, ast.Literal):
            raise SqlError(5308 if node.kind == "int" else 5309, aborts="scope")
        return compile_expression(node, self.scope)

    def run(
        self, session: SessionState, variables: Values, rows: list[RowValues]
    ) -> list[RowValues]:
        """The rows, each with one more item: the tuple of its window values."""
        columns = [self._column(window, session, variables, rows) for window in self.found]
        return [(*row, tuple([column[i] for column in columns])) for i, row in enumerate(rows)]

    @staticmethod
    def _column(
        window: Window, session: SessionState, variables: Values, rows: list[RowValues]
    ) -> list[Any]:
        split = [(e.fn, comparison_key(e.type, e.collation)) for e in window.partition]
        parts: dict[Any, list[tuple[int, tuple[Any, ...]]]] = {}
        tick = session.engine.meter.tick
        for number, row in enumerate(rows):
            tick(1)
            key = tuple([k(fn(session, variables, row)) for fn, k in split])
            parts.setdefault(key, []).append((number, row))
        keys = [(e.fn, comparison_key(e.type, e.collation)) for e, _ in window.order]
        values: list[Any] = [None] * len(rows)
        for members in parts.values():
            numbered = [(*row, number) for number, row in members]
            ordered = sort_rows(numbered, window.order, session, variables)
            order_keys = [
                tuple([k(fn(session, variables, row)) for fn, k in keys]) for row in ordered
            ]
            plain = [row[:-1] for row in ordered]
            for row, value in zip(ordered, window.values(session, variables, plain, order_keys)):
                values[row[-1]] = value
        return values


def _nested(node: ast.FunctionCall) -> Expr:
    raise SqlError(4109, aborts="scope")


def _aggregated(aggregate: Aggregate, spans: Spans) -> Windowed:
    """An aggregate over each row's frame; equal frames in a row are worked out once."""

    def run(
        session: SessionState, variables: Values, rows: list[RowValues], keys: list[Any]
    ) -> list[Any]:
        frames = spans(keys)
        if aggregate.running is not None and all(start == 0 for start, _ in frames):
            return _grown(aggregate, session, variables, rows, frames)
        found: list[Any] = []
        for number, (start, stop) in enumerate(frames):
            if number and frames[number - 1] == (start, stop):
                found.append(found[-1])
            else:
                found.append(aggregate.compute(session, variables, rows[start:stop]))
                session.engine.meter.tick(1 + max(0, stop - start))
        return found

    return run


def _grown(
    aggregate: Aggregate,
    session: SessionState,
    variables: Values,
    rows: list[RowValues],
    frames: list[Span],
) -> list[Any]:
    """Frames that all begin with the partition: each goes on where the one before ended."""
    assert aggregate.running is not None
    add, value = aggregate.running()
    found: list[Any] = []
    done, last = 0, None
    for number, (_, stop) in enumerate(frames):
        for row in rows[done:stop]:
            add(session, variables, row)
        session.engine.meter.tick(1)
        if not number or stop > done:
            last = value()
        done = max(done, stop)
        found.append(last)
    return found
