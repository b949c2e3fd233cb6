"""Each kind of fault, on text the explorer has never seen."""

from __future__ import annotations

import pytest

from redial_broker.engine.switches import given
from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.checks import nothing_left_behind
from redial_lab.explore.faults import OF_THE_SERVER, Fault
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.scenario import Step
from redial_lab.explore.search import Violation
from redial_lab.explore.shorten import readable
from redial_lab.explore.trace import replay
from redial_lab.explore.walk import Walks, walk
from redial_lab.explore.world import EndlessError
from tests.lab.explore.ends import clients, ends, found, numbers, told
from tests.lab.explore.tables import DIALOG, READER, TWO, queues

ISOLATION = (
    "(SELECT s.transaction_isolation_level FROM sys.dm_exec_sessions AS s "
    "WHERE s.session_id = @@SPID) = 2"
)
APPLOCK = "APPLOCK_MODE(N'public', N'x', N'Session') = N'NoLock'"


def test_a_kill_leaves_all_or_nothing():
    seen, result = found(TWO, Fault("kill"))
    assert seen == {"[0, 0]", "[1, 1]"}
    assert result.taken["kill"] > 0 and result.violations == {}


def test_a_cancel_leaves_the_transaction_open_where_nobody_tidies_up():
    assert "transaction left open" in found(TWO, Fault("cancel"))[1].violations


def test_a_rollback_of_the_client_does_not():
    seen, result = found(TWO, Fault("rollback"))
    assert (seen, result.violations) == ({"[0, 0]", "[1, 1]"}, {})


def test_a_lock_timeout_strikes_only_who_waits_for_a_lock():
    errors = found(
        TWO, Fault("lock_timeout"), clients=2, look=lambda world: str(world.progress.results)
    )[0]
    assert any("1222" in one for one in errors)
    alone, result = found(TWO, Fault("lock_timeout"))
    assert (alone, result.taken["lock_timeout"]) == ({"[1, 1]"}, 0)


def test_a_fault_meant_for_one_spares_the_others():
    results = found(
        TWO,
        Fault("kill", who="T2"),
        clients=2,
        look=lambda world: str(sorted(world.progress.killed)),
    )[0]
    assert results == {"[]", "[1]"}


def test_an_activated_reader_that_dies_is_started_again():
    seen, result = found(DIALOG, Fault("reader_restart"), warm=READER)
    assert result.taken["reader_restart"] > 0
    assert "[1, 0]" in seen


def test_a_connection_that_breaks_is_made_again_with_the_same_spid_and_nothing_else():
    """1. It sets what a session has, and opens a transaction. 2. The connection breaks. 3. The next batch
    finds the same @@SPID, no transaction, no #table, no CONTEXT_INFO, and its own SET options gone.
    """
    first = (
        "SET LOCK_TIMEOUT 7; SET CONTEXT_INFO 0x01; CREATE TABLE #mine (n int NOT NULL); "
        "UPDATE dbo.c SET n = @@SPID WHERE id = 2; BEGIN TRANSACTION; "
        "UPDATE dbo.c SET n = 1 WHERE id = 1; WAITFOR DELAY '00:00:01'; COMMIT TRANSACTION;"
    )
    second = (
        "IF @@TRANCOUNT = 0 AND OBJECT_ID(N'tempdb..#mine') IS NULL AND @@LOCK_TIMEOUT = -1 "
        "AND CONTEXT_INFO() IS NULL UPDATE dbo.c SET n = -1 WHERE id = 2 AND n = @@SPID;"
    )
    client = Client("T", (first, second), "d")
    seen = set()
    scenario = Scenario("again", queues, (client,), faults=(Fault("reconnect"),))
    scenario.at_the_end = lambda world: seen.add(told(world)) or nothing_left_behind(world)
    result = search(scenario)
    assert (result.violations, result.ended) == ({}, True)
    assert "[((-1,), ())] [0, -1]" in seen, "broken in its transaction, and all as described"
    assert "[((), ())] [1, 51]" in seen, "not broken"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("INSERT dbo.i (v) VALUES (1);", "@@IDENTITY IS NULL AND SCOPE_IDENTITY() IS NULL"),
        (
            "DECLARE k CURSOR FOR SELECT id FROM dbo.c WHERE id = 9; OPEN k; FETCH k;",
            "@@FETCH_STATUS = 0",
        ),
        ("SET CONTEXT_INFO 0x01;", "CONTEXT_INFO() IS NULL"),
        ("USE master;", "DB_NAME() = N'd'"),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;", ISOLATION),
        ("EXECUTE sp_getapplock N'x', N'Exclusive', N'Session';", APPLOCK),
    ],
    ids=["identity", "fetch", "context", "database", "isolation", "application lock"],
)
def test_a_new_connection_knows_nothing_of_the_one_that_broke(first, second):
    made = "CREATE TABLE dbo.i (id int IDENTITY(7, 1) NOT NULL, v int NOT NULL);"
    batches = (
        f"{first} WAITFOR DELAY '00:00:01';",
        f"IF {second} UPDATE dbo.c SET n = 9 WHERE id = 1;",
    )
    seen = set()
    for kept in ("kept", "cleared"):
        scenario = Scenario(
            "new",
            queues,
            (Client("T", batches, "d", (made,)),),
            faults=(Fault("reconnect"),),
            switches={"reset_context_info": kept},
        )
        seen |= ends(scenario)
    assert "[((-1,), ())] [9, 0]" in seen and "[((-1,), ())] [0, 0]" not in seen
    assert "[((), ())] [0, 0]" in seen, "one that did not break knows it"


