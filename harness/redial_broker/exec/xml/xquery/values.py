"""Atomic values of XQuery: reading them from text, writing them, comparing them."""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from redial_broker.engine.seventh_digit import DIGITS, with_fraction
from redial_broker.exec.xml.nodes import COMMENT, PI, Node
from redial_broker.exec.xml.xquery.types import (
    BASE64,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    FLOAT,
    HEX,
    INTEGERS,
    MOMENTS,
    STRING,
    TEXTS,
    UNTYPED,
)

_LIMITS = {
    "xs:long": 63,
    "xs:int": 31,
    "xs:short": 15,
    "xs:byte": 7,
}
_UNSIGNED = {
    "xs:unsignedLong": 64,
    "xs:unsignedInt": 32,
    "xs:unsignedShort": 16,
    "xs:unsignedByte": 8,
}
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_DOUBLE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|-?INF")
_ZONE = r"(?:Z|[+-]\d{2}:\d{2})?"
_CLOCK = r"\d{2}:\d{2}:\d{2}(?:\.\d+)?"
_FRACTION = re.compile(r"\.(\d+)")
_SHAPES = {
    "xs:dateTime": re.compile(rf"-?\d{{4,}}-\d{{2}}-\d{{2}}T{_CLOCK}{_ZONE}"),
    "xs:date": re.compile(rf"-?\d{{4,}}-\d{{2}}-\d{{2}}{_ZONE}"),
    "xs:time": re.compile(_CLOCK + _ZONE),
}
_DIGITS = {DOUBLE: 15, FLOAT: 7}
_SCALE = Decimal(1).scaleb(-10)
"""Exact numbers are numeric(38, 10) (observed, F-220)."""


@dataclass(frozen=True, slots=True)
class Atomic:
    """One atomic value."""

    type: str
    """As in ``types``."""
    value: Any
    """Str, int, Decimal, float or bool."""

    def __str__(self) -> str:
        return text_of(self)


Item = Node | Atomic


def text_of(item: Item) -> str:
    """The string value of an item, as .value() and constructors write it."""
    if isinstance(item, Node):
        return item.string()
    value = item.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value, _DIGITS.get(item.type, 15))
    if isinstance(value, Decimal):
        return decimal_text(value)
    return str(value)


def decimal_text(value: Decimal) -> str:
    """Plain digits without needless zeros."""
    shown = f"{value:f}"
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return "0" if shown in {"-0", ""} else shown


def _float_text(value: float, digits: int) -> str:
    """fn:string of an approximate number: plain inside [1e-6, 1e6), else scientific."""
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "0.0E0" if math.copysign(1, value) > 0 else "-0.0E0"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -6 <= power < 6:
        return decimal_text(Decimal(mantissa).scaleb(power))
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}E{power}"


def atomize(item: Item) -> Atomic:
    """data() of one item."""
    if isinstance(item, Atomic):
        return item
    return Atomic(STRING if item.kind in {COMMENT, PI} else UNTYPED, item.string())


def read(kind: str, text: str) -> Atomic | None:
    """The value of that type a text denotes, None when it denotes none."""
    if kind in {STRING, UNTYPED}:
        return Atomic(kind, text)
    text = " ".join(text.split())
    if kind in INTEGERS:
        return _integer(kind, text)
    if kind == DECIMAL:
        return Atomic(kind, exact(Decimal(text))) if _DECIMAL.fullmatch(text) else None
    if kind in {DOUBLE, FLOAT}:
        return Atomic(kind, float(text.replace("INF", "inf"))) if _DOUBLE.fullmatch(text) else None
    if kind == BOOLEAN:
        found = {"true": True, "1": True, "false": False, "0": False}.get(text)
        return None if found is None else Atomic(kind, found)
    if kind in MOMENTS:
        return Atomic(kind, text) if _SHAPES[kind].fullmatch(text) and _real(kind, text) else None
    if kind == BASE64:
        try:
            return Atomic(kind, base64.b64encode(base64.b64decode(text, validate=True)).decode())
        except (binascii.Error, ValueError):
            return None
    if kind == HEX:
        try:
            return Atomic(kind, bytes.fromhex(text).hex().upper())
        except ValueError:
            return None
    return Atomic(kind, text)


def _integer(kind: str, text: str) -> Atomic | None:
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    if kind in _LIMITS:
        edge = 1 << _LIMITS[kind]
        return Atomic(kind, value) if -edge <= value < edge else None
    if kind in _UNSIGNED:
        return Atomic(kind, value) if 0 <= value < 1 << _UNSIGNED[kind] else None
    fits = {
        "xs:nonNegativeInteger": value >= 0,
        "xs:positiveInteger": value > 0,
        "xs:nonPositiveInteger": value <= 0,
        "xs:negativeInteger": value < 0,
    }.get(kind, True)
    return Atomic(kind, value) if fits else None


def exact(value: Decimal) -> Decimal:
    """At most ten digits behind the point."""
    if -int(value.as_tuple().exponent) <= 10:
        return value
    return value.quantize(_SCALE, rounding=ROUND_HALF_UP)


def cut(value: Decimal, places: int) -> Decimal:
    """The value with at most that many digits behind the point, the rest cut off."""
    try:
        return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_DOWN)
    except InvalidOperation:
        return value


def _real(kind: str, text: str) -> bool:
    try:
        moment(kind, text)
    except ValueError:
        return False
    return True


def moment(kind: str, text: str) -> object:
    """A date or time as something that orders; without a zone it counts as UTC."""
    if kind == "xs:date":
        return date.fromisoformat(text[:10])
    part = _FRACTION.search(text)
    units = int(part[1].ljust(DIGITS, "0")[:DIGITS]) if part else 0
    text = _FRACTION.sub("", text)
    if kind == "xs:time":
        clock = time.fromisoformat(text.replace("24:00:00", "00:00:00"))
        return with_fraction(clock if clock.tzinfo else clock.replace(tzinfo=UTC), units)
    found = datetime.fromisoformat(text)
    return with_fraction(found if found.tzinfo else found.replace(tzinfo=UTC), units)


def cast(item: Item, kind: str) -> Atomic | None:
    """``cast as``: None (the empty sequence) when the value does not convert."""
    value = atomize(item)
    if value.type == kind:
        return value
    held = value.value
    if isinstance(held, bool) and kind not in TEXTS and kind not in {UNTYPED, BOOLEAN}:
        held = int(held)
    if isinstance(held, (int, float, Decimal)) and not isinstance(held, bool):
        if kind in INTEGERS:
            return _integer(kind, str(int(held)))
        if kind == DECIMAL:
            return Atomic(kind, exact(Decimal(str(held))))
        if kind in {DOUBLE, FLOAT}:
            return Atomic(kind, float(held))
        if kind == BOOLEAN:
            return Atomic(kind, held != 0)
    text = text_of(value)
    if value.type == "xs:dateTime" and kind == "xs:date":
        text = text[:10]
    elif value.type == "xs:dateTime" and kind == "xs:time":
        text = text[11:]
    elif value.type == "xs:date" and kind == "xs:dateTime":
        text = f"{text[:10]}T00:00:00{text[10:]}"
    return read(kind, text)


def number(item: Item) -> Any:
    """An item as a Python number: an untyped one is read as double; None when it is none."""
    value = atomize(item)
    if isinstance(value.value, (int, float, Decimal)):
        return value.value
    found = read(DOUBLE, str(value.value))
    return None if found is None else found.value


def comparable(value: Atomic) -> Any:
    """What decides the order of two values of one family; None when there is nothing to compare."""
    if value.type in MOMENTS:
        return moment(value.type, str(value.value))
    return value.value
