"""ISJSON, JSON_VALUE and JSON_QUERY."""

import pytest

from harness.broker.engine.types import NVARCHAR_MAX

from ..evaluate import fails, typed, value

DOCUMENT = '{"a": {"b": [10, {"c": "x"}], "t": true, "n": null}, "k y": 1.50}'
GIVEN = {"@j": (NVARCHAR_MAX, DOCUMENT), "@null": (NVARCHAR_MAX, None)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json_value(@j, '$.a.b[0]')", "10"), ("json_value(@j, '$.a.b[1].c')", "x"),
        ("json_value(@j, '$.a.t')", "true"), ("json_value(@j, '$.a.n')", None),
        ("json_value(@j, '$.\"k y\"')", "1.50"), ("json_value(@j, '$.a')", None),
        ("json_value(@j, '$.zz')", None), ("json_value(@j, 'lax $.zz.y')", None),
        ("json_query(@j, '$.a.b')", '[10,{"c":"x"}]'), ("json_query(@j, '$.a.t')", None),
        ("json_query(@j)", DOCUMENT), ("isjson(@j)", 1), ("isjson('x')", 0), ("isjson('5')", 0),
        ("isjson(@null)", None), ("json_value(@null, '$.a')", None),
    ],
)
def test_json_functions(text, expected):
    assert value(text, GIVEN) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("json_value(@j, 'strict $.zz')", 13608), ("json_value(@j, 'strict $.a')", 13623),
        ("json_query(@j, 'strict $.a.t')", 13624), ("json_value('{bad', '$.a')", 13609),
        ("json_value(@j, 'a.b')", 13607), ("json_value(@j, '$.a[')", 13607),
    ],
)
def test_json_errors(text, number):
    assert fails(text, GIVEN).number == number


def test_json_types():
    assert typed("json_value(@j, '$.a')", GIVEN) == "nvarchar(4000)"
    assert typed("json_query(@j)", GIVEN) == "nvarchar(max)"
