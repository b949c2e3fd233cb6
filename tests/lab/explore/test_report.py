"""A report cannot be read as more than it says: verdict words, statuses, what was not looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Limits, Scenario, World, search
from redial_lab.explore.faults import Fault
from redial_lab.explore.heat import heat_map
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.scenario import Witness
from redial_lab.explore.search import (
    BOUNDED,
    EXHAUSTED,
    HELD,
    IN_VAIN,
    REDUCED,
    TRUNCATED,
    UNFINISHED,
    VIOLATED,
    Result,
)
from redial_lab.explore.search_report import report
from redial_lab.explore.walk import Walks, walk
from tests.lab.explore.tables import add, database, tables


def scenario(*texts: str, **more) -> Scenario:
    clients = tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1))
    return Scenario("tables", lambda: tables("ab"), clients, watched=lambda world: None, **more)


def touched(world: World) -> bool:
    """Whether a row of table a has been changed."""
    rows = world.instance.server.database("d").resolve("dbo", "a").rows.entries.values()
    return any(n for _, n in rows)


def queue() -> Instance:
    """The tables, and a queue that stays empty."""
    return database("CREATE QUEUE dbo.q;", on=tables("ab"))


BOTH = add("a", 1), add("b", 1)


@pytest.mark.parametrize(
    ("how", "verdict", "status"),
    [
        (search, EXHAUSTED, HELD),
        (persistent, REDUCED, HELD),
        (reduced, REDUCED, HELD),
        (lambda made: search(made, Limits(transitions=1)), BOUNDED, UNFINISHED),
        (lambda made: search(made, Limits(depth=1)), BOUNDED, UNFINISHED),
        (lambda made: walk(made, Walks(3)), BOUNDED, UNFINISHED),
    ],
    ids=["whole", "fewer", "orders", "transitions", "depth", "walks"],
)
def test_each_way_to_search_has_its_word_and_its_status(how, verdict, status):
    result = how(scenario(*BOTH))
    assert (result.verdict, result.status) == (verdict, status)
    assert f"no violation; {verdict}" in report(scenario(*BOTH), result)[1]


@pytest.mark.parametrize("how", [search, persistent, reduced])
def test_what_lies_behind_a_violation_is_cut_off_and_the_word_says_so(how):
    made = scenario(*BOTH, on_every_state=lambda world: ["touched"] * touched(world))
    result = how(made)
    assert (result.verdict, result.status) == (TRUNCATED, VIOLATED)
    assert any("(--past goes on)" in line for line in report(made, result))
    past = how(made, Limits(past=True))
    assert past.verdict in (EXHAUSTED, REDUCED) and past.status == VIOLATED


def test_one_violation_no_longer_hides_three_more():
    """The second one can be met behind the first only."""

    def found(world: World) -> list[str]:
        n = next(
            iter(world.instance.server.database("d").resolve("dbo", "a").rows.entries.values())
        )[1]
        return [name for name, least in (("one", 1), ("two", 2)) if n >= least]

    made = scenario(add("a", 1) + add("a", 1), on_every_state=found)
    assert set(search(made).violations) == {"one"}
    assert set(search(made, Limits(past=True)).violations) == {"one", "two"}


def test_nothing_is_searched_behind_a_defect_of_the_broker():
    result = Result("any")
    steps = [object()]
    assert result.goes_on(["defect of the embedded broker: ValueError"], steps, True) == []
    assert result.goes_on(["anything else"], steps, True) == steps


WITNESSES = (
    Witness("claim", "a row was changed", touched),
    Witness("claim", "nothing was changed at the end", lambda w: not touched(w), at_rest=True),
)


@pytest.mark.parametrize("how", [search, persistent, reduced, lambda made: walk(made, Walks(5))])
def test_a_claim_of_which_nothing_was_seen_fails_the_run(how):
    made = scenario(*BOTH, witnesses=WITNESSES)
    result = how(made)
    assert list(result.unseen) == ["claim: nothing was changed at the end"]
    if result.ended:
        assert result.status == IN_VAIN
    lines = report(made, result)
    assert "in vain      claim: nothing was changed at the end: this was never so" in lines
    assert "witnesses    1 of 2 met, for 1 claims" in lines


def test_a_claim_that_was_witnessed_does_not():
    result = search(scenario(*BOTH, witnesses=WITNESSES[:1]))
    assert (result.unseen, result.status) == ({}, HELD)


def test_a_batch_that_fails_each_time_is_named_and_where_all_do_the_run_fails():
    misspelled = "EXECUTE dbo.usp_Sendd;"
    made = scenario(misspelled, BOTH[0])
    result = search(made)
    assert result.status == HELD
    assert "never done   T1, batch 1: error 2812 each time" in report(made, result)
    assert not [line for line in report(made, result) if "T2" in line]
    assert search(scenario(misspelled, misspelled)).status == IN_VAIN


def test_a_batch_that_never_ends_is_named():
    made = scenario("WAITFOR (RECEIVE * FROM dbo.q);", BOTH[0], livelock="")
    made.prepare = queue
    assert "never done   T1, batch 1: it never ended" in report(made, search(made))
    alone = scenario("WAITFOR (RECEIVE * FROM dbo.q);", livelock="")
    alone.prepare = queue
    assert search(alone).status == IN_VAIN


def test_where_not_all_was_searched_never_is_not_said_of_all():
    made = scenario(BOTH[0], faults=(Fault("kill"),))
    made.at_the_end = lambda world: [] if world.progress.struck else ["done"]
    lines = [line for line in report(made, search(made)) if line.startswith("never done")]
    assert lines == [], "it was done where something is violated"
    cut = search(scenario(BOTH[0], BOTH[1]), Limits(transitions=4))
    assert all(
        ", in what was searched" in line for line in report(made, cut) if "never done" in line
    )


def test_a_fault_that_never_struck_is_named():
    made = scenario(*BOTH, faults=(Fault("kill"), Fault("lock_timeout")))
    result = search(made)
    assert result.offered["kill"] > 0
    assert result.offered["lock_timeout"] == 0
    found = [line for line in report(made, result) if line.startswith("not struck")]
    assert found == ["not struck   lock_timeout: possible in no state"]


def test_switches_that_had_one_value_are_named():
    made = replace(scenario(*BOTH), switches={"bad_optimizer": True})
    lines = report(made, search(made), {"bad_optimizer", "group_lock_timeout"})
    assert "not varied   1 switches had one value each (--vary): group_lock_timeout" in lines


def test_the_chance_that_two_states_shared_a_hash_is_printed():
    made = scenario(*BOTH)
    lines = report(made, replace(search(made), states=10_000_000))
    assert "hashes       128 bits; chance that two states shared one: 1e-25" in lines
    assert not any("hashes" in line for line in report(made, reduced(made)))


def test_the_heat_map_shows_what_never_ran():
    procedure = (
        "CREATE PROCEDURE dbo.P AS UPDATE dbo.a SET n = 1 WHERE id = 1; "
        "IF @@ROWCOUNT = 0 RAISERROR('nobody', 16, 1);"
    )
    client = Client("T1", ("EXECUTE dbo.P;",), "d")
    made = Scenario("heat", lambda: database(procedure, on=tables("a")), (client,), counts=True)
    lines = list(heat_map(search(made).heat))
    assert lines[0] == "d.dbo.P: 2 of 3 statements ran"
    assert lines[1].split(maxsplit=3)[:3] == ["2", "line", "1"], "with its commit"
    assert lines[3].lstrip().startswith("never") and "RAISERROR" in lines[3]


def test_an_instance_that_was_counted_can_be_lent_again():
    made = scenario(*BOTH, counts=True)
    world = World(made)
    real = world.counting.real
    world.close()
    assert world.instance.machine is real
