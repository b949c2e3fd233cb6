"""Comparisons and three-valued logic."""

import itertools
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.collation import (
    binary_key,
    case_sensitive_key,
    collation_key,
    guid_key,
)
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    BIGINT,
    DATE,
    DATETIME,
    INT,
    UNIQUEIDENTIFIER,
    decimal_type,
    nvarchar,
    sql_type,
    varbinary,
    varchar,
)

from ..evaluate import fake_query, holds

TRUTH = {True: "1 = 1", False: "1 = 2", None: "1 = null"}
VALUES = [True, False, None]


def kleene_and(*values):
    return False if False in values else None if None in values else True


def kleene_or(*values):
    return True if True in values else None if None in values else False


@pytest.mark.parametrize("values", list(itertools.product(VALUES, repeat=2)))
def test_and_or_of_two_follow_three_valued_logic(values):
    one, two = (TRUTH[value] for value in values)
    assert holds(f"{one} and {two}") is kleene_and(*values)
    assert holds(f"{one} or {two}") is kleene_or(*values)


@given(st.lists(st.sampled_from(VALUES), min_size=3, max_size=6))
def test_and_or_of_many_follow_three_valued_logic(values):
    assert holds(" and ".join(TRUTH[value] for value in values)) is kleene_and(*values)
    assert holds(" or ".join(TRUTH[value] for value in values)) is kleene_or(*values)


def test_not_unknown_is_unknown():
    assert holds("not (1 = null)") is None
    assert holds("not (1 = 2)") is True


@given(st.one_of(st.none(), st.integers(-3, 3)), st.one_of(st.none(), st.integers(-3, 3)))
def test_every_comparison_of_integers(a, b):
    given_ = {"@a": (INT, a), "@b": (INT, b)}
    python = {
        "=": "==",
        "<>": "!=",
        "<": "<",
        ">": ">",
        "<=": "<=",
        ">=": ">=",
        "!<": ">=",
        "!>": "<=",
        "!=": "!=",
    }
    for op, meaning in python.items():
        expected = None if a is None or b is None else eval(f"{a} {meaning} {b}")
        assert holds(f"@a {op} @b", given_) is expected
        if b is not None:
            assert holds(f"@a {op} {b}", given_) is expected


@pytest.mark.parametrize(
    "text",
    [
        "'abc' = 'ABC'",
        "'abc  ' = 'abc'",
        "N'É' = N'é'",
        "'a' < 'B'",
        "'B' > 'a'",
        "'_' < '0'",
        "'9' < 'a'",
        "'e' < N'é'",
        "N'é' < 'f'",
        "'a' <> 'b'",
        "'' = '   '",
    ],
)
def test_strings_compare_by_the_default_collation(text):
    assert holds(text) is True


@given(st.text(max_size=12), st.text(max_size=12))
def test_equal_keys_mean_equal_strings_both_ways(a, b):
    given_ = {"@a": (nvarchar(50), a), "@b": (nvarchar(50), b)}
    assert holds("@a = @b", given_) is (collation_key(a) == collation_key(b))
    assert holds("@a = @b", given_) is not holds("@a <> @b", given_)
    assert holds("@a < @b", given_) is holds("@b > @a", given_)


def test_case_sensitive_keys_put_lower_case_first():
    assert case_sensitive_key("a") < case_sensitive_key("A") < case_sensitive_key("b")


def test_a_variable_against_a_constant_of_other_case_is_equal():
    given_ = {"@t": (nvarchar(128), "EndOfStream ")}
    assert holds("@t = N'endofstream'", given_) is True
    assert holds("@t <> 'endofstream'", given_) is False


def test_numbers_of_different_types_compare_by_value():
    given_ = {
        "@i": (INT, 2),
        "@d": (decimal_type(9, 2), __import__("decimal").Decimal("2.00")),
        "@b": (BIGINT, 2),
    }
    assert holds("@i = @d and @d = @b and @i = 2.0 and @i = 2e0", given_) is True


def test_text_beside_a_number_becomes_the_number():
    assert holds("'01' = 1") is True
    with pytest.raises(SqlError) as caught:
        holds("'x' = 1")
    assert caught.value.number == 245


def test_text_beside_a_guid_becomes_a_guid():
    guid = "0E984725-C51C-4BF4-9960-E1C80E27ABA0"
    given_ = {"@g": (UNIQUEIDENTIFIER, guid)}
    assert holds(f"@g = '{guid.lower()}'", given_) is True
    assert holds(f"@g = '{{{guid}}}'", given_) is True


# The published order: last six bytes first, then each group leftwards, bytes as stored.
GUIDS_IN_ORDER = [
    "01000000-0000-0000-0000-000000000000",
    "00010000-0000-0000-0000-000000000000",
    "00000100-0000-0000-0000-000000000000",
    "00000001-0000-0000-0000-000000000000",
    "00000000-0100-0000-0000-000000000000",
    "00000000-0001-0000-0000-000000000000",
    "00000000-0000-0100-0000-000000000000",
    "00000000-0000-0001-0000-000000000000",
    "00000000-0000-0000-0001-000000000000",
    "00000000-0000-0000-0100-000000000000",
    "00000000-0000-0000-0000-000000000001",
    "00000000-0000-0000-0000-010000000000",
]


