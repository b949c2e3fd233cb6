"""String functions, continued: TRIM with characters, TRANSLATE, SOUNDEX and kin (their pages)."""

from __future__ import annotations

from dataclasses import replace

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, MAX, NVARCHAR_MAX, UNICODE_TYPES, sql_type, varchar
from redial_broker.exec.expressions.expr import Expr, strict
from redial_broker.exec.expressions.operands import common_collation
from redial_broker.exec.functions.jsontext import json_string
from redial_broker.exec.functions.registry import Call, function, varying

_TRIMS = {"LEADING": str.lstrip, "TRAILING": str.rstrip, "BOTH": str.strip}


@function("TRIM", 1, 3)
def _trim(call: Call) -> Expr:
    """TRIM([LEADING | TRAILING | BOTH] [characters FROM] text)."""
    text = call.text(0)
    of = varying(text.type)
    if call.count == 1:
        found = strict(lambda x: x.strip(" "), of, [text])
    else:
        side = "BOTH"
        if call.count == 3:
            word = call.node.arguments[2]
            side = word.text.upper() if isinstance(word, ast.Identifier) else "BOTH"
        cut = _TRIMS[side]
        characters = call.text(1)
        sensitive = common_collation(text, characters).case_sensitive

        def run(value: str, given: str) -> str:
            # A character stands for both of its cases where the collation does not tell them apart.
            return cut(value, given if sensitive else given.lower() + given.upper())

        found = strict(run, of, [text, characters])
    return replace(found, collation=text.collation)


@function("TRANSLATE", 3)
def _translate(call: Call) -> Expr:
    """TRANSLATE(text, characters, translations): 9828 when the two are not equally long."""
    text, old, new = (call.text(at) for at in range(3))
    sensitive = common_collation(text, old).case_sensitive

    def run(value: str, given: str, to: str) -> str:
        if len(given) != len(to):
            raise SqlError(9828)
        table: dict[int, str] = {}
        for one, two in zip(given, to):
            for char in (one,) if sensitive else (one, one.lower(), one.upper()):
                if len(char) == 1:
                    table.setdefault(ord(char), two)
        return value.translate(table)

    unicode = any(part.type.name in UNICODE_TYPES for part in (text, old, new))
    longest = text.type.length
    name = "nvarchar" if unicode else "varchar"
    of = sql_type(name, longest if longest == MAX or not unicode else min(longest, 4000))
    return replace(strict(run, of, [text, old, new]), collation=text.collation)


@function("STRING_ESCAPE", 2)
def _string_escape(call: Call) -> Expr:
    """STRING_ESCAPE(text, 'json')."""
    kind = call.arg(1)
    if not kind.constant or str(kind.value).lower() != "json":
        raise SqlError(1023, 2, "STRING_ESCAPE", aborts="scope")
    return strict(lambda x: json_string(x)[1:-1], NVARCHAR_MAX, [call.text(0)])


_CODES = {
    char: code
    for code, chars in {
        "1": "BFPV",
        "2": "CGJKQSXZ",
        "3": "DT",
        "4": "L",
        "5": "MN",
        "6": "R",
    }.items()
    for char in chars
}


def soundex(text: str) -> str:
    """The four characters of SOUNDEX: letters alike on both sides of H or W count once."""
    letters = []
    for char in text.upper():
        if not ("A" <= char <= "Z"):
            break
        letters.append(char)
    if not letters:
        return "0000"
    found, last = letters[0], _CODES.get(letters[0], "")
    for char in letters[1:]:
        code = _CODES.get(char, "")
        if code and code != last:
            found += code
        if char not in "HW":
            last = code
    return found[:4].ljust(4, "0")


@function("SOUNDEX", 1)
def _soundex(call: Call) -> Expr:
    return strict(soundex, varchar(5), [call.text(0)])


@function("DIFFERENCE", 2)
def _difference(call: Call) -> Expr:
    """How many of the four characters of both SOUNDEX codes agree."""

    def run(one: str, two: str) -> int:
        return sum(a == b for a, b in zip(soundex(one), soundex(two)))

    return strict(run, INT, [call.text(0), call.text(1)])
