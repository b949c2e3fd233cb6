"""FOR XML RAW and PATH."""

import pytest


def test_path_makes_an_element_per_column(lab):
    assert lab.value("SELECT id, name FROM person WHERE id < 3 ORDER BY id FOR XML PATH") == (
        "<row><id>1</id><name>Ann</name></row><row><id>2</id><name>Bob</name></row>"
    )


def test_path_names_say_where_values_go(lab):
    assert lab.value(
        "SELECT 1 AS '@a', 'x' AS 'p/q', 'y' AS 'p/r', 'z' AS 'text()' "
        "FOR XML PATH('e'), ROOT('all')"
    ) == ('<all><e a="1"><p><q>x</q><r>y</r></p>z</e></all>')


def test_an_attribute_of_an_inner_element(lab):
    assert lab.value("SELECT 1 AS 'p/@a', 'x' AS 'p' FOR XML PATH('')") == '<p a="1">x</p>'


def test_neighbours_of_one_name_share_an_element(lab):
    assert lab.value("SELECT 'a' AS td, 'b' AS td, '', 'c' AS td FOR XML PATH('tr')") == (
        "<tr><td>ab</td><td>c</td></tr>"
    )


def test_the_old_way_to_join_strings(lab):
    assert (
        lab.value(
            "SELECT STUFF((SELECT ',' + name FROM person ORDER BY id FOR XML PATH('')), 1, 1, '')"
        )
        == "Ann,Bob,Cid,Dee"
    )
    assert (
        lab.value(
            "SELECT (SELECT name + ' & <' FROM person WHERE id = 1 FOR XML PATH(''), TYPE)"
            ".value('.', 'nvarchar(50)')"
        )
        == "Ann & <"
    )


def test_null_is_left_out_and_special_characters_are_escaped(lab):
    assert (
        lab.value(
            "SELECT id AS '@id', score, '<&>\"' AS t FROM person WHERE id = 3 FOR XML PATH('p')"
        )
        == '<p id="3"><t>&lt;&amp;&gt;"</t></p>'
    )


def test_type_gives_an_xml_value_that_nests(lab):
    sink = lab.run(
        "SELECT t.id AS '@id', (SELECT p.name AS n FROM person p WHERE p.team = t.id "
        "ORDER BY p.id FOR XML PATH(''), TYPE) FROM team t WHERE t.id < 30 "
        "ORDER BY t.id FOR XML PATH('team'), TYPE"
    )
    assert sink.result_sets[0].columns[0].type.name == "xml"
    assert sink.one() == (
        '<team id="10"><n>Ann</n><n>Bob</n></team><team id="20"><n>Cid</n></team>'
    )


def test_raw_gives_attributes_or_elements(lab):
    assert lab.value("SELECT id, name FROM person WHERE id = 1 FOR XML RAW") == (
        '<row id="1" name="Ann"/>'
    )
    assert lab.value(
        "SELECT id, score FROM person WHERE id = 3 FOR XML RAW('p'), ELEMENTS XSINIL"
    ) == (
        '<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id>3</id>'
        '<score xsi:nil="true"/></p>'
    )


def test_no_rows_give_no_row_or_null(lab):
    assert lab.rows("SELECT id FROM person WHERE id = 9 FOR XML PATH") == []
    assert lab.rows("SELECT (SELECT id FROM person WHERE id = 9 FOR XML PATH, TYPE)") == [(None,)]


def test_dates_and_binary(lab):
    assert (
        lab.value(
            "SELECT CAST('2026-01-02T03:04:05' AS datetime) AS d, 0x0102 AS b FOR XML PATH('')"
        )
        == "<d>2026-01-02T03:04:05</d><b>AQI=</b>"
    )


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT 'x' AS a, 1 AS '@b' FOR XML PATH", 6852),
        ("SELECT 1 AS '@b' FOR XML PATH('')", 6864),
        ("SELECT 1 FOR XML RAW", 6809),
    ],
)
def test_a_wrong_shape_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


def test_inline_schemas_are_refused_by_name(lab):
    assert "FOR XML with XMLSCHEMA" in lab.refusal("SELECT id FROM person FOR XML RAW, XMLSCHEMA")
    assert "FOR XML with XMLDATA" in lab.refusal("SELECT id FROM person FOR XML AUTO, XMLDATA")
    assert lab.error("SELECT id FROM person FOR XML PATH, XMLSCHEMA") == 6855


