"""Facts of types as sys.types shows them: ids, sizes in bytes, precision and scale."""

from __future__ import annotations

from redial_broker.engine.types import INTEGER_BITS, MAX, SqlType

TYPE_IDS = {
    "image": 34,
    "text": 35,
    "uniqueidentifier": 36,
    "date": 40,
    "time": 41,
    "datetime2": 42,
    "datetimeoffset": 43,
    "tinyint": 48,
    "smallint": 52,
    "int": 56,
    "smalldatetime": 58,
    "real": 59,
    "money": 60,
    "datetime": 61,
    "float": 62,
    "sql_variant": 98,
    "ntext": 99,
    "bit": 104,
    "decimal": 106,
    "numeric": 108,
    "smallmoney": 122,
    "bigint": 127,
    "varbinary": 165,
    "varchar": 167,
    "binary": 173,
    "char": 175,
    "rowversion": 189,
    "nvarchar": 231,
    "nchar": 239,
    "xml": 241,
}
"""system_type_id by type name; rowversion is called timestamp in the catalog."""

SYSNAME_ID = 256

_FIXED = {
    "uniqueidentifier": 16,
    "date": 3,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "smalldatetime": 4,
    "real": 4,
    "money": 8,
    "datetime": 8,
    "float": 8,
    "sql_variant": 8016,
    "bit": 1,
    "smallmoney": 4,
    "bigint": 8,
    "rowversion": 8,
    "image": 16,
    "text": 16,
    "ntext": 16,
    "xml": MAX,
}
_PRECISION = {
    "date": (10, 0),
    "tinyint": (3, 0),
    "smallint": (5, 0),
    "int": (10, 0),
    "smalldatetime": (16, 0),
    "real": (24, 0),
    "money": (19, 4),
    "datetime": (23, 3),
    "float": (53, 0),
    "bit": (1, 0),
    "smallmoney": (10, 4),
    "bigint": (19, 0),
}


def catalog_name(type_: SqlType) -> str:
    """The type's name in sys.types."""
    return "timestamp" if type_.name == "rowversion" else type_.name


def type_id(type_: SqlType) -> int:
    """system_type_id."""
    return TYPE_IDS[type_.name]


def max_length(type_: SqlType) -> int:
    """max_length of sys.columns: bytes, -1 for (max) and xml."""
    name = type_.name
    if name in _FIXED:
        return _FIXED[name]
    if name in {"decimal", "numeric"}:
        return (
            5
            if type_.precision < 10
            else 9
            if type_.precision < 20
            else 13
            if type_.precision < 29
            else 17
        )
    if name in {"time", "datetime2", "datetimeoffset"}:
        size = 3 if type_.scale <= 2 else 4 if type_.scale <= 4 else 5
        return size + {"time": 0, "datetime2": 3, "datetimeoffset": 5}[name]
    if type_.length == MAX:
        return MAX
    return type_.length * (2 if name in {"nvarchar", "nchar"} else 1)


def precision_scale(type_: SqlType) -> tuple[int, int]:
    """(precision, scale) of sys.columns."""
    if type_.name in {"decimal", "numeric"}:
        return type_.precision, type_.scale
    if type_.name in {"time", "datetime2", "datetimeoffset"}:
        point = type_.scale + 1 if type_.scale else 0
        return {"time": 8, "datetime2": 19, "datetimeoffset": 26}[type_.name] + point, type_.scale
    return _PRECISION.get(type_.name, (0, 0))


def sequence_limits(type_: SqlType) -> tuple[int, int]:
    """Least and greatest value a sequence or identity of the type gives."""
    if type_.name in {"decimal", "numeric"}:
        top = 10**type_.precision - 1
        return -top, top
    bits = INTEGER_BITS[type_.name]
    return (0, 255) if bits == 8 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
