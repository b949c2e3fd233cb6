"""Calling a Redial configuration from Python: pyodbc, and tenacity for the retries.

    python send.py "Server=...;Database=shop;..." orders "customer 7"

What to do on which error:

50100          an argument is wrong: a bug of the caller. Never retried.
50101          every dialog of the pool is busy: try again in a moment.
50102          the gate is closed, an operator is draining or changing the configuration: try again,
               slower and longer; a user who waits should be told.
1205           chosen as deadlock victim: the whole transaction is gone; do all of it again.
1222           somebody held a lock for longer than this session's LOCK_TIMEOUT: roll back, then do
               all of it again.
08S01, 08001   the connection is gone and so is the answer: the message may have been sent. With
               delivery = exactly_once send it again with the SAME message id; otherwise a retry
               may send it twice, and only the application knows whether that is worse than never.
anything else  is raised: it will not go away by itself.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

import pyodbc
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

AGAIN = frozenset({50101, 50102, 1205, 1222})
LOST = frozenset({"08S01", "08001", "08003", "08007", "HYT01"})

_Result = TypeVar("_Result")


def number_of(error: BaseException) -> int | None:
    """The server's error number out of pyodbc's text: ``[...]text (1205) (SQLExecDirectW)``."""
    found = re.search(r"\((\d+)\) \(SQL", str(error))
    return int(found.group(1)) if found else None


def worth_another_try(error: BaseException, *, repeatable: bool) -> bool:
    """``repeatable``: sending twice does no harm, because the message carries its id."""
    if not isinstance(error, pyodbc.Error):
        return False
    return number_of(error) in AGAIN or (repeatable and error.args[0] in LOST)


class Redial:
    """The one procedure of a configuration, as an application sees it.

    schema: the configuration's; its services are named //redial/SCHEMA/... in the shipped ones.
    seconds: how long to go on trying.
    """

    def __init__(self, connection_string: str, schema: str, seconds: float = 30.0) -> None:
        self.connection_string, self.schema, self.seconds = connection_string, schema, seconds
        names = "initiator", "target", "contract", "event"
        self.names = [f"//redial/{schema}/{name}" for name in names]

    def call(
        self,
        connection: pyodbc.Connection,
        body: bytes | None,
        key: str | None = None,
        message_id: uuid.UUID | None = None,
    ) -> None:
        """One EXECUTE on a connection of yours: in its transaction if it has one open.

        Sends or raises; a message that was sent is yours to commit. Call it LAST in a transaction:
        from here to the commit, whoever shares the dialog waits for you.
        """
        with closing(connection.cursor()) as cursor:
            cursor.execute(
                f"EXECUTE [{self.schema}].usp_Send @fromService = ?, @toService = ?, "
                "@onContract = ?, @messageType = ?, @messageBody = ?, @key = ?, @messageId = ?;",
                *self.names, pyodbc.Binary(body) if body is not None else None, key,
                None if message_id is None else str(message_id),
            )  # fmt: skip

    def batch(
        self, connection: pyodbc.Connection, bodies: list[bytes], key: str | None = None
    ) -> int:
        """Thousands of messages in one round trip: all or none, in this order; how many.

        As JSON, which every driver can send; docs/bulk.md has table-valued parameters and more.
        """
        messages = [
            {"ordinal": place, "type": self.names[-1], "body": b64encode(body).decode(), "key": key}
            for place, body in enumerate(bodies)
        ]
        with closing(connection.cursor()) as cursor:
            row = cursor.execute(
                f"EXECUTE [{self.schema}].usp_SendBatch @fromService = ?, @toService = ?, "
                "@onContract = ?, @json = ?;", *self.names[:3], json.dumps(messages),
            ).fetchone()  # fmt: skip
            return row.MessagesSent

    def send(
        self, body: bytes | None, key: str | None = None, message_id: uuid.UUID | None = None
    ) -> None:
        """One message in a transaction of its own, with retries."""
        self.transaction(lambda connection: self.call(connection, body, key, message_id),
                         repeatable=message_id is not None)  # fmt: skip

    def transaction(
        self, work: Callable[[pyodbc.Connection], _Result], *, repeatable: bool = False
    ) -> _Result:
        """``work`` and its messages as one transaction; all of it again where that helps."""
        attempts = Retrying(
            retry=retry_if_exception(lambda e: worth_another_try(e, repeatable=repeatable)),
            wait=wait_random_exponential(multiplier=0.1, max=5),
            stop=stop_after_delay(self.seconds),
            reraise=True,
        )
        return attempts(self._once, work)

    def _once(self, work: Callable[[pyodbc.Connection], _Result]) -> _Result:
        """One attempt on one connection: committed, or rolled back and raised."""
        with closing(pyodbc.connect(self.connection_string, autocommit=False)) as connection:
            try:
                result = work(connection)
                connection.commit()
                return result
            except BaseException:
                with suppress(pyodbc.Error):  # gone: its transaction is gone with it
                    connection.rollback()  # 1222 leaves the transaction open, 1205 does not
                raise


def main(connection_string: str, schema: str, key: str | None = None) -> None:
    """Three ways to send."""
    redial = Redial(connection_string, schema)
    redial.send(b"a message in a transaction of its own", key)

    def order(connection: pyodbc.Connection) -> None:
        connection.execute("CREATE TABLE #work (Id int NOT NULL); INSERT INTO #work VALUES (1);")
        redial.call(connection, b"committed or rolled back with the row above", key)

    redial.transaction(order)
    if schema == "etl":  # delivery = exactly_once: the id makes a repetition harmless
        message_id = uuid.uuid4()
        for _ in range(2):
            redial.send(b"lands once, however often it is sent", key, message_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
