"""Bounds-checked reading of a message body; the lengths come from the client and may lie."""

from __future__ import annotations

import struct

from redial_broker.tds.packets import ProtocolError

_U16, _U32, _U64 = (struct.Struct(f) for f in ("<H", "<I", "<Q"))


class Reader:
    """A cursor over one body. Every method raises ProtocolError when the body ends too early."""

    __slots__ = ("at", "body")

    def __init__(self, body: bytes, at: int = 0) -> None:
        self.body = body
        self.at = at

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return len(self.body) - self.at

    def u8(self) -> int:
        """One byte."""
        at = self.at
        if at >= len(self.body):
            raise ProtocolError("the message ends where a byte was expected")
        self.at = at + 1
        return self.body[at]

    def _number(self, layout: struct.Struct) -> int:
        try:
            value: int = layout.unpack_from(self.body, self.at)[0]
        except struct.error:
            raise ProtocolError("the message ends inside a number") from None
        self.at += layout.size
        return value

    def u16(self) -> int:
        """Two bytes, little-endian."""
        return self._number(_U16)

    def u32(self) -> int:
        """Four bytes, little-endian."""
        return self._number(_U32)

    def u64(self) -> int:
        """Eight bytes, little-endian."""
        return self._number(_U64)

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        end = self.at + count
        if end > len(self.body):
            raise ProtocolError(f"{count} bytes announced, {self.left} left")
        piece = self.body[self.at : end]
        self.at = end
        return piece

    def text(self, characters: int) -> str:
        """UTF-16 text of so many code units; lone surrogates pass, as they do in nvarchar."""
        return self.take(characters * 2).decode("utf-16-le", "surrogatepass")

    def b_varchar(self) -> str:
        """Text with a length byte in front (B_VARCHAR)."""
        size = self.u8()
        return self.text(size) if size else ""

    def sized_byte(self) -> bytes:
        """Bytes with a length byte in front; the way most short values come."""
        at = self.at
        body = self.body
        if at >= len(body):
            raise ProtocolError("the message ends where a length was expected")
        end = at + 1 + body[at]
        if end > len(body):
            raise ProtocolError(f"{body[at]} bytes announced, {len(body) - at - 1} left")
        self.at = end
        return body[at + 1 : end]

    def us_varchar(self) -> str:
        """Text with a two-byte length in front (US_VARCHAR)."""
        return self.text(self.u16())
