"""Conditions built from conditions: three-valued AND, OR and NOT, and IS NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.exec.expressions.expr import closure
from redial_broker.exec.expressions.registry import (
    compile_condition,
    compile_expression,
    condition,
)
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Test, Values
    from redial_broker.exec.session import SessionState


@condition(ast.And)
def _and(node: ast.And, scope: Scope) -> Test:
    return conjunction([compile_condition(operand, scope) for operand in node.operands])


def conjunction(parts: Sequence[Test]) -> Test:
    """All of them: False as soon as one is False, else None if one is None."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return _and_two(*parts)

    def run(session: SessionState, variables: Values, row: RowValues) -> bool | None:
        result: bool | None = True
        for part in parts:
            value = part(session, variables, row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return run


def _and_two(one: Test, two: Test) -> Test:
    def run(session: SessionState, variables: Values, row: RowValues) -> bool | None:
        first = one(session, variables, row)
        if first is False:
            return False
        second = two(session, variables, row)
        return second if first or second is False else None

    return run


@condition(ast.Or)
def _or(node: ast.Or, scope: Scope) -> Test:
    return disjunction([compile_condition(operand, scope) for operand in node.operands])


def disjunction(parts: Sequence[Test]) -> Test:
    """Any of them: True as soon as one is True, else None if one is None."""
    if len(parts) == 1:
        return parts[0]

    def run(session: SessionState, variables: Values, row: RowValues) -> bool | None:
        result: bool | None = False
        for part in parts:
            value = part(session, variables, row)
            if value:
                return True
            if value is None:
                result = None
        return result

    return run


@condition(ast.Not)
def _not(node: ast.Not, scope: Scope) -> Test:
    return negation(compile_condition(node.operand, scope))


def negation(part: Test) -> Test:
    """NOT: unknown stays unknown."""

    def run(session: SessionState, variables: Values, row: RowValues) -> bool | None:
        value = part(session, variables, row)
        return None if value is None else not value

    return run


@condition(ast.IsNull)
def _is_null(node: ast.IsNull, scope: Scope) -> Test:
    operand = compile_expression(node.operand, scope)
    test = "x0 is not None" if node.negated else "x0 is None"
    return closure(f"return {test}", [operand], strict=False)


@condition(ast.UpdatedColumn)
def _updated(node: ast.UpdatedColumn, scope: Scope) -> Test:
    if scope.updated_column is None:
        raise scope.refuse("UPDATE(column) outside a trigger", node)
    updated: Test = scope.updated_column(node.column.text)
    return updated
