"""OPENJSON, STRING_SPLIT and GENERATE_SERIES in FROM."""

from datetime import datetime
from decimal import Decimal

import pytest


def test_openjson_lists_keys_values_and_types(lab):
    assert lab.rows("""SELECT * FROM OPENJSON('{"a":1,"b":"x\\ny","c":null,"d":true,
        "e":[1, 2],"f":{"g":1}}')""") == [
        ("a", "1", 2),
        ("b", "x\ny", 1),
        ("c", None, 0),
        ("d", "true", 3),
        ("e", "[1, 2]", 4),
        ("f", '{"g":1}', 5),
    ]
    assert lab.rows("SELECT [key], value FROM OPENJSON('[10,\"x\"]')") == [("0", "10"), ("1", "x")]


def test_openjson_with_a_schema(lab):
    given = """DECLARE @j nvarchar(max) = N'{"o":[{"id":1,"n":{"x":"q"},"t":[1,2],"b":"AQI="},
        {"id":2,"d":"2020-01-02T03:04:05"}]}';"""
    assert lab.rows(
        given
        + """SELECT * FROM OPENJSON(@j, '$.o') WITH (id int,
        x varchar(9) '$.n.x', t nvarchar(max) AS JSON, d datetime2(0), b varbinary(9))"""
    ) == [
        (1, "q", "[1,2]", None, b"\x01\x02"),
        (2, None, None, datetime(2020, 1, 2, 3, 4, 5), None),
    ]
    assert lab.rows("SELECT * FROM OPENJSON('[1,2]') WITH (v int '$')") == [(1,), (2,)]
    assert lab.rows('SELECT * FROM OPENJSON(\'{"a":"x"}\') WITH (a char(3))') == [("x  ",)]


def test_openjson_reads_each_row_of_an_apply(lab):
    lab.run(
        "CREATE TABLE j (id int, b nvarchar(max)); "
        "INSERT j VALUES (1, '[1,2]'), (2, '[3]'), (3, NULL)"
    )
    assert lab.rows(
        "SELECT j.id, o.v FROM j OUTER APPLY OPENJSON(j.b) WITH (v int '$') AS o ORDER BY j.id, o.v"
    ) == [(1, 1), (1, 2), (2, 3), (3, None)]


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("OPENJSON('x')", 13609),
        ("OPENJSON('1')", 13609),
        ("OPENJSON('{}', 'strict $.b')", 13608),
        ("OPENJSON('{\"a\":1}', 'strict $.a')", 13611),
        ("OPENJSON('{}', 'a')", 13607),
        ("OPENJSON('{}') WITH (a int 'strict $.a')", 13608),
        ("OPENJSON('{\"a\":1}') WITH (a nvarchar(9) AS JSON)", 13618),
        ("OPENJSON('{\"a\":1}') WITH (a nvarchar(max) 'strict $.a' AS JSON)", 13624),
        ('OPENJSON(\'{"a":"*"}\') WITH (a varbinary(9))', 13612),
        ('OPENJSON(\'{"a":"AQI="}\') WITH (a varbinary(1))', 13613),
        ('OPENJSON(\'{"a":"AQI="}\') WITH (a text)', 13614),
        ('OPENJSON(\'{"a":"x"}\') WITH (a int)', 245),
    ],
)
def test_openjson_errors(lab, source, number):
    assert lab.error(f"SELECT * FROM {source}") == number


def test_openjson_lax_paths_that_lead_nowhere_give_no_rows(lab):
    assert lab.rows("SELECT * FROM OPENJSON('{\"a\":1}', '$.b')") == []
    assert lab.rows("SELECT * FROM OPENJSON('{\"a\":1}', '$.a')") == []
    assert lab.rows("SELECT * FROM OPENJSON(NULL)") == []


def test_string_split(lab):
    assert lab.rows("SELECT value FROM STRING_SPLIT('a,b,,c', ',')") == [
        ("a",),
        ("b",),
        ("",),
        ("c",),
    ]
    assert lab.rows("SELECT * FROM STRING_SPLIT('a b', ' ', 1)") == [("a", 1), ("b", 2)]
    assert lab.rows("SELECT value FROM STRING_SPLIT('aXbxc', 'x')") == [("a",), ("b",), ("c",)]
    assert lab.rows("SELECT * FROM STRING_SPLIT(NULL, ',')") == []
    assert lab.rows(
        "SELECT p.id, s.value FROM person p CROSS APPLY STRING_SPLIT(p.name, 'n') s WHERE p.id = 1"
    ) == [(1, "A"), (1, ""), (1, "")]
    assert lab.error("SELECT * FROM STRING_SPLIT('a', 'xy')") == 214
    assert lab.error("DECLARE @n int = 1; SELECT * FROM STRING_SPLIT('a', 'x', @n)") == 8748


def test_generate_series(lab):
    assert lab.rows("SELECT value FROM GENERATE_SERIES(1, 6, 2)") == [(1,), (3,), (5,)]
    assert lab.rows("SELECT * FROM GENERATE_SERIES(3, 1)") == [(3,), (2,), (1,)]
    assert lab.rows("SELECT * FROM GENERATE_SERIES(1.0, 2.0, 0.5)") == [
        (Decimal("1.0"),),
        (Decimal("1.5"),),
        (Decimal("2.0"),),
    ]
    assert lab.rows("SELECT * FROM GENERATE_SERIES(1, 5, -1)") == []
    assert lab.rows("SELECT * FROM GENERATE_SERIES(1, NULL)") == []
    assert lab.error("SELECT * FROM GENERATE_SERIES(1, 5, 0)") == 4199
    assert lab.error("SELECT * FROM GENERATE_SERIES(1, 5.0)") == 5373
    assert lab.error("SELECT * FROM GENERATE_SERIES('a', 'b')") == 8116
