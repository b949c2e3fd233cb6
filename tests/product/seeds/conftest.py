"""The audit configuration, deployed fresh for every test."""

import pytest

from .lab import Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()
