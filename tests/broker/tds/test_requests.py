import contextlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine import types as t
from redial_broker.engine.errors import NotSupported
from redial_broker.engine.types import ResultColumn
from redial_broker.instance.requests import (
    TABLE,
    Batch,
    Rpc,
    RpcBatch,
    RpcParam,
    TableValue,
    TransactionRequest,
)
from redial_broker.tds.packets import ProtocolError
from redial_broker.tds.requests import (
    decode_batch,
    decode_bulk_load,
    decode_rpc,
    decode_transaction,
)
from redial_broker.tds.tokens import column_metadata

from .client import HEADERS, call, param


@given(st.text(alphabet=st.characters()))
def test_the_text_of_a_batch_arrives_unchanged(text):
    body = HEADERS + text.encode("utf-16-le", "surrogatepass")
    assert decode_batch(body).text.encode("utf-16-le", "surrogatepass") == body[22:]


@pytest.mark.parametrize(
    "body", ["", "0000", "03000000", "ff000000", "16000000 05000000", "04000000 41"]
)
def test_broken_headers_are_refused(body):
    with pytest.raises(ProtocolError):
        decode_batch(bytes.fromhex(body))


def test_a_batch_without_headers_inside_the_frame_is_plain_text():
    assert decode_batch(bytes.fromhex("04000000") + "GO".encode("utf-16-le")) == Batch("GO")


def test_a_call_by_name_keeps_names_types_values_and_flags():
    body = HEADERS + call(
        "dbo.usp_Send",
        param("a", t.nvarchar(4000), "@s"),
        param(None, t.VARBINARY_MAX),
        param(5, t.INT, "@o", flags=1),
        param(None, t.INT, "@d", flags=2),
        flags=2,
    )
    assert decode_rpc(body) == Rpc(
        "dbo.usp_Send",
        [
            RpcParam("@s", t.nvarchar(4000), "a"),
            RpcParam("", t.VARBINARY_MAX, None),
            RpcParam("@o", t.INT, 5, output=True),
            RpcParam("@d", t.INT, None, default=True),
        ],
        no_metadata=True,
    )


def test_a_call_by_number_gets_the_name_of_the_system_procedure():
    assert decode_rpc(HEADERS + call(13)).name == "sp_prepexec"
    assert decode_rpc(HEADERS + call(10)).name == "sp_executesql"


def test_an_unknown_number_is_refused_by_name():
    with pytest.raises(NotSupported, match="number 99"):
        decode_rpc(HEADERS + call(99))


def test_several_calls_in_one_message_are_told_apart():
    one = call(12, param(1, t.INT), param("x", t.nvarchar(10)))
    decoded = decode_rpc(HEADERS + b"\xff".join([one] * 3))
    assert isinstance(decoded, RpcBatch)
    assert [c.params[0].value for c in decoded.calls] == [1, 1, 1]


def test_a_separator_behind_the_last_call_changes_nothing():
    assert decode_rpc(HEADERS + call("p") + b"\xff") == Rpc("p", [])


def test_calls_not_to_be_executed_are_refused():
    with pytest.raises(NotSupported, match="not to be executed"):
        decode_rpc(HEADERS + call("p") + b"\xfe" + call("q"))


def test_encrypted_parameters_are_refused():
    with pytest.raises(NotSupported, match="Always Encrypted"):
        decode_rpc(HEADERS + call("p", param(1, t.INT, flags=8)))


def tvp(ordering=b"", flags=(1, 0), rows=b""):
    columns = b"".join(
        bytes.fromhex("00000000") + flag.to_bytes(2, "little") + info + b"\0"
        for flag, info in zip(flags, (b"\x26\x04", bytes.fromhex("e7 1400 0904d00034")))
    )
    names = b"\x00\x03d\0b\0o\0\x02T\0T\0"
    return b"\x00\x00\xf3" + names + b"\x02\x00" + columns + ordering + b"\x00" + rows + b"\x00"


ROW = bytes.fromhex("01 04 07000000 0200 6100")


