"""The xml methods .value, .query, .exist and .nodes."""

from datetime import datetime
from decimal import Decimal

import pytest

from redial.tsql import ast
from redial.tsql.ast import Source
from redial.tsql.parser.queries import QueryParser
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, XML, nvarchar
from redial_broker.exec.expressions import ScopeColumn, compile_expression
from redial_broker.exec.xml.methods import XmlNode, compile_nodes

from ..evaluate import FakeSession, fails, refused, scope_of, typed, value

ORDERS = (
    '<orders><order id="1"><item>pen</item><item>ink</item></order>'
    '<order id="2" at="2026-03-05T01:02:03"><item>cup</item><price>1.50</price></order></orders>'
)
SSB = "http://schemas.microsoft.com/SQL/ServiceBroker/Error"
ERROR = f'<Error xmlns="{SSB}"><Code>-8425</Code><Description>it&apos;s gone</Description></Error>'
GIVEN = {
    "@x": (XML, ORDERS),
    "@e": (XML, ERROR),
    "@null": (XML, None),
    "@n": (INT, 2),
    "@s": (nvarchar(10), "cup"),
}


@pytest.mark.parametrize(
    ("path", "of", "expected"),
    [
        ("(/orders/order/@id)[2]", "int", 2),
        ("/orders[1]/order[1]/item[2]", "nvarchar(20)", "ink"),
        ("(//item)[3]", "varchar(2)", "cu"),
        ("(/orders/order/price)[1]", "decimal(9,2)", Decimal("1.50")),
        ("(/orders/order/@at)[1]", "datetime", datetime(2026, 3, 5, 1, 2, 3)),
        ("(/orders/none)[1]", "int", None),
        ("count(//item)", "int", 3),
        ("(/orders/order[@id=2]/item)[1]", "sysname", "cup"),
        ('(/orders/order[@id="2"]/item/text())[1]', "sysname", "cup"),
        ("data((//price)[1])", "float", 1.5),
        ("string((//item)[1])", "nvarchar(max)", "pen"),
        ("local-name((/*)[1])", "nvarchar(20)", "orders"),
        (".", "nvarchar(20)", "peninkcup1.50"),
        ("(/orders/*/item)[1]", "char(5)", "pen  "),
        ("(/orders/order/node())[1]", "varchar(9)", "pen"),
        ("/orders[1]/order[@id=2][1]/@id", "bigint", 2),
        ("(//order[last()]/item)[1]", "varchar(9)", "cup"),
        ("(//order[item[1] eq 'cup']/@id)[1]", "int", 2),
        ("'fixed'", "varchar(9)", "fixed"),
        ('(//order[@id=sql:variable("@n")]/item)[1]', "varchar(9)", "cup"),
        ('(//order[item=sql:variable("@s")]/@id)[1]', "int", 2),
        ("(//*:item)[1]", "varchar(9)", "pen"),
        ("not(//none)", "bit", 1),
        ("(/orders/order/item[contains(., 'u')])[1]", "varchar(9)", "cup"),
    ],
)
def test_value(path, of, expected):
    path = path.replace("'", "''")
    assert value(f"@x.value('{path}', '{of}')", GIVEN) == expected


def test_value_has_the_named_type_and_null_for_null():
    assert typed("@x.value('(/a)[1]', 'nvarchar(256)')", GIVEN) == "nvarchar(256)"
    assert value("@null.value('(/a)[1]', 'int')", GIVEN) is None


@pytest.mark.parametrize(
    "text",
    [
        f'declare namespace b="{SSB}"; (/b:Error/b:Code)[1]',
        f'declare default element namespace "{SSB}"; (/Error/Code)[1]',
        f'declare namespace b="{SSB}"; (//b:Error/b:Code)[1]',
        "(/*/*[local-name()=''Code''])[1]",
        "(//*:Code)[1]",
    ],
)
def test_namespaces_in_a_prolog(text):
    assert value(f"@e.value('{text}', 'int')", GIVEN) == -8425


def test_namespaces_of_the_statement():
    prefixed = {"b": SSB}
    default = {None: SSB}
    text = "@e.value('(/b:Error/b:Description)[1]', 'nvarchar(99)')"
    assert value(text, GIVEN, namespaces=prefixed) == "it's gone"
    assert value(text.replace("b:", ""), GIVEN, namespaces=default) == "it's gone"
    assert value(text.replace("b:", ""), GIVEN) is None


def test_a_default_namespace_does_not_apply_to_attributes():
    given_ = {"@x": (XML, '<a xmlns="u" k="7"/>')}
    assert value("@x.value('(/a/@k)[1]', 'int')", given_, namespaces={None: "u"}) == 7


@pytest.mark.parametrize(
    "path",
    [
        "/orders/order",
        "//item[1]",
        "(//item)",
        "/orders[1]/order/@id",
        "data(//item)",
        "/orders[1]/*",
        "//order[@id=1]",
    ],
)
def test_value_needs_a_singleton(path):
    error = fails(f"@x.value('{path}', 'int')", GIVEN)
    assert error.number == 2389
    assert error.text == (
        "XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of "
        "type 'xdt:untypedAtomic *'"
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("@x.value('(/a[)[1]', 'int')", 2209),
        ("@x.value('(/q:a)[1]', 'int')", 2229),
        ("@x.value('(/a)[1]')", 174),
        ("@x.value('(//item)[1]', 'int')", 245),
        ("@x.value('(/a)[1]', 'nosuch')", 9500),
        ("@x.value('(/a)[1]', 'xml')", 9500),
        ("@n.value('(/a)[1]', 'int')", 258),
        ("@x.value(@s, 'int')", 8172),
        ("@x.exist('')", 6306),
        ("@x.nodes('/a')", 227),
        ("@x.modify('delete /a')", 8137),
        ("@x.Value('(/a)[1]', 'int')", 227),
    ],
)
def test_errors(text, number):
    assert fails(text, GIVEN).number == number


