"""CURSOR_STATUS: what has become of a cursor.

Source: "CURSOR_STATUS" page. Its table gives -2 and -3 for a variable no cursor was assigned to;
which of them is a switch (F-213); -3 is a variable that is not declared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.types import SMALLINT
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.functions.registry import Call, function
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@function("CURSOR_STATUS", 2)
def _cursor_status(call: Call) -> Expr:
    names = [
        argument.value if isinstance(argument, ast.Literal) else None
        for argument in call.node.arguments
    ]
    first, second = names
    if not isinstance(first, str) or not isinstance(second, str):
        raise call.refuse("CURSOR_STATUS of anything but two string constants")
    source, name = first.lower(), second.lower()
    known = call.scope.variables.get(name)
    slot = known[0] if known is not None and known[1] is None else -1

    def run(session: SessionState, variables: Values, row: RowValues) -> int | None:
        if source == "variable":
            if slot < 0:
                return -3
            cursor = session.cursors.get(variables[slot]) if variables[slot] is not None else None
            if cursor is None:
                unassigned: int = value(session.engine, "cursor_status_unassigned")
                return unassigned
            return _status(cursor)
        if source not in {"local", "global"}:
            return None
        cursor = session.cursors.get(
            (len(session.frames), name) if source == "local" else ("", name)
        )
        return -3 if cursor is None or not cursor.named else _status(cursor)

    return Expr(run, SMALLINT)


def _status(cursor: Any) -> int:
    """1 open, 0 open and certainly empty, -1 closed; a dynamic cursor is never certainly empty."""
    if cursor.rows is None:
        return -1
    return 1 if cursor.kind == "DYNAMIC" or cursor.rows else 0
