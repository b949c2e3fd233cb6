"""Partial order reduction: what it calls independent commutes, and it misses nothing."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from redial.paths import ROOT
from redial_lab.explore import Client, Limits, Scenario, World, search
from redial_lab.explore.reduce import Footprints, reduced
from redial_lab.explore.user_files import load
from tests.lab.explore.tables import add, tables

EXAMPLES = ROOT / "sql" / "examples"


def scenario(*texts: str) -> Scenario:
    return Scenario(
        "tables", tables, tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1))
    )


def test_sessions_that_share_no_table_are_walked_in_one_order():
    apart = scenario(add("a") + add("a", 2), add("b") + add("b", 2), add("c"))
    every = reduced(apart, sleep=False)
    fewer = reduced(apart)
    assert every.ends == 3150, "10! / (4! 4! 2!): each statement, and its commit"
    assert (fewer.ends, fewer.ended, every.ended) == (1, True, True)


def test_sessions_that_share_a_table_are_walked_in_every_order():
    """Who comes first, and whether the other one asks before or after the commit."""
    assert reduced(scenario(add("a"), add("a"))).ends == 4


def tickets(name: str) -> Scenario:
    """Without faults and without the cancellation's second click."""
    found = load(EXAMPLES / f"tickets/{name}.toml")[0]
    found.faults = ()
    found.clients = (
        found.clients[0],
        Client("cancellation", found.clients[2].batches[:1], found.clients[2].database),
    )
    return found


@pytest.mark.parametrize(
    ("make", "violations"),
    [
        (lambda: tickets("first_try"), {"tickets from nowhere"}),
        (lambda: tickets("mended"), set()),
        (
            lambda: scenario(
                "BEGIN TRAN;" + add("a") + add("b") + "COMMIT;",
                "BEGIN TRAN;" + add("b") + add("a") + "COMMIT;",
            ),
            set(),
        ),
    ],
    ids=["first try", "mended", "crossing"],
)
def test_it_sees_what_a_search_with_hashes_sees(make, violations):
    """Every end of the search is an end of the reduced walk, and all orders are more."""
    ends: list[set[bytes]] = []
    for walked in (search, reduced, lambda s: reduced(s, sleep=False)):
        seen: set[bytes] = set()
        one = make()
        check = one.at_the_end

        def noted(world: World, seen=seen, check=check) -> list[str]:
            seen.add(world.hash())
            return check(world)

        one.at_the_end = noted
        result = walked(one)
        assert set(result.violations) == violations
        ends.append(seen)
    assert ends[0] == ends[1] == ends[2]
    assert reduced(make()).transitions <= reduced(make(), sleep=False).transitions


def commutes(world: World, prints: Footprints) -> int:
    """How many pairs of possible steps are called independent here; each is tried in both orders.

    Fails when the order matters.
    """
    runs = [step for step in world.steps() if step.kind == "run"]
    found = {}
    for step in runs:
        mark = world.journal.mark()
        found[step] = prints.take(step)
        world.journal.rewind(mark)
    count = 0
    for one, two in combinations(runs, 2):
        if not found[one].independent(found[two]):
            continue
        hashes = []
        for order in ((one, two), (two, one)):
            mark = world.journal.mark()
            for step in order:
                assert step in world.steps()
                world.journal.mark()
                prints.take(step)
            hashes.append(world.hash())
            world.journal.rewind(mark)
        assert hashes[0] == hashes[1], (world.describe(one), world.describe(two))
        count += 1
    return count


@pytest.mark.parametrize("file", ["tickets/first_try", "forum/transaction", "forum/autocommit"])
def test_what_is_called_independent_commutes(file):
    """At the states of random walks: both orders are possible and end in one state."""
    world = World(load(EXAMPLES / f"{file}.toml")[0])
    prints = Footprints(world)
    origin = world.journal.mark()
    chance, pairs = random.Random(5), 0
    for _ in range(25):
        while steps := world.steps():
            pairs += commutes(world, prints)
            world.journal.mark()
            world.take(chance.choice(steps))
        world.journal.rewind(origin)
    assert pairs > 0


def test_a_bounded_walk_says_so():
    result = reduced(scenario(add("a"), add("a")), Limits(transitions=2))
    assert result.bounded_by == "2 transitions"
