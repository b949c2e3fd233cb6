"""A database with two users and a role, and sessions of each."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance

SETUP = (
    "CREATE LOGIN alice WITH PASSWORD = 'a-Secret-1', CHECK_POLICY = OFF",
    "CREATE LOGIN bob WITH PASSWORD = 'b-Secret-1', CHECK_POLICY = OFF",
    "CREATE DATABASE App",
    "USE App",
    "CREATE USER alice FOR LOGIN alice; CREATE USER bob; CREATE ROLE sender",
    "CREATE TABLE dbo.T (a int PRIMARY KEY); INSERT dbo.T VALUES (1)",
    "CREATE PROCEDURE dbo.usp_Read AS SELECT a FROM dbo.T",
)


@pytest.fixture
def instance() -> Instance:
    made = Instance(seed=9)
    session = made.connect()
    for batch in SETUP:
        answer = session.execute(batch)
        assert not answer.errors, answer.errors
    return made


@pytest.fixture
def admin(instance):
    """admin(sql) -> collector, as sa."""
    session = instance.connect("App")

    def run(sql):
        answer = session.execute(sql)
        assert not answer.errors, answer.errors
        return answer

    return run


@pytest.fixture
def login(instance):
    """login(name) -> a session of alice or bob in App."""
    from redial_broker.instance.results import Collector

    def enter(name, database="App"):
        session = instance.login(name, f"{name[0]}-Secret-1", database)
        session.sink = Collector()
        return session

    return enter


@pytest.fixture
def error():
    """error(session, sql) -> number of the first error, None without one."""

    def run(session, sql):
        found = session.execute(sql).error()
        return found.number if found else None

    return run
