"""SQL_VARIANT_PROPERTY."""

import pytest

from redial_broker.engine.types import SQL_VARIANT, Variant, decimal_type, nvarchar

from ..evaluate import refused, value

NAME = {"@v": (SQL_VARIANT, Variant(nvarchar(5), "abc"))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sql_variant_property(@v, 'BaseType')", "nvarchar"),
        ("sql_variant_property(@v, 'MaxLength')", 10),
        ("sql_variant_property(1.25, 'Precision')", 3),
        ("sql_variant_property(1.25, 'Scale')", 2),
        ("sql_variant_property(5, 'basetype')", "int"),
    ],
)
def test_properties(text, expected):
    assert value(text, NAME).value == expected


def test_null_has_no_properties():
    assert value("sql_variant_property(@n, 'BaseType')", {"@n": (decimal_type(5, 2), None)}) is None


def test_other_properties_are_refused_by_name():
    assert "Collation" in refused("sql_variant_property(@v, 'Collation')", NAME)
