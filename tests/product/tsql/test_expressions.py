"""Values and conditions: what binds how."""

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch
from redial.tsql.ast import (
    And,
    BinaryOp,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Exists,
    FunctionCall,
    GlobalVariable,
    Identifier,
    InList,
    InQuery,
    Literal,
    MethodCall,
    Node,
    Not,
    Or,
    ScalarSubquery,
    UnaryOp,
    Variable,
)
from redial.tsql.parser.cursor import MAX_CHAIN, MAX_DEPTH


def show(node: Node) -> str:
    """Fully parenthesised text of a small expression."""
    match node:
        case BinaryOp(op=op, left=left, right=right) | Comparison(op=op, left=left, right=right):
            return f"({show(left)} {op} {show(right)})"
        case UnaryOp(op=op, operand=operand):
            return f"({op}{show(operand)})"
        case And(operands=operands):
            return "(" + " AND ".join(map(show, operands)) + ")"
        case Or(operands=operands):
            return "(" + " OR ".join(map(show, operands)) + ")"
        case Not(operand=operand):
            return f"(NOT {show(operand)})"
        case Literal(value=value):
            return str(value)
        case Variable(name=name) | GlobalVariable(name=name):
            return name
        case ColumnRef(parts=parts):
            return ".".join(parts)
    return type(node).__name__


def value(sql: str) -> Node:
    """The value of a SELECT's only item."""
    return parse_batch(f"SELECT {sql}").statements[0].query.body.items[0].value


def condition(sql: str) -> Node:
    """The condition of an IF."""
    return parse_batch(f"IF {sql} PRINT 1").statements[0].condition


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 * 2 + 3", "((1 * 2) + 3)"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("1 + 2 & 3 | 4 ^ 5", "((((1 + 2) & 3) | 4) ^ 5)"),
        ("8 / 4 % 3 * 2", "(((8 / 4) % 3) * 2)"),
        ("(1 + 2) * 3", "((1 + 2) * 3)"),
        ("-a * ~b", "((-a) * (~b))"),
        ("- -1", "(-(-1))"),
        ("@a + t.b", "(@a + t.b)"),
    ],
)
def test_operators_bind_as_documented(sql, expected):
    assert show(value(sql)) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a = 1 OR b = 2 AND c = 3", "((a = 1) OR ((b = 2) AND (c = 3)))"),
        ("(a = 1 OR b = 2) AND c = 3", "(((a = 1) OR (b = 2)) AND (c = 3))"),
        ("NOT a = 1 AND b = 2", "((NOT (a = 1)) AND (b = 2))"),
        ("NOT NOT a = 1", "(NOT (NOT (a = 1)))"),
        ("a = 1 AND b = 2 AND c = 3", "((a = 1) AND (b = 2) AND (c = 3))"),
        ("((a)) = ((1))", "(a = 1)"),
        ("((a + 1) * 2) > 3", "(((a + 1) * 2) > 3)"),
        ("(((a = 1)))", "(a = 1)"),
        ("a != 1", "(a <> 1)"),
        ("a !< 1", "(a >= 1)"),
        ("a !> 1", "(a <= 1)"),
        ("a > = 1", "(a >= 1)"),
        ("@@TRANCOUNT > 0", "(@@TRANCOUNT > 0)"),
    ],
)
def test_conditions_bind_as_documented(sql, expected):
    assert show(condition(sql)) == expected


def test_a_case_inside_parentheses_does_not_make_them_a_condition():
    found = condition("(CASE WHEN a = 1 THEN 2 END) = 2")
    assert isinstance(found, Comparison)
    assert isinstance(found.left, Case)


