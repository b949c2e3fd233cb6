"""Linting a file: cut at GO, parsed by our own parser, every rule over every batch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from redial.lint.model import Finding, Module, Options, script_of
from redial.lint.rules import RULES
from redial.tsql import TsqlSyntaxError, ast, parse_batch, split_batches
from redial.tsql.ast import Source

UNPARSED = "SB00"
"""Code of what no rule has seen because it does not parse."""

_MOST_REPAIRS = 200
_SOFT = re.compile(r"(SEND|RECEIVE|GET|MOVE)\b", re.IGNORECASE)
_SOFT_BEFORE = re.compile(r"\b(SEND|RECEIVE|GET|MOVE)\s+$", re.IGNORECASE)
"""The same word just before the error: taken for a name (BEGIN TRANSACTION RECEIVE)."""

_ALLOWED = re.compile(r"(?:--|/\*)\s*lint:\s*allow\s+(SB\d\d)\s*:\s*\w")
"""``/* lint: allow SB13: why */`` on the line of the finding or the one above; without a why it
allows nothing."""

_TABLE = re.compile(r"(?:--|/\*)\s*lint:\s*table\s+(\w+)")
"""``/* lint: table Dialogs */``: what stands for SessionConversations in this script."""


def lint_file(path: Path, options: Options | None = None) -> list[Finding]:
    """Findings of one file, in the order of the text. Raises OSError, UnicodeDecodeError."""
    return lint_text(path.read_text(encoding="utf-8-sig"), options)


def lint_text(text: str, options: Options | None = None) -> list[Finding]:
    """Findings of a script. A batch that does not parse has one, SB00, and no other."""
    options = options or Options()
    named = _TABLE.search(text)
    if named is not None:
        options = replace(options, table=named[1])
    try:
        batches = split_batches(text)
    except TsqlSyntaxError as error:
        return [Finding(error.line, error.column, UNPARSED, error.message)]
    parsed = [_parse(sql, first_line) for sql, first_line, _ in batches]
    script = script_of([one.batch for one in parsed if one.batch is not None])
    found: list[Finding] = []
    for number, one in enumerate(parsed):
        found += one.found
        if one.batch is not None:
            found += _rules(one, Module(one.batch, number, options, script))
    lines = text.split("\n")
    return sorted(one for one in set(found) if not _allowed(one, lines))


@dataclass(slots=True)
class _Parsed:
    """A batch, None when it does not parse."""

    batch: ast.Batch | None = None
    found: list[Finding] = field(default_factory=list)
    """What parsing it found."""
    shifts: list[tuple[int, int]] = field(default_factory=list)
    """Where semicolons were put in."""


def _parse(sql: str, first_line: int) -> _Parsed:
    """One batch. Where only a semicolon is missing it is put in, so that the rest is seen too."""
    parsed = _Parsed()
    for _ in range(_MOST_REPAIRS):
        try:
            parsed.batch = parse_batch(sql, first_line)
            break
        except TsqlSyntaxError as error:
            place = _offset(sql, error.line - first_line, error.column)
            word = _SOFT.match(sql, place) or _SOFT_BEFORE.search(sql, 0, place)
            if word is None or sql[: word.start()].rstrip().endswith(";"):
                line, column = _unshifted(parsed.shifts, error.line, error.column)
                parsed.found.append(Finding(line, column, UNPARSED, error.message))
                break
            at = word.start()
            line, column = Source(sql, first_line).line_column(at)
            parsed.found.append(
                Finding(
                    *_unshifted(parsed.shifts, line, column),
                    "SB01",
                    f"the statement before {word[1].upper()} does not end with ;",
                )
            )
            sql = f"{sql[:at]};{sql[at:]}"
            parsed.shifts.append((line, column))
    return parsed


def _rules(parsed: _Parsed, module: Module) -> list[Finding]:
    found = []
    for rule in RULES.values():
        for node, text in rule.check(module):
            line, column = module.batch.source.line_column(_start(node))
            found.append(Finding(*_unshifted(parsed.shifts, line, column), rule.code, text))
    return found


def _start(node: ast.Node) -> int:
    return node.statements[0].pos if isinstance(node, ast.Batch) and node.statements else node.pos


def _offset(sql: str, line: int, column: int) -> int:
    """Offset of a place. line: from 0; column: from 1."""
    at = 0
    for _ in range(line):
        at = sql.index("\n", at) + 1
    return at + column - 1


def _unshifted(shifts: list[tuple[int, int]], line: int, column: int) -> tuple[int, int]:
    """A place in the text as it was before semicolons were put in."""
    before = sum(1 for at_line, at_column in shifts if at_line == line and at_column < column)
    return line, column - before


def _allowed(finding: Finding, lines: list[str]) -> bool:
    near = lines[max(finding.line - 2, 0) : finding.line]
    return any(finding.code in _ALLOWED.findall(line) for line in near)
