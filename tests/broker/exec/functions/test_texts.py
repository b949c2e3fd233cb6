"""TRIM with characters, TRANSLATE, STRING_ESCAPE, SOUNDEX; bits, extremes, checksums, settings."""

from decimal import Decimal

import pytest

from redial_broker.engine.types import INT, Variant

from ..evaluate import fails, refused, typed, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trim('  a ')", "a"),
        ("trim('.,! ' from '  #     test    .')", "#     test"),
        ("trim(leading 'x' from 'xXaxx')", "axx"),
        ("trim(trailing 'x' from 'xxaxX')", "xxa"),
        ("trim(both 'x' from 'xxaxx')", "a"),
        ("trim('x' from NULL)", None),
        ("trim('x' from 'XaX' collate Latin1_General_CS_AS)", "XaX"),
        ("translate('2*[3+4]/{7-2}', '[]{}', '()()')", "2*(3+4)/(7-2)"),
        ("translate('abcA', 'a', 'x')", "xbcx"),
        ("translate('aa', 'aa', 'xy')", "xx"),
        ("string_escape('\\   /' + char(10) + '\"', 'json')", r"\\   \/\n\""),
        ("soundex('Tymczak')", "T522"),
        ("soundex('Smith')", "S530"),
        ("soundex('Smythe')", "S530"),
        ("soundex('Robert')", "R163"),
        ("soundex('Ashcraft')", "A261"),
        ("soundex('1a')", "0000"),
        ("difference('Smith', 'Smythe')", 4),
        ("difference('Green', 'Greene')", 4),
        ("difference('Blotchet-Halls', 'Greene')", 0),
    ],
)
def test_strings(text, expected):
    assert value(text) == expected


def test_translate_wants_as_many_characters():
    assert fails("translate('a', 'ab', 'x')").number == 9828


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bit_count(255)", 8),
        ("bit_count(cast(-1 as bigint))", 64),
        ("bit_count(0xF0F0)", 8),
        ("left_shift(12345, 5)", 395040),
        ("left_shift(1, 31)", -2147483648),
        ("left_shift(1, 32)", 0),
        ("left_shift(4, -1)", 2),
        ("right_shift(-1, 1)", 2147483647),
        ("right_shift(0xFF00, 8)", b"\x00\xff"),
        ("get_bit(0xabcdef, 2)", 1),
        ("get_bit(-1, 31)", 1),
        ("set_bit(0x00, 2)", b"\x04"),
        ("set_bit(0xabcdef, 0, 0)", b"\xab\xcd\xee"),
        ("bit_count(NULL)", None),
    ],
)
def test_bits(text, expected):
    assert value(text) == expected


def test_bit_offsets_outside_the_value():
    assert fails("get_bit(1, 32)").number == 4199
    assert fails("set_bit(0x00, 8)").number == 4199
    assert fails("bit_count('a')").number == 8116


def test_greatest_and_least_skip_null_and_take_the_common_type():
    assert value("greatest(1, 2.5, NULL)") == Decimal("2.5")
    assert value("least('b', 'A', 'c')") == "A"
    assert value("greatest('6.62', 3.1415, N'7')") == Decimal("7.0000")
    assert value("least(NULL, cast(NULL as int))") is None
    assert typed("greatest(1, cast(2 as bigint))") == "bigint"


def test_compress_and_back():
    assert value("cast(decompress(compress('abc')) as varchar(9))") == "abc"
    assert value("decompress(compress(N'é'))") == "é".encode("utf-16-le")
    assert value("compress(NULL)") is None
    assert "DECOMPRESS of bytes that are no GZIP data" in refused("decompress(0x01)")


def test_binary_checksum():
    assert value("binary_checksum(5)") == 5
    assert value("binary_checksum('abc')") == 26435
    assert value("binary_checksum('a') - binary_checksum('A')") != 0
    assert value("binary_checksum('abc  ') - binary_checksum('abc')") == 0
    assert "BINARY_CHECKSUM of nvarchar" in refused("binary_checksum(N'a')")


def test_random_bytes_have_the_length_asked_for():
    assert len(value("crypt_gen_random(20)")) == 20
    assert value("crypt_gen_random(0)") is None


def test_settings_and_collations():
    assert value("sessionproperty('ansi_nulls')") == Variant(INT, 1)
    assert value("sessionproperty('nope')") is None
    assert value("collationproperty('Latin1_General_CI_AS', 'ComparisonStyle')") == Variant(
        INT, 196609
    )
    assert value("collationproperty('Latin1_General_BIN2', 'CodePage')") == Variant(INT, 1252)
    assert value("collationproperty('Klingon_CI_AS', 'LCID')") is None
    assert (value("getansinull()"), value("@@max_connections")) == (1, 32767)


@pytest.mark.parametrize("text", ["acos(2)", "asin(-2)", "cot(0)", "atn2(0, 0)"])
def test_no_number_is_3623(text):
    assert fails(text).number == 3623


def test_inverse_functions():
    assert round(value("acos(0) * 2"), 9) == round(value("pi()"), 9)
    assert round(value("atn2(1, 1) * 4"), 9) == round(value("pi()"), 9)
