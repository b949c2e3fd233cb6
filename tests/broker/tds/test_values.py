"""Values of every type go out and come back unchanged, and have the documented bytes."""

import contextlib
import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine import types as t
from redial_broker.engine.errors import NotSupported
from redial_broker.engine.seventh_digit import fine
from redial_broker.engine.types import Variant
from redial_broker.tds.decoders import read_type
from redial_broker.tds.encoders import column_codec
from redial_broker.tds.packets import ProtocolError
from redial_broker.tds.reader import Reader
from redial_broker.tds.scalars import decode_ansi, encode_ansi

TEXT = st.text(alphabet=st.characters(), max_size=60)
MOMENTS = st.datetimes(datetime.datetime(1753, 1, 1), datetime.datetime(9999, 12, 31))


def there_and_back(type_, value):
    codec = column_codec(type_)
    # Row data of text types carries a pointer that parameters do not have.
    data = codec.encode(value)
    reader = Reader(codec.type_info + data)
    wire = read_type(reader)
    back = wire.read(reader)
    assert reader.left == 0
    return wire.sql, back


def decimals(precision, scale):
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(
        lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale))
    )


CASES = [
    (t.TINYINT, st.integers(0, 255)),
    (t.SMALLINT, st.integers(-(2**15), 2**15 - 1)),
    (t.INT, st.integers(-(2**31), 2**31 - 1)),
    (t.BIGINT, st.integers(-(2**63), 2**63 - 1)),
    (t.BIT, st.integers(0, 1)),
    (t.FLOAT, st.floats(allow_nan=False)),
    (t.REAL, st.floats(width=32, allow_nan=False)),
    (t.decimal_type(38, 10), decimals(38, 10)),
    (t.decimal_type(9, 0), decimals(9, 0)),
    (t.sql_type("numeric", 0, 28, 28), decimals(28, 28)),
    (t.sql_type("money"), decimals(18, 4)),
    (t.sql_type("smallmoney"), decimals(9, 4)),
    (t.UNIQUEIDENTIFIER, st.uuids().map(lambda u: str(u).upper())),
    (t.nvarchar(120), TEXT),
    (t.NVARCHAR_MAX, TEXT),
    (t.XML, TEXT.filter(lambda s: not s.startswith("\ufeff"))),
    (t.varchar(200), st.text(alphabet=[chr(i) for i in range(128)] + list("üß€\x81\x9d"))),
    (t.VARBINARY_MAX, st.binary(max_size=200)),
    (t.varbinary(200), st.binary(max_size=200)),
    (t.sql_type("binary", 3), st.binary(min_size=3, max_size=3)),
    (t.DATE, st.dates()),
    (t.TIME, st.times()),
    (t.DATETIME2, st.datetimes()),
    (t.DATETIME2, st.builds(fine, st.datetimes(), st.integers(0, 9))),
    (t.TIME, st.builds(fine, st.times(), st.integers(0, 9))),
    (
        t.DATETIMEOFFSET,
        st.builds(
            lambda m, seventh: fine(m.replace(tzinfo=datetime.UTC), seventh),
            MOMENTS,
            st.integers(0, 9),
        ),
    ),
    (
        t.sql_type("datetime2", scale=3),
        MOMENTS.map(lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000)),
    ),
    (
        t.SMALLDATETIME,
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2079, 6, 6)).map(
            lambda m: m.replace(second=0, microsecond=0)
        ),
    ),
    (
        t.DATETIMEOFFSET,
        st.builds(
            lambda m, minutes: m.replace(
                tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes))
            ),
            MOMENTS.filter(lambda m: m.year < 9999),
            st.integers(-840, 840),
        ),
    ),
]


@pytest.mark.parametrize(("type_", "values"), CASES, ids=lambda c: str(c)[:30])
@given(data=st.data())
def test_a_value_survives_the_round_trip_with_its_type(type_, values, data):
    value = data.draw(values)
    assert there_and_back(type_, value) == (type_, value)


@pytest.mark.parametrize("type_", [type_ for type_, _ in CASES] + [t.SQL_VARIANT], ids=str)
def test_null_survives_the_round_trip(type_):
    assert there_and_back(type_, None)[1] is None


@given(
    st.one_of(
        st.builds(Variant, st.just(t.INT), st.integers(-9, 9)),
        st.builds(Variant, st.just(t.BIT), st.integers(0, 1)),
        st.builds(Variant, st.just(t.decimal_type(38, 4)), decimals(38, 4)),
        st.builds(Variant, st.just(t.nvarchar(60)), TEXT.filter(lambda s: len(s) < 30)),
        st.builds(Variant, st.just(t.varbinary(50)), st.binary(max_size=50)),
        st.builds(Variant, st.just(t.DATETIME2), MOMENTS),
        st.builds(Variant, st.just(t.UNIQUEIDENTIFIER), st.uuids().map(lambda u: str(u).upper())),
    )
)
def test_a_variant_keeps_the_type_it_was_stored_as(variant):
    assert there_and_back(t.SQL_VARIANT, variant) == (t.SQL_VARIANT, variant)


