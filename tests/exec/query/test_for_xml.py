"""FOR XML RAW and PATH."""

import pytest


def test_path_makes_an_element_per_column(lab):
    assert lab.value("SELECT id, name FROM person WHERE id < 3 ORDER BY id FOR XML PATH") == (
        "<row><id>1</id><name>Ann</name></row><row><id>2</id><name>Bob</name></row>")


def test_path_names_say_where_values_go(lab):
    assert lab.value("SELECT 1 AS '@a', 'x' AS 'p/q', 'y' AS 'p/r', 'z' AS 'text()' "
                     "FOR XML PATH('e'), ROOT('all')") == (
        '<all><e a="1"><p><q>x</q><r>y</r></p>z</e></all>')


def test_an_attribute_of_an_inner_element(lab):
    assert lab.value("SELECT 1 AS 'p/@a', 'x' AS 'p' FOR XML PATH('')") == '<p a="1">x</p>'


def test_neighbours_of_one_name_share_an_element(lab):
    assert lab.value("SELECT 'a' AS td, 'b' AS td, '', 'c' AS td FOR XML PATH('tr')") == (
        "<tr><td>ab</td><td>c</td></tr>")


def test_the_old_way_to_join_strings(lab):
    assert lab.value("SELECT STUFF((SELECT ',' + name FROM person ORDER BY id FOR XML PATH('')), "
                     "1, 1, '')") == "Ann,Bob,Cid,Dee"
    assert lab.value("SELECT (SELECT name + ' & <' FROM person WHERE id = 1 FOR XML PATH(''), TYPE)"
                     ".value('.', 'nvarchar(50)')") == "Ann & <"


def test_null_is_left_out_and_special_characters_are_escaped(lab):
    assert lab.value("SELECT id AS '@id', score, '<&>\"' AS t FROM person WHERE id = 3 "
                     "FOR XML PATH('p')") == '<p id="3"><t>&lt;&amp;&gt;"</t></p>'


def test_type_gives_an_xml_value_that_nests(lab):
    sink = lab.run("SELECT t.id AS '@id', (SELECT p.name AS n FROM person p WHERE p.team = t.id "
                   "ORDER BY p.id FOR XML PATH(''), TYPE) FROM team t WHERE t.id < 30 "
                   "ORDER BY t.id FOR XML PATH('team'), TYPE")
    assert sink.result_sets[0].columns[0].type.name == "xml"
    assert sink.one() == ('<team id="10"><n>Ann</n><n>Bob</n></team>'
                          '<team id="20"><n>Cid</n></team>')


def test_raw_gives_attributes_or_elements(lab):
    assert lab.value("SELECT id, name FROM person WHERE id = 1 FOR XML RAW") == (
        '<row id="1" name="Ann"/>')
    assert lab.value("SELECT id, score FROM person WHERE id = 3 FOR XML RAW('p'), ELEMENTS XSINIL"
                     ) == ('<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id>3</id>'
                           '<score xsi:nil="true"/></p>')


def test_no_rows_give_no_row_or_null(lab):
    assert lab.rows("SELECT id FROM person WHERE id = 9 FOR XML PATH") == []
    assert lab.rows("SELECT (SELECT id FROM person WHERE id = 9 FOR XML PATH, TYPE)") == [(None,)]


def test_dates_and_binary(lab):
    assert lab.value("SELECT CAST('2026-01-02T03:04:05' AS datetime) AS d, 0x0102 AS b "
                     "FOR XML PATH('')") == "<d>2026-01-02T03:04:05</d><b>AQI=</b>"


@pytest.mark.parametrize(("sql", "number"), [
    ("SELECT 'x' AS a, 1 AS '@b' FOR XML PATH", 6852),
    ("SELECT 1 AS '@b' FOR XML PATH('')", 6864),
    ("SELECT 1 FOR XML RAW", 6809),
])
def test_a_wrong_shape_is_an_error(lab, sql, number):
    assert lab.error(sql) == number


@pytest.mark.parametrize("sql", [
    "SELECT id FROM person FOR XML AUTO",
    "SELECT id FROM person FOR JSON PATH",
    "SELECT id FROM person WHERE id = 9 FOR XML PATH, ROOT('r')",
])
def test_other_modes_are_refused_by_name(lab, sql):
    assert "does not support FOR" in lab.refusal(sql)
