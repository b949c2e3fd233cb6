"""Reading option lists of DDL statements: words, numbers, names and text alike."""

from __future__ import annotations

from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError


def word(value: Any) -> str:
    """An option's value as text: a word, name, string or number."""
    if isinstance(value, ast.Identifier):
        return value.text
    if isinstance(value, ast.Literal):
        return str(value.value)
    if isinstance(value, ast.ObjectName):
        return value.name
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if isinstance(value, ast.UnaryOp):
        return value.op  # what a syntax error names
    return "" if value is None else str(value)


def exact(value: Any) -> Any:
    """An option's number with its sign, fractions included."""
    if isinstance(value, ast.UnaryOp):
        return -exact(value.operand) if value.op == "-" else exact(value.operand)
    return value.value if isinstance(value, ast.Literal) else value


def number(value: Any) -> int:
    """An option's value as a whole number, with its sign. Raises 102 for what is none."""
    found = exact(value)
    if not isinstance(found, int):
        raise SqlError(102, word(value), aborts="batch")
    return found
