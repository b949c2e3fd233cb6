"""SEND: what it checks, where the message lands, one conversation and several."""

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import Blocked, World


def number(caught) -> int:
    return caught.value.number


def test_messages_of_a_dialog_arrive_in_order(world):
    handle = world.s.dialog()
    for body in (b"1", None, b"3"):
        world.s.send(handle, body)
    assert [(row[2], row[3]) for row in world.s.take()] == [(0, b"1"), (1, None), (2, b"3")]


def test_nobody_else_sees_a_message_before_the_commit(world):
    handle = world.s.dialog()
    a, b = world.session().begin(), world.session()
    a.send(handle, b"secret")
    assert b.take() == []
    a.commit()
    assert b.bodies() == [b"secret"]


def test_the_sender_sees_its_own_message_at_once(world):
    handle = world.s.dialog()
    world.s.begin().send(handle, b"mine")
    assert world.s.bodies() == [b"mine"]
    world.s.rollback()
    assert world.s.take() == []


def test_by_switch_the_sender_does_not_see_its_own_message():
    world = World(own_message_visible=False)
    handle = world.s.dialog()
    world.s.begin().send(handle, b"mine")
    assert world.s.take() == []
    world.s.commit()
    assert world.s.bodies() == [b"mine"]


def test_by_switch_the_message_enters_the_queue_at_commit():
    world = World(enqueue_at="commit")
    handle = world.s.dialog()
    world.s.begin().send(handle, b"late")
    assert world.pending(handle) == [b"late"]
    world.s.end(handle)
    world.s.commit()
    assert world.states(handle) == (None, "DI")
    assert world.s.bodies() == [b"late", None]


def test_later_messages_behind_a_reader_wait_their_turn(world):
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    reader = world.session().begin()
    assert reader.bodies() == [b"1"]
    world.s.send(handle, b"2")
    assert world.session().take() == [], "the reader holds the group"
    assert reader.bodies() == [b"2"]
    reader.commit()


def test_a_second_sender_waits_for_the_group_and_then_follows(world):
    handle = world.s.dialog()
    a, b = world.session().begin(), world.session()
    a.send(handle, b"a")
    with pytest.raises(Blocked):
        b.send(handle, b"b")
    assert b.wait.resource.key[0] == "CONVERSATION_GROUP"
    a.commit()
    b.again()
    assert world.s.bodies() == [b"a", b"b"]


def test_the_targets_reader_does_not_block_the_initiators_send(world):
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    reader = world.session().begin()
    reader.take()
    world.session().send(handle, b"2")
    reader.commit()
    assert world.s.bodies() == [b"2"]


@pytest.mark.parametrize(
    "type_name, contract, expected",
    [
        ("none such", "C", 8428),
        ("DEFAULT", "C", 8431),
        ("X", "D", 8431),
        ("E", "D", 8432),
        (None, "C", 8431),
    ],
)
def test_the_message_type_must_fit_the_contract(world, type_name, contract, expected):
    handle = world.s.dialog(contract=contract)
    with pytest.raises(SqlError) as caught:
        world.s.send(handle, None, type_name)
    assert number(caught) == expected


def test_a_target_may_not_send_what_only_initiators_send(world):
    handle = world.s.dialog(contract="D")
    world.s.send(handle)
    with pytest.raises(SqlError) as caught:
        world.s.send(world.target(handle), b"no", "M")
    assert number(caught) == 8434
    world.s.send(world.target(handle), None, "E")


def test_names_compare_byte_by_byte(world):
    handle = world.s.dialog()
    with pytest.raises(SqlError) as caught:
        world.s.send(handle, b"x", "m")
    assert number(caught) == 8428


def test_no_handle_and_an_unknown_handle(world):
    for handle, expected in ((None, 8418), ("0" * 36, 8426)):
        with pytest.raises(SqlError) as caught:
            world.s.send(handle)
        assert number(caught) == expected


def test_own_queue_off_matters_only_with_retention(world):
    handle = world.s.dialog()
    world.set_queue("IQ", enabled=False)
    world.s.send(handle, b"fine")
    world.set_queue("IQ", retention=True)
    with pytest.raises(SqlError) as caught:
        world.s.send(handle)
    assert number(caught) == 9618


def test_one_send_reaches_several_conversations(world):
    handles = [world.s.dialog() for _ in range(3)]
    world.s.send_many(handles, b"all")
    received = [world.s.take(handle=world.target(handle))[0][3] for handle in handles]
    assert received == [b"all"] * 3


@pytest.mark.parametrize(
    "broken, expected",
    [
        (lambda good: [good[0], "0" * 36], 8435),
        (lambda good: [good[0], None], 8441),
        (lambda good: [good[0], good[0]], 8451),
    ],
)
def test_one_bad_handle_and_nothing_is_sent(world, broken, expected):
    good = [world.s.dialog(), world.s.dialog()]
    with pytest.raises(SqlError) as caught:
        world.s.send_many(broken(good), b"x")
    assert number(caught) == expected
    assert "position 2" in caught.value.text
    assert world.states(good[0]) == ("SO", None)


def test_a_failed_send_leaves_the_sequence_as_it_was(world):
    handle = world.s.dialog()
    world.s.begin()
    with pytest.raises(SqlError):
        world.s.send(handle, b"x", "none such")
    world.s.send(handle, b"first")
    world.s.commit()
    assert world.s.take()[0][2] == 0
