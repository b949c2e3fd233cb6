"""String functions ("String functions" pages)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    BIGINT,
    INT,
    MAX,
    UNICODE_TYPES,
    SqlType,
    nvarchar,
    sql_type,
    varchar,
)
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.conversion.text import clip, from_ansi, to_ansi, to_utf16, units
from redial_broker.exec.expressions.expr import Expr, closure, fold, strict
from redial_broker.exec.expressions.growth import room
from redial_broker.exec.expressions.like import like_pattern
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.functions.registry import (
    UNLIMITED,
    Call,
    as_string,
    function,
    varying,
    wide_like,
)

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


_FOUND = 1024
"""So many occurrences are replaced between two reports to the meter."""


def _like_argument(result: Expr, argument: Expr) -> Expr:
    """A string result keeps its argument's collation."""
    return replace(result, collation=argument.collation)


@function("LEN", 1)
def _len(call: Call) -> Expr:
    argument = call.arg(0)
    if argument.type.is_binary:
        return strict(len, INT, [argument])
    text = as_string(argument, 1, "len")
    of = BIGINT if text.type.length == MAX else INT
    return strict(lambda x: units(x.rstrip(" ")) if x else 0, of, [text])


_FIXED_SIZES = {
    "tinyint": 1,
    "bit": 1,
    "smallint": 2,
    "int": 4,
    "bigint": 8,
    "float": 8,
    "real": 4,
    "money": 8,
    "smallmoney": 4,
    "datetime": 8,
    "smalldatetime": 4,
    "date": 3,
    "uniqueidentifier": 16,
}


def _data_length(of: SqlType) -> Any:
    """value -> bytes stored, for one static type."""
    if of.name in UNICODE_TYPES or of.name == "xml":
        return lambda x: 2 * units(x) if x else 0
    if of.is_string or of.is_binary:
        return len
    if of.name in {"decimal", "numeric"}:
        size = (
            5
            if of.precision <= 9
            else 9
            if of.precision <= 19
            else 13
            if of.precision <= 28
            else 17
        )
        return lambda x: size
    if of.name in {"time", "datetime2", "datetimeoffset"}:
        base = {"time": 3, "datetime2": 6, "datetimeoffset": 8}[of.name]
        size = base + (0 if of.scale <= 2 else 1 if of.scale <= 4 else 2)
        return lambda x: size
    if of.name == "sql_variant":
        return lambda x: _data_length(x.type)(x.value)
    size = _FIXED_SIZES[of.name]
    return lambda x: size


@function("DATALENGTH", 1)
def _datalength(call: Call) -> Expr:
    argument = call.arg(0)
    of = BIGINT if argument.type.length == MAX else INT
    return strict(_data_length(argument.type), of, [argument])


@function("LEFT", 2)
def _left(call: Call) -> Expr:
    text = call.text(0)

    def run(x: str, n: int) -> str:
        if n < 0:
            raise SqlError(537)
        return clip(x, n)

    return _like_argument(strict(run, varying(text.type), [text, call.integer(1)]), text)


@function("RIGHT", 2)
def _right(call: Call) -> Expr:
    text = call.text(0)

    def run(x: str, n: int) -> str:
        if n < 0:
            raise SqlError(536, "RIGHT")
        return x[-n:] if n else ""

    return _like_argument(strict(run, varying(text.type), [text, call.integer(1)]), text)


@function("SUBSTRING", 2, 3)
def _substring(call: Call) -> Expr:
    source = call.arg(0)
    if not source.type.is_binary:
        source = as_string(source, 1, "substring")
        if not call.arg(0).type.is_string and not call.arg(0).untyped:
            raise call.invalid(call.arg(0), 1)
    of = varying(source.type)

    def run(x: str, start: int, length: int) -> str:
        if length < 0:
            raise SqlError(537)
        # Positions before the first character count, but hold nothing.
        first = max(start, 1) - 1
        return x[first : max(first, start - 1 + length)]

    if call.count == 2:
        return _like_argument(
            strict(lambda x, start: x[max(start, 1) - 1 :], of, [source, call.integer(1)]), source
        )
    parts = [source, call.integer(1), call.integer(2)]
    return _like_argument(strict(run, of, parts), source)


def _folding(collation: Collation) -> Callable[[str], str]:
    """text -> text in which equal characters are the same, position for position."""
    if collation.case_sensitive:
        return lambda x: x
    return lambda x: (
        x.lower()
        if len(x.lower()) == len(x)
        else "".join(c.lower() if len(c.lower()) == 1 else c for c in x)
    )


