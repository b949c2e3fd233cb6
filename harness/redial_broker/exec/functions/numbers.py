"""Mathematical functions, STR, ISNUMERIC and HASHBYTES."""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.types import (
    FLOAT,
    INT,
    UNICODE_TYPES,
    SqlType,
    decimal_type,
    sql_type,
    varbinary,
    varchar,
)
from redial_broker.exec.conversion.numbers import BOUNDS, EXACT, WIDE
from redial_broker.exec.conversion.rules import group, is_number
from redial_broker.exec.conversion.text import to_ansi, to_utf16
from redial_broker.exec.expressions.comparison import key_of
from redial_broker.exec.expressions.expr import Expr, strict
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import UNLIMITED, Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def _number(call: Call, at: int) -> Expr:
    """An argument as a number; text becomes float, as on the server."""
    argument = call.arg(at)
    if argument.untyped:
        return converted(argument, FLOAT)
    if is_number(argument.type):
        return argument
    if not argument.type.is_string:
        raise call.invalid(argument, at + 1)
    return converted(argument, FLOAT)


def _kept_type(of: SqlType) -> SqlType:
    """Small integers become int, real float, smallmoney money."""
    return {
        "tinyint": INT,
        "smallint": INT,
        "bit": FLOAT,
        "real": FLOAT,
        "smallmoney": sql_type("money"),
    }.get(of.name, of)


