"""What ends a transaction, or tells of others, is a step of its own: an outcome hangs on it.

Each test names an outcome that was missed when it shared the step of the access before it.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.faults import Fault
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from tests.lab.explore.ends import clients, ends
from tests.lab.explore.tables import DIALOG, add, database, queues, tables

EVERY_SEARCH = pytest.mark.parametrize("how", [search, persistent, reduced])
ADD = "UPDATE dbo.c SET n = n + 1 WHERE id = 1;"


def outcomes(
    how, *texts: str, faults: tuple[Fault, ...] = (), prepare=queues, atomic=False
) -> set[str]:
    made = Scenario("ends", prepare, clients(*texts), faults=faults, statements_atomic=atomic)
    return ends(made, how=how)


# ---------------------------------------------------------------------- procedures of the server
LOCK = "EXECUTE sp_getapplock N'x', N'Exclusive', N'Transaction';"


@EVERY_SEARCH
@pytest.mark.parametrize("atomic", [True, False])
def test_a_row_and_an_application_lock_in_both_orders_may_deadlock(how, atomic):
    one = f"BEGIN TRANSACTION; {ADD} {LOCK} COMMIT;"
    other = f"BEGIN TRANSACTION; {LOCK} {ADD} COMMIT;"
    assert any("1205" in each for each in outcomes(how, one, other, atomic=atomic))


@EVERY_SEARCH
def test_an_application_lock_may_be_given_back_before_or_after_another_asks_for_it(how):
    """1 T1 has it and changes a row  2 T2 is refused at once, or finds it free"""
    asks = "EXECUTE @r = sp_getapplock N'x', N'Exclusive', N'Session', 0;"
    gives = "EXECUTE sp_releaseapplock N'x', N'Session';"
    one = f"DECLARE @r int; {asks} IF @r >= 0 BEGIN {ADD} {gives} END;"
    other = f"DECLARE @r int; {asks} UPDATE dbo.c SET n = @r - n WHERE id = 2;"
    ends = outcomes(how, one, other)
    assert {"[1, 0]", "[1, -1]", "[0, 0]"} <= {each[each.rindex("[") :] for each in ends}


# ---------------------------------------------------------------------- errors that take back
SEES = (
    "DECLARE @n int; SELECT @n = n FROM dbo.c WITH (NOLOCK) WHERE id = 1; "
    "UPDATE dbo.c SET n = 9 WHERE id = 2 AND @n = 1;"
)
CHANGED = f"SET XACT_ABORT ON; DECLARE @i int = 0; BEGIN TRANSACTION; {ADD}"
TAKEN_BACK = {
    "THROW": f"{CHANGED} THROW 50000, 'x', 1;",
    "a division by zero": f"{CHANGED} SET @i = 1 / @i;",
    "an error that ends the connection": f"{CHANGED} RAISERROR ('x', 20, 1) WITH LOG;",
    "the end of a batch whose transaction is doomed": (
        f"{CHANGED.replace('BEGIN TRANSACTION', 'BEGIN TRY BEGIN TRANSACTION')} SET @i = 1 / @i; "
        "END TRY BEGIN CATCH END CATCH;"
    ),
    "a procedure that leaves a transaction open": "SET XACT_ABORT ON; EXECUTE dbo.P; COMMIT;",
}


@EVERY_SEARCH
@pytest.mark.parametrize("what", TAKEN_BACK)
def test_what_an_error_takes_back_is_seen_before(how, what):
    """1 T1 changes a row  2 T2 reads it with NOLOCK  3 T1's error takes the change back"""
    made = f"CREATE PROCEDURE dbo.P AS BEGIN TRANSACTION; {ADD}"
    ends = outcomes(how, TAKEN_BACK[what], SEES, prepare=lambda: database(made, on=queues()))
    assert any(each.endswith("[0, 9]") for each in ends)


# ---------------------------------------------------------------------- autocommit
@EVERY_SEARCH
@pytest.mark.parametrize(
    "trigger", ["", "CREATE TRIGGER t ON dbo.c AFTER UPDATE AS DECLARE @i int;"]
)
def test_a_statement_in_autocommit_has_its_locks_until_it_commits(how, trigger):
    """1 T1 has changed a row  2 T2 passes over it  3 T1 commits"""
    passes = "UPDATE dbo.c WITH (READPAST) SET n = n + 10;"
    ends = outcomes(
        how, ADD, passes, prepare=lambda: database(*filter(None, (trigger,)), on=queues())
    )
    assert {"[1, 10]", "[11, 10]"} == {each[each.rindex("[") :] for each in ends}