def test_a_table_value_is_decoded_with_its_type_name_and_rows():
    value = decode_rpc(HEADERS + call("p", tvp(rows=ROW * 2))).params[0]
    columns = (ResultColumn("", t.INT), ResultColumn("", t.nvarchar(10), False))
    assert value.type is TABLE
    assert value.value == TableValue("dbo", "TT", columns, ((7, "a"), (7, "a")))


def test_columns_of_a_table_value_are_put_in_the_order_of_the_type():
    ordering = bytes.fromhex("11 0200 0200 0100")
    value = decode_rpc(HEADERS + call("p", tvp(ordering, rows=ROW))).params[0].value
    assert value.rows == (("a", 7),)
    assert [column.type for column in value.columns] == [t.nvarchar(10), t.INT]


def test_default_columns_of_a_table_value_carry_no_data():
    row = bytes.fromhex("01 0200 6100")
    value = decode_rpc(HEADERS + call("p", tvp(flags=(0x200, 0), rows=row))).params[0].value
    assert value.rows == ((None, "a"),)
    assert value.defaults == frozenset({0})


def test_a_table_value_without_columns_is_empty():
    names = b"\x00\x03d\0b\0o\0\x02T\0T\0"
    body = HEADERS + call("p", b"\x00\x00\xf3" + names + b"\xff\xff\x00\x00")
    assert decode_rpc(body).params[0].value == TableValue("dbo", "TT")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("0500 00 00", TransactionRequest("begin")),
        ("0500 04 00", TransactionRequest("begin", "", "SERIALIZABLE")),
        ("0500 05 04 61006200", TransactionRequest("begin", "ab", "SNAPSHOT")),
        ("0700 00 00", TransactionRequest("commit")),
        ("0700 00 01 00 00", TransactionRequest("commit", "", None, True)),
        ("0800 00 01 02 00", TransactionRequest("rollback", "", None, True, "READ COMMITTED")),
        ("0800 04 73003100 00", TransactionRequest("rollback", "s1")),
        ("0900 04 73003100", TransactionRequest("save", "s1")),
    ],
)
def test_transaction_requests_are_decoded(payload, expected):
    assert decode_transaction(HEADERS + bytes.fromhex(payload)) == expected


@pytest.mark.parametrize("kind", ["0000", "0100", "0600"])
def test_distributed_transactions_are_refused(kind):
    with pytest.raises(NotSupported, match="MSDTC"):
        decode_transaction(HEADERS + bytes.fromhex(kind))


def test_an_unknown_isolation_level_is_refused():
    with pytest.raises(ProtocolError, match="isolation level 9"):
        decode_transaction(HEADERS + bytes.fromhex("0500 09 00"))


def test_bulk_rows_arrive_with_and_without_null_bitmap():
    columns = [ResultColumn("id", t.INT), ResultColumn("d", t.decimal_type(9, 2))]
    head, encoders = column_metadata(columns)
    row = b"\xd1" + encoders[0](1) + encoders[1](Decimal("2.50"))
    sparse = b"\xd2\x02" + encoders[0](2)
    load = decode_bulk_load(head + row + sparse + bytes.fromhex("fd 0000 0000 0000000000000000"))
    assert load.columns == columns
    assert load.rows == [(1, Decimal("2.50")), (2, None)]


def test_long_bulk_values_stand_behind_a_text_pointer():
    head = bytes.fromhex("81 0100 00000000 0100 63 ffffff7f 0904d00034 01 0100 7400 01 7600")
    row = bytes.fromhex("d1 10") + bytes(24) + bytes.fromhex("04000000 6100 6200")
    null = bytes.fromhex("d1 00")
    load = decode_bulk_load(head + row + null + bytes.fromhex("fd 0000 0000 0000000000000000"))
    assert [column.name for column in load.columns] == ["v"]
    assert load.rows == [("ab",), (None,)]


@given(st.binary(max_size=200), st.sampled_from([decode_batch, decode_rpc, decode_transaction]))
def test_random_bodies_are_decoded_or_refused(data, decode):
    with contextlib.suppress(ProtocolError, NotSupported, ValueError, OverflowError):
        decode(HEADERS + data)