@function("CHARINDEX", 2, 3)
def _charindex(call: Call) -> Expr:
    wanted, text = call.text(0), call.text(1)
    fold_case = _folding(common_collation(wanted, text))
    of = BIGINT if text.type.length == MAX else INT

    def run(x: str, y: str, start: int = 1) -> int:
        return fold_case(y).find(fold_case(x), max(start, 1) - 1) + 1 if x else 0

    parts = [wanted, text] + ([call.integer(2)] if call.count == 3 else [])
    return strict(run, of, parts)


@function("PATINDEX", 2)
def _patindex(call: Call) -> Expr:
    pattern, text = call.text(0), call.text(1)
    sensitive = common_collation(pattern, text).case_sensitive
    of = BIGINT if text.type.length == MAX else INT

    def run(session: SessionState | None, x: str, y: str) -> int:
        found = like_pattern(x, None, sensitive).place(session, y)
        return found + 1 if x.startswith("%") else min(found, 0) + 1

    return _growing(run, of, [pattern, text])


def _growing(run: Callable[..., str | int | None], of: SqlType, parts: list[Expr]) -> Expr:
    """As ``strict``; ``run`` gets the session first, None while a constant is worked out."""
    call = ", ".join(f"x{i}" for i in range(len(parts)))
    fn = closure(f"return f(session, {call})", parts, f=run)
    return fold(Expr(fn, of, any(part.nullable for part in parts)), parts)


def _replaced(
    session: SessionState | None, text: str, old: str, new: str, fold_case: Callable[[str], str]
) -> str:
    haystack, needle, parts, at = fold_case(text), fold_case(old), [], 0
    while True:
        found = haystack.find(needle, at)
        if found < 0:
            parts.append(text[at:])
            room(session, len(text) + (len(parts) - 1) * (len(new) - len(old)))
            return new.join(parts)
        if session is not None and not len(parts) % _FOUND:
            session.engine.meter.tick(_FOUND)
        parts.append(text[at:found])
        at = found + len(needle)


@function("REPLACE", 3)
def _replace(call: Call) -> Expr:
    text, old, new = call.text(0), call.text(1), call.text(2)
    unicode = any(part.type.name in UNICODE_TYPES for part in (text, old, new))
    longest = any(part.type.length == MAX for part in (text, old, new))
    of = sql_type(
        "nvarchar" if unicode else "varchar", MAX if longest else 4000 if unicode else 8000
    )
    collation = common_collation(text, old)
    fold_case, limit = _folding(collation), of.length

    def run(session: SessionState | None, x: str, y: str, z: str) -> str:
        result = _replaced(session, x, y, z, fold_case) if y else x
        return result if limit == MAX else clip(result, limit)

    return _like_argument(_growing(run, of, [text, old, new]), text)


@function("STUFF", 4)
def _stuff(call: Call) -> Expr:
    text, new = call.text(0), call.text(3)
    of = wide_like(new if new.type.name in UNICODE_TYPES else text)

    def run_all(x: str, start: int, length: int, y: str | None) -> str | None:
        if start < 1 or start > len(x) or length < 0:
            return None
        return x[: start - 1] + (y or "") + x[start - 1 + length :]

    # NULL in the last argument removes; NULL in any other gives NULL.
    body = "if x0 is None or x1 is None or x2 is None: return None\nreturn f(x0, x1, x2, x3)"
    parts = [text, call.integer(1), call.integer(2), new]
    return fold(Expr(closure(body, parts, strict=False, f=run_all), of), parts)


def _trimmer(side: str) -> Callable[[str, str], str]:
    return {"LTRIM": str.lstrip, "RTRIM": str.rstrip, "TRIM": str.strip}[side]


@function("LTRIM", 1, 2)
@function("RTRIM", 1, 2)
def _trim(call: Call) -> Expr:
    text = call.text(0)
    cut = _trimmer(call.name)
    of = varying(text.type)
    if call.count == 2:
        return _like_argument(strict(cut, of, [text, call.text(1)]), text)
    return _like_argument(strict(lambda x: cut(x, " "), of, [text]), text)


def _cased(text: str, change: Callable[[str], str]) -> str:
    changed = change(text)
    if len(changed) == len(text):
        return changed
    # Where Unicode's own rule would lengthen the text (ß), the server keeps the character.
    return "".join(change(c) if len(change(c)) == 1 else c for c in text)


@function("UPPER", 1)
@function("LOWER", 1)
def _case(call: Call) -> Expr:
    text = call.text(0)
    change = str.upper if call.name == "UPPER" else str.lower
    return _like_argument(strict(lambda x: _cased(x, change), varying(text.type), [text]), text)


@function("REVERSE", 1)
def _reverse(call: Call) -> Expr:
    text = call.text(0)
    return _like_argument(strict(lambda x: x[::-1], varying(text.type), [text]), text)


