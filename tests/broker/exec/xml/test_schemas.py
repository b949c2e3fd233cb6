"""XML schema collections: their DDL, types bound to them, validation, VALID_XML."""

import pytest

from tests.broker.exec.lab import Lab

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
ORDER = f"""<xs:schema {XS} targetNamespace="u" xmlns="u" elementFormDefault="qualified">
<xs:element name="r"><xs:complexType><xs:sequence>
<xs:element name="a" type="xs:decimal"/><xs:element name="b" type="xs:string" minOccurs="0"
 maxOccurs="2"/><xs:element name="n" type="Small" nillable="true" minOccurs="0"/></xs:sequence>
<xs:attribute name="k" use="required" type="xs:int"/></xs:complexType></xs:element>
<xs:simpleType name="Small"><xs:restriction base="xs:int"><xs:maxInclusive value="9"/>
</xs:restriction></xs:simpleType>
<xs:element name="t" type="xs:boolean"/></xs:schema>"""


@pytest.fixture(scope="module")
def typed():
    lab = Lab()
    lab.run(f"CREATE XML SCHEMA COLLECTION dbo.sc AS N'{ORDER}'")
    return lab


def test_the_catalog_shows_a_collection_and_its_namespace(typed):
    assert typed.rows(
        "SELECT xml_collection_id, schema_id, name FROM sys.xml_schema_collections "
        "WHERE name = 'sc'"
    ) == [(65536, 1, "sc")]
    assert typed.rows(
        "SELECT name, xml_namespace_id FROM sys.xml_schema_namespaces "
        "WHERE xml_collection_id = 65536"
    ) == [("u", 1)]
    assert typed.value(
        "SELECT CAST(XML_SCHEMA_NAMESPACE('dbo', 'sc') AS nvarchar(max))"
    ).startswith("<xs:schema")


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ('<r xmlns="u" k="+007"><a>1.50</a></r>', '<r xmlns="u" k="7"><a>1.5</a></r>'),
        (
            '<r xmlns="u" k="1"> <a>.5</a> <b> x </b></r>',
            '<r xmlns="u" k="1"><a>0.5</a><b> x </b></r>',
        ),
        ('<t xmlns="u">1</t><t xmlns="u">0</t>', '<t xmlns="u">true</t><t xmlns="u">false</t>'),
        ("", ""),
    ],
)
def test_typed_xml_is_stored_in_canonical_form(typed, body, stored):
    assert typed.value(f"DECLARE @x xml(dbo.sc) = '{body}'; SELECT @x") == stored


@pytest.mark.parametrize(
    ("body", "number", "said"),
    [
        ('<r k="x"><a>1</a></r>', 6926, "Invalid simple type value: 'x'. Location: /*:r[1]/@*:k"),
        ('<r k="1"><a>1</a><n>10</n></r>', 6926, "'10'. Location: /*:r[1]/*:n[1]"),
        ('<r k="1"><c/></r>', 6965, "Expected element(s): '{u}a'. Found: element '{u}c' instead."),
        ('<r k="1"/>', 6908, "Expected element(s): '{u}a'. Location: /*:r[1]"),
        ('<r k="1"><a>1</a><n>1</n><n>1</n></r>', 6923, "{u}n. Location: /*:r[1]/*:n[2]"),
        ("<z/>", 6913, "Declaration not found for element '{u}z'"),
        ("<r><a>1</a></r>", 6906, "Required attribute 'k' is missing."),
        ('<r k="1" q="2"><a>1</a></r>', 6905, "Attribute 'q' is not permitted"),
        ('<r k="1">t<a>1</a></r>', 6909, "Text node is not allowed at this location"),
        ("<t><q/></t>", 6912, "Element '{u}q' found in text only content model."),
    ],
)
def test_what_does_not_fit_ends_the_batch_with_its_number(typed, body, number, said):
    name = body[1]
    body = body.replace(f"<{name}", f'<{name} xmlns="u"', 1)
    sink = typed.send(f"DECLARE @x xml(sc) = '{body}'; PRINT 'not reached'")
    assert sink.errors[0].number == number
    assert said in sink.errors[0].text
    assert not sink.infos


def test_a_document_is_exactly_one_element(typed):
    assert (
        typed.error('DECLARE @x xml(DOCUMENT sc) = \'<t xmlns="u">1</t><t xmlns="u">1</t>\'')
        == 6901
    )
    typed.run('DECLARE @x xml(CONTENT sc) = \'<t xmlns="u">1</t><t xmlns="u">1</t>\'')


