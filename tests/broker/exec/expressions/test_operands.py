"""Constants, variables, columns, subqueries and COLLATE."""

import pytest

from redial.tsql import ast
from redial_broker.engine.collation import find_collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, XML, nvarchar
from redial_broker.exec.expressions import Scope, ScopeColumn, compile_expression

from ..evaluate import compiled, fails, fake_query, holds, refused, scope_of, typed, value


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("1", "int"),
        ("2147483648", "numeric(10,0)"),
        ("-2147483648", "int"),
        ("1.50", "numeric(3,2)"),
        ("0.5", "numeric(1,1)"),
        ("1e3", "float"),
        ("$1.5", "money"),
        ("'abc'", "varchar(3)"),
        ("''", "varchar(1)"),
        ("N'ab'", "nvarchar(2)"),
        ("0x0102", "varbinary(2)"),
    ],
)
def test_a_constant_has_the_type_it_is_written_in(text, of):
    assert typed(text) == of


def test_a_very_long_string_constant_is_max():
    assert typed("N'" + "x" * 4001 + "'") == "nvarchar(max)"
    assert typed("'" + "x" * 4001 + "'") == "varchar(4001)"


def test_an_emoji_counts_two_characters():
    assert typed("N'😀'") == "nvarchar(2)"


def test_a_variable_is_found_whatever_its_case():
    assert value("@X", {"@x": (INT, 5)}) == 5


def test_an_undeclared_variable_is_137_with_its_line():
    error = fails("1 +\n @nope")
    assert (error.number, error.line, error.text) == (
        137,
        2,
        'Must declare the scalar variable "@nope".',
    )


def columns(*names, alias="t"):
    return [ScopeColumn((alias,), name, INT, i) for i, name in enumerate(names)]


def column(*parts):
    return ast.ColumnRef(0, 0, parts)


def test_a_column_is_an_index_into_the_row():
    scope = Scope(columns=columns("a", "b"))
    assert compile_expression(column("T", "B"), scope).fn(None, [], (1, 2)) == 2


def test_an_inner_column_hides_an_outer_one_and_outer_ones_stay_visible():
    outer = Scope(columns=columns("a", "o", alias="x"))
    inner = outer.child([ScopeColumn(("y",), "a", INT, 2)])
    assert compile_expression(column("a"), inner).index == 2
    assert compile_expression(column("o"), inner).index == 1
    assert compile_expression(column("x", "a"), inner).index == 0


@pytest.mark.parametrize(
    ("parts", "number"), [(("zz",), 207), (("t", "zz"), 207), (("q", "a"), 4104), (("d",), 209)]
)
def test_a_column_that_is_not_there_or_not_alone_is_an_error(parts, number):
    scope = Scope(columns=[*columns("a", "d"), ScopeColumn(("u",), "d", INT, 2)])
    with pytest.raises(SqlError) as caught:
        compile_expression(column(*parts), scope)
    assert caught.value.number == number


def test_a_schema_qualified_column_answers_to_each_shorter_form():
    found = ScopeColumn(("db", "dbo", "t"), "c", INT, 0)
    for qualifier in [(), ("t",), ("dbo", "t"), ("db", "dbo", "t"), ("db", "", "t")]:
        assert found.answers(qualifier), qualifier
    assert not found.answers(("other", "t"))


def test_a_scalar_subquery_is_its_one_value_or_null():
    one = lambda q, s: fake_query((7,), columns=[INT])  # noqa: E731
    none = lambda q, s: fake_query(columns=[INT])  # noqa: E731
    assert value("(select 1)", compile_subquery=one) == 7
    assert value("(select 1)", compile_subquery=none) is None


def test_a_scalar_subquery_of_two_rows_is_512_and_of_two_columns_116():
    rows = lambda q, s: fake_query((1,), (2,), columns=[INT])  # noqa: E731
    wide = lambda q, s: fake_query((1, 2), columns=[INT, INT])  # noqa: E731
    assert fails("(select 1)", compile_subquery=rows).number == 512
    assert fails("(select 1)", compile_subquery=wide).number == 116


def test_collate_makes_a_comparison_case_sensitive():
    assert holds("'a' = 'A'") is True
    assert holds("'a' collate Latin1_General_BIN2 = 'A'") is False
    assert holds("'a' = 'A' collate Latin1_General_CS_AS") is False


def test_collate_on_a_variable_does_not_stick_to_the_variable():
    given = {"@s": (nvarchar(10), "ABC")}
    assert holds("@s collate Latin1_General_BIN = N'abc'", given) is False
    assert holds("@s = N'abc'", given) is True


def test_two_explicit_collations_conflict():
    given = {"@s": (nvarchar(10), "x")}
    with pytest.raises(SqlError) as caught:
        holds("@s collate Latin1_General_BIN = @s collate Latin1_General_CS_AS", given)
    assert caught.value.number == 468


def test_unknown_collations_are_refused_by_name():
    assert "Turkish_CI_AS" in refused("'a' collate Turkish_CI_AS")
    assert find_collation("Turkish_CI_AS") is None


def test_collate_on_a_number_is_447():
    assert fails("1 collate Latin1_General_BIN").number == 447


def test_a_computed_replacement_stands_for_its_node():
    text = "a + 1"
    scope = scope_of(text)
    scope.replaced = lambda node: compiled("42") if isinstance(node, ast.BinaryOp) else None
    node = ast.BinaryOp(0, 5, "+", column("a"), ast.Literal(4, 5, "int", 1))
    assert compile_expression(node, scope).value == 42


def test_an_xml_value_cannot_be_compared():
    with pytest.raises(SqlError) as caught:
        holds("@x = @x", {"@x": (XML, "<a/>")})
    assert caught.value.number == 305
