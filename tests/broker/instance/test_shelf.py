"""A shelf lends what was made once: it is as it was made, or it is not lent again."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_broker.instance.shelf import Shelf


@pytest.fixture
def shelf():
    return Shelf(room=2)


def tables() -> Instance:
    instance = Instance(seed=3)
    session = instance.connect()
    session.execute("CREATE DATABASE d; USE d; CREATE TABLE dbo.t (n int PRIMARY KEY);").ok()
    session.close()
    return instance


def written(instance: Instance) -> int:
    """One row more; how many there were."""
    session = instance.connect("d")
    count = session.execute("SELECT COUNT(*) FROM dbo.t;").result_sets[-1].rows[0][0]
    session.execute("INSERT dbo.t SELECT COUNT(*) FROM dbo.t;").ok()
    session.close()
    return count


def test_what_was_given_back_is_lent_again_without_what_was_written(shelf):
    first = shelf.take("one", tables)
    assert written(first.instance) == 0
    shelf.give_back(first)
    second = shelf.take("one", tables)
    assert second is first
    assert written(second.instance) == 0


def test_another_key_and_what_is_still_lent_are_made(shelf):
    first = shelf.take("one", tables)
    assert shelf.take("one", tables).instance is not first.instance
    shelf.give_back(first)
    assert shelf.take("other", tables).instance is not first.instance


def test_the_one_unused_for_longest_goes(shelf):
    lent = [shelf.take(number, tables) for number in range(3)]
    for one in lent:
        shelf.give_back(one)
    assert [one.key for one in shelf.free.values()] == [1, 2]


def by_hand(instance: Instance, what: str) -> None:
    if what == "attribute":
        instance.quantum = 1
    elif what == "switch":
        instance.engine.switches["enqueue_at"] = "commit"
    elif what == "deadlocks":
        instance.engine.locks.on_deadlock = print
    elif what == "search":
        instance.searched = True
    else:
        instance.defects.note("a test", ValueError("on purpose"))


@pytest.mark.breaks_the_broker
@pytest.mark.parametrize("what", ["attribute", "switch", "deadlocks", "search", "defect"])
def test_one_that_is_not_what_it_was_is_not_lent_again(shelf, what):
    one = shelf.take("one", tables)
    by_hand(one.instance, what)
    shelf.give_back(one)
    assert not shelf.free