def test_a_typed_element_that_occurs_once_needs_no_position(typed):
    given = 'DECLARE @x xml(sc) = \'<r xmlns="u" k="1"><a>2.50</a></r>\';'
    prolog = 'declare default element namespace "u";'
    once = f"{given} SELECT @x.value('{prolog} /r[1]/a', 'decimal(9,2)')"
    assert str(typed.value(once)) == "2.50"
    assert typed.value(f"{given} SELECT @x.value('{prolog} (/r/a)[1] + 1', 'varchar(9)')") == "3.5"
    said = typed.send(f"{given} SELECT @x.value('{prolog} /r/a', 'int')").errors[0]
    assert (said.number, "'xs:decimal *'" in said.text) == (2389, True)


def test_a_document_has_one_top_element_by_its_type(typed):
    given = "DECLARE @x xml(DOCUMENT sc) = '<t xmlns=\"u\">1</t>';"
    path = 'declare default element namespace "u"; /t'
    assert typed.value(f"{given} SELECT @x.value('{path}', 'bit')") == 1
    assert (
        typed.send(f"{given.replace('DOCUMENT', 'CONTENT')} SELECT @x.value('{path}', 'bit')")
        .errors[0]
        .number
        == 2389
    )


def test_a_typed_column_is_checked_whenever_it_is_written():
    lab = Lab()
    lab.run(f"CREATE XML SCHEMA COLLECTION sc AS N'{ORDER}'")
    lab.run(
        "CREATE TABLE t (id int, x xml(DOCUMENT sc)); "
        'INSERT t VALUES (1, \'<r xmlns="u" k="1"><a>1</a><n>3</n></r>\')'
    )
    assert lab.rows(
        "SELECT xml_collection_id, is_xml_document FROM sys.columns "
        "WHERE object_id = OBJECT_ID('t')"
    ) == [(0, 0), (65536, 1)]
    prolog = 'declare namespace p="u";'
    lab.run(f"UPDATE t SET x.modify('{prolog} replace value of (/p:r/p:a)[1] with 5.50')")
    assert "<a>5.5</a>" in lab.value("SELECT CAST(x AS nvarchar(max)) FROM t")
    assert lab.error(f"UPDATE t SET x.modify('{prolog} insert <z/> into (/p:r)[1]')") == 6923
    assert (
        lab.error(f"UPDATE t SET x.modify('{prolog} replace value of (/p:r/p:a)[1] with \"x\"')")
        == 2247
    )
    lab.run(f"UPDATE t SET x.modify('{prolog} replace value of (/p:r/p:n)[1] with ()')")
    assert 'xsi:nil="true"' in lab.value("SELECT CAST(x AS nvarchar(max)) FROM t")
    assert lab.error("DROP XML SCHEMA COLLECTION sc") == 6328
    lab.run("DROP TABLE t; DROP XML SCHEMA COLLECTION sc")
    assert lab.error("DROP XML SCHEMA COLLECTION sc") == 3701


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("<a/>", 2378),
        ("<a>", 9400),
        (f'<xs:schema {XS}><xs:element name="a" type="b"/></xs:schema>', 2307),
        (f'<xs:schema {XS}><xs:element name="a"/><xs:element name="a"/></xs:schema>', 2302),
        (f'<xs:schema {XS}><xs:include schemaLocation="x"/></xs:schema>', 9336),
        (f'<xs:schema {XS}><xs:redefine schemaLocation="x"/></xs:schema>', 2391),
    ],
)
def test_texts_no_collection_is_made_of(typed, text, number):
    assert typed.error(f"CREATE XML SCHEMA COLLECTION other AS N'{text}'") == number


def test_a_name_stands_for_one_collection(typed):
    assert typed.error(f"CREATE XML SCHEMA COLLECTION sc AS N'{ORDER}'") == 6348
    assert typed.error("ALTER XML SCHEMA COLLECTION nope ADD N''") == 6347
    assert typed.error("DECLARE @x xml(nope)") == 6314
    assert typed.error("CREATE XML SCHEMA COLLECTION n AS 5") == 6352
    assert typed.error("DECLARE @t nvarchar(9); CREATE XML SCHEMA COLLECTION n AS @t") == 6361


