"""From a static type to bytes: TYPE_INFO and one encoding function per column (2.2.5.5, 2.2.5.6).

``column_codec`` builds the function once per type; rows then cost one call per value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redial_broker.engine.types import MAX, SqlType, Variant
from redial_broker.tds import constants as c
from redial_broker.tds import moments, scalars

if TYPE_CHECKING:
    from redial_broker.exec.xml.schemas import TypedXml

Encode = Callable[[Any], bytes]
"""Any: a value is whatever its column's type holds; another one raises, and becomes an error."""

NULL_BYTE, NULL_SHORT, NULL_PLP, NULL_LONG = b"\0", b"\xff\xff", b"\xff" * 8, b"\0"
PLP_MARK = b"\xff\xff"
_U16, _I32, _U64, _PLP = map(struct.Struct, ("<H", "<i", "<Q", "<QI"))

PLP_CHUNK = 32_000
"""Bytes of one chunk of a large value: a client keeps a chunk together in memory, and tedious puts
what it has together again with each packet that belongs to an unfinished one (F-283)."""

_PLP_END = b"\0\0\0\0"
_VARIANT_MAX = 8009
_TEXT_POINTER = b"\x10" + b"\0" * 24
"""Length 16, a pointer and a timestamp: no client uses them for anything but the length."""

TIMESTAMP_USER_TYPE = 80
"""UserType by which clients tell a rowversion from a binary(8)."""


class Codec(NamedTuple):
    """How one column goes out."""

    type_info: bytes
    encode: Encode
    prefix: int = 1
    """Length bytes in front of each value, 0 for none."""
    user_type: int = 0
    table_name: bool = False


def _sized(width: int, raw: Encode) -> Encode:
    head = bytes([width])

    def encode(value: object) -> bytes:
        return NULL_BYTE if value is None else head + raw(value)

    return encode


def _packed(width: int, letter: str) -> Encode:
    pack = struct.Struct("<B" + letter).pack

    def encode(value: object) -> bytes:
        return NULL_BYTE if value is None else pack(width, value)

    return encode


def _bit(value: object) -> bytes:
    return NULL_BYTE if value is None else b"\x01\x01" if value else b"\x01\x00"


def _short(limit: int, raw: Encode) -> Encode:
    pack = _U16.pack

    def encode(value: object) -> bytes:
        if value is None:
            return NULL_SHORT
        data = raw(value)
        # A driver reads into a buffer of the declared size: more would be its crash, not ours.
        if len(data) > limit:
            raise ValueError(f"{len(data)} bytes in a column of {limit}")
        return pack(len(data)) + data

    return encode


def _plp(raw: Encode) -> Encode:
    def encode(value: object) -> bytes:
        if value is None:
            return NULL_PLP
        data = raw(value)
        size = len(data)
        if not size:
            return b"\0" * 12
        if size <= PLP_CHUNK:
            return _PLP.pack(size, size) + data + _PLP_END
        pieces: list[bytes | memoryview] = [_U64.pack(size)]
        view = memoryview(data)
        for start in range(0, size, PLP_CHUNK):
            piece = view[start : start + PLP_CHUNK]
            pieces += (_I32.pack(len(piece)), piece)
        pieces.append(_PLP_END)
        return b"".join(pieces)

    return encode


def _long(raw: Encode) -> Encode:
    def encode(value: object) -> bytes:
        if value is None:
            return NULL_LONG
        data = raw(value)
        return _TEXT_POINTER + _I32.pack(len(data)) + data

    return encode