@pytest.mark.parametrize("kind", ["reconnect", "restart"])
def test_an_application_that_is_not_let_in_again_is_gone(kind):
    """Its database was dropped while it was elsewhere: a login to it fails."""
    batches = ("USE master; SELECT 1;", "CREATE DATABASE e; DROP DATABASE d;", "SELECT 1;")
    scenario = Scenario("gone", queues, (Client("T", batches, "d"),), faults=(Fault(kind),))
    gone = set()
    scenario.at_the_end = lambda world: gone.add(str(world.progress.killed)) or []
    result = search(scenario)
    assert (result.violations, result.ended) == ({}, True)
    assert gone == {"frozenset()", "frozenset({0})"}


def test_an_answer_may_be_lost_when_all_is_committed():
    one = "BEGIN TRANSACTION; UPDATE dbo.c SET n = n + 1 WHERE id = 1; COMMIT TRANSACTION;"
    seen, result = found(one, Fault("answer_lost"), look=told)
    assert seen == {"[((),)] [1, 0]", "[((-1,),)] [1, 0]"}
    assert result.struck == {"answer_lost"}


def test_what_is_left_open_is_rolled_back_with_the_connection():
    open_one = "BEGIN TRANSACTION; UPDATE dbo.c SET n = 7 WHERE id = 1;"
    client = Client("T", (open_one, "IF @@TRANCOUNT > 0 COMMIT;"), "d")
    seen = ends(Scenario("open", queues, (client,), faults=(Fault("answer_lost"),)))
    lost_later = "[((), (-1,))] [7, 0]"
    assert seen == {"[((), ())] [7, 0]", "[((-1,), ())] [0, 0]", lost_later}


def test_who_sends_again_after_a_lost_answer_does_it_twice():
    adds = "UPDATE dbo.c SET n = n + 1 WHERE id = 1;"
    client = Client("T", (adds,), "d", on_error=adds)
    for kind, most in (("answer_lost", 2), ("reconnect", 1)):
        scenario = Scenario("again", queues, (client,), faults=(Fault(kind),))
        seen = ends(scenario, look=lambda world: numbers(world)[0])
        assert max(seen) == most, "it breaks before the answer, or in the midst of it all"


def test_a_fault_of_which_nothing_came_has_not_struck_and_costs_nothing():
    seen, result = found(TWO, Fault("disk_full"), look=told)
    assert (result.struck, seen) == (set(), {"[((),)] [1, 1]"})


def test_who_waits_for_a_lock_may_be_the_victim_of_strangers():
    seen, result = found(TWO, Fault("victim"), clients=2, look=told)
    assert seen == {
        "[((),), ((),)] [2, 2]",
        "[((1205,),), ((),)] [1, 1]",
        "[((),), ((1205,),)] [1, 1]",
    }
    assert result.violations == {}


