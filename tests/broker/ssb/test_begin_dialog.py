"""BEGIN DIALOG: parties, contract, groups, lifetime, the named broker."""

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import Blocked


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"from_service": None}, 8421),
        ({"to_service": None}, 8421),
        ({"from_service": "i"}, 8423),
        ({"contract": None}, 8417),
        ({"contract": "c"}, 8425),
        ({"to_service": "x" * 257}, 8412),
        ({"lifetime": 0}, 8411),
        ({"lifetime": 2**31}, 8411),
        ({"broker_instance": "zzz"}, 8413),
        ({"related_conversation": "0" * 36}, 8426),
    ],
)
def test_what_is_refused_at_once(world, options, expected):
    with pytest.raises(SqlError) as caught:
        world.s.dialog(**options)
    assert caught.value.number == expected
    assert world.broker.endpoints == {}


def test_a_missing_target_service_is_no_error(world):
    handle = world.s.dialog(to_service="nowhere")
    assert world.state(handle) == "SO"


def test_each_dialog_has_its_own_group(world):
    a, b = world.s.dialog(), world.s.dialog()
    endpoints = world.broker.endpoints
    assert endpoints[a].group is not endpoints[b].group
    assert len(world.broker.groups) == 2


def test_related_dialogs_share_a_group(world):
    a = world.s.dialog()
    b = world.s.dialog(related_conversation=a)
    group = world.broker.endpoints[a].group
    assert sorted(group.members) == sorted((a, b))
    c = world.s.dialog(related_group=group.group_id)
    assert world.broker.endpoints[c].group is group


def test_an_unknown_group_is_made_with_that_id(world):
    wanted = "11111111-2222-4333-8444-555555555555"
    handle = world.s.dialog(related_group=wanted)
    assert world.broker.endpoints[handle].group.group_id == wanted


def test_a_group_belongs_to_one_service(world):
    handle = world.s.dialog()
    with pytest.raises(SqlError) as caught:
        world.s.dialog(from_service="T", to_service="I", related_conversation=handle)
    assert caught.value.number == 9610


def test_a_related_dialog_waits_for_the_group(world):
    handle = world.s.dialog()
    a, b = world.session().begin(), world.session()
    a.send(handle)
    with pytest.raises(Blocked):
        b.dialog(related_conversation=handle)
    a.commit()
    assert b.again() in world.broker.endpoints


def test_a_rolled_back_dialog_leaves_nothing(world):
    world.s.begin()
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.rollback()
    assert world.broker.endpoints == {} and world.broker.groups == {}
    assert world.s.take() == []


def test_the_own_broker_can_be_named_by_word_and_by_guid(world):
    for instance in ("CURRENT DATABASE", world.broker.guid, world.broker.guid.lower()):
        handle = world.s.dialog(broker_instance=instance)
        world.s.send(handle, b"x")
        assert world.s.bodies() == [b"x"]


def test_a_named_broker_without_the_service_answers_8490(world):
    from tests.broker.ssb.world import error_code

    handle = world.s.dialog(to_service="nowhere", broker_instance=world.broker.guid)
    world.s.send(handle)
    assert error_code(world.s.take("IQ")[0]) == -8490
    assert world.state(handle) == "ER"