_FIXED: dict[str, Codec] = {
    "tinyint": Codec(b"\x26\x01", _packed(1, "B")),
    "smallint": Codec(b"\x26\x02", _packed(2, "h")),
    "int": Codec(b"\x26\x04", _packed(4, "i")),
    "bigint": Codec(b"\x26\x08", _packed(8, "q")),
    "bit": Codec(b"\x68\x01", _bit),
    "float": Codec(b"\x6d\x08", _packed(8, "d")),
    "real": Codec(b"\x6d\x04", _packed(4, "f")),
    "money": Codec(b"\x6e\x08", _sized(8, scalars.encode_money)),
    "smallmoney": Codec(b"\x6e\x04", _sized(4, scalars.encode_smallmoney)),
    "uniqueidentifier": Codec(b"\x24\x10", _sized(16, scalars.encode_guid)),
    "date": Codec(b"\x28", _sized(3, moments.encode_date)),
    "datetime": Codec(b"\x6f\x08", _sized(8, moments.encode_datetime)),
    "smalldatetime": Codec(b"\x6f\x04", _sized(4, moments.encode_smalldatetime)),
    "rowversion": Codec(b"\xad\x08\x00", _short(8, bytes), 2, TIMESTAMP_USER_TYPE),
    "xml": Codec(b"\xf1\x00", _plp(scalars.encode_unicode), 0),
    "text": Codec(
        b"\x23\xff\xff\xff\x7f" + c.COLLATION, _long(scalars.encode_ansi), 0, table_name=True
    ),
    "ntext": Codec(
        b"\x63\xfe\xff\xff\x7f" + c.COLLATION, _long(scalars.encode_unicode), 0, table_name=True
    ),
    "image": Codec(b"\x22\xff\xff\xff\x7f", _long(bytes), 0, table_name=True),
}

_MOMENTS: dict[str, tuple[int, Callable[[Any, int], bytes], int]] = {
    "time": (0x29, moments.encode_time, 0),
    "datetime2": (0x2A, moments.encode_datetime2, 3),
    "datetimeoffset": (0x2B, moments.encode_datetimeoffset, 5),
}

_VARYING: dict[str, tuple[int, int, Encode, bytes]] = {
    # name: type id, bytes per unit of length, encoding, collation behind the size
    "nvarchar": (0xE7, 2, scalars.encode_unicode, c.COLLATION),
    "nchar": (0xEF, 2, scalars.encode_unicode, c.COLLATION),
    "varchar": (0xA7, 1, scalars.encode_ansi, c.COLLATION),
    "char": (0xAF, 1, scalars.encode_ansi, c.COLLATION),
    "varbinary": (0xA5, 1, bytes, b""),
    "binary": (0xAD, 1, bytes, b""),
}


def _decimal(type_: SqlType) -> Codec:
    precision, scale = type_.precision or 18, type_.scale
    width = scalars.decimal_bytes(precision) + 1
    head = bytes([width])

    def encode(value: Any) -> bytes:
        if value is None:
            return NULL_BYTE
        return head + scalars.encode_decimal(value, precision, scale)

    type_id = 0x6A if type_.name == "decimal" else 0x6C
    return Codec(bytes([type_id, width, precision, scale]), encode)


def _moment(type_: SqlType) -> Codec:
    type_id, raw, extra = _MOMENTS[type_.name]
    scale = type_.scale
    width = moments.time_bytes(scale) + extra
    return Codec(bytes([type_id, scale]), _sized(width, lambda value: raw(value, scale)))


def _varying(type_: SqlType) -> Codec:
    type_id, unit, raw, collation = _VARYING[type_.name]
    if type_.length == MAX:
        return Codec(bytes([type_id]) + PLP_MARK + collation, _plp(raw), 0)
    limit = max(type_.length, 1) * unit
    type_info = bytes([type_id]) + _U16.pack(limit) + collation
    return Codec(type_info, _short(limit, raw), 2)


@lru_cache(maxsize=4096)
def column_codec(type_: SqlType) -> Codec:
    """TYPE_INFO and encoder of a type; KeyError for a type no column can have."""
    if getattr(type_, "collection", None) is not None:
        return _typed_xml(type_)
    if type_.name in _FIXED:
        return _FIXED[type_.name]
    if type_.name in _VARYING:
        return _varying(type_)
    if type_.name in {"decimal", "numeric"}:
        return _decimal(type_)
    if type_.name in _MOMENTS:
        return _moment(type_)
    if type_.name == "sql_variant":
        return Codec(b"\x62" + _I32.pack(_VARIANT_MAX), encode_variant, 0)
    raise KeyError(f"no column has the type {type_}")


