"""One server for the tests that cut, cancel and kill the client and the examples."""

import pytest

from .stage import staged


@pytest.fixture(scope="package")
def theatre():
    with staged() as stage:
        yield stage


@pytest.fixture
def stage(theatre):
    """As it was deployed."""
    theatre.restore()
    yield theatre
    theatre.leaves()
