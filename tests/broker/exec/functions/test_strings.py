"""String functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.types import (
    INT,
    NVARCHAR_MAX,
    VARBINARY_MAX,
    XML,
    nvarchar,
    sql_type,
    varchar,
)

from ..evaluate import fails, refused, typed, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len('ab  ')", 2),
        ("len(N'  a')", 3),
        ("len(123)", 3),
        ("len(N'😀')", 2),
        ("datalength('abc ')", 4),
        ("datalength(N'abc')", 6),
        ("datalength(1)", 4),
        ("datalength(0x0102)", 2),
        ("datalength(newid())", 16),
        ("datalength(1.5)", 5),
        ("left('abc', 2)", "ab"),
        ("right('abc', 2)", "bc"),
        ("right('abc', 0)", ""),
        ("left('abc', 9)", "abc"),
        ("substring('abcdef', 2, 3)", "bcd"),
        ("substring('abc', 0, 2)", "a"),
        ("substring('abc', -1, 3)", "a"),
        ("substring('abc', 9, 2)", ""),
        ("substring(0x010203, 2, 1)", b"\x02"),
        ("charindex('B', 'abcb')", 2),
        ("charindex('b', 'abcb', 3)", 4),
        ("charindex('x', 'abc')", 0),
        ("charindex('', 'abc')", 0),
        ("charindex('B' collate Latin1_General_BIN, 'abc')", 0),
        ("patindex('%[0-9]%', 'ab7c')", 3),
        ("patindex('b%', 'abc')", 0),
        ("patindex('%c', 'abc')", 3),
        ("patindex('abc', 'abc')", 1),
        ("replace('aXbxc', 'x', '-')", "a-b-c"),
        ("replace('abc', '', '-')", "abc"),
        ("stuff('abcdef', 2, 3, 'XY')", "aXYef"),
        ("stuff('abc', 9, 1, 'x')", None),
        ("stuff('abc', 1, 1, null)", "bc"),
        ("ltrim('  a ')", "a "),
        ("rtrim(' a  ')", " a"),
        ("trim('  a  ')", "a"),
        ("upper(N'straße')", "STRAßE"),
        ("lower('ABC')", "abc"),
        ("replicate('ab', 3)", "ababab"),
        ("replicate('a', -1)", None),
        ("reverse('abc')", "cba"),
        ("space(3)", "   "),
        ("ascii('A')", 65),
        ("char(65)", "A"),
        ("char(256)", None),
        ("unicode(N'é')", 233),
        ("nchar(233)", "é"),
        ("ascii('')", None),
        ("quotename('a]b')", "[a]]b]"),
        ("quotename('a''b', '''')", "'a''b'"),
        ("quotename('a', 'x')", None),
        ("quotename('a', '(')", "(a)"),
        ("concat('a', null, 1, N'b')", "a1b"),
        ("concat(1.50, '')", "1.50"),
        ("concat_ws(',', 'a', null, 'b')", "a,b"),
        ("concat($2, '')", "2.00"),
        ("str(3.147, 6, 2)", "  3.15"),
        ("str(12345, 3)", "***"),
        ("str(7)", "         7"),
        ("formatmessage('%s is %d', 'x', 5)", "x is 5"),
        ("len(null)", None),
        ("upper(null)", None),
        ("left('abc', null)", None),
    ],
)
def test_string_functions(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("len(@m)", "bigint"),
        ("len(@s)", "int"),
        ("left(@s, 2)", "nvarchar(10)"),
        ("substring(@b, 1, 2)", "varbinary(max)"),
        ("replace(@v, 'a', 'b')", "varchar(8000)"),
        ("replace(@v, 'a', @m)", "nvarchar(max)"),
        ("upper(@c)", "varchar(5)"),
        ("quotename(@s)", "nvarchar(258)"),
        ("replicate(@v, 2)", "varchar(8000)"),
        ("concat(@v, @s)", "nvarchar(15)"),
        ("nchar(1)", "nchar(1)"),
        ("stuff(@v, 1, 1, @s)", "nvarchar(4000)"),
    ],
)
def test_result_types(text, of):
    given_ = {
        "@m": (NVARCHAR_MAX, ""),
        "@s": (nvarchar(10), ""),
        "@b": (VARBINARY_MAX, b""),
        "@v": (varchar(5), ""),
        "@c": (sql_type("char", 5), ""),
    }
    assert typed(text, given_) == of


@given(st.text("abAB ", max_size=10), st.text("abAB", max_size=3), st.text("xy", max_size=2))
def test_replace_leaves_no_occurrence_and_keeps_the_rest(text, old, new):
    given_ = {"@t": (NVARCHAR_MAX, text), "@o": (nvarchar(9), old), "@n": (nvarchar(9), new)}
    result = value("replace(@t, @o, @n)", given_)
    if not old:
        assert result == text
    else:
        assert result.lower() == text.lower().replace(old.lower(), new)


@given(st.text("abc", max_size=8), st.integers(-3, 10), st.integers(0, 10))
def test_substring_takes_the_positions_it_names(text, start, length):
    given_ = {"@t": (varchar(20), text), "@s": (INT, start), "@l": (INT, length)}
    wanted = [char for at, char in enumerate(text, 1) if start <= at < start + length]
    assert value("substring(@t, @s, @l)", given_) == "".join(wanted)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("left('abc', -1)", 537),
        ("substring('abc', 1, -1)", 537),
        ("right('abc', -1)", 536),
        ("len()", 174),
        ("left('a')", 174),
        ("charindex('a')", 189),
        ("concat('a')", 189),
        ("substring(12, 1, 1)", 8116),
        ("upper(@x)", 8116),
        ("formatmessage('%z')", 2787),
    ],
)
def test_wrong_arguments(text, number):
    assert fails(text, {"@x": (XML, "<a/>")}).number == number


def test_argument_count_errors_read_like_the_servers():
    assert fails("len()").text == "The len function requires 1 argument(s)."
    assert fails("charindex('a')").text == "The charindex function requires 2 to 3 arguments."


def test_an_unknown_function_is_195_and_a_known_one_is_refused():
    assert fails("frobnicate(1)").text == (
        "'frobnicate' is not a recognized built-in function name."
    )
    assert "function STATS_DATE (line 1, column 1)" in refused("stats_date(1, 1)")


def test_a_replicated_string_is_cut_at_its_limit():
    assert len(value("replicate('ab', 9000)")) == 8000
    assert len(value("replicate(@m, 9000)", {"@m": (NVARCHAR_MAX, "ab")})) == 18000
