"""One installation serves many searches: each finds it as it was made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_broker.engine.switches import given
from redial_broker.instance.instance import Instance
from redial_broker.instance.shelf import Shelf
from redial_lab.explore import Client, Limits, Scenario, World, prepared, search
from redial_lab.explore.prepared import lending, made
from redial_lab.proof.setups import Setup
from tests.lab.explore.tables import database
from tests.sampling import full

MOST = Limits(transitions=1_500 if full() else 600)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """Whatever other tests have left."""
    monkeypatch.setattr(prepared, "SHELF", Shelf(prepared.KEPT))


def tables() -> Instance:
    return database("CREATE TABLE dbo.t (n int PRIMARY KEY);")


class Kept:
    """A scenario of one client that counts how often its instance was made."""

    def __init__(self, text: str = "INSERT dbo.t SELECT COUNT(*) FROM dbo.t;") -> None:
        self.times = 0
        clients = (Client("T", (text,), "d"),)
        self.scenario = Scenario("kept", lambda: made("kept", self.make), clients)

    def make(self) -> Instance:
        self.times += 1
        return tables()


def counted(result):
    return result.states, result.transitions, result.ends, dict(result.taken), result.violations


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "text",
    [
        "senders=2 firings=1 faults=kill",
        "senders=1 caller=transaction faults=target_ends_now",
        "key=pool senders=2 readers=1",
        "isolation=rcsi senders=2 firings=1",
    ],
)
def test_the_second_search_and_the_third_are_the_first(text):
    scenario = Setup.parse(text).scenario()
    first, second, third = (search(scenario, MOST) for _ in range(3))
    assert counted(first) == counted(second) == counted(third)
    assert len(prepared.SHELF.free) == 1


def test_a_search_of_another_story_finds_nothing_of_the_one_before():
    """The same installation, one after the other, and each alone."""
    scenarios = [
        Setup.parse(f"senders=1 caller=transaction faults={fault}").scenario()
        for fault in ("target_ends_now", "initiator_cleaned")
    ]
    together = [counted(search(scenario, MOST)) for scenario in scenarios]
    assert len(prepared.SHELF.free) == 1
    for scenario, found in zip(scenarios, together):
        prepared.SHELF.free.clear()
        assert counted(search(scenario, MOST)) == found


def test_what_comes_back_is_what_was_made_to_the_last_field():
    kept = Kept()
    search(kept.scenario)
    (one,) = prepared.SHELF.free.values()
    fresh = tables()
    fresh.run()
    ours = [part.content() for part in one.instance.parts()]
    assert ours == [part.content() for part in fresh.parts()]
    assert one.instance.clock.now() == fresh.clock.now()
    assert sorted(one.instance.sessions) == sorted(fresh.sessions)


def test_it_is_made_once_and_what_a_search_wrote_is_gone():
    kept = Kept()
    for _ in range(3):
        world = World(kept.scenario)
        table = world.instance.server.database("d").resolve("dbo", "t")
        assert not table.rows.entries
        world.close()
        search(kept.scenario)
    assert kept.times == 1


def test_two_worlds_at_a_time_have_two_instances():
    kept = Kept()
    first, second = World(kept.scenario), World(kept.scenario)
    assert first.instance is not second.instance
    first.close()
    second.close()
    second.close()
    assert (kept.times, len(prepared.SHELF.free)) == (2, 2)


def test_a_world_that_is_never_closed_keeps_its_instance_to_itself():
    kept = Kept()
    world = World(kept.scenario)
    search(kept.scenario)
    assert kept.times == 2
    assert world.instance not in [one.instance for one in prepared.SHELF.free.values()]


def test_who_asks_which_switches_are_read_hears_those_of_the_installation_too():
    """So it is installed for him: what another search has asked is not his answer."""
    scenario = Setup.parse("senders=1 firings=0").scenario()
    search(scenario, MOST)
    one, other = set(), set()
    search(scenario, MOST, one)
    search(scenario, MOST, other)
    assert one == other
    assert one


def test_another_value_of_a_switch_is_another_installation():
    plain = Setup.parse("senders=1 firings=0").scenario()
    late = replace(plain, switches={"enqueue_at": "commit"})
    alone = counted(search(late, MOST))
    prepared.SHELF.free.clear()
    search(plain, MOST)
    assert counted(search(late, MOST)) == alone
    assert len(prepared.SHELF.free) == 2


@pytest.mark.breaks_the_broker
def test_an_instance_that_had_a_defect_is_not_lent_again():
    kept = Kept()
    world = World(kept.scenario)
    world.instance.defects.note("a test", ValueError("on purpose"))
    world.close()
    assert not prepared.SHELF.free


def test_the_ones_unused_for_longest_go():
    for number in range(prepared.KEPT + 3):
        with lending() as loan:
            made(number, tables)
        loan.give_back()
    assert [one.key for one in prepared.SHELF.free.values()] == list(range(3, prepared.KEPT + 3))


def test_outside_a_search_everybody_gets_his_own():
    with given({}):
        assert made("same", tables) is not made("same", tables)
    assert not prepared.SHELF.free
