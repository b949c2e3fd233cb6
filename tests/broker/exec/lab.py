"""A small laboratory: an instance with a database, sessions to type T-SQL into, a log of locks."""

from __future__ import annotations

from typing import Any

from redial_broker.engine.errors import SqlError, Wait
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch


class LockLog:
    """Stands before the lock manager and writes down every lock that is newly taken.

    An entry is ``mode name(key)``, for example ``U C(1)``; with a ``?`` when it had to wait.
    """

    def __init__(self, locks: Any) -> None:
        self._locks = locks
        self.names: dict[tuple, str] = {}
        self.entries: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._locks, name)

    def acquire(self, transaction: Any, key: tuple, mode: str, **options: Any) -> None:
        """Ask the real lock manager and note what happened."""
        before = transaction.locks.get(key)
        try:
            self._locks.acquire(transaction, key, mode, **options)
        except Wait:
            self.entries.append(f"{mode} {self.show(key)}?")
            raise
        if transaction.locks.get(key) != before:
            self.entries.append(f"{mode} {self.show(key)}")

    def show(self, key: tuple) -> str:
        """A resource as tests write it."""
        if key[0] != "KEY":
            return self.names.get(key, str(key))
        name = self.names.get(key[:2], str(key[1]))
        values = [part[-1] if isinstance(part, tuple) else part for part in key[2]]
        return f"{name}({','.join(map(str, values))})"


class Lab:
    """One session of an instance; ``other`` opens a second one beside it."""

    def __init__(self, **options: Any) -> None:
        self.instance = Instance(**options)
        self.log = LockLog(self.instance.engine.locks)
        self.session = self.instance.connect()
        self.run("CREATE DATABASE lab")
        self.run("USE lab")

    def other(self) -> Lab:
        """A second session in the same database."""
        twin = Lab.__new__(Lab)
        twin.instance, twin.log = self.instance, self.log
        twin.session = self.instance.connect("lab")
        return twin

    # ------------------------------------------------------------------ running
    def send(self, sql: str) -> Any:
        """Submit a batch and run until it ends or waits; returns the collector."""
        sink = self.session.sink
        sink.clear()
        self.session.submit(Batch(sql))
        self.instance.run()
        return sink

    def run(self, sql: str) -> Any:
        """Like ``send``; fails the test on an error message or a wait."""
        sink = self.send(sql)
        assert not sink.errors, f"{sink.errors[0].number}: {sink.errors[0].text}"
        assert self.session.wait is None, "the statement waits"
        return sink

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the last result set."""
        return self.run(sql).result_sets[-1].rows

    def value(self, sql: str) -> Any:
        """The only value of the last result set."""
        rows = self.rows(sql)
        assert len(rows) == 1 and len(rows[0]) == 1, rows
        return rows[0][0]

    def error(self, sql: str) -> int:
        """Number of the first error."""
        sink = self.send(sql)
        assert sink.errors, "no error was raised"
        return sink.errors[0].number

    def refusal(self, sql: str) -> str:
        """Text of the embedded broker's own refusal."""
        sink = self.send(sql)
        assert sink.errors and sink.errors[0].number == 60001, sink.messages
        return sink.errors[0].text

    @property
    def waiting(self) -> str | None:
        """``mode resource`` the session waits for, None when it runs."""
        wait = self.session.wait
        return None if wait is None else f"{wait.request.mode} {self.log.show(wait.resource.key)}"

    # ------------------------------------------------------------------ locks
    def table(self, name: str) -> Any:
        """The stored table of that name."""
        return self.session.database.objects["dbo", name.lower()]

    def watch(self, *names: str) -> None:
        """Start the lock log. Indexes of the named tables show as C and N, N2, ...; tables as T."""
        for number, name in enumerate(names):
            table = self.table(name)
            suffix = "" if number == 0 else str(number + 1)
            self.log.names[table.lock_key] = f"T{suffix}"
            self.log.names["KEY", table.rows.hobt_id] = f"C{suffix}"
            for place, index in enumerate(table.indexes):
                more = "" if place == 0 else str(place + 1)
                self.log.names["KEY", index.hobt_id] = f"N{suffix}{more}"
        engine = self.instance.engine
        engine.locks = engine.access.locks = self.log

    def locks(self, sql: str) -> list[str]:
        """The locks a batch newly takes, in order."""
        self.log.entries.clear()
        self.run(sql)
        return self.log.entries[:]

    def held(self) -> dict[str, str]:
        """Locks the session's transaction holds: resource -> mode."""
        transaction = self.session.transaction
        if transaction is None:
            return {}
        return {self.log.show(key): mode for key, mode in transaction.locks.items()}


__all__ = ["Lab", "LockLog", "SqlError"]
