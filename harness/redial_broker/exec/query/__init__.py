"""SELECT: binding of names, access paths, joins, grouping, windows, ordering, results."""

from typing import Any


def explain(node: Any, context: Any) -> list[str]:
    """The access paths of a SELECT statement, one line per stored table (for tests)."""
    rowset = context.query_compiler().query(node.query, context.scope)
    return [str(path) for path in rowset.paths]
