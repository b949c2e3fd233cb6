"""The sink that keeps everything: what in-process tests and the explorer look results up in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redial_broker.engine.types import Message, ResultColumn, SqlType
from redial_broker.exec.completions import CALL

if TYPE_CHECKING:
    from typing import Any  # of rows alone: a column holds anything

ERROR_ABOVE = 10
"""Messages of a severity above this are errors, the others information."""


@dataclass(slots=True)
class ResultSet:
    """One result set: its columns and its rows as Python values."""

    columns: list[ResultColumn]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    def dicts(self) -> list[dict[str, object]]:
        """Rows by column name (the last of equal names wins)."""
        names = self.names
        return [dict(zip(names, row)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Done:
    """End of one statement."""

    command: int
    """TDS command code."""
    rowcount: int | None
    """Rows affected, None: not counted."""
    error: bool = False
    inside: bool = False
    """It is a statement of a module."""


class Collector:
    """A ``Sink`` that stores what a session says; ``clear`` between requests.

    finished: ``finish`` was called, the request is complete. statuses: return status of each RPC
    in order; call_statuses: of each EXECUTE of a batch. return_values: (ordinal, name, type, value)
    as they came. rewindable: whoever reads it takes a restored snapshot as it comes, unlike a
    driver, which believes what it was told last.
    """

    rewindable = True
    streams = False

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything, as before a new request."""
        self.result_sets: list[ResultSet] = []
        self.messages: list[Message] = []
        self.dones: list[Done] = []
        self.environment: list[tuple[str, object, object]] = []
        self.statuses: list[int] = []
        self.call_statuses: list[int] = []
        self.return_values: list[tuple[int, str, SqlType, object]] = []
        self.proc_dones: list[bool] = []
        self.finished = False

    def columns(self, columns: list[ResultColumn]) -> None:
        """A result set starts."""
        self.result_sets.append(ResultSet(list(columns)))

    def row(self, values: tuple[Any, ...]) -> None:
        """One row of the current result set."""
        self.result_sets[-1].rows.append(values)

    def done(
        self, command: int, rowcount: int | None, error: bool = False, inside: bool = False
    ) -> None:
        """A statement ended."""
        self.dones.append(Done(command, rowcount, error, inside))

    def told(self, command: int, rowcount: int | None, inside: bool) -> None:
        """A statement ended that the client hears of in any case."""
        self.dones.append(Done(command, rowcount, False, inside))

    def call_status(self, status: int) -> None:
        """The status of an EXECUTE whose end an error still stands before."""
        self.call_statuses.append(status)

    def call_over(self, status: int | None, failed: bool) -> None:
        """An EXECUTE ended."""
        if status is not None:
            self.call_statuses.append(status)
        self.dones.append(Done(CALL, None, failed))

    def message(self, message: Message) -> None:
        """An error or an information message."""
        self.messages.append(message)

    def env(self, kind: str, new: str | int | None, old: str | int | None) -> None:
        """A change of the session's environment (database, language, transaction ...)."""
        self.environment.append((kind, new, old))

    def return_status(self, status: int) -> None:
        """Return status of an RPC."""
        self.statuses.append(status)

    def return_value(self, ordinal: int, name: str, type_: SqlType, value: object) -> None:
        """Final value of an OUTPUT parameter, ordinal counted from 0 in the call's own list."""
        self.return_values.append((ordinal, name, type_, value))

    def proc_done(self, error: bool) -> None:
        """An RPC ended."""
        self.proc_dones.append(error)

    def finish(self) -> None:
        """The request is complete."""
        self.finished = True

    @property
    def errors(self) -> list[Message]:
        """Messages that are errors, in order."""
        return [m for m in self.messages if m.severity > ERROR_ABOVE]

    @property
    def infos(self) -> list[Message]:
        """Information messages (PRINT, RAISERROR below 11, context changes), in order."""
        return [m for m in self.messages if m.severity <= ERROR_ABOVE]

    @property
    def status(self) -> int | None:
        """Return status of the last RPC, None before one arrived."""
        return self.statuses[-1] if self.statuses else None

    def error(self) -> Message | None:
        """The first error, None without one."""
        return next(iter(self.errors), None)

    def ok(self) -> Collector:
        """Itself; the first error is raised as AssertionError."""
        self._refuse_errors()
        return self

    def rows(self, index: int = 0) -> list[tuple[Any, ...]]:
        """Rows of the result set at ``index``; the first error is raised as AssertionError."""
        self._refuse_errors()
        return self.result_sets[index].rows

    def one(self, index: int = 0) -> object:
        """The only value of a one-row result set, or the row when it has several columns."""
        rows = self.rows(index)
        assert len(rows) == 1, f"expected one row, got {len(rows)}"
        return rows[0][0] if len(rows[0]) == 1 else rows[0]

    def value(self, name: str) -> object:
        """Final value of the OUTPUT parameter ``name``; KeyError when it did not arrive."""
        for _, given, _, value in self.return_values:
            if given.lower() == name.lower():
                return value
        raise KeyError(name)

    def _refuse_errors(self) -> None:
        if self.errors:
            first = self.errors[0]
            raise AssertionError(f"Msg {first.number}, Line {first.line}: {first.text}")
