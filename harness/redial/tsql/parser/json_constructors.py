"""JSON_OBJECT and JSON_ARRAY, whose arguments have a syntax of their own (the functions' pages)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql.ast import Expression, JsonArray, JsonObject

if TYPE_CHECKING:
    from redial.tsql.parser.functions import FunctionParser


def json_object(parser: FunctionParser) -> Expression:
    """Read JSON_OBJECT(key: value, .. [NULL ON NULL | ABSENT ON NULL])."""
    start = parser.starts[parser.i]
    if parser.words[parser.i + 1] != "(":
        return parser.column_or_call()
    parser.i += 2
    keys: list[Expression] = []
    values: list[Expression] = []
    while parser.words[parser.i] != ")" and not _at_null_clause(parser):
        keys.append(parser.expression())
        parser.expect(":")
        values.append(parser.expression())
        if not parser.accept(","):
            break
    absent = _null_clause(parser, False)
    parser.expect(")")
    return JsonObject(start, parser.last_end(), keys, values, absent)


def json_array(parser: FunctionParser) -> Expression:
    """Read JSON_ARRAY(value, .. [NULL ON NULL | ABSENT ON NULL])."""
    start = parser.starts[parser.i]
    if parser.words[parser.i + 1] != "(":
        return parser.column_or_call()
    parser.i += 2
    values: list[Expression] = []
    while parser.words[parser.i] != ")" and not _at_null_clause(parser):
        values.append(parser.expression())
        if not parser.accept(","):
            break
    absent = _null_clause(parser, True)
    parser.expect(")")
    return JsonArray(start, parser.last_end(), values, absent)


def _at_null_clause(parser: FunctionParser) -> bool:
    return parser.words[parser.i] in ("NULL", "ABSENT") and parser.words[parser.i + 1] == "ON"


def _null_clause(parser: FunctionParser, default: bool) -> bool:
    """Read NULL ON NULL (False) or ABSENT ON NULL (True)."""
    if not _at_null_clause(parser):
        return default
    absent = parser.word() == "ABSENT"
    parser.expect("ON", "NULL")
    return absent
