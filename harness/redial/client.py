"""Send messages from Python, over pyodbc:

    connection = pyodbc.connect("Driver={ODBC Driver 18 for SQL Server};Server=...", autocommit=True)
    send(connection, b"{}", schema="audit")

It returns: sent. It raises NotSent: nothing is there. It raises MaybeSent: the answer got lost, so
all of it is there, or nothing. In a transaction of yours (autocommit off, or one begun) it is sent
when you commit; an error is told at once, nothing is tried again, and you roll back.

Outside of one, what AGAIN names is tried again, with pauses (Retry). A connection that was lost
needs a new one: pass a function that opens it (or your pool's) instead of a connection. What may
have been sent is sent again only under a message_id, which needs delivery = exactly_once.
"""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import pyodbc

from redial.odbc import server_message
from redial.quoting import quote_name

AGAIN = {  # the server's errors after which all of it is done again, and why that helps
    50101: "every dialog of the pool stayed busy: nothing was sent",
    50102: "the gate is closed, an operator drains or deploys: nothing was sent",
    1205: "deadlock victim: the server rolled everything back, the other one gets through",
    1222: "a lock did not come within LOCK_TIMEOUT: it may be free now",
    3960: "a row changed under SNAPSHOT: the server rolled everything back, a new snapshot has it",
}
DRIVER = "Pass Driver={redial.odbc.odbc_driver()}: what pip brought is registered under no name."
NEXT: dict[int | str, str] = {  # by the server's number, or the driver's SQLSTATE
    "01000": DRIVER,
    "IM002": DRIVER,
    201: "Pass message_type: this configuration has several.",
    229: "Have your user added to the configuration's sender role.",
    2812: "Check the schema, and the database in the connection string.",
    18456: "Check login and password; never try again with the same.",
}
CANCELLED = {"HY008", "HYT00", "HY010"}  # SQLSTATE of a cancel, a time-out, a cancel half way
NOBODY = {"08001", "08S01", "HYT00"}  # of a connection that could not be made

INSIDE = "SELECT @@TRANCOUNT + (@@OPTIONS & 2);"  # 2: IMPLICIT_TRANSACTIONS

NOT_INSIDE = """\
IF @@TRANCOUNT + (@@OPTIONS & 2) > 0
BEGIN
    SELECT -1;
    RETURN;
END;
"""
BEGIN = """\
SET XACT_ABORT ON;              /* an error or a cancel leaves no half of the work and no lock */
BEGIN TRANSACTION;
SET IMPLICIT_TRANSACTIONS ON;   /* after a rollback nobody was told of, nothing commits by itself */
SELECT CURRENT_TRANSACTION_ID();"""

COMMIT = """\
IF @@TRANCOUNT <> 1 OR CURRENT_TRANSACTION_ID() <> {begun}
    THROW 50250, N'The transaction that was begun is not the one to be committed: an error or a \
cancel in the work was caught or kept quiet, or the work ended it. Nothing was committed now. \
Next: mend the work.', 1;
COMMIT TRANSACTION;
SET IMPLICIT_TRANSACTIONS OFF;"""

LOOK = """\
DECLARE @left int = @@TRANCOUNT;
IF @left > 0 ROLLBACK TRANSACTION;
SET IMPLICIT_TRANSACTIONS OFF;
SELECT @left;"""

TYPES = {  # as the procedures declare them (0: max): one plan, and no untyped NULL (F-470)
    "@messageType": (pyodbc.SQL_WVARCHAR, 128, 0), "@messageBody": (pyodbc.SQL_VARBINARY, 0, 0),
    "@key": (pyodbc.SQL_WVARCHAR, 4000, 0), "@messageId": (pyodbc.SQL_GUID, 16, 0),
    "@json": (pyodbc.SQL_WVARCHAR, 0, 0),
}  # fmt: skip
Connection: TypeAlias = pyodbc.Connection
Place: TypeAlias = Connection | Callable[[], Connection]
T = TypeVar("T")


class SendError(Exception):
    """What was done, why it failed, what to do next. number: the server's, or 0.

    again: to do all of it again, after a pause and on a connection that lives, may help, and sends
    nothing twice.
    """

    def __init__(
        self, what: str, cause: str, next_step: str, number: int = 0, again: bool = False
    ) -> None:
        super().__init__(f"{what}: {cause} Next: {next_step}")
        self.what, self.cause, self.next_step = what, cause, next_step
        self.number, self.again = number, again


