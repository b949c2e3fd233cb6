"""Which function a call means: aggregate, window, user-defined or built in."""

import pytest

from redial_broker.engine.types import INT
from redial_broker.exec.expressions import constant, strict

from ..evaluate import fails, value


def test_an_aggregate_asks_the_scope_and_is_147_where_there_is_none():
    assert fails("count(*)").number == 147


@pytest.mark.parametrize("text", ["sum(1)", "max(2)", "string_agg('a', ',')"])
def test_aggregates_outside_a_query_are_147(text):
    assert fails(text).number == 147


def test_a_window_function_outside_a_select_list_is_4108():
    assert fails("row_number() over (order by @x)", {"@x": (INT, 1)}).number == 4108


def test_a_two_part_name_is_a_user_defined_function():
    def find(name):
        if name.parts != ("dbo", "twice"):
            return None
        return lambda arguments, node: strict(lambda x: x * 2, INT, arguments)

    assert value("dbo.twice(21)", scalar_function=find) == 42
    error = fails("dbo.thrice(1)", scalar_function=find)
    assert (error.number, error.text) == (
        4121,
        'Cannot find either column "dbo" or the user-defined function or aggregate "dbo.thrice", '
        "or the name is ambiguous.",
    )


def test_default_arguments_reach_the_user_defined_function_as_such():
    seen = []

    def find(name):
        return lambda arguments, node: seen.append(arguments) or constant(1, INT)

    assert value("dbo.f(default)", scalar_function=find) == 1
    assert type(seen[0][0]).__name__ == "DefaultValue"
