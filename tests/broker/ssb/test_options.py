"""ENABLE_BROKER, DISABLE_BROKER, NEW_BROKER, ERROR_BROKER_CONVERSATIONS."""

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import World, error_code


def test_enable_keeps_the_identity(world):
    guid = world.broker.guid
    world.broker.disable()
    world.broker.enable()
    assert world.broker.guid == guid and world.broker.enabled


def test_two_brokers_of_one_identity_cannot_both_be_enabled(world):
    other = world.new_database("copy").broker
    other.disable()
    world.engine.journal.assign(None, other, "guid", world.broker.guid)
    with pytest.raises(SqlError) as caught:
        other.enable()
    assert caught.value.number == 9772


def test_a_new_broker_empties_everything(world):
    guid = world.broker.guid
    handle = world.s.dialog(lifetime=60)
    world.s.send(handle)
    world.s.timer(handle, 10)
    world.set_queue("TQ", enabled=False)
    world.s.send(handle)
    world.broker.new_identity()
    assert world.broker.guid != guid and world.broker.enabled
    assert world.broker.endpoints == world.broker.groups == world.broker.senders == {}
    assert world.engine.timers.entries == {}
    world.set_queue("TQ", enabled=True)
    assert world.s.take() == []


def test_by_switch_a_new_broker_tells_every_end():
    world = World(new_broker_conversations="error")
    handle = world.s.dialog()
    world.s.send(handle)
    world.broker.new_identity()
    assert world.states(handle) == ("ER", "ER")


def test_error_conversations_tells_every_end(world):
    handle = world.s.dialog()
    world.s.send(handle, b"unread")
    world.broker.disable()
    world.broker.error_conversations()
    assert world.broker.enabled
    assert world.states(handle) == ("ER", "ER")
    assert error_code(world.s.take("IQ")[0]) == -9719
    rows = world.s.take("TQ")
    assert error_code(rows[0]) == -9719 and rows[1][3] == b"unread"


def test_ended_conversations_are_not_told(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.end(world.target(handle))
    world.s.end(handle)
    world.broker.error_conversations()
    assert world.states(handle) == (None, "CD")