@pytest.mark.parametrize(
    ("type_", "value", "info", "data"),
    [
        (t.INT, 1, "26 04", "04 01000000"),
        (t.BIT, 0, "68 01", "01 00"),
        (t.nvarchar(3), "ab", "e7 0600 0904d00034", "0400 6100 6200"),
        (t.nvarchar(3), None, "e7 0600 0904d00034", "ffff"),
        (t.NVARCHAR_MAX, "a", "e7 ffff 0904d00034", "0200000000000000 02000000 6100 00000000"),
        (t.NVARCHAR_MAX, "", "e7 ffff 0904d00034", "0000000000000000 00000000"),
        (t.VARBINARY_MAX, None, "a5 ffff", "ffffffffffffffff"),
        (t.varchar(5), "€", "a7 0500 0904d00034", "0100 80"),
        (t.decimal_type(9, 2), Decimal("-1.5"), "6a 05 09 02", "05 00 96000000"),
        (t.sql_type("money"), Decimal("1"), "6e 08", "08 00000000 10270000"),
        (t.DATETIME, datetime.datetime(1900, 1, 2, 0, 0, 1), "6f 08", "08 01000000 2c010000"),
        (t.DATE, datetime.date(1, 1, 2), "28", "03 010000"),
        (t.sql_type("time", scale=0), datetime.time(0, 1), "29 00", "03 3c0000"),
        (t.TIME, fine(datetime.time(), 7), "29 07", "05 0700000000"),
        (t.sql_type("time", scale=6), fine(datetime.time(), 7), "29 06", "05 0000000000"),
        (t.ROWVERSION, bytes(8), "ad 0800", "0800 0000000000000000"),
        (
            t.UNIQUEIDENTIFIER,
            "00112233-4455-6677-8899-AABBCCDDEEFF",
            "24 10",
            "10 33221100 5544 7766 8899 aabbccddeeff",
        ),
        (t.SQL_VARIANT, Variant(t.INT, 5), "62 491f0000", "06000000 38 00 05000000"),
        (t.XML, "<a/>", "f1 00", "0800000000000000 08000000 3c0061002f003e00 00000000"),
    ],
)
def test_the_bytes_are_those_of_the_specification(type_, value, info, data):
    codec = column_codec(type_)
    assert codec.type_info == bytes.fromhex(info)
    assert codec.encode(value) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("us", "ticks"), [(0, 0), (3_000, 1), (123_000, 37), (997_000, 299), (998_400, 300)]
)
def test_datetime_counts_in_three_hundredths_of_a_second(us, ticks):
    moment = datetime.datetime(1900, 1, 1) + datetime.timedelta(microseconds=us)
    assert column_codec(t.DATETIME).encode(moment)[5:] == ticks.to_bytes(4, "little")


def test_the_last_moment_of_a_day_rounds_into_the_next():
    moment = datetime.datetime(2024, 1, 1, 23, 59, 59, 999_000)
    assert there_and_back(t.DATETIME, moment)[1] == datetime.datetime(2024, 1, 2)


@pytest.mark.parametrize("last", [0, 3, 7])
def test_milliseconds_of_a_datetime_end_in_0_3_or_7(last):
    moment = datetime.datetime(2024, 1, 1, 5, 6, 7, 120_000 + last * 1000)
    assert there_and_back(t.DATETIME, moment)[1] == moment


def test_every_byte_of_code_page_1252_survives():
    data = bytes(range(256))
    assert encode_ansi(decode_ansi(data)) == data


def test_a_character_outside_the_code_page_becomes_a_question_mark():
    assert encode_ansi("a\u0416b\x80") == b"a?b?"


def test_a_utf8_collation_is_honoured():
    body = bytes.fromhex("a7 0a00 0904d00434 0200") + "ü".encode()
    reader = Reader(body)
    assert read_type(reader).read(reader) == "ü"


def test_a_value_longer_than_its_column_is_not_sent():
    with pytest.raises(ValueError, match="6 bytes in a column of 4"):
        column_codec(t.nvarchar(2)).encode("abc")


def test_a_plp_value_may_come_in_chunks_of_unknown_total():
    body = bytes.fromhex("a5 ffff feffffffffffffff 02000000 0102 01000000 03 00000000")
    reader = Reader(body)
    assert read_type(reader).read(reader) == b"\x01\x02\x03"


@pytest.mark.parametrize(
    "body", ["26 03 00", "6a 11 27 00 00", "29 08 00", "99", "26 04 08 00", "e7 08", "f3"]
)
def test_broken_types_and_values_are_refused(body):
    reader = Reader(bytes.fromhex(body))
    with pytest.raises(ProtocolError):
        read_type(reader).read(reader)


def test_a_null_guid_may_have_no_length_at_all():
    """JDBC declares it with length 0 (MS-TDS 2.2.5.4.2: 16 for a value, 0 for NULL)."""
    wire = read_type(reader := Reader(b"\x24\x00\x00"))
    assert (wire.sql.name, wire.read(reader)) == ("uniqueidentifier", None)


def test_clr_types_are_refused_by_name():
    with pytest.raises(NotSupported, match="CLR"):
        read_type(Reader(b"\xf0"))


@given(st.binary(max_size=80))
def test_random_bytes_are_a_value_or_a_refusal(data):
    reader = Reader(data)
    with contextlib.suppress(ProtocolError, NotSupported, ValueError, OverflowError):
        read_type(reader).read(reader)
