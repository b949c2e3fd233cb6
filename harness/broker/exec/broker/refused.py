"""Service Broker statements that reach beyond the instance: refused by name and position."""

from __future__ import annotations

from harness.broker.exec.compiler import Context, Run, compiles
from harness.tsql import ast

_REFUSED = {
    ast.CreateEventNotification: "CREATE EVENT NOTIFICATION",
    ast.DropEventNotification: "DROP EVENT NOTIFICATION",
}


@compiles(*_REFUSED)
def compile_refused(node: ast.Statement, context: Context) -> Run:
    """Raises NotSupported."""
    raise context.not_supported(node, _REFUSED[type(node)])
