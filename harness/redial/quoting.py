"""Quoting of names and text in T-SQL: the only two ways anything of a config enters a script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby


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


def visible(text: str) -> str:
    """In one line: what would break it, or not be seen, by its number: <U+000A>.

    No backslash: in sql/accepted.toml that would be what it stands for again.
    """
    return "".join(f"<U+{ord(one):04X}>" if _is_hidden(one) else one for one in text)


def in_one_line(sql: str) -> str:
    """A statement as it is; one with names that hold what ``visible`` shows is made of parts, and run."""
    if not any(map(_is_hidden, sql)):
        return sql
    parts = [
        " + ".join(f"NCHAR({ord(one)})" for one in run) if hidden else literal("".join(run))
        for hidden, run in groupby(sql, _is_hidden)
    ]
    text = " + ".join(["CONVERT(nvarchar(max), N'')", *parts])
    return f"DECLARE @sql nvarchar(max) = {text}; EXECUTE sys.sp_executesql @sql;"


def _is_hidden(one: str) -> bool:
    """Control characters, marks that turn or join text, halves of a pair, separators of lines."""
    return unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")
