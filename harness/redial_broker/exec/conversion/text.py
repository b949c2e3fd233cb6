"""Conversions to character and binary strings and to uniqueidentifier.

Lengths count UTF-16 code units for Unicode types and cp1252 bytes for the others.
"""

from __future__ import annotations

import re
import struct
from codecs import BOM_UTF16_LE, utf_16_le_decode
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INTEGER_BITS, MAX, UNICODE_TYPES, SqlType
from redial_broker.exec.conversion import dates, styles
from redial_broker.exec.conversion.numbers import quantize
from redial_broker.exec.conversion.rules import group, shown_name

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert

_GUID = re.compile(
    r"\{?([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})"
)
_HIGHEST_BASIC = "\uffff"
# The byte values that code page 1252 leaves undefined pass through unchanged, as on the server.
_CP1252_HOLES = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
_TO_CP1252 = {chr(code): bytes((code,)) for code in _CP1252_HOLES}


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    if text.isascii() or max(text) <= _HIGHEST_BASIC:
        return len(text)
    return len(text) + sum(char > _HIGHEST_BASIC for char in text)


def to_ansi(text: str) -> bytes:
    """The bytes of a varchar in code page 1252, a question mark for what it lacks."""
    try:
        return text.encode("cp1252")
    except UnicodeEncodeError:
        return b"".join(_TO_CP1252.get(char) or char.encode("cp1252", "replace") for char in text)


def from_ansi(value: bytes) -> str:
    """The varchar whose bytes these are."""
    try:
        return value.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(
            chr(byte) if byte in _CP1252_HOLES else bytes((byte,)).decode("cp1252")
            for byte in value
        )


def from_utf16(value: bytes) -> str:
    """The nvarchar whose bytes these are; an odd last byte is completed with zero."""
    if len(value) & 1:
        value += b"\x00"
    return utf_16_le_decode(value, "surrogatepass", True)[0]


def to_utf16(text: str) -> bytes:
    """The bytes of an nvarchar."""
    return text.encode("utf-16-le", "surrogatepass")


def clip(text: str, length: int) -> str:
    """The first ``length`` UTF-16 code units of a text."""
    if text.isascii() or len(text) * 2 <= length or units(text) <= length:
        return text[:length]
    return to_utf16(text)[: length * 2].decode("utf-16-le", "surrogatepass")


def fit_text(target: SqlType) -> Callable[[str], str] | None:
    """text -> text of the target's length, padded for char and nchar; None when all fit."""
    length = target.length
    if length == MAX or target.name in {"text", "ntext"}:
        return None
    if target.name in {"char", "nchar"}:
        return lambda text: clip(text, length).ljust(length)
    return lambda text: text if len(text) <= length and text.isascii() else clip(text, length)


def fit_bytes(target: SqlType) -> Callable[[bytes], bytes] | None:
    """bytes -> bytes of the target's length, padded for binary; None when all fit."""
    length = target.length
    if length == MAX or target.name == "image":
        return None
    if target.name in {"binary", "rowversion"}:
        return lambda value: value[:length].ljust(length, b"\x00")
    return lambda value: value[:length]


def _only_ansi(text: str) -> str:
    return text if text.isascii() else from_ansi(to_ansi(text))


def to_text(source: SqlType, target: SqlType, style: int | None) -> Convert:
    """value -> str of the target's length."""
    write = _writer(source, target, style)
    if target.length == MAX or target.name in {"text", "ntext"}:
        return write
    kind = group(source)
    fit = fit_text(target) or _identity
    if kind in {"char", "binary", "rowversion", "datetime", "moment", "date", "time"}:
        return fit if write is _identity else lambda value: fit(write(value))
    return _strict(source, target, write, fit)


def _identity(value: Any) -> Any:
    return value


def _strict(source: SqlType, target: SqlType, write: Convert, fit: Convert) -> Convert:
    """Numbers, guids and XML are never cut: an error, or an asterisk for small integers."""
    length = target.length

    def run(value: Any) -> Any:
        text = write(value)
        if len(text) <= length:
            return fit(text)
        if source.name in {"int", "smallint", "tinyint"} and target.name not in UNICODE_TYPES:
            return fit("*")
        if source.name == "uniqueidentifier":
            raise SqlError(8170)
        if source.name in {"money", "smallmoney"}:
            raise SqlError(234, source.name, target.name)
        if source.name == "xml":
            raise SqlError(6354, state=10)
        shown = "numeric" if source.name in {"decimal", "numeric"} else "expression"
        raise SqlError(8115, shown, target.name)

    return run


def _writer(source: SqlType, target: SqlType, style: int | None) -> Convert:
    """value -> str, before the length is looked at."""
    kind = group(source)
    if kind == "char":
        narrowing = source.name in UNICODE_TYPES and target.name not in UNICODE_TYPES
        return _only_ansi if narrowing else _identity
    if kind in {"datetime", "moment", "date", "time"}:
        return styles.writer(source, style)
    if kind in {"binary", "rowversion"}:
        return _from_bytes(target, style)
    if kind == "float":
        return _float_writer(source, style)
    if kind == "money":
        return _money_writer(style)
    if kind == "exact":
        scale = source.scale
        return lambda value: f"{quantize(value, scale):f}"
    if kind in {"int", "guid"}:
        return str
    if kind == "xml":
        return _only_ansi if target.name not in UNICODE_TYPES else _identity
    raise NotSupported(f"conversion of {shown_name(source)} to text")


