"""Bit manipulation functions (2022), GREATEST and LEAST (their pages)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, BIT, INTEGER_BITS, SqlType
from redial_broker.exec.conversion.rules import common_type, group
from redial_broker.exec.expressions.comparison import key_of
from redial_broker.exec.expressions.expr import Expr, fold, strict
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import UNLIMITED, Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def _width(of: SqlType) -> int:
    """Bits of a type; 0 for one whose values say it themselves (varbinary)."""
    if of.name == "bit":
        return 1
    return INTEGER_BITS.get(of.name, of.length * 8 if of.name == "binary" else 0)


def _bits(value: Any, width: int) -> tuple[int, int]:
    """(unsigned number, width) of a value."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "big"), len(value) * 8
    return value & ((1 << width) - 1), width


def _back(number: int, like: Any, width: int, of: SqlType) -> Any:
    """The value of so many bits."""
    number &= (1 << width) - 1
    if isinstance(like, bytes):
        return number.to_bytes(width // 8, "big")
    signed = of.name not in {"tinyint", "bit"} and number >> (width - 1)
    return number - (1 << width) if signed else number


def _operand(call: Call) -> Expr:
    value = call.arg(0)
    if not (
        value.type.is_integer
        or value.type.name == "bit"
        or (value.type.is_binary and value.type.name != "image" and value.type.length > 0)
    ):
        raise call.invalid(value, 1)
    return value


@function("BIT_COUNT", 1)
def _bit_count(call: Call) -> Expr:
    value = _operand(call)
    width = _width(value.type)
    return strict(lambda x: _bits(x, width)[0].bit_count(), BIGINT, [value])


@function("LEFT_SHIFT", 2)
@function("RIGHT_SHIFT", 2)
def _shift(call: Call) -> Expr:
    """Logical shifts; a negative count shifts the other way."""
    value, sign = _operand(call), 1 if call.name == "LEFT_SHIFT" else -1
    of, width = value.type, _width(value.type)

    def run(x: Any, count: int) -> Any:
        number, size = _bits(x, width)
        by = sign * count
        return _back(number << min(by, size) if by >= 0 else number >> -by, x, size, of)

    return strict(run, of, [value, converted(call.arg(1), BIGINT)])


@function("GET_BIT", 2)
def _get_bit(call: Call) -> Expr:
    value = _operand(call)
    width = _width(value.type)

    def run(x: Any, offset: int) -> int:
        number, size = _bits(x, width)
        _check_offset(offset, size, "GET_BIT")
        return number >> offset & 1

    return strict(run, BIT, [value, converted(call.arg(1), BIGINT)])


@function("SET_BIT", 2, 3)
def _set_bit(call: Call) -> Expr:
    value = _operand(call)
    of, width = value.type, _width(value.type)

    def run(x: Any, offset: int, bit: int = 1) -> Any:
        number, size = _bits(x, width)
        _check_offset(offset, size, "SET_BIT")
        number = number | 1 << offset if bit else number & ~(1 << offset)
        return _back(number, x, size, of)

    more = [converted(call.arg(2), BIT)] if call.count == 3 else []
    return strict(run, of, [value, converted(call.arg(1), BIGINT), *more])


def _check_offset(offset: int, width: int, name: str) -> None:
    if not 0 <= offset < width:
        raise SqlError(4199, offset, 2, name)


# ---------------------------------------------------------------------- GREATEST, LEAST
@function("GREATEST", 1, UNLIMITED)
@function("LEAST", 1, UNLIMITED)
def _extreme(call: Call) -> Expr:
    """The greatest or least argument that is not NULL, in the type of highest precedence."""
    args = call.args()
    for place, arg in enumerate(args, 1):
        if arg.type.name in {"xml", "text", "ntext", "image"}:
            raise call.invalid(arg, place)
    typed = [arg.type for arg in args if not arg.untyped] or [args[0].type]
    of = reduce(common_type, typed)
    key: Callable[..., Any] | None = key_of(of)
    collation = next((arg.collation for arg in args if arg.collation), None)
    if of.is_string and collation is not None:
        key = collation.key
    fns = tuple(converted(arg, of).fn for arg in args)
    pick = max if call.name == "GREATEST" else min

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        values = [x for x in (fn(session, variables, row) for fn in fns) if x is not None]
        return pick(values, key=key) if values else None

    found = Expr(run, of, any(arg.nullable for arg in args), collation=collation)
    return fold(found, args) if group(of) != "variant" else found
