"""Requests: SQLBATCH, RPC, transaction manager and bulk load bodies (MS-TDS 2.2.6).

Each ``decode_`` function takes a whole message body and returns the instance's request; they raise
ProtocolError for a broken message and NotSupported for what is valid but refused.
"""

from __future__ import annotations

from redial_broker.engine.errors import NotSupported
from redial_broker.engine.types import ResultColumn
from redial_broker.instance.requests import (
    TABLE,
    Batch,
    BulkLoad,
    Rpc,
    RpcBatch,
    RpcParam,
    TransactionRequest,
)
from redial_broker.tds import constants as c
from redial_broker.tds.decoders import TVP_TYPE, Read, read_type
from redial_broker.tds.packets import ProtocolError
from redial_broker.tds.reader import Reader
from redial_broker.tds.tvp import read_table

PROCEDURES = {
    1: "sp_cursor",
    2: "sp_cursoropen",
    3: "sp_cursorprepare",
    4: "sp_cursorexecute",
    5: "sp_cursorprepexec",
    6: "sp_cursorunprepare",
    7: "sp_cursorfetch",
    8: "sp_cursoroption",
    9: "sp_cursorclose",
    10: "sp_executesql",
    11: "sp_prepare",
    12: "sp_execute",
    13: "sp_prepexec",
    14: "sp_prepexecrpc",
    15: "sp_unprepare",
}
"""Well-known procedure ids (2.2.6.6)."""

_BY_ID = 0xFFFF
_NO_METADATA = 0x02
_OUTPUT, _DEFAULT, _ENCRYPTED = 0x01, 0x02, 0x08
_NEXT_OLD, _NO_EXECUTE, _NEXT = 0x80, 0xFE, 0xFF
_SEPARATORS = frozenset((_NEXT_OLD, _NO_EXECUTE, _NEXT))

ISOLATION = {
    0: None,
    1: "READ UNCOMMITTED",
    2: "READ COMMITTED",
    3: "REPEATABLE READ",
    4: "SERIALIZABLE",
    5: "SNAPSHOT",
}
_BEGIN, _COMMIT, _ROLLBACK, _SAVE = 5, 7, 8, 9
_BEGIN_AFTER = 0x01

_LONG_TYPES = frozenset({"text", "ntext", "image"})
_TIMESTAMP_BYTES = 8


def skip_headers(reader: Reader) -> None:
    """ALL_HEADERS (2.2.5.3): total length, then headers; none of them changes an answer."""
    start = reader.at
    total = reader.u32()
    if total < 4 or start + total > len(reader.body):
        raise ProtocolError(f"ALL_HEADERS of {total} bytes")
    end = start + total
    while reader.at < end:
        at = reader.at
        size = reader.u32()
        if size < 6 or at + size > end:
            raise ProtocolError(f"a header of {size} bytes")
        reader.at = at + size


def decode_batch(body: bytes) -> Batch:
    """SQLBATCH (2.2.6.7)."""
    reader = Reader(body)
    skip_headers(reader)
    if reader.left & 1:
        raise ProtocolError("SQLBATCH text of an odd number of bytes")
    return Batch(body[reader.at :].decode("utf-16-le", "surrogatepass"))


def decode_rpc(body: bytes) -> Rpc | RpcBatch:
    """RPC (2.2.6.6): one call, or an RpcBatch of several from one message."""
    reader = Reader(body)
    skip_headers(reader)
    first = _call(reader)
    if not reader.left:
        return first
    calls = [first]
    size = len(body)
    while reader.at < size:
        if reader.u8() == _NO_EXECUTE:
            raise NotSupported("an RPC message whose calls are marked not to be executed")
        if reader.at >= size:
            break  # a separator behind the last call
        calls.append(_call(reader))
        if len(calls) > c.CALLS_MAX:
            raise ProtocolError(f"more than {c.CALLS_MAX} calls in one message")
    return calls[0] if len(calls) == 1 else RpcBatch(calls)


