"""Views: their query, compiled where they are used, with the names they were created with."""

from __future__ import annotations

from typing import Any

from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.objects import View
from redial_broker.exec.program import Program
from redial_broker.exec.query.rowset import QueryScope, Rowset, query_scope, scope_width


def view_rowset(view: View, context: Context, hints: list[Any] | None = None) -> Rowset:
    """The rows of a view. hints: given to the view, for all its tables."""
    program = Program(view.name, view.schema, view.database, view.source, view.object_id)
    inner = Context(program, Scope(source=view.source), context.session)
    inner.chain = view.database.owner_of(view)
    inner.inherited = (*context.inherited, *(hints or []))
    try:
        rowset = inner.query_compiler().query(view.query or view.node.query, inner.scope)
    except SqlError as error:
        if error.number in {207, 4104} and view.query is not None:  # a column of * is gone
            raise SqlError(4502, view.name) from None
        raise
    context.uses_temp = context.uses_temp or inner.uses_temp
    if rowset.body is not None:
        rowset.body.shown = view.name
        rowset.body.checked = view.node.check_option
    return rowset


def inside_view(rowset: Rowset, around: Scope) -> QueryScope:
    """The scope a view is compiled in again: names of its own place, values from around it."""
    own: Scope = rowset.body.block.outer
    scope = query_scope(around, (), scope_width(around))
    scope.source, scope.namespaces = own.source, own.namespaces
    scope.compile_subquery, scope.scalar_function = own.compile_subquery, own.scalar_function
    scope.user_type, scope.next_value = own.user_type, own.next_value
    return scope
