"""redial.client: what becomes of a message or a transaction that is cancelled, cut or refused.

The moment is met on the wire: a request is held there until what shall happen has happened.
"""

# ruff: noqa: F811 (fixtures that come from another folder)
from __future__ import annotations

import re
import subprocess
import sys
import traceback
import uuid
from contextlib import closing
from types import SimpleNamespace

import pyodbc
import pytest

from redial import client
from redial.client import MaybeSent, NotSent, Retry, send, send_many, transaction
from redial.paths import DOCS
from tests.product.deploy.conftest import logged_in_as
from tests.product.examples.stage import WAYS_TO_GO

from .client_stage import (  # noqa: F401
    COMMIT,
    closed_gate,
    connect,
    connection,
    held_slot,
    let_go,
    many,
    opened_gate,
    stage,
    theatre,
    three,
)

pytestmark = pytest.mark.driver


# ---------------------------------------------------------------------- ok
@pytest.mark.parametrize("body", [b"body", b"", None])
@pytest.mark.parametrize("given", ["connection", "function"])
def test_a_message_is_sent_and_committed_by_one_call(stage, connect, connection, body, given):
    """Empty and None arrive as NULL, and pyodbc has nothing to ask about them."""
    send(connection if given == "connection" else connect, body, schema="audit")
    assert stage.landed() == [body or None]
    assert stage.wire.asked("sp_describe") == []
    stage.is_clean()


def test_many_are_sent_in_one_call_in_their_order(stage, connection):
    bodies = [b"%d" % place for place in range(20)]
    assert many(connection, bodies) == 20
    assert many(connection, []) == 0
    assert stage.landed() == bodies
    assert len(stage.wire.asked("usp_SendBatch")) == 2


def test_every_call_is_the_same_statement_whatever_the_lengths(stage, connection):
    """One plan: the types are the procedure's, not the values'."""
    for body in (b"x", b"y" * 9000):
        send(connection, body, schema="audit", message_type="//redial/audit/event")
    assert len(stage.wire.asked("@P1 varbinary(max),@P2 nvarchar(128)")) == 2


def test_the_ten_lines_of_the_developers_page_send(stage):
    page = (DOCS / "start" / "developer.md").read_text("utf-8")
    lines = re.search(r"```python\n(.*?)```", page, re.S).group(1)
    exec(re.sub(r'f"Driver=[^"]*"', lambda _: repr(stage.odbc), lines), {})
    assert stage.landed() == [b'{"order":7}']


