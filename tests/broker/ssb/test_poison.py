"""Five rollbacks in a row disable every queue the transaction received from."""

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import Blocked, World


def fail(world, times: int, queue="TQ") -> None:
    for _ in range(times):
        s = world.session().begin()
        assert s.take(queue, top=1)
        s.rollback()


def with_message(world) -> str:
    handle = world.s.dialog()
    world.s.send(handle, b"poison")
    return handle


def test_the_fifth_rollback_disables_the_queue(world):
    with_message(world)
    fail(world, 4)
    assert world.queues["TQ"].enabled
    fail(world, 1)
    assert not world.queues["TQ"].enabled
    with pytest.raises(SqlError) as caught:
        world.s.take()
    assert caught.value.number == 9617


def test_a_commit_between_starts_the_count_again(world):
    handle = with_message(world)
    world.s.send(handle, b"second")
    fail(world, 4)
    world.s.take(top=1)
    fail(world, 4)
    assert world.queues["TQ"].enabled


def test_a_rollback_to_a_savepoint_does_not_count(world):
    with_message(world)
    for _ in range(10):
        s = world.session().begin()
        s.save()
        s.take()
        s.rollback_to()
        s.commit()
    assert world.queues["TQ"].enabled
    assert world.s.bodies() == [b"poison"]


def test_an_empty_receive_does_not_count(world):
    for _ in range(10):
        s = world.session().begin()
        s.take()
        s.rollback()
    assert world.queues["TQ"].enabled


def test_handling_off_never_disables(world):
    world.set_queue("TQ", poison_handling=False)
    with_message(world)
    fail(world, 20)
    assert world.queues["TQ"].enabled


def test_all_queues_received_from_go_off(world):
    handle = with_message(world)
    world.s.send(world.target(handle), b"other way")
    for _ in range(5):
        s = world.session().begin()
        s.take("TQ")
        s.take("IQ")
        s.rollback()
    assert not world.queues["TQ"].enabled and not world.queues["IQ"].enabled


def test_waiting_readers_fail_with_9617(world):
    with_message(world)
    fail(world, 4)
    s, waiting = world.session().begin(), world.session()
    s.take()
    with pytest.raises(Blocked):
        waiting.wait_take()
    s.rollback()
    with pytest.raises(SqlError) as caught:
        waiting.again()
    assert caught.value.number == 9617


def test_switching_the_queue_on_starts_the_count_again(world):
    with_message(world)
    fail(world, 5)
    world.set_queue("TQ", enabled=True)
    fail(world, 4)
    assert world.queues["TQ"].enabled
    assert world.s.bodies() == [b"poison"]


def test_by_switch_the_count_is_per_message():
    world = World(poison_counts="message")
    a = with_message(world)
    b = with_message(world)
    for handle in (a, b) * 4:
        s = world.session().begin()
        s.take(handle=world.target(handle))
        s.rollback()
    assert world.queues["TQ"].enabled
    s = world.session().begin()
    s.take(handle=world.target(a))
    s.rollback()
    assert not world.queues["TQ"].enabled
