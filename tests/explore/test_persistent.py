"""The search that leaves out orders of independent steps misses nothing; its parts, one by one."""

from __future__ import annotations

import random
import re
from itertools import combinations
from pathlib import Path

import pytest

from harness.explore import Client, Limits, Scenario, World, search
from harness.explore.footprints import Footprint, Lookout
from harness.explore.own import load
from harness.explore.persistent import persistent
from harness.proof.mutants import HISTORY
from harness.proof.setups import Setup
from tests.explore.tables import add, tables
from tests.sampling import full

EXAMPLES = Path(__file__).resolve().parents[2] / "sql" / "examples"


def scenario(*texts: str, watched=lambda world: None) -> Scenario:
    return Scenario("tables", lambda: tables("ab", 3), tuple(
        Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1)), watched=watched)


GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


def outcome(world: World) -> tuple[str, ...]:
    """A state at rest but for the names of conversations: an activated task draws them from a
    stream with its number, and how many tasks came before it counts for no state.
    """
    parts = [part.content() for part in (*world.instance.parts(), world.progress, world.incidents)]
    return tuple(sorted(GUID.sub("?", repr(part)) for part in parts if part is not None))


def outcomes(how, made: Scenario) -> tuple[set[tuple], set[str], int, bool]:
    """States at rest, violations, states in all, whether all was seen."""
    seen: set[tuple] = set()
    check = made.at_the_end

    def noted(world: World) -> list[str]:
        seen.add(outcome(world))
        return check(world)

    made.at_the_end = noted
    result = how(made, Limits(transitions=None, depth=None))
    return seen, set(result.violations), result.states, result.exhausted


def test_rows_of_one_table_are_apart_and_one_order_is_enough():
    found = persistent(scenario(add("a", 1) + add("b", 1), add("a", 2) + add("b", 2), add("a", 3)))
    assert found.exhausted
    assert (found.states, found.transitions) == (6, 5), "five steps, in one order"
    assert search(scenario(add("a", 1) + add("b", 1), add("a", 2) + add("b", 2), add("a", 3))
                  ).states == 3 * 3 * 2


def test_steps_on_one_row_are_searched_in_every_order():
    both = scenario(add("a", 1), "UPDATE dbo.a SET n = n * 2 + 7 WHERE id = 1;")
    assert len(outcomes(persistent, both)[0]) == 2


def test_a_scan_depends_on_a_row_that_is_not_there_yet():
    made = scenario("DECLARE @n int = (SELECT COUNT(*) FROM dbo.a); "
                    "UPDATE dbo.b SET n = @n WHERE id = 1;", "INSERT dbo.a VALUES (9, 9);")
    assert len(outcomes(persistent, made)[0]) == 2


def test_where_nobody_knows_what_the_checks_look_at_nothing_is_left_out():
    texts = add("a", 1), add("b", 1)
    assert persistent(scenario(*texts, watched=None)).states == search(scenario(*texts)).states == 4


def test_what_the_checks_look_at_is_seen_in_every_combination():
    """Two rows that differ between two independent steps, whichever comes first."""
    def values(world: World) -> tuple:
        found = world.instance.server.database("d").resolve("dbo", "a").rows.entries.values()
        return tuple(row[1] for row in found)

    seen: set[tuple] = set()
    made = scenario(add("a", 1), add("a", 2), watched=values)
    made.on_every_state = lambda world: seen.add(values(world)) or []
    persistent(made)
    assert seen == {(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)}


SETUPS = [
    "senders=1 warm=0 readers=2 firings=0",
    "senders=1 warm=0 firings=0 faults=kill",
    "senders=2 warm=0 firings=0 target_readers=1",
    "senders=1 firings=1 lifetimes=1",
    "senders=1 firings=0 faults=error_message",
    "senders=1 firings=0 faults=pause+cancel",
    "senders=2 key=application firings=0",
    "senders=2 isolation=rcsi firings=0 hint=none",
]
"""Small ones, with every kind of step."""


@pytest.mark.parametrize("text", SETUPS)
def test_it_finds_what_the_whole_search_finds(text):
    whole, violations, states, exhausted = outcomes(search, Setup.parse(text).scenario())
    fewer, same, less, too = outcomes(persistent, Setup.parse(text).scenario())
    assert exhausted and too
    assert (fewer, same) == (whole, violations)
    assert less <= states


@pytest.mark.parametrize("number", sorted(HISTORY) if full() else [1, 4, 11])
def test_it_finds_the_mistakes_of_history(number):
    listed = HISTORY[number]
    found = persistent(listed.scenario(), Limits(transitions=5_000, until=listed.violation))
    assert listed.violation in found.violations


@pytest.mark.parametrize("name", ["forum/transaction", "forum/autocommit", "tickets/mended"])
def test_it_finds_what_the_whole_search_finds_in_a_users_file(name):
    ends = [outcomes(how, load(EXAMPLES / f"{name}.toml")[0])[:2] for how in (search, persistent)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("text", ["senders=2 readers=2 firings=1 lifetimes=1 faults=kill",
                                  "senders=2 isolation=rcsi key=application",
                                  "senders=2 faults=cancel+lock_timeout+reader_restart"])
def test_steps_it_calls_independent_commute(text):
    """On random ways: both orders lead to the same state, and each does there what it did here."""
    world = World(Setup.parse(text).scenario())
    look, dice, origin, compared = Lookout(world), random.Random(text), world.journal.mark(), 0
    for _ in range(12 if full() else 4):
        for _ in range(60):
            steps = world.steps()
            if not steps:
                break
            prints = {step: _print(world, look, step) for step in steps}
            for one, two in combinations(steps, 2):
                if one.who == two.who or prints[one].touches(prints[two]):
                    continue
                ends = {_both(world, *order) for order in ((one, two), (two, one))}
                assert len(ends) == 1 and None not in ends, f"{one} and {two}"
                compared += 1
            world.journal.mark()
            look.take(dice.choice(steps))
        world.journal.rewind(origin)
    assert compared > 50


def _print(world: World, look: Lookout, step) -> Footprint:
    mark = world.journal.mark()
    found = look.take(step)
    world.journal.rewind(mark)
    return found


def _both(world: World, one, two) -> bytes | None:
    mark = world.journal.mark()
    world.take(one)
    world.journal.mark()
    found = None
    if two in world.steps():
        world.take(two)
        found = world.hash()
    world.journal.rewind(mark)
    return found


def test_reads_that_are_known_are_those_that_are_seen():
    """What the tree of known reads says is what a look-out sees, step by step."""
    world = World(Setup.parse("senders=2 readers=2 lifetimes=1").scenario())
    look, dice, origin, known = Lookout(world), random.Random(5), world.journal.mark(), 0
    for _ in range(30):
        while steps := world.steps():
            step = dice.choice(steps)
            session = world.instance.sessions.get(step.who) if step.kind == "run" else None
            if session is not None:
                found = look.known.reads(session)
                if found is not None:
                    look.own = session
                    assert look.watch(step) == found
                    known += 1
            world.journal.mark()
            look.take(step)
        world.journal.rewind(origin)
    assert known > 100
