"""One SELECT block: FROM, WHERE, grouping, windows, the select list, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.expressions import compile_condition, compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.aggregates import has_aggregate, has_window, is_aggregate
from redial_broker.exec.query.froms import From, compile_from
from redial_broker.exec.query.grouping import Grouping
from redial_broker.exec.query.metered import kept, made
from redial_broker.exec.query.ordering import (
    FETCH,
    OFFSET,
    SortKey,
    distinct,
    refuse_twice,
    row_count,
    row_key,
    row_limit,
    sort_keys,
    sort_pairs,
    with_ties,
)
from redial_broker.exec.query.rowset import QueryColumn, Rowset, fit, scope_width
from redial_broker.exec.query.windows import Windows
from redial_broker.exec.sequences import next_value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Projection, Rows, Values
    from redial_broker.exec.query.compile import QueryCompiler
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Item:
    """One compiled item of the select list."""

    column: QueryColumn
    expr: Expr
    node: ast.Expression
    variable: ast.Variable | None = None
    """For ``@v = value``."""
    op: str = "="


@dataclass(slots=True)
class Tail:
    """What follows a block: ORDER BY, OFFSET and FETCH."""

    order_by: list[ast.OrderItem]
    offset: ast.Offset | None = None
    most: int | None = None
    """How many rows the caller wants."""


class Block:
    """A compiled SELECT block. items: the select list; ``source_rows`` yields the rows the list is
    evaluated over, ``rows`` the output.
    """

    def __init__(
        self,
        select: ast.Select,
        tail: Tail,
        outer: Scope,
        compiler: QueryCompiler,
        common: dict[str, Any],
        choose: Any = None,
    ) -> None:
        self.select, self.tail, self.outer = select, tail, outer
        self.compiler, self.context = compiler, compiler.context
        self.memo: list[Any] = []
        self.base = scope_width(outer)
        self._refuse()
        nodes: list[Any] = [
            *select.items,
            select.where,
            select.group_by,
            select.having,
            *tail.order_by,
        ]
        grouped = self._grouped()
        self.from_: From = compile_from(
            select.from_,
            select.where,
            outer,
            compiler,
            common,
            self.memo,
            readers=nodes,
            limit=None if grouped else self._limit(),
            order_by=None if grouped else self._meant_order(),
            choose_target=choose,
        )
        self.scope = self.from_.scope
        self.group: Grouping | None = None
        if grouped:
            self.group = Grouping(
                select.group_by, self.scope, outer, self.from_.names, self.context
            )
            self.scope = self.group.scope
            self.scope.compile_subquery = self.from_.scope.compile_subquery
        self.windows = Windows(self.scope, select.windows)
        having = select.having
        if self.group is not None:
            self.group.misused = 8121
        self.having = compile_condition(having, self.scope) if having is not None else None
        if self.group is not None:
            self.group.misused = 8120
        self.scope.window = self.windows.hook
        self.scope.next_value = self._next_value
        self.items = self._items()
        self.columns = [item.column for item in self.items]
        self.sort = self._sort()
        self.top = row_limit(select.top, outer) if select.top else None
        self.most = tail.most
        self.sender: Any = None  # who makes the rows a client gets, where they need no sorting

    @property
    def correlated(self) -> bool:
        """Whether it reads columns of the queries around it."""
        return self.from_.scope.outside or getattr(self.scope, "outside", False)

    @property
    def whole(self) -> bool:
        """Whether nothing cuts rows off: no TOP, no OFFSET, no caller who wants only some."""
        return self.select.top is None and self.tail.offset is None and self.tail.most is None

    @property
    def plain(self) -> bool:
        """Whether a further condition on its output means the same inside it."""
        return (
            self.whole
            and self.group is None
            and not self.windows.found
            and not self.select.distinct
        )

    # ------------------------------------------------------------------ compiling
    def _next_value(self, node: ast.NextValueFor) -> Expr:
        """NEXT VALUE FOR; with OVER (ORDER BY) numbers are given out in that order."""
        if node.over is None:
            return next_value(node, self.context)
        return self.windows.numbered(node, next_value(node, self.context, ordered=True))

    def _refuse(self) -> None:
        top = self.select.top
        if top is not None and top.with_ties and not self.tail.order_by:
            raise self.context.fail(top, SqlError(1062, aborts="scope"))
        if top is not None and self.tail.offset is not None:
            raise self.context.fail(top, SqlError(10741, aborts="scope"))

    def _grouped(self) -> bool:
        select = self.select
        return (
            select.group_by is not None
            or select.having is not None
            or any(has_aggregate(item) for item in select.items)
            or any(has_aggregate(item) for item in self.tail.order_by)
        )

    def _limit(self) -> Fn | None:
        """How many rows must be read at most, when nothing but TOP or EXISTS decides that."""
        select = self.select
        windowed = any(ast.noted(node, has_window) for node in [*select.items, *self.tail.order_by])
        if select.distinct or windowed or self.tail.offset is not None:
            return None
        if select.top is not None:
            whole = select.top.with_ties or select.top.percent
            return None if whole else self._count(select.top.count)
        most = self.tail.most
        if most is None:
            return None

        def limit(session: SessionState, variables: Values, row: RowValues) -> int:
            return most

        # When it is positive, one key of a unique index needs no limit.
        limit.positive = most > 0  # type: ignore[attr-defined]  # of a function, told by its reader
        return limit

    def _meant_order(self) -> list[ast.OrderItem]:
        """ORDER BY with aliases replaced by what they stand for."""
        aliases = {item.alias.lower(): item.value for item in self.select.items if item.alias}
        found = []
        for item in self.tail.order_by:
            value = item.value
            if isinstance(value, ast.ColumnRef) and len(value.parts) == 1:
                value = aliases.get(value.parts[0].lower(), value)
            found.append(ast.OrderItem(item.pos, item.end, value, item.descending))
        return found

    def _count(self, node: ast.Expression) -> Fn:
        return row_count(node, self.outer)

    def _items(self) -> list[Item]:
        found: list[Item] = []
        for item in self.select.items:
            if isinstance(item.value, ast.Star):
                found += self._star(item.value)
            else:
                found.append(self._item(item))
        return found

    def _item(self, item: ast.SelectItem) -> Item:
        expr = compile_expression(item.value, self.scope)
        name = item.alias
        if name is None:
            name = item.value.parts[-1] if isinstance(item.value, ast.ColumnRef) else ""
        place = self.from_.names.one(item.value)
        of = place[0].columns[place[1]] if place is not None else None
        column = QueryColumn(
            name,
            expr.type,
            expr.nullable or shown_nullable(item.value, expr),
            of and of.identity,
            expr.collation,
            expr.untyped,
            of is not None and of.stored,
            of is None and not is_aggregate(item.value),
        )
        return Item(column, expr, item.value, item.variable, item.op or "=")

    def _star(self, star: ast.Star) -> list[Item]:
        qualifier = tuple(part.lower() for part in star.qualifier)
        sources = [s for s in self.from_.sources if s.answers(qualifier)]
        if not sources:
            error = (
                SqlError(107, ".".join(star.qualifier), severity=15, aborts="scope")
                if qualifier
                else SqlError(263, aborts="scope")
            )
            raise self.context.fail(star, error)
        found = []
        for source in sources:
            for column in source.columns:
                ref = ast.ColumnRef(star.pos, star.end, (source.qualifiers[-1], column.name))
                found.append(self._item(ast.SelectItem(star.pos, star.end, ref)))
        return found

    def _sort(self) -> list[SortKey]:
        if not self.tail.order_by:
            return []
        if self.group is not None:
            self.group.misused = 8127
        keys = sort_keys(
            self.tail.order_by, self.columns, self.scope, self._output_of, self.context
        )
        if self.select.distinct and any(key.fn is not None for key in keys):
            raise self.context.fail(
                self.tail.order_by[0], SqlError(145, severity=15, aborts="scope")
            )
        places = [
            key.output if key.output >= 0 else self.from_.names.one(item.value)
            for key, item in zip(keys, self.tail.order_by)
        ]
        refuse_twice(places, self.tail.order_by[0], self.context)
        return [] if self.from_.ordered else keys

    def _output_of(self, node: ast.Expression) -> int:
        """The output column an ORDER BY item means: by alias first, then by meaning."""
        if isinstance(node, ast.ColumnRef) and len(node.parts) == 1:
            wanted = node.parts[0].lower()
            for number, item in enumerate(self.items):
                if item.column.name.lower() == wanted:
                    return number
        canonical = self.from_.names.canonical(node)
        for number, item in enumerate(self.items):
            if (
                not isinstance(item.node, ast.Literal)
                and self.from_.names.canonical(item.node) == canonical
            ):
                return number
        return -1

    # ------------------------------------------------------------------ running
    def source_rows(self) -> Rows:
        """The rows the select list is evaluated over: grouped, filtered, with window values."""
        read, memo, base = self.from_.rows, self.memo, self.base
        having, windows = self.having, self.windows
        group = self.group.runner() if self.group is not None else None
        if group is None and having is None and not windows.found and not memo and not base:
            return lambda session, variables, row: read(session, variables, ())

        def run(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            if memo:
                session.engine.meter.blank(memo)
            outer = fit(outer, base)
            rows = read(session, variables, outer)
            if group is not None:
                rows = group(session, variables, outer, rows)
            if having is not None:
                rows = kept(session, variables, rows, having)
            return windows.run(session, variables, rows) if windows.found else rows

        return run

    def rowset(self) -> Rowset:
        """The block as a rowset."""
        return Rowset(self.columns, self.rows(), self.correlated, self.from_.paths)

    def project(self) -> Projection:
        """(session, variables, source row) -> output row."""
        return projection([item.expr for item in self.items])

    def rows(self) -> Rows:
        """The closure that yields the output rows."""
        read = self.source_rows()
        project = self.project()
        if (
            self.sort
            or self.select.distinct
            or self.tail.offset is not None
            or (self.select.top is not None and self.select.top.with_ties)
        ):
            return self._ordered(read, project)
        self.sender = project
        top, most = self.top, self.most
        if top is None and most is None:
            return lambda session, variables, outer: made(
                session, variables, read(session, variables, outer), project
            )

        def run(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            found = read(session, variables, outer)
            if top is not None:
                found = found[: top(session, variables, outer, len(found))]
            if most is not None:
                found = found[:most]
            return made(session, variables, found, project)

        return run

    def _ordered(self, read: Rows, project: Projection) -> Rows:
        arrange = self.arrange()

        def run(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            source = read(session, variables, outer)
            pairs = list(zip(source, made(session, variables, source, project)))
            return [output for _, output in arrange(session, variables, outer, pairs)]

        return run

    def arrange(
        self,
    ) -> Callable[[SessionState, Values, RowValues, list[RowValues]], list[RowValues]]:
        """DISTINCT, ORDER BY, TOP, OFFSET over (source row, output row) pairs."""
        keys, top, most = self.sort, self.top, self.most
        ties = self.select.top is not None and self.select.top.with_ties
        unique = row_key(self.columns, 421) if self.select.distinct else None
        page = offset_of(self.tail.offset, self.outer)

        def run(
            session: SessionState, variables: Values, row: RowValues, pairs: list[RowValues]
        ) -> list[RowValues]:
            if unique is not None:
                pairs = distinct(session, pairs, lambda pair: unique(pair[1]))
            if keys:
                pairs = sort_pairs(pairs, keys, session, variables)
            if page is not None:
                pairs = page(session, variables, row, pairs)
            if top is not None:
                count = top(session, variables, row, len(pairs))
                pairs = with_ties(pairs, keys, count, session, variables) if ties else pairs[:count]
            return pairs if most is None else pairs[:most]

        return run


def offset_of(
    node: ast.Offset | None, scope: Scope
) -> Callable[[SessionState, Values, RowValues, list[Any]], list[Any]] | None:
    """OFFSET and FETCH as a function of the ordered rows."""
    if node is None:
        return None
    skip = row_count(node.skip, scope, OFFSET)
    count = row_count(node.count, scope, FETCH) if node.count is not None else None

    def run(session: SessionState, variables: Values, row: RowValues, rows: list[Any]) -> list[Any]:
        rows = rows[skip(session, variables, row) :]
        return rows if count is None else rows[: count(session, variables, row)]

    return run


def projection(exprs: list[Expr]) -> Projection:
    """(session, variables, source row) -> output row."""
    if all(expr.index >= 0 for expr in exprs):
        places = [expr.index for expr in exprs]
        if len(places) == 1:
            place = places[0]
            return lambda session, variables, row: (row[place],)
        take = itemgetter(*places)
        return lambda session, variables, row: take(row)
    fns = [expr.fn for expr in exprs]
    if len(fns) == 1:
        only = fns[0]
        return lambda session, variables, row: (only(session, variables, row),)
    return lambda session, variables, row: tuple([fn(session, variables, row) for fn in fns])


ARITHMETIC = frozenset("+-*/%")
EXACT = frozenset({"int", "exact", "money"})
"""Groups of types (``conversion.rules.group``)."""


def shown_nullable(node: ast.Node, expr: Expr) -> bool:
    """Whether the metadata say that a value may be NULL although none can be (F-537).

    A conversion, an aggregate, and arithmetic of exact numbers that is not a constant.
    """
    if isinstance(node, ast.Cast) or is_aggregate(node):
        return True
    arithmetic = isinstance(node, ast.UnaryOp) or (
        isinstance(node, ast.BinaryOp) and node.op in ARITHMETIC
    )
    return arithmetic and not expr.constant and group(expr.type) in EXACT
