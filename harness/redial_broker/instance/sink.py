"""To whom a session speaks: what it says is the same for a driver, a test and an activated task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # types alone: nothing of it is there when the broker runs
    from typing import Any, Protocol

    from redial_broker.engine import types

    class Sink(Protocol):
        """What a session needs of whoever listens (``Collector``, ``ActivatedSink``, ``TdsSink``).

        A row's values are anything a column can hold; what changes in the environment is a
        name or a transaction's descriptor, None for nothing.
        """

        streams: bool
        """Whether somebody reads the rows while the statement still runs."""

        def columns(self, columns: list[types.ResultColumn], /) -> None:
            """A result set starts."""

        def row(self, values: tuple[Any, ...], /) -> None:
            """One row of the current result set."""

        def done(
            self,
            command: int,
            rowcount: int | None,
            error: bool = False,
            inside: bool = False,
            /,
        ) -> None:
            """A statement ended. inside: a module; without a count it tells nothing, unless it has
            sent rows or failed."""

        def told(self, command: int, rowcount: int | None, inside: bool, /) -> None:
            """A statement ended that the client hears of in any case."""

        def call_status(self, status: int, /) -> None:
            """The status of an EXECUTE whose end an error still stands before."""

        def call_over(self, status: int | None, failed: bool, /) -> None:
            """An EXECUTE of a batch ended; status: None where an error has left the module."""

        def message(self, message: types.Message, /) -> None:
            """An error or an information message."""

        def env(self, kind: str, new: str | int | None, old: str | int | None, /) -> None:
            """A change of the environment (database, language, transaction ...)."""

        def return_status(self, status: int, /) -> None:
            """Return status of an RPC."""

        def return_value(
            self, ordinal: int, name: str, type_: types.SqlType, value: Any, /
        ) -> None:
            """Final value of an OUTPUT parameter, ordinal counted from 0 in the call's list."""

        def proc_done(self, error: bool, /) -> None:
            """An RPC ended."""

        def finish(self) -> None:
            """The request is complete."""

    class Listener(Sink):
        """A session's sink for who reads it: whoever put it there knows what else it has."""

        def __getattr__(self, name: str) -> Any: ...
