"""Conditions over several values: BETWEEN, IN, EXISTS, ANY and ALL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.expressions.comparison import aligned, compare
from redial_broker.exec.expressions.expr import Expr, closure
from redial_broker.exec.expressions.logic import conjunction, disjunction, negation
from redial_broker.exec.expressions.operands import column_type, subquery
from redial_broker.exec.expressions.registry import compile_expression, condition
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Test, Values
    from redial_broker.exec.session import SessionState

_SET_FROM = 4


@condition(ast.Between)
def _between(node: ast.Between, scope: Scope) -> Test:
    operand, low, high = (
        compile_expression(part, scope) for part in (node.operand, node.low, node.high)
    )
    inside = conjunction([compare(">=", operand, low), compare("<=", operand, high)])
    return negation(inside) if node.negated else inside


@condition(ast.InList)
def _in_list(node: ast.InList, scope: Scope) -> Test:
    operand = compile_expression(node.operand, scope)
    items = [compile_expression(item, scope) for item in node.items]
    found = _constant_set(operand, items) or disjunction(
        [compare("=", operand, item) for item in items]
    )
    return negation(found) if node.negated else found


def _constant_set(operand: Expr, items: list[Expr]) -> Test | None:
    """A hash look-up for long lists of constants of one type; None when the list is not such."""
    if len(items) < _SET_FROM or not all(item.constant and not item.untyped for item in items):
        return None
    shapes = [aligned("=", operand, item) for item in items]
    first, _, key = shapes[0]
    if any(left.type.name != first.type.name or other is not key for left, _, other in shapes):
        return None
    values = [right.value for _, right, _ in shapes]
    if any(value is None for value in values):
        return None
    if key is None:
        return closure("return x0 in found", [first], found=frozenset(values))
    return closure(
        "return key(x0) in found", [first], key=key, found=frozenset(key(value) for value in values)
    )


@condition(ast.Exists)
def _exists(node: ast.Exists, scope: Scope) -> Test:
    return subquery(node.query, scope, node).exists


@condition(ast.InQuery)
def _in_query(node: ast.InQuery, scope: Scope) -> Test:
    found = _quantified("=", "ANY", node.operand, node.query, scope, node)
    return negation(found) if node.negated else found


@condition(ast.QuantifiedComparison)
def _quantified_comparison(node: ast.QuantifiedComparison, scope: Scope) -> Test:
    return _quantified(node.op, node.quantifier, node.left, node.query, scope, node)


def _quantified(
    op: str, quantifier: str, left: ast.Expression, query: ast.Query, scope: Scope, node: ast.Node
) -> Test:
    """ANY is an OR over the rows, ALL an AND; no rows give False and True."""
    operand = compile_expression(left, scope)
    inner = subquery(query, scope, node)
    if len(inner.columns) != 1:
        raise SqlError(116)
    rows, value = inner.rows, operand.fn
    # The comparison sees the operand as local 0 and the row's value as column 0.
    one = Expr(
        lambda session, variables, row: variables[0],
        operand.type,
        slot=0,
        collation=operand.collation,
        explicit=operand.explicit,
    )
    two = Expr(lambda session, variables, row: row[0], column_type(inner.columns[0]), index=0)
    test = compare(op, one, two)
    decisive = quantifier == "ANY"

    def run(session: SessionState, variables: Values, outer: RowValues) -> bool | None:
        held: Any = (value(session, variables, outer),)  # not a list: nothing is assigned to it
        result: bool | None = not decisive
        for row in rows(session, variables, outer):
            outcome = test(session, held, row)
            if outcome is decisive:
                return decisive
            if outcome is None:
                result = None
        return result

    return run
