"""The queue monitor: first reader, more readers, stuck NOTIFIED and the way out of it."""

import pytest

from redial_broker.ssb import Activation
from redial_broker.ssb.monitor import INACTIVE, NOTIFIED, RECEIVES
from tests.broker.ssb.world import Blocked, World, options


@pytest.fixture
def active() -> World:
    world = World()
    world.activation(readers=3)
    return world


def monitor(world):
    return world.queues["TQ"].monitor


def task(world):
    """An activated task's session."""
    s = world.session()
    s.background = True
    return s


def ends(world, s) -> None:
    world.broker.task_ended(world.queues["TQ"], s)


def send(world, handle=None, body=b"x") -> str:
    handle = handle or world.s.dialog()
    world.s.send(handle, body)
    return handle


def test_the_first_message_starts_one_reader(active):
    assert monitor(active).state == INACTIVE
    send(active)
    assert active.activated == ["TQ"] and monitor(active).state == NOTIFIED
    send(active)
    active.advance(60)
    assert active.activated == ["TQ"], "nothing more until somebody runs RECEIVE"


def test_nothing_starts_before_the_commit(active):
    handle = active.s.dialog()
    active.s.begin().send(handle)
    assert active.activated == []
    active.s.commit()
    assert active.activated == ["TQ"]


def test_an_empty_receive_makes_it_inactive(active):
    send(active)
    reader = task(active)
    reader.take()
    assert monitor(active).state == RECEIVES
    reader.take()
    assert monitor(active).state == INACTIVE
    ends(active, reader)
    assert active.activated == ["TQ"]


def test_the_procedure_is_started_again_until_a_receive_is_empty(active):
    send(active)
    first = task(active)
    first.take()
    ends(active, first)
    assert active.activated == ["TQ", "TQ"]
    second = task(active)
    second.take()
    ends(active, second)
    assert active.activated == ["TQ", "TQ"] and monitor(active).state == INACTIVE


def test_by_switch_it_is_started_again_only_for_messages():
    world = World(relaunch="while messages")
    world.activation()
    send(world)
    reader = task(world)
    reader.take()
    ends(world, reader)
    assert world.activated == ["TQ"]


def test_another_reader_after_five_seconds_without_an_empty_receive(active):
    for _ in range(5):
        send(active)
    task(active).take(top=1)
    active.advance(4.9)
    assert len(active.activated) == 1
    active.advance(0.1)
    assert len(active.activated) == 2
    task(active).take(top=1)
    active.advance(5)
    assert len(active.activated) == 3
    task(active).take(top=1)
    active.advance(60)
    assert len(active.activated) == 3, "MAX_QUEUE_READERS"


def test_an_empty_receive_resets_the_five_seconds(active):
    send(active)
    send(active)
    one, two = task(active).begin(), task(active).begin()
    one.take()
    two.take()
    active.advance(4)
    active.session().take()
    active.advance(4)
    assert len(active.activated) == 1


def test_a_receive_with_where_proves_nothing(active):
    handle = send(active)
    reader = task(active)
    reader.take(handle=active.target(handle))
    assert reader.take(handle=active.target(handle)) == []
    assert monitor(active).state == RECEIVES


def test_a_waiting_reader_makes_a_new_one_unnecessary(active):
    waiting = active.session()
    with pytest.raises(Blocked):
        waiting.wait_take()
    send(active)
    assert active.activated == [] and waiting.awake


def test_a_task_without_receive_leaves_it_stuck(active):
    send(active)
    ends(active, task(active))
    assert monitor(active).state == NOTIFIED
    send(active)
    active.advance(3600)
    assert len(active.activated) == 1


def test_activation_off_and_on_is_the_way_out(active):
    send(active)
    ends(active, task(active))
    active.set_queue("TQ", activation=Activation("dbo.p", 3, enabled=False))
    assert not monitor(active).exists
    active.activation(readers=3)
    assert len(active.activated) == 2


def test_switching_activation_on_with_messages_starts_a_reader_at_once(world):
    send(world)
    assert world.activated == []
    world.activation()
    assert world.activated == ["TQ"]


def test_a_message_for_a_running_reader_starts_no_other_at_once(active):
    send(active)
    reader = task(active)
    reader.take()
    reader.take()
    send(active)
    assert len(active.activated) == 1 and monitor(active).state == RECEIVES
    ends(active, reader)
    assert len(active.activated) == 2


def test_a_rolled_back_receive_starts_a_reader_again(active):
    send(active)
    reader = task(active).begin()
    reader.take()
    other = task(active)
    other.take()
    assert monitor(active).state == INACTIVE
    ends(active, other)
    reader.rollback()
    assert len(active.activated) == 2


def test_a_procedure_that_cannot_start_is_tried_again_every_five_seconds(active):
    from redial_broker.engine.errors import SqlError

    tried = []

    def missing(queue):
        tried.append(active.engine.clock.now())
        raise SqlError(2812, "dbo.p")

    active.broker.activate = missing
    send(active)
    active.advance(11)
    assert tried == [0, 5, 10]


def test_no_monitor_while_queue_or_broker_are_off(active):
    active.set_queue("TQ", enabled=False)
    assert not monitor(active).exists
    send(active)
    assert active.activated == []
    active.set_queue("TQ", enabled=True)
    assert active.activated == ["TQ"]
    options.disable(active.broker)
    assert not monitor(active).exists


def test_zero_readers_start_nothing(world):
    world.activation(readers=0)
    send(world)
    world.advance(60)
    assert world.activated == []


def test_raising_the_maximum_takes_effect_at_once(world):
    world.activation(readers=1)
    for _ in range(3):
        send(world)
    task(world).take(top=1)
    world.advance(10)
    assert len(world.activated) == 1
    world.activation(readers=2)
    world.advance(5)
    assert len(world.activated) == 2


def test_a_message_whose_group_was_locked_is_looked_for_every_few_seconds(active):
    """F-342: an empty RECEIVE passed over it; the queue has unread messages all the same."""
    handle = send(active)
    reader, holder = task(active), active.session().begin()
    holder.timer(active.target(handle), 99_999)
    reader.take()
    assert monitor(active).state == INACTIVE
    ends(active, reader)
    assert active.activated == ["TQ"]
    active.advance(5)
    assert active.activated == ["TQ", "TQ"]
    holder.commit()
    reader = task(active)
    reader.take()
    reader.take()
    ends(active, reader)
    active.advance(60)
    assert active.activated == ["TQ", "TQ"], "an empty queue is left alone"


def test_the_end_of_a_transaction_that_waited_for_the_group_frees_its_messages_too(active):
    handle = send(active)
    first, second = active.session().begin(), active.session().begin()
    first.timer(active.target(handle), 99_999)
    with pytest.raises(Blocked):
        second.timer(active.target(handle), 99_999)
    first.rollback()
    second.again()
    reader = task(active)
    reader.take()
    ends(active, reader)
    second.commit()
    assert active.activated == ["TQ", "TQ"]
