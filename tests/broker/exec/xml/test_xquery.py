"""XQuery as the server has it: what expressions yield, and what their shape forbids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from redial_broker.exec.xml.methods import written
from redial_broker.exec.xml.nodes import Writer, fresh_tree, tree_of
from redial_broker.exec.xml.xquery import compile_xquery

SHOP = '<r><a x="1"><b>7</b></a><a x="2"><b>10</b><b>3</b></a><c>t</c></r>'


def query(text, xml=SHOP, namespaces=None):
    compiled = compile_xquery(text, namespaces or {}, "query()")
    return written(compiled.run(tree_of(xml)), compiled.prolog)


def static_error(text):
    with pytest.raises(SqlError) as caught:
        compile_xquery(text, {}, "query()")
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/r/c", "<c>t</c>"),
        ("//b", "<b>7</b><b>10</b><b>3</b>"),
        ("//a/../c", "<c>t</c>"),
        ("/r/a[@x=2]/b[1]", "<b>10</b>"),
        ("(//b)[last()]", "<b>3</b>"),
        ("//b[position()=1]", "<b>7</b><b>10</b>"),
        ("/r/a[not(b[2])]/@x/..", '<a x="1"><b>7</b></a>'),
        ("/r/child::c", "<c>t</c>"),
        ("/r/descendant::b[2]", "<b>10</b>"),
        ("/r/a/attribute::x/parent::a/self::a[b=3]/b[2]", "<b>3</b>"),
        ("/descendant-or-self::c", "<c>t</c>"),
        ("//c/text()", "t"),
        ("r/c", "<c>t</c>"),
        ("c", ""),
        ("/r/(c)", "<c>t</c>"),
        ("/r/*[local-name()='c']", "<c>t</c>"),
        ("/r/*:c", "<c>t</c>"),
        ("(1,2,3)[. > 1]", "2 3"),
        ("/r/a[b=7][1]/@x/../b", "<b>7</b>"),
    ],
)
def test_paths(text, expected):
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for $i in /r/a order by $i/@x descending return <o n='{$i/@x}'/>",
            '<o n="2"/><o n="1"/>',
        ),
        ("for $i in /r/a, $b in $i/b where $b > 5 return data($b)", "7 10"),
        ("let $n := /r/a return count($n)", "2"),
        ("for $i in (3,1,2) order by $i return $i", "1 2 3"),
        ("for $i in //b order by $i return data($i)", "10 3 7"),
        ("for $i in //b order by number($i) return data($i)", "3 7 10"),
        ("for $i in /r/* stable order by $i/@x return local-name($i)", "c a a"),
        ("some $i in //b satisfies $i = 7", "true"),
        ("every $i in //b satisfies $i > 5", "false"),
        ("some $i in () satisfies true()", "false"),
        ("every $i in //zz satisfies false()", "true"),
        ("if (/r/c) then 'y' else 'n'", "y"),
        ("if (/r/z) then 'y' else ()", ""),
    ],
)
def test_flwor_quantified_and_conditional(text, expected):
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(//b)", "3"),
        ("sum(//b)", "20"),
        ("avg(//b)", "6.66666666666667"),
        ("max(//b)", "10"),
        ("min(//b)", "3"),
        ("sum(())", "0"),
        ("avg(())", ""),
        ("sum((1,2.5))", "3.5"),
        ("avg((1,2))", "1.5"),
        ("max(('a','b'))", "b"),
        ("concat('a', string((//b)[1]), ())", "a7"),
        ("contains('abc','bc')", "true"),
        ("substring('hello', 2, 3)", "ell"),
        ("substring('hello', 2)", "ello"),
        ("substring('hello', 0, 3)", "he"),
        ("string-length('abc')", "3"),
        ("upper-case('aß')", "ASS"),
        ("lower-case('AB')", "ab"),
        ("string((//c)[1])", "t"),
        ("number((//b)[2])", "10"),
        ("number((//c)[1])", ""),
        ("not(//zz)", "true"),
        ("empty(//zz)", "true"),
        ("true() and false()", "false"),
        ("namespace-uri((/*)[1])", ""),
        ("distinct-values(('a','b','a'))", "a b"),
        ("data(/r/a/@x)", "1 2"),
        ("floor(-1.5)", "-2"),
        ("ceiling(1.2)", "2"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-2"),
        ("local-name(/r[1])", "r"),
        ("fn:count(//b)", "3"),
    ],
)
def test_functions(text, expected):
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4", "14"),
        ("1 div 3", "0.333333"),
        ("7 mod 3", "1"),
        ("-5 mod 3", "-2"),
        ("1 div 0", ""),
        ("- (//b)[1]", "-7"),
        ("(//b)[1] + 1", "8"),
        ("1.5 * 2", "3"),
        ("1e6 + 1", "1.000001E6"),
        ("(//c)[1] + 1", ""),
        ("() + 1", ""),
        ("'a' < 'b'", "true"),
        ("//b = 10", "true"),
        ("//b != 7", "true"),
        ("/r/zz = 1", "false"),
        ("(//b)[1] eq 7", "true"),
        ("(//zz)[1] eq 7", ""),
        ("(//b)[1] lt (//b)[2]", "false"),
        ("(//b)[1] is (/r/a)[1]/b[1]", "true"),
        ("(//b)[1] << (//b)[2]", "true"),
        ("(//b)[1] >> (//b)[2]", "false"),
        ("//c = 't'", "true"),
        ("//c = 1", "false"),
    ],
)
def test_operators(text, expected):
    """Untyped values compare as numbers beside a number and by code point beside text."""
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xs:integer('5') + 1", "6"),
        ("'5' cast as xs:int?", "5"),
        ("xs:integer(1.7)", "1"),
        ("(//c)[1] cast as xs:int?", ""),
        ("xs:decimal('1.50')", "1.5"),
        ("xs:boolean('1')", "true"),
        ("xs:date('2026-03-05') < xs:date('2026-03-06')", "true"),
        ("1 instance of xs:decimal", "true"),
        ("1.5 instance of xs:integer", "false"),
        ("(/r/c)[1] instance of element(c)", "true"),
        ("(/r/c)[1] instance of text()?", "false"),
        ("() instance of empty()", "true"),
    ],
)
def test_types(text, expected):
    assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<x>{1, 2}</x>", "<x>1 2</x>"),
        ("<x> {1} </x>", "<x>1</x>"),
        ("<x>{1}{2}</x>", "<x>12</x>"),
        ("<x a='{(//b)[1]}' c='k'>t<!--n--><?p d?></x>", '<x a="7" c="k">t<!--n--><?p d?></x>'),
        ("<x>{//b}</x>", "<x><b>7</b><b>10</b><b>3</b></x>"),
        ("<x>{{}}&lt;</x>", "<x>{}&lt;</x>"),
        ("<x>{/r/a[1]/@x}</x>", '<x x="1"/>'),
        ("<x><![CDATA[<&]]></x>", "<x>&lt;&amp;</x>"),
        ("element e {attribute q {1, 2}}", '<e q="1 2"/>'),
        ("text {'a', 'b'}", None),
        ("element e {text {'a'}}", "<e>a</e>"),
        ("<x><y/> k </x>", "<x><y/> k </x>"),
        ("<!--c-->", "<!--c-->"),
        ("<?t  d?>", "<?t d?>"),
        ("declare namespace p='u'; <p:x/>", '<p:x xmlns:p="u"/>'),
        ("declare default element namespace 'u'; <x/>", '<x xmlns="u"/>'),
        ("<x xmlns='v'><y/></x>", '<x xmlns="v"><y/></x>'),
    ],
)
def test_constructors(text, expected):
    if expected is None:
        assert static_error(text).number == 2205
    else:
        assert query(text) == expected


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        (
            "/r/p[b eq 1]",
            2389,
            "'eq' requires a singleton (or empty sequence), found operand of "
            "type 'xdt:untypedAtomic *'",
        ),
        ("contains(/r/a, 'x')", 2389, "'contains()' requires a singleton"),
        ("string(/r/b)", 2389, "found operand of type 'element(b,xdt:untyped) *'"),
        ("//b + 1", 2389, "'+' requires"),
        ("let $i := (1,2) order by $i return $i", 2389, "found operand of type 'xs:integer +'"),
        ("/r/a[", 2209, "Syntax error near '<eof>'"),
        ("/r/a[., .]", 9303, "expected ']'"),
        ("/q:r", 2229, 'The name "q" does not denote a namespace.'),
        ("/ancestor::r", 9335, "'ancestor' is not supported"),
        ("/r/b::c", 2392, "'b::'"),
        ("1 to 3", 9335, "'to'"),
        ("5 idiv 2", 9335, "'idiv'"),
        ("/r/a | /r/c", 9335, "'|'"),
        ("starts-with('a','b')", 2395, "{http://www.w3.org/2004/07/xpath-functions}:starts-with()"),
        ("contains('a')", 2236, 'in the call to function "contains()"'),
        ("count(1, 2)", 2238, "function 'count()'"),
        ("position()", 2371, "'position()'"),
        ("/r['a']", 2203, "found 'xs:string'"),
        ("not(1)", 2204, "found 'xs:integer'"),
        ("if ('a') then 1 else 2", 2204, "found 'xs:string'"),
        ("('a', /r/a)", 2210, "found 'xs:string' and 'element(a,xdt:untyped) *'"),
        ("'a' = 1", 2234, 'The operator "=" cannot be applied to "xs:string" and "xs:integer"'),
        ("'a' + 1", 9308, "Found argument of type 'xs:string'"),
        ("concat('a', 1)", 2364, "Cannot implicitly convert from 'xs:integer' to 'xs:string'"),
        ("number('1')", 2374, "A node or set of nodes is required for number()"),
        ("xs:integer('abc')", 9319, "Invalid simple type value 'abc'"),
        ("/r/a cast as xs:int?", 2365, "from 'xdt:untypedAtomic *' to 'xs:int'"),
        ("1 cast as xs:int", 9301, "cast as"),
        ("$n", 2227, "'$n'"),
        ("<a/>/b", 2373, "'/' is not supported with constructed XML"),
        ("count(<a/>)", 2373, "count()"),
        ("for $x in <a/> return 1", 2373, "'for'"),
        ("for $i at $p in //b return $i", 9335, "'at'"),
        ("for $i in //b $i", 9332, "'$'"),
        ("element {'a'} {1}", 9315, "constant expressions"),
        ("comment {'a'}", 9326, "comment"),
        ("<a b='{1}x'/>", 9313, "multiple expressions"),
        ("<a></b>", 2323, "'b' doesn't match opening tag 'a'"),
        ("'&nope;'", 2282, "entity"),
        ("declare function local:f() {1}; 1", 9335, "declare function"),
        ("(: open", 2340, "Comment started on line 1"),
        ("'open", 2274, "line 1"),
    ],
)
def test_static_errors_name_the_method_and_what_they_found(text, number, said):
    error = static_error(text)
    assert error.number == number
    assert error.text.startswith("XQuery [query()]: ")
    assert said in error.text


def test_an_empty_text_is_no_expression():
    assert static_error("  ").number == 6306


@pytest.mark.parametrize(
    ("text", "xml", "expected"),
    [
        ("/r/a", '<r xmlns:p="urn:p"><a><p:b/></a></r>', '<a><p1:b xmlns:p1="urn:p"/></a>'),
        ("declare default element namespace 'u'; /r/a", '<r xmlns="u"><a/></r>', '<a xmlns="u"/>'),
        ("/*:r/*:a", '<r xmlns="u"><a k="1"/></r>', '<p1:a xmlns:p1="u" k="1"/>'),
        (
            "declare namespace q='u'; /q:r/q:a",
            '<p:r xmlns:p="u"><p:a/></p:r>',
            '<q:a xmlns:q="u"/>',
        ),
        ("/", '<r xmlns:p="urn:p"><p:b/></r>', '<r xmlns:p="urn:p"><p:b/></r>'),
    ],
)
def test_a_node_out_of_its_document_declares_the_namespaces_it_uses(text, xml, expected):
    assert query(text, xml) == expected


def test_the_order_of_the_document_holds_behind_descendants():
    xml = "<r><a><b>a1</b><c><b>c1</b></c></a><b>r1</b><a><b>a2</b></a></r>"
    assert query("data(//b)", xml) == "a1 c1 r1 a2"
    assert query("(//b)[2]", xml) == "<b>c1</b>"


def test_attributes_alone_are_no_xml():
    with pytest.raises(SqlError) as caught:
        query("/r/a[1]/@x, /r/c")
    assert caught.value.number == 6307


@given(
    st.recursive(
        st.text("ab<&\"\n\t\r>'é", max_size=5),
        lambda inner: st.tuples(
            st.sampled_from("pq"),
            st.dictionaries(st.sampled_from("xy"), st.text('a"<&\n\t', max_size=4)),
            st.lists(inner, max_size=3),
        ),
        max_leaves=8,
    )
)
def test_any_tree_is_written_so_that_it_reads_the_same(tree):
    from redial_broker.exec.xml.nodes import escape_text, escape_value

    def text(part):
        if isinstance(part, str):
            return escape_text(part)
        name, marks, inner = part
        shown = "".join(f' {k}="{escape_value(v)}"' for k, v in marks.items())
        body = "".join(map(text, inner))
        return f"<{name}{shown}>{body}</{name}>" if body else f"<{name}{shown}/>"

    xml = text(tree)
    assert Writer().write([fresh_tree(xml)]) == xml


def test_an_instance_has_at_most_128_levels():
    fresh_tree("<a>" * 128 + "</a>" * 128)
    with pytest.raises(SqlError) as caught:
        fresh_tree("<a>" * 129 + "</a>" * 129)
    assert caught.value.number == 6335
