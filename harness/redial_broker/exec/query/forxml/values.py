"""How SQL values read inside FOR XML texts."""

from __future__ import annotations

import re
from base64 import b64encode

from redial_broker.engine.types import NVARCHAR_MAX, SqlType
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.conversion.documents import Text, float_text, moment_text
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.xml.nodes import escape_text, escape_value

NIL_MARK = ' xsi:nil="true"'
"""Attribute of an element that stands for NULL (XSINIL)."""

_EMPTY = re.compile(r"<([^\s<>/!?]+)((?:\s[^<>]*)?)></\1>")


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


def self_closed(text: str) -> str:
    """Elements nothing was written into close themselves."""
    return _EMPTY.sub(r"<\1\2/>", text)


def content(text: str) -> str:
    """Text as element content."""
    return _references(escape_text(text))


def quoted(text: str) -> str:
    """Text as an attribute's value."""
    return _references(escape_value(text))
