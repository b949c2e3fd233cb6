"""Reading scripts as sqlcmd does: encodings, :setvar, GO batches."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

GO = re.compile(r"[ \t]*GO(?:[ \t]+(\d+))?[ \t]*(?:--.*)?$", re.I)
GO_JUNK = re.compile(r"[ \t]*GO[ \t]+(?![=.])\S", re.I)  # sqlcmd: fatal scripting error
TOKEN = re.compile(r"--[^\n]*|/\*|'|\"|\[|\n")
COMMENT_MARK = re.compile(r"/\*|\*/")
CLOSING = {"'": "'", '"': '"', "[": "]"}
BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Batch(NamedTuple):
    """One batch: offset and line of its start in the file, its text, how often GO asks for it."""

    offset: int
    line: int
    text: str
    count: int


def batches(text: str, junk: list[int] | None = None) -> Iterator[Batch]:
    """Cut at GO lines that are not inside a comment or a quoted thing.

    Lines on which text follows GO, where sqlcmd stops, are added to ``junk``.
    """
    pos = line_start = start = 0
    line = start_line = 1
    while line_start <= len(text):
        if pos == line_start:  # at the start of a line, outside everything
            eol = text.find("\n", pos)
            end = len(text) if eol < 0 else eol
            found = GO.match(text[pos:end].rstrip("\r"))
            if found:
                yield Batch(start, start_line, text[start:pos], int(found.group(1) or 1) or 1)
                pos = line_start = start = end + 1
                line += 1
                start_line = line
                continue
            if junk is not None and GO_JUNK.match(text[pos:end]):
                junk.append(line)
        token = TOKEN.search(text, pos)
        if not token:
            break
        pos = _skip(text, token)
        line += text.count("\n", token.start(), pos)
        newline = text.rfind("\n", token.start(), pos)
        if newline >= 0:
            line_start = newline + 1
    if start < len(text):
        yield Batch(start, start_line, text[start:], 1)


def _skip(text: str, token: re.Match[str]) -> int:
    """Where the comment, literal or quoted name that begins at ``token`` ends."""
    pos = token.end()
    if token.group() == "/*":
        depth = 1  # block comments nest in T-SQL
        while depth:
            mark = COMMENT_MARK.search(text, pos)
            if not mark:
                return len(text)
            depth += 1 if mark.group() == "/*" else -1
            pos = mark.end()
        return pos
    close = CLOSING.get(token.group())
    while close:
        found = text.find(close, pos)
        if found < 0:
            return len(text)
        pos = found + 1
        if text[pos : pos + 1] != close:
            return pos
        pos += 1
    return pos


def read(path: str, sqlcmd: bool = False, variables: list[str] | None = None) -> str:
    """Text of a file, or of stdin for ``-``; sqlcmd's commands blanked, its variables put in."""
    if path == "-":
        raw = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as source:
            raw = source.read()
    encoding = next((name for bom, name in BOMS if raw.startswith(bom)), "utf-8")
    text = raw.decode(encoding, "replace" if encoding == "utf-8" else "strict")
    if not (sqlcmd or variables):
        return text
    values = dict(pair.split("=", 1) for pair in variables or [])
    lines = []
    for line in text.split("\n"):
        found = re.match(r'\s*:setvar\s+(\w+)\s+(?:"(.*?)"|(\S+))', line, re.I)
        if found:
            quoted, bare = found.group(2), found.group(3)
            values.setdefault(found.group(1), bare if quoted is None else quoted)
        if sqlcmd and re.match(r"\s*(:\w|!!)", line):
            line = ""  # keep the line's number, lose the command
        lines.append(re.sub(r"\$\((\w+)\)", lambda k: values.get(k.group(1), k.group(0)), line))
    return "\n".join(lines)
