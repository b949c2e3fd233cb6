"""Conversation timers."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.ssb import names
from tests.broker.ssb.world import World, options

TIMER = [names.DIALOG_TIMER]


def types(rows):
    return [row[1] for row in rows]


def test_a_timer_rings_once_on_its_own_side(world):
    handle = world.s.dialog()
    world.s.timer(handle, 60)
    world.advance(59)
    assert world.s.take("IQ") == []
    world.advance(1)
    assert types(world.s.take("IQ")) == TIMER
    world.advance(1000)
    assert world.s.take("IQ") == [] and world.s.take("TQ") == []


def test_both_sides_have_a_timer_of_their_own(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.take()
    world.s.timer(handle, 10)
    world.s.timer(world.target(handle), 20)
    world.advance(20)
    assert types(world.s.take("IQ")) == TIMER and types(world.s.take("TQ")) == TIMER


def test_setting_it_again_replaces_it(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.s.timer(handle, 100)
    world.advance(50)
    assert world.s.take("IQ") == []
    world.advance(50)
    assert types(world.s.take("IQ")) == TIMER


def test_rollback_brings_the_old_timer_back(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.s.begin().timer(handle, 100)
    world.s.rollback()
    world.advance(10)
    assert types(world.s.take("IQ")) == TIMER


def test_a_timer_due_while_it_is_being_changed(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.s.begin().timer(handle, 100)
    world.advance(10)
    assert world.session().take("IQ") == []
    world.s.rollback()
    world.advance(0)
    assert types(world.s.take("IQ")) == TIMER


def test_an_uncommitted_timer_does_not_ring(world):
    handle = world.s.dialog()
    world.s.begin().timer(handle, 10)
    world.advance(20)
    assert world.session().take("IQ") == []
    world.s.commit()
    world.advance(0)
    assert types(world.s.take("IQ")) == TIMER


def test_a_ringing_timer_does_not_need_the_group(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    holder = world.session().begin()
    holder.send(handle)
    world.advance(10)
    holder.rollback()
    assert types(world.s.take("IQ")) == TIMER


def test_end_takes_timer_and_queued_timer_row_away(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.advance(10)
    world.s.end(handle)
    assert world.s.take("IQ") == []
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.s.end(handle)
    world.advance(10)
    assert world.s.take("IQ") == []
    assert world.engine.timers.entries == {}


def test_a_timer_that_rings_while_the_queue_is_off_is_held(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    world.set_queue("IQ", enabled=False)
    world.advance(10)
    world.set_queue("IQ", enabled=True)
    assert types(world.s.take("IQ")) == TIMER


def test_a_timer_that_comes_due_while_the_broker_is_off_is_made_up(world):
    handle = world.s.dialog()
    world.s.timer(handle, 10)
    options.disable(world.broker)
    world.advance(100)
    assert world.s.take("IQ") == []
    options.enable(world.broker)
    assert types(world.s.take("IQ")) == TIMER


def test_not_beyond_the_lifetime(world):
    handle = world.s.dialog(lifetime=60)
    with pytest.raises(SqlError) as caught:
        world.s.timer(handle, 61)
    assert caught.value.number == 8410


@pytest.mark.parametrize("seconds", [0, -5, None])
def test_a_timeout_must_be_positive(world, seconds):
    handle = world.s.dialog()
    with pytest.raises(SqlError) as caught:
        world.s.timer(handle, seconds)
    assert caught.value.number == 8410


def test_by_switch_zero_rings_at_once():
    world = World(timer_zero="now")
    handle = world.s.dialog()
    world.s.timer(handle, 0)
    world.advance(0)
    assert types(world.s.take("IQ")) == TIMER


def test_in_a_dead_conversation(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.end(world.target(handle))
    with pytest.raises(SqlError) as caught:
        world.s.timer(handle, 10)
    assert caught.value.number == 8458


def test_by_switch_a_dead_conversation_may_have_a_timer():
    world = World(timer_in_dead_state="allow")
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.end(world.target(handle))
    world.s.take("IQ")
    world.s.timer(handle, 10)
    world.advance(10)
    assert types(world.s.take("IQ")) == TIMER
