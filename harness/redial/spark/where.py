"""Option ``where``: which rows leave the server, told by the reader and checked before it reads.

Spark's own pushdown is not used: Spark 4.1 to 4.3 keep what the first filter read for every later
action on the same DataFrame, which then lacks rows (docs/spark.md, Reading less). A comparison here
finds the rows that the same words find in Spark: text byte for byte, NULL equal to nothing.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from redial.quoting import literal
from redial.spark.columns import COLUMNS, EXPRESSIONS, IDS, no_such
from redial.spark.ranges import mark_literal, time_literal

RULE = (
    "column = value, <>, IN (value, ...), IS NULL or IS NOT NULL, with AND between; also <, <=, > and "
    ">= for mark, numbers and times"
)
SIGNS = ("=", "<>", "<", "<=", ">", ">=")
TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<mark>0[xX][0-9a-fA-F]*)|(?P<number>[-+]?\d+)"
    r"|(?P<word>`?[A-Za-z_][A-Za-z_0-9]*`?)|(?P<sign><=|>=|<>|!=|[=<>(),]))"
)
BINARY = "Latin1_General_100_BIN2"
"""Collation that tells code points apart; it still passes over blanks at the end, as all do."""
BIGINT = 1 << 63

Value = int | str | datetime


class WhereError(ValueError):
    """The text of ``where`` says something that cannot be compared."""


@dataclass(frozen=True)
class Condition:
    """One comparison."""

    column: str
    sign: str
    """One of SIGNS, IN, IS NULL, IS NOT NULL."""
    values: tuple[Value, ...] = ()
    """None, one, or those of IN; an id is text, a mark is a number."""


def wrong_where(text: str) -> list[str]:
    """What is wrong with the text of ``where``; none: nothing."""
    try:
        parsed(text)
    except WhereError as error:
        return [f"where: {error}; allowed: {RULE}"]
    return []


def where_condition(text: str | None) -> str:
    """What stands behind the condition of a range in T-SQL; empty without a text."""
    return "".join(f" AND {_sql(condition)}" for condition in parsed(text or ""))


def narrowed(text: str | None, start: int, end: int) -> tuple[int, int]:
    """``start`` <= mark < ``end`` where the text allows it: no row outside can be asked for."""
    for condition in parsed(text or ""):
        marks = [value for value in condition.values if isinstance(value, int)]
        if condition.column != "mark" or not marks or condition.sign == "<>":
            continue
        low, high = min(marks), max(marks)
        if condition.sign not in ("<", "<="):
            start = max(start, low + (condition.sign == ">"))
        if condition.sign not in (">", ">="):
            end = min(end, high + (condition.sign != "<"))
    return start, max(start, end)


def parsed(text: str) -> tuple[Condition, ...]:
    """Comparisons that all hold. Raises WhereError."""
    tokens = list(_tokens(text))
    found = []
    while tokens:
        found.append(_comparison(tokens))
        if tokens and (tokens.pop(0)[1].upper() != "AND" or not tokens):
            raise WhereError(f"AND and a comparison are missing behind {found[-1].column}")
    return tuple(found)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each word, value and sign."""
    at, text = 0, text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise WhereError(f"is not understood from character {at + 1} on")
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()


def _comparison(tokens: list[tuple[str, str]]) -> Condition:
    """Takes the words of one off the front."""
    kind, column = tokens.pop(0)
    column = column.strip("`").lower()
    if kind != "word" or column not in EXPRESSIONS:
        raise WhereError(no_such(column))
    if column == "body":
        raise WhereError(
            "body is not compared on the server (body_bytes is); use Spark's own where"
        )
    words = [text.upper() for _, text in tokens[:3]]
    for null in (["IS", "NULL"], ["IS", "NOT", "NULL"]):
        if words[: len(null)] == null:
            del tokens[: len(null)]
            return Condition(column, " ".join(null))
    sign = "<>" if words[:1] == ["!="] else "".join(words[:1])
    if sign not in (*SIGNS, "IN"):
        raise WhereError(f"no comparison is behind {column}")
    if sign not in ("=", "<>", "IN") and _kind(column) in ("string", "id"):
        raise WhereError(f"{column} is not compared with {sign} on the server")
    del tokens[0]
    values = _list(tokens, column) if sign == "IN" else (_value(tokens, column),)
    return Condition(column, sign, values)


def _list(tokens: list[tuple[str, str]], column: str) -> tuple[Value, ...]:
    """The values between brackets."""
    found: list[Value] = []
    before = "("
    while tokens and tokens[0][1] == before:
        del tokens[0]
        found.append(_value(tokens, column))
        before = ","
    if not found or not tokens or tokens.pop(0)[1] != ")":
        raise WhereError(f"IN (value, ...) is not whole behind {column}")
    return tuple(found)


def _kind(column: str) -> str:
    if column in IDS:
        return "id"
    return next(found.kind for found in COLUMNS if found.name == column)


def _value(tokens: list[tuple[str, str]], column: str) -> Value:
    """The next one, as what the column has."""
    token, text = tokens.pop(0) if tokens else ("", "")
    kind = _kind(column)
    if kind == "bigint":
        if token == "number" and -BIGINT <= int(text) < BIGINT:
            return int(text)
        raise WhereError(f"{column} needs a whole number of 64 bits")
    if kind == "binary":
        if token == "mark" and len(text) == 18:
            return int(text, 16)
        raise WhereError(f"{column} needs a mark like {mark_literal(2001)}")
    if token != "text":
        raise WhereError(f"{column} needs a value in single quotes, a quote in it doubled")
    return _quoted(kind, column, text[1:-1].replace("''", "'"))


def _quoted(kind: str, column: str, text: str) -> Value:
    """A text, an id, or a time in UTC without a zone."""
    try:
        if kind == "id":
            return str(uuid.UUID(text)).upper()
        if kind == "timestamp":
            if re.search(r"[.,]\d{7}", text):  # fromisoformat would pass over the seventh
                raise ValueError
            found = datetime.fromisoformat(text)
            return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
        if "\0" in text:
            raise ValueError
        text.encode("utf-16-le")  # half a surrogate pair has none
    except (ValueError, OverflowError):
        says = {"id": "a uuid", "timestamp": "a time like 2026-11-21T10:00:00.123Z, UTC without Z"}
        raise WhereError(f"{column} needs {says.get(kind, 'text')} in the quotes") from None
    return text


def _sql(condition: Condition) -> str:
    left = EXPRESSIONS[condition.column]
    if not condition.values:
        return f"{left} {condition.sign}"
    if _kind(condition.column) == "string":
        return _text_sql(left, condition)
    right = [_literal(condition.column, value) for value in condition.values]
    many = f"({', '.join(right)})" if condition.sign == "IN" else right[0]
    return f"{left} {condition.sign} {many}"


def _text_sql(left: str, condition: Condition) -> str:
    """Code point for code point, and of one length: blanks at the end count."""
    unequal = condition.sign == "<>"
    sign, joint = ("<>", "OR") if unequal else ("=", "AND")
    found = [
        f"({left} COLLATE {BINARY} {sign} {literal(value)} {joint} "
        f"DATALENGTH({left}) {sign} {len(value.encode('utf-16-le'))})"
        for value in map(str, condition.values)
    ]
    return f"({' OR '.join(found)})"


def _literal(column: str, value: Value) -> str:
    """A value as T-SQL takes it."""
    if isinstance(value, datetime):
        return time_literal(value)
    if isinstance(value, str):
        return f"CONVERT(uniqueidentifier, {literal(value)})"
    return mark_literal(value) if column == "mark" else str(value)
