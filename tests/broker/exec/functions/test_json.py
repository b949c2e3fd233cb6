"""The JSON functions: reading, changing and making JSON text."""

import pytest

from redial_broker.engine.types import NVARCHAR_MAX

from ..evaluate import fails, typed, value

DOCUMENT = '{"a": {"b": [10, {"c": "x"}], "t": true, "n": null}, "k y": 1.50}'
GIVEN = {"@j": (NVARCHAR_MAX, DOCUMENT), "@null": (NVARCHAR_MAX, None)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json_value(@j, '$.a.b[0]')", "10"),
        ("json_value(@j, '$.a.b[1].c')", "x"),
        ("json_value(@j, '$.a.t')", "true"),
        ("json_value(@j, '$.a.n')", None),
        ("json_value(@j, '$.\"k y\"')", "1.50"),
        ("json_value(@j, '$.a')", None),
        ("json_value(@j, '$.zz')", None),
        ("json_value(@j, 'lax $.zz.y')", None),
        ("json_query(@j, '$.a.b')", '[10, {"c": "x"}]'),
        ("json_query(@j, '$.a.t')", None),
        ("json_query(@j)", DOCUMENT),
        ("isjson(@j)", 1),
        ("isjson('x')", 0),
        ("isjson('5')", 0),
        ("isjson(@null)", None),
        ("json_value(@null, '$.a')", None),
    ],
)
def test_json_functions(text, expected):
    assert value(text, GIVEN) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("json_value(@j, 'strict $.zz')", 13608),
        ("json_value(@j, 'strict $.a')", 13623),
        ("json_query(@j, 'strict $.a.t')", 13624),
        ("json_value('{bad', '$.a')", 13609),
        ("json_value(@j, 'a.b')", 13607),
        ("json_value(@j, '$.a[')", 13607),
    ],
)
def test_json_errors(text, number):
    assert fails(text, GIVEN).number == number


def test_json_types():
    assert typed("json_value(@j, '$.a')", GIVEN) == "nvarchar(4000)"
    assert typed("json_query(@j)", GIVEN) == "nvarchar(max)"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'{\"a\":1}', '$.a', 2", '{"a":2}'),
        ("'{\"a\":1}', '$.b', 'x/y'", r'{"a":1,"b":"x\/y"}'),
        ("'{}', '$.a', 1", '{"a":1}'),
        ("'{\"a\":1,\"b\":2}', '$.a', NULL", '{"b":2}'),
        ('\'{"a":1, "b":2, "c":3}\', \'$.b\', NULL', '{"a":1, "c":3}'),
        ("'{\"a\":1,\"b\":2}', '$.b', NULL", '{"a":1}'),
        ("'{\"a\":1}', '$.a', NULL", "{}"),
        ("'{\"a\":1}', 'strict $.a', NULL", '{"a":null}'),
        ("'[1,2]', '$[1]', NULL", "[1,null]"),
        ("'{\"a\":[1]}', 'append $.a', 2", '{"a":[1,2]}'),
        ("'{\"a\":[1]}', 'append lax $.a', 'x'", '{"a":[1,"x"]}'),
        ("'{\"a\":1}', 'append $.z', 2", '{"a":1,"z":[2]}'),
        ("'{\"a\":1}', 'append $.a', 2", '{"a":1}'),
        ("'[]', 'append $', 1", "[1]"),
        ("'{}', '$.a', JSON_QUERY('[1]')", '{"a":[1]}'),
        ("'{}', '$.a', '[1]'", '{"a":"[1]"}'),
        ("'{}', '$.a', CAST(1 AS bit)", '{"a":true}'),
        ("'{}', '$.a.b', 1", "{}"),
        ("'{ \"a\" : { \"b\" : 1 } }', '$.a.b', 2", '{ "a" : { "b" : 2 } }'),
        ("NULL, '$.a', 1", None),
    ],
)
def test_json_modify_changes_one_place_and_keeps_the_rest(arguments, expected):
    assert value(f"json_modify({arguments})") == expected


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("'{}', 'strict $.a', 1", 13608),
        ("'{\"a\":1}', 'append strict $.a', 1", 13621),
        ("'{}', '$', 1", 13619),
        ("'x', '$.a', 1", 13609),
        ("'{}', 'a', 1", 13607),
    ],
)
def test_json_modify_errors(arguments, number):
    assert fails(f"json_modify({arguments})").number == number


def test_isjson_with_a_kind():
    assert [
        value(f"isjson('{text}', {kind})")
        for text, kind in [
            ("1", "value"),
            ("1", "scalar"),
            ("true", "scalar"),
            ("[1]", "array"),
            ("{}", "array"),
            ("{}", "object"),
        ]
    ] == [1, 1, 0, 1, 0, 1]


def test_json_path_exists():
    assert value("json_path_exists('{\"a\":null}', '$.a')") == 1
    assert value("json_path_exists('{\"a\":1}', '$.b')") == 0
    assert value("json_path_exists(NULL, '$.b')") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json_object('a': 1, 'b': NULL)", '{"a":1,"b":null}'),
        ("json_object()", "{}"),
        ("json_object('a': 1, 'b': NULL absent on null)", '{"a":1}'),
        ("json_array(1, 'x', NULL)", '[1,"x"]'),
        ("json_array(1, NULL null on null)", "[1,null]"),
        ("json_object('x': json_array(1, json_object('q': 'z')))", '{"x":[1,{"q":"z"}]}'),
    ],
)
def test_json_constructors(text, expected):
    assert value(text) == expected


def test_a_key_of_json_object_is_never_null():
    assert fails("json_object(NULL: 1)").number == 13638


def test_text_of_more_than_128_levels_is_refused():
    assert fails(f"json_query('{'[' * 129}{']' * 129}')").number == 13606
