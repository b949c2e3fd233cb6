"""LIKE and PATINDEX patterns as regular expressions ("LIKE" page).

What stands between two ``%`` matches texts of one length only, so its first occurrence is as good
as any later one. It is looked for in an atomic group, which is never left again: a pattern with
any number of ``%`` takes at most as many steps as text and pattern are long, multiplied.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import NVARCHAR_MAX, UNICODE_TYPES
from redial_broker.exec.conversion.rules import group, shown_name
from redial_broker.exec.expressions.expr import Expr, closure
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.expressions.registry import compile_expression, condition
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.exec.closures import Fn

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


def _segments(pattern: str, escape: str | None) -> list[str]:
    """The expressions of what stands before, between and behind the ``%`` of a pattern."""
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
    return ["".join(parts) for parts in segments]


@lru_cache(maxsize=2048)
def like_regex(pattern: str, escape: str | None, case_sensitive: bool) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern; use its ``fullmatch``.

    Its first group is what stands behind the first ``%``, up to the next one.
    """
    first, *rest = _segments(pattern, escape)
    if rest:
        *between, last = rest
        if between:
            between[0] = f"({between[0]})"
            first += "".join(f"(?>.*?{segment})" for segment in between if segment) + f".*{last}"
        else:
            first += f".*({last})"
    flags = re.DOTALL if case_sensitive else re.DOTALL | re.IGNORECASE
    return re.compile(first, flags)


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
    text = "x0" if unicode else "x0.rstrip(' ')"
    found = "is None" if node.negated else "is not None"
    if not pattern.constant:
        body = (
            f"m = regex(x1, escape, sensitive).fullmatch\nreturn m(x0) {found}"
            if unicode
            else (
                f"m = regex(x1, escape, sensitive).fullmatch\nreturn (m(x0) or m({text})) {found}"
            )
        )
        return closure(
            body, [operand, pattern], regex=like_regex, escape=escape, sensitive=sensitive
        )
    if pattern.value is None:
        return lambda session, variables, row: None
    match = like_regex(pattern.value, escape, sensitive).fullmatch
    test = "match(x0)" if unicode else f"(match(x0) or match({text}))"
    return closure(f"return {test} {found}", [operand], match=match)
