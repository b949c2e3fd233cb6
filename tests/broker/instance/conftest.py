"""An instance on a virtual clock with one database, and sessions that collect what they hear."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance


@pytest.fixture
def instance() -> Instance:
    made = Instance(seed=7)
    made.connect().execute("CREATE DATABASE db;")
    return made


@pytest.fixture
def connect(instance):
    """connect() -> a new session in database db."""
    return lambda: instance.connect("db")


@pytest.fixture
def session(connect):
    return connect()


def texts(collector) -> list[str]:
    """What was printed, in order."""
    return [message.text for message in collector.messages if message.severity <= 10]


def numbers(collector) -> list[int]:
    """Error numbers, in order."""
    return [message.number for message in collector.errors]
