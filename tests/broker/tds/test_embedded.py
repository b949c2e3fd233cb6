import threading

import pytest

from redial_broker import EmbeddedBroker
from redial_broker.engine.clock import VirtualClock

from .fake import FakeInstance


class TimedInstance(FakeInstance):
    """Fires a timer every 10 seconds of virtual time and notes when."""

    def __init__(self):
        super().__init__()
        self.clock = VirtualClock()
        self.due = 10.0
        self.fired = []

    def next_due(self):
        return max(0.0, self.due - self.clock.now())

    def pump(self, max_steps=1000):
        if self.clock.now() >= self.due:
            self.fired.append(self.clock.now())
            self.due += 10
        return super().pump(max_steps)


def broker(instance=None, **options):
    return EmbeddedBroker(instance=instance or FakeInstance(), tls=False, **options)


def test_call_runs_on_the_servers_own_thread_and_returns_the_result():
    with broker() as running:
        name, user = running.call(lambda i: (threading.current_thread().name, i.user))
    assert (name, user) == ("embedded-broker", "sa")


def test_what_a_called_function_raises_is_raised_to_the_caller():
    with broker() as running, pytest.raises(ZeroDivisionError):
        running.call(lambda _: 1 / 0)


def test_virtual_time_stops_at_every_timer_on_the_way():
    instance = TimedInstance()
    with broker(instance, clock="virtual") as running:
        running.advance(35)
    assert instance.fired == [10, 20, 30]
    assert instance.clock.now() == 35


def test_virtual_time_does_not_move_by_itself():
    instance = TimedInstance()
    with broker(instance, clock="virtual") as running:
        running.settle()
    assert instance.fired == []


def test_a_real_clock_cannot_be_advanced():
    with broker() as running, pytest.raises(ValueError, match="virtual"):
        running.advance(1)


def test_time_only_goes_forward():
    with broker(TimedInstance(), clock="virtual") as running, pytest.raises(ValueError):
        running.advance(-1)


def test_a_stopped_broker_says_so():
    running = broker().start()
    running.stop()
    running.stop()
    with pytest.raises(RuntimeError, match="not running"):
        running.call(lambda i: i)


def test_a_taken_port_is_reported_where_the_broker_was_started():
    with broker() as first, pytest.raises(OSError):
        broker(port=first.port).start()


def test_both_connection_strings_name_the_port():
    with broker() as running:
        assert f"127.0.0.1:{running.port}" in running.jdbc
        assert f"127.0.0.1,{running.port}" in running.odbc


def test_an_unknown_clock_is_refused():
    with pytest.raises(ValueError, match="'real', 'virtual'"):
        EmbeddedBroker(clock="lunar")


def test_an_embedded_broker_is_the_version_it_was_asked_for():
    with EmbeddedBroker(product="2016 RTM", tls=False) as running:
        level = running.call(lambda instance: instance.connect().execute("SELECT @@VERSION"))
    assert "2016 (RTM) - 13.0.1601.5" in level.rows()[0][0]
