"""The pytest fixtures: whatever a test does, the next one finds the prepared broker."""

from __future__ import annotations

import pyodbc
import pytest

from redial_broker.tds.pytest_plugin import redial_broker, redial_prepared

pytestmark = pytest.mark.driver

__all__ = ["redial_broker", "redial_prepared"]


@pytest.fixture(scope="session")
def redial_prepare():
    """One database with one row."""

    def prepare(broker):
        with pyodbc.connect(broker.odbc, autocommit=True) as connection:
            connection.execute("CREATE DATABASE shop;")
            connection.execute("USE shop; CREATE TABLE dbo.jars (id int PRIMARY KEY);")
            connection.execute("INSERT dbo.jars VALUES (1);")
        connection.close()

    pyodbc.pooling = False
    return prepare


def connect(broker, autocommit=True):
    """A connection in the prepared database."""
    connection = pyodbc.connect(broker.odbc, autocommit=True)
    connection.execute("USE shop;")
    connection.autocommit = autocommit
    return connection


def ids(broker) -> list[int]:
    connection = connect(broker)
    try:
        return [row[0] for row in connection.execute("SELECT id FROM dbo.jars ORDER BY id;")]
    finally:
        connection.close()


@pytest.mark.parametrize("number", [2, 3])
def test_each_test_finds_the_prepared_row_only(redial_broker, number):
    assert ids(redial_broker) == [1]
    connection = connect(redial_broker)
    connection.execute("INSERT dbo.jars VALUES (?);", number)
    assert ids(redial_broker) == [1, number]


def test_a_connection_opened_since_is_ended_by_the_restore(redial_prepared):
    broker, snapshot = redial_prepared
    connection = connect(broker, autocommit=False)
    connection.execute("DELETE dbo.jars;")
    broker.restore(snapshot)
    assert ids(broker) == [1]
    with pytest.raises(pyodbc.Error):
        connection.execute("SELECT 1;").fetchall()


def test_a_kept_connection_whose_transaction_was_ended_since_is_ended_too(redial_prepared):
    broker, _ = redial_prepared
    connection = connect(broker, autocommit=False)
    idle = connect(broker)
    idle.execute("SET NOCOUNT ON;")
    snapshot = broker.snapshot()
    connection.execute("DELETE dbo.jars;")
    connection.commit()
    broker.restore(snapshot)
    with pytest.raises(pyodbc.Error):
        connection.execute("SELECT 1;").fetchall()
    assert [row[0] for row in idle.execute("SELECT id FROM dbo.jars;")] == [1]
    idle.close()
