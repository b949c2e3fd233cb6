"""redial.client.transaction: rows and messages are both there or neither, whatever happens.

The moment is met on the wire: a request is held there until what shall happen has happened.
"""

# ruff: noqa: F811 (fixtures that come from another folder)
from __future__ import annotations

import uuid
from contextlib import suppress

import pyodbc
import pytest

from redial import client
from redial.client import NotSent, send, transaction
from tests.product.examples.stage import REBORN, WAYS_TO_GO

from .client_stage import (  # noqa: F401
    closed_gate,
    connect,
    held_slot,
    let_go,
    opened_gate,
    stage,
    theatre,
    three,
)

pytestmark = pytest.mark.driver

QUESTION = "sp_describe_undeclared_parameters"
"""What pyodbc asks of its own before it runs a statement with a NULL it knows no type of."""

UNTYPED = "INSERT INTO dbo.Work (Id, Note) VALUES (N'second', ?);"
UNTYPABLE = "INSERT INTO dbo.Work (Id) VALUES (CONCAT(N'second', ?));"  # the question gets 11502


class Watched:
    """A connection whose calls the application can cancel from another thread.

    It keeps each cursor until the canceller is done with it: pyodbc frees it under its feet.
    """

    def __init__(self, connection, wire):
        self.connection, self.wire, self.last = connection, wire, None
        self.autocommit = connection.autocommit

    def cursor(self):
        self.last = self.connection.cursor()
        return self

    def execute(self, *arguments):
        return (self.last or self.connection).execute(*arguments)

    def cancel(self):
        self.last.cancel()

    def close(self):
        if self.wire.canceller is not None:
            self.wire.canceller.join()
        self.last.close()
        self.last = None

    def __getattr__(self, name):
        return getattr(self.last, name)


# ---------------------------------------------------------------------- the hole, and its lid
@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
def test_without_the_rules_the_second_half_is_committed_alone(stage, autocommit, cancelled):
    """Why ``transaction`` is as it is: nobody is told, and the first row is gone.

    1 A transaction under XACT_ABORT ON writes a row. 2 pyodbc asks about a NULL of the next
    statement; a cancel meets the question. 3 pyodbc runs the statement. 4 COMMIT.
    """
    connection = pyodbc.connect(stage.odbc, autocommit=autocommit)
    connection.execute("SET XACT_ABORT ON;" + "BEGIN TRANSACTION;" * autocommit)
    connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
    cursor = connection.cursor()
    if cancelled:
        stage.wire.when(QUESTION, stage.wire.cancelled(cursor.cancel))
    cursor.execute(UNTYPED, None)
    if cancelled:
        stage.wire.canceller.join()
    with suppress(pyodbc.ProgrammingError):  # 3902; or nothing at all, if the driver began another
        connection.execute("COMMIT;") if autocommit else connection.commit()
    connection.close()
    assert stage.work() == (["second"] if cancelled else ["first", "second"])


def refused(connect, work):
    """The transaction is refused at COMMIT."""
    with pytest.raises(NotSent, match="Next: mend the work") as told:
        transaction(connect, work)
    assert told.value.number == 50250


def test_half_a_unit_of_work_is_refused_at_commit(stage, connect):
    """1 The work writes a row. 2 A cancel meets pyodbc's question about a NULL of the work's own.

    3 The work writes and sends. 4 COMMIT is refused, and nothing of it is there.
    """

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        cursor = connection.cursor()
        stage.wire.when(QUESTION, stage.wire.cancelled(cursor.cancel))
        cursor.execute(UNTYPED, None)
        stage.wire.canceller.join()
        send(connection, b"third", schema="audit")

    refused(connect, work)
    assert stage.wire.waits == 0
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


def test_a_question_that_cannot_be_answered_splits_no_unit_of_work(stage, connect):
    """The same without any cancel: 11502 is kept from the application too.

    Whether it ends the transaction under XACT_ABORT ON is unknown (F-470): all, or nothing.
    """

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        connection.execute(UNTYPABLE, None)

    try:
        transaction(connect, work)
        assert stage.work() == ["first", "second"]
    except NotSent as error:
        assert error.number == 50250
        assert stage.work() == []
    assert len(stage.wire.asked(QUESTION)) == 1


def test_a_transaction_that_was_ended_and_begun_again_is_not_committed(stage, connect):
    """1 A procedure that the work calls ends the transaction, and says nothing. 2 It is refused."""
    refused(connect, lambda connection: send(connection, b"x", schema=REBORN))
    assert stage.work() == []
    stage.is_clean()


def test_work_that_catches_an_error_and_goes_on_commits_nothing(stage, connect):
    """1 A row. 2 The same again: 2627, and the work goes on. 3 It sends. 4 COMMIT is refused."""

    def work(connection):
        for _ in range(2):
            with suppress(pyodbc.IntegrityError):
                connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        send(connection, b"after it", schema="audit")

    refused(connect, work)
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


