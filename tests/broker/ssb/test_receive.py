"""RECEIVE: which group, which order, locks, WHERE, TOP, waiting."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.ssb import names
from tests.broker.ssb.world import Blocked, World


def two_dialogs(world):
    a, b = world.s.dialog(), world.s.dialog()
    world.s.send(a, b"a1")
    world.s.send(b, b"b1")
    world.s.send(a, b"a2")
    return a, b


def test_one_receive_returns_one_group(world):
    two_dialogs(world)
    assert world.s.bodies() == [b"a1", b"a2"]
    assert world.s.bodies() == [b"b1"]
    assert world.s.bodies() == []


def test_top_limits_within_the_group(world):
    two_dialogs(world)
    assert [row[3] for row in world.s.take(top=1)] == [b"a1"]
    assert [row[3] for row in world.s.take(top=5)] == [b"b1"], "the oldest first message goes next"


def test_top_zero_is_legal_and_takes_nothing(world):
    two_dialogs(world)
    assert world.s.take(top=0) == []
    assert world.s.bodies() == [b"a1", b"a2"]


def test_locked_groups_are_skipped(world):
    two_dialogs(world)
    a, b, c = (world.session().begin() for _ in range(3))
    assert a.bodies() == [b"a1", b"a2"]
    assert b.bodies() == [b"b1"]
    assert c.bodies() == []
    for s in (a, b, c):
        s.rollback()


def test_where_on_a_locked_group_is_an_empty_set_at_once(world):
    a, _ = two_dialogs(world)
    reader = world.session().begin()
    reader.take(top=1)
    assert world.s.take(handle=world.target(a)) == []
    group = world.broker.endpoints[world.target(a)].group.group_id
    assert world.s.take(group_id=group) == []
    reader.commit()
    assert world.s.bodies(group_id=group) == [b"a2"]


def test_where_handle_and_where_group(world):
    a, b = two_dialogs(world)
    assert world.s.bodies(handle=world.target(b)) == [b"b1"]
    group = world.broker.endpoints[world.target(a)].group.group_id
    assert world.s.bodies(group_id=group) == [b"a1", b"a2"]


@pytest.mark.parametrize(
    "where, expected",
    [
        ({"handle": "0" * 36}, 8426),
        ({"group_id": "0" * 36}, 8436),
        ({"handle": None}, 8418),
        ({"group_id": None}, 8420),
    ],
)
def test_unknown_handles_and_groups(world, where, expected):
    with pytest.raises(SqlError) as caught:
        world.s.take(**where)
    assert caught.value.number == expected


def test_a_handle_of_another_queue_is_unknown_here(world):
    a, _ = two_dialogs(world)
    with pytest.raises(SqlError) as caught:
        world.s.take("TQ", handle=a)
    assert caught.value.number == 8426


def test_by_switch_unknown_handles_give_an_empty_set():
    world = World(receive_unknown="empty")
    assert world.s.take(handle="0" * 36) == []
    assert world.s.take(group_id="0" * 36) == []


def test_rollback_brings_the_messages_back_in_order(world):
    two_dialogs(world)
    world.s.begin()
    assert world.s.bodies() == [b"a1", b"a2"]
    world.s.rollback()
    assert world.s.bodies() == [b"a1", b"a2"]


def test_rollback_to_a_savepoint_brings_them_back_and_keeps_the_group(world):
    two_dialogs(world)
    world.s.begin()
    world.s.save()
    assert world.s.bodies() == [b"a1", b"a2"]
    assert world.s.bodies() == [b"b1"], "a scan that meets the emptied conversation"
    world.s.rollback_to()
    assert world.session().take() == []
    assert [row[3] for row in world.s.take(top=1)] == [b"a1"]
    world.s.commit()
    assert [world.s.bodies(), world.s.bodies()] == [[b"b1"], [b"a2"]]


def test_timer_then_error_then_sequence(world):
    handle = world.s.dialog(lifetime=60)
    world.s.send(handle, b"1")
    target = world.target(handle)
    world.s.timer(target, 60)
    world.advance(60)
    assert [row[1] for row in world.s.take()] == [names.DIALOG_TIMER, names.ERROR, "M"]


def test_the_higher_priority_goes_first(world):
    from redial_broker.ssb import ddl

    world.s.ddl(ddl.create_priority, "p", "D", None, None, 9)
    low, high = world.s.dialog(), world.s.dialog(contract="D")
    world.s.send(low, b"low")
    world.s.send(high, b"high")
    assert world.s.bodies() == [b"high"]
    assert world.s.bodies() == [b"low"]


def test_conversations_of_one_group_come_one_after_the_other(world):
    a, b = two_dialogs(world)
    world.s.move(world.target(b), world.broker.endpoints[world.target(a)].group.group_id)
    rows = world.s.take()
    assert sorted({row[0] for row in rows}) == sorted((world.target(a), world.target(b)))
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_a_disabled_queue_is_9617(world):
    two_dialogs(world)
    world.set_queue("TQ", enabled=False)
    for verb in (world.s.take, world.s.get_group):
        with pytest.raises(SqlError) as caught:
            verb()
        assert (caught.value.number, caught.value.text) == (
            9617,
            'The service queue "TQ" is currently disabled.',
        )


def test_waitfor_wakes_when_a_message_is_committed(world):
    reader, sender = world.session(), world.session()
    handle = sender.dialog()
    with pytest.raises(Blocked):
        reader.wait_take()
    sender.begin().send(handle, b"x")
    assert not reader.awake
    sender.commit()
    assert [row[3] for row in reader.again()] == [b"x"]


def test_waitfor_wakes_when_a_locked_group_becomes_free(world):
    two_dialogs(world)
    holder, reader = world.session().begin(), world.session()
    holder.take(top=2)
    world.s.take()
    with pytest.raises(Blocked):
        reader.wait_take()
    holder.rollback()
    assert [row[3] for row in reader.again()] == [b"a1", b"a2"]


def test_a_sender_that_held_the_readers_group_wakes_it_too(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.send(world.target(handle), b"reply")
    sender, reader = world.session().begin(), world.session()
    sender.send(handle, b"2")
    with pytest.raises(Blocked):
        reader.wait_take("IQ")
    sender.commit()
    assert [row[3] for row in reader.again()] == [b"reply"]


def test_waitfor_fails_when_the_queue_is_disabled(world):
    reader = world.session()
    with pytest.raises(Blocked):
        reader.wait_take()
    world.set_queue("TQ", enabled=False)
    with pytest.raises(SqlError) as caught:
        reader.again()
    assert caught.value.number == 9617


def test_a_waiting_session_does_not_block_alter_queue(world):
    with pytest.raises(Blocked):
        world.session().wait_take()
    t = world.s.work()
    world.engine.locks.acquire(t, world.queues["TQ"].lock_key, "Sch-M")
    world.s.commit()


def test_waitfor_with_an_expired_deadline_returns_the_empty_set(world):
    reader = world.session()
    with pytest.raises(Blocked):
        reader.wait_take(timeout=1000)
    reader.end_wait()
    reader.expired = reader.awake = True
    assert reader.again() == []
    assert world.queues["TQ"].waiters == {}


def test_an_open_receive_blocks_alter_queue(world):
    two_dialogs(world)
    reader = world.session().begin()
    reader.take()
    other = world.session()
    with pytest.raises(Blocked):
        other.run(
            lambda: world.engine.locks.acquire(other.work(), world.queues["TQ"].lock_key, "Sch-M")
        )
    reader.commit()
    other.again()


def test_by_switch_the_lowest_group_id_goes_first():
    world = World(receive_order="group")
    handles = [world.s.dialog() for _ in range(5)]
    for handle in handles:
        world.s.send(handle, handle.encode())
    groups = {world.broker.endpoints[world.target(h)].group.group_id: h for h in handles}
    received = [world.s.bodies()[0].decode() for _ in handles]
    assert received == [groups[group] for group in sorted(groups)]
