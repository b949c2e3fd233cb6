"""END and SEND against each other where the two sides are in two databases."""

from __future__ import annotations

import pytest

from redial_broker.engine.switches import SWITCHES
from redial_broker.ssb import names, verbs
from tests.broker.ssb.races import VALUES, number
from tests.broker.ssb.world import Blocked, World, ddl


def two(**switches) -> tuple[World, object, str]:
    """A dialog from database sales to database stock, both sides there."""
    world = World(**switches)
    stock = world.new_database("stock")
    ddl.drop_service(world.broker, (setup := world.session()).work(), "T")
    setup.commit()
    del world.queues["TQ"]
    for broker in (world.broker, stock.broker):
        broker.has_master_key = True
    setup = world.session()
    t = setup.work()
    for name in "MEX":
        ddl.create_message_type(stock.broker, t, name)
    ddl.create_contract(stock.broker, t, "C", [(n, names.BY_ANY) for n in "MEX"])
    world.queues["TQ"] = world.new_queue(stock.broker, "TQ")
    ddl.create_service(stock.broker, t, "T", world.queues["TQ"], ["C"])
    setup.commit()
    handle = world.s.dialog()
    world.s.send(handle, b"0")
    return world, stock.broker, handle


def far_end(world: World, broker, s, handle: str) -> None:
    s.run(verbs.end_conversation, broker, s, world.target(handle))


@pytest.mark.parametrize("value", VALUES)
def test_between_two_databases_it_is_the_same_race(value):
    world, broker, handle = two(end_over_open_send=value)
    s, e = world.session().begin(), world.session()
    s.send(handle, b"1")
    end = lambda: far_end(world, broker, e, handle)  # noqa: E731
    if value == "waits":
        with pytest.raises(Blocked):
            end()
    elif value == "fails":
        assert number(end) == 1222
    else:
        end()
    s.commit()
    rows = world.s.bodies()
    assert rows == {"deletes": [], "waits": [], "leaves": [b"1"], "fails": [b"0", b"1"]}[value]


@pytest.mark.parametrize("value", SWITCHES["send_over_open_end"].values)
def test_between_two_databases_a_send_meets_the_end_as_well(value):
    world, broker, handle = two(send_over_open_end=value)
    s, e = world.session(), world.session().begin()
    far_end(world, broker, e, handle)
    if value == "waits":
        with pytest.raises(Blocked):
            s.send(handle, b"1")
    else:
        s.send(handle, b"1")
    assert world.pending(handle) == ([b"1"] if value == "transmits" else [])
    e.rollback()
    if value == "waits":
        s.again()
    assert world.pending(handle) == []
    assert world.s.bodies() == [b"0", b"1"]
