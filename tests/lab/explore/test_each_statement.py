"""Where others change what a statement uses, or see what a single one does, each statement is a step.

Elsewhere those that nobody else can see are one step with the statement before them.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.faults import Fault
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.proof.explore_command import SCENARIOS
from tests.lab.explore.ends import clients, ends, told
from tests.lab.explore.tables import DIALOG, READER, TWO, database, queues

ADD = "UPDATE dbo.c SET n = n + 1 WHERE id = 1;"
THEN = "IF (SELECT n FROM dbo.c WHERE id = 1) = 1 "
TYPE = "CREATE TYPE dbo.tt AS TABLE (a int);"
USER = "CREATE USER u WITHOUT LOGIN; GRANT SELECT, UPDATE ON dbo.c TO u;"
P = "CREATE PROCEDURE dbo.p AS RETURN 1;"
STORE = "UPDATE dbo.c SET n = @r WHERE id = 2;"

CHANGED = {
    "a procedure is dropped": (P, f"{ADD} EXECUTE dbo.p;", f"{THEN} DROP PROCEDURE dbo.p;", "2812"),
    "a procedure is another": (
        P,
        f"DECLARE @r int; {ADD} EXECUTE @r = dbo.p; {STORE}",
        f"{THEN} EXECUTE (N'ALTER PROCEDURE dbo.p AS RETURN 2;');",
        "[1, 2]",
    ),
    "a synonym stands for another": (
        f"EXECUTE (N'{P}'); EXECUTE (N'CREATE PROCEDURE dbo.q AS RETURN 2;'); "
        "CREATE SYNONYM dbo.s FOR dbo.p;",
        f"DECLARE @r int; {ADD} EXECUTE @r = dbo.s; {STORE}",
        f"{THEN} BEGIN DROP SYNONYM dbo.s; CREATE SYNONYM dbo.s FOR dbo.q; END;",
        "[1, 2]",
    ),
    "a right is taken away": (
        f"{USER} EXECUTE (N'{P}'); GRANT EXECUTE ON dbo.p TO u;",
        f"EXECUTE AS USER = N'u'; {ADD} EXECUTE dbo.p; REVERT;",
        f"{THEN} REVOKE EXECUTE ON dbo.p FROM u;",
        "229",
    ),
    "a user is dropped": (
        USER,
        f"{ADD} EXECUTE AS USER = N'u'; REVERT;",
        f"{THEN} BEGIN REVOKE SELECT, UPDATE ON dbo.c FROM u; DROP USER u; END;",
        "15517",
    ),
    "a database is dropped": (
        "CREATE DATABASE e;",
        f"{ADD} USE e;",
        f"{THEN} DROP DATABASE e;",
        "911",
    ),
    "a type is dropped": (
        TYPE,
        f"{ADD} EXECUTE (N'DECLARE @t dbo.tt; INSERT @t VALUES (1);');",
        f"{THEN} DROP TYPE dbo.tt;",
        "243",
    ),
    "a type is dropped before the batch that uses it": (
        TYPE,
        "DECLARE @t dbo.tt; INSERT @t VALUES (1);",
        "DROP TYPE dbo.tt;",
        "243",
    ),
    "a type is another": (
        "CREATE TYPE dbo.number FROM int;",
        f"{ADD} EXECUTE (N'DECLARE @r dbo.number = 300; {STORE}');",
        f"{THEN} BEGIN DROP TYPE dbo.number; EXECUTE (N'CREATE TYPE dbo.number FROM tinyint;'); END;",
        "220",
    ),
    "a message is added": (
        "",
        f"BEGIN TRY {ADD} RAISERROR (50005, 16, 1); END TRY "
        f"BEGIN CATCH DECLARE @r int = ERROR_NUMBER(); {STORE} END CATCH;",
        f"{THEN} EXECUTE sp_addmessage 50005, 16, N'x';",
        "[1, 50005]",
    ),
    "a certificate is made": (
        "",
        f"{ADD} DECLARE @r int = CERT_ID(N'k'); IF @r > 0 SET @r = 9; {STORE}",
        f"{THEN} CREATE CERTIFICATE k ENCRYPTION BY PASSWORD = 'Abc123!!x' WITH SUBJECT = 's';",
        "[1, 9]",
    ),
}
SEEN = {
    "an isolation level": (
        f"{ADD} SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;",
        "MAX(transaction_isolation_level) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID",
        {"[1, 2]", "[1, 4]"},
    ),
    "a transaction that is opened": (
        f"{ADD} BEGIN TRANSACTION;",
        "50 + COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID AND open_transaction_count > 0",
        {"[1, 50]", "[1, 51]"},
    ),
    "a batch that is over": (
        ADD,
        "50 + COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID",
        {"[1, 50]", "[1, 51]"},
    ),
}
EVERY_SEARCH = pytest.mark.parametrize("how", [search, persistent, reduced])


@EVERY_SEARCH
@pytest.mark.parametrize("name", CHANGED)
def test_what_a_statement_of_one_s_own_uses_may_change_just_before_it(name, how):
    made, one, other, outcome = CHANGED[name]
    scenario = Scenario("changed", lambda: database(made, on=queues()), clients(one, other))
    assert any(outcome in end for end in ends(scenario, how=how))


@EVERY_SEARCH
@pytest.mark.parametrize("name", SEEN)
def test_what_a_statement_of_one_s_own_does_may_be_seen_or_not_yet(name, how):
    one, seen, outcomes = SEEN[name]
    other = f"DECLARE @r int; {THEN} BEGIN SELECT @r = {seen}; {STORE} END;"
    found = ends(Scenario("seen", queues, clients(one, other)), how=how)
    assert outcomes <= {end[end.rindex("[") :] for end in found}


def test_a_statement_is_a_step_only_where_a_text_asks_for_it():
    def each(*texts: str, prepare=queues) -> bool:
        world = World(Scenario("each", prepare, clients(*texts)))
        try:
            return world.others.each_statement
        finally:
            world.close()

    assert each(TWO, "DROP PROCEDURE dbo.nothing;")
    assert each(TWO, "KILL 60;")
    assert not each(TWO, "CREATE TABLE #t (n int); DROP TABLE #t;", DIALOG)
    assert not each(TWO, "ALTER QUEUE dbo.qa WITH STATUS = OFF;")
    assert not each(TWO, prepare=lambda: database(*READER, on=queues())), (
        "its own text is no change"
    )
    drops = "CREATE PROCEDURE dbo.drops AS DROP TYPE dbo.tt;"
    assert each("EXECUTE dbo.drops;", prepare=lambda: database(drops, on=queues()))
    assert not each(TWO, prepare=lambda: database(drops, on=queues())), "nobody calls it"


@pytest.mark.parametrize("name", ["two_phase", "two_phase-transaction", "forum_aged"])
def test_no_text_of_ours_asks_for_it(name):
    world = World(SCENARIOS[name]())
    assert not world.others.each_statement
    world.close()


def test_a_default_of_a_table_variable_may_ask_for_what_another_makes_meanwhile():
    asks = (
        f"{ADD} DECLARE @t TABLE (a int DEFAULT OBJECT_ID(N'dbo.new'), b int); INSERT @t (b) VALUES (1); "
        "UPDATE dbo.c SET n = 9 WHERE id = 2 AND EXISTS (SELECT 1 FROM @t WHERE a > 0);"
    )
    makes = f"{THEN} CREATE TABLE dbo.new (n int);"
    found = ends(Scenario("asks", queues, clients(asks, makes)))
    assert {"[1, 0]", "[1, 9]"} == {end[end.rindex("[") :] for end in found}


# ---------------------------------------------------------------------- locks of a session
ASKS = (
    f"DECLARE @r int; {THEN} BEGIN "
    f"EXECUTE @r = sp_getapplock N'x', N'Exclusive', N'Session', 0; {STORE} END;"
)
BOTH = {"[1, -1]", "[1, 0]"}


@EVERY_SEARCH
def test_the_end_of_a_reader_gives_back_a_lock_of_its_session_behind_its_last_change(how):
    reader = (
        "CREATE PROCEDURE dbo.reader AS BEGIN DECLARE @n int; RECEIVE TOP (1) @n = 1 FROM dbo.qb; "
        "IF @n = 1 BEGIN EXECUTE sp_getapplock N'x', N'Exclusive', N'Session'; "
        f"{ADD} END; END;",
        READER[1],
    )
    made = Scenario("reader", lambda: database(*reader, on=queues()), clients(DIALOG, ASKS))
    assert {end[end.rindex("[") :] for end in ends(made, how=how)} >= BOTH


@EVERY_SEARCH
def test_an_error_that_ends_a_session_gives_its_locks_back_behind_its_last_change(how):
    dies = (
        "EXECUTE sp_getapplock N'x', N'Exclusive', N'Session'; "
        f"{ADD} RAISERROR (N'the end', 20, 1) WITH LOG;"
    )
    found = ends(Scenario("dies", queues, clients(dies, ASKS)), how=how)
    assert {end[end.rindex("[") :] for end in found} >= BOTH


# ---------------------------------------------------------------------- the clock
@EVERY_SEARCH
def test_a_table_variable_that_reads_the_clock_may_read_it_late(how):
    reads = (
        "DECLARE @a datetime2 = SYSDATETIME(); DECLARE @t TABLE (b int, d datetime2 DEFAULT SYSDATETIME()); "
        "INSERT @t (b) VALUES (1); "
        "UPDATE dbo.c SET n = 9 WHERE id = 2 "
        "AND EXISTS (SELECT 1 FROM @t WHERE DATEDIFF(second, @a, d) > 5);"
    )
    two = (Client("T1", (reads,), "d"), Client("T2", ("WAITFOR DELAY '00:00:10';",), "d"))
    made = Scenario("late", queues, two, faults=(Fault("pause", who="T1"),))
    assert any(end.endswith("[0, 9]") for end in ends(made, told, how))
