"""From bytes to a static type and values: TYPE_INFO of parameters and rows (2.2.5.5, 2.2.5.6).

A ``WireType`` is built once per distinct TYPE_INFO and remembered: drivers repeat the same few.
Its ``read`` takes a Reader and returns the value as the engine represents it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from redial_broker.engine.errors import NotSupported
from redial_broker.engine.types import INT, MAX, SQL_VARIANT, XML, SqlType, Variant, sql_type
from redial_broker.tds import moments, scalars
from redial_broker.tds.packets import ProtocolError
from redial_broker.tds.reader import Reader

Read = Callable[[Reader], object]
Convert = Callable[[bytes], object]

NULL_TYPE, XML_TYPE, UDT_TYPE, TVP_TYPE = 0x1F, 0xF1, 0xF0, 0xF3
_PLP_SIZE, _SHORT_NULL, _LONG_NULL, _PLP_NULL = 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF

_PLP_HEAD = struct.Struct("<QI")
"""Length of the whole value, and of the first chunk."""

_FLOAT, _REAL = struct.Struct("<d"), struct.Struct("<f")


class WireType(NamedTuple):
    """The static type a client declared and how to read its values."""

    sql: SqlType
    read: Read


def _unsigned(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _bit(data: bytes) -> int:
    return 1 if data[0] else 0


def _float(data: bytes) -> float:
    value: float = (_FLOAT if len(data) == 8 else _REAL).unpack(data)[0]
    return value


# By (type id, size): name of the type and conversion. The nullable ids carry the size in TYPE_INFO,
# the fixed ones imply it.
_SIZED: dict[tuple[int, int], tuple[str, Convert]] = {
    (0x26, 1): ("tinyint", _unsigned),
    (0x26, 2): ("smallint", _signed),
    (0x26, 4): ("int", _signed),
    (0x26, 8): ("bigint", _signed),
    (0x68, 1): ("bit", _bit),
    (0x6D, 4): ("real", _float),
    (0x6D, 8): ("float", _float),
    (0x6E, 4): ("smallmoney", scalars.decode_money),
    (0x6E, 8): ("money", scalars.decode_money),
    (0x6F, 4): ("smalldatetime", moments.decode_smalldatetime),
    (0x6F, 8): ("datetime", moments.decode_datetime),
    (0x24, 16): ("uniqueidentifier", scalars.decode_guid),
    (0x24, 0): ("uniqueidentifier", scalars.decode_guid),  # NULL, as JDBC sends it (2.2.5.4.2)
}

_FIXED: dict[int, tuple[int, int]] = {
    0x30: (0x26, 1),
    0x34: (0x26, 2),
    0x38: (0x26, 4),
    0x7F: (0x26, 8),
    0x32: (0x68, 1),
    0x3B: (0x6D, 4),
    0x3E: (0x6D, 8),
    0x7A: (0x6E, 4),
    0x3C: (0x6E, 8),
    0x3A: (0x6F, 4),
    0x3D: (0x6F, 8),
}

_DECIMALS = {0x6A: "decimal", 0x6C: "numeric", 0x37: "decimal", 0x3F: "numeric"}
_DECIMAL_SIZES = frozenset(range(2, 18))  # FreeTDS sends the fewest bytes a precision needs
_SCALED = {
    0x29: ("time", moments.decode_time, 0),
    0x2A: ("datetime2", moments.decode_datetime2, 3),
    0x2B: ("datetimeoffset", moments.decode_datetimeoffset, 5),
}
_VARYING = {
    0xE7: ("nvarchar", 2),
    0xEF: ("nchar", 2),
    0xA7: ("varchar", 1),
    0xAF: ("char", 1),
    0xA5: ("varbinary", 1),
    0xAD: ("binary", 1),
}
_LONG = {0x23: "text", 0x63: "ntext", 0x22: "image"}

# Bytes of TYPE_INFO by type id; what is not here has a length of its own.
_INFO_SIZE: dict[int, int] = {
    NULL_TYPE: 1,
    0x28: 1,
    0x62: 5,
    0x22: 5,
    0x23: 10,
    0x63: 10,
    **dict.fromkeys(_FIXED, 1),
    **dict.fromkeys((0x26, 0x68, 0x6D, 0x6E, 0x6F, 0x24, 0x29, 0x2A, 0x2B), 2),
    **dict.fromkeys(_DECIMALS, 4),
    **dict.fromkeys((0xE7, 0xEF, 0xA7, 0xAF), 8),
    **dict.fromkeys((0xA5, 0xAD), 3),
}


def read_plp(reader: Reader) -> bytes | None:
    """A partially length-prefixed value: total or unknown, chunks, a zero chunk (2.2.5.2.3)."""
    body, at = reader.body, reader.at
    if len(body) - at >= _PLP_HEAD.size:
        # As drivers send most values: one chunk of the announced length and the empty one.
        total, size = _PLP_HEAD.unpack_from(body, at)
        end = at + _PLP_HEAD.size + size
        if total == size != 0 and body[end : end + 4] == b"\0\0\0\0":
            reader.at = end + 4
            return body[end - size : end]
    total = reader.u64()
    if total == _PLP_NULL:
        return None
    chunks = []
    while size := reader.u32():
        chunks.append(reader.take(size))
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _null(_: Reader) -> None:
    return None


def _by_fixed(size: int, convert: Convert) -> Read:
    return lambda reader: convert(reader.take(size))


def _by_byte(sizes: frozenset[int], convert: Convert) -> Read:
    def read(reader: Reader) -> object:
        data = reader.sized_byte()
        if not data:
            return None
        if len(data) not in sizes:
            raise ProtocolError(f"a value of {len(data)} bytes, not {sorted(sizes)}")
        return convert(data)

    return read


def _by_short(convert: Convert) -> Read:
    def read(reader: Reader) -> object:
        size = reader.u16()
        return None if size == _SHORT_NULL else convert(reader.take(size))

    return read


def _by_long(convert: Convert) -> Read:
    def read(reader: Reader) -> object:
        size = reader.u32()
        return None if size == _LONG_NULL else convert(reader.take(size))

    return read


def _by_plp(convert: Convert) -> Read:
    def read(reader: Reader) -> object:
        data = read_plp(reader)
        return None if data is None else convert(data)

    return read


def _text_conversion(name: str, collation: bytes) -> Convert:
    if name in {"nvarchar", "nchar", "ntext"}:
        return scalars.decode_unicode
    if name in {"varchar", "char", "text"}:
        return scalars.decode_utf8 if scalars.is_utf8(collation) else scalars.decode_ansi
    return bytes


def _decimal(info: bytes) -> WireType:
    precision, scale = info[2], info[3]
    if not (1 <= precision <= 38 and scale <= precision):
        raise ProtocolError(f"decimal({precision},{scale})")
    convert = partial(scalars.decode_decimal, scale=scale)
    return WireType(
        sql_type(_DECIMALS[info[0]], 0, precision, scale),
        _by_byte(_DECIMAL_SIZES, convert),
    )


def _scaled(info: bytes) -> WireType:
    name, convert, extra = _SCALED[info[0]]
    scale = info[1]
    if scale > 7:
        raise ProtocolError(f"{name}({scale})")
    sizes = frozenset((moments.time_bytes(scale) + extra,))
    return WireType(sql_type(name, scale=scale), _by_byte(sizes, partial(convert, scale=scale)))


def _varying(info: bytes) -> WireType:
    name, unit = _VARYING[info[0]]
    size = info[1] | info[2] << 8
    convert = _text_conversion(name, info[3:8])
    if size == _PLP_SIZE:
        return WireType(sql_type(name, MAX), _by_plp(convert))
    return WireType(sql_type(name, max(1, size // unit)), _by_short(convert))


@lru_cache(maxsize=2048)
def _wire_type(info: bytes) -> WireType:
    type_id = info[0]
    if type_id in _FIXED:
        name, convert = _SIZED[_FIXED[type_id]]
        return WireType(sql_type(name), _by_fixed(_FIXED[type_id][1], convert))
    if type_id in _VARYING:
        return _varying(info)
    if type_id in _DECIMALS:
        return _decimal(info)
    if type_id in _SCALED:
        return _scaled(info)
    if type_id == 0x28:
        return WireType(sql_type("date"), _by_byte(frozenset((3,)), moments.decode_date))
    if type_id in _LONG:
        name = _LONG[type_id]
        return WireType(sql_type(name), _by_long(_text_conversion(name, info[5:10])))
    if type_id == 0x62:
        return WireType(SQL_VARIANT, _read_variant)
    if type_id == NULL_TYPE:
        return WireType(INT, _null)
    if (type_id, info[1]) not in _SIZED:
        raise ProtocolError(f"type {type_id:#x} of {info[1]} bytes")
    name, convert = _SIZED[type_id, info[1]]
    return WireType(sql_type(name), _by_byte(frozenset((info[1],)), convert))


def read_type(reader: Reader) -> WireType:
    """Read TYPE_INFO. ProtocolError for an unknown id, NotSupported for CLR types.

    A table-valued parameter is not a type of this kind: see ``tvp``.
    """
    type_id = reader.u8()
    size = _INFO_SIZE.get(type_id)
    if size is not None:
        start = reader.at - 1
        end = reader.at = start + size
        if end > len(reader.body):
            raise ProtocolError(f"type {type_id:#x} is cut off")
        return _wire_type(reader.body[start:end])
    if type_id == XML_TYPE:
        if reader.u8():  # database, owner and name of a schema collection follow
            reader.b_varchar(), reader.b_varchar(), reader.us_varchar()
        return WireType(XML, _by_plp(_decode_xml))
    if type_id == UDT_TYPE:
        raise NotSupported("parameters of a CLR user-defined type")
    raise ProtocolError(f"unknown type {type_id:#x}")


def _decode_xml(data: bytes) -> str:
    # Clients send UTF-16, with or without its byte order mark; the engine's text has none.
    return scalars.decode_unicode(data).removeprefix("\ufeff")


def _read_variant(reader: Reader) -> object:
    size = reader.u32()
    if not size:
        return None
    data = reader.take(size)
    if len(data) < 2 or len(data) < 2 + data[1]:
        raise ProtocolError("sql_variant")
    type_id, properties, value = data[0], data[2 : 2 + data[1]], data[2 + data[1] :]
    info, prefix = _variant_info(type_id, properties, len(value))
    wire = _wire_type(info)
    return Variant(wire.sql, wire.read(Reader(prefix + value)))


def _variant_info(type_id: int, properties: bytes, size: int) -> tuple[bytes, bytes]:
    """TYPE_INFO of a variant's base type, and the length its bare value lacks."""
    head = bytes([type_id])
    if type_id in _FIXED:
        return head, b""
    if type_id == 0x24:
        return b"\x24\x10", b"\x10"
    if size > 8000:
        raise ProtocolError(f"sql_variant of {size} bytes")
    if type_id in _VARYING:  # properties: collation for text, then the declared size
        need = 7 if _VARYING[type_id][0].endswith("char") else 2
        if len(properties) != need:
            raise ProtocolError("sql_variant properties")
        return head + properties[-2:] + properties[:-2], size.to_bytes(2, "little")
    expected = {0x28: 0, 0x29: 1, 0x2A: 1, 0x2B: 1, 0x6A: 2, 0x6C: 2}.get(type_id)
    if expected != len(properties) or not 0 < size < 256:
        raise ProtocolError(f"sql_variant of type {type_id:#x}")
    middle = b"\x11" if type_id in _DECIMALS else b""
    return head + middle + properties, bytes([size])
