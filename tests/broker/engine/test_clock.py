"""Clock and timers: due things in order, nothing before its time."""

from __future__ import annotations

import pytest

from redial_broker.engine.clock import Timers, VirtualClock
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import Journal


def test_virtual_time_moves_only_when_told_to_and_never_back():
    clock = VirtualClock()
    clock.advance(3600)
    assert clock.now() == 3600
    with pytest.raises(ValueError, match="only goes forward"):
        clock.advance(-1)


def test_timers_come_due_in_the_order_of_their_times():
    timers = Timers(Journal())
    timers.set(None, "dialog", "b", 20)
    timers.set(None, "dialog", "a", 10)
    timers.set(None, "dialog", "c", 30)
    assert timers.pop_due(25) == [("dialog", "a"), ("dialog", "b")]
    assert timers.next_due() == 30


def test_a_timer_that_was_moved_does_not_fire_at_its_old_time():
    timers = Timers(Journal())
    timers.set(None, "dialog", "a", 10)
    timers.set(None, "dialog", "a", 50)
    assert timers.pop_due(10) == []
    assert timers.pop_due(50) == [("dialog", "a")]


def test_a_cancelled_timer_is_gone():
    timers = Timers(Journal())
    timers.set(None, "dialog", "a", 10)
    timers.cancel(None, "dialog", "a")
    assert timers.next_due() is None
    assert timers.pop_due(10) == []


def test_ids_of_one_stream_do_not_depend_on_another():
    first = [stream_guid(0, "51.1", n) for n in range(3)]
    assert first == [stream_guid(0, "51.1", n) for n in range(3)]
    assert len({*first, *(stream_guid(0, "52.1", n) for n in range(3))}) == 6
    assert all(len(guid) == 36 and guid == guid.upper() for guid in first)


def test_timers_of_one_moment_come_in_the_order_they_were_armed_whatever_their_keys():
    timers = Timers(Journal())
    first, second = object(), object()
    timers.set(None, "wait", first, 5)
    timers.set(None, "wait", second, 5)
    assert timers.pop_due(5) == [("wait", first), ("wait", second)]


def test_a_timer_armed_twice_for_one_moment_fires_once():
    timers = Timers(Journal())
    timers.set(None, "dialog", "a", 5)
    timers.set(None, "dialog", "a", 5)
    assert timers.pop_due(5) == [("dialog", "a")]
    assert timers.pop_due(5) == []


def test_a_cancel_that_is_rolled_back_leaves_the_timer_armed(engine, begin):
    timers = engine.timers
    timers.set(None, "dialog", "a", 10)
    timers.set(None, "dialog", "b", 20)
    transaction = begin(51)
    timers.cancel(transaction, "dialog", "a")
    timers.next_due()
    engine.transactions.rollback(transaction)
    assert timers.pop_due(30) == [("dialog", "a"), ("dialog", "b")]
