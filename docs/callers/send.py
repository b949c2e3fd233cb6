"""Calling a Redial configuration from Python: pyodbc, and tenacity for the retries.

    redial = Redial("Driver={ODBC Driver 18 for SQL Server};Server=...;Database=shop;...", "orders")
    redial.send(b"one message", key="customer 7")

    def order(connection):                          # your rows and the message: both or neither
        connection.execute("INSERT INTO dbo.Orders (Id) VALUES (?);", 7)
        redial.call(connection, b"order 7", key="customer 7")
    redial.transaction(order)

What the application is told of each unit of work, here and in Send.java and Send.cs:

it returns     committed.
it raises      nothing of it is there. What AGAIN names was tried again first: all of it, on a new
               connection, with the same message ids, as long as `seconds` say. Neither a cancel
               nor a wrong argument (50100, 50150) is tried again.
Unknown        the answer to COMMIT got lost: all of it is there, or nothing. It was tried again
               only if repeatable: every message has an id, and delivery = exactly_once.

Three rules keep a later statement from being committed without the earlier ones:

1. No untyped NULL. For a parameter None pyodbc asks the server for the type in a call of its own,
   and keeps a cancel of that call to itself: with XACT_ABORT ON the transaction is gone, and nobody
   is told. setinputsizes does not help, so what is None is no parameter here.
2. The transaction that commits must be the one that began: BEGIN and COMMIT see to it.
3. After an error the connection is asked what is left, rolled back, and never used again.

To try it:    python send.py CONNECTION CONFIG KEY MODE [once] < lines

Every line is `ID TEXT`. CONNECTION: - takes it from REDIAL_SERVER (arguments show in ps). KEY: -
for none. MODE: autocommit sends each line by itself; transaction and batch make one unit of work
of the lines up to an empty one. once: delivery = exactly_once, ID is a GUID and the message id.
Each line is answered by `ok ID`, `failed ID NUMBER` or `unknown ID`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from itertools import groupby
from typing import Any

import pyodbc
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

pyodbc.pooling = False  # we keep our connection; in a pool it could keep a transaction open

AGAIN = {  # the server's errors after which all of it is done again, and why that helps
    50101: "every dialog of the pool stayed busy: nothing was sent",
    50102: "the gate is closed, an operator drains or deploys: nothing was sent",
    1205: "deadlock victim: the server rolled everything back, the other one gets through",
    1222: "a lock did not come within LOCK_TIMEOUT: it may be free now",
    3960: "a row changed under SNAPSHOT: the server rolled everything back, a new snapshot has it",
}
CANCELLED = {"HY008", "HYT00", "HY010"}  # SQLSTATE of a cancel, a time-out, a cancel half way
NOBODY = {"08001", "08S01", "HYT00"}  # of a connection that could not be made

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

NAME = (pyodbc.SQL_WVARCHAR, 128, 0)
TYPES = {  # as the procedures declare them (0: max), so that all calls share one plan
    "@fromService": NAME, "@toService": NAME, "@onContract": NAME, "@messageType": NAME,
    "@messageBody": (pyodbc.SQL_VARBINARY, 0, 0), "@key": (pyodbc.SQL_WVARCHAR, 4000, 0),
    "@messageId": (pyodbc.SQL_GUID, 16, 0), "@json": (pyodbc.SQL_WVARCHAR, 0, 0),
}  # fmt: skip
MODES = ("autocommit", "transaction", "batch")
Connection = pyodbc.Connection


class Gone(Exception):
    """The connection went, or never came, before COMMIT was asked for: nothing is there."""


class Unknown(Exception):
    """COMMIT was asked for and its answer is lost: all of the unit of work is there, or nothing."""


def number_of(error: BaseException | None) -> int:
    """The server's number out of pyodbc's text, ``[...]text (1205) (SQLExecDirectW)``; else 0."""
    found = re.search(r"\((\d+)\) \(SQL", str(error))
    return int(found.group(1)) if found else 0


def worth_another_try(error: BaseException | None, *, repeatable: bool) -> bool:
    """``repeatable``: doing it twice does no harm, because each message carries its id."""
    if isinstance(error, Unknown):
        return repeatable and worth_another_try(error.__cause__, repeatable=True)
    return isinstance(error, Gone) or (
        isinstance(error, pyodbc.Error) and number_of(error) in AGAIN
    )


class Redial:
    """A configuration as an application sees it; one for each thread, as with a connection.

    schema: the configuration's; its services are named //redial/SCHEMA/... in the shipped ones.
    seconds: how long to go on trying. timeout: seconds for one statement, 0 for no limit.
    """

    def __init__(self, connection_string: str, schema: str, seconds: float = 30.0,
                 timeout: int = 0) -> None:  # fmt: skip
        self.connection_string, self.schema = connection_string, schema
        self.seconds, self.timeout = seconds, timeout
        names = (f"//redial/{schema}/{name}" for name in ("initiator", "target", "contract"))
        self.names = dict(zip(("@fromService", "@toService", "@onContract"), names))
        self.message_type = f"//redial/{schema}/event"
        self._connection: Connection | None = None

    def call(self, connection: Connection, body: bytes | None, key: str | None = None,
             message_id: uuid.UUID | None = None) -> None:  # fmt: skip
        """One EXECUTE on a connection of yours: in its transaction if it has one open.

        Sends or raises; a message that was sent is yours to commit. Call it LAST in a transaction:
        from here to the commit, whoever shares the dialog waits for you.
        """
        values = {"@messageType": self.message_type, "@messageBody": body, "@key": key,
                  "@messageId": message_id and str(message_id)}  # fmt: skip
        self._execute(connection, "usp_Send", values, "@messageBody = NULL" if body is None else "")

    def batch(self, connection: Connection, bodies: list[bytes], key: str | None = None,
              message_ids: list[uuid.UUID] | None = None) -> int:  # fmt: skip
        """Thousands of messages in one round trip: all or none, in this order; how many.

        As JSON, which every driver can send; docs/bulk.md has table-valued parameters and more.
        """
        ids = message_ids or [None] * len(bodies)
        messages = [
            {"ordinal": place, "type": self.message_type, "body": b64encode(body).decode(),
             "key": key, "id": one and str(one)}
            for place, (body, one) in enumerate(zip(bodies, ids, strict=True))
        ]  # fmt: skip
        rows = self._execute(connection, "usp_SendBatch", {"@json": json.dumps(messages)})
        return rows[0].MessagesSent

    def send(self, body: bytes | None, key: str | None = None,
             message_id: uuid.UUID | None = None) -> None:  # fmt: skip
        """One message, which usp_Send commits by itself; with retries under the same id."""
        self._until_done(lambda connection: self.call(connection, body, key, message_id),
                         alone=True, repeatable=message_id is not None)  # fmt: skip

    def transaction(self, work: Callable[[Connection], Any], *, repeatable: bool = False) -> Any:
        """``work`` and its messages as one transaction; all of it again where that helps.

        ``work`` may be called several times. It neither commits nor rolls back, and lets errors
        through: after one its transaction is gone (50250). repeatable: what Unknown says; make the
        ids outside ``work``, so that a repetition has the same ones.
        """
        return self._until_done(work, alone=False, repeatable=repeatable)

    def close(self) -> None:
        """Give the connection back; the next unit of work makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(pyodbc.Error):
                connection.close()

    def _execute(self, connection: Connection, procedure: str, values: dict[str, Any],
                 more: str = "") -> list[pyodbc.Row]:  # fmt: skip
        """EXECUTE with what is not None as typed parameters; its rows, read to the end."""
        given = {name: v for name, v in (self.names | values).items() if v is not None}
        arguments = ", ".join([*(f"{name} = ?" for name in given), *([more] if more else [])])
        with closing(connection.cursor()) as cursor:
            cursor.setinputsizes([TYPES[name] for name in given])
            cursor.execute(f"EXECUTE [{self.schema}].{procedure} {arguments};", *given.values())
            rows = cursor.fetchall() if cursor.description else []
            while cursor.nextset():  # an error behind the rows is raised here
                pass
            return rows

    def _until_done(self, work: Callable, *, alone: bool, repeatable: bool) -> Any:
        """Attempts with growing random pauses between them. Once unknown, it stays unknown."""
        doubt = False

        def attempt() -> Any:
            nonlocal doubt
            try:
                return self._once(work, alone)
            except Exception as error:
                if doubt and not isinstance(error, Unknown):
                    raise Unknown("an earlier try may have been committed") from error
                doubt = isinstance(error, Unknown)
                raise

        return Retrying(
            retry=retry_if_exception(lambda e: worth_another_try(e, repeatable=repeatable)),
            wait=wait_random_exponential(multiplier=0.1, max=5),
            stop=stop_after_delay(self.seconds),
            reraise=True,
        )(attempt)

    def _once(self, work: Callable, alone: bool) -> Any:
        """One attempt. alone: one statement that commits by itself; else one transaction."""
        connection, commit_asked = self._open(), alone
        try:
            if alone:
                return work(connection)
            begun = _value(connection, BEGIN)
            result = work(connection)
            commit_asked = True
            connection.execute(COMMIT.format(begun=begun))
            return result
        except BaseException as error:
            self._settle(error, commit_asked)
            raise

    def _open(self) -> Connection:
        """The connection: the kept one, or a new one. Raises Gone when nobody answers."""
        if self._connection is None:
            try:
                self._connection = pyodbc.connect(
                    self.connection_string, autocommit=True, timeout=10)  # fmt: skip
            except pyodbc.Error as error:
                if error.args[0] in NOBODY:
                    raise Gone("the server did not answer: nothing was sent") from error
                raise
            self._connection.timeout = self.timeout
        return self._connection

    def _settle(self, error: BaseException, commit_asked: bool) -> None:
        """Roll back what ``error`` left; raise Gone or Unknown if that is what it means."""
        try:
            left = _value(self._open(), LOOK)
        except (pyodbc.Error, Gone):
            left = None  # no answer; the server rolls back what was not committed
        self.close()
        if not isinstance(error, pyodbc.Error):
            return
        if left is None:
            gone = Gone("the connection went")
            gone.__cause__ = error
            if commit_asked:
                raise Unknown("the connection went, and the answer to COMMIT with it") from gone
            raise gone
        if commit_asked and left == 0 and error.args[0] in CANCELLED:
            raise Unknown("a cancel met COMMIT") from error


