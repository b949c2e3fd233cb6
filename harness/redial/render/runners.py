"""What other tools would do to a script of ours: where they cut it, and what in it they take for theirs.

Each tool has its own idea of GO: some look at lines only, some at words, some know no nested comment. A
script is safe when all of them cut it where sqlcmd does, and none finds a variable or a command in it.
The sources were read, not copied; ``docs/facts.md``, F-584, says which and when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from redial.quoting import quote_name
from redial.tsql import split_batches

_STRING = r"'(?:[^']|'')*'"
_QUOTED = r'"[^"]*"'
_BRACKETS = r"\[(?:[^\]]|\]\])*\]"
_LINE_COMMENT = r"--[^\n]*"
_FLAT_COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
_NEST = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Runner:
    """One tool."""

    name: str
    separator: str
    """Regular expression of what it takes for the end of a batch."""
    skipped: tuple[str, ...] = ()
    """Regular expressions of what it looks for no separator in."""
    nested: bool = False
    """Whether it knows that a comment may hold another."""

    def cut(self, text: str) -> list[str]:
        """The batches it would send, blanks around them apart; none that is empty."""
        return [found for found in _pieces(text, self._pattern(), self.nested) if found]

    def _pattern(self) -> re.Pattern[str]:
        skipped = "|".join((*self.skipped, r"/\*") if self.nested else self.skipped)
        both = f"(?P<skip>{skipped})|" if skipped else ""
        return re.compile(f"{both}(?P<go>{self.separator})", re.IGNORECASE | re.MULTILINE)


def _pieces(text: str, pattern: re.Pattern[str], nested: bool) -> Iterator[str]:
    start = position = 0
    while found := pattern.search(text, position):
        position = max(found.end(), found.start() + 1)
        if found["go"] is not None:
            yield text[start : found.start()].strip()
            start = position
        elif nested and found.group() == "/*":
            position = _behind_comment(text, position)
    yield text[start:].strip()


def _behind_comment(text: str, position: int) -> int:
    depth = 1
    while depth and (mark := _NEST.search(text, position)):
        depth += 1 if mark.group() == "/*" else -1
        position = mark.end()
    return len(text) if depth else position


_ALL = (_STRING, _QUOTED, _BRACKETS, _LINE_COMMENT)
RUNNERS = (
    # pkg/sqlcmd/batch.go, commands.go: a line, comments do not nest; also its issue 569.
    Runner("go-sqlcmd", r"^[\t ]*GO(?: +[^\n]*)?$", (*_ALL, _FLAT_COMMENT)),
    # SqlToolsService, ManagedBatchParser, Lexer.cs: the word at the start of a line.
    Runner("SSMS, Invoke-Sqlcmd", r"""^[ \t]*GO(?=[\s$/\-'"(\[!]|\Z)[^\n]*""", _ALL, nested=True),
    # dbup-core, Support/SqlParser.cs: a word between blanks wherever it stands, GO; too; issues 44, 51, 548.
    Runner("DbUp", r"(?<!\S)GO(?=[\s;]|\Z);?", (_STRING, _BRACKETS, _LINE_COMMENT), nested=True),
    # grate.sqlserver, SqlServerSyntax.cs: the same, and it knows no brackets and no nested comment.
    Runner("grate", r"(?<!\S)GO(?=[\s;]|\Z)", (r"'[^']*'", _LINE_COMMENT, r"/\*[\S\s]*?\*/")),
    # dbatools, Invoke-DbaAsync; Invoke-SqlCmd2 -ParseGO: a line, also in strings and comments; 6569, 9120.
    Runner("dbatools", r"^\s*GO\s*$"),
    # dbhub, pull request 374; flyway-sqlserver, delimiter GO alone on its line: a line outside of both.
    Runner("dbhub, Flyway", r"^[ \t]*GO(?:[ \t]+\d+)?[ \t]*$", _ALL, nested=True),
    # go-mssqldb, batch.Split before the mend of its issue 247: whatever begins a line with these letters.
    Runner("go-mssqldb", r"^[ \t]*GO", (*_ALL, _FLAT_COMMENT)),
)
"""Tools whose cutting is known, each with where it was read."""

MARKS = {
    "a variable of sqlcmd and SqlPackage": r"\$\(",
    "a placeholder of Flyway and Liquibase": r"\$\{",
    "a variable of DbUp": r"\$[\w-]+\$",
    "a token of grate": r"\{\{\w+\}\}",
    "a command of sqlcmd": r"^[ \t]*(?::[a-z!]|!!|(?:exit|quit|reset|ed|on error)(?:[ \t(]|$))",
    "a line that T-SQL joins with the next": r"\\$",
}
"""What a tool takes for its own wherever it stands, a line's end after a backslash with it."""
_MARKS = {what: re.compile(mark, re.IGNORECASE | re.MULTILINE) for what, mark in MARKS.items()}


def unsafe(text: str) -> list[str]:
    """Why some tool would not run a script as it is meant; one line each, empty for a safe one."""
    meant = [batch.sql.strip() for batch in split_batches(text)]
    found = [
        f"line {text.count(chr(10), 0, mark.start()) + 1}: {mark.group().strip()!r} is {what}"
        for what, pattern in _MARKS.items()
        if (mark := pattern.search(text))
    ]
    for runner in RUNNERS:
        sent = runner.cut(text)
        if sent != meant:
            other = next((a for a, b in zip(sent, meant) if a != b), sent[-1] if sent else "")
            last = other.splitlines()[-1].strip() if other else ""
            found.append(f"{runner.name} would end a batch elsewhere than sqlcmd: behind {last!r}")
    return found


def unsafe_name(name: str) -> str | None:
    """Why some tool would misread a script in which a name stands in brackets; None for a safe one."""
    found = unsafe(f"SELECT N'a' AS {quote_name(name)};\nGO\nSELECT N'b' /* c */;\nGO\n")
    return found[0].removeprefix("line 1: ").partition(": behind ")[0] if found else None
