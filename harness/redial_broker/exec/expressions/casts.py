"""CAST, CONVERT, PARSE and their TRY_ forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, SqlType
from redial_broker.exec.conversion import bare, explicit_conversion, resolve_type
from redial_broker.exec.conversion.declared import CAST
from redial_broker.exec.conversion.rules import is_number, shown_name
from redial_broker.exec.expressions.expr import Expr, closure, constant, fold
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions.cultures import parse_cast

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.Cast)
def _cast(node: ast.Cast, scope: Scope) -> Expr:
    if node.function in {"PARSE", "TRY_PARSE"}:
        return parse_cast(node, scope)
    operand = compile_expression(node.operand, scope)
    target = resolve_type(
        node.data_type, CAST, scope.user_type, scope.position(node.data_type), scope.xml_type
    )
    style = _style(node, scope)
    try_ = node.function.startswith("TRY_")
    if operand.untyped:
        return replace(constant(None, target), literal=False)
    if callable(style):
        return _dynamic_style(operand, target, style, try_)
    convert = explicit_conversion(operand.type, target, style, try_)
    result = Expr(
        closure("return f(x0)", [operand], f=bare(convert)),
        target,
        operand.nullable or try_,
        collation=_kept_collation(operand, target),
    )
    return fold(result, [operand])


def _kept_collation(operand: Expr, target: SqlType) -> Collation | None:
    return operand.collation if target.is_string else None


def _style(node: ast.Cast, scope: Scope) -> Any:
    """None, the style number, or the closure that yields it at run time."""
    if node.style is None:
        return None
    style = compile_expression(node.style, scope)
    if not style.untyped:
        if not is_number(style.type):
            raise SqlError(8116, shown_name(style.type), 3, node.function.lower(), aborts="scope")
        style = converted(style, INT)
    if not style.constant:
        return style.fn
    return None if style.value is None else int(style.value)


def _dynamic_style(operand: Expr, target: SqlType, style: Any, try_: bool) -> Expr:
    inner, source, made = operand.fn, operand.type, {}

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        wanted = style(session, variables, row)
        if wanted is None:
            return None
        if wanted not in made:
            made[wanted] = explicit_conversion(source, target, wanted, try_)
        return made[wanted](inner(session, variables, row))

    return Expr(run, target)