def test_functions_that_need_a_schema_or_a_qname_are_refused_by_name():
    assert "XQuery function id()" in refused("@x.query('id(\"a\")')", GIVEN)
    assert "string() as a step" in refused("@x.query('/orders/string()')", GIVEN)


def test_query_returns_nodes_as_xml():
    assert value("@x.query('//order[@id=1]/item')", GIVEN) == "<item>pen</item><item>ink</item>"
    assert value("@x.query('.')", GIVEN) == ORDERS
    assert value("@x.query('/none')", GIVEN) == ""
    assert value("@null.query('/a')", GIVEN) is None
    assert value("@x.query('data(//@id)')", GIVEN) == "1 2"
    assert typed("@x.query('/a')", GIVEN) == "xml"


def test_exist_is_one_for_anything_and_zero_for_nothing():
    assert value("@x.exist('//item')", GIVEN) == 1
    assert value("@x.exist('//none')", GIVEN) == 0
    assert value("@x.exist('//none = 1')", GIVEN) == 1
    assert value("@null.exist('//none')", GIVEN) is None


def nodes(text, given_=GIVEN):
    call = QueryParser(Source(text)).expression()
    return compile_nodes(call, scope_of(text, given_))(
        FakeSession(), [v for _, v in given_.values()], ()
    )


def on_node(node, text):
    scope = scope_of(text)
    scope.columns = [ScopeColumn(("t",), "c", XML, 0)]
    expr = compile_expression(QueryParser(Source(text)).expression(), scope)
    return expr.fn(FakeSession(), [], (node,))


def test_nodes_returns_one_row_per_node_that_keeps_its_place():
    rows = nodes("@x.nodes('/orders/order/item')")
    assert len(rows) == 3
    assert all(isinstance(row, XmlNode) for row in rows)
    assert [on_node(row, "t.c.value('.', 'varchar(9)')") for row in rows] == ["pen", "ink", "cup"]
    assert [on_node(row, "t.c.value('../@id', 'int')") for row in rows] == [1, 1, 2]
    assert on_node(rows[0], "t.c.query('.')") == "<item>pen</item>"
    assert on_node(rows[0], "t.c.exist('text()')") == 1


def test_nodes_of_attributes_text_null_and_nothing():
    ids = nodes("@x.nodes('//@id')")
    assert [on_node(row, "t.c.value('.', 'int')") for row in ids] == [1, 2]
    assert on_node(ids[0], "t.c.value('../item[1]', 'varchar(9)')") == "pen"
    assert nodes("@null.nodes('/a')") == []
    assert nodes("@x.nodes('/none')") == []


def test_methods_of_a_cast_and_of_each_other():
    assert value("cast('<a>5</a>' as xml).value('(/a)[1]', 'int')") == 5
    assert value("@x.query('(//order)[2]').value('(/order/@id)[1]', 'int')", GIVEN) == 2


def test_a_column_is_reached_by_sql_column():
    text = "@x.exist('//order[@id=sql:column(\"t.k\")]')"
    scope = scope_of(text, GIVEN)
    scope.columns = [ScopeColumn(("t",), "k", INT, 0)]
    expr = compile_expression(QueryParser(Source(text)).expression(), scope)
    values = [v for _, v in GIVEN.values()]
    assert [expr.fn(FakeSession(), values, (k,)) for k in (2, 3, None)] == [1, 0, 0]


def test_an_undeclared_sql_variable_is_9501():
    with pytest.raises(SqlError) as caught:
        value("@x.exist('//a[. = sql:variable(\"@none\")]')", GIVEN)
    assert caught.value.number == 9501


def test_an_unknown_method_is_227():
    node = ast.MethodCall(0, 0, ast.Variable(0, 0, "@x"), "frob", [])
    with pytest.raises(SqlError) as caught:
        compile_expression(node, scope_of("", GIVEN))
    assert caught.value.number == 227


def test_a_nodes_column_is_no_value():
    from redial_broker.engine.types import NVARCHAR_MAX
    from redial_broker.exec.conversion import explicit_conversion, implicit_conversion
    from redial_broker.exec.conversion.rules import XML_NODES

    assert XML_NODES != XML
    for convert in (explicit_conversion, implicit_conversion):
        with pytest.raises(SqlError) as caught:
            convert(XML_NODES, NVARCHAR_MAX)
        assert caught.value.number == 493


def test_a_scope_takes_the_namespaces_of_a_statement():
    with_ = ast.With(
        0, 0, [ast.XmlNamespace(0, 0, SSB, "b"), ast.XmlNamespace(0, 0, "u", None)], []
    )
    outer = scope_of("", GIVEN, namespaces={"a": "v"})
    assert outer.naming(with_).namespaces == {"a": "v", "b": SSB, None: "u"}
    assert outer.naming(None) is outer