@pytest.mark.parametrize("error", [ValueError, pyodbc.IntegrityError])
def test_an_error_of_the_works_own_rolls_back_and_comes_as_it_was(stage, connect, error):
    def work(connection):
        send(connection, b"never sent", schema="audit")
        if error is ValueError:
            raise ValueError("the work's own")
        for _ in range(2):
            connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")

    with pytest.raises(error):
        transaction(connect, work, retry=three(lambda: pytest.fail("a pause")))
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


# ---------------------------------------------------------------------- cancel, kill and cut
def test_a_cancel_undoes_all_of_it_and_is_not_tried_again(stage, connect):
    """1 A row. 2 A cancel meets the call of usp_Send. 3 NotSent, and nothing is there."""
    tries = []

    def work(connection):
        tries.append(1)
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        watched = Watched(connection, stage.wire)
        stage.wire.when("usp_Send", stage.wire.cancelled(watched.cancel))
        send(watched, b"x", schema="audit")

    with pytest.raises(NotSent):
        transaction(connect, work)
    assert tries == [1]
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


@pytest.mark.parametrize("words", ["CURRENT_TRANSACTION_ID();", "INSERT INTO", "usp_Send"])
@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_a_connection_that_goes_before_commit_costs_nothing(stage, connect, words, how):
    """1 It goes at BEGIN, at the work or at the message. 2 All of it is done again, once."""
    stage.wire.when(words, stage.goes(how))

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        send(connection, b"second", schema="audit")

    transaction(connect, work, retry=three())
    assert stage.wire.waits == 0
    assert (stage.work(), stage.landed()) == (["first"], [b"second"])
    stage.is_clean()


# ---------------------------------------------------------------------- refused, and done again
def held_row(stage):
    """Somebody's open transaction has the row the work wants."""
    stage.does("BEGIN TRANSACTION; UPDATE dbo.Work SET Id = N'held' WHERE Id = N'1';")


def crossed(stage):
    """Somebody has row 2 and wants row 1, which the work has."""
    stage.starts(
        "BEGIN TRANSACTION; UPDATE dbo.Work SET Id = N'2' WHERE Id = N'2';",
        "UPDATE dbo.Work SET Id = N'1' WHERE Id = N'1'; ROLLBACK TRANSACTION;",
    )


def changed_row(stage):
    """Somebody has changed the row that the work's snapshot has."""
    stage.does("UPDATE dbo.Work SET Id = N'1' WHERE Id = N'1';")


WRITE = "UPDATE dbo.Work SET Id = N'1' WHERE Id = N'1';"
REFUSED = {  # number: what happens first; the work's statements; what happens between them; the end
    50101: (held_slot, [], None, let_go),
    50102: (closed_gate, [], None, opened_gate),
    1222: (held_row, ["SET LOCK_TIMEOUT 0;", WRITE], None, let_go),
    1205: (
        None,
        ["SET DEADLOCK_PRIORITY LOW;" + WRITE, "UPDATE dbo.Work SET Id = N'2' WHERE Id = N'2';"],
        crossed,
        None,
    ),
    3960: (
        None,
        ["SET TRANSACTION ISOLATION LEVEL SNAPSHOT; SELECT Id FROM dbo.Work;", WRITE],
        changed_row,
        None,
    ),
}


@pytest.mark.parametrize("number", REFUSED)
def test_a_transaction_that_is_refused_is_done_again_under_the_same_id(stage, connect, number):
    """1 The first try is refused. 2 What refused it ends. 3 The second try: all is there, once."""
    first, statements, between, last = REFUSED[number]
    stage.does("INSERT INTO dbo.Work (Id) VALUES (N'1'), (N'2');")
    if first is not None:
        first(stage)
    message_id, tries, told = uuid.uuid4(), [], []

    def work(connection):
        tries.append(1)
        try:
            for place, statement in enumerate(statements):
                if place == 1 and between is not None and len(tries) == 1:
                    between(stage)
                connection.execute(statement).close()
            connection.execute(f"INSERT INTO dbo.Work (Id) VALUES (N'new {len(tries)}');")
            send(connection, b"x", schema="etl", message_id=message_id)
        except (pyodbc.Error, NotSent) as error:
            cause = error.__cause__ if isinstance(error, NotSent) else error
            told.append(client.server_message(cause)[0])
            raise

    transaction(connect, work, retry=three(lambda: last and last(stage)))
    assert told == [number] and number in client.AGAIN
    assert stage.work() == ["1", "2", "new 2"]
    assert stage.landed("etl") == [b"x"]
    assert all(message_id.bytes_le in asked for asked in stage.wire.asked("usp_Send"))
    stage.is_clean()