def _checked_integer(of: SqlType, compute: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: _in_bounds(of, compute(*values))


@function("ABS", 1)
def _abs(call: Call) -> Expr:
    value = _number(call, 0)
    of = _kept_type(value.type)
    compute = _checked_integer(of, abs) if of.is_integer else abs
    return strict(compute, of, [value])


@function("SIGN", 1)
def _sign(call: Call) -> Expr:
    value = _number(call, 0)
    of = _kept_type(value.type)
    kind = float if of is FLOAT else int if of.is_integer else Decimal
    return strict(lambda x: kind((x > 0) - (x < 0)), of, [value])


@function("CEILING", 1)
@function("FLOOR", 1)
def _to_whole(call: Call) -> Expr:
    value = _number(call, 0)
    of = _kept_type(value.type)
    if group(of) == "float":
        whole = math.ceil if call.name == "CEILING" else math.floor
        return strict(lambda x: float(whole(x)), of, [value])
    if of.is_integer:
        return strict(lambda x: x, of, [value])
    rounding = ROUND_CEILING if call.name == "CEILING" else ROUND_FLOOR
    if of.name in {"decimal", "numeric"}:
        of = decimal_type(of.precision, 0, of.name)
        return strict(lambda x: x.to_integral_value(rounding), of, [value])
    places = Decimal("0.0001")
    return strict(lambda x: x.to_integral_value(rounding).quantize(places), of, [value])


def _rounded(value: Decimal, digits: int, mode: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=WIDE)


@function("ROUND", 2, 3)
def _round(call: Call) -> Expr:
    value = _number(call, 0)
    of = _kept_type(value.type)
    exact = group(value.type) == "exact"
    scale = of.scale if group(of) == "exact" else 4

    def run(x: Any, digits: int, truncate: int = 0) -> Any:
        mode = ROUND_DOWN if truncate else ROUND_HALF_UP
        if isinstance(x, float):
            return float(_rounded(Decimal(repr(x)), min(digits, 60), mode)) if x else x
        if isinstance(x, int):
            return x if digits >= 0 else int(_rounded(Decimal(x), digits, mode))
        result = _rounded(x, min(digits, scale), mode)
        if exact and abs(result) >= Decimal(10) ** (value.type.precision - scale):
            raise SqlError(8115, "expression", "numeric")
        return result.quantize(Decimal(1).scaleb(-scale), context=EXACT)

    compute = _checked_integer(of, run) if of.is_integer else run
    return strict(compute, of, [value, *(call.integer(at) for at in range(1, call.count))])


def _in_bounds(of: SqlType, value: int) -> int:
    low, high = BOUNDS[of.name]
    if not low <= value <= high:
        raise SqlError(8115, "expression", of.name)
    return value


@function("POWER", 2)
def _power(call: Call) -> Expr:
    base = _number(call, 0)
    of = _kept_type(base.type)
    exponent = converted(call.arg(1), FLOAT)

    def compute(x: Any, y: float) -> Any:
        if not x and y < 0:
            raise SqlError(8134)
        try:
            result = float(x) ** y
        except OverflowError:
            raise SqlError(8115, "expression", of.name) from None
        if isinstance(result, complex):
            raise SqlError(3623)
        if of is FLOAT:
            return result
        if of.is_integer:
            exact = x ** int(y) if y >= 0 and y == int(y) else int(result)
            return _in_bounds(of, exact)
        places = Decimal(1).scaleb(-(of.scale if group(of) == "exact" else 4))
        return Decimal(result).quantize(places, context=EXACT)

    return strict(compute, of, [base, exponent])


@function("SQRT", 1)
def _sqrt(call: Call) -> Expr:
    def run(x: float) -> float:
        if x < 0:
            raise SqlError(3623)
        return math.sqrt(x)

    return strict(run, FLOAT, [converted(_number(call, 0), FLOAT)])


@function("SQUARE", 1)
def _square(call: Call) -> Expr:
    return strict(lambda x: x * x, FLOAT, [converted(_number(call, 0), FLOAT)])


_FLOAT_FUNCTIONS = {
    "EXP": math.exp,
    "LOG10": math.log10,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "ATAN": math.atan,
    "RADIANS": math.radians,
    "DEGREES": math.degrees,
}


@function("EXP", 1)
@function("LOG10", 1)
@function("SIN", 1)
@function("COS", 1)
@function("TAN", 1)
@function("ATAN", 1)
@function("RADIANS", 1)
@function("DEGREES", 1)
def _float_function(call: Call) -> Expr:
    compute = _FLOAT_FUNCTIONS[call.name]
    return strict(_guarded(compute), FLOAT, [converted(_number(call, 0), FLOAT)])


def _guarded(compute: Callable[..., float]) -> Callable[..., float]:
    def run(*values: float) -> float:
        try:
            return compute(*values)
        except (ValueError, ZeroDivisionError):
            raise SqlError(3623) from None
        except OverflowError:
            raise SqlError(8115, "expression", "float") from None

    return run


@function("LOG", 1, 2)
def _log(call: Call) -> Expr:
    parts = [converted(_number(call, at), FLOAT) for at in range(call.count)]
    return strict(_guarded(math.log), FLOAT, parts)


@function("PI", 0)
def _pi(call: Call) -> Expr:
    return strict(lambda: math.pi, FLOAT, [])


differs(
    "RAND, CHECKSUM",
    "The same seed and the same values give the same numbers, but not those of SQL Server: its "
    "algorithms are not published.",
)


@function("RAND", 0, 1)
def _rand(call: Call) -> Expr:
    """A number of [0, 1): of the seed, or next of the session's own stream of ids.

    The values are not SQL Server's; only that the same seed gives the same number is.
    """

    def of_seed(seed: Any) -> float:
        return int(stream_guid(0, "rand", int(seed)).replace("-", "")[:13], 16) / 16**13

    if call.count:
        return strict(of_seed, FLOAT, [call.integer(0)])
    return Expr(
        lambda session, variables, row: int(session.new_guid().replace("-", "")[19:], 16) / 16**13,
        FLOAT,
        False,
    )


@function("STR", 1, 3)
def _str(call: Call) -> Expr:
    value = converted(_number(call, 0), FLOAT)

    def run(x: float, length: int = 10, places: int = 0) -> str | None:
        if not 1 <= length <= 8000 or places < 0:
            return None
        rounded = _rounded(Decimal(repr(x)), min(places, 16), ROUND_HALF_UP)
        text = f"{rounded:f}"
        if len(text) > length:
            whole = text.partition(".")[0]
            if len(whole) > length:
                return "*" * length
            places = max(0, length - len(whole) - 1)
            text = f"{_rounded(Decimal(repr(x)), places, ROUND_HALF_UP):f}"
        return text.rjust(length)

    return strict(run, varchar(8000), [value, *(call.integer(at) for at in range(1, call.count))])


_NUMERIC = re.compile(
    r"\s*[+-]?\s*[$£¤¥€]?\s*[+-]?(?:[\d,]+\.?\d*|\.\d+|\d+\.?\d*[eEdD][+-]?\d+)\s*"
)
_LONE_SIGNS = frozenset({"+", "-", ".", "$", ",", "£", "€", "¥"})


@function("ISNUMERIC", 1)
def _isnumeric(call: Call) -> Expr:
    argument = call.arg(0)
    if argument.untyped:
        return strict(lambda: 0, INT, [])
    if not argument.type.is_string:
        answer = int(is_number(argument.type))
        return Expr(lambda session, variables, row: answer, INT, False, True, answer)
    inner = argument.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> int:
        text = inner(session, variables, row)
        return int(
            text is not None and (text.strip() in _LONE_SIGNS or bool(_NUMERIC.fullmatch(text)))
        )

    return Expr(run, INT, False)


_ALGORITHMS = {
    "MD5": "md5",
    "SHA": "sha1",
    "SHA1": "sha1",
    "SHA2_256": "sha256",
    "SHA2_512": "sha512",
}


@function("HASHBYTES", 2)
def _hashbytes(call: Call) -> Expr:
    algorithm, data = call.text(0), call.arg(1)
    encode = _bytes_of(call, data)

    def run(name: str, value: Any) -> bytes | None:
        known = _ALGORITHMS.get(name.strip().upper())
        if known is None:
            raise (
                call.refuse(f"HASHBYTES with algorithm {name}")
                if name.upper() in {"MD2", "MD4"}
                else SqlError(1023, 1, "HashBytes")
            )
        return hashlib.new(known, encode(value), usedforsecurity=False).digest()

    return strict(run, varbinary(8000), [algorithm, data])


def _bytes_of(call: Call, data: Expr) -> Callable[[Any], bytes]:
    if data.type.name in UNICODE_TYPES:
        return to_utf16
    if data.type.is_string or data.untyped:
        return to_ansi
    if data.type.is_binary:
        return lambda x: x
    raise call.invalid(data, 2)


@function("CHECKSUM", 1, UNLIMITED)
def _checksum(call: Call) -> Expr:
    """An int of the arguments: equal values give equal sums; the number is not SQL Server's."""
    args = call.args()
    if any(arg.type.name in {"xml", "text", "ntext", "image"} for arg in args):
        raise call.invalid(args[0], 1)
    shapes = tuple((arg.fn, key_of(arg.type)) for arg in args)

    def run(session: SessionState, variables: Values, row: RowValues) -> int:
        total = 0
        for fn, key in shapes:
            value = fn(session, variables, row)
            shown = repr(key(value) if key and value is not None else value)
            total = zlib.crc32(shown.encode(), total)
        return total - (1 << 32) if total >> 31 else total

    return Expr(run, INT, False)


@function("ACOS", 1)
@function("ASIN", 1)
@function("COT", 1)
def _inverse(call: Call) -> Expr:
    compute = {"ACOS": math.acos, "ASIN": math.asin, "COT": lambda x: 1 / math.tan(x)}[call.name]
    return strict(_guarded(compute), FLOAT, [converted(_number(call, 0), FLOAT)])


@function("ATN2", 2)
def _atn2(call: Call) -> Expr:
    def run(y: float, x: float) -> float:
        if not y and not x:
            raise SqlError(3623)
        return math.atan2(y, x)

    return strict(run, FLOAT, [converted(_number(call, at), FLOAT) for at in range(2)])
