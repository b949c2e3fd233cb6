"""How numbers and moments read inside the texts of FOR XML and FOR JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from redial_broker.engine.seventh_digit import digits_of
from redial_broker.engine.types import SqlType

Text = Callable[[Any], str]


def float_text(of: SqlType) -> Text:
    """Approximate numbers in scientific form with three digits of exponent (F-222)."""
    digits = 7 if of.name == "real" else 15

    def write(value: float) -> str:
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(3, '0')}"

    return write


def moment_text(of: SqlType) -> Text:
    """Dates and times in ISO form; a fraction of nothing but zeros is left out."""
    digits = {"datetime": 3, "smalldatetime": 0}.get(of.name, of.scale)

    def write(value: Any) -> str:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value.isoformat()
        fraction = digits_of(value)[:digits]
        tail = f".{fraction}" if fraction.strip("0") else ""
        if isinstance(value, time):
            return f"{value:%H:%M:%S}{tail}"
        shown = f"{value.year:04}-{value:%m-%dT%H:%M:%S}{tail}"
        if value.tzinfo is None:
            return shown
        minutes = int(value.utcoffset().total_seconds()) // 60
        if not minutes:
            return f"{shown}Z"
        sign = "-" if minutes < 0 else "+"
        return f"{shown}{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"

    return write
