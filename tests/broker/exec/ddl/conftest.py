"""Sessions on a fresh database."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance


@pytest.fixture
def instance() -> Instance:
    made = Instance(seed=5)
    made.connect().execute("CREATE DATABASE App")
    return made


@pytest.fixture
def session(instance):
    return instance.connect("App")


@pytest.fixture
def run(session):
    """run(sql) -> collector; fails the test on an error."""

    def execute(sql):
        answer = session.execute(sql)
        assert not answer.errors, answer.errors
        return answer

    return execute


@pytest.fixture
def error(session):
    """error(sql) -> number of the first error, None without one."""

    def execute(sql):
        found = session.execute(sql).error()
        return found.number if found else None

    return execute
