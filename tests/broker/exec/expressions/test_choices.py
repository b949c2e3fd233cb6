"""CASE, IIF, COALESCE, NULLIF, ISNULL and CHOOSE."""

import pytest

from redial_broker.engine.types import INT, NVARCHAR_MAX, UNIQUEIDENTIFIER, nvarchar, varchar

from ..evaluate import compiled, fails, typed, value

N = {"@n": (INT, None), "@i": (INT, 5), "@s": (varchar(3), None), "@t": (nvarchar(10), "text")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("case when 1 = 2 then 'a' when 1 = 1 then 'b' end", "b"),
        ("case when 1 = 2 then 'a' end", None),
        ("case when @n = 1 then 'a' else 'b' end", "b"),
        ("case @i when 4 then 'four' when 5 then 'five' else '?' end", "five"),
        ("case @n when null then 'never' else 'else' end", "else"),
        ("iif(@i > 3, 'more', 'less')", "more"),
        ("coalesce(@n, @i, 1)", 5),
        ("coalesce(@s, N'x')", "x"),
        ("nullif(@i, 5)", None),
        ("nullif(@i, 6)", 5),
        ("nullif(@n, 6)", None),
        ("isnull(@n, 7)", 7),
        ("isnull(@i, 7)", 5),
        ("isnull(@s, 'longer')", "lon"),
        ("choose(2, 'a', 'b')", "b"),
        ("choose(3, 'a', 'b')", None),
    ],
)
def test_choices_pick_their_value(text, expected):
    assert value(text, N) == expected


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("case when 1 = 1 then 1 else 2.5 end", "numeric(11,1)"),
        ("case when 1 = 1 then null else 'ab' end", "varchar(2)"),
        ("coalesce(@s, @t)", "nvarchar(10)"),
        ("isnull(@s, @t)", "varchar(3)"),
        ("isnull(null, @t)", "nvarchar(10)"),
        ("nullif(@i, 2.5)", "int"),
        ("iif(1 = 1, 'a', 'bcd')", "varchar(3)"),
    ],
)
def test_choices_have_the_type_the_rule_says(text, of):
    assert typed(text, N) == of


def test_the_untaken_arm_is_not_evaluated():
    assert value("case when @i = 5 then 1 else 1 / 0 end", N) == 1
    assert value("isnull(@i, 1 / 0)", N) == 5
    assert value("coalesce(@i, 1 / 0)", N) == 5


def test_results_are_converted_to_the_common_type():
    assert value("case when 1 = 1 then '7' else 1 end") == 7
    assert fails("case when 1 = 1 then 'x' else 1 end").number == 245


def test_only_nulls_is_8133_and_nullif_of_null_4151():
    assert fails("case when 1 = 1 then null else null end").number == 8133
    assert fails("coalesce(null, null)").number == 8133
    assert fails("nullif(null, 1)").number == 4151


def test_isnull_of_a_never_null_value_is_never_null():
    assert compiled("isnull(@n, 0)", N).nullable is False
    assert compiled("coalesce(@n, 0)", N).nullable is False


def test_isnull_of_guid_takes_text():
    guid = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
    given_ = {"@g": (UNIQUEIDENTIFIER, None), "@m": (NVARCHAR_MAX, None)}
    assert value(f"isnull(@g, '{guid}')", given_) == guid.upper()
    assert value("isnull(@m, 'x')", given_) == "x"
