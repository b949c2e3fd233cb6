"""SELECT: binding of names, access paths, joins, grouping, windows, ordering, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial_broker.exec.context import Context


def explain(node: Any, context: Context) -> list[str]:
    """The access paths of a SELECT statement, one line per stored table (for tests)."""
    rowset = context.query_compiler().query(node.query, context.scope)
    return [str(path) for path in rowset.paths]
