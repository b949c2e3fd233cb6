"""Traces of T-SQL nobody here has seen: what is recorded, shortened, named, put into windows."""

from __future__ import annotations

import pytest

from redial.paths import ROOT
from redial.tsql import parse_batch, parse_script
from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Limits, Scenario, World, search, shortest
from redial_lab.explore.checks import no_deadlock
from redial_lab.explore.faults import Fault
from redial_lab.explore.play import play, sections
from redial_lab.explore.replay_words import SeedError, decode
from redial_lab.explore.shorten import readable, switches
from redial_lab.explore.stops import NoPlace, create_or_alter, with_stops
from redial_lab.explore.trace import record, replay
from redial_lab.explore.user_files import load
from redial_lab.explore.windows import script
from tests.lab.explore.tables import database

TRANSFER = (
    "CREATE PROCEDURE dbo.Transfer @from int, @to int AS BEGIN\n"
    "  BEGIN TRANSACTION;\n"
    "  IF @from > 0\n"
    "    UPDATE dbo.Account SET Amount -= 1 WHERE Id = @from;\n"
    "  ELSE UPDATE dbo.Account SET Amount += 0 WHERE Id = -@from;\n"
    "  UPDATE dbo.Account SET Amount += 1 WHERE Id = @to;\n"
    "  COMMIT TRANSACTION;\nEND;"
)


def bank() -> Instance:
    return database(
        "CREATE TABLE dbo.Account (Id int NOT NULL PRIMARY KEY, Amount int NOT NULL);",
        "INSERT dbo.Account VALUES (1, 10), (2, 10), (3, 10);",
        TRANSFER,
    )


def crossing(**more) -> Scenario:
    clients = (
        Client("T1", ("EXECUTE dbo.Transfer 1, 2;",), "d", (), "SELECT 1;"),
        Client("T2", ("EXECUTE dbo.Transfer 2, 1;",), "d"),
        Client("bystander", ("UPDATE dbo.Account SET Amount += 0 WHERE Id = 3;",), "d"),
    )
    return Scenario("crossing transfers", bank, clients, on_every_state=no_deadlock, **more)


def lost_update(world: World) -> list[str]:
    table = world.instance.server.database("d").resolve("dbo", "Account")
    amounts = {row[0]: row[1] for row in table.rows.entries.values()}
    done = sum(len(results) for results in world.progress.results)
    return [] if amounts[1] == 10 + done else ["lost update"]


READ_THEN_WRITE = (
    "DECLARE @n int; SELECT @n = Amount FROM dbo.Account WHERE Id = 1; "
    "UPDATE dbo.Account SET Amount = @n + 1 WHERE Id = 1;"
)


@pytest.fixture(scope="module")
def deadlock():
    scenario = crossing()
    result = search(scenario, Limits(until="deadlock"))
    return scenario, readable(scenario, result.violations["deadlock"])


def test_what_is_readable_has_four_steps_and_no_bystander(deadlock):
    found = deadlock[1]
    assert len(found.path) <= 4
    assert {step.who for step in found.path} == {51, 52}


def test_a_trace_knows_each_statement_lock_wait_and_the_victim(deadlock):
    scenario, found = deadlock
    trace = record(scenario, found)
    waits = [step for step in trace.steps if step.began_waiting]
    assert [str(s.place) for s in waits[0].statements][-1].startswith("Transfer line 6: UPDATE")
    assert waits[0].statements[-1].waited
    standing = {trace.lanes[key].name: held for key, held in trace.standing.items()}
    assert {lock.kind for lock in standing["T1"].locks} == {"KEY"}
    assert standing["T1"].waits.mode == standing["T2"].waits.mode == "X"
    assert standing["T1"].waits.holders and standing["T2"].waits.holders
    assert "Account.PK" in str(standing["T1"])
    assert trace.victim in trace.lanes
    assert trace.steps[-1].errors[0][1] == 1205


def test_a_word_replays_the_path_and_nothing_else(deadlock):
    scenario, found = deadlock
    word = record(scenario, found).seed
    again = decode(scenario, word)
    assert (again.path, again.name) == (found.path, "deadlock")
    assert not set(word) & set(" *~'\"$&|;<>()")
    steps = word.partition("@")[0]
    with pytest.raises(SeedError, match="the path ends in state"):
        decode(scenario, steps + "@00000000")
    with pytest.raises(SeedError, match="its end is missing"):
        decode(scenario, steps)
    assert decode(scenario, steps, to_any_state=True).path == found.path, "as kept traces are"
    with pytest.raises(SeedError, match="session 99 cannot run there"):
        decode(scenario, "51.99")
    with pytest.raises(SeedError, match="no kill:0 is possible"):
        decode(scenario, "51.kill:0")
    with pytest.raises(SeedError, match="neither a session nor"):
        decode(scenario, "51,52")


