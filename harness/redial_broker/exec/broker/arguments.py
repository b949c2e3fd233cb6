"""Arguments of Service Broker statements: handles, names, numbers, message bodies."""

from __future__ import annotations

from codecs import BOM_UTF16_LE
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    INT,
    UNIQUEIDENTIFIER,
    VARBINARY_MAX,
    SqlType,
    nvarchar,
)
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion, explicit_conversion
from redial_broker.ssb.broker import Broker

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert, Value, Values
    from redial_broker.exec.session import SessionState


NAME = nvarchar(256)


def broker_of(context: Context) -> Broker:
    """The broker of the database the statement was compiled in. Raises SqlError 8442."""
    broker: Broker | None = context.database.broker
    if broker is None:
        raise SqlError(8442)
    return broker


def value(context: Context, node: ast.Expression, of: SqlType, what: str, statement: str) -> Value:
    """An expression converted to a type; 8402 when its type cannot be.

    what, statement: as error 8402 names them.
    """
    expr = context.expression(node)
    fn = expr.fn
    if expr.untyped:
        return lambda session, variables: None
    try:
        convert = compile_assignment_conversion(expr.type, of)
    except SqlError as error:
        if error.number not in {206, 257}:
            raise
        raise context.fail(node, SqlError(8402, what, statement, of, expr.type)) from None
    if expr.slot >= 0 and convert is None:
        slot = expr.slot
        return lambda session, variables: variables[slot]
    if convert is None:
        return lambda session, variables: fn(session, variables, ())

    def converted(session: SessionState, variables: Values) -> Any:
        found = fn(session, variables, ())
        return None if found is None else convert(found)

    return converted


def handle(context: Context, node: ast.Expression, statement: str) -> Value:
    """A conversation handle, in the form handles are kept in: upper-case text."""
    return value(context, node, UNIQUEIDENTIFIER, "conversation handle", statement)


def group(context: Context, node: ast.Expression, statement: str) -> Value:
    """A conversation group id."""
    return value(context, node, UNIQUEIDENTIFIER, "conversation group", statement)


def number(context: Context, node: ast.Expression, what: str, statement: str) -> Value:
    """An int."""
    return value(context, node, INT, what, statement)


def name(context: Context, node: ast.Expression, what: str, statement: str) -> Value:
    """A name given as identifier, string or variable."""
    if isinstance(node, ast.Identifier):
        text = node.text
        return lambda session, variables: text
    return value(context, node, NAME, what, statement)


def output(context: Context, node: ast.Variable, what: str, statement: str) -> int:
    """Slot of a uniqueidentifier variable a statement fills; 8402 for any other type."""
    found = context.scope.resolve_variable(node)
    if found.type is None or found.type.name != "uniqueidentifier":
        raise context.fail(node, SqlError(8402, what, statement, UNIQUEIDENTIFIER, found.type))
    return found.slot


def _marked(text: str) -> bytes:
    return BOM_UTF16_LE + text.encode("utf-16-le")


def body(context: Context, node: ast.Expression) -> Value:
    """A message body as bytes; NULL is error 8433, empty becomes None.

    nvarchar stays UTF-16LE without a byte order mark; xml is written with one (observed).
    """
    expr = context.expression(node)
    fn = expr.fn
    convert: Convert = (
        _marked if expr.type.name == "xml" else explicit_conversion(expr.type, VARBINARY_MAX)
    )

    if expr.type is VARBINARY_MAX and expr.slot >= 0:
        slot = expr.slot

        def stored(session: SessionState, variables: Values) -> bytes | None:
            found = variables[slot]
            if found is None:
                raise SqlError(8433)
            return found or None

        return stored

    def run(session: SessionState, variables: Values) -> bytes | None:
        found = fn(session, variables, ())
        if found is None:
            raise SqlError(8433)
        return convert(found) or None if found != "" else None

    return run
