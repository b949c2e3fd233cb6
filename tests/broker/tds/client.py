"""The client's side of the wire, as small as the tests need it: build messages, read replies."""

from __future__ import annotations

import struct
from typing import NamedTuple

from redial_broker.tds import constants as c
from redial_broker.tds.connection import Connection
from redial_broker.tds.encoders import column_codec
from redial_broker.tds.login7 import encode_password
from redial_broker.tds.packets import PacketReader, frame
from redial_broker.tds.prelogin import ENCRYPTION, VERSION, encode_prelogin

HEADERS = bytes.fromhex("16000000 12000000 0200 0000000000000000 01000000")


def prelogin(encryption: int = 2) -> bytes:
    body = encode_prelogin({VERSION: bytes(6), ENCRYPTION: bytes([encryption])})
    return frame(c.PRELOGIN, body, 4096)


def login_body(
    user="sa",
    password="Null-1-Instance",
    database="",
    version=c.TDS_7_4,
    packet_size=4096,
    features=b"",
    flags2=0x03,
    flags3=0,
    app="test",
) -> bytes:
    flags3 |= 0x10 if features else 0
    values = {
        36: "host",
        40: user,
        44: encode_password(password),
        48: app,
        52: "server",
        56: b"",
        60: "library",
        64: "",
        68: database,
    }
    head = bytearray(94)
    data = bytearray()
    for at, value in values.items():
        raw = value.encode("utf-16-le") if isinstance(value, str) else value
        struct.pack_into("<HH", head, at, 94 + len(data), len(raw) // 2)
        data += raw
    if features:
        struct.pack_into("<HH", head, 56, 94 + len(data), 4)
        data += struct.pack("<I", 94 + len(data) + 4) + features + b"\xff"
    struct.pack_into(
        "<IIIIII4B",
        head,
        0,
        94 + len(data),
        version,
        packet_size,
        7,
        4711,
        0,
        0xE0,
        flags2,
        0,
        flags3,
    )
    return bytes(head + data)


def login(**fields) -> bytes:
    return frame(c.LOGIN7, login_body(**fields), 4096)


def batch(text: str, status: int = 0) -> bytes:
    return message(c.SQL_BATCH, HEADERS + text.encode("utf-16-le"), status)


def message(kind: int, body: bytes, status: int = 0, packet_size: int = 4096) -> bytes:
    data = bytearray(frame(kind, body, packet_size))
    data[1] |= status
    return bytes(data)


def param(value, type_, name="", flags=0) -> bytes:
    codec = column_codec(type_)
    raw = name.encode("utf-16-le")
    return bytes([len(name)]) + raw + bytes([flags]) + codec.type_info + codec.encode(value)


def call(name, *params: bytes, flags=0) -> bytes:
    if isinstance(name, int):
        head = struct.pack("<HH", 0xFFFF, name)
    else:
        head = struct.pack("<H", len(name)) + name.encode("utf-16-le")
    return head + struct.pack("<H", flags) + b"".join(params)


def rpc(*calls: bytes, status: int = 0) -> bytes:
    return message(c.RPC, HEADERS + b"\xff".join(calls), status)


def attention() -> bytes:
    return frame(c.ATTENTION, b"", 4096)


def transaction(payload: bytes) -> bytes:
    return message(c.TRANSACTION_MANAGER, HEADERS + payload)


class Done(NamedTuple):
    token: int
    status: int
    command: int
    rows: int


class Error(NamedTuple):
    number: int
    state: int
    severity: int
    text: str
    procedure: str
    line: int


class Env(NamedTuple):
    kind: int
    data: bytes


class Status(NamedTuple):
    value: int


def replies(data: bytes) -> list[bytes]:
    """Bodies of the messages in what a server sent."""
    reader = PacketReader(1 << 30)
    reader.feed(data)
    bodies = []
    while (incoming := reader.next()) is not None:
        bodies.append(incoming.body)
    assert not reader.rest(), "a reply ends inside a packet"
    return bodies


def parse(body: bytes) -> list:
    """Tokens of a reply without result sets, as named tuples; everything else as bytes."""
    out: list = []
    at = 0
    while at < len(body):
        token = body[at]
        if token in (c.DONE, c.DONEPROC, c.DONEINPROC):
            out.append(Done(*struct.unpack_from("<BHHQ", body, at)))
            at += 13
        elif token == c.RETURNSTATUS:
            out.append(Status(struct.unpack_from("<i", body, at + 1)[0]))
            at += 5
        elif token in (c.ERROR, c.INFO, c.ENVCHANGE, c.LOGINACK):
            size = struct.unpack_from("<H", body, at + 1)[0]
            piece = body[at + 3 : at + 3 + size]
            at += 3 + size
            if token in (c.ERROR, c.INFO):
                out.append(_message(piece))
            elif token == c.ENVCHANGE:
                out.append(Env(piece[0], piece[1:]))
            else:
                out.append(piece)
        else:
            out.append(body[at:])
            break
    return out


def _message(piece: bytes) -> Error:
    number, state, severity = struct.unpack_from("<iBB", piece)
    at = 6
    texts = []
    for width, layout in ((2, "<H"), (1, "<B"), (1, "<B")):
        count = struct.unpack_from(layout, piece, at)[0]
        at += width
        texts.append(piece[at : at + 2 * count].decode("utf-16-le"))
        at += 2 * count
    (line,) = struct.unpack_from("<i", piece, at)
    return Error(number, state, severity, texts[0], texts[2], line)


class Wire:
    """A Connection without a socket: send bytes, let the instance run, get the reply's tokens."""

    def __init__(self, instance, tls=None, logged_in=True, **login_fields):
        self.instance = instance
        self.connection = Connection(instance, tls)
        if logged_in:
            self.send(prelogin())
            self.send(login(**login_fields))
            assert self.connection.established

    @property
    def session(self):
        return self.connection.session

    def send(self, data: bytes, pump: bool = True) -> list[bytes]:
        self.connection.receive(data)
        return self.pump() if pump else self.output()

    def pump(self) -> list[bytes]:
        while True:
            more = self.instance.pump()
            if not self.connection.resume() and not more:
                return self.output()

    def output(self) -> list[bytes]:
        return replies(self.connection.take_output())

    def tokens(self, data: bytes) -> list:
        (body,) = self.send(data)
        return parse(body)
