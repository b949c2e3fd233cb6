"""Mathematical functions, ISNUMERIC, HASHBYTES, CHECKSUM, RAND."""

import hashlib
from decimal import Decimal

import pytest

from redial_broker.engine.types import INT, nvarchar

from ..evaluate import FakeSession, fails, refused, typed, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abs(-5)", 5),
        ("abs(-1.5)", Decimal("1.5")),
        ("sign(-3)", -1),
        ("ceiling(1.2)", 2),
        ("floor(-1.2)", -2),
        ("ceiling(5)", 5),
        ("floor(1.7e0)", 1.0),
        ("round(2.567, 2)", Decimal("2.570")),
        ("round(2.567, 1, 1)", Decimal("2.500")),
        ("round(1250, -2)", 1300),
        ("round(2.5e0, 0)", 3.0),
        ("power(2, 10)", 1024),
        ("power(2.0, 2)", Decimal("4.0")),
        ("power(2e0, 0.5)", 2**0.5),
        ("sqrt(9)", 3.0),
        ("square(3)", 9.0),
        ("log10(100)", 2.0),
        ("isnumeric('12.5')", 1),
        ("isnumeric('x')", 0),
        ("isnumeric('$1,000')", 1),
        ("isnumeric(null)", 0),
        ("isnumeric(5)", 1),
        ("isnumeric('1e5')", 1),
        ("isnumeric('')", 0),
        ("isnumeric('+')", 1),
        ("abs(null)", None),
    ],
)
def test_numeric_functions(text, expected):
    assert value(text) == expected


def test_result_types_follow_the_argument():
    assert typed("abs(1.5)") == "numeric(2,1)"
    assert typed("ceiling(1.55)") == "numeric(3,0)"
    assert typed("power(2, 3)") == "int"
    assert typed("sqrt(4)") == "float"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("abs(@low)", 8115),
        ("power(2, 31)", 8115),
        ("sqrt(-1)", 3623),
        ("power(0, -1)", 8134),
        ("log(0)", 3623),
        ("abs('x')", 8114),
        ("round(@high, -1)", 8115),
        ("abs(0x01)", 8116),
    ],
)
def test_numeric_errors(text, number):
    assert fails(text, {"@low": (INT, -(2**31)), "@high": (INT, 2**31 - 1)}).number == number


def test_hashbytes_hashes_the_bytes_as_stored():
    assert value("hashbytes('SHA2_256', 'abc')") == hashlib.sha256(b"abc").digest()
    assert value("hashbytes('MD5', N'a')") == hashlib.md5(b"a\0").digest()
    assert value("hashbytes('SHA1', 0x01)") == hashlib.sha1(b"\x01").digest()
    assert value("hashbytes('SHA2_512', null)") is None
    assert typed("hashbytes('SHA1', 'x')") == "varbinary(8000)"


def test_hashbytes_with_an_old_algorithm_is_refused_and_with_none_fails():
    assert "MD4" in refused("hashbytes('MD4', 'x')")
    assert fails("hashbytes('what', 'x')").number == 1023


def test_checksum_is_equal_for_equal_values():
    given_ = {"@a": (nvarchar(9), "Abc"), "@b": (nvarchar(9), "aBC ")}
    assert value("checksum(@a, 1)", given_) == value("checksum(@b, 1)", given_)
    assert value("checksum(1)") != value("checksum(2)")


def test_rand_repeats_by_seed_and_moves_on_without():
    assert value("rand(5)") == value("rand(5)")
    session = FakeSession()
    one, two = (value("rand()", session=session) for _ in range(2))
    assert 0 <= one < 1
    assert one != two
