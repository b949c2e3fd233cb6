"""Conversions to integer, bit, decimal, money and float; every function takes a non-NULL value.

Overflow and syntax errors carry the number the server gives for that pair of types.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INTEGER_BITS, SqlType
from redial_broker.exec.conversion.dates import days_since_1900
from redial_broker.exec.conversion.rules import group, shown_name

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert

EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
"""Decimal arithmetic wide enough that only our own rules round."""

WIDE = Context(prec=400)
"""Enough digits for any float with 60 places."""

BOUNDS = {
    name: (0, 255) if name == "tinyint" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for name, bits in INTEGER_BITS.items()
}
_MONEY_BOUNDS = {
    "money": (Decimal("-922337203685477.5808"), Decimal("922337203685477.5807")),
    "smallmoney": (Decimal("-214748.3648"), Decimal("214748.3647")),
}
_INTEGER_TEXT = re.compile(r"\s*([+-]?\d*)\s*")
_DECIMAL_TEXT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*")
_FLOAT_TEXT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?)\s*")
_MONEY_TEXT = re.compile(r"\s*([+-]?)\s*[$£¤¥€]?\s*([+-]?)((?:[\d,]+\.?\d*|\.\d+))\s*")
_SHORT_NAMES = {"tinyint": "INT1", "smallint": "INT2"}
_QUANTA = [Decimal(1).scaleb(-scale) for scale in range(39)]
_FLOAT_LIMIT = {"float": 1.7976931348623157e308, "real": 3.4028235e38}
_FOUR_PLACES = Decimal("0.0001")


def to_integer(source: SqlType, target: SqlType) -> Convert:
    """value -> int of tinyint, smallint, int or bigint."""
    kind = group(source)
    if kind == "char":
        return _text_to_integer(source, target)
    if kind in {"binary", "rowversion"}:
        return _bytes_to_integer(INTEGER_BITS[target.name] // 8, target.name != "tinyint")
    if kind == "datetime":
        # Half a day and more counts as the next day.
        half = Decimal("0.5")
        return _checked(lambda value: math.floor(days_since_1900(value) + half), source, target)
    if kind == "int":
        return _checked(None, source, target)
    if kind == "money":
        return _checked(lambda value: int(value.to_integral_value(ROUND_HALF_UP)), source, target)
    return _checked(int, source, target)


def _checked(convert: Callable[[Any], int] | None, source: SqlType, target: SqlType) -> Convert:
    low, high = BOUNDS[target.name]

    def run(value: Any) -> int:
        number = value if convert is None else convert(value)
        if low <= number <= high:
            return number
        if source.name in {"int", "smallint", "tinyint"} and target.name in _SHORT_NAMES:
            raise SqlError(220, target.name, number)
        if source.name in {"float", "real"}:
            raise SqlError(232, target.name, f"{value:f}")
        raise SqlError(8115, "expression", target.name)

    return run


def _text_to_integer(source: SqlType, target: SqlType) -> Convert:
    low, high = BOUNDS[target.name]

    def run(value: str) -> int:
        match = _INTEGER_TEXT.fullmatch(value)
        if not match or match[1] in {"+", "-"}:
            if target.name == "bigint":
                raise SqlError(8114, shown_name(source), "bigint")
            raise SqlError(245, source.name, value, target.name)
        number = int(match[1] or 0)
        if low <= number <= high:
            return number
        if target.name in _SHORT_NAMES:
            raise SqlError(244, source.name, value, _SHORT_NAMES[target.name])
        if target.name == "int":
            raise SqlError(248, source.name, value)
        raise SqlError(8115, "expression", target.name)

    return run


def _bytes_to_integer(size: int, signed: bool) -> Convert:
    def run(value: bytes) -> int:
        tail = value[-size:]
        # Shorter values are taken as the low-order bytes, so only a full one can be negative.
        return int.from_bytes(tail, "big", signed=signed and len(tail) == size)

    return run


def to_bit(source: SqlType) -> Convert:
    """value -> 0 or 1."""
    kind = group(source)
    if kind in {"binary", "rowversion"}:
        return lambda value: int(any(value))
    if kind != "char":
        return lambda value: int(value != 0)

    def run(value: str) -> int:
        word = value.strip().lower()
        if word in {"true", "false"}:
            return int(word == "true")
        match = _INTEGER_TEXT.fullmatch(value)
        if not match or match[1] in {"+", "-"}:
            raise SqlError(245, source.name, value, "bit")
        return int(int(match[1] or 0) != 0)

    return run


def to_decimal(source: SqlType, target: SqlType) -> Convert:
    """value -> Decimal with exactly the scale of the target; 8115 when it does not fit."""
    scale = target.scale
    limit = Decimal(10) ** (target.precision - scale)
    quantum = _QUANTA[scale]
    kind = group(source)
    shown = "numeric" if kind == "exact" else shown_name(source)

    def fit(number: Decimal) -> Decimal:
        rounded = number.quantize(quantum, context=EXACT) if abs(number) < limit else number
        if abs(rounded) >= limit:
            raise SqlError(8115, shown, "numeric")
        return rounded

    if kind == "char":

        def from_text(value: str) -> Decimal:
            match = _DECIMAL_TEXT.fullmatch(value)
            if not match:
                raise SqlError(8114, shown_name(source), "numeric")
            return fit(Decimal(match[1]))

        return from_text
    if kind == "float":
        return lambda value: fit(Decimal(value))
    if kind == "datetime":
        return lambda value: fit(days_since_1900(value))
    if kind == "int":
        return lambda value: fit(Decimal(value))
    if kind in {"binary", "rowversion"}:
        raise NotSupported("conversion of binary data to decimal")
    return fit


def to_money(source: SqlType, target: SqlType) -> Convert:
    """value -> Decimal with four places; 235 for bad text, 8115 when it does not fit."""
    low, high = _MONEY_BOUNDS[target.name]
    kind = group(source)

    def fit(number: Decimal) -> Decimal:
        if not low - 1 <= number <= high + 1:
            raise SqlError(8115, shown_name(source), target.name)
        rounded = number.quantize(_FOUR_PLACES, context=EXACT)
        if not low <= rounded <= high:
            raise SqlError(8115, shown_name(source), target.name)
        return rounded

    if kind == "char":

        def from_text(value: str) -> Decimal:
            match = _MONEY_TEXT.fullmatch(value)
            if not value.strip():
                return fit(Decimal(0))
            if not match:
                raise SqlError(235)
            return fit(Decimal(match[1] + match[2] + match[3].replace(",", "")))

        return from_text
    if kind in {"binary", "rowversion"}:
        size = 8 if target.name == "money" else 4
        whole = _bytes_to_integer(size, signed=True)
        return lambda value: fit(Decimal(whole(value)).scaleb(-4))
    if kind == "datetime":
        return lambda value: fit(days_since_1900(value))
    return lambda value: fit(Decimal(value))


def to_float(source: SqlType, target: SqlType) -> Convert:
    """value -> float; real values are rounded to single precision."""
    limit = _FLOAT_LIMIT[target.name]
    single = target.name == "real"
    kind = group(source)

    def fit(number: float) -> float:
        if not abs(number) <= limit:
            if single and math.isfinite(number):
                raise SqlError(232, "real", f"{number:f}")
            raise SqlError(8115, "expression", target.name)
        return struct.unpack("f", struct.pack("f", number))[0] if single else number

    if kind == "char":

        def from_text(value: str) -> float:
            match = _FLOAT_TEXT.fullmatch(value)
            if not match:
                if not value.strip():
                    return 0.0
                raise SqlError(8114, shown_name(source), target.name)
            return fit(float(match[1].lower().replace("d", "e")))

        return from_text
    if kind == "datetime":
        return lambda value: fit(float(days_since_1900(value)))
    return lambda value: fit(float(value))


def quantize(number: Decimal, scale: int, *, truncate: bool = False) -> Decimal:
    """The number with exactly that many digits after the point."""
    rounding = ROUND_DOWN if truncate else ROUND_HALF_UP
    try:
        return number.quantize(_QUANTA[scale], rounding=rounding, context=EXACT)
    except InvalidOperation:
        raise SqlError(8115, "expression", "numeric") from None