class NotSent(SendError):
    """Nothing of it is there; in a transaction of yours, once you have rolled back."""


class MaybeSent(SendError):
    """It may or may not have been sent: the answer got lost."""


@dataclass(frozen=True)
class Retry:
    """How often, at least once, with pauses of a random part of 0.1 s, 0.2 s, ... 5 s between the tries."""

    tries: int = 12
    sleep: Callable[[float], object] = time.sleep


RETRY = Retry()


def send(
    connection: Place, body: bytes | None, *, schema: str, key: str | None = None,
    message_type: str | None = None, message_id: UUID | None = None, retry: Retry = RETRY,
) -> None:  # fmt: skip
    """One message. None and b"" both arrive as NULL. Call it LAST in a transaction of yours."""
    if body is not None and not isinstance(body, bytes):
        raise _no_bytes(f"{schema}.usp_Send", body)
    values: dict[str, Any] = {"@messageBody": body, "@messageType": message_type, "@key": key}
    values["@messageId"] = message_id and str(message_id)
    _call(connection, schema, "usp_Send", values, message_id is not None, retry)


def send_many(
    connection: Place, bodies: Iterable[bytes | None], *, schema: str, message_type: str | None = None,
    key: str | None = None, message_ids: Sequence[UUID] | None = None, retry: Retry = RETRY,
) -> int:  # fmt: skip
    """Thousands in one round trip, all or none, in this order; how many. docs/bulk.md has more."""
    what, bodies = f"{schema}.usp_SendBatch", list(bodies)
    for body in bodies:
        if body is not None and not isinstance(body, bytes):
            raise _no_bytes(what, body)
    ids: Sequence[UUID | None] = [None] * len(bodies) if message_ids is None else message_ids
    if len(ids) != len(bodies):
        raise NotSent(
            what, f"{len(bodies)} messages have {len(ids)} message_ids.", "Pass one for each."
        )
    messages = [
        {"ordinal": place, "type": message_type, "body": b64encode(body or b"").decode(),
         "key": key, "id": one and str(one)}
        for place, (body, one) in enumerate(zip(bodies, ids, strict=True))
    ]  # fmt: skip
    values = {"@json": json.dumps(messages)}
    rows = _call(connection, schema, "usp_SendBatch", values, message_ids is not None, retry)
    return int(rows[0].MessagesSent)


def transaction(
    connect: Callable[[], Connection], work: Callable[[Connection], T], *,
    repeatable: bool = False, retry: Retry = RETRY,
) -> T:  # fmt: skip
    """``work``, which writes and sends, as one transaction; all of it again where that helps.

    ``work`` may be called several times. It neither commits nor rolls back, and lets errors
    through: after one its transaction is gone (50250). repeatable: do it again although it may be
    there; each message has an id, made outside ``work``, and delivery = exactly_once.
    """
    what = "the transaction"

    def attempt() -> T:
        connection, commit_asked = _opened(connect, what), False
        try:
            if not connection.autocommit or (begun := _value(connection, NOT_INSIDE + BEGIN)) < 0:
                raise _no_autocommit(what)
            result = work(connection)
            commit_asked = True
            connection.execute(COMMIT.format(begun=begun)).close()
            return result
        except BaseException as error:
            alive = _answers(connection, LOOK)
            cause = error.__cause__ if isinstance(error, SendError) else error
            if not isinstance(cause, pyodbc.Error):
                raise
            what_failed = error.what if isinstance(error, SendError) else what
            told = _told(cause, what_failed, alive=alive, maybe=commit_asked)
            if told.again or commit_asked or isinstance(error, SendError):
                raise told from cause
            raise  # your statement's own error, as it came
        finally:
            _close(connection)

    return _until_done(attempt, repeatable, retry, lambda: False)


def _call(
    place: Place, schema: str, procedure: str, values: dict[str, Any], repeatable: bool,
    retry: Retry,
) -> list[Any]:  # fmt: skip
    """EXECUTE, with the rules of the module's first lines; its rows."""
    what, reopens, inside, final = f"{schema}.{procedure}", callable(place), False, False
    if not isinstance(schema, str):
        raise NotSent(what, f"schema is {type(schema).__name__}.", "Pass its name, a text.")

    def attempt() -> list[Any]:
        nonlocal inside, final
        connection: Connection = _opened(place, what) if callable(place) else place
        asked = False
        try:
            inside = final = _inside(connection)
            if inside and reopens:
                raise _no_autocommit(what)
            asked = True
            return _execute(connection, f"{quote_name(schema)}.{procedure}", values)
        except pyodbc.Error as error:
            alive, maybe = _answers(connection, "SELECT 1;"), asked and not inside
            final = inside or not (alive or reopens)  # a dead connection of yours stays dead
            raise _told(error, what, alive=alive, maybe=maybe, inside=inside) from error
        finally:
            if reopens:
                _close(connection)

    return _until_done(attempt, repeatable, retry, lambda: final)


