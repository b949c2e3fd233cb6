"""Expressions of a catalog beside those of a script: the same value written two ways.

A server keeps a default or a check as text of its own making: brackets around names, parentheses
around constants, IN as OR (sys.default_constraints, sys.check_constraints). So both are parsed, and
what is compared is the tree without what carries no meaning.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TypeVar

from redial.tsql import TsqlNotSupported, TsqlSyntaxError, parse_batch
from redial.tsql.ast import (
    Between,
    ColumnRef,
    Comparison,
    Identifier,
    InList,
    Literal,
    Node,
    ObjectName,
    Select,
    SelectItem,
)

T = TypeVar("T", bound=Node)

_PLACES = ("pos", "end", "terminated")


def value_text(text: str) -> str:
    """A default in a form that does not depend on how it is written; unreadable text stays."""
    item = _first(f"SELECT {text};", SelectItem)
    return text if item is None else shape(item.value)


def condition_text(text: str) -> str:
    """A check, or an index's filter, in the same way."""
    select = _first(f"SELECT 1 WHERE {text};", Select)
    return text if select is None else shape(select.where)


def module_text(text: str) -> str:
    """A module's definition as written: line ends and its first words do not count.

    A server keeps the batch, with blanks in place of OR ALTER (sys.sql_modules; observed).
    """
    lines = text.replace("\r\n", "\n").strip()
    return re.sub(r"(?i)\b(CREATE(\s+OR\s+ALTER)?|ALTER)\s+", "CREATE ", lines, count=1)


def _first(sql: str, kind: type[T]) -> T | None:
    """The first node of a kind; None for text that cannot be read."""
    try:
        batch = parse_batch(sql)
    except (TsqlSyntaxError, TsqlNotSupported):
        return None
    return next((node for node in batch.walk() if isinstance(node, kind)), None)


def shape(value: object) -> str:
    """A tree as text, without places, parentheses and the case of names."""
    if isinstance(value, (Identifier, ColumnRef, ObjectName)):
        parts = (value.text,) if isinstance(value, Identifier) else value.parts
        return ".".join(parts).lower()
    if isinstance(value, Literal):
        return f"{value.value!r}"
    if isinstance(value, InList):
        word = "AND" if value.negated else "OR"
        op = "<>" if value.negated else "="
        each = (f"({shape(value.operand)} {op} {shape(item)})" for item in value.items)
        return f"{word}[{' '.join(sorted(each))}]"
    if isinstance(value, Between) and not value.negated:
        operand = shape(value.operand)
        both = (f"({operand} >= {shape(value.low)})", f"({operand} <= {shape(value.high)})")
        return f"AND[{' '.join(sorted(both))}]"
    if isinstance(value, Comparison):
        return f"({shape(value.left)} {value.op} {shape(value.right)})"
    if isinstance(value, Node):
        kind = type(value).__name__.upper()
        inside = [
            getattr(value, field.name)
            for field in dataclasses.fields(value)
            if field.name not in _PLACES
        ]
        if kind in ("AND", "OR"):
            return f"{kind}[{' '.join(sorted(shape(one) for one in inside[0]))}]"
        return f"{kind}({' '.join(shape(one) for one in inside)})"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(shape(one) for one in value) + "]"
    return str(value).lower()