def test_no_rows_have_no_root_either(lab):
    assert lab.rows("SELECT id FROM person WHERE id = 9 FOR XML PATH, ROOT('r')") == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT p.id, p.name FROM person p WHERE p.id < 3 FOR XML AUTO",
            '<p id="1" name="Ann"/><p id="2" name="Bob"/>',
        ),
        (
            "SELECT t.title, p.name, t.id FROM team t JOIN person p ON p.team = t.id ORDER BY t.id, p.id "
            "FOR XML AUTO",
            '<t title="red" id="10"><p name="Ann"/><p name="Bob"/></t>'
            '<t title="green" id="20"><p name="Cid"/></t>',
        ),
        (
            "SELECT t.id, p.name FROM team t LEFT JOIN person p ON p.team = t.id WHERE t.id > 10 "
            "ORDER BY t.id FOR XML AUTO, ELEMENTS, ROOT('all')",
            "<all><t><id>20</id><p><name>Cid</name></p></t><t><id>30</id><p/></t></all>",
        ),
        ("SELECT 1 + id AS a FROM dbo.person WHERE id = 1 FOR XML AUTO", '<dbo.person a="2"/>'),
        (
            "SELECT id AS [a b] FROM person AS [x y] WHERE id = 1 FOR XML AUTO",
            '<x_x0020_y a_x0020_b="1"/>',
        ),
        (
            "SELECT score, id FROM person AS p WHERE id = 3 FOR XML AUTO, ELEMENTS XSINIL",
            '<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><score xsi:nil="true"/>'
            "<id>3</id></p>",
        ),
    ],
)
def test_auto_nests_one_element_per_source(lab, sql, expected):
    assert lab.value(sql) == expected


def test_auto_addresses_binary_data_by_its_key(lab):
    lab.run(
        "CREATE TABLE pic (id int PRIMARY KEY, data varbinary(9)); "
        "INSERT pic VALUES (1, 0x0102), (2, NULL)"
    )
    assert lab.value("SELECT id, data FROM pic FOR XML AUTO") == (
        '<pic id="1" data="dbobject/pic[@id=\'1\']/@data"/><pic id="2"/>'
    )
    assert lab.value("SELECT data FROM pic WHERE id = 1 FOR XML AUTO, BINARY BASE64") == (
        '<pic data="AQI="/>'
    )
    assert lab.error("SELECT data FROM pic FOR XML AUTO") == 6831
    assert lab.error("SELECT data + 0x00 AS d, id FROM pic FOR XML AUTO") == 6830
    assert lab.error("SELECT data FROM pic FOR XML RAW") == 6829


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT 1 AS Tag, NULL AS Parent, id AS [p!1!id], name AS [p!1!name!element] FROM person "
            "WHERE id < 3 FOR XML EXPLICIT",
            '<p id="1"><name>Ann</name></p><p id="2"><name>Bob</name></p>',
        ),
        (
            "SELECT 1 AS Tag, NULL AS Parent, id AS [t!1!id], NULL AS [p!2] FROM team WHERE id < 30 "
            "UNION ALL SELECT 2, 1, team, name FROM person WHERE team IS NOT NULL ORDER BY 3, 1, 4 "
            "FOR XML EXPLICIT, ROOT('r')",
            '<r><t id="10"><p>Ann</p><p>Bob</p></t><t id="20"><p>Cid</p></t></r>',
        ),
        (
            "SELECT 1 AS Tag, 0 AS Parent, 'a<b' AS [e!1!x!cdata], '<i/>' AS [e!1!y!xml], "
            "'z' AS [e!1!h!hide], '<o k=\"1\">t</o>' AS [e!1!!xmltext] FOR XML EXPLICIT",
            '<e k="1"><x><![CDATA[a<b]]></x><y><i/></y>t</e>',
        ),
    ],
)
def test_explicit_reads_the_universal_table(lab, sql, expected):
    assert lab.value(sql) == expected


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT 1 AS Tag, NULL AS Parent FOR XML EXPLICIT", 6801),
        ("SELECT 1 AS t, NULL AS Parent, 1 AS [e!1!x] FOR XML EXPLICIT", 6820),
        ("SELECT 'a' AS Tag, NULL AS Parent, 1 AS [e!1!x] FOR XML EXPLICIT", 6803),
        ("SELECT 1 AS Tag, NULL AS Parent, 1 AS x FOR XML EXPLICIT", 6802),
        ("SELECT 1 AS Tag, NULL AS Parent, 1 AS [e!1!x!bogus] FOR XML EXPLICIT", 6824),
        ("SELECT 1 AS Tag, 2 AS Parent, 1 AS [e!1!x], 2 AS [f!2!x] FOR XML EXPLICIT", 6833),
        ("SELECT 3 AS Tag, 0 AS Parent, 1 AS [e!1!x] FOR XML EXPLICIT", 6806),
        ("SELECT 1 AS Tag, 0 AS Parent, 1 AS [e!1!x], 2 AS [f!1!y] FOR XML EXPLICIT", 6812),
        ("SELECT 1 AS Tag, 0 AS Parent, 1 AS [e!1!x] FOR XML EXPLICIT, ELEMENTS", 6825),
        ("SELECT 1 AS a FOR XML AUTO", 6800),
        ("SELECT id FROM person FOR XML AUTO('x')", 6859),
        ("SELECT id AS 'a b' FROM person FOR XML PATH", 6850),
        ("SELECT id AS 'q:a' FROM person FOR XML PATH", 6846),
        ("SELECT id AS '/a' FROM person FOR XML PATH", 6849),
        ("SELECT CAST('<a/>' AS xml) AS '@a' FOR XML PATH", 6851),
        ("SELECT CAST('<a/>' AS xml) AS 'text()' FOR XML PATH", 6853),
        ("SELECT 1 AS 'processing-instruction()' FOR XML PATH", 6854),
        ("SELECT 1 AS 'processing-instruction(xml)' FOR XML PATH", 6879),
        ("SELECT 'a--b' AS 'comment()' FOR XML PATH", 9322),
        ("SELECT 1 AS a FOR XML PATH, ROOT('')", 6861),
        ("SELECT 1 AS a FOR XML RAW('')", 6864),
        ("SELECT 1 AS a, 2 AS a FOR XML RAW", 6810),
        ("SELECT 1 AS xmlns FOR XML PATH", 6867),
        (
            "WITH XMLNAMESPACES ('u' AS p) SELECT 1 AS Tag, 0 AS Parent, 1 AS [e!1!x] "
            "FOR XML EXPLICIT",
            6868,
        ),
        ("WITH XMLNAMESPACES ('u' AS xsi) SELECT 1 AS a FOR XML PATH, ELEMENTS XSINIL", 6873),
    ],
)
def test_what_a_mode_cannot_write(lab, sql, number):
    assert lab.error(sql) == number


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 AS 'data()', 2 AS 'data()' FOR XML PATH('')", "1 2"),
        (
            "SELECT 'c' AS 'comment()', 'd' AS 'processing-instruction(t)' FOR XML PATH",
            "<row><!--c--><?t d?></row>",
        ),
        (
            "SELECT 1 AS a, NULL AS b FOR XML PATH, ELEMENTS XSINIL",
            '<row xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><a>1</a><b xsi:nil="true"/>'
            "</row>",
        ),
        ("SELECT CAST('<i>1</i>' AS xml) AS n FOR XML PATH", "<row><n><i>1</i></n></row>"),
        ("SELECT 1 AS a FOR XML RAW('e'), ELEMENTS", "<e><a>1</a></e>"),
        ("SELECT 1 AS [1a], 2 AS [a_xb] FOR XML RAW", '<row _x0031_a="1" a_x005F_xb="2"/>'),
        ("SELECT '' AS a FOR XML PATH('')", "<a></a>"),
        ("SELECT '' AS a FOR XML PATH(''), TYPE", "<a/>"),
        (
            "WITH XMLNAMESPACES ('u' AS p, DEFAULT 'd') SELECT 1 AS 'p:a' FOR XML PATH('r')",
            '<r xmlns="d" xmlns:p="u"><p:a>1</p:a></r>',
        ),
        (
            "WITH XMLNAMESPACES ('u' AS p) SELECT 1 AS 'p:a' FOR XML PATH('r'), ROOT('z')",
            '<z xmlns:p="u"><r><p:a>1</p:a></r></z>',
        ),
        (
            "SELECT CAST(5 AS sql_variant) AS v, CAST(1.5 AS float) AS f, CAST(1 AS bit) AS b FOR XML RAW",
            '<row v="5" f="1.500000000000000e+000" b="1"/>',
        ),
    ],
)
def test_options_and_names(lab, sql, expected):
    assert lab.value(sql) == expected


