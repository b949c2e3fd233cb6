"""docs/callers/send.py: what becomes of a unit of work that is cancelled, killed, cut or refused.

The moment is met on the wire: a request is held there until what shall happen has happened.
"""

from __future__ import annotations

import traceback
import uuid
from contextlib import suppress

import pyodbc
import pytest
from tenacity import stop_after_attempt

from tests.waiting import LOGIN

from .stage import WAYS_TO_GO

pytestmark = pytest.mark.driver

QUESTION = "sp_describe_undeclared_parameters"
"""What pyodbc asks of its own before it runs a statement with a NULL it knows no type of."""

UNTYPED = "INSERT INTO dbo.Work (Id, Note) VALUES (N'second', ?);"
UNTYPABLE = "INSERT INTO dbo.Work (Id) VALUES (CONCAT(N'second', ?));"  # the question gets 11502
COMMIT = "COMMIT TRANSACTION"


class Watched:
    """A connection whose calls the application can cancel from another thread.

    It keeps each cursor until the canceller is done with it: pyodbc frees it under its feet.
    """

    def __init__(self, connection, wire):
        self.connection, self.wire = connection, wire
        self.last = None

    def cursor(self):
        self.last = self.connection.cursor()
        return self

    def cancel(self):
        self.last.cancel()

    def close(self):
        if self.wire.canceller is not None:
            self.wire.canceller.join()
        self.last.close()

    def __getattr__(self, name):
        return getattr(self.last, name)


@pytest.fixture
def redial(stage, python):
    made = python.Redial(stage.odbc, "audit", seconds=LOGIN)
    yield made
    made.close()


@pytest.fixture
def once(stage, python):
    """Of the configuration with delivery = exactly_once."""
    made = python.Redial(stage.odbc, "etl", seconds=LOGIN)
    yield made
    made.close()


@pytest.fixture
def three_tries(python, monkeypatch):
    """Tries are counted instead of seconds."""
    monkeypatch.setattr(python, "stop_after_delay", lambda _: stop_after_attempt(3))


