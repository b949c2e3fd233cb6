"""Types as written in a script: DECLARE @x varbinary(max), CAST(... AS nvarchar), int, sysname."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from redial.tsql.ast.base import DataType, ObjectName
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import MAX, SYSNAME, SqlType, sql_type

DECLARE, CAST, COLUMN = "declare", "cast", "column"
"""Where a type stands: n/char and binary types without a length are 30 long in CAST, else 1."""

_LIMITS = {
    "char": 8000,
    "varchar": 8000,
    "nchar": 4000,
    "nvarchar": 4000,
    "binary": 8000,
    "varbinary": 8000,
}
_PLAIN = frozenset(
    {
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "bit",
        "money",
        "smallmoney",
        "real",
        "float",
        "date",
        "datetime",
        "smalldatetime",
        "uniqueidentifier",
        "xml",
        "sql_variant",
        "text",
        "ntext",
        "image",
        "rowversion",
    }
)
_SYNONYMS = {
    "integer": "int",
    "dec": "decimal",
    "character": "char",
    "char varying": "varchar",
    "character varying": "varchar",
    "national char": "nchar",
    "national character": "nchar",
    "national char varying": "nvarchar",
    "national character varying": "nvarchar",
    "national text": "ntext",
    "binary varying": "varbinary",
    "double precision": "float",
    "timestamp": "rowversion",
}
_FRACTIONAL = frozenset({"time", "datetime2", "datetimeoffset"})
_MAX_ALLOWED = frozenset({"varchar", "nvarchar", "varbinary"})
_CLR = frozenset({"geography", "geometry", "hierarchyid", "cursor", "vector", "json"})


def type_by_name(name: str, length: int = 0, precision: int = 0, scale: int = 0) -> SqlType:
    """The SqlType of a canonical base type name with its facets as given."""
    if name == "rowversion":
        return sql_type("rowversion", 8)
    if name in {"text", "ntext", "image"}:
        return sql_type(name, MAX)
    if name in {"char", "nchar", "binary"} and length == MAX:
        return sql_type({"char": "varchar", "nchar": "nvarchar", "binary": "varbinary"}[name], MAX)
    return sql_type(name, length, precision, scale)


def resolve_type(
    node: DataType,
    context: str = DECLARE,
    user_type: Callable[[str | None, str], SqlType | None] | None = None,
    position: tuple[int, int] | None = None,
    xml_type: Callable[[ObjectName, bool], SqlType] | None = None,
) -> SqlType:
    """The type a script names.

    context: DECLARE, CAST or COLUMN. user_type: looks up (schema, name) among alias types;
    xml_type: the type bound to a schema collection, (name, DOCUMENT) -> type. Raises
    243 or 2715 for a type that does not exist, 131 or 1001 for a length that is too large.
    """
    name = node.name.name.lower()
    schema = node.name.schema
    if schema is None or schema.lower() == "sys":
        if name == "xml" and node.arguments:
            if xml_type is None:
                raise NotSupported("xml typed by a schema collection here", position)
            return xml_type(cast("ObjectName", node.arguments[0]), bool(node.document))
        found = _system_type(_SYNONYMS.get(name, name), node, context)
        if found is not None:
            return found
    if name in _CLR:
        raise NotSupported(f"type {name}", position)
    found = user_type(schema, node.name.name) if user_type else None
    if found is None:
        raise SqlError(243, node.name.name)
    return found


def _system_type(name: str, node: DataType, context: str) -> SqlType | None:
    arguments = node.arguments
    if name == "sysname":
        return SYSNAME
    if name in _LIMITS:
        return _with_length(name, arguments, context)
    if name in {"decimal", "numeric"}:
        return _decimal(name, arguments)
    if name in _FRACTIONAL:
        scale = _number(arguments[0]) if arguments else 7
        if scale > 7:
            raise SqlError(1002, scale)
        return sql_type(name, 0, 0, scale)
    if name == "float" and arguments:
        return sql_type("real" if _number(arguments[0]) <= 24 else "float")
    return type_by_name(name) if name in _PLAIN else None


def _number(argument: Any) -> int:
    if not isinstance(argument, int):
        raise SqlError(102, argument)
    return argument


def _with_length(name: str, arguments: tuple[Any, ...], context: str) -> SqlType:
    if not arguments:
        return sql_type(name, 30 if context == CAST else 1)
    if isinstance(arguments[0], str):
        if name not in _MAX_ALLOWED:
            raise SqlError(102, "max")
        return sql_type(name, MAX)
    length = _number(arguments[0])
    if length > _LIMITS[name]:
        raise SqlError(131, length, name, _LIMITS[name])
    if length == 0:
        raise SqlError(1001, length)
    return sql_type(name, length)


def _decimal(name: str, arguments: tuple[Any, ...]) -> SqlType:
    precision = _number(arguments[0]) if arguments else 18
    scale = _number(arguments[1]) if len(arguments) > 1 else 0
    if not 1 <= precision <= 38:
        raise SqlError(2750, 1, precision, 38)
    if scale > precision:
        raise SqlError(183, scale)
    return sql_type(name, 0, precision, scale)
