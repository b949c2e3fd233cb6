"""Operands: names, constants, subqueries; and bringing two of them to one type."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import DEFAULT, Collation, find_collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    FLOAT,
    INT,
    MAX,
    SqlType,
    decimal_type,
    sql_type,
    varbinary,
)
from redial_broker.exec.conversion import bare, implicit_conversion
from redial_broker.exec.conversion.rules import OLD_LARGE
from redial_broker.exec.conversion.text import units
from redial_broker.exec.expressions.expr import Expr, closure, constant, fold, null
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.query.rowset import QueryColumn
    from redial_broker.exec.query.subqueries import Subquery
    from redial_broker.exec.session import SessionState


def string_type(text: str, unicode: bool) -> SqlType:
    """The type of a string constant: as long as it is, at least 1, (max) beyond the limits."""
    length = max(1, units(text))
    if length > (4000 if unicode else 8000):
        length = MAX
    return sql_type("nvarchar" if unicode else "varchar", length)


def decimal_type_of(value: Decimal) -> SqlType:
    """The numeric type of a decimal constant: its digits as written."""
    _, digits, power = value.as_tuple()
    exponent = int(power)  # a letter only of a value that is no number
    scale = max(0, -exponent)
    whole = max(1 if not scale else 0, len(digits) + exponent)
    return decimal_type(max(1, whole + scale), scale, "numeric")


_MONEY_MAX = Decimal("922337203685477.5807")


@compiles(ast.Literal)
def _literal(node: ast.Literal, scope: Scope) -> Expr:
    kind = node.kind
    value: Any = node.value  # of the type that the kind says
    if kind == "null":
        return null()
    if kind == "int":
        return constant(value, INT, literal=True)
    if kind in {"string", "nstring"}:
        return constant(value, string_type(value, kind == "nstring"), literal=True)
    if kind == "binary":
        return constant(
            value, varbinary(max(1, len(value)) if len(value) <= 8000 else MAX), literal=True
        )
    if kind == "float":
        return constant(value, FLOAT, literal=True)
    if kind == "money":
        if abs(value) > _MONEY_MAX:
            raise SqlError(8115, "numeric", "money")
        return constant(value.quantize(Decimal("0.0001")), sql_type("money"), literal=True)
    of = decimal_type_of(value)
    if of.precision > 38:
        raise SqlError(1007, f"{value:f}")
    return constant(value, of, literal=True)


@compiles(ast.Variable)
def _variable(node: ast.Variable, scope: Scope) -> Expr:
    return scope.resolve_variable(node)


@compiles(ast.ColumnRef)
def _column(node: ast.ColumnRef, scope: Scope) -> Expr:
    return scope.resolve_column(node)


@compiles(ast.Identifier)
def _identifier(node: ast.Identifier, scope: Scope) -> Expr:
    return scope.resolve_column(ast.ColumnRef(node.pos, node.end, (node.text,)))


@compiles(ast.Collate)
def _collate(node: ast.Collate, scope: Scope) -> Expr:
    operand = compile_expression(node.operand, scope)
    if not operand.type.is_string:
        raise SqlError(447, operand.type.name)
    found = find_collation(node.collation)
    if found is None:
        raise scope.refuse(f"collation {node.collation}", node)
    return replace(operand, collation=found, explicit=True)


@compiles(ast.ScalarSubquery)
def _scalar_subquery(node: ast.ScalarSubquery, scope: Scope) -> Expr:
    query = subquery(node.query, scope, node)
    if len(query.columns) != 1:
        raise SqlError(116)
    type_ = column_type(query.columns[0])
    if type_.name in OLD_LARGE:
        raise SqlError(279, aborts="scope")
    rows = query.rows

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        found = rows(session, variables, row)
        if not found:
            return None
        if len(found) > 1:
            raise SqlError(512)
        return found[0][0]

    return Expr(run, type_)


def subquery(query: ast.Query, scope: Scope, node: ast.Node) -> Subquery:
    """Compile a nested query through the statement compiler's hook."""
    if scope.compile_subquery is None:
        raise SqlError(1046, line=scope.line(node), aborts="scope")
    return scope.compile_subquery(query, scope)


def column_type(of: SqlType | QueryColumn) -> SqlType:
    """The SqlType of a subquery column, given as such or as a ResultColumn."""
    return of if isinstance(of, SqlType) else of.type


def converted(expr: Expr, target: SqlType) -> Expr:
    """The operand as the target type, implicitly; itself when nothing changes."""
    if expr.untyped:
        return constant(None, target)
    if expr.type is target:
        return expr
    convert = implicit_conversion(expr.type, target)
    if convert is None:
        return expr.retyped(target)
    result = Expr(
        closure("return f(x0)", [expr], f=bare(convert)),
        target,
        expr.nullable,
        collation=expr.collation if target.is_string else None,
        explicit=expr.explicit,
    )
    return fold(result, [expr])


def common_collation(left: Expr, right: Expr) -> Collation:
    """The collation of an operation on two strings: explicit beats column beats default; else 468."""
    if left.explicit or right.explicit:
        chosen = left if left.explicit else right
        other = right if left.explicit else left
        assert chosen.collation is not None
        if other.explicit:
            assert other.collation is not None
            if other.collation.name.lower() != chosen.collation.name.lower():
                raise SqlError(468, chosen.collation.name, other.collation.name, "equal to")
        return chosen.collation
    one, two = left.collation, right.collation
    if one and two and one.name.lower() != two.name.lower():
        raise SqlError(468, one.name, two.name, "equal to")
    return one or two or DEFAULT