# ---------------------------------------------------------------------- steps that are none
def test_a_reading_of_the_clock_in_a_body_does_not_make_the_condition_a_step():
    loop = (
        "DECLARE @a datetime2, @i int = 0; WHILE @i < 6 BEGIN SET @i += 1; "
        f"IF @i = 99 SET @a = SYSDATETIME(); END; {add('a')}"
    )
    states = []
    for text in (loop, loop.replace("IF @i = 99 SET @a = SYSDATETIME();", "")):
        clients = (Client("T1", (text,), "d"), Client("T2", (text,), "d"))
        states.append(search(Scenario("loop", tables, clients, faults=(Fault("pause"),))).states)
    assert states[0] == states[1]


def test_a_message_that_is_rolled_back_for_ever_has_finitely_many_states():
    """The count of rollbacks stops at five, also while the queue is on its way to be switched off."""
    reader = (
        "CREATE PROCEDURE dbo.reader AS DECLARE @n int; SET XACT_ABORT ON; BEGIN TRANSACTION; "
        "RECEIVE TOP (1) @n = 1 FROM dbo.qb; SET @n = 1 / (@n - 1); COMMIT TRANSACTION;",
        "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);",
    )
    found = search(Scenario("poison", queues, (Client("T", (DIALOG,), "d", reader),)))
    assert found.verdict == "exhausted"


@pytest.mark.parametrize("kind", ["kill", "reconnect"])
def test_who_is_gone_while_he_stood_still_does_not_go_on(kind):
    made = Scenario("gone", queues, (Client("T1", (ADD,), "d"), Client("T2", (ADD,), "d")))
    made.faults = (Fault("pause", who="T1"), Fault(kind, who="T1"))
    made.on_every_state = lambda world: (
        ["resumed"]
        if any(step.kind == "resume" and step.who not in frames(world) for step in world.steps())
        else []
    )
    result = search(made)
    assert result.ended and not result.violations


def frames(world: World) -> set[int]:
    return {number for number, session in world.instance.sessions.items() if session.frames}


# ---------------------------------------------------------------------- locks that are not given, or kept
@EVERY_SEARCH
@pytest.mark.parametrize(
    "refused",
    [
        "UPDATE dbo.c SET n = 5 WHERE id = 2;",
        "SELECT n FROM dbo.c WITH (NOWAIT) WHERE id = 2;",
    ],
    ids=["LOCK_TIMEOUT 0", "NOWAIT"],
)
def test_what_a_refused_lock_takes_back_may_be_seen_before(how, refused):
    """1 T2 has the second row  2 T1 changes the first and is refused the second  3 T2 reads the first
    4 T1's change is taken back
    """
    one = f"SET LOCK_TIMEOUT 0; SET XACT_ABORT ON; BEGIN TRANSACTION; {ADD} {refused} COMMIT;"
    other = (
        "UPDATE dbo.c SET n = 7 WHERE id = 2; DECLARE @n int; "
        "SELECT @n = n FROM dbo.c WITH (NOLOCK) WHERE id = 1; "
        "UPDATE dbo.c SET n = 70 + @n WHERE id = 2;"
    )
    assert "[((1222,),), ((),)] [0, 71]" in outcomes(how, one, other)


@EVERY_SEARCH
def test_a_statement_that_keeps_a_lock_to_its_end_may_be_met_with_it(how):
    one = "SELECT n FROM dbo.c WITH (UPDLOCK) WHERE id = 1;"
    passes = "UPDATE dbo.c WITH (READPAST) SET n = n + 10 WHERE id = 1;"
    ends_ = {end[end.rindex("[") :] for end in outcomes(how, one, passes)}
    assert ends_ == {"[0, 0]", "[10, 0]"}


@EVERY_SEARCH
def test_a_batch_that_cannot_be_compiled_takes_back_what_the_one_before_left_open(how):
    """1 T1's first batch is over  2 T2 reads what it changed  3 T1's second batch is refused"""
    batches = (f"SET XACT_ABORT ON; BEGIN TRANSACTION; {ADD}", "SET @b = 1;", "SELECT 1;")
    two = (Client("T1", batches, "d"), Client("T2", (SEES,), "d"))
    seen = ends(Scenario("refused", queues, two), how=how)
    assert any(end.endswith("[0, 9]") for end in seen)
