"""xml and JSON as Microsoft's ODBC Driver 18 sees them."""

import json

import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import LOGIN

pytestmark = pytest.mark.driver
pyodbc = pytest.importorskip("pyodbc", reason="pyodbc or its library libodbc.so.2 is missing")

SCHEMA = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" '
    'type="xs:int"/></xs:schema>'
)


@pytest.fixture(scope="module")
def cursor():
    with EmbeddedBroker(clock="virtual") as running:
        connection = pyodbc.connect(running.odbc, autocommit=True, timeout=LOGIN)
        yield connection.cursor()
        connection.close()
    assert running.defects == []


def test_typed_and_untyped_xml_columns(cursor):
    cursor.execute(f"create xml schema collection dbo.sc as N'{SCHEMA}'")
    cursor.execute("create table dbo.x (id int, u xml, t xml(document dbo.sc))")
    cursor.execute("insert dbo.x values (?, ?, ?)", 1, "<b k='1'/>", "<a>007</a>")
    row = cursor.execute("select u, t, t.value('/a', 'int') from dbo.x").fetchone()
    assert tuple(row) == ('<b k="1"/>', "<a>7</a>", 7)
    with pytest.raises(pyodbc.Error, match="6926"):
        cursor.execute("insert dbo.x values (2, null, ?)", "<a>x</a>")


def test_long_for_json_and_for_xml_come_in_pieces(cursor):
    cursor.execute(
        "select value as n, replicate('x', 100) as t from generate_series(1, 50) for json path"
    )
    pieces = [row[0] for row in cursor.fetchall()]
    assert all(len(piece) <= 2033 for piece in pieces) and len(pieces) > 1
    assert len(json.loads("".join(pieces))) == 50
    cursor.execute("select replicate('x', 5000) as t for xml path('')")
    assert "".join(row[0] for row in cursor.fetchall()) == f"<t>{'x' * 5000}</t>"
    assert cursor.execute("select 1 as a for xml path, type").fetchval() == "<row><a>1</a></row>"


def test_json_arrives_as_rows(cursor):
    text = json.dumps([{"id": 1, "n": "ä"}, {"id": 2}])
    found = cursor.execute("select * from openjson(?) with (id int, n nvarchar(9))", text)
    assert [tuple(row) for row in found.fetchall()] == [(1, "ä"), (2, None)]
