"""PRELOGIN: version, encryption and options before the login (MS-TDS 2.2.6.5)."""

from __future__ import annotations

import struct

from redial_broker.tds import constants as c
from redial_broker.tds.packets import ProtocolError

VERSION, ENCRYPTION, INSTANCE, THREAD_ID, MARS = range(5)
TERMINATOR = 0xFF
ENCRYPT_OFF, ENCRYPT_ON, ENCRYPT_NOT_SUPPORTED, ENCRYPT_REQUIRED = range(4)

_OPTION = struct.Struct(">BHH")
_OPTIONS_MAX = 32


def decode_prelogin(body: bytes) -> dict[int, bytes]:
    """Options by id; ProtocolError when the table or an offset leaves the message."""
    options: dict[int, bytes] = {}
    at = 0
    while True:
        if at >= len(body):
            raise ProtocolError("PRELOGIN without terminator")
        if body[at] == TERMINATOR:
            return options
        if at + _OPTION.size > len(body) or len(options) >= _OPTIONS_MAX:
            raise ProtocolError("PRELOGIN option table")
        option, start, length = _OPTION.unpack_from(body, at)
        if start + length > len(body):
            raise ProtocolError(f"PRELOGIN option {option} outside the message")
        options[option] = body[start : start + length]
        at += _OPTION.size


def encode_prelogin(options: dict[int, bytes]) -> bytes:
    """The option table and the values behind it, in the order given."""
    table, values = bytearray(), bytearray()
    start = _OPTION.size * len(options) + 1
    for option, value in options.items():
        table += _OPTION.pack(option, start + len(values), len(value))
        values += value
    return bytes(table) + bytes([TERMINATOR]) + bytes(values)


def client_encryption(options: dict[int, bytes]) -> int:
    """What the client asked for; the upper bits (client certificate) are not ours."""
    value = options.get(ENCRYPTION, b"")
    return value[0] & 0x0F if value else ENCRYPT_NOT_SUPPORTED


def server_encryption(client: int, tls_available: bool) -> int:
    """The answer. Never "required" to a client without TLS: ODBC Driver 18 would then verify.

    off -> off (TLS around LOGIN7 only), on or required -> on, not supported -> not supported.
    """
    if not tls_available:
        return ENCRYPT_NOT_SUPPORTED
    return {
        ENCRYPT_OFF: ENCRYPT_OFF,
        ENCRYPT_ON: ENCRYPT_ON,
        ENCRYPT_REQUIRED: ENCRYPT_ON,
    }.get(client, ENCRYPT_NOT_SUPPORTED)


def answer(encryption: int) -> bytes:
    """The server's PRELOGIN; MARS is refused (0), so one connection runs one request."""
    major, minor, build = c.PROGRAM_VERSION
    return encode_prelogin(
        {
            VERSION: struct.pack(">BBHH", major, minor, build, 0),
            ENCRYPTION: bytes([encryption]),
            INSTANCE: b"\0",
            THREAD_ID: b"",
            MARS: b"\0",
        }
    )
