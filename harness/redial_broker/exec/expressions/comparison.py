"""Comparisons: which type both sides become, which key is compared, and the closures for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import binary_key, collation_key, guid_key
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import MAX, SqlType, Variant
from redial_broker.exec.conversion.declared import type_by_name
from redial_broker.exec.conversion.rules import INCOMPARABLE, group, higher, is_number, shown_name
from redial_broker.exec.expressions.expr import Expr, closure, constant
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.expressions.registry import compile_expression, condition
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Test, Values
    from redial_broker.exec.session import SessionState

Key = Callable[[Any], Any]

_PYTHON_OPS = {"=": "==", "<>": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_NAMES = {
    "=": "equal to",
    "<>": "not equal to",
    "<": "less than",
    ">": "greater than",
    "<=": "less than or equal to",
    ">=": "greater than or equal to",
}

_DAYS_AND_TIMES = frozenset({"date", "time", "datetime2", "datetimeoffset"})


def aligned(op: str, left: Expr, right: Expr) -> tuple[Expr, Expr, Key | None]:
    """Both sides as one type, and the key their values are compared by (None: the value itself).

    Raises 402, 257, 206 or 468 where the server does.
    """
    _refuse_incomparable(op, left, right)
    target = (
        right.type
        if left.untyped
        else left.type
        if right.untyped
        else higher(left.type, right.type)
    )
    if target.is_string and left.type.is_string and right.type.is_string:
        return left, right, common_collation(left, right).key
    if is_number(target) and is_number(left.type) and is_number(right.type):
        if group(target) == "float":
            return _as(left, target), _as(right, target), None
        # Exact numbers of every width compare as they are.
        return _kept(left, target), _kept(right, target), None
    return _as(left, target), _as(right, target), key_of(target)


def _refuse_incomparable(op: str, left: Expr, right: Expr) -> None:
    """305, 402 or 206 where a side is xml, text, ntext or image: by what the other side is."""
    sides = [left, right]
    if not any(side.type.name in INCOMPARABLE and not side.untyped for side in sides):
        return
    if all(side.untyped or side.type.name == "xml" for side in sides):
        raise SqlError(305)
    if all(
        side.untyped
        or side.type.name in INCOMPARABLE
        or side.type.is_string
        or side.type.is_binary
        or side.type.name in _DAYS_AND_TIMES
        for side in sides
    ):
        raise SqlError(402, shown_name(left.type), shown_name(right.type), _NAMES[op])
    winner = higher(left.type, right.type)
    loser = right.type if winner is left.type else left.type
    raise SqlError(206, shown_name(loser), shown_name(winner), state=2)


def _as(side: Expr, target: SqlType) -> Expr:
    if side.type.name == target.name and not side.untyped:
        return side
    return converted(side, _unbounded(target))


def _unbounded(target: SqlType) -> SqlType:
    """A string operand is never cut to the other side's length before the comparison."""
    if target.is_string or target.name in {"binary", "varbinary"}:
        return type_by_name(target.name, MAX)
    return target


def _kept(side: Expr, target: SqlType) -> Expr:
    return constant(None, target) if side.untyped else side


def key_of(of: SqlType) -> Key | None:
    """The key by which values of a type are compared and ordered; None for the value itself."""
    if of.is_string:
        return collation_key
    if of.is_binary:
        return binary_key
    if of.name == "uniqueidentifier":
        return guid_key
    return variant_key if of.name == "sql_variant" else None


_VARIANT_FAMILIES = (
    "variant",
    "datetime",
    "moment",
    "date",
    "time",
    "float",
    "exact",
    "money",
    "int",
    "guid",
    "char",
    "binary",
    "rowversion",
)


def variant_key(value: Variant) -> tuple[Any, ...]:
    """sql_variant orders by family of type first (sql_variant page), then by value."""
    family = group(value.type)
    family = "exact" if family in {"money", "int"} else family
    key = key_of(value.type)
    return (-_VARIANT_FAMILIES.index(family), key(value.value) if key else value.value)


def compare(op: str, left: Expr, right: Expr) -> Test:
    """The closure of ``left op right``: True, False, or None when a side is NULL."""
    left, right, key = aligned(op, left, right)
    sign = _PYTHON_OPS[op]
    parts = [left, right]
    if key is None or (key is guid_key and op in {"=", "<>"}):
        return closure(f"return x0 {sign} x1", parts)
    left_ready = left.constant and left.value is not None
    right_ready = right.constant and right.value is not None
    names: dict[str, Any] = {"key": key}
    one, two = "key(x0)", "key(x1)"
    if left_ready:
        one, names["k0"] = "k0", key(left.value)
    if right_ready:
        two, names["k1"] = "k1", key(right.value)
    if op == "=":
        # Equal values are equal under every key; most comparisons that hold hold like that.
        return closure(f"return x0 == x1 or {one} == {two}", parts, **names)
    if op == "<>":
        return closure(f"return x0 != x1 and {one} != {two}", parts, **names)
    return closure(f"return {one} {sign} {two}", parts, **names)


@condition(ast.Comparison)
def _comparison(node: ast.Comparison, scope: Scope) -> Test:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    return compare(node.op, left, right)


@condition(ast.IsDistinctFrom)
def _is_distinct(node: ast.IsDistinctFrom, scope: Scope) -> Test:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    equal, one, two = compare("=", left, right), left.fn, right.fn
    negated = node.negated

    def run(session: SessionState, variables: Values, row: RowValues) -> bool:
        same = equal(session, variables, row)
        if same is None:
            same = one(session, variables, row) is None and two(session, variables, row) is None
        return same if negated else not same

    return run
