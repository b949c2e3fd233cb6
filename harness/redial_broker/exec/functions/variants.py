"""SQL_VARIANT_PROPERTY: what a sql_variant value was stored as."""

from __future__ import annotations

from collections.abc import Callable

from redial_broker.engine.types import INT, SQL_VARIANT, SYSNAME, SqlType, Variant
from redial_broker.exec.expressions.expr import Expr, closure
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import Call, function

_PRECISIONS = {
    "bigint": 19,
    "int": 10,
    "smallint": 5,
    "tinyint": 3,
    "bit": 1,
    "money": 19,
    "smallmoney": 10,
    "float": 53,
    "real": 24,
    "datetime": 23,
    "smalldatetime": 16,
    "date": 10,
}


def _length(of: SqlType) -> int:
    return of.length * 2 if of.name in {"nchar", "nvarchar"} else of.length


_PROPERTIES: dict[str, Callable[[SqlType], Variant]] = {
    "basetype": lambda of: Variant(SYSNAME, of.name),
    "precision": lambda of: Variant(INT, of.precision or _PRECISIONS.get(of.name, 0)),
    "scale": lambda of: Variant(INT, 4 if of.name in {"money", "smallmoney"} else of.scale),
    "maxlength": lambda of: Variant(INT, _length(of)),
}


@function("SQL_VARIANT_PROPERTY", 2)
def _sql_variant_property(call: Call) -> Expr:
    value = converted(call.arg(0), SQL_VARIANT)
    name = call.arg(1)
    if not name.constant or not isinstance(name.value, str):
        raise call.refuse("SQL_VARIANT_PROPERTY of a property that is not a constant")
    read = _PROPERTIES.get(name.value.lower())
    if read is None:
        raise call.refuse(f"SQL_VARIANT_PROPERTY {name.value}")
    return Expr(closure("return read(x0.type)", [value], read=read), SQL_VARIANT)