def _value(connection: Connection, sql: str) -> int:
    """One value. All rows are read: closing an unread result would send a cancel after it."""
    with closing(connection.execute(sql)) as cursor:
        return cursor.fetchall()[0][0]


def units(lines: Iterable[str], alone: bool) -> Iterator[list[str]]:
    """The lines of each unit of work: one, or those up to an empty one."""
    for filled, group in groupby(map(str.strip, lines), bool):
        if filled and alone:
            yield from ([line] for line in group)
        elif filled:
            yield list(group)


def main(server: str, schema: str, key: str, mode: str, once: str = "") -> None:
    """Send the lines of standard input; say of each what became of it."""
    server = os.environ["REDIAL_SERVER"] if server == "-" else server
    alone, key = mode == "autocommit", None if key == "-" else key
    with closing(Redial(server, schema)) as redial:
        for lines in units(sys.stdin, alone):
            names, texts = zip(*(line.partition(" ")[::2] for line in lines))
            ids = [uuid.UUID(name) for name in names] if once else None
            said = outcome(redial, key, mode, [text.encode() for text in texts], ids)
            for name in names:
                print(said.format(name), flush=True)


def outcome(
    redial: Redial, key: str | None, mode: str, bodies: list[bytes], ids: list[uuid.UUID] | None
) -> str:
    """What became of one unit of work: the answer to each of its lines."""

    def work(connection: Connection) -> None:
        if mode == "batch":
            redial.batch(connection, bodies, key, ids)
            return
        for body, message_id in zip(bodies, ids or [None] * len(bodies)):
            redial.call(connection, body, key, message_id)

    try:
        if mode == "autocommit":
            redial.send(bodies[0], key, ids and ids[0])
        else:
            redial.transaction(work, repeatable=ids is not None)
        return "ok {}"
    except Unknown:
        return "unknown {}"
    except (pyodbc.Error, Gone) as error:
        return f"failed {{}} {number_of(error.__cause__ or error)}"


if __name__ == "__main__":
    if len(sys.argv) < 5 or sys.argv[4] not in MODES or sys.argv[5:] not in ([], ["once"]):
        sys.exit(f"send.py CONNECTION CONFIG KEY {'|'.join(MODES)} [once]: see its first lines")
    main(*sys.argv[1:])
