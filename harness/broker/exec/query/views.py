"""Views: their query, compiled where they are used, with the names they were created with."""

from __future__ import annotations

from typing import Any

from harness.broker.exec.compiler import Context
from harness.broker.exec.expressions.scope import Scope
from harness.broker.exec.objects import View
from harness.broker.exec.program import Program
from harness.broker.exec.query.rowset import Rowset


def view_rowset(view: View, context: Any) -> Rowset:
    """The rows of a view."""
    from harness.broker.exec.query.compile import QueryCompiler

    program = Program(view.name, view.schema, view.database, view.source, view.object_id)
    inner = Context(program, Scope(source=view.source), context.session)
    rowset = QueryCompiler(inner).query(view.node.query, inner.scope)
    context.uses_temp = context.uses_temp or inner.uses_temp
    return rowset
