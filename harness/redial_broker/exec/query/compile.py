"""Whole queries: common tables, set operations, parentheses, VALUES, ORDER BY over all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import HOOKS
from redial_broker.exec.conversion import implicit_conversion
from redial_broker.exec.conversion.rules import common_type
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.blocks import Block, Tail, offset_of, projection
from redial_broker.exec.query.bodies import Body
from redial_broker.exec.query.forjson import for_json
from redial_broker.exec.query.forxml import for_xml
from redial_broker.exec.query.ordering import distinct, row_key, sort_keys, sort_pairs
from redial_broker.exec.query.query_hints import NO_QUERY_HINTS, query_hints
from redial_broker.exec.query.recursion import (
    MAX_RECURSION,
    MOST_RECURSION,
    check_types,
    refers,
    rounds,
    split,
)
from redial_broker.exec.query.rowset import QueryColumn, Rowset, fit, scope_width
from redial_broker.exec.query.sources import rename
from redial_broker.exec.query.subqueries import Subquery

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

Common = dict[str, Callable[[], Rowset]]


class QueryCompiler:
    """Compiles the queries of one statement."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.max_recursion = MAX_RECURSION
        self.hints = NO_QUERY_HINTS
        self.enclosing: list[Any] | None = None  # memo of the block a subquery is compiled in

    def note_options(self, node: Any) -> None:
        """OPTION of the statement; MAXRECURSION 0 lifts the limit (query hints page)."""
        if node.options:
            self.hints = query_hints(node.options, self.context)
        for option in node.options or []:
            if option.name.upper() == "MAXRECURSION":
                self.max_recursion = int(getattr(option.value, "value", option.value))
                if self.max_recursion > MOST_RECURSION:
                    raise self.context.fail(
                        option, SqlError(310, self.max_recursion, MOST_RECURSION, aborts="scope")
                    )

    def query(
        self,
        node: ast.Query | ast.Values,
        outer: Scope,
        common: Common | None = None,
        most: int | None = None,
    ) -> Rowset:
        """Compile a query. outer: the scope around it; most: how many rows the caller wants."""
        if isinstance(node, ast.Values):
            return self.values(node, outer)
        outer = outer.naming(node.with_)
        self.note_options(node)
        common = self.common_tables(node, outer, common or {})
        order_by, block = node.order_by or [], None
        if isinstance(node.body, ast.Select):
            if node.body.into is not None:
                raise self.context.not_supported(node.body, "INTO inside a query")
            tail = Tail(order_by, node.offset, most)
            block = Block(node.body, tail, outer, self, common)
            if any(item.variable is not None for item in block.items):
                raise self.context.fail(node, SqlError(102, "=", severity=15, aborts="scope"))
            rowset = block.rowset()
            if node.for_ is None:
                rowset.body = Body(self._again(node.body, tail, common), block)
        else:
            rowset = self._body(node.body, outer, common)
            if order_by or node.offset is not None:
                rowset = self._ordered(rowset, node, outer)
        if node.for_ is not None:
            return self._for(node.for_, rowset, block, outer)
        return rowset

    def _for(self, node: Any, rowset: Rowset, block: Block | None, outer: Scope) -> Rowset:
        """FOR XML or FOR JSON over a query; block: its SELECT, None for a set operation."""
        if isinstance(node, ast.ForXml):
            return for_xml(node, rowset, self.context, block, outer)
        if isinstance(node, ast.ForJson):
            return for_json(node, rowset, self.context, block)
        raise self.context.not_supported(node, "FOR BROWSE")

    def _again(self, select: ast.Select, tail: Tail, common: Common) -> Callable[..., Block]:
        """What compiles a block again: under more conditions, in a scope, with a target."""

        def make(where: list[ast.Predicate], scope: Scope, choose: Any) -> Block:
            # Its own come first: they may keep rows away that the others cannot be asked of.
            conditions = [*([] if select.where is None else [select.where]), *where]
            again = select
            if where:
                both = (
                    conditions[0]
                    if len(conditions) == 1
                    else ast.And(conditions[0].pos, conditions[-1].end, conditions)
                )
                again = replace(select, where=both)
            return Block(again, tail, scope, self, common, choose)

        return make

    def block(
        self, node: ast.Query, outer: Scope, choose: Any = None, most: int | None = None
    ) -> Block | None:
        """The block of a plain SELECT, for statements that need more than its rows; else None.

        choose: which of its leaves are wanted with their keys; most: how many rows are.
        """
        if not isinstance(node.body, ast.Select):
            return None
        self.note_options(node)
        outer = outer.naming(node.with_)
        common = self.common_tables(node, outer, {})
        tail = Tail(node.order_by or [], node.offset, most)
        return Block(node.body, tail, outer, self, common, choose)

    def subquery_hook(self, common: Common, memo: list[Any] | None) -> Callable[..., Subquery]:
        """What ``Scope.compile_subquery`` calls in a block with these common tables."""

        def compile_inner(scope: Scope) -> Callable[..., Rowset]:
            return lambda query, most: self.inside(
                memo, lambda: self.query(query, scope, common, most)
            )

        return lambda query, scope: Subquery(query, compile_inner(scope), memo)

    def inside(self, memo: list[Any] | None, compile_it: Callable[[], Rowset]) -> Rowset:
        """Compile what runs many times per run of the block that owns ``memo``."""
        before, self.enclosing = self.enclosing, memo
        try:
            return compile_it()
        finally:
            self.enclosing = before

    # ------------------------------------------------------------------ common tables
    def common_tables(self, node: ast.Query | Any, outer: Scope, common: Common) -> Common:
        """The common tables visible in a statement, those of its WITH added."""
        with_ = node.with_
        if with_ is None:
            return common
        found = dict(common)
        names: set[str] = set()
        for table in with_.tables:
            name = table.name.lower()
            if name in names:
                raise self.context.fail(table, SqlError(239, table.name, aborts="scope"))
            names.add(name)
            found[name] = self._common_table(table, outer, dict(found))
        for table in with_.tables:
            if not any(refers(part, table.name) for part in _besides(node, with_, table)):
                found[table.name.lower()]()  # nobody reads it: its names are looked up all the same
        return found

    def _common_table(
        self, table: ast.CommonTable, outer: Scope, known: Common
    ) -> Callable[[], Rowset]:
        def make() -> Rowset:
            if refers(table.query, table.name):
                return self._recursive(table, outer, known)
            rowset = self.query(table.query, outer, known)
            return self._named(rowset, table)

        return make

    def _named(self, rowset: Rowset, table: ast.CommonTable) -> Rowset:
        columns = rename(rowset.columns, table.columns, table.name, self.context, table)
        if rowset.body is not None:
            rowset.body.shown = table.name
        return Rowset(columns, rowset.rows, rowset.correlated, rowset.paths, rowset.body)

    def _recursive(self, table: ast.CommonTable, outer: Scope, known: Common) -> Rowset:
        """anchors UNION ALL members: each member reads the rows of the round before."""
        body, members = split(table, self.context)
        anchor = self._named(self._body(body, outer, known), table)
        # Its columns take NULL whatever the anchor says (guidelines on the same page).
        columns = [replace(column, nullable=True) for column in anchor.columns]
        round_before: list[Any] = [[]]
        inner = dict(known)
        inner[table.name.lower()] = lambda: Rowset(
            columns, lambda session, variables, row: round_before[0], True
        )
        parts = [self._body(member, outer, inner) for member in members]
        for part in parts:
            check_types(table, columns, part.columns, self.context)
        pairs = [(part.rows, _converter(part.columns, columns)) for part in parts]
        return Rowset(
            columns,
            rounds(anchor.rows, pairs, round_before, self.max_recursion),
            anchor.correlated or any(part.correlated for part in parts),
            anchor.paths + [path for part in parts for path in part.paths],
        )

    # ------------------------------------------------------------------ set operations
    def _body(self, body: Any, outer: Scope, common: Common) -> Rowset:
        if isinstance(body, ast.Select):
            block = Block(body, Tail([]), outer, self, common)
            if any(item.variable is not None for item in block.items):
                raise self.context.fail(body, SqlError(10734, aborts="scope"))
            return block.rowset()
        if isinstance(body, ast.Query):
            return self.query(body, outer, common)
        left = self._body(body.left, outer, common)
        right = self._body(body.right, outer, common)
        if len(left.columns) != len(right.columns):
            raise self.context.fail(body, SqlError(205, aborts="scope"))
        columns = [_combined(one, two) for one, two in zip(left.columns, right.columns)]
        combine = _operation(body.op, columns)
        one, two = _converter(left.columns, columns), _converter(right.columns, columns)
        left_rows, right_rows = left.rows, right.rows
        return Rowset(
            columns,
            lambda session, variables, row: combine(
                session,
                one(left_rows(session, variables, row)),
                two(right_rows(session, variables, row)),
            ),
            left.correlated or right.correlated,
            left.paths + right.paths,
        )

    def _ordered(self, rowset: Rowset, node: ast.Query, outer: Scope) -> Rowset:
        columns = rowset.columns

        def match(item: ast.Expression) -> int:
            if isinstance(item, ast.ColumnRef) and len(item.parts) == 1:
                for number, column in enumerate(columns):
                    if column.name.lower() == item.parts[0].lower():
                        return number
            if isinstance(item, ast.ColumnRef):  # as the first SELECT of the set operation wrote it
                return written.get(tuple(part.lower() for part in item.parts), -1)
            return -1

        written = _written_columns(node.body)
        keys = sort_keys(node.order_by or [], columns, None, match, self.context)
        page = offset_of(node.offset, outer)
        inner, base = rowset.rows, scope_width(outer)

        def rows(session: SessionState, variables: Values, outer: RowValues) -> list[RowValues]:
            outer = fit(outer, base)
            pairs = [(outer, row) for row in inner(session, variables, outer)]
            found = [row for _, row in sort_pairs(pairs, keys, session, variables)]
            return found if page is None else page(session, variables, outer, found)

        return Rowset(columns, rows, rowset.correlated, rowset.paths)

    # ------------------------------------------------------------------ VALUES
    def values(self, node: ast.Values, outer: Scope) -> Rowset:
        """VALUES (..), (..) as rows; its columns have no names yet."""
        compiled = [[compile_expression(item, outer) for item in row] for row in node.rows]
        if len({len(row) for row in compiled}) > 1:
            raise self.context.fail(node, SqlError(10709, aborts="scope"))
        width = scope_width(outer)
        rowsets = []
        for row in compiled:
            columns = [
                QueryColumn("", e.type, e.nullable, None, e.collation, e.untyped) for e in row
            ]
            rowsets.append((columns, projection(row)))
        columns = rowsets[0][0]
        for other, _ in rowsets[1:]:
            columns = [_combined(one, two) for one, two in zip(columns, other)]
        lines = [(project, _converter(own, columns)) for own, project in rowsets]

        def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
            row = fit(row, width)
            return [convert([project(session, variables, row)])[0] for project, convert in lines]

        return Rowset(columns, rows, bool(width))


