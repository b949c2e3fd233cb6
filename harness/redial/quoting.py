"""Quoting of names and text in T-SQL: the only two ways anything of a config enters a script."""

from __future__ import annotations


def quote_name(name: str) -> str:
    """``name`` in brackets; a closing bracket is doubled (QUOTENAME page)."""
    return "[" + name.replace("]", "]]") + "]"


def literal(text: str) -> str:
    """``text`` as a Unicode literal; a quote is doubled (Constants page)."""
    return "N'" + text.replace("'", "''") + "'"


def single_quoted(text: str) -> str:
    """``text`` in quotes for a message a person reads; not T-SQL."""
    return "'" + text + "'"


def message_text(text: str) -> str:
    """``text`` as a THROW message: a percent sign is doubled (THROW page)."""
    return text.replace("%", "%%")
