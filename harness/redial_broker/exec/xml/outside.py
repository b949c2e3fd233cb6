"""sql:variable() and sql:column(): SQL values inside an XQuery text.

Which XML Schema type each SQL type becomes, and its spelling there: "XQuery functions - sql:column"
and F-220. A NULL is the empty sequence.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.seventh_digit import digits_of
from redial_broker.engine.types import SqlType
from redial_broker.exec.xml.nodes import tree_of
from redial_broker.exec.xml.xquery.types import OPTIONAL, Type
from redial_broker.exec.xml.xquery.values import Atomic, exact

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.expressions.expr import Expr
    from redial_broker.exec.expressions.scope import Scope
    from redial_broker.exec.session import SessionState

_KINDS = {
    "int": "xs:int",
    "bigint": "xs:long",
    "smallint": "xs:short",
    "tinyint": "xs:unsignedByte",
    "bit": "xs:boolean",
    "decimal": "xs:decimal",
    "numeric": "xs:decimal",
    "money": "xs:decimal",
    "smallmoney": "xs:decimal",
    "float": "xs:double",
    "real": "xs:float",
    "uniqueidentifier": "xs:string",
    "datetime": "xs:dateTime",
    "smalldatetime": "xs:dateTime",
    "datetime2": "xs:dateTime",
    "datetimeoffset": "xs:dateTime",
    "date": "xs:date",
    "time": "xs:time",
    "xml": "xml",
}


def _kind(of: SqlType) -> str | None:
    if of.is_string:
        return "xs:string"
    return "xs:base64Binary" if of.is_binary else _KINDS.get(of.name)


def _found(kind: str, name: str, scope: Scope) -> Expr:
    if kind == "variable":
        return scope.resolve_variable(ast.Variable(0, 0, name))
    parts = tuple(part.strip("[]") for part in name.split("."))
    return scope.resolve_column(ast.ColumnRef(0, 0, parts))


def accessor_type(kind: str, name: str, label: str, scope: Scope) -> Type:
    """The static type of one accessor. Raises 9519, 9501, 9344, and 207 or 4104 for columns."""
    if kind == "variable":
        if not name.startswith("@"):
            raise SqlError(9519, name, aborts="scope")
        known = scope.variables.get(name.lower())
        if known is None or known[1] is None:
            raise SqlError(9501, name, state=2, aborts="scope")
    of = _found(kind, name, scope).type
    found = _kind(of)
    if found is None:
        raise SqlError(9344, f"XQuery [{label}]: ", of.name, aborts="scope")
    return Type(found, OPTIONAL)


def accessors(
    outside: Mapping[str, tuple[str, str]], scope: Scope
) -> Callable[[SessionState, Values, RowValues], dict[str, list[Any]]]:
    """(session, variables, row) -> key -> items of every accessor of a text."""
    readers = []
    for key, (kind, name) in outside.items():
        found = _found(kind, name, scope)
        readers.append((key, found.fn, _converter(found.type)))
    if not readers:
        return lambda session, variables, row: {}
    return lambda session, variables, row: {
        key: [] if (value := fn(session, variables, row)) is None else convert(value)
        for key, fn, convert in readers
    }


def _converter(of: SqlType) -> Callable[[Any], list[Any]]:
    kind = cast("str", _kind(of))  # ``accessor_type`` has refused what has none
    if kind == "xml":
        return lambda value: [tree_of(value)]
    if kind == "xs:boolean":
        return lambda value: [Atomic(kind, bool(value))]
    if kind == "xs:decimal":
        return lambda value: [Atomic(kind, exact(Decimal(value)))]
    if kind == "xs:base64Binary":
        return lambda value: [Atomic(kind, base64.b64encode(value).decode())]
    if kind in {"xs:dateTime", "xs:date", "xs:time"}:
        digits = {"datetime": 3, "smalldatetime": 0, "date": 0}.get(of.name, of.scale)
        return lambda value: [Atomic(kind, moment_text(value, digits))]
    return lambda value: [Atomic(kind, value)]


def moment_text(value: Any, digits: int) -> str:
    """A date or time as XML Schema writes it, with so many digits of a second."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    fraction = f".{digits_of(value)[:digits]}" if digits else ""
    if isinstance(value, time):
        return f"{value:%H:%M:%S}{fraction}"
    shown = f"{value.year:04}-{value:%m-%dT%H:%M:%S}{fraction}"
    if value.tzinfo is None:
        return shown
    minutes = int(value.utcoffset().total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"{shown}{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