def test_long_text_reaches_a_client_in_rows_of_2033_characters(lab):
    sql = "SELECT REPLICATE('x', 3000) AS a FOR XML PATH('')"
    sink = lab.run(sql)
    rows = sink.result_sets[0].rows
    assert [len(row[0]) for row in rows] == [2033, 3000 + 7 - 2033]
    assert sink.result_sets[0].columns[0].type.name == "ntext"
    assert lab.value("SELECT @@ROWCOUNT") == 1
    assert len(lab.value(f"SELECT ({sql})")) == 3007
    sink = lab.run(f"{sql}, TYPE")
    assert len(sink.one()) == 3007
    assert [len(r[0]) for r in lab.rows("SELECT REPLICATE('x', 3000) AS a FOR JSON PATH")] == [
        2033,
        3000 + 10 - 2033,
    ]


@pytest.mark.parametrize(
    ("names", "number"),
    [
        ("'u' AS xmlns", 6871),
        ("'u' AS xml", 6872),
        ("'' AS p", 6874),
        ("DEFAULT ''", 6874),
        ("'http://www.w3.org/XML/1998/namespace' AS p", 6872),
        ("'u' AS p, 'v' AS p", 6869),
        ("DEFAULT 'u', DEFAULT 'v'", 6869),
    ],
)
def test_what_with_xmlnamespaces_may_not_declare(lab, names, number):
    assert lab.error(f"WITH XMLNAMESPACES ({names}) SELECT 1 AS a") == number
