"""Plays of two or three sessions over one small table, statement by statement.

The plays cover every SQL block of Hermitage's SQL Server page (github.com/ept/hermitage): the same
anomalies under the same levels and database options, on a table and in words of our own. Each test
names its anomaly by the letters used there; ``blocks`` and ``unblocks`` assert the waits.
"""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance

START = [(1, 10), (2, 20)]
ALL = "SELECT id, jars FROM dbo.shelf"


class Actor:
    """One session of a play."""

    def __init__(self, session) -> None:
        self.session = session
        self.last = None

    def _send(self, sql: str):
        self.last = self.session.execute(sql)
        return self.last

    def does(self, sql: str) -> None:
        """The batch runs to its end without an error."""
        assert self._send(sql).ok().finished, f"waits: {sql}"

    def sees(self, sql: str, rows: list[tuple]) -> None:
        """The query answers at once, with these rows."""
        self.does(sql)
        assert self.last.rows() == rows

    def blocks(self, sql: str) -> None:
        """The batch starts and waits for a lock."""
        assert not self._send(sql).finished, f"does not wait: {sql}"
        assert self.session.wait.kind == "lock"

    def unblocks(self, sql: str, *others: Actor) -> None:
        """The batch runs, and with it ends the wait of the others."""
        assert not any(other.last.finished for other in others)
        self.does(sql)
        assert all(other.last.finished for other in others)

    def has_seen(self, rows: list[tuple]) -> None:
        """What the query that had to wait has answered."""
        assert self.last.rows() == rows

    def has_succeeded(self) -> None:
        """The batch that had to wait has ended without an error."""
        assert self.last.ok().finished

    def has_failed(self, number: int) -> None:
        """The last batch ended with this error, which took the transaction with it."""
        assert self.last.finished
        assert [message.number for message in self.last.errors] == [number]
        assert self.session.trancount == 0

    def fails(self, sql: str, number: int) -> None:
        """The batch ends with this error, which takes the transaction with it."""
        self._send(sql)
        self.has_failed(number)


class Play:
    """A database, its table, and who takes part."""

    def __init__(self, *options: str, switches: dict | None = None) -> None:
        self.instance = Instance(seed=11, switches=switches)
        self.instance.connect().execute("CREATE DATABASE play").ok()
        setup = self.instance.connect("play")
        for option in options:
            setup.execute(f"ALTER DATABASE play SET {option}").ok()
        setup.execute("CREATE TABLE dbo.shelf (id int NOT NULL PRIMARY KEY, jars int NOT NULL)")
        setup.execute("INSERT dbo.shelf VALUES (1, 10), (2, 20)").ok()
        setup.close()

    def actor(self) -> Actor:
        """Somebody with no transaction open."""
        return Actor(self.instance.connect("play"))

    def begin(self, level: str, count: int = 2) -> list[Actor]:
        """So many sessions, each with a transaction begun under that level."""
        actors = [self.actor() for _ in range(count)]
        for actor in actors:
            actor.does(f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION")
        return actors


@pytest.fixture
def locking() -> Play:
    """A database as CREATE DATABASE makes it: readers lock."""
    return Play()


@pytest.fixture
def versioned() -> Play:
    """READ_COMMITTED_SNAPSHOT ON."""
    return Play("READ_COMMITTED_SNAPSHOT ON")


@pytest.fixture
def snapshots() -> Play:
    """ALLOW_SNAPSHOT_ISOLATION ON."""
    return Play("ALLOW_SNAPSHOT_ISOLATION ON")
