"""The explorer itself: it knows no procedure, only states."""

from __future__ import annotations

import pytest

from redial_broker.engine.clock import RealClock
from redial_broker.exec.objects import CATALOG_FUNCTIONS
from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Limits, Scenario, World, search, shortest
from redial_lab.explore.search import EXHAUSTED
from redial_lab.explore.search_report import report
from redial_lab.explore.trace import replay
from redial_lab.explore.world import Step
from tests.lab.explore.tables import database, tables


def counter() -> Instance:
    return tables("c", 1)


READ_THEN_WRITE = (
    "DECLARE @n int; SELECT @n = n FROM dbo.c WHERE id = 1; "
    "UPDATE dbo.c SET n = @n + 1 WHERE id = 1;"
)
IN_ONE_STATEMENT = "UPDATE dbo.c SET n = n + 1 WHERE id = 1;"


def lost_update(world: World) -> list[str]:
    table = world.instance.server.database("d").resolve("dbo", "c")
    [(_, n)] = table.rows.entries.values()
    done = sum(len(results) for results in world.progress.results)
    return [] if n == done else ["lost update"]


def scenario(text: str, clients: int = 2) -> Scenario:
    return Scenario(
        "counter",
        counter,
        tuple(Client(f"T{n}", (text,), "d") for n in range(1, clients + 1)),
        at_the_end=lost_update,
    )


def test_a_lost_update_is_found_in_text_the_explorer_has_never_seen():
    result = search(scenario(READ_THEN_WRITE))
    found = shortest(scenario(READ_THEN_WRITE), result.violations["lost update"])
    assert result.ended
    who = [step.who for step in found.path]
    assert sorted(who[:2]) == [51, 52], "both have read"
    assert sorted(who[2:]) == [51, 51, 52, 52], "before either writes, and commits"


def test_what_lies_behind_a_violation_was_not_searched_and_the_report_says_so():
    def changed(world: World) -> list[str]:
        table = world.instance.server.database("d").resolve("dbo", "c")
        [(_, n)] = table.rows.entries.values()
        return ["changed"] if n else []

    made = scenario(IN_ONE_STATEMENT)
    made.on_every_state = changed
    result = search(made)
    # each of the two sessions may be first; what the other does then is not looked at
    assert result.ended and result.cut > 0
    words = f"truncated: nothing behind {result.cut} states with a violation was searched"
    assert result.extent == words
    assert any(words in line for line in report(made, result))
    past = search(made, Limits(past=True))
    assert (past.verdict, past.cut) == (EXHAUSTED, 0)
    assert past.states > result.states


def test_and_is_not_found_where_there_is_none():
    result = search(scenario(IN_ONE_STATEMENT, clients=3))
    assert (result.ended, result.violations) == (True, {})


def test_the_same_search_gives_the_same_result():
    first, second = (search(scenario(READ_THEN_WRITE)) for _ in range(2))
    assert (first.states, first.transitions, first.ends) == (
        second.states,
        second.transitions,
        second.ends,
    )


def test_two_orders_of_independent_steps_reach_one_state():
    """T1 works on a row of its own, T2 finds none: 2 statements with their commits, and 2 without, make
    5 x 3 states."""
    texts = (
        "UPDATE dbo.c SET n = 1 WHERE id = 1; UPDATE dbo.c SET n = 2 WHERE id = 1;",
        "DECLARE @x int = 1; EXEC sp_executesql N'SELECT @@VERSION'; "
        "UPDATE dbo.c SET n = 1 WHERE id = 2; UPDATE dbo.c SET n = 2 WHERE id = 2;",
    )
    result = search(
        Scenario(
            "apart",
            counter,
            tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1)),
        )
    )
    assert (result.states, result.ends) == (15, 1)


def test_every_rewind_brings_back_the_very_state():
    world = World(scenario(READ_THEN_WRITE))
    start = world.hash()

    def walk(depth: int) -> None:
        before = world.hash()
        for step in world.steps():
            mark = world.journal.mark()
            world.take(step)
            if depth:
                walk(depth - 1)
            world.journal.rewind(mark)
            for part in world.instance.parts():
                part.digest = None
            assert world.hash() == before

    walk(5)
    assert world.hash() == start


def test_a_rewind_brings_back_the_locks_a_waiting_read_gives_up_at_its_end():
    """The reader is granted its S lock by the writer's commit and drops it in a step that saves
    nothing else: once the step was taken back it kept the lock, and a search met a deadlock that no
    order of the statements has."""
    world = World(
        Scenario(
            "reader",
            counter,
            (
                Client("T1", (f"BEGIN TRANSACTION; {IN_ONE_STATEMENT} COMMIT TRANSACTION;",), "d"),
                Client("T2", (READ_THEN_WRITE,), "d"),
            ),
        )
    )
    writer, reader = (session.id for session in world.clients)
    for who in (writer, reader, writer):
        world.take(Step("run", who))
    transaction = world.clients[1].transaction
    before = transaction.memento()
    mark = world.journal.mark()
    world.take(Step("run", reader))
    world.journal.rewind(mark)
    assert before == transaction.memento()
    assert transaction.short_locks