def test_subqueries_as_value_list_and_test():
    assert isinstance(value("(SELECT 1)"), ScalarSubquery)
    assert isinstance(value("((SELECT 1) + 2)"), BinaryOp)
    assert isinstance(value("((SELECT 1) UNION SELECT 2)"), ScalarSubquery)
    assert isinstance(condition("a IN (SELECT 1)"), InQuery)
    assert isinstance(condition("a IN (1, (SELECT 2))"), InList)
    assert isinstance(condition("EXISTS (SELECT 1)"), Exists)
    assert isinstance(condition("(SELECT 1) = 1").left, ScalarSubquery)


def test_a_date_part_is_a_word_not_a_column():
    call = value("DATEADD(second, -1, a)")
    assert isinstance(call.arguments[0], Identifier)
    assert call.arguments[0].text == "second"


def test_functions_with_reserved_names_are_calls():
    assert [type(value(sql)) for sql in ("LEFT(a, 1)", "COALESCE(a, 1)", "CURRENT_TIMESTAMP")] == [
        FunctionCall
    ] * 3
    assert value("CURRENT_TIMESTAMP").without_parentheses


def test_words_of_functions_are_columns_without_a_parenthesis():
    assert isinstance(value("[LEFT]"), ColumnRef)
    for word in ("cast", "iif", "parse", "trim", "next", "dateadd"):
        assert isinstance(value(word), ColumnRef), word


def test_an_xml_method_of_a_column_is_told_from_a_function_of_a_schema_by_case():
    method = value("t.x.value('.', 'int')")
    assert isinstance(method, MethodCall)
    assert method.target.parts == ("t", "x")
    assert isinstance(value("dbo.VALUE(1)"), FunctionCall)
    assert isinstance(value("dbo.f(1).value('.', 'int')"), MethodCall)


def test_casts_keep_type_and_style():
    cast = value("CONVERT(NVARCHAR(10), @a, 126)")
    assert isinstance(cast, Cast)
    assert (cast.function, cast.data_type.name.name) == ("CONVERT", "NVARCHAR")
    assert (cast.data_type.arguments, cast.style.value) == ((10,), 126)
    assert value("CAST(a AS VARBINARY(MAX))").data_type.arguments == ("MAX",)
    assert value("CAST(a AS DOUBLE PRECISION)").data_type.name.name == "float"


@pytest.mark.parametrize("opening", ["(", "(1 + ", "f(", "CASE WHEN 1 = 1 THEN ", "(SELECT "])
def test_nesting_without_end_is_error_191(opening):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("SELECT " + opening * 5000)
    assert caught.value.number == 191


@pytest.mark.parametrize(
    "opening", ["(", "NOT ", "NOT (", "(a = 1 AND ", "EXISTS (SELECT 1 WHERE "]
)
def test_nested_conditions_without_end_are_error_191(opening):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch("IF " + opening * 5000)
    assert caught.value.number == 191


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN " * 5000,
        "IF 1 = 1 " * 5000,
        "SELECT 1 FROM " + "(" * 5000,
        "SELECT 1 FROM a" + " JOIN a" * 5000,
        "SELECT " + "-".join(" " * 5000) + "1",
        "SELECT 1" + " + 1" * 5000,
        "SELECT 1" + " UNION SELECT 1" * 5000,
        "SELECT 1" + " COLLATE x" * 5000,
        "EXEC (@a" + " + @a" * 5000 + ")",
    ],
)
def test_other_nesting_without_end_is_error_191(sql):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch(sql)
    assert caught.value.number == 191


def test_nesting_and_chains_up_to_the_limits_parse():
    assert parse_batch("SELECT " + "(" * (MAX_DEPTH - 4) + "1" + ")" * (MAX_DEPTH - 4))
    assert parse_batch("SELECT 1" + " + 1" * MAX_CHAIN)
    assert parse_batch("IF 1 = 1" + " AND 1 = 1" * 5000 + " PRINT 1")


def test_long_lists_are_not_nesting():
    assert parse_batch("SELECT 1 WHERE 1 IN (" + ", ".join(["1"] * 5000) + ")")
    assert parse_batch("DECLARE @a INT\n" + "SET @a = 1\n" * 5000)
