"""T-SQL in, T-SQL out: an instance with one database and the usual broker objects."""

from __future__ import annotations

from typing import Any

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch

SETUP = """
CREATE MESSAGE TYPE [//m] VALIDATION = NONE;
CREATE MESSAGE TYPE [//x] VALIDATION = WELL_FORMED_XML;
CREATE CONTRACT [//c] ([//m] SENT BY ANY, [//x] SENT BY INITIATOR);
CREATE QUEUE dbo.IQ;
CREATE QUEUE dbo.TQ;
CREATE SERVICE [//i] ON QUEUE dbo.IQ ([//c]);
CREATE SERVICE [//t] ON QUEUE dbo.TQ ([//c]);
"""

BEGIN = """DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t' ON CONTRACT [//c] WITH ENCRYPTION = OFF;
"""


class Client:
    """One session that types T-SQL."""

    def __init__(self, instance: Instance, database: str = "") -> None:
        self.instance = instance
        self.session = instance.connect(database)

    def send(self, sql: str) -> Any:
        """Run a batch until it ends or waits; returns the collector."""
        sink = self.session.sink
        sink.clear()
        self.session.submit(Batch(sql))
        self.instance.run()
        return sink

    def run(self, sql: str) -> Any:
        """Like ``send``; errors and waits fail the test."""
        sink = self.send(sql)
        assert not sink.errors, f"{sink.errors[0].number}: {sink.errors[0].text}"
        assert self.session.wait is None, "the statement waits"
        return sink

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the last result set."""
        return self.run(sql).result_sets[-1].rows

    def value(self, sql: str) -> Any:
        """The one value of the last result set."""
        return self.rows(sql)[0][0]

    def error(self, sql: str) -> Any:
        """The first error."""
        return self.send(sql).errors[0]

    def dialog(self, more: str = "") -> str:
        """Begin a dialog; ``more`` runs with its handle in @h."""
        return self.value(BEGIN + more + "; SELECT @h")

    def other(self) -> Client:
        """A second session in the same database."""
        return Client(self.instance, self.session.database.name)


@pytest.fixture
def instance() -> Instance:
    return Instance()


@pytest.fixture
def client(instance: Instance) -> Client:
    """A session in database sales, where the objects exist."""
    made = Client(instance)
    made.run("CREATE DATABASE sales")
    made.run("USE sales")
    made.run(SETUP)
    return made