def test_a_full_disk_stops_an_insert_a_send_and_no_update():
    grows = TWO.replace("COMMIT", "INSERT dbo.c VALUES (3, 0), (4, 0); COMMIT")
    assert found(TWO, Fault("disk_full"))[0] == {"[1, 1]"}
    assert found(grows, Fault("disk_full"), look=told)[0] == {
        "[((),)] [1, 1, 0, 0]",
        "[((1105,),)] [1, 1]",
    }
    assert found("SET XACT_ABORT ON; " + grows, Fault("disk_full"), look=told)[0] == {
        "[((),)] [1, 1, 0, 0]",
        "[((1105,),)] [0, 0]",
    }
    assert "[((1105,),)] [0, 0]" in found(DIALOG, Fault("disk_full"), look=told)[0]
    behind = "DECLARE @n int = 7; SET @n += 1; INSERT dbo.c VALUES (3, @n);"
    assert "[((1105,),)] [0, 0]" in found(behind, Fault("disk_full"), look=told)[0]
    table = "DECLARE @t TABLE (n int NOT NULL); INSERT @t VALUES (1); SELECT n FROM @t;"
    assert found(table, Fault("disk_full"), look=told)[0] == {"[((),)] [0, 0]"}


def test_a_restart_undoes_what_is_open_and_starts_the_readers_anew():
    seen, result = found(DIALOG, Fault("restart"), warm=READER, look=told)
    assert result.violations == {} and result.taken["restart"] > 0
    assert seen == {"[((),)] [1, 0]", "[((-1,),)] [0, 0]"}, "what is committed is read"


def test_restarts_count_for_no_rollback():
    """Five in a row would switch the queue off."""

    def look(world: World) -> str:
        return str(world.instance.server.database("d").resolve("dbo", "qb").enabled)

    seen, result = found(DIALOG, Fault("restart", 5), warm=READER, look=look)
    assert (seen, result.violations) == ({"True"}, {})


def test_a_restart_starts_nobody_for_an_empty_queue():
    """1. A message is sent. 2. The reader has received it, and has not ended. 3. The server is restarted."""
    reader = READER[0].replace(
        "COMMIT TRANSACTION;", "COMMIT TRANSACTION; WAITFOR DELAY '00:00:01';"
    )
    client = Client("T1", (DIALOG,), "d", (reader, READER[1]))
    world = World(Scenario("empty", queues, (client,), faults=(Fault("restart"),)))
    while any(step.kind == "run" for step in world.steps()):
        world.take(next(step for step in world.steps() if step.kind == "run"))
    assert numbers(world) == [1, 0]
    world.take(next(step for step in world.steps() if step.kind == "restart"))
    assert world.steps() == []


def test_a_restart_starts_a_reader_that_a_killed_one_has_left_stuck():
    """1. A message is sent. 2. The reader is killed before its first RECEIVE: its queue waits for ever
    (F-255). 3. The server is restarted. 4. Another reader is started, and reads.
    """
    client = Client("T1", (DIALOG,), "d", READER)
    faults = (Fault("kill"), Fault("restart"))
    switches = {"killed_reader": "stuck"}
    world = World(Scenario("stuck", queues, (client,), faults=faults, switches=switches))
    with given(switches):
        while any(step.kind == "run" and step.who > 50 for step in world.steps()):
            world.take(next(s for s in world.steps() if s.kind == "run" and s.who > 50))
        world.take(next(step for step in world.steps() if step.kind == "kill"))
        assert [step.kind for step in world.steps()] == ["restart"]
        world.take(world.steps()[0])
        while steps := world.steps():
            world.take(steps[0])
    assert numbers(world) == [1, 0]


@pytest.mark.parametrize(
    "kind", [*OF_THE_SERVER, "reconnect", "answer_lost", "victim", "disk_full", "time_limit"]
)
def test_each_kind_of_search_comes_to_the_same_ends(kind):
    """A whole search, one of fewer orders, one without hashes."""
    sending = f"{TWO} {DIALOG}"
    clock = "UPDATE dbo.c SET n += DATEDIFF(second, '2026-01-01', SYSUTCDATETIME()) WHERE id = 2;"
    waiting = f"WAITFOR DELAY '00:00:09'; {TWO}"
    two = (Client("T1", (sending,), "d", READER), Client("T2", (waiting, clock), "d"))
    made = Scenario("same", queues, two, faults=(Fault(kind),), statements_atomic=True)
    outcomes = [ends(made, how=how) for how in (search, persistent, reduced)]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_an_unknown_kind_is_refused_with_all_there_are():
    with pytest.raises(ValueError, match="kinds are kill, cancel, rollback"):
        Fault("meteor")


def test_two_faults_of_one_kind_are_refused():
    with pytest.raises(ValueError, match="twice"):
        World(Scenario("twice", queues, (), faults=(Fault("kill"), Fault("kill"))))


