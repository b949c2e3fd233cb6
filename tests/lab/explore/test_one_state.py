"""Two states that are compared as one go on as one: nothing that the hash leaves out shows later.

What a search remembers of a state (what follows, what a step reads and does) holds for every state
with the same word. So where one way shows a thing that another hides (an undo record names the
order of arrival, which the queue does not count), words tell apart what is one, and a step seems to
depend on more than it reads; where both hide what somebody reads, states are lost.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator

import pytest

from redial_broker.engine.transactions import _shown_undo
from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Scenario, World
from redial_lab.explore.counted import counting
from redial_lab.proof.setups import Setup
from tests.lab.explore.tables import database, tables
from tests.sampling import full

SETUPS = [
    "senders=2 faults=error_message+target_ends",
    "senders=2 readers=2 lifetimes=1 isolation=rcsi",
    "key=pool senders=2 readers=2 faults=reader_restart+rollback",
    "senders=2 caller=transaction faults=kill",
]

WALKS = 300 if full() else 40


def word(world: World) -> Hashable:
    """A state with the names it will give to conversations: those do not count, but they differ."""
    instance = world.instance
    return (
        world.hash(),
        tuple((one.id, one.stream) for one in instance.registry.sessions.values()),
        tuple(
            queue.started
            for database in instance.server.databases.values()
            if database.broker is not None
            for queue in database.broker.queues()
        ),
    )


def followed(world: World, dice: random.Random) -> Iterator[tuple[Hashable, dict]]:
    """Every state of a walk, with the word that each possible step leads to."""
    for _ in range(120):
        steps = world.steps()
        if not steps:
            return
        after = {}
        for step in steps:
            mark = world.journal.mark()
            world.take(step)
            world.recount()
            after[step.kind, step.who] = world.hash()
            world.journal.rewind(mark)
        yield word(world), after
        world.journal.mark()
        world.take(dice.choice(steps))


def met_again(scenario: Scenario) -> int:
    """How many states of random walks were met twice; each step led where it had led before."""

    def walk(counted: frozenset[str]) -> int:
        world = World(scenario, None, counted)
        try:
            dice, origin, known, again = random.Random(7), world.journal.mark(), {}, 0
            for _ in range(WALKS):
                for state, after in followed(world, dice):
                    assert known.setdefault(state, after) == after
                    again += known[state] is not after
                world.journal.rewind(origin)
            return again
        finally:
            world.close()

    return counting(walk)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("text", SETUPS)
def test_states_of_our_own_that_are_one_go_on_as_one(text):
    assert met_again(Setup.parse(text).scenario()) > 200


def test_a_transaction_open_before_the_search_is_shown_anew_when_more_counts():
    """A search that begins again counts more; the undo records of what was open stay the same."""
    instance = tables_with_rowversions()
    session = instance.connect("d")
    session.execute("BEGIN TRAN; UPDATE dbo.r SET n = n + 1 WHERE id = 1;").ok()
    transaction = instance.registry.sessions[session.id].transaction
    assert transaction.undo
    journal = instance.engine.journal
    try:
        shown = []
        for counted in (frozenset(), frozenset({"rowversions"}), frozenset()):
            journal.counted = counted
            shown.append(_shown_undo(transaction))
    finally:
        journal.counted = frozenset()
    assert shown[0] == shown[2] != shown[1]


ROWS = "CREATE TABLE dbo.r (id int NOT NULL PRIMARY KEY, n int NOT NULL, rv rowversion); "


def tables_with_rowversions() -> Instance:
    return database(ROWS + "INSERT dbo.r (id, n) VALUES (1, 0), (2, 0);", on=tables("a", 2))


def test_a_transaction_shows_no_rowversion_that_no_text_reads():
    def change(row: int) -> str:
        return f"UPDATE dbo.r SET n = n + 1 WHERE id = {row}; "

    texts = [f"{change(n)} BEGIN TRAN; {change(n)} {change(n)} ROLLBACK;" for n in (1, 2)]
    clients = tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1))
    assert met_again(Scenario("rowversions", tables_with_rowversions, clients)) > 20