def _call(reader: Reader) -> Rpc:
    size = reader.u16()
    if size == _BY_ID:
        number = reader.u16()
        name = PROCEDURES.get(number, "")
        if not name:
            raise NotSupported(f"system procedure number {number}")
    else:
        name = reader.text(size)
    flags = reader.u16()
    params = []
    body, end = reader.body, len(reader.body)
    while reader.at < end and body[reader.at] not in _SEPARATORS:
        params.append(_param(reader))
    return Rpc(name, params, bool(flags & _NO_METADATA))


def _param(reader: Reader) -> RpcParam:
    name = reader.b_varchar()
    flags = reader.u8()
    if flags & _ENCRYPTED:
        raise NotSupported("encrypted parameters (Always Encrypted)")
    if reader.left and reader.body[reader.at] == TVP_TYPE:
        reader.at += 1
        return RpcParam(name, TABLE, read_table(reader), False, bool(flags & _DEFAULT))
    wire = read_type(reader)
    value = wire.read(reader)
    return RpcParam(name, wire.sql, value, bool(flags & _OUTPUT), bool(flags & _DEFAULT))


def decode_transaction(body: bytes) -> TransactionRequest:
    """Transaction-manager request (2.2.6.9); distributed transactions are refused."""
    reader = Reader(body)
    skip_headers(reader)
    kind = reader.u16()
    if kind == _BEGIN:
        isolation = _isolation(reader)
        return TransactionRequest("begin", _name(reader), isolation)
    if kind in (_COMMIT, _ROLLBACK):
        word = "commit" if kind == _COMMIT else "rollback"
        name = _name(reader)
        if not (reader.left and reader.u8() & _BEGIN_AFTER):
            return TransactionRequest(word, name)
        isolation = _isolation(reader)
        return TransactionRequest(word, name, None, True, isolation, _name(reader))
    if kind == _SAVE:
        return TransactionRequest("save", _name(reader))
    raise NotSupported("distributed transactions (MSDTC)")


def _isolation(reader: Reader) -> str | None:
    level = reader.u8()
    if level not in ISOLATION:
        raise ProtocolError(f"isolation level {level}")
    return ISOLATION[level]


def _name(reader: Reader) -> str:
    # Its length counts bytes, not characters.
    size = reader.u8()
    if size & 1:
        raise ProtocolError("transaction name of an odd number of bytes")
    return reader.text(size // 2)


def decode_bulk_load(body: bytes) -> BulkLoad:
    """Bulk load (2.2.6.1): COLMETADATA, ROW and NBCROW tokens, DONE."""
    reader = Reader(body)
    if reader.u8() != c.COLMETADATA:
        raise ProtocolError("bulk load without column metadata")
    columns, reads = [], []
    for _ in range(reader.u16()):
        reader.u32()
        flags = reader.u16()
        wire = read_type(reader)
        long = wire.sql.name in _LONG_TYPES
        if long:
            for _ in range(reader.u8()):  # the parts of the name of its table
                reader.us_varchar()
        columns.append(ResultColumn(reader.b_varchar(), wire.sql, bool(flags & 1)))
        reads.append(_long_value(wire.read) if long else wire.read)
    return BulkLoad(columns, _bulk_rows(reader, reads))


def _long_value(read: Read) -> Read:
    """A text, ntext or image value of a row: behind a text pointer and a timestamp (2.2.5.2.2)."""

    def behind_pointer(reader: Reader) -> object:
        size = reader.u8()
        if not size:
            return None
        reader.take(size + _TIMESTAMP_BYTES)
        return read(reader)

    return behind_pointer


def _bulk_rows(reader: Reader, reads: list[Read]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    bitmap_bytes = (len(reads) + 7) // 8
    while reader.left:
        token = reader.u8()
        if token == c.ROW:
            rows.append(tuple([read(reader) for read in reads]))
        elif token == c.NBCROW:
            nulls = int.from_bytes(reader.take(bitmap_bytes), "little")
            rows.append(
                tuple(None if nulls >> i & 1 else read(reader) for i, read in enumerate(reads))
            )
        elif token == c.DONE:
            return rows
        else:
            raise ProtocolError(f"token {token:#x} in a bulk load")
    return rows