def test_a_trace_is_numbered_steps_that_name_the_statement():
    result = search(scenario(READ_THEN_WRITE))
    lines = replay(scenario(READ_THEN_WRITE), result.violations["lost update"])
    assert lines[0].startswith("  1. T")
    assert any("UPDATE dbo.c" in line for line in lines)
    assert lines[-1] == "  => lost update"


def test_a_bounded_search_says_what_bounded_it():
    result = search(scenario(READ_THEN_WRITE, clients=3), Limits(transitions=10))
    assert (result.ended, result.bounded_by) == (False, "10 transitions")
    assert "bounded by 10 transitions" in str(result)


def test_a_search_needs_virtual_time():
    with pytest.raises(ValueError, match="virtual clock"):
        World(Scenario("real", lambda: Instance(clock=RealClock()), ()))


LOOKS = "INSERT dbo.c SELECT 2, DATEDIFF(second, '20260101', SYSUTCDATETIME());"
PAUSES = "IF EXISTS (SELECT 1 FROM dbo.c WHERE id = 1 AND n = 0) WAITFOR DELAY '00:00:20';"


@pytest.mark.parametrize("first", ["T1", "T2"])
def test_states_that_differ_in_the_time_only_are_two_for_who_reads_the_clock(first):
    """T2 pauses if it comes before T1; T1 looks at the clock when T2 is done, in either case."""

    def seen(world: World) -> list[str]:
        table = world.instance.server.database("d").resolve("dbo", "c")
        return [f"second {n}" for key, n in table.rows.entries.values() if key == 2]

    clients = (
        Client(
            "T1",
            ("UPDATE dbo.c SET n = 1 WHERE id = 1;", f"WAITFOR DELAY '00:00:01'; {LOOKS}"),
            "d",
        ),
        Client("T2", (PAUSES,), "d"),
    )
    made = Scenario(
        "clock",
        counter,
        tuple(sorted(clients, key=lambda client: client.name != first)),
        at_the_end=seen,
    )
    assert sorted(search(made).violations) == ["second 1", "second 20"]


def test_who_polls_for_ever_and_never_reads_the_clock_has_finitely_many_states():
    text = "WHILE EXISTS (SELECT 1 FROM dbo.c WHERE id = 1) WAITFOR DELAY '00:00:05';"
    result = search(Scenario("poll", counter, (Client("T1", (text,), "d"),)))
    assert result.ended and result.states < 20 and result.circles > 0


@pytest.mark.breaks_the_broker
def test_a_defect_of_the_broker_is_a_violation_and_ends_one_session_only(monkeypatch):
    """T1 breaks inside the broker: the search names that, and T2 has its answer all the same."""
    real = CATALOG_FUNCTIONS["OBJECT_ID"]
    monkeypatch.setitem(
        CATALOG_FUNCTIONS,
        "OBJECT_ID",
        lambda s, args: 1 // 0 if args[0] == "trap" else real(s, args),
    )
    clients = (
        Client("T1", ("SELECT OBJECT_ID(N'trap');", "SELECT 1;"), "d"),
        Client("T2", (IN_ONE_STATEMENT,), "d"),
    )
    broken = Scenario("broken", counter, clients)
    result = search(broken)
    [name] = result.violations
    assert name == (
        "defect of the embedded broker: ZeroDivisionError: integer division or modulo by zero"
    )
    assert [step.who for step in shortest(broken, result.violations[name]).path] == [51]
    world = World(broken)
    for step in (Step("run", 51), Step("run", 52), Step("run", 52)):
        world.take(step)
    assert world.progress.results == [((60999,),), ((),)]
    assert sorted(s.id for s in world.clients if s.id in world.instance.sessions) == [52]


def test_a_table_whose_default_draws_from_a_sequence_can_be_searched():
    """Each row has a number of its own, in the order of the inserts."""
    made = (
        "CREATE SEQUENCE dbo.s START WITH 1; "
        "CREATE TABLE dbo.t (id int NOT NULL DEFAULT (NEXT VALUE FOR dbo.s), b int NOT NULL);"
    )
    two = tuple(Client(f"T{n}", (f"INSERT dbo.t (b) VALUES ({n});",), "d") for n in (1, 2))

    def rows(world: World) -> list[str]:
        table = world.instance.server.database("d").resolve("dbo", "t")
        return [str(sorted(table.rows.entries.values()))]

    found = search(
        Scenario("numbers", lambda: database(made, on=tables("c")), two, at_the_end=rows)
    )
    assert set(found.violations) == {"[(1, 1), (2, 2)]", "[(1, 2), (2, 1)]"}