@function("REPLICATE", 2)
def _replicate(call: Call) -> Expr:
    text = call.text(0)
    of = wide_like(text)
    limit = of.length

    def run(session: SessionState | None, x: str, n: int) -> str | None:
        if n < 0:
            return None
        if limit != MAX:
            n = min(n, limit // max(1, len(x)) + 1)
            return clip(x * n, limit)
        room(session, len(x) * n)
        return x * n

    return _like_argument(_growing(run, of, [text, call.integer(1)]), text)


@function("SPACE", 1)
def _space(call: Call) -> Expr:
    run = lambda n: None if n < 0 else " " * min(n, 8000)  # noqa: E731
    return strict(run, varchar(8000), [call.integer(0)])


@function("ASCII", 1)
def _ascii(call: Call) -> Expr:
    return strict(lambda x: to_ansi(x[0])[0] if x else None, INT, [call.text(0)])


@function("UNICODE", 1)
def _unicode(call: Call) -> Expr:
    run = lambda x: int.from_bytes(to_utf16(x)[:2], "little") if x else None  # noqa: E731
    return strict(run, INT, [call.text(0)])


@function("CHAR", 1)
def _char(call: Call) -> Expr:
    run = lambda n: from_ansi(bytes((n,))) if 0 <= n <= 255 else None  # noqa: E731
    return strict(run, sql_type("char", 1), [call.integer(0)])


@function("NCHAR", 1)
def _nchar(call: Call) -> Expr:
    run = lambda n: chr(n) if 0 <= n <= 65535 else None  # noqa: E731
    return strict(run, sql_type("nchar", 1), [call.integer(0)])


_QUOTES = {
    "[": ("[", "]"),
    "]": ("[", "]"),
    "'": ("'", "'"),
    '"': ('"', '"'),
    "(": ("(", ")"),
    ")": ("(", ")"),
    "<": ("<", ">"),
    ">": ("<", ">"),
    "{": ("{", "}"),
    "}": ("{", "}"),
    "`": ("`", "`"),
}


@function("QUOTENAME", 1, 2)
def _quotename(call: Call) -> Expr:
    name = converted(call.text(0), nvarchar(4000))

    def run(x: str, quote: str = "[") -> str | None:
        pair = _QUOTES.get(quote[:1] or "[")
        if pair is None or units(x) > 128:
            return None
        return pair[0] + x.replace(pair[1], pair[1] * 2) + pair[1]

    return strict(run, nvarchar(258), [name] + ([call.text(1)] if call.count == 2 else []))


def _joined_type(parts: list[Expr]) -> SqlType:
    unicode = any(part.type.name in UNICODE_TYPES for part in parts)
    if any(part.type.length == MAX for part in parts):
        return sql_type("nvarchar" if unicode else "varchar", MAX)
    limit = 4000 if unicode else 8000
    total = sum(part.type.length for part in parts)
    return sql_type("nvarchar" if unicode else "varchar", max(1, min(total, limit)))


def _concat_part(argument: Expr, at: int, name: str) -> Expr:
    if group(argument.type) == "money":
        # CONCAT converts by itself what an assignment would refuse.
        convert = explicit_conversion(argument.type, varchar(40))
        return fold(Expr(closure("return f(x0)", [argument], f=convert), varchar(40)), [argument])
    return as_string(argument, at, name)


@function("CONCAT", 2, UNLIMITED)
def _concat(call: Call) -> Expr:
    parts = [_concat_part(arg, at + 1, "concat") for at, arg in enumerate(call.args())]
    of = _joined_type(parts)
    fns, limit = tuple(part.fn for part in parts), of.length

    def run(session: SessionState, variables: Values, row: RowValues) -> str:
        found = [x for x in (fn(session, variables, row) for fn in fns) if x is not None]
        if limit == MAX:
            room(session, sum(map(len, found)))
        text = "".join(found)
        return text if limit == MAX or len(text) <= limit // 2 else clip(text, limit)

    return fold(Expr(run, of, False), parts)


@function("CONCAT_WS", 3, UNLIMITED)
def _concat_ws(call: Call) -> Expr:
    parts = [_concat_part(arg, at + 1, "concat_ws") for at, arg in enumerate(call.args())]
    of = wide_like(
        parts[0]
        if not any(p.type.name in UNICODE_TYPES for p in parts)
        else next(p for p in parts if p.type.name in UNICODE_TYPES)
    )
    if any(part.type.length == MAX for part in parts):
        of = sql_type(of.name, MAX)
    separator, fns, limit = parts[0].fn, tuple(part.fn for part in parts[1:]), of.length

    def run(session: SessionState, variables: Values, row: RowValues) -> str:
        between = separator(session, variables, row) or ""
        found = [x for x in (fn(session, variables, row) for fn in fns) if x is not None]
        if limit == MAX:
            room(session, sum(map(len, found)) + len(between) * len(found))
        return between.join(found)

    return fold(Expr(run, of, False), parts)
