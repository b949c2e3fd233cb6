"""LIKE and PATINDEX patterns as regular expressions ("LIKE" page).

What stands between two ``%`` matches texts of one length only, so its first occurrence is as good
as any later one. It is looked for in an atomic group, which is never left again: a pattern with
any number of ``%`` takes at most as many steps as text and pattern are long, multiplied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.meter import EVERY, Meter
from redial_broker.engine.types import NVARCHAR_MAX, UNICODE_TYPES
from redial_broker.exec.conversion.rules import group, shown_name
from redial_broker.exec.expressions.expr import Expr, closure
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.expressions.registry import compile_expression, condition
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.exec.closures import Fn
    from redial_broker.exec.session import SessionState

_NEVER = "(?!)"
_CLASS_SPECIAL = frozenset("\\]^-[&~|")


def _class_char(char: str) -> str:
    return "\\" + char if char in _CLASS_SPECIAL else char


def _read_class(pattern: str, start: int, escape: str | None) -> tuple[str, int]:
    """The character class that opens at ``start`` and where it ends; nothing matches when open."""
    at, negated, parts = start + 1, False, []
    if pattern[at : at + 1] == "^":
        negated, at = True, at + 1
    first = at
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        if pattern[at] == escape and at + 1 < len(pattern):
            at += 1
        low = pattern[at]
        if pattern[at + 1 : at + 2] == "-" and pattern[at + 2 : at + 3] not in {"]", ""}:
            high = pattern[at + 2]
            if low <= high:
                parts.append(f"{_class_char(low)}-{_class_char(high)}")
            at += 3
        else:
            parts.append(_class_char(low))
            at += 1
    if at >= len(pattern):
        return _NEVER, len(pattern)
    if not parts:
        return ("." if negated else _NEVER), at + 1
    return f"[{'^' if negated else ''}{''.join(parts)}]", at + 1


def _segments(pattern: str, escape: str | None) -> list[list[str]]:
    """What stands before, between and behind the ``%`` of a pattern, an expression a character."""
    segments: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        parts = segments[-1]
        char = pattern[at]
        if char == escape:
            # An escape character at the very end stands for nothing and matches nothing.
            parts.append(re.escape(pattern[at + 1]) if at + 1 < len(pattern) else _NEVER)
            at += 2
        elif char == "%":
            segments.append([])
            at += 1
        elif char == "_":
            parts.append(".")
            at += 1
        elif char == "[":
            text, at = _read_class(pattern, at, escape)
            parts.append(text)
        else:
            parts.append(re.escape(char))
            at += 1
    return segments


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A compiled pattern."""

    whole: re.Pattern[str]
    """Its expression; the first group is what stands behind the first ``%``, up to the next one."""
    pieces: tuple[tuple[re.Pattern[str], int], ...]
    """(expression, length) of what stands before, between and behind its ``%``."""
    size: int
    """Of the pattern, for what a match may cost."""

    def match(self, session: SessionState | None, text: str) -> bool:
        """Whether the text is like the pattern."""
        steps = len(text) * self.size >> _STEPS
        if not steps:
            return self.whole.fullmatch(text) is not None
        return self.place(session, text) >= 0

    def place(self, session: SessionState | None, text: str) -> int:
        """Where what stands behind the first ``%`` begins, 0 without a ``%``; -1 for no match."""
        steps = len(text) * self.size >> _STEPS
        meter = session.engine.meter if session is not None else Meter()
        if steps < EVERY:
            if steps:
                meter.tick(steps)
            found = self.whole.fullmatch(text)
            return -1 if found is None else found.start(1) if len(self.pieces) > 1 else 0
        return self._searched(meter, text)

    def _searched(self, meter: Meter, text: str) -> int:
        """``place`` in a very long text, piece by piece, so that others have their turn."""
        (first, at), *rest = self.pieces
        if first.match(text) is None or (not rest and at != len(text)):
            return -1
        place = 0 if not rest else -1
        for piece, length in rest[:-1]:
            meter.tick(_PIECE)
            found = _found(meter, piece, length, text, at)
            if found < 0:
                return -1
            place = found if place < 0 else place
            at = found + length
        if rest:
            last, length = rest[-1]
            start = len(text) - length
            if start < at or last.match(text, start) is None:
                return -1
            place = start if place < 0 else place
        return place


_PIECE = 16
"""What looking for a piece counts, in rows, besides its steps."""

_STEPS = 8
"""A row counts for 2 ** so many steps of a match."""


def _found(meter: Meter, piece: re.Pattern[str], length: int, text: str, at: int) -> int:
    """Where texts of one length only are found first, from ``at`` on; -1 for nowhere."""
    window = max(1, (EVERY << _STEPS) // max(1, length))
    while at <= len(text):
        found = piece.search(text, at, at + window + length - 1)
        if found is not None:
            return found.start()
        at += window
        meter.tick(EVERY)
    return -1


@lru_cache(maxsize=2048)
def like_pattern(pattern: str, escape: str | None, case_sensitive: bool) -> LikePattern:
    """Compile a LIKE pattern."""
    segments = _segments(pattern, escape)
    first, *rest = ["".join(segment) for segment in segments]
    flags = re.DOTALL if case_sensitive else re.DOTALL | re.IGNORECASE
    pieces = ((re.compile("".join(segment), flags), len(segment)) for segment in segments)
    if rest:
        *between, last = rest
        if between:
            between[0] = f"({between[0]})"
            first += "".join(f"(?>.*?{segment})" for segment in between if segment) + f".*{last}"
        else:
            first += f".*({last})"
    return LikePattern(re.compile(first, flags), tuple(pieces), len(pattern))


def as_text(side: Expr) -> Expr:
    """An operand of LIKE as a string; xml and binary data are refused as on the server."""
    if side.type.is_string:
        return side
    if group(side.type) in {"xml", "binary", "rowversion", "variant"} and not side.untyped:
        raise SqlError(8116, shown_name(side.type), 1, "like")
    return converted(side, NVARCHAR_MAX)


def _escape_of(node: ast.Like, scope: Scope) -> str | None:
    if node.escape is None:
        return None
    escape = compile_expression(node.escape, scope)
    if not escape.constant:
        raise scope.refuse("an ESCAPE that is not a constant", node)
    if not isinstance(escape.value, str) or len(escape.value) != 1:
        raise SqlError(506, escape.value, "LIKE")
    return escape.value


@condition(ast.Like)
def _like(node: ast.Like, scope: Scope) -> Fn:
    operand = as_text(compile_expression(node.operand, scope))
    pattern = as_text(compile_expression(node.pattern, scope))
    escape = _escape_of(node, scope)
    collation: Collation = common_collation(operand, pattern)
    sensitive = collation.case_sensitive
    unicode = operand.type.name in UNICODE_TYPES or pattern.type.name in UNICODE_TYPES
    # With ASCII LIKE, blanks at the end of the text do not count; with Unicode LIKE they do.
    no = "not " if node.negated else ""
    test = "(m(session, x0))" if unicode else "(m(session, x0) or m(session, x0.rstrip(' ')))"
    if not pattern.constant:
        body = f"m = pattern(x1, escape, sensitive).match\nreturn {no}{test}"
        return closure(
            body, [operand, pattern], pattern=like_pattern, escape=escape, sensitive=sensitive
        )
    if pattern.value is None:
        return lambda session, variables, row: None
    match = like_pattern(pattern.value, escape, sensitive).match
    return closure(f"return {no}{test}", [operand], m=match)