def test_an_application_tidies_up_after_an_error_too():
    fails = "BEGIN TRANSACTION; UPDATE dbo.c SET n = 1 WHERE id = 1; THROW 50001, N'no', 1;"
    for on_error, names in (
        ("", {"lock left behind", "transaction left open"}),
        ("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;", set()),
    ):
        client = Client("T", (fails, "SELECT 1;"), "d", on_error=on_error)
        world = World(Scenario("tidy", queues, (client,)))
        while steps := world.steps():
            world.take(steps[0])
        assert world.progress.results == [((50001,), ())], "the tidying is no outcome"
        assert set(nothing_left_behind(world)) == names


def test_a_trace_of_a_lost_answer_shows_what_was_done():
    made = Scenario("lost", queues, (Client("T", ("UPDATE dbo.c SET n = 7 WHERE id = 1;",), "d"),))
    made.faults = (Fault("answer_lost"),)
    made.at_the_end = lambda world: ["done and lost"] if world.progress.struck else []
    (violation,) = search(made).violations.values()
    (line,) = [line for line in replay(made, violation) if "before the answer" in line]
    assert "behind batch line 1: UPDATE dbo.c SET n = 7" in line


def test_a_walk_s_strike_is_one_of_which_something_came():
    made = Scenario(
        "walks", queues, (Client("T", (TWO, TWO), "d"),), faults=(Fault("answer_lost"),)
    )
    made.at_the_end = lambda world: [f"{len(world.progress.struck)} struck"]
    result = walk(made, Walks(60, steps=60))
    assert result.struck == {"answer_lost"}
    assert 0 < result.taken["answer_lost"] <= 60


def test_who_stands_still_does_not_come_to_the_end_of_a_batch():
    made = Scenario("still", queues, (Client("T1", (TWO,), "d"), Client("T2", (TWO,), "d")))
    made.faults = (Fault("pause"), Fault("answer_lost"))
    world = World(made)
    world.take(Step("pause", 51))
    assert Step("answer_lost", 51) not in world.steps()
    assert Step("answer_lost", 52) in world.steps()


def test_what_a_fault_did_of_which_nothing_came_is_shown_as_the_session_s_own():
    made = Scenario("miss", queues, (Client("T", (TWO,), "d"),), faults=(Fault("answer_lost"),))
    made.at_the_end = lambda world: [] if world.progress.struck else ["all is well"]
    begins = Step("run", 51)
    missed = Violation("all is well", (begins, Step("answer_lost", 51), *[begins] * 9))
    path = readable(made, missed).path
    assert {step.kind for step in path} == {"run"}


def test_a_batch_that_cannot_be_compiled_fails_and_the_next_one_is_run():
    client = Client("T", ("SELECT @x;", "UPDATE dbo.c SET n = 1 WHERE id = 1;"), "d")
    seen = ends(Scenario("compile", queues, (client, Client("T2", ("SELECT 1;",), "d"))))
    assert seen == {"[((137,), ()), ((),)] [1, 0]"}


@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_a_loop_of_its_own_ends_every_kind_of_search(how):
    loop = "DECLARE @i int = 0; WHILE 1 = 1 SET @i += 1;"
    with pytest.raises(EndlessError, match="statements that nobody else can see"):
        how(Scenario("loop", queues, (Client("T", (loop,), "d"),)))


@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_others_may_come_between_an_error_from_outside_and_what_follows_it(how):
    """1 T1 has the first row and waits for the second, which T3 holds; T2 passes over what is locked
    2 T1's wait ends with 1222, its locks are given back  3 T2 finds the first row free, and says so
    4 T1 goes on with that row
    """
    times_out = "UPDATE dbo.c SET n = n + 1; UPDATE dbo.c SET n = n + 100 WHERE id = 1;"
    passes = (
        "DECLARE @n int; UPDATE dbo.c WITH (READPAST) SET n = n WHERE id = 1; SET @n = @@ROWCOUNT; "
        "UPDATE dbo.c WITH (READPAST) SET n = n * 10 + 5 WHERE id = 1 AND @n = 0; "
        "IF @n = 0 AND @@ROWCOUNT = 1 THROW 50001, N'free', 1;"
    )
    holds = (
        "BEGIN TRANSACTION; UPDATE dbo.c SET n = 0 WHERE id = 2; WAITFOR DELAY '00:01:00'; COMMIT;"
    )
    three = clients(times_out, passes, holds)
    made = Scenario("between", queues, three, faults=(Fault("lock_timeout"),))
    made.statements_atomic = True
    seen = ends(made, how=how)
    assert "[((1222,),), ((50001,),), ((),)] [105, 0]" in seen
