"""COMPRESS, DECOMPRESS, BINARY_CHECKSUM, CRYPT_GEN_RANDOM (their pages)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import NotSupported
from redial_broker.engine.types import INT, UNICODE_TYPES, VARBINARY_MAX, varbinary
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.conversion.text import to_ansi, to_utf16
from redial_broker.exec.expressions.expr import Expr, strict
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import UNLIMITED, Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState

_MASK = (1 << 32) - 1


@function("COMPRESS", 1)
def _compress(call: Call) -> Expr:
    """GZIP of the bytes; the same bytes always give the same result."""
    data = call.arg(0)
    encode: Callable[[Any], bytes]
    if data.type.name in UNICODE_TYPES:
        encode = to_utf16
    elif data.type.is_string or data.untyped:
        encode = to_ansi
    elif data.type.is_binary:
        encode = bytes
    else:
        raise call.invalid(data, 1)
    return strict(lambda x: gzip.compress(encode(x), mtime=0), VARBINARY_MAX, [data])


@function("DECOMPRESS", 1)
def _decompress(call: Call) -> Expr:
    data = call.arg(0)
    if not data.type.is_binary and not data.untyped:
        raise call.invalid(data, 1)

    def run(value: bytes) -> bytes:
        try:
            return gzip.decompress(value)
        except (OSError, EOFError, zlib.error):
            raise NotSupported("DECOMPRESS of bytes that are no GZIP data") from None

    return strict(run, VARBINARY_MAX, [converted(data, VARBINARY_MAX)])


def _rotated(total: int, byte: int) -> int:
    return ((total << 4 | total >> 28) & _MASK) ^ byte


def _signed(total: int) -> int:
    return total - (1 << 32) if total >> 31 else total


def text_checksum(data: bytes) -> int:
    """The published algorithm over bytes: rotate by four bits, exclusive or (observed, F-224)."""
    total = 0
    for byte in data:
        total = _rotated(total, byte)
    return total


@function("BINARY_CHECKSUM", 1, UNLIMITED)
def _binary_checksum(call: Call) -> Expr:
    """Of int kinds and of texts and bytes; other types are refused by name."""
    args = call.args()
    parts: list[tuple[Fn, Callable[[Any], int]]] = []
    for arg in args:
        if arg.type.name in {"int", "smallint", "tinyint", "bit"} or arg.untyped:
            parts.append((arg.fn, lambda value: value & _MASK))
        elif arg.type.name in {"char", "varchar"}:
            # Trailing blanks do not count.
            parts.append((arg.fn, lambda value: text_checksum(to_ansi(value.rstrip(" ")))))
        elif group(arg.type) == "binary":
            parts.append((arg.fn, text_checksum))
        else:
            raise call.refuse(f"BINARY_CHECKSUM of {arg.type.name}")

    def run(session: SessionState, variables: Values, row: RowValues) -> int:
        total = 0
        for fn, number in parts:
            value = fn(session, variables, row)
            own = 0x7FFFFFFF if value is None else number(value)
            total = _rotated(total, own) if len(parts) > 1 else own
        return _signed(total)

    return Expr(run, INT, False)


@function("CRYPT_GEN_RANDOM", 1, 2)
def _crypt_gen_random(call: Call) -> Expr:
    """Bytes of the session's own stream: random to a program, the same in every run."""
    length = call.integer(0).fn

    def run(session: SessionState, variables: Values, row: RowValues) -> bytes | None:
        wanted = length(session, variables, row)
        if wanted is None or not 1 <= wanted <= 8000:
            return None
        data = b""
        while len(data) < wanted:
            data += bytes.fromhex(session.new_guid().replace("-", ""))[8:]
        return data[:wanted]

    return Expr(run, varbinary(8000))
