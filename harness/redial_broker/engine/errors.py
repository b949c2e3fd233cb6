"""Errors as the server raises them: number, severity, state, text, and what they end.

Texts live in ``messages.py``; nobody else spells one.
"""

from __future__ import annotations

from typing import Any

from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.engine.messages import ABORTS, MESSAGES, STATES

STATEMENT, SCOPE, BATCH, CONNECTION = "statement", "scope", "batch", "connection"
OVERFLOW = 8115

SECOND_KEY = 1779
"""A second primary key: like what is found while a statement is compiled, no TRY of the same
scope sees it (F-522)."""

THROWN = "thrown"
"""What an error ends without TRY and with XACT_ABORT OFF (SET XACT_ABORT page and probes).

BATCH rolls the transaction back too; THROWN ends the batch and leaves the transaction open.
"""


class SqlError(Exception):
    """A server error on its way to a CATCH block or to the client.

    number, severity, state and text are the client's; procedure and line are filled in by the
    executor; ``aborts`` says what the error ends when nobody catches it.
    """

    def __init__(
        self,
        number: int,
        *args: object,
        state: int | None = None,
        severity: int | None = None,
        text: str | None = None,
        line: int = 0,
        aborts: str | None = None,
    ) -> None:
        default_severity, template = MESSAGES.get(number, (16, "%s"))
        self.number = number
        self.severity = default_severity if severity is None else severity
        self.state = usual_state(number, args) if state is None else state
        self.text = text if text is not None else (template % args if args else template)
        self.procedure = ""
        self.line = line
        self.aborts = aborts or ABORTS.get(number, STATEMENT)
        self.compiling = False  # found while compiling the statement: no TRY of its scope sees it
        self.raised = False  # by RAISERROR, which XACT_ABORT ignores
        self.of_call = False  # about the arguments of a call: it has no line (F-520)
        self.returns: int | None = None  # what the system procedure that raised it returns
        self.ignored = False  # a duplicate key an index with IGNORE_DUP_KEY leaves out
        self.partial: tuple[object, list[Any]] | None = None  # (who projects, rows before it)
        self.reached: list[Any] | None = None  # images of the rows a change was through with
        self.sent: int | None = None  # rows of the result set the failing statement has begun
        self.before: tuple[SqlError, ...] = ()  # messages the client gets first; CATCH sees none
        super().__init__(self.text)

    def __str__(self) -> str:
        """Number and text, for logs and test failures."""
        return f"Msg {self.number}, Level {self.severity}, State {self.state}: {self.text}"


def usual_state(number: int, args: tuple[object, ...]) -> int:
    """The state of an error whose place says none (F-523)."""
    if number == OVERFLOW and args[:1] == ("expression",):
        return 2
    return STATES.get(number, 1)


def followed(number: int, *args: object, by: SqlError, state: int = 0) -> SqlError:
    """An error the server reports in two messages: what is wrong, then what failed (``by``).

    ERROR_NUMBER() in a CATCH block is that of the second one.
    """
    by.before = (*by.before, SqlError(number, *args, state=state))
    return by


def not_created(number: int, *args: object, state: int = 0) -> SqlError:
    """An error of a constraint's definition, followed by 1750 with the same state (F-522)."""
    error = followed(number, *args, by=SqlError(1750, state=state), state=state)
    error.compiling = number == SECOND_KEY
    return error


class NotSupported(SqlError):
    """The embedded broker does not do this; it says so by name and position, never guesses."""

    def __init__(self, construct: str, position: tuple[int, int] | None = None) -> None:
        super().__init__(
            NOT_SUPPORTED,
            text=f"The embedded broker does not support {construct}.",
            aborts=BATCH,
        )
        self.placed = False
        if position is not None:
            self.place(position)

    def place(self, position: tuple[int, int]) -> None:
        """Put the position into the text; of the whole statement when nothing closer is known."""
        if self.placed:
            return
        self.placed, self.line = True, position[0]
        self.text = f"{self.text[:-1]} (line {position[0]}, column {position[1]})."
        self.args = (self.text,)


class Wait(Exception):
    """The running statement must wait; the session's wait record says for what.

    The executor undoes the statement's changes, keeps its locks, and runs the same statement again
    from its start when the wait is over.
    """


class Overlong(Wait):
    """The running statement has taken its share of the time: it starts again where it can be
    suspended, on a thread of its own.

    Raised only by a server's instance, at a look of the meter.
    """


class Stopped(BaseException):
    """The suspended statement never goes on: its session was cancelled or killed.

    No Exception, so that nothing between the statement and the machine takes it for an error.
    """
