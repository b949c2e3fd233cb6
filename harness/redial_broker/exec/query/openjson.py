"""OPENJSON in FROM: a JSON text as rows ("OPENJSON (Transact-SQL)" page, F-223)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import find_collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, MAX, NVARCHAR_MAX, SqlType, nvarchar
from redial_broker.exec.conversion import explicit_conversion, resolve_type
from redial_broker.exec.conversion.declared import COLUMN
from redial_broker.exec.conversion.rules import shown_name
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import constant
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions import jsontext
from redial_broker.exec.functions.jsontext import (
    ARRAY,
    FALSE,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    TRUE,
    Json,
    parse_path,
    walk,
)
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.switches import value as switch

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

_TYPES = {NULL: 0, STRING: 1, NUMBER: 2, TRUE: 3, FALSE: 3, ARRAY: 4, OBJECT: 5}
_KEY_COLLATION = "Latin1_General_BIN2"
_REFUSED_TYPES = frozenset({"text", "ntext", "image", "sql_variant"})
Read = Callable[[str, Json], Any]


def openjson(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[list[QueryColumn], Rows]:
    """(columns, rows) of one OPENJSON: key, value and type, or what WITH names."""
    arguments = [compile_expression(part, scope) for part in node.call.arguments]
    if not 1 <= len(arguments) <= 2:
        raise context.fail(node, SqlError(174, "OPENJSON", 1, aborts="scope"))
    for at, argument in enumerate(arguments, 1):
        if not argument.untyped and not argument.type.is_string:
            raise context.fail(
                node, SqlError(8116, shown_name(argument.type), at, "OPENJSON", aborts="scope")
            )
    path = arguments[1] if len(arguments) == 2 else constant("$", nvarchar(1))
    text_of, path_of = arguments[0].fn, path.fn
    state = 3 if len(arguments) == 2 else 4
    if node.schema is None:
        columns = [
            QueryColumn("key", nvarchar(4000), False, None, find_collation(_KEY_COLLATION)),
            QueryColumn("value", NVARCHAR_MAX),
            QueryColumn("type", INT, False),
        ]
        make: Callable[[str, Json], list[RowValues]] = _default_rows
    else:
        columns, make = _schema(node.schema, scope, context)
    explicit = node.schema is not None

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        text, way = text_of(session, variables, row), path_of(session, variables, row)
        if text is None or way is None:
            return []
        chosen = parse_path(way)
        found = walk(jsontext.document(text, state), chosen.steps)
        if found is None:
            if chosen.strict:
                raise SqlError(13608)
            return []
        if found.scalar:
            if chosen.strict:
                raise SqlError(13611, state=2 if explicit else 1)
            return []
        return make(text, found)

    return columns, rows


def _shown(text: str, value: Json) -> str | None:
    return jsontext.scalar_text(text, value) if value.scalar else text[value.start : value.end]


def _default_rows(text: str, found: Json) -> list[RowValues]:
    keyed = found.kind == OBJECT
    return [
        (key if keyed else str(place), _shown(text, value), _TYPES[value.kind])
        for place, (key, value) in enumerate(found.members)
    ]


def _schema(
    schema: list[ast.SchemaColumn], scope: Scope, context: Context
) -> tuple[list[QueryColumn], Callable[[str, Json], list[RowValues]]]:
    columns, readers = [], []
    for item in schema:
        of = resolve_type(
            item.data_type, COLUMN, scope.user_type, scope.position(item.data_type), scope.xml_type
        )
        if of.name in _REFUSED_TYPES:
            raise context.fail(item, SqlError(13614, aborts="scope"))
        if item.as_json and (of.name, of.length) != ("nvarchar", MAX):
            raise context.fail(item, SqlError(13618, aborts="scope"))
        columns.append(QueryColumn(item.name, of))
        path = item.path if item.path is not None else f'$."{item.name}"'
        cuts = switch(context.session.engine, "openjson_too_long") == "cut"
        readers.append(_reader(path, of, item.as_json, cuts))

    def rows(text: str, found: Json) -> list[RowValues]:
        values = [value for _, value in found.members] if found.kind == ARRAY else [found]
        return [tuple([read(text, value) for read in readers]) for value in values]

    return columns, rows


def _reader(path: str, of: SqlType, as_json: bool, cuts: bool) -> Read:
    """One column of WITH: scalars converted, or with AS JSON objects and arrays as text.

    cuts: a text longer than its column is cut, otherwise it is NULL (F-223).
    """
    way = parse_path(path)
    convert = _base64(of) if of.is_binary else explicit_conversion(NVARCHAR_MAX, of)

    def read(text: str, item: Json) -> Any:
        found = walk(item, way.steps)
        if found is None:
            if way.strict:
                raise SqlError(13608, state=6)
            return None
        if found.kind == NULL:
            return None
        if found.scalar == as_json:
            if way.strict:
                raise SqlError(13624)
            return None
        if as_json:
            return text[found.start : found.end]
        scalar = jsontext.scalar_text(text, found)
        assert scalar is not None  # only of null, which went above
        if not cuts and of.is_string and 0 < of.length < len(scalar):
            return None
        return convert(scalar)

    return read


def _base64(of: SqlType) -> Callable[[str], bytes]:
    def convert(text: str) -> bytes:
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise SqlError(13612, state=5) from None
        if of.length != MAX and len(data) > of.length:
            raise SqlError(13613)
        return data.ljust(of.length, b"\x00") if of.name == "binary" else data

    return convert