def _from_bytes(target: SqlType, style: int | None) -> Convert:
    if style == 1:
        return lambda value: "0x" + value.hex().upper()
    if style == 2:
        return lambda value: value.hex().upper()
    if style not in {None, 0}:
        raise NotSupported(f"style {style} when converting binary data to text")
    return from_utf16 if target.name in UNICODE_TYPES else from_ansi


def _exponent(text: str) -> str:
    """The server writes at least three digits of exponent."""
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>3}" if mark else mantissa


def _float_writer(source: SqlType, style: int | None) -> Convert:
    if style in {None, 0}:
        return lambda value: _exponent(f"{value:.6g}")
    if style == 1:
        return lambda value: _exponent(f"{value:.7e}")
    if style == 2:
        digits = 7 if source.name == "real" else 15
        return lambda value: _exponent(f"{value:.{digits}e}")
    if style == 3:
        return lambda value: _exponent(f"{value:.16e}")
    raise NotSupported(f"style {style} when converting {source.name} to text")


def _money_writer(style: int | None) -> Convert:
    style = 2 if style == 126 else style  # the same for character strings (CONVERT page)
    if style in {None, 0}:
        return lambda value: f"{quantize(value, 2):f}"
    if style == 1:
        return lambda value: f"{quantize(value, 2):,f}"
    if style == 2:
        return lambda value: f"{quantize(value, 4):f}"
    raise NotSupported(f"style {style} when converting money to text")


def to_guid(source: SqlType) -> Convert:
    """text or 16 bytes -> upper-case guid text; 8169 when it is none."""
    kind = group(source)
    if kind == "guid":
        return _identity
    if kind in {"binary", "rowversion"}:
        return lambda value: guid_from_bytes(value[:16].ljust(16, b"\x00"))

    def run(text: str) -> str:
        match = _GUID.match(text)
        if not match or (text[0] == "{" and text[37:38] != "}"):
            raise SqlError(8169)
        return match[1].upper()

    return run


def guid_from_bytes(value: bytes) -> str:
    """The guid text of its 16 stored bytes: first three groups little-endian."""
    h = (value[3::-1] + value[5:3:-1] + value[7:5:-1] + value[8:16]).hex().upper()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def guid_to_bytes(text: str) -> bytes:
    """The 16 stored bytes of a guid."""
    b = bytes.fromhex(text.replace("-", ""))
    return b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]


def _hex_text(prefix: bool) -> Callable[[str], bytes]:
    def run(text: str) -> bytes:
        digits = text.rstrip()
        if prefix:
            if digits[:2] not in {"0x", "0X"}:
                raise SqlError(8114, "varchar", "varbinary")
            digits = digits[2:]
        try:
            return bytes.fromhex(digits)
        except ValueError:
            raise SqlError(8114, "varchar", "varbinary") from None

    return run


def to_binary(source: SqlType, target: SqlType, style: int | None) -> Convert:
    """value -> bytes of the target's length; numbers keep their low-order bytes."""
    kind = group(source)
    fit = fit_bytes(target) or _identity
    if kind == "char":
        if style in {1, 2}:
            read = _hex_text(style == 1)
        elif style in {None, 0}:
            read = to_utf16 if source.name in UNICODE_TYPES else to_ansi
        else:
            raise NotSupported(f"style {style} when converting text to binary data")
        return lambda value: fit(read(value))
    if kind == "guid":
        return lambda value: fit(guid_to_bytes(value))
    if kind == "xml":
        return lambda value: fit(BOM_UTF16_LE + to_utf16(value))
    if kind in {"binary", "rowversion"}:
        return fit
    return _low_bytes(source, target)


def _low_bytes(source: SqlType, target: SqlType) -> Convert:
    kind = group(source)
    write: Callable[[Any], bytes]
    if kind == "int":
        size = 1 if source.name == "bit" else INTEGER_BITS[source.name] // 8
        write = _integer_bytes(size)
    elif kind == "money":
        whole = _integer_bytes(8 if source.name == "money" else 4)
        write = lambda value: whole(int(Decimal(value).scaleb(4)))  # noqa: E731
    elif kind == "float":
        code = ">f" if source.name == "real" else ">d"
        write = lambda value: struct.pack(code, value)  # noqa: E731
    elif source.name == "datetime":
        write = dates.to_bytes
    else:
        raise NotSupported(f"conversion of {shown_name(source)} to binary data")
    length = target.length

    def run(value: Any) -> bytes:
        data = write(value)
        if length == MAX:
            return data
        data = data[-length:]
        return data.rjust(length, b"\x00") if target.name != "varbinary" else data

    return run


def _integer_bytes(size: int) -> Callable[[int], bytes]:
    mask = (1 << size * 8) - 1
    return lambda value: (value & mask).to_bytes(size, "big")
