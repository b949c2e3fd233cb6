"""Values chosen by a condition: CASE, IIF, and the functions COALESCE, NULLIF, ISNULL, CHOOSE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, SqlType
from redial_broker.exec.conversion import common_type, compile_assignment_conversion
from redial_broker.exec.expressions.comparison import compare
from redial_broker.exec.expressions.expr import Expr, closure, fold, null
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import (
    compile_condition,
    compile_expression,
    compiles,
)
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState


def widest_type(results: Sequence[Expr]) -> SqlType | None:
    """The common type of several results; None when all of them are a bare NULL."""
    of: SqlType | None = None
    for result in results:
        if not result.untyped:
            of = result.type if of is None else common_type(of, result.type)
    return of


def unified(results: Sequence[Expr]) -> tuple[list[Expr], SqlType]:
    """The results converted to their common type; 8133 when every one is a bare NULL."""
    of = widest_type(results)
    if of is None:
        raise SqlError(8133, aborts="scope")
    return [converted(result, of) for result in results], of


def _collation_of(results: Sequence[Expr]) -> dict[str, Any]:
    for result in results:
        if result.collation is not None:
            return {"collation": result.collation}
    return {}


@compiles(ast.Case)
def _case(node: ast.Case, scope: Scope) -> Expr:
    if node.operand is None:
        tests = [
            compile_condition(cast("ast.Predicate", when.condition), scope) for when in node.whens
        ]
    else:
        operand = compile_expression(node.operand, scope)
        tests = [
            compare("=", operand, compile_expression(cast("ast.Expression", when.condition), scope))
            for when in node.whens
        ]
    results = [compile_expression(when.result, scope) for when in node.whens]
    otherwise = compile_expression(node.otherwise, scope) if node.otherwise else null()
    return _chosen(tests, results, otherwise)


def _chosen(tests: list[Fn], results: list[Expr], otherwise: Expr) -> Expr:
    everything, of = unified([*results, otherwise])
    nullable = any(result.nullable for result in everything)
    last = everything.pop().fn
    if len(tests) == 1:
        test, value = tests[0], everything[0].fn

        def run_one(session: SessionState, variables: Values, row: RowValues) -> Any:
            return (
                value(session, variables, row)
                if test(session, variables, row)
                else last(session, variables, row)
            )

        return Expr(run_one, of, nullable, **_collation_of(everything))
    arms = tuple((test, result.fn) for test, result in zip(tests, everything))

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        for test, value in arms:
            if test(session, variables, row):
                return value(session, variables, row)
        return last(session, variables, row)

    return Expr(run, of, nullable, **_collation_of(everything))


@compiles(ast.Iif)
def _iif(node: ast.Iif, scope: Scope) -> Expr:
    test = compile_condition(node.condition, scope)
    when_true = compile_expression(node.when_true, scope)
    when_false = compile_expression(node.when_false, scope)
    return _chosen([test], [when_true], when_false)


def coalesce(arguments: Sequence[Expr]) -> Expr:
    """The first argument that is not NULL, in the common type of all."""
    parts, of = unified(arguments)
    fns = tuple(part.fn for part in parts)

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        for fn in fns:
            value = fn(session, variables, row)
            if value is not None:
                return value
        return None

    nullable = all(part.nullable for part in parts)
    return fold(Expr(run, of, nullable, **_collation_of(parts)), parts)


def isnull(check: Expr, replacement: Expr) -> Expr:
    """ISNULL: the type of the first argument, to which the second is converted (and cut)."""
    if check.untyped:
        return replacement
    if replacement.untyped:
        return check
    convert = compile_assignment_conversion(replacement.type, check.type)
    if convert is not None:
        made = Expr(
            closure("return f(x0)", [replacement], f=convert), check.type, replacement.nullable
        )
        replacement = fold(made, [replacement])
    body = "if x0 is not None: return x0\nreturn x1"
    if replacement.simple:
        fn = closure(body, [check, replacement], strict=False)
    else:
        other = replacement.fn
        fn = closure(
            "if x0 is not None: return x0\nreturn other(session, variables, row)",
            [check],
            strict=False,
            other=other,
        )
    return fold(
        Expr(
            fn,
            check.type,
            check.nullable and replacement.nullable,
            collation=check.collation,
            explicit=check.explicit,
        ),
        [check, replacement],
    )


def nullif(left: Expr, right: Expr) -> Expr:
    """The first argument, or NULL when both are equal."""
    if left.untyped:
        raise SqlError(4151, aborts="scope")
    equal, value = compare("=", left, right), left.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        return None if equal(session, variables, row) else value(session, variables, row)

    return Expr(run, left.type, collation=left.collation)


def choose(index: Expr, items: Sequence[Expr]) -> Expr:
    """CHOOSE: the item at a 1-based position, NULL outside."""
    at = converted(index, INT).fn
    parts, of = unified(items)
    fns = tuple(part.fn for part in parts)

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        position = at(session, variables, row)
        if position is None or not 1 <= position <= len(fns):
            return None
        return fns[position - 1](session, variables, row)

    return Expr(run, of, **_collation_of(parts))
