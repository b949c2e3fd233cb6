"""Quoting of names and text in T-SQL: the only two ways anything of a config enters a script."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quote_name(name: str) -> str:
    """``name`` in brackets; a closing bracket is doubled (QUOTENAME page)."""
    return "[" + name.replace("]", "]]") + "]"


def literal(text: str) -> str:
    """``text`` as a Unicode literal; a quote is doubled (Constants page).

    A backslash and the line's end behind it are left out of a literal, as a line that goes on
    (Backslash page): both are there once more, so that one of each stays.
    """
    doubled = re.sub(r"\\(\r?\n)", r"\\\\\1\1", text.replace("'", "''"))
    return f"N'{doubled}'"


def single_quoted(text: str) -> str:
    """``text`` in quotes for a message a person reads; not T-SQL."""
    return "'" + text + "'"


def message_text(text: str) -> str:
    """``text`` as a THROW message: a percent sign is doubled (THROW page)."""
    return text.replace("%", "%%")


def wrapped(items: Iterable[str], indent: int, width: int = 120) -> str:
    """Items of a list with commas between them, as many in a line as fit ``width`` characters.

    indent: spaces before every line but the first, which stands behind what is there already.
    """
    lines = [""]
    for item in items:
        if lines[-1] and indent + len(lines[-1]) + len(item) + 3 > width:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{item}"
    return (",\n" + " " * indent).join(lines)


def qualified(schema: str, name: str) -> str:
    """``schema.name``, each in brackets."""
    return f"{quote_name(schema)}.{quote_name(name)}"