def test_guids_order_by_byte_groups_from_the_right():
    assert sorted(GUIDS_IN_ORDER, key=guid_key) == GUIDS_IN_ORDER
    for smaller, larger in itertools.pairwise(GUIDS_IN_ORDER):
        given_ = {"@a": (UNIQUEIDENTIFIER, smaller), "@b": (UNIQUEIDENTIFIER, larger)}
        assert holds("@a < @b", given_) is True


@given(st.uuids(), st.uuids())
def test_the_guid_key_is_a_rearrangement_of_all_bytes(a, b):
    one, two = str(a).upper(), str(b).upper()
    assert sorted(guid_key(one)) == sorted(one.replace("-", ""))
    assert (guid_key(one) == guid_key(two)) is (one == two)


def test_binary_values_compare_as_if_padded_with_zeros():
    assert holds("0x01 = 0x0100") is True
    assert holds("0x01 < 0x02") is True
    assert binary_key(b"\x01\x00") == b"\x01"
    assert holds("@b = 0x01", {"@b": (varbinary(8), b"\x01")}) is True


def test_dates_compare_across_types():
    given_ = {"@d": (DATE, date(2026, 1, 1)), "@t": (DATETIME, datetime(2026, 1, 1))}
    assert holds("@d = @t", given_) is True
    assert holds("@d < '2026-01-02'", given_) is True
    assert holds("@t >= '20260101'", given_) is True


def test_is_null_never_is_unknown():
    given_ = {"@n": (INT, None), "@i": (INT, 1)}
    assert holds("@n is null", given_) is True
    assert holds("@n is not null", given_) is False
    assert holds("@i is not null", given_) is True
    assert holds("null is null") is True


def test_is_distinct_from_treats_nulls_as_equal():
    given_ = {"@n": (INT, None), "@i": (INT, 1)}
    assert holds("@n is not distinct from null", given_) is True
    assert holds("@n is distinct from @i", given_) is True
    assert holds("@i is not distinct from 1", given_) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 between 1 and 3", True),
        ("1 between 1 and 1", True),
        ("0 between 1 and 3", False),
        ("0 not between 1 and 3", True),
        ("null between 1 and 3", None),
        ("5 between null and 3", False),
        ("2 between null and 3", None),
    ],
)
def test_between_includes_both_ends(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 in (1, 2)", True),
        ("3 in (1, 2)", False),
        ("3 in (1, null)", None),
        ("1 in (1, null)", True),
        ("null in (1, 2)", None),
        ("3 not in (1, 2)", True),
        ("3 not in (1, null)", None),
        ("'B' in ('a', 'b', 'c', 'd', 'e')", True),
        ("7 in (1, 2, 3, 4, 5)", False),
        ("null in (1, 2, 3, 4, 5)", None),
        ("7 in (1, 2, 3, 4, null)", None),
        ("'2' in (1, 2, 3, 4, 5)", True),
    ],
)
def test_in_a_list(text, expected):
    assert holds(text) is expected


ROWS = [(), (1,), (1, 2), (1, None)]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("operand", [1, 3, None])
def test_in_a_query_any_and_all_follow_the_rows(rows, operand):
    hook = lambda q, s: fake_query(*[(row,) for row in rows], columns=[INT])  # noqa: E731
    given_ = {"@x": (INT, operand)}
    equal = [None if operand is None or row is None else operand == row for row in rows]
    assert holds("@x in (select 1)", given_, compile_subquery=hook) is kleene_or(*equal)
    assert holds("@x = any (select 1)", given_, compile_subquery=hook) is kleene_or(*equal)
    assert holds("@x = all (select 1)", given_, compile_subquery=hook) is kleene_and(*equal)
    expected = kleene_or(*equal)
    assert holds("@x not in (select 1)", given_, compile_subquery=hook) is (
        None if expected is None else not expected
    )


def test_exists_is_never_unknown():
    assert (
        holds("exists (select 1)", compile_subquery=lambda q, s: fake_query(columns=[INT])) is False
    )
    assert (
        holds(
            "not exists (select 1)",
            compile_subquery=lambda q, s: fake_query((None,), columns=[INT]),
        )
        is False
    )


def test_types_that_cannot_meet_are_206_or_402():
    given_ = {"@d": (DATE, date(2026, 1, 1)), "@t": (sql_type("text", -1), "x")}
    for text, number in [("@d = 1", 206), ("@t = 'x'", 402)]:
        with pytest.raises(SqlError) as caught:
            holds(text, given_)
        assert caught.value.number == number


def test_a_long_text_is_not_cut_to_the_other_sides_length():
    given_ = {"@a": (varchar(3), "abc"), "@b": (nvarchar(6), "abcdef")}
    assert holds("@a = @b", given_) is False
