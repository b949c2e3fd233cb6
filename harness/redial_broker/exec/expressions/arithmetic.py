"""Operators on values: + - * / % & | ^ ~ and string concatenation.

Result types: "Precision, scale, and length" page; overflow 8115, division by zero 8134.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from redial.tsql import ast
from redial.tsql.lexer import MAX_PRECISION
from redial_broker.engine.errors import SqlError
from redial_broker.engine.meter import EVERY
from redial_broker.engine.types import (
    INT,
    MAX,
    UNICODE_TYPES,
    SqlType,
    decimal_type,
    sql_type,
)
from redial_broker.exec.conversion import dates
from redial_broker.exec.conversion.numbers import BOUNDS, EXACT, quantize
from redial_broker.exec.conversion.rules import (
    OLD_LARGE,
    as_decimal,
    group,
    higher,
    is_number,
    shown_name,
)
from redial_broker.exec.conversion.text import clip
from redial_broker.exec.expressions.expr import Expr, closure, constant, fold, strict
from redial_broker.exec.expressions.growth import room
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope

_OPERATOR_NAMES = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "modulo",
    "&": "'&'",
    "|": "'|'",
    "^": "'^'",
}
_TRUNCATING = Context(prec=80, rounding=ROUND_DOWN)
_MIN_SCALE = 6


@compiles(ast.BinaryOp)
def _binary_op(node: ast.BinaryOp, scope: Scope) -> Expr:
    left = compile_expression(node.left, scope)
    right = compile_expression(node.right, scope)
    return binary_operation(node.op, left, right)


def binary_operation(op: str, left: Expr, right: Expr) -> Expr:
    """left op right; also behind ``SET @v += value``. Raises 402, 8117 or 206 for types."""
    if left.untyped and right.untyped:
        return constant(None, INT)
    if "sql_variant" in {left.type.name, right.type.name}:
        raise _variant_refusal(op, left, right)
    if left.untyped:
        left = constant(None, right.type)
    if right.untyped:
        right = constant(None, left.type)
    kinds = {group(left.type), group(right.type)}
    if op in "&|^":
        return _bitwise(op, left, right)
    if left.type.name in OLD_LARGE or right.type.name in OLD_LARGE:
        raise _mismatch(op, left.type, right.type)
    if op == "+" and kinds <= {"char"}:
        return concatenate(left, right)
    if op == "+" and kinds == {"binary"}:
        return _joined_bytes(left, right)
    if kinds & {"datetime", "moment", "date", "time"}:
        return _date_arithmetic(op, left, right)
    winner = higher(left.type, right.type)
    if not is_number(winner) or kinds & {"guid", "xml"}:
        raise _mismatch(op, left.type, right.type)
    if left.type.name == right.type.name == "bit":
        raise _mismatch(op, left.type, right.type)
    left, right = (_as_number(side, winner) for side in (left, right))
    kind = group(winner)
    if kind == "int":
        return _integer(op, left, right, winner)
    if kind == "float":
        return _float(op, left, right, winner)
    if kind == "money" and "exact" not in kinds:
        return _money(op, left, right, winner)
    return _decimal(op, left, right)


def _mismatch(op: str, left: SqlType, right: SqlType) -> SqlError:
    name = _OPERATOR_NAMES[op]
    if left.name == right.name and op not in "&|^":
        return SqlError(8117, shown_name(left), name, aborts="scope")
    return SqlError(402, shown_name(left), shown_name(right), name, aborts="scope")


def _variant_refusal(op: str, left: Expr, right: Expr) -> SqlError:
    """No operator takes a sql_variant; beside a number it is the missing conversion (F-538)."""
    both = [left, right]
    others = [side for side in both if side.type.name != "sql_variant"]
    number = next((side for side in others if not side.untyped and is_number(side.type)), None)
    if op in "+-*/" and number is not None and number.type.name != "bit":
        return SqlError(257, "sql_variant", shown_name(number.type), state=3, aborts="scope")
    name = _OPERATOR_NAMES[op]
    if op in "&|^" and not others:
        return SqlError(8117, "sql_variant", name, aborts="scope")
    return SqlError(
        402,
        *("NULL" if side.untyped else shown_name(side.type) for side in both),
        name,
        aborts="scope",
    )


def _as_number(side: Expr, winner: SqlType) -> Expr:
    """Text and binary operands become the type of the number beside them."""
    if is_number(side.type):
        if group(winner) == "float" and group(side.type) != "float":
            return converted(side, sql_type("float"))
        return side
    return converted(side, winner)


def _overflow(shown: str) -> Callable[[], None]:
    def raise_overflow() -> None:
        raise SqlError(8115, "expression", shown)

    return raise_overflow


def _divided_by_zero() -> None:
    raise SqlError(8134)


_INTEGER_BODIES = {
    # Division truncates toward zero and the remainder takes the dividend's sign, unlike Python's.
    "/": "if x1 == 0: zero()\nz = x0 // x1 if (x0 < 0) == (x1 < 0) else -(-x0 // x1)\n",
    "%": "if x1 == 0: zero()\nz = abs(x0) % abs(x1)\nif x0 < 0: z = -z\n",
}


def _integer(op: str, left: Expr, right: Expr, winner: SqlType) -> Expr:
    if winner.name == "bit":
        winner = INT
    low, high = BOUNDS[winner.name]
    body = _INTEGER_BODIES.get(op, f"z = x0 {op} x1\n")
    body += "if low <= z <= high: return z\noverflow()"
    names: dict[str, Any] = {"low": low, "high": high, "overflow": _overflow(winner.name)}
    if op in "/%":
        names["zero"] = _divided_by_zero
    fn = closure(body, [left, right], **names)
    return fold(Expr(fn, winner, left.nullable or right.nullable), [left, right])


def _float(op: str, left: Expr, right: Expr, winner: SqlType) -> Expr:
    finite, overflow = math.isfinite, _overflow("float")
    if op == "%":
        raise _mismatch(op, left.type, right.type)
    body = "if x1 == 0: zero()\n" if op == "/" else ""
    names: dict[str, Any] = {"zero": _divided_by_zero} if op == "/" else {}
    body += f"z = x0 {op} x1\nif finite(z): return z\noverflow()"
    fn = closure(body, [left, right], finite=finite, overflow=overflow, **names)
    return fold(Expr(fn, winner, left.nullable or right.nullable), [left, right])


def _money(op: str, left: Expr, right: Expr, winner: SqlType) -> Expr:
    left, right = converted(left, winner), converted(right, winner)
    compute = _decimal_operation(op)

    def run(one: Decimal, two: Decimal) -> Decimal:
        return quantize(compute(one, two), 4, truncate=op == "/")

    checked = converted(strict(run, decimal_type(38, 4), [left, right]), winner)
    return checked


def _shape(side: Expr) -> SqlType:
    """The decimal type of an operand; an integer constant is as precise as it is written."""
    if side.literal and side.constant and side.type is INT and side.value is not None:
        return decimal_type(len(str(abs(side.value))), 0)
    return as_decimal(side.type)


def result_shape(op: str, one: SqlType, two: SqlType) -> SqlType:
    """Precision and scale of a decimal result, reduced to 38 digits as documented."""
    p1, s1, p2, s2 = one.precision, one.scale, two.precision, two.scale
    if op in "+-":
        scale = max(s1, s2)
        whole = max(p1 - s1, p2 - s2)
        precision = whole + scale + 1
        if precision > MAX_PRECISION:
            scale = max(0, min(scale, MAX_PRECISION - whole))
            precision = MAX_PRECISION
        return decimal_type(precision, scale)
    if op == "*":
        precision, scale = p1 + p2 + 1, s1 + s2
    elif op == "/":
        scale = max(_MIN_SCALE, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    else:
        scale = max(s1, s2)
        precision = min(p1 - s1, p2 - s2) + scale
        return decimal_type(max(1, precision), scale)
    if precision > MAX_PRECISION:
        whole = precision - scale
        scale = min(scale, max(MAX_PRECISION - whole, min(scale, _MIN_SCALE)))
        precision = MAX_PRECISION
    return decimal_type(precision, scale)


def _decimal_operation(op: str) -> Callable[[Decimal, Decimal], Decimal]:
    if op == "+":
        return EXACT.add
    if op == "-":
        return EXACT.subtract
    if op == "*":
        return EXACT.multiply

    def divide(one: Decimal, two: Decimal) -> Decimal:
        if not two:
            raise SqlError(8134)
        return _TRUNCATING.divide(one, two) if op == "/" else _TRUNCATING.remainder(one, two)

    return divide


def _decimal(op: str, left: Expr, right: Expr) -> Expr:
    of = result_shape(op, _shape(left), _shape(right))
    if "numeric" in {left.type.name, right.type.name}:
        of = decimal_type(of.precision, of.scale, "numeric")
    limit = Decimal(10) ** (of.precision - of.scale)
    compute, truncate, scale = _decimal_operation(op), op == "/", of.scale

    def run(one: Any, two: Any) -> Decimal:
        # Integers take part as they are: every int is exact as a Decimal.
        z = compute(Decimal(one), Decimal(two))
        z = quantize(z, scale, truncate=truncate)
        if abs(z) >= limit:
            raise SqlError(8115, "expression", "numeric")
        return z

    return strict(run, of, [left, right])


def _bitwise(op: str, left: Expr, right: Expr) -> Expr:
    kinds = {group(left.type), group(right.type)}
    if kinds == {"int", "binary"}:
        # One side may be binary: it counts as the other one's type ("& (Bitwise AND)" page).
        number = left.type if group(left.type) == "int" else right.type
        left, right = converted(left, number), converted(right, number)
    elif not kinds <= {"int"}:
        raise _mismatch(op, left.type, right.type)
    winner = higher(left.type, right.type)
    fn = closure(f"return x0 {op} x1", [left, right])
    return fold(Expr(fn, winner, left.nullable or right.nullable), [left, right])


def concatenate(left: Expr, right: Expr) -> Expr:
    """String +: NULL with NULL, cut at 8000 bytes unless one side is (max)."""
    collation = common_collation(left, right)
    unicode = left.type.name in UNICODE_TYPES or right.type.name in UNICODE_TYPES
    limit = 4000 if unicode else 8000
    name = "nvarchar" if unicode else "varchar"
    length = left.type.length + right.type.length
    parts = [left, right]
    if MAX in (left.type.length, right.type.length):
        body = "if len(x0) + len(x1) > most: room(session, len(x0) + len(x1))\nreturn x0 + x1"
        fn = closure(body, parts, most=EVERY, room=room)
        length = MAX
    elif length <= limit:
        fn = closure("return x0 + x1", parts)
    else:
        length = limit
        fn = closure("return clip(x0 + x1, limit)", parts, clip=clip, limit=limit)
    result = Expr(
        fn,
        sql_type(name, length),
        left.nullable or right.nullable,
        collation=collation,
        explicit=left.explicit or right.explicit,
    )
    if left.collation is None and right.collation is None:
        result.collation = None
    return fold(result, parts)


def _joined_bytes(left: Expr, right: Expr) -> Expr:
    if MAX in (left.type.length, right.type.length):
        length = MAX
    else:
        length = min(8000, left.type.length + right.type.length)
    of = sql_type("varbinary", length)
    if length != MAX:
        return fold(Expr(closure("return (x0 + x1)[:8000]", [left, right]), of), [left, right])
    parts = (*(left.joined or (left,)), right)
    chain = " + ".join(f"x{i}" for i in range(len(parts)))
    sizes = " + ".join(f"len(x{i})" for i in range(len(parts)))
    body = f"if {sizes} > most: room(session, {sizes})\nreturn {chain}"
    fn = closure(body, parts, most=EVERY, room=room)
    return fold(Expr(fn, of, joined=parts), [left, right])


def _date_arithmetic(op: str, left: Expr, right: Expr) -> Expr:
    """datetime and smalldatetime take + and - of days; the newer types do not."""
    new = [e.type for e in (left, right) if group(e.type) in {"moment", "date", "time"}]
    if new or op not in "+-":
        other = right.type if left.type in new else left.type
        raise SqlError(
            206, shown_name(new[0] if new else left.type), shown_name(other), aborts="scope"
        )
    target = higher(left.type, right.type)
    left, right = converted(left, target), converted(right, target)
    build = dates.from_days(target)
    sign = 1 if op == "+" else -1

    def run(one: Any, two: Any) -> Any:
        return build(dates.days_since_1900(one) + sign * dates.days_since_1900(two))

    return strict(run, target, [left, right])


@compiles(ast.UnaryOp)
def _unary(node: ast.UnaryOp, scope: Scope) -> Expr:
    operand = compile_expression(node.operand, scope)
    if operand.untyped:
        return operand
    of = operand.type
    if node.op == "+":
        return operand
    if (
        not is_number(of)
        or (node.op == "~" and group(of) != "int")
        or (node.op == "-" and of.name == "bit")
    ):
        raise SqlError(8117, shown_name(of), {"-": "minus", "~": "'~'"}[node.op], aborts="scope")
    if node.op == "~":
        return _complement(operand)
    return _negated(operand)


def _complement(operand: Expr) -> Expr:
    body = {"bit": "return 1 - x0", "tinyint": "return 255 - x0"}.get(
        operand.type.name, "return ~x0"
    )
    return fold(Expr(closure(body, [operand]), operand.type, operand.nullable), [operand])


def _negated(operand: Expr) -> Expr:
    of = operand.type
    if operand.constant and operand.literal:
        # -2147483648 is written as minus a number that is no int; the server reads it as one.
        if operand.value == -BOUNDS["int"][0] and of.scale == 0:
            return constant(BOUNDS["int"][0], INT, literal=True)
        return constant(-operand.value, of, literal=True)
    if of.is_integer:
        of = sql_type("smallint") if of.name == "tinyint" else of
        low, high = BOUNDS[of.name]
        fn = closure(
            "z = -x0\nif low <= z <= high: return z\noverflow()",
            [operand],
            low=low,
            high=high,
            overflow=_overflow(of.name),
        )
    else:
        fn = closure("return -x0", [operand])
    return fold(Expr(fn, of, operand.nullable), [operand])
