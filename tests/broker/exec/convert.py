"""Converts one value between two types, for tests of conversion."""

from datetime import datetime

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.exec.conversion import explicit_conversion


def convert(value, source, target, style=None):
    return explicit_conversion(source, target, style)(value)


def error_of(value, source, target, style=None):
    with pytest.raises(SqlError) as caught:
        convert(value, source, target, style)
    return caught.value


WHEN = datetime(2026, 3, 5, 15, 4, 9, 70000)
