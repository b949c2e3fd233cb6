"""FORMAT, PARSE and TRY_PARSE under en-US and the invariant culture."""

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.exec.functions.dotnet import EN_US, format_number

from ..evaluate import fails, refused, typed, value

MOMENT = "cast('2026-03-05T13:02:03' as datetime2)"


@pytest.mark.parametrize(
    ("number", "pattern", "expected"),
    [
        ("1234567.891", "N2", "1,234,567.89"),
        ("1234567.891", "N", "1,234,567.89"),
        ("-0.001", "N2", "0.00"),
        ("-1234.5", "C", "($1,234.50)"),
        ("0.1234", "P", "12.34 %"),
        ("255", "X", "FF"),
        ("255", "x4", "00ff"),
        ("-1", "X", "FFFFFFFF"),
        ("5", "D4", "0005"),
        ("-5", "D3", "-005"),
        ("1.5", "D", None),
        ("12345.678", "E2", "1.23E+004"),
        ("12.5", "F0", "13"),
        ("1.50", "G", "1.50"),
        ("1e20", "G", "1E+20"),
        ("1e0", "R", "1"),
        ("1234.5", "#,##0.00", "1,234.50"),
        ("123456789", "###-##-####", "123-45-6789"),
        ("0.5", "0%", "50%"),
        ("1234567", "#,#", "1,234,567"),
        ("-5", "0;(0);zero", "(5)"),
        ("0", "0;(0);zero", "zero"),
        ("1234.5678", "0.0##", "1234.568"),
        ("123", "00000", "00123"),
        ("1234567", "0,,.0", "1.2"),
        ("12345.6", "0.00E+00", "1.23E+04"),
        ("0", "#", ""),
        ("5", "'n'' ''='0", None),
        ("5", r"\#0", "#5"),
        ("1234", "0,0", "1,234"),
        ("7", "00:00", "00:07"),
    ],
)
def test_numbers(number, pattern, expected):
    if pattern.startswith("'"):
        assert value(f"format({number}, '''n''=0')") == "n=5"
    else:
        assert value(f"format({number}, '{pattern}')") == expected


@given(st.integers(-(10**12), 10**12))
def test_a_number_without_places_is_its_digits(number):
    assert format_number(number, "0", EN_US) == str(number)
    assert format_number(number, "N0", EN_US) == f"{number:,}"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2026-03-05 13:02:03"),
        ("d", "3/5/2026"),
        ("D", "Thursday, March 5, 2026"),
        ("t", "1:02 PM"),
        ("T", "1:02:03 PM"),
        ("g", "3/5/2026 1:02 PM"),
        ("G", "3/5/2026 1:02:03 PM"),
        ("M", "March 5"),
        ("Y", "March 2026"),
        ("s", "2026-03-05T13:02:03"),
        ("u", "2026-03-05 13:02:03Z"),
        ("r", "Thu, 05 Mar 2026 13:02:03 GMT"),
        ("o", "2026-03-05T13:02:03.0000000"),
        ("ddd d MMM yy h tt", "Thu 5 Mar 26 1 PM"),
        ("%d", "5"),
        (r"h\h", "1h"),
        ("fff", "000"),
        ("ss.FFF", "03."),
        ("q", None),
    ],
)
def test_dates(pattern, expected):
    assert value(f"format({MOMENT}, '{pattern}')") == expected


def test_the_invariant_culture_and_others():
    assert value(f"format({MOMENT}, 'd', '')") == "03/05/2026"
    assert value("format(5.5, 'C', '')") == "¤5.50"
    assert "the culture de-DE" in refused("format(1, 'N', 'de-DE')")
    assert fails("format(1, 'N', 'not a culture')").number == 9818
    assert typed("format(1, 'N')") == "nvarchar(4000)"
    assert fails("format('1', 'N')").number == 8116


def test_a_time_wants_its_literals_escaped():
    assert value(r"format(cast('07:35' as time), 'hh\:mm')") == "07:35"
    assert value("format(cast('07:35' as time), 'hh:mm')") is None
    assert value("format(cast('07:35:01.5' as time), 'c')") == "07:35:01.5000000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parse('$1,234.50' as money)", Decimal("1234.50")),
        ("parse('1,234' as int)", 1234),
        ("parse('(5)' as money)", Decimal("-5")),
        ("parse('1.5e3' as float)", 1500.0),
        ("parse('-5' as smallint using 'en-US')", -5),
        ("try_parse('x' as int)", None),
        ("try_parse('1.5' as int)", None),
        ("try_parse('5 5' as int)", None),
        ("parse('Monday, 13 December 2010' as datetime2 using 'en-US')", datetime(2010, 12, 13)),
        ("parse('12/16/2010' as date)", date(2010, 12, 16)),
        ("try_parse('16/12/2010' as date)", None),
        ("parse(null as int)", None),
    ],
)
def test_parse(text, expected):
    assert value(text) == expected


def test_what_does_not_parse():
    error = fails("parse('abc' as int)")
    assert (error.number, error.text) == (
        9819,
        "Error converting string value 'abc' into data type int using culture 'en-US'.",
    )
    assert fails("parse('1' as varchar(9))").number == 10761
    assert "the culture fr-FR" in refused("parse('1' as int using 'fr-FR')")