def test_it_needs_nothing_that_the_base_installation_has_not():
    """Neither tenacity, broker, lab, nor the configurations' pydantic."""
    code = (
        "import sys, redial.client;"
        "print({'tenacity', 'redial_broker', 'redial_lab', 'pydantic'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


# ---------------------------------------------------------------------- in the caller's transaction
BEGINS = {
    "autocommit off": (False, "SELECT 1;"),
    "begun": (True, "BEGIN TRANSACTION;"),
    "implicit": (True, "SET IMPLICIT_TRANSACTIONS ON;"),
}


@pytest.mark.parametrize("how", BEGINS)
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_in_a_transaction_of_yours_the_message_is_yours_to_commit(stage, how, end):
    autocommit, begin = BEGINS[how]
    with closing(pyodbc.connect(stage.odbc, autocommit=autocommit)) as mine:
        mine.execute(begin).close()
        mine.execute("INSERT INTO dbo.Work (Id) VALUES (N'row');")
        send(mine, b"one", schema="audit")
        many(mine, [b"two", b"three"])
        mine.execute(f"WHILE @@TRANCOUNT > 0 {end} TRANSACTION;")
    there = end == "COMMIT"
    assert stage.landed() == [b"one", b"two", b"three"] * there
    assert stage.work() == ["row"] * there


@pytest.mark.parametrize("how", BEGINS)
def test_in_a_transaction_of_yours_nothing_is_tried_again_nor_rolled_back(stage, how):
    """1 A row. 2 The gate is closed. 3 You are told to roll back; the row is still there."""
    autocommit, begin = BEGINS[how]
    closed_gate(stage)
    with closing(pyodbc.connect(stage.odbc, autocommit=autocommit)) as mine:
        mine.execute(begin).close()
        mine.execute("INSERT INTO dbo.Work (Id) VALUES (N'row');")
        with pytest.raises(NotSent, match="Roll your transaction back") as told:
            send(mine, b"x", schema="etl", retry=three(lambda: pytest.fail("a pause")))
        assert (told.value.number, told.value.again) == (50102, True)
        assert mine.execute("SELECT @@TRANCOUNT;").fetchval() > 0
        assert mine.execute("SELECT COUNT(*) FROM dbo.Work;").fetchval() == 1
    assert len(stage.wire.asked("usp_Send")) == 1


@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_a_connection_that_goes_in_your_transaction_has_sent_nothing(stage, connection, how):
    """1 A row. 2 Killed or cut while usp_Send is called. 3 NotSent: the server rolled back."""
    connection.execute("BEGIN TRANSACTION; INSERT INTO dbo.Work (Id) VALUES (N'row');").close()
    stage.wire.when("usp_Send", stage.goes(how))
    with pytest.raises(NotSent, match="Open a new connection") as told:
        send(connection, b"x", schema="audit", retry=three(lambda: pytest.fail("a pause")))
    assert told.value.again and (stage.work(), stage.landed()) == ([], [])
    stage.is_clean()


# ---------------------------------------------------------------------- cancel and time-out
@pytest.mark.parametrize("words", ["usp_Send", COMMIT])
def test_a_time_out_where_it_would_have_been_committed_may_be_there(stage, connect, words):
    """1 The time-out meets COMMIT, or a message that commits by itself. 2 No other try."""
    message_id = uuid.uuid4()
    stage.wire.when(words, stage.wire.cancelled())

    def work(connection):
        send(connection, b"x", schema="etl", message_id=message_id)
        connection.timeout = 1  # of what follows, COMMIT

    with pytest.raises(MaybeSent) as told:
        if words == COMMIT:
            transaction(connect, work, repeatable=True)
        else:
            with closing(connect()) as connection:
                connection.timeout = 1
                send(connection, b"x", schema="etl", message_id=message_id)
    assert told.value.__cause__.args[0] == "HYT00"
    assert stage.wire.waits == 0
    assert stage.landed("etl") == []  # this time; the client cannot know
    stage.is_clean()


# ---------------------------------------------------------------------- kill and cut
@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_a_connection_that_went_before_the_send_is_replaced_by_the_function(stage, connect, how):
    """The question before the call finds it: nothing was sent yet, so it is done again."""
    stage.wire.when("@@OPTIONS", stage.goes(how))
    send(connect, b"x", schema="audit", retry=three())
    assert stage.wire.waits == 0
    assert stage.landed() == [b"x"]
    stage.is_clean()


@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_a_connection_of_yours_that_went_before_the_send_is_told(stage, connection, how):
    stage.wire.when("@@OPTIONS", stage.goes(how))
    with pytest.raises(NotSent, match="Open a new connection") as told:
        send(connection, b"x", schema="audit", retry=three(lambda: pytest.fail("a pause")))
    assert told.value.again and stage.landed() == []


@pytest.mark.parametrize(("how", "there"), WAYS_TO_GO.items())
@pytest.mark.parametrize("words", ["usp_Send", "usp_SendBatch", COMMIT])
def test_an_answer_that_is_lost_may_or_may_not_have_been_sent(stage, connect, words, how, there):
    """What is told is the same where it is there and where it is not; it is never sent twice."""
    stage.wire.when(words, stage.goes(how))
    with pytest.raises(MaybeSent, match="may or may not have been sent") as told:
        if words == COMMIT:
            transaction(connect, lambda mine: send(mine, b"x", schema="audit"), retry=three())
        elif words == "usp_Send":
            send(connect, b"x", schema="audit", retry=three())
        else:
            many(connect, [b"x"], retry=three())
    assert not told.value.again  # it would be sent twice
    assert stage.wire.waits == 0
    assert stage.landed() == [b"x"] * there
    stage.is_clean()


@pytest.mark.parametrize("how", WAYS_TO_GO)
@pytest.mark.parametrize("words", ["usp_Send", "usp_SendBatch", COMMIT])
def test_with_ids_and_exactly_once_it_is_sent_again_and_lands_once(stage, connect, words, how):
    """1 The connection goes, and the answer with it. 2 Again, the same ids. 3 It lands once."""
    ids = [uuid.uuid4(), uuid.uuid4()]
    stage.wire.when(words, stage.goes(how))
    if words == "usp_Send":
        send(connect, b"1", schema="etl", message_id=ids[0], retry=three())
        send(connect, b"2", schema="etl", message_id=ids[1], retry=three())
    elif words == "usp_SendBatch":
        many(connect, [b"1", b"2"], "etl", message_ids=ids, retry=three())
    else:
        transaction(
            connect,
            lambda mine: many(mine, [b"1", b"2"], "etl", message_ids=ids),
            repeatable=True,
            retry=three(),
        )
    assert stage.wire.waits == 0
    assert stage.landed("etl") == [b"1", b"2"]
    stage.is_clean()


def test_what_may_be_there_stays_so_whatever_the_next_try_is_told(stage, connect):
    """1 The answer is lost. 2 The next tries are refused: that says nothing about the first."""
    stage.wire.when("usp_Send", stage.wire.answer_lost)
    tries = three(lambda: len(stage.wire.asked("usp_Send")) == 1 and closed_gate(stage))
    with pytest.raises(MaybeSent) as told:
        send(connect, b"x", schema="etl", message_id=uuid.uuid4(), retry=tries)
    assert told.value.__cause__.number == 50102
    assert len(stage.wire.asked("usp_Send")) == 3
    assert stage.landed("etl") == [b"x"]


def test_a_server_that_is_not_there_is_told_after_the_tries(stage, connect):
    for _ in range(9):  # the driver tries more than once
        stage.wire.when("", stage.wire.lost)
    with pytest.raises(NotSent) as told:
        send(connect, b"x", schema="audit", retry=Retry(tries=1))
    assert told.value.again and stage.broker.password not in str(told.value)


# ---------------------------------------------------------------------- refused, and tried again
REFUSED = {50101: (held_slot, let_go), 50102: (closed_gate, opened_gate)}
"""Number: what refuses, and how it ends."""


@pytest.mark.parametrize("number", [50101, 50102])
@pytest.mark.parametrize("given", ["connection", "function"])
def test_a_message_alone_is_sent_when_what_refused_it_ends(
    stage, connect, connection, number, given
):  # fmt: skip
    first, last = REFUSED[number]
    first(stage)
    place = connection if given == "connection" else connect
    send(place, b"x", schema="etl", retry=three(lambda: last(stage)))
    assert len(stage.wire.asked("usp_Send")) == 2
    assert stage.landed("etl") == [b"x"]


@pytest.mark.parametrize("number", [50101, 50102])
def test_what_goes_on_being_refused_is_raised_in_the_end(stage, connection, number):
    REFUSED[number][0](stage)
    with pytest.raises(NotSent, match=r"etl.usp_Send: .* Next: ") as told:
        send(connection, b"x", schema="etl", retry=three())
    assert told.value.number == number
    assert len(stage.wire.asked("usp_Send")) == 3
    REFUSED[number][1](stage)
    assert stage.landed("etl") == []


@pytest.mark.parametrize("number", [*client.AGAIN, 50100, 50150, 50250, 547, 2627, 0])
@pytest.mark.parametrize("given", ["connection", "function"])
def test_the_list_decides_what_is_tried_again(monkeypatch, number, given):
    """Deadlock and the rest, as the driver tells them; pauses grow to five seconds."""
    text = f"[42000] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]words ({number}) (SQLE)"
    tries, pauses = [], []

    def execute(*_):
        tries.append(1)
        raise pyodbc.Error("42000", text)

    monkeypatch.setattr(client, "_execute", execute)
    monkeypatch.setattr(client, "_value", lambda *_: 0)
    monkeypatch.setattr(client.random, "uniform", lambda low, high: high)
    fake = SimpleNamespace(autocommit=True, close=lambda: None)
    place = fake if given == "connection" else (lambda: fake)
    with pytest.raises(NotSent) as told:
        send(place, b"x", schema="s", retry=Retry(tries=8, sleep=pauses.append))
    again = number in client.AGAIN
    assert (told.value.number, told.value.again) == (number, again)
    assert pauses == ([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0] if again else [])
    assert len(tries) == len(pauses) + 1


# ---------------------------------------------------------------------- bad input
def test_a_list_of_none_and_any_iterable_are_sent_as_send_does(stage, connection):
    assert send_many(connection, (body for body in (None, b"", b"x")), schema="audit") == 3
    assert stage.landed() == [None, None, b"x"]


def test_what_cannot_be_meant_is_named_before_anything_is_asked(connection):
    with pytest.raises(NotSent, match="2 messages have 1 message_ids"):
        many(connection, [b"1", b"2"], "etl", message_ids=[uuid.uuid4()])
    with pytest.raises(NotSent, match="schema is NoneType"):
        send(connection, b"x", schema=None)


def test_a_driver_that_is_not_there_names_the_one_that_pip_brought(stage):
    server = stage.odbc.replace("Driver={/", "Driver={/nowhere/")
    with pytest.raises(NotSent, match="odbc_driver"):
        send(lambda: pyodbc.connect(server), b"x", schema="audit")


@pytest.mark.parametrize("body", ["text", 7, bytearray(b"x")])
def test_a_body_that_is_no_bytes_is_refused_before_anything_is_asked(connection, body):
    for call in (lambda: send(connection, body, schema="audit"), lambda: many(connection, [body])):
        with pytest.raises(NotSent, match=type(body).__name__) as told:
            call()
        assert "encode" in told.value.next_step


def test_a_wrong_message_type_is_named_with_the_right_one_and_not_tried_again(stage, connection):
    once = three(lambda: pytest.fail("a pause"))
    with pytest.raises(NotSent, match="//redial/audit/event") as told:
        send(connection, b"x", schema="audit", message_type="no such", retry=once)
    assert told.value.number == 50100
    with pytest.raises(NotSent) as told:
        send_many(connection, [b"x"], schema="audit", message_type="no such", retry=once)
    assert told.value.number == 50150
    assert stage.landed() == []


@pytest.mark.parametrize("schema", ["x]; DROP TABLE dbo.Work; --", "audit].[usp_Send] --", "", "'"])
def test_a_hostile_schema_is_a_name_and_nothing_else(stage, connection, schema):
    with pytest.raises(NotSent, match=r"usp_Send: "):
        send(connection, b"x", schema=schema)
    assert stage.work() == []


def test_a_schema_may_have_brackets_in_its_name(stage, connection):
    stage.does("CREATE SCHEMA [o]]d'd];")
    stage.does("""CREATE PROCEDURE [o]]d'd].usp_Send @messageBody varbinary(max) AS
        INSERT INTO dbo.Work (Id) VALUES (N'called');""")
    send(connection, b"x", schema="o]d'd")
    assert stage.work() == ["called"]


def test_a_missing_right_is_told_with_what_to_ask_for(stage):
    stage.does("CREATE LOGIN nobody WITH PASSWORD = N'Quiet-Hill-17';")
    stage.does("CREATE USER nobody FOR LOGIN nobody;")
    with (
        closing(
            pyodbc.connect(logged_in_as(stage.odbc, "nobody", "Quiet-Hill-17"), autocommit=True)
        ) as mine,
        pytest.raises(NotSent, match=r"audit.usp_Send: .*usp_Send.* Next: .*sender role") as told,
    ):
        send(mine, b"x", schema="audit", retry=three(lambda: pytest.fail("a pause")))
    assert (told.value.number, told.value.again) == (229, False)


def test_a_function_that_gives_a_connection_in_a_transaction_is_refused(stage):
    """What it would send would be rolled back by close, and nobody told."""
    with pytest.raises(NotSent, match="autocommit=True"):
        send(lambda: pyodbc.connect(stage.odbc), b"x", schema="audit")
    with pytest.raises(NotSent, match="autocommit=True"):
        transaction(lambda: pyodbc.connect(stage.odbc), lambda mine: pytest.fail("it was called"))
    assert stage.wire.asked("usp_Send") == []


def test_a_connection_that_was_closed_is_told(connect):
    connection = connect()
    connection.close()
    with pytest.raises(NotSent, match="Open a new connection"):
        send(connection, b"x", schema="audit")


@pytest.mark.parametrize(
    "change", [("PWD={", "PWD={x"), ("{shop}", "{nowhere}"), ("Driver={/", "Driver={/nowhere/")]
)
def test_no_password_in_what_is_raised(stage, change):
    """Whatever is wrong with the connection string: neither text nor traceback has the password."""
    assert change[0] in stage.odbc
    server = stage.odbc.replace(*change)
    with pytest.raises(NotSent) as told:
        send(lambda: pyodbc.connect(server, autocommit=True), b"x", schema="audit", retry=Retry(1))
    said = "".join(traceback.format_exception(told.value))
    assert stage.broker.password not in said
