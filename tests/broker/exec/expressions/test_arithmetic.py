"""Operators on numbers, strings, dates and bytes."""

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    BIGINT,
    BIT,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NVARCHAR_MAX,
    SMALLINT,
    TINYINT,
    decimal_type,
    nvarchar,
    sql_type,
    varchar,
)
from redial_broker.exec.conversion.numbers import BOUNDS

from ..evaluate import compiled, fails, typed, value

OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


@given(
    of=st.sampled_from([TINYINT, SMALLINT, INT, BIGINT]),
    op=st.sampled_from("+-*"),
    data=st.data(),
)
def test_integers_give_the_exact_result_or_8115(of, op, data):
    low, high = BOUNDS[of.name]
    a, b = (data.draw(st.integers(low, high)) for _ in "ab")
    expected = OPERATORS[op](a, b)
    given_ = {"@a": (of, a), "@b": (of, b)}
    if low <= expected <= high:
        assert value(f"@a {op} @b", given_) == expected
    else:
        error = fails(f"@a {op} @b", given_)
        assert error.text == (
            f"Arithmetic overflow error converting expression to data type {of.name}."
        )


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool))
def test_integer_division_truncates_toward_zero(a, b):
    given_ = {"@a": (BIGINT, a), "@b": (BIGINT, b)}
    quotient = value("@a / @b", given_)
    remainder = value("@a % @b", given_)
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder < 0) == (a < 0)


@pytest.mark.parametrize("text", ["1/0", "1%0", "1.0/0", "1e0/0", "$1/0"])
def test_division_by_zero_is_8134_at_run_time(text):
    assert compiled(text).constant is False
    error = fails(text)
    assert (error.number, error.text) == (8134, "Divide by zero error encountered.")


def test_null_with_anything_is_null():
    given_ = {"@n": (INT, None)}
    for op in "+-*/%&|^":
        assert value(f"@n {op} 1", given_) is None
        assert value(f"1 {op} null") is None


@pytest.mark.parametrize(
    ("text", "result", "of"),
    [
        ("2.0/3", "0.666666", "numeric(7,6)"),
        ("1.5+1.25", "2.75", "numeric(4,2)"),
        ("1.5*1.25", "1.875", "numeric(6,3)"),
        ("10.5%3", "1.5", "numeric(2,1)"),
        ("1-0.01", "0.99", "numeric(4,2)"),
    ],
)
def test_decimal_results_have_the_documented_precision_and_scale(text, result, of):
    assert value(text) == Decimal(result)
    assert typed(text) == of


def test_a_decimal_product_beyond_38_digits_loses_scale_first():
    wide = {"@a": (decimal_type(38, 10), Decimal("1.5")), "@b": (decimal_type(38, 10), Decimal(2))}
    assert typed("@a * @b", wide) == "decimal(38,6)"
    assert value("@a * @b", wide) == Decimal("3.000000")


def test_precedence_decides_the_result_type():
    given_ = {"@t": (TINYINT, 1), "@b": (BIGINT, 1), "@f": (FLOAT, 1.5), "@s": (varchar(5), "2")}
    assert typed("@t + 1", given_) == "int"
    assert typed("@t + @b", given_) == "bigint"
    assert typed("@b + @f", given_) == "float"
    assert value("@s + 1", given_) == 3


def test_adding_a_number_to_text_that_is_none_is_245():
    error = fails("'abc' + 1")
    assert error.text == (
        "Conversion failed when converting the varchar value 'abc' to data type int."
    )
    assert error.aborts == "batch"


def test_float_overflow_is_8115():
    assert fails("1e308 * 10").number == 8115


def test_strings_are_concatenated_and_their_lengths_added():
    assert value("'ab' + N'c'") == "abc"
    assert typed("'ab' + N'c'") == "nvarchar(3)"
    assert typed("'ab' + 'c'") == "varchar(3)"


def test_a_concatenation_is_cut_unless_one_side_is_max():
    long = {"@a": (nvarchar(4000), "x" * 4000), "@m": (NVARCHAR_MAX, "x" * 4000)}
    assert len(value("@a + @a", long)) == 4000
    assert len(value("@a + @m", long)) == 8000
    assert typed("@a + @m", long) == "nvarchar(max)"
    text = {"@a": (varchar(8000), "x" * 8000)}
    assert len(value("@a + 'y'", text)) == 8000


def test_bytes_are_concatenated():
    assert value("0x01 + 0x0203") == b"\x01\x02\x03"


def test_a_datetime_takes_days_but_newer_types_do_not():
    when = {"@d": (DATETIME, datetime(2026, 1, 31)), "@n": (DATE, datetime(2026, 1, 31).date())}
    assert value("@d + 1", when) == datetime(2026, 2, 1)
    assert value("@d - 0.5", when) == datetime(2026, 1, 30, 12)
    assert fails("@n + 1", when).text == ("Operand type clash: date is incompatible with int")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("6 & 3", 2), ("6 | 3", 7), ("6 ^ 3", 5), ("~5", -6), ("-(-3)", 3), ("+2", 2), ("2+3*4", 14)],
)
def test_bit_operators_and_signs(text, expected):
    assert value(text) == expected


def test_bitwise_not_of_small_types_stays_small():
    assert value("~@b", {"@b": (BIT, 1)}) == 0
    assert value("~@t", {"@t": (TINYINT, 1)}) == 254


def test_negating_the_smallest_int_overflows():
    assert fails("-@i", {"@i": (INT, -(2**31))}).number == 8115


@pytest.mark.parametrize(
    ("text", "number"),
    [("@b + @b", 8117), ("@g + 1", 402), ("'a' - 'b'", 8117), ("1.5 & 1", 402), ("-'a'", 8117)],
)
def test_operators_refuse_types_they_have_no_meaning_for(text, number):
    given_ = {"@b": (BIT, 1), "@g": (sql_type("uniqueidentifier"), "0" * 36)}
    assert fails(text, given_).number == number


def test_money_keeps_four_places():
    assert value("$1.00 / $3") == Decimal("0.3333")
    assert typed("$1 + 1") == "money"


def test_constants_are_folded_at_compile_time():
    folded = compiled("1 + 2 * 3")
    assert folded.constant
    assert folded.value == 7


def test_a_type_error_ends_the_scope_and_keeps_the_transaction():
    # Found while compiling: XACT_ABORT does not apply and nothing is rolled back.
    assert fails("'a' - 'b'").aborts == "scope"
    assert fails("len()").aborts == "scope"


def test_an_operator_error_carries_its_line():
    with pytest.raises(SqlError) as caught:
        compiled("1 +\n\n 'a' * 'b'")
    assert caught.value.line in {1, 3}
