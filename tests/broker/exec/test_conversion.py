"""CAST, CONVERT and assignments between types; those of dates and times have a file of their own."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine import types as t
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import Variant, sql_type
from redial_broker.exec.conversion import (
    common_type,
    compile_assignment_conversion,
    explicit_conversion,
)
from redial_broker.exec.conversion.numbers import BOUNDS
from redial_broker.exec.conversion.rules import UNTYPED

from .convert import WHEN, convert, error_of

MONEY = sql_type("money")


INTEGERS = [t.TINYINT, t.SMALLINT, t.INT, t.BIGINT]


@given(of=st.sampled_from(INTEGERS), data=st.data())
def test_integers_survive_text_and_bytes(of, data):
    value = data.draw(st.integers(*BOUNDS[of.name]))
    text = convert(value, of, t.varchar(30))
    assert convert(text, t.varchar(30), of) == value
    raw = convert(value, of, t.varbinary(8))
    assert convert(raw, t.varbinary(8), of) == value
    assert convert(convert(value, of, t.decimal_type(38, 4)), t.decimal_type(38, 4), of) == value


@given(st.uuids())
def test_guids_survive_text_and_bytes(guid):
    text = str(guid).upper()
    for middle in (t.varchar(36), t.nvarchar(36), t.varbinary(16)):
        there = convert(text, t.UNIQUEIDENTIFIER, middle)
        assert convert(there, middle, t.UNIQUEIDENTIFIER) == text
    assert convert(text, t.UNIQUEIDENTIFIER, t.varbinary(16)) == guid.bytes_le


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_nvarchar_survives_varbinary_as_utf_16(text):
    raw = convert(text, t.NVARCHAR_MAX, t.VARBINARY_MAX)
    assert raw == text.encode("utf-16-le")
    assert convert(raw, t.VARBINARY_MAX, t.NVARCHAR_MAX) == text


@given(st.binary(max_size=40))
def test_bytes_survive_varchar_and_hexadecimal(raw):
    text = convert(raw, t.VARBINARY_MAX, t.VARCHAR_MAX)
    assert convert(text, t.VARCHAR_MAX, t.VARBINARY_MAX) == raw
    for style in (1, 2):
        shown = convert(raw, t.VARBINARY_MAX, t.VARCHAR_MAX, style)
        assert convert(shown, t.VARCHAR_MAX, t.VARBINARY_MAX, style) == raw
    assert convert(b"\xab", t.varbinary(1), t.varchar(9), 1) == "0xAB"


@pytest.mark.parametrize(
    ("value", "source", "target", "number", "text"),
    [
        (
            "x",
            t.varchar(5),
            t.INT,
            245,
            "Conversion failed when converting the varchar value 'x' to data type int.",
        ),
        (
            "1.5",
            t.nvarchar(5),
            t.INT,
            245,
            "Conversion failed when converting the nvarchar value '1.5' to data type int.",
        ),
        ("x", t.varchar(5), t.BIGINT, 8114, "Error converting data type varchar to bigint."),
        (
            "x",
            t.nvarchar(5),
            t.decimal_type(9, 2),
            8114,
            "Error converting data type nvarchar to numeric.",
        ),
        ("x", t.varchar(5), t.FLOAT, 8114, "Error converting data type varchar to float."),
        (
            "300",
            t.varchar(5),
            t.TINYINT,
            244,
            "The conversion of the varchar value '300' overflowed an INT1 column. Use a larger "
            "integer column.",
        ),
        (
            "3000000000",
            t.varchar(12),
            t.INT,
            248,
            "The conversion of the varchar value '3000000000' overflowed an int column.",
        ),
        (
            300,
            t.INT,
            t.TINYINT,
            220,
            "Arithmetic overflow error for data type tinyint, value = 300.",
        ),
        (
            2**40,
            t.BIGINT,
            t.INT,
            8115,
            "Arithmetic overflow error converting expression to data type int.",
        ),
        (
            Decimal("123.45"),
            t.decimal_type(5, 2),
            t.decimal_type(4, 2),
            8115,
            "Arithmetic overflow error converting numeric to data type numeric.",
        ),
        (
            1000,
            t.INT,
            t.decimal_type(3, 0),
            8115,
            "Arithmetic overflow error converting int to data type numeric.",
        ),
        (
            "x",
            t.varchar(5),
            MONEY,
            235,
            "Cannot convert a char value to money. The char value has incorrect syntax.",
        ),
        (
            "x",
            t.varchar(5),
            t.UNIQUEIDENTIFIER,
            8169,
            "Conversion failed when converting from a character string to uniqueidentifier.",
        ),
        (
            "maybe",
            t.varchar(5),
            t.BIT,
            245,
            "Conversion failed when converting the varchar value 'maybe' to data type bit.",
        ),
        (
            "0E984725-C51C-4BF4-9960-E1C80E27ABA0",
            t.UNIQUEIDENTIFIER,
            t.varchar(10),
            8170,
            "Insufficient result space to convert uniqueidentifier value to char.",
        ),
        (
            Decimal("123.45"),
            t.decimal_type(5, 2),
            t.varchar(3),
            8115,
            "Arithmetic overflow error converting numeric to data type varchar.",
        ),
        (
            12345,
            t.INT,
            t.nvarchar(3),
            8115,
            "Arithmetic overflow error converting expression to data type nvarchar.",
        ),
    ],
)
def test_failed_conversions_say_what_failed(value, source, target, number, text):
    error = error_of(value, source, target)
    assert (error.number, error.text) == (number, text)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (" 42 ", t.varchar(5), t.INT, 42),
        ("", t.varchar(5), t.INT, 0),
        ("-7", t.varchar(5), t.INT, -7),
        ("true", t.varchar(5), t.BIT, 1),
        ("FALSE", t.nvarchar(5), t.BIT, 0),
        (5, t.INT, t.BIT, 1),
        (Decimal("2.9"), t.decimal_type(2, 1), t.INT, 2),
        (-2.9, t.FLOAT, t.INT, -2),
        (Decimal("2.5000"), MONEY, t.INT, 3),
        (12345, t.INT, t.varchar(3), "*"),
        (Decimal("1.005"), t.decimal_type(4, 3), t.decimal_type(3, 2), Decimal("1.01")),
        ("$1,234.5", t.varchar(10), MONEY, Decimal("1234.5000")),
        (Decimal("1234.5678"), MONEY, t.varchar(20), "1234.57"),
        (1, t.INT, sql_type("binary", 8), b"\0\0\0\0\0\0\0\1"),
        (1, t.INT, t.varbinary(8), b"\0\0\0\1"),
        (-1, t.INT, t.varbinary(4), b"\xff\xff\xff\xff"),
        (b"\x01\x00", t.varbinary(2), t.INT, 256),
        ("a", t.varchar(1), sql_type("char", 3), "a  "),
        ("abc", t.varchar(3), t.varchar(2), "ab"),
        ("a\u4e2d", t.nvarchar(2), t.varchar(2), "a?"),
        ("ab", t.varchar(2), t.varbinary(9), b"ab"),
        ("ab", t.nvarchar(2), t.varbinary(9), b"a\0b\0"),
        (b"ab", t.varbinary(2), sql_type("binary", 4), b"ab\0\0"),
        (1e6, t.FLOAT, t.varchar(20), "1e+006"),
        (123456.789, t.FLOAT, t.varchar(20), "123457"),
        (0.5, t.FLOAT, t.varchar(20), "0.5"),
        (1.5, t.FLOAT, t.decimal_type(4, 2), Decimal("1.50")),
        (
            "{0e984725-c51c-4bf4-9960-e1c80e27aba0}",
            t.varchar(40),
            t.UNIQUEIDENTIFIER,
            "0E984725-C51C-4BF4-9960-E1C80E27ABA0",
        ),
        (WHEN, t.DATETIME, t.varchar(6), "Mar  5"),
        (None, t.INT, t.varchar(5), None),
        ("😀x", t.nvarchar(4), t.nvarchar(2), "😀"),
    ],
)
def test_conversions(value, source, target, result):
    assert convert(value, source, target) == result


def test_styles_of_money_and_float():
    assert convert(Decimal("1234567.8912"), MONEY, t.varchar(30), 1) == "1,234,567.89"
    assert convert(Decimal("1.5"), MONEY, t.varchar(30), 2) == "1.5000"
    assert convert(1.5, t.FLOAT, t.varchar(30), 1) == "1.5000000e+000"
    assert float(convert(0.1, t.FLOAT, t.varchar(30), 3)) == 0.1


@pytest.mark.parametrize(
    ("source", "target", "number"),
    [
        (t.varchar(5), t.varbinary(5), 257),
        (t.DATETIME, t.INT, 257),
        (MONEY, t.varchar(9), 257),
        (t.XML, t.NVARCHAR_MAX, 257),
        (t.SQL_VARIANT, t.INT, 257),
        (t.INT, t.DATE, 206),
        (t.UNIQUEIDENTIFIER, t.INT, 206),
        (t.DATE, t.TIME, 206),
        (t.INT, t.XML, 206),
    ],
)
def test_what_an_assignment_does_not_do(source, target, number):
    with pytest.raises(SqlError) as caught:
        compile_assignment_conversion(source, target)
    assert caught.value.number == number


def test_a_forbidden_cast_is_529():
    assert error_of(None, t.INT, t.XML).text == (
        "Explicit conversion from data type int to xml is not allowed."
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (t.INT, t.INT),
        (t.INT, t.BIGINT),
        (t.nvarchar(5), t.nvarchar(10)),
        (UNTYPED, t.XML),
        (t.varchar(5), t.NVARCHAR_MAX),
        (t.varbinary(5), t.VARBINARY_MAX),
        (t.DATETIME, t.DATETIME),
        (UNTYPED, t.UNIQUEIDENTIFIER),
        (sql_type("char", 5), t.varchar(5)),
        (t.REAL, t.FLOAT),
        (t.decimal_type(5, 2), t.decimal_type(9, 2)),
    ],
)
def test_an_assignment_that_changes_nothing_costs_nothing(source, target):
    assert compile_assignment_conversion(source, target) is None


def test_a_variable_cuts_silently_but_a_column_raises_2628():
    to_variable = compile_assignment_conversion(t.varchar(9), t.varchar(3))
    assert to_variable("abcdef") == "abc"
    to_column = compile_assignment_conversion(
        t.varchar(9), t.varchar(3), table="db.dbo.T", column="c"
    )
    assert to_column("abc   ") == "abc"
    assert to_column(None) is None
    with pytest.raises(SqlError) as caught:
        to_column("abcd")
    assert caught.value.text == (
        "String or binary data would be truncated in table 'db.dbo.T', column 'c'. Truncated "
        "value: 'abc'."
    )


def test_a_column_of_bytes_raises_too():
    to_column = compile_assignment_conversion(t.varbinary(9), t.varbinary(2), table="T", column="b")
    assert to_column(b"ab") == b"ab"
    with pytest.raises(SqlError):
        to_column(b"abc")


def test_a_fixed_length_column_is_padded():
    to_column = compile_assignment_conversion(
        t.varchar(9), sql_type("char", 4), table="T", column="c"
    )
    assert to_column("ab") == "ab  "
    with pytest.raises(SqlError):
        to_column("abcde")


def test_try_turns_failures_into_null_but_not_forbidden_pairs():
    assert explicit_conversion(t.varchar(5), t.INT, None, True)("x") is None
    assert explicit_conversion(t.VARBINARY_MAX, t.XML, None, True)(b"<a") is None
    with pytest.raises(SqlError) as caught:
        explicit_conversion(t.INT, t.XML, None, True)
    assert caught.value.number == 529


def test_a_variant_remembers_its_type():
    packed = convert("7", t.nvarchar(3), t.SQL_VARIANT)
    assert packed == Variant(t.nvarchar(3), "7")
    assert convert(packed, t.SQL_VARIANT, t.INT) == 7


@pytest.mark.parametrize(
    ("one", "two", "common"),
    [
        (t.INT, t.BIGINT, "bigint"),
        (t.varchar(5), t.nvarchar(3), "nvarchar(5)"),
        (t.INT, t.decimal_type(5, 2), "decimal(12,2)"),
        (t.DATE, t.DATETIME, "datetime"),
        (t.varchar(5), t.VARCHAR_MAX, "varchar(max)"),
        (t.INT, t.FLOAT, "float"),
        (t.varbinary(3), t.varbinary(9), "varbinary(9)"),
        (sql_type("char", 3), t.varchar(2), "varchar(3)"),
        (sql_type("datetime2", scale=2), t.DATETIME2, "datetime2(7)"),
        (t.varchar(8000), t.nvarchar(1), "nvarchar(4000)"),
        (t.UNIQUEIDENTIFIER, t.varchar(9), "uniqueidentifier"),
    ],
)
def test_the_common_type_of_two(one, two, common):
    assert str(common_type(one, two)) == common
    assert str(common_type(two, one)) == common


def test_a_number_that_is_no_style_is_281():
    from .evaluate import fails, refused, value

    assert fails("convert(varchar(30), cast('2026-03-05' as datetime), 99)").number == 281
    assert "style 130" in refused("convert(varchar(30), cast('2026-03-05' as datetime), 130)")
    assert value("convert(varchar(30), cast(1234.5 as money), 126)") == "1234.5000"
