"""SET column.modify(...) and SET column.WRITE(...): a column changed through a method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, MAX
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr, column
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.sources import Source
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.xml.methods import compile_modify

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

__all__ = ["column_method"]


@compiles(ast.SetMethod, shared=False)
def set_method(node: ast.SetMethod, context: Context) -> Run:
    """SET @x.modify('dml'): the variable gets the changed instance."""
    variable = node.call.target
    if not isinstance(variable, ast.Variable):
        raise context.fail(node, SqlError(102, ".", severity=15, aborts="scope"))
    target = context.scope.resolve_variable(variable)
    value = compile_modify(node.call, target, context.scope, variable.name)
    slot, fn = target.slot, value.fn
    convert = compile_assignment_conversion(value.type, target.type)

    def assign(session: SessionState, variables: Values) -> None:
        changed = fn(session, variables, ())
        variables[slot] = changed if convert is None else convert(changed)
        session.rowcount = 1

    return assign


def column_method(
    node: ast.ColumnMethod, source: Source, scope: Scope, context: Context
) -> tuple[int, Expr]:
    """(ordinal, new value) of a column changed through a method in a SET clause.

    source: the target of the statement. Raises 207 for an unknown column, 258 for one without
    methods, 8113 for a method that changes nothing.
    """
    call = node.call
    target = cast("ast.ColumnRef", call.target)
    if len(target.parts) > 1:
        raise context.fail(node, SqlError(102, ".", severity=15, aborts="scope"))
    name = target.parts[-1]
    ordinal = source.stored.ordinals.get(name.lower())
    if ordinal is None:
        raise context.fail(node, SqlError(207, name))
    # Another source of the statement may have a column of that name: the target's is meant.
    definition = source.stored.columns[ordinal]
    old = column(source.offset + ordinal, definition.type, definition.nullable)
    if call.method.upper() == "WRITE":
        return ordinal, _write(call, old, scope, name)
    before = f"{source.written}.{definition.name}." if source.written else ""
    return ordinal, compile_modify(call, old, scope, name, before)


def _write(call: ast.MethodCall, old: Expr, scope: Scope, name: str) -> Expr:
    """.WRITE (expression, @Offset, @Length) of a (max) column ("UPDATE" page).

    NULL as the offset appends; NULL as the length goes to the end; NULL as the expression cuts.
    """
    if old.type.length != MAX or old.type.name not in {"varchar", "nvarchar", "varbinary"}:
        raise SqlError(258, old.type.name, aborts="scope")
    if len(call.arguments) != 3:
        raise SqlError(174, "WRITE", 3, aborts="scope")
    given, offset, length = (compile_expression(item, scope) for item in call.arguments)
    parts = [old, converted(given, old.type), converted(offset, BIGINT), converted(length, BIGINT)]
    splice = _splice(name)
    fns = tuple(part.fn for part in parts)
    return Expr(
        lambda session, variables, row: splice(*[fn(session, variables, row) for fn in fns]),
        old.type,
    )


def _splice(name: str) -> Callable[..., Any]:
    def run(value: Any, given: Any, offset: int | None, length: int | None) -> Any:
        if value is None:
            raise SqlError(5302, "WRITE", name)
        if offset is None:
            return value if given is None else value + given
        if not 0 <= offset <= len(value):
            raise SqlError(7116, offset)
        if length is not None and length < 0:
            raise SqlError(7135, length)
        if given is None:
            return value[:offset]
        end = len(value) if length is None else offset + length
        return value[:offset] + given + value[end:]

    return run
