from datetime import datetime
from decimal import Decimal

import pytest

from redial_broker.engine import types as t
from redial_broker.engine.types import Message, ResultColumn
from redial_broker.tds import constants as c
from redial_broker.tds import tokens


def test_done_is_thirteen_bytes():
    assert tokens.done(c.DONE, c.DONE_COUNT, 0xC1, 1) == bytes.fromhex(
        "fd 1000 c100 0100000000000000"
    )


def test_a_message_above_severity_10_is_an_error_and_else_information():
    error = tokens.message(Message(208, 16, 1, "x", "p", 3))
    assert error == bytes.fromhex(
        "aa 1e00 d0000000 01 10 0100 7800 06 520045004400490041004c00 01 7000 03000000"
    )
    assert tokens.message(Message(5701, 0, 2, "x"))[0] == c.INFO
    assert tokens.message(Message(50000, 10, 1, "x"))[0] == c.INFO


def test_old_clients_get_the_old_layout():
    data = tokens.failure(Message(60001, 20, 1, ""), old_layout=True)
    assert data[-9:] == bytes.fromhex("fd 0200 0000 00000000")
    assert data[-11:-9] == b"\x01\x00"


def test_a_very_long_text_is_cut_so_that_the_token_length_fits():
    data = tokens.message(Message(0, 0, 1, "x" * 40000))
    assert int.from_bytes(data[1:3], "little") == len(data) - 3


def test_environment_changes_have_the_documented_bytes():
    assert tokens.env_text(c.ENV_DATABASE, "a", "b") == bytes.fromhex("e3 0700 01 01 6100 01 6200")
    assert tokens.env_bytes(c.ENV_BEGIN, (7).to_bytes(8, "little"), b"") == bytes.fromhex(
        "e3 0b00 08 08 0700000000000000 00"
    )
    assert tokens.env_bytes(c.ENV_RESET, b"", b"") == bytes.fromhex("e3 0300 12 00 00")


def test_loginack_echoes_the_version_and_names_the_program():
    assert tokens.login_ack(0x74000004) == bytes.fromhex(
        "ad 3200 01 74000004 14"
    ) + "Microsoft SQL Server".encode("utf-16-le") + bytes.fromhex("10 00 10 04")


def test_feature_ack_ends_with_the_terminator():
    assert tokens.feature_ack({10: b"\x01"}) == bytes.fromhex("ae 0a 01000000 01 ff")


def test_metadata_of_one_int_column():
    data, encoders = tokens.column_metadata([ResultColumn("", t.INT)])
    assert data == bytes.fromhex("81 0100 00000000 0100 26 04 00")
    assert [encode(1) for encode in encoders] == [bytes.fromhex("04 01000000")]


@pytest.mark.parametrize(
    ("type_", "value", "info", "data"),
    [
        (t.INT, 1, "38", "01000000"),
        (t.BIGINT, -1, "7f", "ff" * 8),
        (t.SMALLINT, 2, "34", "0200"),
        (t.TINYINT, 255, "30", "ff"),
        (t.BIT, 1, "32", "01"),
        (t.BIT, False, "32", "00"),
        (t.FLOAT, 1.0, "3e", "000000000000f03f"),
        (t.REAL, 1.0, "3b", "0000803f"),
        (t.sql_type("money"), Decimal("-1"), "3c", "ffffffff f0d8ffff"),
        (t.sql_type("smallmoney"), Decimal("1"), "7a", "10270000"),
        (t.DATETIME, datetime(1900, 1, 2, 0, 0, 1), "3d", "01000000 2c010000"),
        (t.SMALLDATETIME, datetime(1900, 1, 2, 0, 1), "3a", "0100 0100"),
    ],
    ids=str,
)
def test_a_column_that_is_never_null_has_values_without_a_length(type_, value, info, data):
    """F-537; a NULL in it would be a defect, so it is told and not sent as something else."""
    head, (encode,) = tokens.column_metadata([ResultColumn("", type_, nullable=False)])
    assert head == bytes.fromhex(f"81 0100 00000000 0000 {info} 00")
    assert encode(value) == bytes.fromhex(data)
    with pytest.raises(Exception):
        encode(None)


def test_what_is_computed_is_marked():
    data, _ = tokens.column_metadata([ResultColumn("", t.INT, True, computed=True)])
    assert data == bytes.fromhex("81 0100 00000000 2100 26 04 00")


def test_metadata_flags_null_and_identity_and_marks_a_rowversion():
    columns = [ResultColumn("i", t.INT, True, True), ResultColumn("v", t.ROWVERSION, False)]
    data, _ = tokens.column_metadata(columns)
    assert data == bytes.fromhex(
        "81 0200 00000000 1100 26 04 01 6900  50000000 0000 ad 0800 01 7600"
    )


def test_text_columns_carry_a_table_name():
    data, _ = tokens.column_metadata([ResultColumn("x", t.sql_type("ntext"))])
    assert data.endswith(bytes.fromhex("0904d00034 01 0000 01 7800"))


def test_a_return_value_names_its_ordinal_and_type():
    assert tokens.return_value(0, "@h", t.INT, 5) == bytes.fromhex(
        "ac 0000 02 40006800 01 00000000 0000 26 04 04 05000000"
    )


def test_an_ntext_output_is_returned_as_nvarchar_max():
    assert bytes.fromhex("e7 ffff") in tokens.return_value(1, "", t.sql_type("ntext"), "a")


def test_a_type_no_column_can_have_is_an_error():
    with pytest.raises(KeyError, match="table"):
        tokens.column_metadata([ResultColumn("x", t.sql_type("table"))])
