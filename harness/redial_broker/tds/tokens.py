"""Encoders of the tokens a server sends (MS-TDS 2.2.7)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from redial_broker.engine.types import Message, ResultColumn, SqlType, sql_type
from redial_broker.tds import constants as c
from redial_broker.tds.encoders import Encode, column_codec, whole_codec

_DONE, _DONE_OLD = struct.Struct("<BHHQ"), struct.Struct("<BHHI")
_MESSAGE_HEAD = struct.Struct("<iBB")
_U16, _I32, _STATUS = struct.Struct("<H"), struct.Struct("<i"), struct.Struct("<Bi")
_COLUMN = struct.Struct("<IH")
_ENV_BEGUN, _ENV_ENDED = struct.Struct("<BHBBQB"), struct.Struct("<BHBBBQ")
_TEXT_MAX = 8000
"""Characters of a message: the token's length is two bytes, and PRINT ends here as well."""

_UPDATABLE_UNKNOWN = 0x08
_NAME_MAX = 255
_LARGE_OUTPUT = {"text": "varchar", "ntext": "nvarchar", "image": "varbinary"}


def b_varchar(text: str) -> bytes:
    """Text with a length byte (in UTF-16 units) in front, cut where the byte ends."""
    data = text.encode("utf-16-le", "surrogatepass")[: _NAME_MAX * 2]
    return bytes([len(data) // 2]) + data


def us_varchar(text: str) -> bytes:
    """Text with a two-byte length in front."""
    data = text.encode("utf-16-le", "surrogatepass")[: _TEXT_MAX * 2]
    return _U16.pack(len(data) // 2) + data


def _with_length(token: int, body: bytes) -> bytes:
    return bytes([token]) + _U16.pack(len(body)) + body


def done(token: int, status: int, command: int = 0, rows: int = 0) -> bytes:
    """DONE, DONEPROC or DONEINPROC (2.2.7.6 to 2.2.7.8)."""
    return _DONE.pack(token, status, command, rows)


def message(msg: Message, *, old_layout: bool = False) -> bytes:
    """ERROR or INFO, by severity (2.2.7.10, 2.2.7.13); old_layout: below TDS 7.2."""
    line = _U16.pack(msg.line & 0xFFFF) if old_layout else _I32.pack(msg.line)
    body = (
        _MESSAGE_HEAD.pack(msg.number, msg.state & 0xFF, msg.severity)
        + us_varchar(msg.text)
        + b_varchar(c.SERVER_NAME)
        + b_varchar(msg.procedure)
        + line
    )
    return _with_length(c.ERROR if msg.severity > 10 else c.INFO, body)


def failure(msg: Message, *, old_layout: bool = False) -> bytes:
    """An ERROR and the DONE behind it: the whole reply to a request that cannot even start."""
    layout = _DONE_OLD if old_layout else _DONE
    return message(msg, old_layout=old_layout) + layout.pack(c.DONE, c.DONE_ERROR, 0, 0)


def env_text(kind: int, new: str, old: str) -> bytes:
    """ENVCHANGE of a name or a number as text: database, language, packet size."""
    return _with_length(c.ENVCHANGE, bytes([kind]) + b_varchar(new) + b_varchar(old))


def env_bytes(kind: int, new: bytes, old: bytes) -> bytes:
    """ENVCHANGE of bytes: collation, transactions, reset."""
    body = bytes([kind, len(new)]) + new + bytes([len(old)]) + old
    return _with_length(c.ENVCHANGE, body)


def env_transaction(kind: int, new: int, old: int) -> bytes:
    """ENVCHANGE of a transaction: its descriptor begins (new) or ends (old); the other is 0."""
    if new:
        return _ENV_BEGUN.pack(c.ENVCHANGE, 11, kind, 8, new, 0)
    return _ENV_ENDED.pack(c.ENVCHANGE, 11, kind, 0, 8, old)


def login_ack(version: int) -> bytes:
    """LOGINACK: interface 1 (T-SQL), TDS version big-endian, program name and version."""
    major, minor, build = c.PROGRAM_VERSION
    body = (
        b"\x01"
        + version.to_bytes(4, "big")
        + b_varchar(c.PROGRAM_NAME)
        + struct.pack(">BBH", major, minor, build)
    )
    return _with_length(c.LOGINACK, body)


def feature_ack(features: dict[int, bytes]) -> bytes:
    """FEATUREEXTACK for what is supported (2.2.7.11)."""
    out = bytearray([c.FEATUREEXTACK])
    for feature, data in features.items():
        out.append(feature)
        out += _I32.pack(len(data)) + data
    out.append(c.FEATURE_END)
    return bytes(out)


def return_status(value: int) -> bytes:
    """RETURNSTATUS: a procedure's return code."""
    return _STATUS.pack(c.RETURNSTATUS, value)


def return_value(ordinal: int, name: str, type_: SqlType, value: object) -> bytes:
    """RETURNVALUE: an OUTPUT parameter's final value (2.2.7.19)."""
    head, encode = _return_head(ordinal, name, type_)
    return head + encode(value)


@lru_cache(maxsize=1024)
def _return_head(ordinal: int, name: str, type_: SqlType) -> tuple[bytes, Encode]:
    if type_.name in _LARGE_OUTPUT:  # text, ntext and image cannot be returned as such
        type_ = sql_type(_LARGE_OUTPUT[type_.name], -1)
    codec = column_codec(type_)
    head = bytes([c.RETURNVALUE]) + _U16.pack(ordinal) + b_varchar(name) + b"\x01"
    return head + _COLUMN.pack(codec.user_type, 0) + codec.type_info, codec.encode


def column_metadata(columns: Sequence[ResultColumn]) -> tuple[bytes, list[Encode]]:
    """COLMETADATA and the encoders of a row's values (2.2.7.4); KeyError for a wrong type."""
    out = bytearray(bytes([c.COLMETADATA]) + _U16.pack(len(columns)))
    encoders = []
    for column in columns:
        codec = column_codec(column.type) if column.nullable else whole_codec(column.type)
        flags = c.COLUMN_NULLABLE if column.nullable else 0
        if column.identity:
            flags |= c.COLUMN_IDENTITY
        if column.stored:
            flags |= _UPDATABLE_UNKNOWN  # 0 says read-only: JDBC keeps such columns out of a load
        if column.computed:
            flags |= c.COLUMN_COMPUTED
        out += _COLUMN.pack(codec.user_type, flags) + codec.type_info
        if codec.table_name:
            out += b"\x01" + us_varchar("")
        out += b_varchar(column.name)
        encoders.append(codec.encode)
    return bytes(out), encoders
