"""ISJSON, JSON_VALUE and JSON_QUERY with simple paths: lax or strict, keys and array indexes."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import lru_cache

from harness.broker.engine.errors import SqlError
from harness.broker.engine.types import INT, NVARCHAR_MAX, nvarchar
from harness.broker.exec.expressions.expr import Expr, constant, strict
from harness.broker.exec.functions.registry import Call, function

_STEP = re.compile(r'\.\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_$][\w$]*))|\[\s*(\d+)\s*\]')
_MODE = re.compile(r"\s*(?:(lax|strict)\b)?\s*\$")
_VALUE_LENGTH = 4000
_MISSING = object()


@lru_cache(maxsize=512)
def _parse_path(path: str) -> tuple[bool, tuple[str | int, ...]]:
    """(strict, steps) of a path; 13607 when it is malformed."""
    head = _MODE.match(path)
    if head is None:
        raise SqlError(13607, path[:1] or ".", 0)
    steps: list[str | int] = []
    at, text = head.end(), path.rstrip()
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise SqlError(13607, text[at], at)
        quoted, plain, index = match.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(json.loads(f'"{quoted}"') if quoted is not None else plain)
        at = match.end()
    return head[1] == "strict", tuple(steps)


@lru_cache(maxsize=64)
def _load(text: str) -> object:
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        shown = text[error.pos : error.pos + 1] or "."
        raise SqlError(13609, shown, error.pos) from None


def _walk(document: object, steps: tuple[str | int, ...]) -> object:
    for step in steps:
        if isinstance(step, int):
            if not isinstance(document, list) or step >= len(document):
                return _MISSING
            document = document[step]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            return _MISSING
    return document


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)


def _number(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(value)


def json_value(text: str, path: str) -> str | None:
    """The scalar at a path as text; NULL for objects and what is missing unless strict."""
    demanding, steps = _parse_path(path)
    found = _walk(_load(text), steps)
    if found is _MISSING:
        if demanding:
            raise SqlError(13608)
        return None
    if isinstance(found, (dict, list)):
        if demanding:
            raise SqlError(13623)
        return None
    if found is None:
        return None
    if isinstance(found, bool):
        return "true" if found else "false"
    shown = found if isinstance(found, str) else str(found)
    if len(shown) > _VALUE_LENGTH:
        if demanding:
            raise SqlError(13625)
        return None
    return shown


def json_query(text: str, path: str) -> str | None:
    """The object or array at a path as text; NULL for scalars unless strict."""
    demanding, steps = _parse_path(path)
    document = _load(text)
    if not steps and isinstance(document, (dict, list)):
        return text
    found = _walk(document, steps)
    if isinstance(found, (dict, list)):
        return _dump(found)
    if demanding:
        raise SqlError(13608 if found is _MISSING else 13624)
    return None


@function("ISJSON", 1)
def _isjson(call: Call) -> Expr:
    def run(text: str) -> int:
        try:
            return int(isinstance(json.loads(text), (dict, list)))
        except json.JSONDecodeError:
            return 0

    return strict(run, INT, [call.text(0)])


def _with_path(call: Call) -> list[Expr]:
    path = call.text(1) if call.count > 1 else constant("$", nvarchar(1))
    if path.constant and path.value is not None:
        _parse_path(path.value)
    return [call.text(0), path]


@function("JSON_VALUE", 2)
def _json_value(call: Call) -> Expr:
    return strict(json_value, nvarchar(_VALUE_LENGTH), _with_path(call))


@function("JSON_QUERY", 1, 2)
def _json_query(call: Call) -> Expr:
    return strict(json_query, NVARCHAR_MAX, _with_path(call))
