"""FROM: the source that each kind of leaf is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.inside import once
from redial_broker.engine.storage import Table
from redial_broker.exec import documented
from redial_broker.exec.conversion.rules import XML_NODES
from redial_broker.exec.dml.nested import nested_rowset
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.objects import TABLE_FUNCTIONS, View, VirtualTable
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.broker_names import named_columns
from redial_broker.exec.query.hints import DIRTY, LEVELS, Hints, parse_hints
from redial_broker.exec.query.pivot import pivoted, unpivoted
from redial_broker.exec.query.rowset import QueryColumn, QueryScope, query_scope, scope_width
from redial_broker.exec.query.rowset_functions import rowset_function
from redial_broker.exec.query.sources import (
    Source,
    guarded,
    rename,
    resolve_object,
    table_columns,
    table_variable,
    template_table,
)
from redial_broker.exec.query.through import (
    binding_error,
    chained,
    refuse_on_view,
    with_inherited,
)
from redial_broker.exec.query.views import inside_view, view_rowset
from redial_broker.exec.routines import table_function
from redial_broker.exec.xml.methods import compile_nodes, receiver

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.query.rowset import Rowset
    from redial_broker.exec.session import SessionState


class Binder:
    """Makes sources of the leaves of a FROM clause.

    compile_query(query, scope) -> Rowset compiles a query inside it; outer: the scope around the
    FROM clause; common: name -> function that makes the rowset of a common table expression.
    """

    def __init__(
        self,
        context: Context,
        compile_query: Callable[..., Any],
        outer: Scope,
        common: dict[str, Callable[[], Any]],
    ) -> None:
        self.context = context
        self.outer = outer
        self.compile_query = compile_query
        self.common = common
        self.inside: list[QueryScope] = []

    @property
    def outside(self) -> bool:
        """Whether a query or a function in FROM reads columns of the queries around."""
        return any(scope.outside for scope in self.inside)

    def leaf(self, node: ast.TableSource, left: list[Source] | None = None) -> Source:
        """The source of a leaf node. left: the sources an APPLY may read, None elsewhere."""
        source = self._leaf(node, left)
        if isinstance(node, ast.TableRef):
            source.written = ".".join(node.name.parts)
        source.alias = getattr(node, "alias", None) or source.written
        return source

    def _leaf(self, node: ast.TableSource, left: list[Source] | None) -> Source:
        if isinstance(node, ast.TableRef):
            return self._named(node)
        if isinstance(node, ast.VariableTable):
            return self._variable(node)
        if isinstance(node, ast.DerivedTable):
            return self._derived(node, left)
        if isinstance(node, ast.NodesTable):
            return self._nodes(node, left or [])
        if isinstance(node, ast.FunctionTable):
            built_in = self._built_in(node, left)
            if built_in is not None:
                return built_in
            if node.call.name.name.lower() in TABLE_FUNCTIONS:
                return self._function(node, left)
            found = self._user_function(node, left)
            if found is not None:
                return found
            raise self._no_function(node)
        if isinstance(node, (ast.Pivot, ast.Unpivot)):
            return self._turned(node, left)
        raise self.context.not_supported(node, f"{type(node).__name__} in FROM")

    def _built_in(self, node: ast.FunctionTable, left: list[Source] | None) -> Source | None:
        """OPENJSON, STRING_SPLIT and GENERATE_SERIES; inside an APPLY once per row."""
        made = rowset_function(node, self._scope(left), self.context)
        return (
            None
            if made is None
            else Source(made[1], (made[0],), rows=made[2], lateral=left is not None)
        )

    def _no_function(self, node: ast.FunctionTable) -> SqlError:
        """A function in FROM that is none of ours: refused by name, or unknown to a server too."""
        called = node.call.name
        name = ".".join(called.parts)
        if documented.rowset(called.schema, called.name):
            return self.context.not_supported(node, f"the table-valued function {name}")
        return self.context.fail(node, SqlError(208, name))

    def _turned(self, node: ast.Pivot | ast.Unpivot, left: list[Source] | None) -> Source:
        if node.alias is None:
            raise self.context.fail(node, SqlError(102, ")", severity=15))
        scope = self._scope(left)

        def compile_it(query: ast.Query) -> Rowset:
            inner: Rowset = self.compile_query(query, scope)
            return inner

        if isinstance(node, ast.Pivot):
            rowset = pivoted(node, compile_it, self.context)
        else:
            rowset = unpivoted(node, compile_it, self.context)
        return self._of_rowset(rowset, node.alias.lower(), None, node, left is not None)

    def _function(self, node: ast.FunctionTable, left: list[Source] | None) -> Source:
        """A table-valued function of the catalog; DEFAULT as an argument is NULL."""
        columns, answer, types = TABLE_FUNCTIONS[node.call.name.name.lower()]
        if len(node.call.arguments) != len(types):
            wrong = 313 if len(node.call.arguments) < len(types) else 8144
            raise self.context.fail(node, SqlError(wrong, ".".join(node.call.name.parts)))
        arguments = [
            None
            if isinstance(part, ast.DefaultValue)
            else converted(compile_expression(part, self._scope(left)), of).fn
            for part, of in zip(node.call.arguments, types)
        ]

        def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
            return list(
                answer(
                    session,
                    [None if fn is None else fn(session, variables, row) for fn in arguments],
                )
            )

        name = (node.alias or node.call.name.name).lower()
        return Source(
            [QueryColumn(c.name, c.type, c.nullable) for c in columns],
            (name,),
            rows=rows,
            lateral=left is not None,
        )

    def _user_function(self, node: ast.FunctionTable, left: list[Source] | None) -> Source | None:
        """A table-valued function of the database; inside an APPLY once per row."""
        made = table_function(node, self._scope(left), self.context)
        if made is None:
            return None
        if node.schema or node.hints:
            raise self.context.not_supported(node, "WITH behind a table-valued function")
        function, found, rows = made
        alias = (node.alias or function.name).lower()
        columns = rename(found, node.columns, alias, self.context, node)
        return Source(columns, (alias,), rows=rows, lateral=left is not None)

    def _scope(self, left: list[Source] | None) -> Scope:
        """The scope a query in FROM is compiled in: inside an APPLY it sees the sources before it."""
        columns = [column for source in left or () for column in source.scope_columns()]
        width = scope_width(self.outer) + sum(source.width for source in left or ())
        self.inside.append(query_scope(self.outer, columns, width))
        return self.inside[-1]

    # ------------------------------------------------------------------ by name
    def _named(self, node: ast.TableRef) -> Source:
        context = self.context
        if node.sample is not None:
            raise context.not_supported(node, "TABLESAMPLE")
        for hint in node.hints:
            if hint.name == "NOEXPAND":  # no view has an index here
                raise context.fail(
                    hint, SqlError(8171, "noexpand", ".".join(node.name.parts), aborts="scope")
                )
        hints = parse_hints(node.hints, context)
        lowered = node.name.name.lower()
        if len(node.name.parts) == 1 and lowered in self.common:
            before, context.inherited = context.inherited, (*context.inherited, *node.hints)
            try:
                rowset = self.common[lowered]()
            finally:
                context.inherited = before
            return self._of_rowset(rowset, (node.alias or node.name.name).lower(), None, node)
        if len(node.name.parts) == 1 and lowered in context.table_variables:
            return self._images(node)  # inserted and deleted of a trigger
        found = resolve_object(node.name, context)
        qualifiers = self._qualifiers(node, found)
        securable = None if chained(found, context) else found
        if isinstance(found, Table):
            hints = with_inherited(node, found, hints, context)
            return Source(table_columns(found), qualifiers, found, hints=hints, securable=securable)
        if isinstance(found, VirtualTable):
            columns = named_columns(found.columns, found.broker_names, context)
            waits = found.settle is not None and not hints.names & DIRTY
            source = Source(
                columns,
                qualifiers,
                rows=_of_view(found, waits),
            )
            for ordinal, column in enumerate(columns):
                if column.name in found.lookups:
                    source.lookups[ordinal] = _lookup(found, column.name, waits)
            return source
        if isinstance(found, View):
            return self._view(found, node, qualifiers, securable)
        if hasattr(found, "select_columns"):
            return self._queue(found, hints, qualifiers, securable)
        raise context.fail(node, SqlError(208, ".".join(node.name.parts)))

    def _qualifiers(self, node: ast.TableRef, found: Any) -> tuple[str, ...]:
        if node.alias is not None:
            return (node.alias.lower(),)
        schema = (getattr(found, "schema", None) or "dbo").lower()
        return (self.context.database.name.lower(), schema, node.name.name.lower())

    def _queue(
        self, queue: Any, hints: Hints, qualifiers: tuple[str, ...], securable: Any
    ) -> Source:
        nolock = bool(hints.names & {"NOLOCK", "READUNCOMMITTED"})
        leveled = bool(hints.names & LEVELS)

        def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
            if session.isolation == "snapshot" and not leveled:
                raise NotSupported(
                    "SELECT from a queue under SNAPSHOT without a hint for another "
                    "isolation level: queues keep no row versions"
                )
            found: list[RowValues] = once(session, queue.name, queue.select_rows, session, nolock)
            return found

        columns = named_columns(queue.select_columns, queue.broker_names, self.context)
        return Source(
            columns, qualifiers, hints=hints, securable=securable, rows=guarded(securable, rows)
        )

    def _view(
        self, view: View, node: ast.TableRef, qualifiers: tuple[str, ...], securable: Any
    ) -> Source:
        refuse_on_view(node, self.context)
        try:
            rowset = view_rowset(view, self.context, node.hints)
        except SqlError as error:
            raise binding_error(error, view, node, self.context) from None
        source = self._of_rowset(rowset, "", view.node.columns, node)
        source.qualifiers = qualifiers
        source.securable = securable
        source.rows = guarded(securable, rowset.rows)
        if source.body is not None:
            source.body.shown = ".".join(node.name.parts)
            source.scope, source.view = inside_view(rowset, self.outer), rowset
        return source

    def written(self, node: ast.TableSource, source: Source, choice: Choice) -> Source:
        """A view, derived or common table as the target of a data change.

        Raises 4403 to 4406, 4418 to 4421, 4426 for one that cannot be.
        """
        body = source.body
        if body is None:
            if isinstance(node, ast.TableRef):
                raise self.context.fail(
                    node, SqlError(4426, ".".join(node.name.parts), aborts="scope")
                )
            raise self.context.not_supported(node, f"{type(node).__name__} as a target")
        body.derived = isinstance(node, ast.DerivedTable)
        body.shown = body.shown or source.qualifiers[-1]
        source.choice = choice
        try:
            source.narrowed([])
        except SqlError as error:
            raise (error if error.line else self.context.fail(node, error)) from None
        return source

    # ------------------------------------------------------------------ other leaves
    def _variable(self, node: ast.VariableTable) -> Source:
        slot, definition = table_variable(node.variable, self.context)
        table = template_table(definition, self.context)
        name = (node.alias or node.variable.name).lower()
        return Source(table_columns(table), (name,), table, slot=slot)

    def _images(self, node: ast.TableRef) -> Source:
        slot, definition = self.context.table_variables[node.name.name.lower()]
        table = template_table(definition, self.context)
        name = (node.alias or node.name.name).lower()
        return Source(table_columns(table), (name,), table, slot=slot)

    def _derived(self, node: ast.DerivedTable, left: list[Source] | None) -> Source:
        scope = self._scope(left)
        if isinstance(node.query, (ast.Query, ast.Values)):
            rowset = self.compile_query(node.query, scope, left is not None)
        elif node is self.context.nesting:
            rowset = nested_rowset(node, self.context)
        else:
            raise self.context.fail(node, SqlError(10729, aborts="scope"))
        if node.alias is None:
            raise self.context.fail(node, SqlError(102, ")", severity=15))
        source = self._of_rowset(rowset, node.alias.lower(), node.columns, node, left is not None)
        source.scope = scope
        return source

    def _nodes(self, node: ast.NodesTable, left: list[Source]) -> Source:
        scope = self._scope(left)
        rows_of = compile_nodes(node.call, scope)
        if node.alias is None or not node.columns or len(node.columns) != 1:
            raise self.context.fail(node, SqlError(102, ")", severity=15))
        columns = [QueryColumn(node.columns[0], XML_NODES)]
        return Source(
            columns,
            (node.alias.lower(),),
            lateral=True,
            rows=lambda session, variables, row: [
                (item,) for item in rows_of(session, variables, row)
            ],
            written=receiver(node.call.target, scope).rstrip("."),
        )

    def _of_rowset(
        self,
        rowset: Rowset,
        alias: str,
        names: list[str] | None,
        node: ast.Node,
        lateral: bool = False,
    ) -> Source:
        columns = rename(rowset.columns, names, alias, self.context, node)
        return Source(
            columns,
            (alias,),
            rows=rowset.rows,
            lateral=lateral and rowset.correlated,
            paths=rowset.paths,
            body=rowset.body,
            scope=self.outer,
        )


def _of_view(view: VirtualTable, waits: bool) -> Rows:
    """Rows of a system view. waits: a plain read waits for uncommitted work."""

    def read(session: SessionState) -> list[RowValues]:
        if waits:
            view.wait_for_others(session)
        return view.rows(session)

    return lambda session, variables, row: once(session, view.name, read, session)


def _lookup(view: VirtualTable, column: str, waits: bool) -> Callable[[Any, Any], list[RowValues]]:
    def read(session: SessionState, value: Any) -> list[RowValues]:
        if waits:
            view.wait_for_others(session)
        return view.rows_with(session, column, value)

    return lambda session, value: once(session, view.name, read, session, value)
