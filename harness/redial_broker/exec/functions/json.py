"""ISJSON, JSON_VALUE, JSON_QUERY, JSON_MODIFY, JSON_PATH_EXISTS, JSON_OBJECT and JSON_ARRAY.

Rules: the functions' pages; which state an error has: F-223.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, NVARCHAR_MAX, nvarchar
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.expressions.expr import Expr, closure, constant, strict
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions import jsontext
from redial_broker.exec.functions.jsontext import ARRAY, OBJECT, Json, Path, parse_path
from redial_broker.exec.functions.jsonvalues import is_json, json_writer
from redial_broker.exec.functions.registry import Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_VALUE_LENGTH = 4000


def json_value(text: str, path: str) -> str | None:
    """The scalar at a path as text; NULL for objects and what is missing unless strict."""
    way, whole = parse_path(path), jsontext.document(text)
    found = jsontext.walk(whole, way.steps)
    if found is None:
        if way.strict:
            raise SqlError(13608)
        return None
    if not found.scalar:
        if way.strict:
            raise SqlError(13623, state=2)
        return None
    shown = jsontext.scalar_text(text, found)
    if shown is not None and len(shown) > _VALUE_LENGTH:
        if way.strict:
            raise SqlError(13625)
        return None
    return shown


def json_query(text: str, path: str) -> str | None:
    """The object or array at a path, cut out of the text; NULL for scalars unless strict."""
    way, whole = parse_path(path), jsontext.document(text)
    found = jsontext.walk(whole, way.steps)
    if found is not None and not found.scalar:
        return text[found.start : found.end]
    if way.strict:
        if found is not None and found.kind == jsontext.NULL:
            return None
        raise SqlError(13608) if found is None else SqlError(13624, state=2)
    return None


_KINDS: dict[str, Callable[[Json], bool]] = {
    "VALUE": lambda value: True,
    "ARRAY": lambda value: value.kind == ARRAY,
    "OBJECT": lambda value: value.kind == OBJECT,
    "SCALAR": lambda value: value.kind in {jsontext.STRING, jsontext.NUMBER},
}


@function("ISJSON", 1, 2)
def _isjson(call: Call) -> Expr:
    """ISJSON(text [, VALUE | ARRAY | OBJECT | SCALAR]): without a kind, an object or an array."""
    fits: Callable[[Json], bool] = lambda value: not value.scalar  # noqa: E731
    if call.count == 2:
        node = call.node.arguments[1]
        word = node.parts[-1].upper() if isinstance(node, ast.ColumnRef) else ""
        if word not in _KINDS:
            raise SqlError(1023, 2, "ISJSON", aborts="scope")
        fits = _KINDS[word]

    def run(text: str) -> int:
        try:
            return int(fits(jsontext.parse(text)))
        except SqlError:
            return 0

    return strict(run, INT, [call.text(0)])


def _with_path(call: Call, modify: bool = False) -> list[Expr]:
    path = call.text(1) if call.count > 1 else constant("$", nvarchar(1))
    if path.constant and path.value is not None:
        parse_path(path.value, modify)
    return [call.text(0), path]


@function("JSON_VALUE", 2)
def _json_value(call: Call) -> Expr:
    return strict(json_value, nvarchar(_VALUE_LENGTH), _with_path(call))


@function("JSON_QUERY", 1, 2)
def _json_query(call: Call) -> Expr:
    return strict(json_query, NVARCHAR_MAX, _with_path(call))


@function("JSON_PATH_EXISTS", 2)
def _json_path_exists(call: Call) -> Expr:
    def run(text: str, path: str) -> int:
        way = parse_path(path)
        try:
            whole = jsontext.document(text)
        except SqlError:
            return 0
        return int(jsontext.walk(whole, way.steps) is not None)

    return strict(run, INT, _with_path(call))


# ---------------------------------------------------------------------- writing values
def _writer(node: ast.Expression, value: Expr) -> Callable[[Any], str]:
    """SQL value -> JSON: as FOR JSON writes it; what is JSON already stays as it is."""
    if is_json(node):
        return str
    if value.type.is_string or value.untyped:
        return jsontext.json_string
    if group(value.type) == "xml":
        raise SqlError(8116, "xml", 3, "json_modify", aborts="scope")
    return json_writer(value.type)


@function("JSON_MODIFY", 3)
def _json_modify(call: Call) -> Expr:
    parts = _with_path(call, modify=True)
    value = call.arg(2)
    write = _writer(call.node.arguments[2], value)

    def change(text: str | None, path: str | None, new: Any) -> str | None:
        if text is None or path is None:
            return None
        return json_modify(text, path, None if new is None else write(new))

    body = "return f(x0, x1, x2)"
    return Expr(closure(body, [*parts, value], strict=False, f=change), NVARCHAR_MAX)


def json_modify(text: str, path: str, new: str | None) -> str:
    """The text with one value changed, added, appended or taken out.

    new: JSON, or None for NULL, which removes a key in lax mode ("JSON_MODIFY" page). Raises 13608
    and 13621 in strict mode, 13619 for the path ``$`` without append.
    """
    way, whole = parse_path(path, True), jsontext.document(text, 7)
    if not way.steps and not way.append:
        raise SqlError(13619, 2)
    if way.append:
        return _appended(text, whole, way, new)
    *before, last = way.steps
    above = jsontext.walk(whole, tuple(before))
    found = jsontext.step(above, last) if above is not None else None
    if above is not None and found is not None:
        if new is None and not way.strict and above.kind == OBJECT:
            return _without(text, above, found)
        return text[: found.start] + (new or "null") + text[found.end :]
    if way.strict:
        raise SqlError(13608, state=2)
    if above is None or above.kind != OBJECT or isinstance(last, int) or new is None:
        return text
    return _added(text, above, f"{_key(last)}:{new}")


def _key(name: str) -> str:
    return jsontext.json_string(name)


def _added(text: str, above: Json, new: str) -> str:
    """A member or an item behind the last one."""
    at = above.members[-1][1].end if above.members else above.start + 1
    return text[:at] + ("," if above.members else "") + new + text[at:]


def _without(text: str, above: Json, found: Json) -> str:
    """The object without one of its members, and without the comma beside it."""
    values = [held for _, held in above.members]
    place = next(i for i, held in enumerate(values) if held is found)
    if place + 1 < len(values):
        # Up to where the next member's key begins.
        start = above.start + 1 if place == 0 else values[place - 1].end + 1
        end = text.index(",", found.end) + 1
        return text[:start] + text[end:].lstrip() if place == 0 else text[:start] + text[end:]
    start = values[place - 1].end if place else above.start + 1
    return text[:start] + text[found.end :]


def _appended(text: str, whole: Json, way: Path, new: str | None) -> str:
    found = jsontext.walk(whole, way.steps)
    value = new or "null"
    if found is not None:
        if found.kind != ARRAY:
            if way.strict:
                raise SqlError(13621)
            return text
        return _added(text, found, value)
    if way.strict:
        raise SqlError(13608, state=2)
    above = jsontext.walk(whole, way.steps[:-1])
    last = way.steps[-1]
    if above is None or above.kind != OBJECT or isinstance(last, int):
        return text
    return _added(text, above, f"{_key(last)}:[{value}]")


# ---------------------------------------------------------------------- constructors
def _held(node: ast.Expression, scope: Scope) -> tuple[Any, Callable[[Any], str]]:
    value = compile_expression(node, scope)
    return value.fn, _writer(node, value)


@compiles(ast.JsonObject)
def _json_object(node: ast.JsonObject, scope: Scope) -> Expr:
    """JSON_OBJECT(key: value, ...): NULL ON NULL unless told otherwise; a NULL key is 13638."""
    pairs = [
        (compile_expression(key, scope).fn, *_held(value, scope))
        for key, value in zip(node.keys, node.values)
    ]
    absent = node.absent

    def run(session: SessionState, variables: Values, row: RowValues) -> str:
        found = []
        for key, value, write in pairs:
            name, held = key(session, variables, row), value(session, variables, row)
            if name is None:
                raise SqlError(13638)
            if held is not None or not absent:
                found.append(f"{_key(str(name))}:{'null' if held is None else write(held)}")
        return "{" + ",".join(found) + "}"

    return Expr(run, NVARCHAR_MAX, False)


@compiles(ast.JsonArray)
def _json_array(node: ast.JsonArray, scope: Scope) -> Expr:
    """JSON_ARRAY(value, ...): ABSENT ON NULL unless told otherwise."""
    items = [_held(value, scope) for value in node.values]
    absent = node.absent

    def run(session: SessionState, variables: Values, row: RowValues) -> str:
        found = []
        for value, write in items:
            held = value(session, variables, row)
            if held is not None or not absent:
                found.append("null" if held is None else write(held))
        return "[" + ",".join(found) + "]"

    return Expr(run, NVARCHAR_MAX, False)


__all__ = ["json_modify", "json_query", "json_value"]