def test_windows_meet_the_deadlock_where_the_trace_waits(deadlock):
    scenario, found = deadlock
    made = script(record(scenario, found))
    parse_script(made.text)
    assert len(made.windows) == 2
    assert made.plan.missing == []
    played = play(made.text, scenario)
    assert "deadlock" in played.met
    assert played.waited == {
        next(
            stop.window
            for stop in made.plan.stops
            if stop.blocks and stop.turn < len(made.plan.turns)
        )
    }
    assert [number for _, number in played.errors] == [1205]
    assert played.left == []


def test_clean_up_leaves_the_procedure_as_it_was_and_nothing_of_ours(deadlock):
    scenario, found = deadlock
    made = script(record(scenario, found))
    parts = sections(made.text)
    assert list(parts) == ["SETUP", "WINDOW 1", "WINDOW 2", "CLEAN-UP"]
    assert parts["SETUP"].count("EXECUTE explorer.Stop") == len({s.place for s in made.plan.stops})
    assert TRANSFER.replace("CREATE", "CREATE OR ALTER", 1) in parts["CLEAN-UP"]
    assert (
        "-- window 2 waits here until step 1 is done in window 1" in made.text
        or "-- window 1 waits here until step 1 is done in window 2" in made.text
    )
    assert "THE STATEMENT BELOW BLOCKS: it waits for X KEY Account.PK" in made.text


def test_windows_stop_inside_a_plain_batch():
    clients = tuple(Client(f"T{n}", (READ_THEN_WRITE,), "d") for n in (1, 2))
    scenario = Scenario("counter", bank, clients, at_the_end=lost_update)
    found = readable(scenario, search(scenario).violations["lost update"])
    assert switches(list(found.path)) == 3
    made = script(record(scenario, found))
    assert made.modules == []
    assert play(made.text, scenario).met == ["lost update"]


def test_a_turn_is_what_one_session_does_until_another_acts(deadlock):
    trace = record(*deadlock)
    turns = trace.turns()
    assert [step for turn in turns for step in turn] == trace.steps
    assert len(turns) == switches(list(deadlock[1].path)) < len(trace.steps)
    assert all(len({step.lane for step in turn}) == 1 for turn in turns)
    text = "\n".join(trace.lines())
    assert all(step.title.partition(": ")[2] in text for step in trace.steps)
    long = next(turn for turn in turns if len(turn) > 1)
    assert f"steps {long[0].number} to {long[-1].number}:" in text


OWN = ROOT / "sql" / "examples"


@pytest.mark.parametrize(
    "name, violation, windows",
    [("tickets/first_try", "tickets from nowhere", 2), ("forum/transaction", "deadlock", 2)],
)
def test_windows_meet_what_a_users_own_file_calls_a_violation(name, violation, windows):
    """Invariants in T-SQL are asked while the windows are at it; one batch is there twice."""
    scenario = load(OWN / f"{name}.toml")[0]
    found = search(scenario, Limits(until=violation)).violations[violation]
    made = script(record(scenario, readable(scenario, found)))
    assert len(made.windows) == windows
    assert violation in play(made.text, scenario).met


def test_a_switch_is_saved_where_order_does_not_matter():
    clients = (
        *(Client(f"T{n}", (READ_THEN_WRITE,), "d") for n in (1, 2)),
        Client(
            "T3",
            (
                "UPDATE dbo.Account SET Amount = 1 WHERE Id = 3; "
                "UPDATE dbo.Account SET Amount = 2 WHERE Id = 3;",
            ),
            "d",
        ),
    )

    scenario = Scenario(
        "counter and another",
        bank,
        clients,
        at_the_end=lambda world: ["lost update"] if _amount(world) == 11 else [],
    )
    raw = search(scenario).violations["lost update"]
    assert switches(list(readable(scenario, raw).path)) <= switches(
        list(shortest(scenario, raw).path)
    )


def _amount(world: World) -> int:
    table = world.instance.server.database("d").resolve("dbo", "Account")
    return next(row[1] for row in table.rows.entries.values() if row[0] == 1)


