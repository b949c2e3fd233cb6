"""FOR JSON PATH and AUTO."""

import pytest


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT id, name FROM person WHERE id < 3 FOR JSON PATH",
            '[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]',
        ),
        (
            "SELECT 1 AS [a.b], 2 AS [a.c.d], 3 AS e FOR JSON PATH, ROOT('x')",
            '{"x":[{"a":{"b":1,"c":{"d":2}},"e":3}]}',
        ),
        ("SELECT id, score FROM person WHERE id = 3 FOR JSON PATH", '[{"id":3}]'),
        (
            "SELECT id, score FROM person WHERE id = 3 FOR JSON PATH, INCLUDE_NULL_VALUES",
            '[{"id":3,"score":null}]',
        ),
        (
            "SELECT id FROM person WHERE id < 3 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER",
            '{"id":1},{"id":2}',
        ),
        (
            "SELECT t.id, p.name FROM team t JOIN person p ON p.team = t.id ORDER BY t.id, p.id "
            "FOR JSON AUTO",
            '[{"id":10,"p":[{"name":"Ann"},{"name":"Bob"}]},{"id":20,"p":[{"name":"Cid"}]}]',
        ),
        (
            "SELECT 1 AS a, (SELECT 2 AS b FOR JSON PATH) AS c FOR JSON PATH",
            '[{"a":1,"c":[{"b":2}]}]',
        ),
        (
            "SELECT (SELECT 2 AS b FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS c FOR JSON PATH",
            r'[{"c":"{\"b\":2}"}]',
        ),
        (
            "SELECT JSON_QUERY('{\"q\":[1]}') AS c, '{}' AS d FOR JSON PATH",
            '[{"c":{"q":[1]},"d":"{}"}]',
        ),
        (
            r"""SELECT 'a/b"\' + CHAR(10) + CHAR(1) AS s FOR JSON PATH""",
            r'[{"s":"a\/b\"\\\n\u0001"}]',
        ),
        (
            "SELECT CAST(1 AS bit) AS b, CAST(1.5 AS float) AS f, CAST(1.50 AS decimal(9,2)) AS d, "
            "CAST('2020-01-02T03:04:05' AS datetime) AS t, 0x0102 AS x FOR JSON PATH",
            '[{"b":true,"f":1.500000000000000e+000,"d":1.50,"t":"2020-01-02T03:04:05","x":"AQI="}]',
        ),
    ],
)
def test_rows_become_objects(lab, sql, expected):
    assert lab.value(sql) == expected


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT 1 FOR JSON PATH", 13605),
        ("SELECT 1 AS a FOR JSON AUTO", 13600),
        ("SELECT 1 AS [a.b], 2 AS a FOR JSON PATH", 13601),
        ("SELECT 1 AS [a.b], 2 AS c, 3 AS [a.d] FOR JSON PATH", 13601),
        ("SELECT 1 AS [a..b] FOR JSON PATH", 13603),
        ("SELECT 1 AS [.a] FOR JSON PATH", 13603),
        ("SELECT 1 AS a FOR JSON PATH, ROOT('x'), WITHOUT_ARRAY_WRAPPER", 13620),
    ],
)
def test_what_no_json_is_made_of(lab, sql, number):
    assert lab.error(sql) == number


def test_no_rows_give_no_row(lab):
    assert lab.rows("SELECT id FROM person WHERE id = 9 FOR JSON PATH") == []
    assert lab.value("SELECT (SELECT id FROM person WHERE id = 9 FOR JSON PATH)") is None
