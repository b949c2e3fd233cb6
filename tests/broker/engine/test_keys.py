"""A part of a key tells the value it was made of, as far as it can."""

from __future__ import annotations

import pytest

from redial_broker.engine.columns import Column
from redial_broker.engine.keys import key_part, value_of
from redial_broker.engine.types import sql_type

GUID = "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("type_", "value"), [("int", 7), ("uniqueidentifier", GUID)])
def test_a_part_of_a_key_tells_its_value(type_, value, descending, nullable):
    column = Column("C", sql_type(type_), nullable)
    assert value_of(column, key_part(column, descending)(value)) == value


def test_null_is_less_than_every_value_and_told_too():
    column = Column("C", sql_type("int"), True)
    part = key_part(column)
    assert part(None) < part(-1)
    assert value_of(column, part(None)) is None