# ---------------------------------------------------------------------- the hole, and its lid
@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
def test_without_the_rules_the_second_half_is_committed_alone(stage, autocommit, cancelled):
    """Why the example is as it is: nobody is told, and the first row is gone. Only with the cancel.

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


def test_half_a_unit_of_work_is_refused_at_commit(stage, python, redial):
    """1 The work writes a row. 2 A cancel meets pyodbc's question about a NULL of the work's own.

    3 The work writes and sends. 4 COMMIT is refused, and nothing of it is there.
    """

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        cursor = connection.cursor()
        stage.wire.when(QUESTION, stage.wire.cancelled(cursor.cancel))
        cursor.execute(UNTYPED, None)
        stage.wire.canceller.join()
        redial.call(connection, b"third")

    with pytest.raises(pyodbc.Error, match=r"\(50250\)"):
        redial.transaction(work)
    assert stage.wire.waits == 0
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()
    redial.send(b"fourth")
    assert stage.landed() == [b"fourth"]


def test_a_question_that_cannot_be_answered_splits_no_unit_of_work(stage, redial):
    """The same without any cancel: 11502 is kept from the application too.

    Whether it ends the transaction under XACT_ABORT ON is unknown (F-470): all, or nothing.
    """

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        connection.execute(UNTYPABLE, None)

    try:
        redial.transaction(work)
        assert stage.work() == ["first", "second"]
    except pyodbc.Error as error:
        assert "(50250)" in str(error)
        assert stage.work() == []
    assert len(stage.wire.asked(QUESTION)) == 1


@pytest.mark.parametrize("body", [b"body", None])
@pytest.mark.parametrize("name", ["audit", "etl"])
def test_pyodbc_is_never_left_to_ask_about_a_null(stage, python, name, body):
    """In no call of ours, whatever is None: no question of its own goes over the wire."""
    redial = python.Redial(stage.odbc, name)
    ids = [uuid.uuid4()] if name == "etl" else None
    redial.send(body)
    redial.send(body, None, ids and uuid.uuid4())
    redial.transaction(lambda connection: redial.batch(connection, [b"batch"], None, ids))
    redial.close()
    assert stage.landed(name) == [body, body, b"batch"]
    assert len(stage.wire.asked("usp_Send")) == 3
    assert stage.wire.asked("sp_describe") == []


def test_every_call_is_the_same_statement_whatever_the_lengths(stage, redial):
    """One plan: the types are the procedure's, not the values'."""
    for body in (b"x", b"y" * 9000):
        redial.send(body)
    types = "@P1 nvarchar(128),@P2 nvarchar(128),@P3 nvarchar(128),@P4 nvarchar(128)"
    assert len(stage.wire.asked(types + ",@P5 varbinary(max)")) == 2


def test_a_transaction_that_was_ended_and_begun_again_is_not_committed(stage, python):
    """1 A procedure that the work calls ends the transaction, and says nothing. 2 It is refused."""
    redial = python.Redial(stage.odbc, "reborn")
    with pytest.raises(pyodbc.Error, match=r"\(50250\)"):
        redial.transaction(lambda connection: redial.call(connection, b"x"))
    assert stage.work() == []
    stage.is_clean()


def test_work_that_catches_an_error_and_goes_on_commits_nothing(stage, redial):
    """1 A row. 2 The same again: 2627, and the work goes on. 3 It sends. 4 COMMIT is refused."""

    def work(connection):
        for _ in range(2):
            with suppress(pyodbc.IntegrityError):
                connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        redial.call(connection, b"after it")

    with pytest.raises(pyodbc.Error, match=r"\(50250\)"):
        redial.transaction(work)
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


# ---------------------------------------------------------------------- cancel and time-out
def test_a_cancel_undoes_all_of_it_and_is_not_tried_again(stage, redial):
    """1 A row. 2 A cancel meets the call of usp_Send. 3 HY008, and nothing is there."""
    tries = []

    def work(connection):
        tries.append(1)
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        watched = Watched(connection, stage.wire)
        stage.wire.when("usp_Send", stage.wire.cancelled(watched.cancel))
        redial.call(watched, b"x")

    with pytest.raises(pyodbc.Error, match="HY008"):
        redial.transaction(work)
    assert tries == [1]
    assert (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


def test_the_time_out_is_that_of_every_statement(stage, python):
    redial = python.Redial(stage.odbc, "audit", timeout=7)
    assert redial._open().timeout == 7
    redial.close()


def impatient(redial):
    """From here on usp_Send may take a second, and no other statement is hurried."""
    call = redial.call

    def hurried(connection, *arguments):
        connection.timeout = 1
        try:
            call(connection, *arguments)
        finally:
            connection.timeout = 0

    redial.call = hurried
    return redial


def test_a_time_out_of_the_clients_is_a_cancel(stage, redial):
    """1 usp_Send takes longer than the client waits. 2 HYT00, no other try, nothing is there."""
    impatient(redial)
    stage.wire.when("usp_Send", stage.wire.cancelled())
    with pytest.raises(pyodbc.Error, match="HYT00"):
        redial.transaction(lambda connection: redial.call(connection, b"x"))
    assert stage.landed() == []
    stage.is_clean()


@pytest.mark.parametrize("words", ["usp_Send", COMMIT])
def test_a_time_out_where_it_would_have_been_committed_is_unknown(stage, python, once, words):
    """1 The time-out meets COMMIT, or a message that commits by itself. 2 Unknown, no other try."""
    message_id = uuid.uuid4()
    stage.wire.when(words, stage.wire.cancelled())

    def work(connection):
        once.call(connection, b"x", None, message_id)
        connection.timeout = 1  # of what follows, COMMIT

    with pytest.raises(python.Unknown) as told:
        if words == COMMIT:
            once.transaction(work, repeatable=True)
        else:
            impatient(once).send(b"x", None, message_id)
    assert told.value.__cause__.args[0] == "HYT00"
    assert stage.wire.waits == 0
    assert stage.landed("etl") == []  # this time; the client cannot know
    stage.is_clean()


# ---------------------------------------------------------------------- kill and cut
@pytest.mark.parametrize("words", ["CURRENT_TRANSACTION_ID();", "INSERT INTO", "usp_Send"])
@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_a_connection_that_goes_before_commit_costs_nothing(stage, redial, words, how):
    """1 It goes at BEGIN, at the work or at the message. 2 All of it is done again, once."""
    stage.wire.when(words, stage.goes(how))

    def work(connection):
        connection.execute("INSERT INTO dbo.Work (Id) VALUES (N'first');")
        redial.call(connection, b"second")

    redial.transaction(work)
    assert stage.wire.waits == 0
    assert (stage.work(), stage.landed()) == (["first"], [b"second"])
    stage.is_clean()


@pytest.mark.parametrize(("how", "there"), WAYS_TO_GO.items())
@pytest.mark.parametrize("words", ["usp_Send", COMMIT])
def test_an_answer_to_commit_that_is_lost_is_unknown(stage, python, redial, words, how, there):
    """1 The connection goes at COMMIT, or at a message that commits by itself. 2 Unknown.

    What the client is told is the same where it is there and where it is not.
    """
    stage.wire.when(words, stage.goes(how))
    with pytest.raises(python.Unknown):
        if words == COMMIT:
            redial.transaction(lambda connection: redial.call(connection, b"x"))
        else:
            redial.send(b"x")
    assert stage.wire.waits == 0
    assert stage.landed() == [b"x"] * there
    stage.is_clean()


@pytest.mark.parametrize("how", WAYS_TO_GO)
@pytest.mark.parametrize("words", ["usp_Send", "usp_SendBatch", COMMIT])
def test_with_ids_and_exactly_once_it_is_sent_again_and_lands_once(stage, once, words, how):
    """1 The connection goes, and the answer with it. 2 Again, the same ids. 3 It lands once."""
    ids = [uuid.uuid4(), uuid.uuid4()]
    stage.wire.when(words, stage.goes(how))
    if words == "usp_Send":
        once.send(b"1", None, ids[0])
        once.send(b"2", None, ids[1])
    else:
        once.transaction(
            lambda connection: once.batch(connection, [b"1", b"2"], None, ids), repeatable=True
        )
    assert stage.wire.waits == 0
    assert stage.landed("etl") == [b"1", b"2"]
    stage.is_clean()


def test_once_unknown_it_stays_unknown(stage, python, three_tries):
    """1 The answer to COMMIT is lost. 2 The next try is refused, for as long as is tried.

    That nothing of the second try is there says nothing about the first.
    """
    redial = python.Redial(stage.odbc, "etl")
    message_id = uuid.uuid4()
    stage.wire.when(COMMIT, stage.wire.answer_lost)
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) > 1:
            connection.execute("THROW 50102, N'the gate is closed', 1;")
        redial.call(connection, b"x", None, message_id)

    with pytest.raises(python.Unknown) as told:
        redial.transaction(work, repeatable=True)
    assert "(50102)" in str(told.value.__cause__) and len(tries) == 3
    assert stage.landed("etl") == [b"x"]


def test_a_server_that_is_not_there_is_told_after_the_time_given(stage, python):
    """1 Whoever answers hangs up. 2 Gone: nothing was sent."""
    for _ in range(9):  # the driver tries more than once
        stage.wire.when("", stage.wire.lost)
    redial = python.Redial(stage.odbc, "audit", seconds=0)
    with pytest.raises(python.Gone) as told:
        redial.send(b"x")
    assert stage.broker.password not in f"{told.value} {told.value.__cause__}"


# ---------------------------------------------------------------------- refused, and tried again
LOOK = "DECLARE @left int"
"""The question after an error: where it is asked, the first try is over."""


def held_slot(stage):
    """Somebody's open transaction has the pool's one slot."""
    stage.does(
        "BEGIN TRANSACTION; EXECUTE etl.usp_Send N'//redial/etl/initiator', "
        "N'//redial/etl/target', N'//redial/etl/contract', N'//redial/etl/event', 0x00;"
    )


def closed_gate(stage):
    """An operator drains."""
    stage.does("EXECUTE etl.usp_Drain @reason = N'test', @waitSeconds = 0, @WhatIf = 0;")


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


def let_go(stage):
    """Whoever held something does no more."""
    stage.does("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")


def opened_gate(stage):
    """The operator is done."""
    stage.does("EXECUTE etl.usp_OpenGate @reason = N'test';")


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
def test_what_helps_to_be_done_again_is_done_again_under_the_same_id(stage, python, once, number):
    """1 The first try is refused. 2 What refused it ends. 3 The second try: all is there, once."""
    first, statements, between, last = REFUSED[number]
    stage.does("INSERT INTO dbo.Work (Id) VALUES (N'1'), (N'2');")
    if first is not None:
        first(stage)
    if last is not None:
        stage.wire.when(LOOK, stage.wire.meanwhile(lambda: last(stage)))
    message_id, tries, told = uuid.uuid4(), [], []

    def work(connection):
        tries.append(1)
        try:
            for place, statement in enumerate(statements):
                if place == 1 and between is not None and len(tries) == 1:
                    between(stage)
                connection.execute(statement).close()
            connection.execute(f"INSERT INTO dbo.Work (Id) VALUES (N'new {len(tries)}');")
            once.call(connection, b"x", None, message_id)
        except pyodbc.Error as error:
            told.append(python.number_of(error))
            raise

    once.transaction(work)
    assert told == [number] and number in python.AGAIN
    assert stage.work() == ["1", "2", "new 2"]
    assert stage.landed("etl") == [b"x"]
    assert all(message_id.bytes_le in asked for asked in stage.wire.asked("usp_Send"))
    stage.is_clean()


@pytest.mark.parametrize("number", [50101, 50102])
def test_a_message_alone_is_sent_again_under_the_same_id(stage, once, number):
    """1 It is refused. 2 What refused it ends. 3 It is sent, with the id it had."""
    first, _, _, last = REFUSED[number]
    message_id = uuid.uuid4()
    first(stage)
    stage.wire.when(LOOK, stage.wire.meanwhile(lambda: last(stage)))
    once.send(b"x", None, message_id)
    asked = stage.wire.asked("usp_Send")
    assert len(asked) == 2 and all(message_id.bytes_le in one for one in asked)
    assert stage.landed("etl") == [b"x"]


@pytest.mark.parametrize("number", [50101, 50102])
def test_what_goes_on_being_refused_is_raised_in_the_end(stage, python, three_tries, number):
    """Not a loop without end: the last error, as it came."""
    REFUSED[number][0](stage)
    redial = python.Redial(stage.odbc, "etl")
    with pytest.raises(pyodbc.Error, match=rf"\({number}\)"):
        redial.send(b"x")
    assert len(stage.wire.asked("usp_Send")) == 3
    REFUSED[number][3](stage)
    assert stage.landed("etl") == []


# ---------------------------------------------------------------------- passwords
@pytest.mark.parametrize(
    "change", [("PWD={", "PWD={x"), ("{shop}", "{nowhere}"), ("Driver={/", "Driver={/nowhere/")]
)
def test_no_password_in_what_is_raised(stage, python, change):
    """Whatever is wrong with the connection string: neither text nor traceback has the password."""
    assert change[0] in stage.odbc
    redial = python.Redial(stage.odbc.replace(*change), "audit", seconds=0)
    with pytest.raises(pyodbc.Error) as told:
        redial.send(b"x")
    said = "".join(traceback.format_exception(told.value))
    assert stage.broker.password not in said + repr(redial)