_WHOLE: dict[str, Codec] = {
    "tinyint": Codec(b"\x30", struct.Struct("<B").pack, 0),
    "smallint": Codec(b"\x34", struct.Struct("<h").pack, 0),
    "int": Codec(b"\x38", struct.Struct("<i").pack, 0),
    "bigint": Codec(b"\x7f", struct.Struct("<q").pack, 0),
    "bit": Codec(b"\x32", {0: b"\x00", 1: b"\x01"}.__getitem__, 0),
    "float": Codec(b"\x3e", struct.Struct("<d").pack, 0),
    "real": Codec(b"\x3b", struct.Struct("<f").pack, 0),
    "money": Codec(b"\x3c", scalars.encode_money, 0),
    "smallmoney": Codec(b"\x7a", scalars.encode_smallmoney, 0),
    "datetime": Codec(b"\x3d", moments.encode_datetime, 0),
    "smalldatetime": Codec(b"\x3a", moments.encode_smalldatetime, 0),
}
"""Types whose values have no length where a column is never NULL (2.2.5.4.1, F-537)."""


def whole_codec(type_: SqlType) -> Codec:
    """Like ``column_codec``, of a column that is never NULL."""
    return _WHOLE.get(type_.name) or column_codec(type_)


def _typed_xml(type_: SqlType) -> Codec:
    """xml with its schema collection: XML_INFO with database, schema and name (2.2.5.5.3)."""
    collection = cast("TypedXml", type_).collection
    info = (
        b"\xf1\x01"
        + _short_name("")
        + _short_name(collection.schema)
        + _U16.pack(len(collection.name))
        + collection.name.encode("utf-16-le")
    )
    return Codec(info, _plp(scalars.encode_unicode), 0)


def _short_name(name: str) -> bytes:
    return bytes([len(name)]) + name.encode("utf-16-le")


_VARIANT_FIXED = {
    "tinyint": 0x30,
    "bit": 0x32,
    "smallint": 0x34,
    "int": 0x38,
    "bigint": 0x7F,
    "real": 0x3B,
    "float": 0x3E,
    "money": 0x3C,
    "smallmoney": 0x7A,
    "datetime": 0x3D,
    "smalldatetime": 0x3A,
    "uniqueidentifier": 0x24,
    "date": 0x28,
}


def _variant_head(type_: SqlType, type_info: bytes) -> bytes:
    """Base type and its properties (2.2.5.5.4)."""
    if type_.name in _VARIANT_FIXED:
        return bytes([_VARIANT_FIXED[type_.name], 0])
    if type_.name in _MOMENTS:
        return bytes([type_info[0], 1, type_.scale])
    if type_.name in {"decimal", "numeric"}:
        return bytes([type_info[0], 2]) + type_info[2:4]
    if type_.name in {"binary", "varbinary"}:
        return bytes([type_info[0], 2]) + type_info[1:3]
    return bytes([type_info[0], 7]) + c.COLLATION + type_info[1:3]


def encode_variant(value: object) -> bytes:
    """A sql_variant value (``Variant``): length, base type, properties, bare value."""
    if value is None:
        return b"\0\0\0\0"
    if not isinstance(value, Variant):
        raise TypeError(f"a sql_variant holds a Variant, not {type(value).__name__}")
    if value.value is None:
        return b"\0\0\0\0"
    codec = column_codec(value.type)
    if not codec.prefix:
        raise KeyError(f"sql_variant cannot hold {value.type}")
    data = _variant_head(value.type, codec.type_info) + codec.encode(value.value)[codec.prefix :]
    return _I32.pack(len(data)) + data