def test_alter_adds_components_and_rolls_back():
    lab = Lab()
    lab.run(
        f'CREATE XML SCHEMA COLLECTION s AS N\'<xs:schema {XS} targetNamespace="v" '
        'xmlns="v"><xs:complexType name="c"><xs:attribute name="i" type="xs:int"/>'
        f'</xs:complexType></xs:schema><xs:schema {XS} targetNamespace="w" xmlns:v="v">'
        '<xs:import namespace="v"/><xs:element name="e" type="v:c"/></xs:schema>\''
    )
    add = (
        f'ALTER XML SCHEMA COLLECTION s ADD N\'<xs:schema {XS} targetNamespace="w">'
        '<xs:element name="f" type="xs:int"/></xs:schema>\''
    )
    assert lab.error('DECLARE @x xml(s) = \'<e xmlns="w" i="q"/>\'') == 6926
    lab.run(f"BEGIN TRANSACTION; {add}; ROLLBACK")
    assert lab.error("DECLARE @x xml(s) = '<f xmlns=\"w\">03</f>'") == 6913
    lab.run(add)
    assert (
        lab.value("DECLARE @x xml(s) = '<f xmlns=\"w\">03</f>'; SELECT @x") == '<f xmlns="w">3</f>'
    )
    assert lab.error(add) == 6310


def test_a_parameter_is_checked_and_shown():
    lab = Lab()
    lab.run(f"CREATE XML SCHEMA COLLECTION sc AS N'{ORDER}'")
    lab.run("CREATE PROCEDURE p @x xml(sc) AS SELECT CAST(@x AS nvarchar(99))")
    assert lab.value("EXEC p '<t xmlns=\"u\">1</t>'") == '<t xmlns="u">true</t>'
    assert lab.error("EXEC p '<q/>'") == 6913
    assert (
        lab.value("SELECT xml_collection_id FROM sys.parameters WHERE object_id = OBJECT_ID('p')")
        == 65536
    )
    assert lab.error("DROP XML SCHEMA COLLECTION sc") == 6328


def test_a_message_that_is_not_valid_comes_back_as_an_error():
    """The sender is told with 9615 (message types page; F-221)."""
    lab = Lab()
    lab.run(f"""CREATE XML SCHEMA COLLECTION sc AS N'{ORDER}';
        CREATE MESSAGE TYPE m VALIDATION = VALID_XML WITH SCHEMA COLLECTION sc;
        CREATE CONTRACT c (m SENT BY ANY); CREATE QUEUE iq; CREATE QUEUE tq;
        CREATE SERVICE i ON QUEUE iq; CREATE SERVICE t ON QUEUE tq (c);""")
    assert lab.rows(
        "SELECT validation, xml_collection_id FROM sys.service_message_types WHERE name = 'm'"
    ) == [("X ", 65536)]
    send = """DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE i TO SERVICE 't'
        ON CONTRACT c WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h MESSAGE TYPE m ('{}')"""
    lab.run(send.format('<t xmlns="u">1</t>'))
    assert len(lab.rows("RECEIVE * FROM tq")) == 1
    lab.run(send.format("<z/>"))
    told = lab.value(
        "RECEIVE CAST(message_body AS xml).value('(/*/*:Code)[1]', 'int') AS c FROM tq"
    )
    assert told == -9616, "the target is told too, though it was the first message (F-366)"
    body = lab.value(
        "RECEIVE CAST(message_body AS xml).value("
        "'(/*/*:Description)[1]', 'nvarchar(max)') AS d FROM iq"
    )
    assert "Declaration not found for element 'z'" in body
    assert lab.error("DROP XML SCHEMA COLLECTION sc") == 6328


def test_a_schema_that_lxml_cannot_read_is_refused_by_name(typed):
    text = f'<xs:schema {XS}><xs:elemnt name="a"/></xs:schema>'
    assert "this XML schema" in typed.refusal(f"CREATE XML SCHEMA COLLECTION o AS N'{text}'")


def test_a_schema_with_a_collection_in_it_stays():
    lab = Lab()
    lab.run("CREATE SCHEMA own")
    lab.run(f"CREATE XML SCHEMA COLLECTION own.c AS N'{ORDER}'")
    assert lab.error("DROP SCHEMA own") == 3729
    lab.run("DROP XML SCHEMA COLLECTION own.c; DROP SCHEMA own")
