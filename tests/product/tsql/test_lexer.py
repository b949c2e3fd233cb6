"""Tokens: kinds, values, comments, and what is wrong already here."""

from decimal import Decimal

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch
from redial.tsql.ast import ColumnRef, GlobalVariable, Literal, Source, Variable
from redial.tsql.lexer import END, tokenize


def value(sql: str, quoted_identifier: bool = True):
    """The value of a SELECT's first item."""
    batch = parse_batch(f"SELECT {sql}", quoted_identifier=quoted_identifier)
    return batch.statements[0].query.body.items[0].value


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("0", "int", 0),
        ("007", "int", 7),
        ("2147483647", "int", 2147483647),
        ("2147483648", "decimal", Decimal(2147483648)),
        ("1.50", "decimal", Decimal("1.50")),
        (".5", "decimal", Decimal("0.5")),
        ("5.", "decimal", Decimal(5)),
        ("1E3", "float", 1000.0),
        ("1e", "float", 1.0),
        ("1.5e-2", "float", 0.015),
        ("$5.25", "money", Decimal("5.25")),
        ("$", "money", Decimal(0)),
        ("£3", "money", Decimal(3)),
        ("$-123.45", "money", Decimal("-123.45")),  # a sign behind the symbol is of the literal
        ("$+.5", "money", Decimal(".5")),
        ("$ 5", "money", Decimal(5)),
        ("'a''b'", "string", "a'b"),
        ("N'é'", "nstring", "é"),
        ("n'x'", "nstring", "x"),
        ("''", "string", ""),
        ("'a\\\nb'", "string", "ab"),
        ("0x", "binary", b""),
        ("0xAf01", "binary", b"\xaf\x01"),
        ("0xF", "binary", b"\x0f"),
        ("NULL", "null", None),
    ],
)
def test_a_constant_keeps_its_kind_and_value(text, kind, expected):
    literal = value(text)
    assert isinstance(literal, Literal)
    assert (literal.kind, literal.value) == (kind, expected)
    assert type(literal.value) is type(expected)


def test_trailing_zeros_of_a_decimal_are_kept_because_they_are_its_scale():
    assert str(value("1.500").value) == "1.500"


def test_a_known_global_is_a_global_and_any_other_double_at_a_variable():
    assert isinstance(value("@@RowCount"), GlobalVariable)
    assert value("@@RowCount").name == "@@ROWCOUNT"
    assert isinstance(value("@@mine"), Variable)


def test_variables_and_names_keep_their_case():
    assert value("@MyVar").name == "@MyVar"
    assert value("[My Col]").parts == ("My Col",)
    assert value("MyCol").parts == ("MyCol",)


def test_a_bracketed_keyword_is_a_name():
    assert value("[SELECT]").parts == ("SELECT",)
    assert value("[a]]b]").parts == ("a]b",)


def test_double_quotes_are_names_or_strings_as_the_setting_says():
    assert isinstance(value('"a""b"'), ColumnRef)
    assert value('"a""b"').parts == ('a"b',)
    literal = value('"it\'s ""x"""', quoted_identifier=False)
    assert (literal.kind, literal.value) == ("string", 'it\'s "x"')


def test_comments_nest_and_hide_everything():
    sql = "SELECT 1 /* a /* b */ 'c */ -- /* d\n, 2 -- 'e\n"
    items = parse_batch(sql).statements[0].query.body.items
    assert [item.value.value for item in items] == [1, 2]


def test_offsets_point_at_the_token():
    tokens = tokenize(Source("SELECT  /* x */ a"))
    assert tokens.starts[:2] == [0, 16]
    assert tokens.ends[:2] == [6, 17]
    assert tokens.kinds[2] == END


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 'ab\ncd", "Unclosed quotation mark after the character string 'ab\ncd'."),
        ("SELECT 1 /* /* */", "Missing end comment mark '*/'."),
        (
            "SELECT " + "a" * 129,
            f"The identifier that starts with '{'a' * 129}' is too long. Maximum length is 128.",
        ),
        ("SELECT \u00ad1", "Incorrect syntax near '\u00ad'."),
    ],
)
def test_what_is_no_token_is_named(sql, message):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch(sql)
    assert caught.value.message == message


def test_a_name_of_128_characters_is_not_too_long():
    assert value("a" * 128).parts == ("a" * 128,)
