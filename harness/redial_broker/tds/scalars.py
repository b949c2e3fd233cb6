"""Numbers, GUIDs and code pages between Python and the wire, both ways (MS-TDS 2.2.5.5)."""

from __future__ import annotations

import codecs
from decimal import ROUND_HALF_UP, Context, Decimal

_WIDE = Context(prec=80)
"""Wider than any decimal(38): the default context would round at 28 digits."""

_UTF8_COLLATION = 1 << 26
_HOLES = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
"""Byte values without a character in code page 1252."""


def decimal_bytes(precision: int) -> int:
    """Bytes of a decimal's magnitude."""
    return 4 if precision <= 9 else 8 if precision <= 19 else 12 if precision <= 28 else 16


def encode_decimal(value: Decimal | int, precision: int, scale: int) -> bytes:
    """Sign byte (1: not negative) and little-endian magnitude; OverflowError when too large."""
    scaled = Decimal(value).scaleb(scale, _WIDE)
    whole = int(scaled.to_integral_value(ROUND_HALF_UP, _WIDE))
    magnitude = abs(whole).to_bytes(decimal_bytes(precision), "little")
    return (b"\0" if whole < 0 else b"\1") + magnitude


def decode_decimal(data: bytes, scale: int) -> Decimal:
    """The inverse of ``encode_decimal``, with the declared number of fractional digits."""
    whole = int.from_bytes(data[1:], "little")
    return Decimal(whole if data[0] else -whole).scaleb(-scale, _WIDE)


def encode_money(value: Decimal | int) -> bytes:
    """Ten-thousandths as two 32-bit halves, the high one first."""
    whole = int(Decimal(value).scaleb(4, _WIDE).to_integral_value(ROUND_HALF_UP, _WIDE))
    data = whole.to_bytes(8, "little", signed=True)
    return data[4:] + data[:4]


def encode_smallmoney(value: Decimal | int) -> bytes:
    """Ten-thousandths as one signed 32-bit number."""
    whole = int(Decimal(value).scaleb(4, _WIDE).to_integral_value(ROUND_HALF_UP, _WIDE))
    return whole.to_bytes(4, "little", signed=True)


def decode_money(data: bytes) -> Decimal:
    """Both money types, told apart by length."""
    ordered = data[4:] + data[:4] if len(data) == 8 else data
    return Decimal(int.from_bytes(ordered, "little", signed=True)).scaleb(-4, _WIDE)


def encode_guid(value: str) -> bytes:
    """The first three groups are little-endian; ValueError for anything but 32 hex digits."""
    raw = bytes.fromhex(value.replace("-", ""))
    if len(raw) != 16:
        raise ValueError(f"not a uniqueidentifier: {value!r}")
    return raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]


def decode_guid(data: bytes) -> str:
    """36 upper-case characters."""
    digits = (data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]).hex().upper()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _pass_holes(error: UnicodeError) -> tuple[str | bytes, int]:
    # The server maps the holes to the code points of the same number, both ways. What the page
    # lacks altogether becomes a question mark.
    if isinstance(error, UnicodeDecodeError):
        return "".join(chr(b) for b in error.object[error.start : error.end]), error.end
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return bytes(ord(char) if ord(char) in _HOLES else 0x3F for char in text), error.end


codecs.register_error("redial-1252", _pass_holes)


def encode_ansi(text: str) -> bytes:
    """Text of the default collation's code page, 1252."""
    return text.encode("cp1252", "redial-1252")


def decode_ansi(data: bytes) -> str:
    """The inverse of ``encode_ansi``."""
    return data.decode("cp1252", "redial-1252")


def decode_utf8(data: bytes) -> str:
    """Text of a UTF-8 collation; broken sequences become the replacement character."""
    return data.decode("utf-8", "replace")


def is_utf8(collation: bytes) -> bool:
    """True when a client's five collation bytes name a UTF-8 collation (flag fUTF8)."""
    return bool(int.from_bytes(collation[:4], "little") & _UTF8_COLLATION)


def encode_unicode(text: str) -> bytes:
    """UTF-16, little-endian; a lone surrogate is data here, as it is on the server."""
    return text.encode("utf-16-le", "surrogatepass")


def decode_unicode(data: bytes) -> str:
    """The inverse of ``encode_unicode``; ValueError for an odd number of bytes."""
    return data.decode("utf-16-le", "surrogatepass")
