"""Faults by which time passes: who stands still, a limit that ends, a clock that is set."""

from __future__ import annotations

import pytest

from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.faults import Fault
from redial_lab.explore.operators import queue_off
from redial_lab.explore.others import Others
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.replay_words import decode, encode
from redial_lab.explore.shorten import readable
from tests.lab.explore.ends import clients, ends, found, numbers, rows, told
from tests.lab.explore.tables import DIALOG, READER, TWO, queues


def test_a_time_limit_runs_out_while_a_client_stands_still():
    """Without the pause the second client's wait ends before time can pass."""
    text = "SET LOCK_TIMEOUT 1000; " + TWO

    def look(world: World) -> str:
        return str(sorted(world.progress.results))

    assert not any("1222" in one for one in found(text, clients=2, look=look)[0])
    assert any("1222" in one for one in found(text, Fault("pause"), clients=2, look=look)[0])


def test_a_time_limit_ends_while_others_are_slow():
    """Also that of who waits for nobody: the other session has not got on meanwhile."""
    text = "SET LOCK_TIMEOUT 1000; " + TWO
    seen, result = found(text, Fault("time_limit"), clients=2, look=told)
    assert "[((1222,),), ((),)] [1, 2]" in seen and "[((),), ((1222,),)] [1, 2]" in seen
    assert result.taken["time_limit"] > 0
    delay = (
        "DECLARE @n int; SELECT @n = n FROM dbo.c WHERE id = 2; WAITFOR DELAY '00:00:09'; "
        "UPDATE dbo.c SET n = @n + 1 WHERE id = 2;"
    )
    assert found(delay, clients=2)[0] == {"[0, 1]"}, "both wait at once"
    assert found(delay, Fault("time_limit"), clients=2)[0] == {"[0, 1]", "[0, 2]"}


def test_a_monitor_looks_while_a_reader_is_busy():
    """MAX_QUEUE_READERS 2: another reader is started though the first one can run."""
    two = READER[1].replace("READERS = 1", "READERS = 2")
    readers = set()

    def note(world: World) -> list[str]:
        readers.add(sum(session.background for session in world.instance.sessions.values()))
        return []

    for faults, most in (((), 1), ((Fault("monitor_looks"),), 2)):
        readers.clear()
        client = Client("T", (DIALOG, DIALOG), "d", (READER[0], two))
        scenario = Scenario("looks", queues, (client,), on_every_state=note, faults=faults)
        assert search(scenario).ended
        assert max(readers) == most


@pytest.mark.parametrize(("kind", "hours"), [("clock_ahead", 1), ("clock_back", -1)])
def test_a_clock_that_is_set_moves_moments_and_no_wait(kind, hours):
    """The wait lasts its seven seconds; what the text reads of the clock differs by the hour."""
    text = (
        "DECLARE @from datetime2(3) = SYSUTCDATETIME(); WAITFOR DELAY '00:00:07'; "
        "UPDATE dbo.c SET n = DATEDIFF(second, @from, SYSUTCDATETIME()) WHERE id = 1;"
    )
    seen, result = found(text, Fault(kind))
    assert result.taken["expire"] > 0
    assert seen == {"[7, 0]", f"[{7 + 3600 * hours}, 0]"}


def test_time_passes_while_everybody_waits_and_a_rewind_brings_it_back():
    world = World(
        Scenario("delay", queues, (Client("T", ("WAITFOR DELAY '00:00:07'; SELECT 1;",), "d"),))
    )
    clock = world.instance.clock
    start, mark = clock.now(), world.journal.mark()
    while steps := world.steps():
        world.take(steps[0])
    assert clock.now() == start + 7
    world.journal.rewind(mark)
    assert clock.now() == start


@pytest.mark.parametrize(
    "between", ["", "UPDATE dbo.c SET n = 1 WHERE id = 1;"], ids=["nothing", "a change"]
)
@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_the_clock_may_be_set_between_two_readings_of_it(between, how):
    text = (
        f"DECLARE @a datetime2 = SYSDATETIME(); {between} "
        "IF DATEDIFF(second, @a, SYSDATETIME()) > 5 UPDATE dbo.c SET n = 9 WHERE id = 2;"
    )
    two = clients(text, "WAITFOR DELAY '00:00:10';")
    for kind, late in (
        ("clock_ahead", True),
        ("pause", True),
        ("time_limit", True),
        ("kill", False),
    ):
        seen = ends(Scenario("clock", queues, two, faults=(Fault(kind),)), rows, how)
        assert any(", 9]" in each for each in seen) is late, kind


def test_time_may_pass_for_whom_a_fault_can_reach():
    """Elsewhere a reading of the clock is no step of its own."""

    def reached(fault: Fault) -> list[bool]:
        world = World(Scenario("reach", queues, clients(TWO, TWO), faults=(fault,)))
        return [
            world.others.time_may_pass(session)
            for session in (*world.clients, *world.operators.values())
        ]

    assert reached(Fault("pause", who="T1")) == [True, False]
    assert reached(Fault("clock_ahead")) == [True, True]
    assert reached(Fault("restart")) == [False, False]
    assert reached(queue_off("dbo.qa", "d")) == [False, False, False]


@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_no_outcome_hangs_on_a_reading_of_the_clock_by_whom_no_fault_reaches(how, monkeypatch):
    """As many outcomes where each reading is a step."""
    reading = (
        "DECLARE @a datetime2 = SYSDATETIME(); UPDATE dbo.c SET n = n * 2 + 1 WHERE id = 1; "
        "IF DATEDIFF(second, @a, SYSDATETIME()) > 5 UPDATE dbo.c SET n = n + 50 WHERE id = 2;"
    )
    waiting = (
        "BEGIN TRANSACTION; UPDATE dbo.c SET n = 3 WHERE id = 1; WAITFOR DELAY '00:00:10'; COMMIT;"
    )
    three = clients(reading, reading, waiting)
    found = []
    for always in (False, True):
        if always:
            monkeypatch.setattr(Others, "time_may_pass", lambda others, session: True)
        made = Scenario("same", queues, three, faults=(Fault("pause", who="T1"),))
        made.statements_atomic = True
        found.append(ends(made, rows, how))
    assert found[0] == found[1]
    assert any(row.endswith("50]") for row in found[0])


@pytest.mark.parametrize("kind", ["pause", "clock_ahead", "time_limit"])
@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_what_time_that_passed_has_done_is_shortened_and_replayed_from_its_word(how, kind):
    reading = (
        "DECLARE @a datetime2 = SYSDATETIME(); UPDATE dbo.c SET n = 1 WHERE id = 1; "
        "IF DATEDIFF(second, @a, SYSDATETIME()) > 5 UPDATE dbo.c SET n = 9 WHERE id = 2;"
    )
    two = clients(reading, "WAITFOR DELAY '00:00:10';")
    made = Scenario("late", queues, two, faults=(Fault(kind),))
    made.watched = lambda world: None
    made.at_the_end = lambda world: ["late"] if numbers(world)[1] == 9 else []
    found = readable(made, how(made).violations["late"])
    again = decode(made, encode(made, found.path))
    assert (again.name, again.path) == ("late", found.path)
    assert sum(step.kind == kind for step in again.path) == 1