def _besides(node: ast.Query | Any, with_: ast.With, table: ast.CommonTable) -> Iterator[ast.Node]:
    """The parts of a statement that may read one of its common tables, itself left out."""
    yield from (part for part in node.children() if part is not with_)
    yield from (other.query for other in with_.tables if other is not table)


def _combined(one: QueryColumn, two: QueryColumn) -> QueryColumn:
    """A column over two branches: the first one's name, the common type."""
    if one.untyped or two.untyped:
        typed = two if one.untyped else one
        return QueryColumn(
            one.name, typed.type, True, None, typed.collation, one.untyped and two.untyped
        )
    return QueryColumn(
        one.name,
        common_type(one.type, two.type),
        one.nullable or two.nullable,
        None,
        one.collation or two.collation,
    )


def _converter(
    source: list[QueryColumn], target: list[QueryColumn]
) -> Callable[[list[RowValues]], list[RowValues]]:
    """Rows of one branch as rows of the combined types."""
    converts = [
        None if one.untyped or one.type is two.type else implicit_conversion(one.type, two.type)
        for one, two in zip(source, target)
    ]
    if not any(converts):
        return lambda rows: rows

    def run(rows: list[RowValues]) -> list[RowValues]:
        return [
            tuple([x if convert is None else convert(x) for convert, x in zip(converts, row)])
            for row in rows
        ]

    return run


def _operation(
    op: str, columns: list[QueryColumn]
) -> Callable[[SessionState, list[RowValues], list[RowValues]], list[RowValues]]:
    if op == "UNION ALL":
        return lambda session, left, right: left + right
    key = row_key(columns)
    if op == "UNION":
        return lambda session, left, right: distinct(session, left + right, key)

    def select(
        session: SessionState, left: list[RowValues], right: list[RowValues]
    ) -> list[RowValues]:
        known = {key(row) for row in distinct(session, right, key)}
        wanted = op == "INTERSECT"
        return [row for row in distinct(session, left, key) if (key(row) in known) is wanted]

    return select


def _written_columns(body: Any) -> dict[tuple[str, ...], int]:
    """The columns the first SELECT of a set operation lists, as written -> place."""
    while not isinstance(body, ast.Select):
        body = body.left if isinstance(body, ast.SetOperation) else body.body
    if any(isinstance(item.value, ast.Star) for item in body.items):
        return {}
    return {
        tuple(part.lower() for part in item.value.parts): number
        for number, item in reversed(list(enumerate(body.items)))
        if isinstance(item.value, ast.ColumnRef)
    }


HOOKS.query_compiler = QueryCompiler
