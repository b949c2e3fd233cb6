"""LOGIN7: who connects, from where, to which database (MS-TDS 2.2.6.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from redial_broker.tds import constants as c
from redial_broker.tds.packets import ProtocolError

_FIXED = struct.Struct("<IIIIII4Bi4s")
_FIELD = struct.Struct("<HH")
_FIXED_BYTES = 94
_INTEGRATED, _CHANGE_PASSWORD, _EXTENSION = 0x80, 0x01, 0x10
_FEATURES_MAX = 64


@dataclass(frozen=True, slots=True)
class Login:
    """A decoded LOGIN7."""

    version: int
    """As sent, see ``constants.TDS_8_0``."""
    packet_size: int
    """0 for default."""
    client_pid: int
    host: str
    user: str
    password: str = field(repr=False)
    app: str
    server: str
    library: str
    language: str
    database: str
    integrated: bool = False
    """The client wants Windows authentication."""
    change_password: bool = False
    """It also sent a new one."""
    features: dict[int, bytes] = field(default_factory=dict)
    """Data of each feature extension by id."""

    @property
    def supported(self) -> bool:
        """True for TDS 7.2 and later, whose layouts are the only ones we write."""
        return self.version == c.TDS_8_0 or self.version >= c.TDS_7_2

    @property
    def answer_version(self) -> int:
        """The version LOGINACK names: the client's, but never above 7.4; 8.0 is echoed."""
        return self.version if self.version == c.TDS_8_0 else min(self.version, c.TDS_7_4)


def decode_password(data: bytes) -> str:
    """Undo the client's scrambling: XOR 0xA5, then swap the nibbles of each byte."""
    plain = bytes(((b ^ 0xA5) << 4 & 0xF0) | ((b ^ 0xA5) >> 4) for b in data)
    return plain.decode("utf-16-le", "surrogatepass")


def encode_password(password: str) -> bytes:
    """What a client sends for a password (used by tests)."""
    data = password.encode("utf-16-le")
    return bytes(((b << 4 & 0xF0) | (b >> 4)) ^ 0xA5 for b in data)


def decode_login(body: bytes) -> Login:
    """Decode a LOGIN7 body; ProtocolError when a length or an offset does not fit."""
    if len(body) < _FIXED_BYTES:
        raise ProtocolError(f"LOGIN7 of {len(body)} bytes")
    length, version, packet_size, _, pid, _, _, flags2, _, flags3, _, _ = _FIXED.unpack_from(body)
    if length != len(body):
        raise ProtocolError(f"LOGIN7 says {length} bytes and has {len(body)}")

    def raw(at: int, width: int = 2) -> bytes:
        start, count = _FIELD.unpack_from(body, at)
        if start + count * width > len(body):
            raise ProtocolError(f"LOGIN7 field at {at} leaves the message")
        return body[start : start + count * width]

    def text(at: int) -> str:
        return raw(at).decode("utf-16-le", "surrogatepass")

    return Login(
        version=version,
        packet_size=packet_size,
        client_pid=pid,
        host=text(36),
        user=text(40),
        password=decode_password(raw(44)),
        app=text(48),
        server=text(52),
        library=text(60),
        language=text(64),
        database=text(68),
        integrated=bool(flags2 & _INTEGRATED),
        change_password=bool(flags3 & _CHANGE_PASSWORD),
        features=_features(body, raw(56, 1)) if flags3 & _EXTENSION else {},
    )


def _features(body: bytes, pointer: bytes) -> dict[int, bytes]:
    # The extension field holds the offset of the feature list, not the list itself.
    if len(pointer) != 4:
        raise ProtocolError("LOGIN7 feature pointer")
    at = int.from_bytes(pointer, "little")
    features: dict[int, bytes] = {}
    while at < len(body) and body[at] != c.FEATURE_END:
        if at + 5 > len(body) or len(features) >= _FEATURES_MAX:
            raise ProtocolError("LOGIN7 feature list")
        size = int.from_bytes(body[at + 1 : at + 5], "little")
        if at + 5 + size > len(body):
            raise ProtocolError("LOGIN7 feature leaves the message")
        features[body[at]] = body[at + 5 : at + 5 + size]
        at += 5 + size
    if at >= len(body):
        raise ProtocolError("LOGIN7 feature list without end")
    return features
