"""sp_xml_preparedocument and OPENXML."""

import pytest

from tests.broker.exec.lab import Lab

DOCUMENT = '<root><a id="1" nm="x"><b>bb</b><nm>elem</nm></a><a id="2"><c><d>7</d></c></a></root>'
PREPARE = f"DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, N'{DOCUMENT}';"


@pytest.fixture
def lab():
    return Lab()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "'/root/a') WITH (id int, nm varchar(9), b varchar(9))",
            [(1, "x", None), (2, None, None)],
        ),
        (
            "'/root/a', 2) WITH (id int, nm varchar(9), b varchar(9))",
            [(None, "elem", "bb"), (None, None, None)],
        ),
        (
            "'/root/a', 3) WITH (id int, nm varchar(9), b varchar(9))",
            [(1, "x", "bb"), (2, None, None)],
        ),
        (
            "'/root/a[@id=2]') WITH (d int 'c/d', up varchar(9) '../a/@nm', own xml 'c')",
            [(7, "x", "<c><d>7</d></c>")],
        ),
        ("'//d') WITH (v int '.', t varchar(9) 'text()')", [(7, "7")]),
        ("'/root/a/@id') WITH (v int '.')", [(1,), (2,)]),
        ("'/none') WITH (v int)", []),
    ],
)
def test_openxml_maps_nodes_to_columns(lab, source, expected):
    assert lab.rows(f"{PREPARE} SELECT * FROM OPENXML(@h, {source}") == expected


def test_prefixes_come_from_the_third_argument(lab):
    assert lab.rows("""DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT,
        N'<r xmlns:p="urn:x"><p:a p:id="1"/></r>', N'<root xmlns:q="urn:x"/>';
        SELECT * FROM OPENXML(@h, '/r/q:a') WITH (id int '@q:id')""") == [(1,)]


def test_handles_are_odd_belong_to_the_session_and_can_be_removed(lab):
    assert lab.value(f"{PREPARE} SELECT @h") == 1
    assert lab.value(f"{PREPARE} SELECT @h") == 3
    lab.run("EXEC sp_xml_removedocument 3")
    assert lab.value(f"{PREPARE} SELECT @h") == 5
    assert lab.error("EXEC sp_xml_removedocument 3") == 8179
    read = "DECLARE @h int = 1; SELECT * FROM OPENXML(@h, '/root/a') WITH (id int)"
    assert lab.rows(read) == [(1,), (2,)]
    assert lab.other().error(read) == 8179


def test_what_does_not_parse(lab):
    assert lab.error("DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, N'<a>'") == 6602
    assert lab.error(f"{PREPARE} SELECT * FROM OPENXML(@h, '/a[') WITH (id int)") == 6603
    assert lab.error(f"{PREPARE} SELECT * FROM OPENXML(@h, '/root/a') WITH (nm int)") == 245


def test_the_edge_table_and_metaproperties_are_refused_by_name(lab):
    assert "edge table" in lab.refusal(f"{PREPARE} SELECT * FROM OPENXML(@h, '/root')")
    assert "@mp:id" in lab.refusal(
        f"{PREPARE} SELECT * FROM OPENXML(@h, '/root') WITH (i int '@mp:id')"
    )


def test_for_xml_and_for_json_do_not_feed_tables(lab):
    lab.run("CREATE TABLE t (a nvarchar(max))")
    assert lab.error("INSERT t SELECT 1 AS a FOR XML RAW") == 6819
    assert lab.error("INSERT t SELECT 1 AS a FOR JSON PATH") == 13602
    assert lab.error("SELECT 1 AS a INTO u FOR XML RAW") == 6819
    assert lab.error("DECLARE @v nvarchar(9); SELECT @v = 1 FOR XML RAW") == 6819
    lab.run("INSERT t SELECT (SELECT 1 AS a FOR XML RAW)")
    assert lab.value("SELECT a FROM t") == '<row a="1"/>'
