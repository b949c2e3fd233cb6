"""Cutting a script at GO, as sqlcmd and Management Studio do.

GO is no T-SQL: it is a line of its own that the tools take for themselves.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redial.tsql.ast import Batch
from redial.tsql.errors import TsqlSyntaxError
from redial.tsql.lexer import COMMENT_MARK
from redial.tsql.parser import parse_batch

_GO = re.compile(r"[ \t]*GO(?:[ \t]+(\d+))?[ \t]*(?:--[^\n]*)?$", re.IGNORECASE)
_GO_AND_MORE = re.compile(r"[ \t]*GO[ \t]+(?![=.])\S", re.IGNORECASE)
_OPENING = re.compile(r"'|\"|\[|--|/\*")
_CLOSING = {"'": "'", '"': '"', "[": "]"}


class ScriptBatch(NamedTuple):
    """One batch of a script."""

    sql: str
    first_line: int
    """1-based line of its text."""
    repeat_count: int
    """N of ``GO n``."""


def split_batches(text: str) -> list[ScriptBatch]:
    """Cut a script at lines that hold only ``GO`` or ``GO n``.

    Not inside strings, comments (which nest) and names in brackets or double quotes. ``GO;`` is no
    separator; ``GO 0`` counts as 1; batches of nothing but blanks are left out.
    Raises TsqlSyntaxError 0 for more text behind GO, which stops sqlcmd as well.
    """
    text = text.removeprefix("\ufeff")
    batches: list[ScriptBatch] = []
    start = first_line = 0
    position = line = 0
    while position < len(text):
        end = _line_end(text, position)
        content = text[position:end].rstrip("\r")
        go = _GO.match(content)
        if go:
            _add(batches, text[start:position], first_line, int(go.group(1) or 1))
            position = min(end + 1, len(text))
            line += 1
            start, first_line = position, line
            continue
        if _GO_AND_MORE.match(content):
            raise TsqlSyntaxError(0, "Text behind the batch separator GO.", line + 1, 1)
        after = _skip_line(text, position)
        line += text.count("\n", position, after)
        position = after
    _add(batches, text[start:], first_line, 1)
    return batches


def parse_script(text: str, quoted_identifier: bool = True) -> list[Batch]:
    """Parse every batch of a script; positions count from the script's first line.

    Raises TsqlSyntaxError for the first batch that has one.
    """
    result = []
    for sql, first_line, repeat in split_batches(text):
        batch = parse_batch(sql, first_line, quoted_identifier)
        batch.repeat = repeat
        result.append(batch)
    return result


def _add(batches: list[ScriptBatch], sql: str, line: int, count: int) -> None:
    if sql.strip():
        batches.append(ScriptBatch(sql, line + 1, max(count, 1)))


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _skip_line(text: str, position: int) -> int:
    """Return where the next line begins that is not inside a quoted thing or a comment."""
    while True:
        end = _line_end(text, position)
        opening = _OPENING.search(text, position, end)
        if opening is None or opening.group() == "--":
            return min(end + 1, len(text))
        position = _behind(text, opening.end(), opening.group())


def _behind(text: str, position: int, opening: str) -> int:
    """Return the offset behind what ``opening`` opened, or the end of the text."""
    if opening == "/*":
        depth = 1
        while depth:
            mark = COMMENT_MARK.search(text, position)
            if mark is None:
                return len(text)
            depth += 1 if mark.group() == "/*" else -1
            position = mark.end()
        return position
    closing = _CLOSING[opening]
    found = text.find(closing, position)
    # A doubled delimiter stands for itself. A bracket must be told: ``]]`` opens nothing again.
    while found >= 0 and text.startswith(closing, found + 1):
        found = text.find(closing, found + 2)
    return len(text) if found < 0 else found + 1