def test_a_kill_is_done_by_a_window_of_the_operator():
    def gone(world: World) -> list[str]:
        told = any(596 in numbers for numbers in world.progress.results[0])
        return ["T1 is gone"] if told or 0 in world.progress.killed else []

    scenario = crossing(kills=1, at_the_end=gone)
    found = search(scenario, Limits(until="T1 is gone")).violations["T1 is gone"]
    made = script(record(scenario, readable(scenario, found)))
    assert made.windows[-1].name == "operator"
    assert "EXECUTE explorer.KillWindow @window = 1;" in made.text
    played = play(made.text, scenario)
    assert (1, 596) in played.errors
    assert "T1 is gone" in played.met


def test_a_cancel_is_asked_of_the_person_at_the_window():
    def cancelled(world: World) -> list[str]:
        return ["cancelled"] if any(-1 in numbers for numbers in world.progress.results[0]) else []

    scenario = crossing(cancels=1, at_the_end=cancelled)
    found = search(scenario, Limits(until="cancelled")).violations["cancelled"]
    made = script(record(scenario, readable(scenario, found)))
    assert "Now press Cancel (Alt+Break) in window 1" in made.text
    assert "[client 0 tidies up]" in made.text
    assert "cancelled" in play(made.text, scenario).met


def outcome(*numbers: int):
    """A check: T1 or T2 has been told one of these errors."""

    def check(world: World) -> list[str]:
        told = {e for results in world.progress.results for one in results for e in one}
        return ["told"] if told & set(numbers) else []

    return check


@pytest.mark.parametrize(
    "fault, numbers, said",
    [
        (Fault("rollback"), (-1,), " tidies up]\nIF @@TRANCOUNT > 0 ROLLBACK"),
        (Fault("lock_timeout"), (1222,), "SET LOCK_TIMEOUT 5000;"),
        (Fault("pause"), (1205,), ""),
        (
            Fault("drop", sql="DROP PROCEDURE dbo.Transfer;", database="d"),
            (2812,),
            "DROP PROCEDURE dbo.Transfer;\nGO",
        ),
    ],
)
def test_faults_are_done_by_windows_too(fault, numbers, said):
    scenario = crossing(faults=(fault,), at_the_end=outcome(*numbers))
    scenario.on_every_state = lambda world: []
    scenario.clients = scenario.clients[:2]
    found = search(scenario, Limits(until="told")).violations["told"]
    made = script(record(scenario, readable(scenario, found)))
    parse_script(made.text)
    assert said in made.text
    assert "told" in play(made.text, scenario).met


@pytest.mark.parametrize(
    "source, statement, expected",
    [
        (
            "IF 1 = 1 SELECT a FROM t; ELSE SELECT b FROM t;",
            "SELECT b FROM t",
            "IF 1 = 1 SELECT a FROM t; ELSE BEGIN\nSTOP\nSELECT b FROM t\nEND;",
        ),
        (
            "WHILE EXISTS (SELECT 1 FROM t) BEGIN DELETE t; END;",
            "WHILE EXISTS (SELECT 1 FROM t) BEGIN DELETE t; END",
            "STOP\nWHILE EXISTS (SELECT 1 FROM t) BEGIN DELETE t; STOP\nEND;",
        ),
        (
            "BEGIN TRY\n  DELETE t;\nEND TRY BEGIN CATCH THROW; END CATCH;",
            "DELETE t",
            "BEGIN TRY\n  STOP\n  DELETE t;\nEND TRY BEGIN CATCH THROW; END CATCH;",
        ),
    ],
)
def test_a_stop_stands_before_its_statement_and_changes_no_other(source, statement, expected):
    start = source.index(statement)
    stop = "EXECUTE s.Stop;"
    made = with_stops(source, {(start, start + len(statement)): [stop]})
    assert made.replace(stop, "STOP") == expected
    parse_batch(made)


def test_a_position_that_is_no_statement_is_refused():
    with pytest.raises(NoPlace, match="offset 3"):
        with_stops("SELECT 1;", {(3, 5): ["EXECUTE s.Stop;"]})


def test_a_module_is_altered_whatever_stands_before_it():
    assert (
        create_or_alter("-- CREATE\nALTER PROC dbo.p AS SELECT 1;")
        == "-- CREATE\nCREATE OR ALTER PROC dbo.p AS SELECT 1;"
    )


def test_the_text_form_names_the_victim(deadlock):
    scenario, found = deadlock
    lines = replay(scenario, found)
    assert lines[-1] == "  => deadlock"
    assert any(line.startswith("  the victim is T") for line in lines)