def _until_done(
    attempt: Callable[[], T], repeatable: bool, retry: Retry, final: Callable[[], bool]
) -> T:
    """Attempts with growing random pauses between them. What may be there stays so."""
    doubt: MaybeSent | None = None
    left = retry.tries
    while True:
        try:
            return attempt()
        except SendError as error:
            left -= 1
            if isinstance(error, MaybeSent):
                doubt, error.again = error, error.again and repeatable
            if final() or not error.again or left <= 0:
                if doubt is None or doubt is error:
                    raise
                raise doubt from error
        retry.sleep(random.uniform(0, min(5.0, 0.05 * 2.0 ** (retry.tries - left))))


def _execute(connection: Connection, procedure: str, values: dict[str, Any]) -> list[Any]:
    """EXECUTE with what is not None as typed parameters; its rows, read to the end."""
    given = {name: value for name, value in values.items() if value is not None}
    arguments = [f"{name} = ?" for name in given]
    arguments += ["@messageBody = NULL"] * ("@messageBody" in values.keys() - given.keys())
    with closing(connection.cursor()) as cursor:
        cursor.setinputsizes([TYPES[name] for name in given])
        cursor.execute(f"EXECUTE {procedure} {', '.join(arguments)};", *given.values())
        rows = cursor.fetchall() if cursor.description else []
        while cursor.nextset():  # an error behind the rows is raised here
            pass
        return list(rows)


def _told(
    error: pyodbc.Error, what: str, *, alive: bool, maybe: bool, inside: bool = False
) -> SendError:
    """What the driver raised, as NotSent or MaybeSent."""
    state = str(error.args[0]) if error.args else ""
    number, text = server_message(error)
    cause, _, said = text.partition(" Next: ")
    lost = not alive or state.startswith("08")  # a driver may have reconnected quietly
    if maybe and (lost or state in CANCELLED):
        return MaybeSent(
            what, f"The answer got lost: it may or may not have been sent. {cause}",
            "Look whether it has landed; or send it with a message_id (delivery = exactly_once), "
            "which can be repeated.", number or 0, lost,
        )  # fmt: skip
    again = lost or number in AGAIN
    step = "Open a new connection and do all of it again." if lost else said
    step = step or NEXT.get(number or state) or (
        "Do all of it again, later." if again else
        "See the number in docs/errors.md." if number else "See what the driver says.")  # fmt: skip
    if inside and not lost:
        step = f"Roll your transaction back. {step[:1].upper()}{step[1:]}"
    return NotSent(what, cause, step, number or 0, again)


def _no_bytes(what: str, body: object) -> NotSent:
    return NotSent(what, f"A body is {type(body).__name__}; messages are bytes.",
                   "Pass bytes, such as text.encode().")  # fmt: skip


def _no_autocommit(what: str) -> NotSent:
    return NotSent(what, "The function gave a connection inside a transaction.",
                   "Open it with autocommit=True.")  # fmt: skip


def _inside(connection: Connection) -> bool:
    """Whether what is sent on it now would be somebody's to commit."""
    return not connection.autocommit or _value(connection, INSIDE) > 0


def _opened(connect: Any, what: str) -> Connection:
    try:
        return connect()
    except pyodbc.Error as error:
        alive = bool(error.args) and error.args[0] not in NOBODY
        raise _told(error, what, alive=alive, maybe=False) from error


def _value(connection: Connection, sql: str) -> int:
    """One value. All rows are read: closing an unread result would send a cancel after it."""
    with closing(connection.execute(sql)) as cursor:
        return int(cursor.fetchall()[0][0])


def _answers(connection: Connection, sql: str) -> bool:
    with suppress(pyodbc.Error):
        _value(connection, sql)
        return True
    return False


def _close(connection: Connection) -> None:
    with suppress(pyodbc.Error):
        connection.close()
