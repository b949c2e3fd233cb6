"""Clock and timers: due things in order, nothing before its time."""

from __future__ import annotations

import pytest

from harness.broker.engine.clock import Timers, VirtualClock
from harness.broker.engine.ids import stream_guid
from harness.broker.engine.journal import Journal


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
    assert timers.next_due() == 50


def test_a_cancelled_timer_is_gone():
    timers = Timers(Journal())
    timers.set(None, "dialog", "a", 10)
    timers.cancel(None, "dialog", "a")
    assert timers.next_due() is None


def test_ids_of_one_stream_do_not_depend_on_another():
    first = [stream_guid(0, "51.1", n) for n in range(3)]
    assert first == [stream_guid(0, "51.1", n) for n in range(3)]
    assert len({*first, *(stream_guid(0, "52.1", n) for n in range(3))}) == 6
    assert all(len(guid) == 36 and guid == guid.upper() for guid in first)
