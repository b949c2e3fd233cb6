"""Packets: framing and reassembly of messages (MS-TDS 2.2.3.1).

Header: type u8, status u8, length u16 big-endian with the 8 header bytes, spid u16, id u8, window.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from redial_broker.tds import constants as c

_HEADER = struct.Struct(">BBHHBB")


class ProtocolError(Exception):
    """The client's bytes break the protocol; the text says where, the connection must end."""


class Incoming(NamedTuple):
    """A whole message: packet type, status bits of its first packet, body without headers."""

    kind: int
    status: int
    body: bytes
    ignored: bool = False
    """The client withdrew the message instead of finishing it; the body is then empty."""


class PacketReader:
    """Turns any split of the byte stream into messages.

    limit: largest message in bytes. ``single``: hand out packets one by one, as the TLS handshake
    needs it, since a TLS record may end anywhere in a packet.
    """

    def __init__(self, limit: int = c.LOGIN_MAX_BYTES) -> None:
        self.limit = limit
        self.single = False
        self._data = b""
        self._at = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._kind = -1
        self._status = 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they came from the transport."""
        if self._at < len(self._data):
            self._data = self._data[self._at :] + data
        else:
            self._data = data
        self._at = 0

    def rest(self) -> bytes:
        """Give up and return the bytes not yet parsed (raw TLS follows the last handshake)."""
        left = self._data[self._at :]
        self._data, self._at = b"", 0
        return left

    def next(self) -> Incoming | None:
        """The next whole message, None when more bytes are needed; ProtocolError on a bad one."""
        data = self._data
        while True:
            at = self._at
            if len(data) - at < c.PACKET_HEADER:
                return None
            length = data[at + 2] << 8 | data[at + 3]
            if not c.PACKET_HEADER <= length <= c.PACKET_MAX:
                raise ProtocolError(f"packet length {length}")
            if len(data) - at < length:
                return None
            self._at = at + length
            body = data[at + c.PACKET_HEADER : at + length]
            kind, status = data[at], data[at + 1]
            # Most requests are one packet: no lists, no joins.
            if self._kind < 0 and (status & c.EOM or self.single):
                self._check(len(body))
                ignored = bool(status & c.IGNORE)
                return Incoming(kind, status, b"" if ignored else body, ignored)
            message = self._append(kind, status, body)
            if message is not None:
                return message

    def _append(self, kind: int, status: int, body: bytes) -> Incoming | None:
        if self._kind < 0:
            self._kind, self._status = kind, status
        elif kind != self._kind:
            raise ProtocolError(f"packet type {kind:#x} inside a message of type {self._kind:#x}")
        self._size += len(body)
        self._check(self._size)
        self._parts.append(body)
        if len(self._parts) > c.MESSAGE_MAX_PACKETS:
            raise ProtocolError(f"a message of more than {c.MESSAGE_MAX_PACKETS} packets")
        if not status & c.EOM:
            return None
        ignored = bool(status & c.IGNORE)
        whole = b"" if ignored else b"".join(self._parts)
        message = Incoming(self._kind, self._status, whole, ignored)
        self._parts, self._size, self._kind = [], 0, -1
        return message

    def _check(self, size: int) -> None:
        if size > self.limit:
            raise ProtocolError(f"a message of more than {self.limit} bytes")


def frame(
    kind: int,
    payload: bytes | bytearray | memoryview,
    packet_size: int,
    spid: int = 0,
    *,
    first_id: int = 1,
    last: bool = True,
) -> bytes:
    """Cut ``payload`` into packets of at most ``packet_size`` bytes.

    With ``last`` the final packet carries EOM; without it the payload must be a whole number of
    bodies, and the message goes on with packet id ``first_id`` + number of packets.
    """
    room = packet_size - c.PACKET_HEADER
    size = len(payload)
    if size <= room:
        header = _HEADER.pack(kind, c.EOM if last else 0, size + 8, spid, first_id & 255, 0)
        return header + payload
    out = bytearray()
    packet_id = first_id
    for start in range(0, size, room):
        body = payload[start : start + room]
        end = c.EOM if last and start + room >= size else 0
        out += _HEADER.pack(kind, end, len(body) + 8, spid, packet_id & 255, 0)
        out += body
        packet_id += 1
    return bytes(out)
