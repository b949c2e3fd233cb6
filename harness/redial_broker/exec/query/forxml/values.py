"""How SQL values read inside FOR XML and FOR JSON texts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from redial_broker.engine.types import NVARCHAR_MAX, SqlType
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.xml.nodes import escape_text, escape_value

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
        fraction = f"{value.microsecond:06}0"[:digits] if value.microsecond else ""
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


def text_of(of: SqlType) -> Text:
    """How a value of a type reads in XML: dates in ISO form, binary in base64."""
    kind = group(of)
    if kind == "float":
        return float_text(of)
    if kind == "variant":
        return lambda value: text_of(value.type)(value.value)
    if kind in {"binary", "rowversion"}:
        return lambda value: b64encode(value).decode()
    if of.is_string or kind == "xml":
        return str
    if kind in {"datetime", "moment", "date", "time"}:
        return moment_text(of)
    return explicit_conversion(of, NVARCHAR_MAX)


def _references(text: str) -> str:
    """Characters XML has no place for, as character references (F-222)."""
    if text.isprintable():
        return text
    return "".join(
        f"&#x{ord(char):02X};"
        if (char < " " and char not in "\t\r\n") or char in "\ufffe\uffff"
        else char
        for char in text
    )


def content(text: str) -> str:
    """Text as element content."""
    return _references(escape_text(text))


def quoted(text: str) -> str:
    """Text as an attribute's value."""
    return _references(escape_value(text))
