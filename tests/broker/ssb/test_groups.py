"""GET CONVERSATION GROUP and MOVE CONVERSATION."""

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import Blocked


def group_of(world, handle):
    return world.broker.endpoints[handle].group.group_id


def test_get_locks_and_returns_the_next_group(world):
    a, b = world.s.dialog(), world.s.dialog()
    world.s.send(a, b"a")
    world.s.send(b, b"b")
    first, second = world.session().begin(), world.session().begin()
    assert first.get_group() == group_of(world, world.target(a))
    assert second.get_group() == group_of(world, world.target(b))
    assert world.s.get_group() is None
    assert first.bodies() == [b"a"]
    first.commit()
    second.rollback()


def test_repeated_gets_lock_several_groups(world):
    handles = [world.s.dialog() for _ in range(2)]
    for handle in handles:
        world.s.send(handle)
    world.s.begin()
    assert len({world.s.get_group(), world.s.get_group()}) == 2
    assert world.session().get_group() is None
    world.s.commit()


def test_move_takes_a_conversation_to_another_group(world):
    a, b = world.s.dialog(), world.s.dialog()
    world.s.move(b, group_of(world, a))
    assert group_of(world, a) == group_of(world, b)
    assert len(world.broker.groups) == 1


def test_move_is_undone_by_rollback(world):
    a, b = world.s.dialog(), world.s.dialog()
    before = group_of(world, b)
    world.s.begin().move(b, group_of(world, a))
    world.s.rollback()
    assert group_of(world, b) == before
    assert len(world.broker.groups) == 2


def test_move_waits_for_both_groups(world):
    a, b = world.s.dialog(), world.s.dialog()
    holder, mover = world.session().begin(), world.session()
    holder.send(a)
    with pytest.raises(Blocked):
        mover.move(b, group_of(world, a))
    holder.commit()
    mover.again()
    assert group_of(world, a) == group_of(world, b)


@pytest.mark.parametrize(
    "handle, group, expected",
    [
        (None, "x", 8418),
        ("good", None, 8420),
        ("bad", "x", 8426),
        ("good", "0" * 36, 8436),
    ],
)
def test_move_refuses(world, handle, group, expected):
    good = world.s.dialog()
    with pytest.raises(SqlError) as caught:
        world.s.move({"good": good, "bad": "0" * 36}.get(handle), group)
    assert caught.value.number == expected


def test_move_stays_within_one_service(world):
    handle = world.s.dialog()
    world.s.send(handle)
    with pytest.raises(SqlError) as caught:
        world.s.move(handle, group_of(world, world.target(handle)))
    assert caught.value.number == 8439


def test_a_closed_conversation_cannot_move(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.end(world.target(handle))
    with pytest.raises(SqlError) as caught:
        world.s.move(world.target(handle), group_of(world, handle))
    assert caught.value.number == 8438


def test_a_group_goes_with_its_last_conversation(world):
    a = world.s.dialog()
    b = world.s.dialog(related_conversation=a)
    world.s.end(a)
    assert len(world.broker.groups) == 1
    world.s.end(b)
    assert world.broker.groups == {}
