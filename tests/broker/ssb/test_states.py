"""The endpoint states of F-208, row by row, both sides in one database."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.ssb import names
from tests.broker.ssb.world import World, error_code


def conversing(world) -> str:
    handle = world.s.dialog()
    world.s.send(handle, b"one")
    assert world.states(handle) == ("CO", "CO")
    return handle


def test_begin_dialog_makes_only_the_initiators_row(world):
    handle = world.s.dialog()
    assert world.states(handle) == ("SO", None)


def test_the_first_send_makes_both_conversing(world):
    handle = conversing(world)
    assert world.s.bodies() == [b"one"]
    mine, theirs = world.broker.endpoints[handle], world.broker.endpoints[world.target(handle)]
    assert mine.conversation_id == theirs.conversation_id
    assert mine.group.group_id != theirs.group.group_id


def test_a_first_send_that_cannot_be_delivered_makes_no_target(world):
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    world.s.send(handle, b"one")
    assert world.states(handle) == ("CO", None)
    assert world.pending(handle) == [b"one"]


def test_the_target_can_send_too(world):
    handle = conversing(world)
    world.s.send(world.target(handle), b"answer")
    assert world.s.bodies("IQ") == [b"answer"]
    assert world.states(handle) == ("CO", "CO")


def test_target_ends_first(world):
    handle = conversing(world)
    world.s.end(world.target(handle))
    assert world.states(handle) == ("DI", "CD")
    assert world.s.take("IQ") == [(handle, names.END_DIALOG, 0, None)]
    world.s.end(handle)
    assert world.states(handle) == (None, "CD")


def test_a_closed_row_stays_thirty_minutes(world):
    handle = conversing(world)
    world.s.end(world.target(handle))
    world.s.end(handle)
    world.advance(29 * 60 + 59)
    assert world.states(handle) == (None, "CD")
    world.advance(1)
    assert world.states(handle) == (None, None)


def test_initiator_ends_first_and_the_target_is_left_disconnected(world):
    handle = conversing(world)
    world.s.end(handle)
    assert world.states(handle) == (None, "DI")
    assert [row[1:] for row in world.s.take()] == [("M", 0, b"one"), (names.END_DIALOG, 1, None)]
    world.advance(100 * 86400)
    assert world.states(handle) == (None, "DI")
    world.s.end(world.target(handle))
    assert world.states(handle) == (None, "CD")


def test_by_switch_the_initiator_stays_disconnected_outbound():
    world = World(initiator_end_acknowledged="never")
    handle = conversing(world)
    world.s.end(handle)
    assert world.states(handle) == ("DO", "DI")
    with pytest.raises(SqlError) as caught:
        world.s.end(handle)
    assert caught.value.number == 8427
    world.s.end(world.target(handle))
    assert world.states(handle) == (None, "CD")


def test_target_ends_with_error(world):
    handle = conversing(world)
    world.s.end_error(world.target(handle), 50007, "it's <bad>")
    assert world.states(handle) == ("ER", "CD")
    (row,) = world.s.take("IQ")
    assert error_code(row) == 50007
    world.s.end(handle)
    assert world.states(handle) == (None, "CD")


def test_by_switch_an_error_of_the_peer_leaves_disconnected_inbound():
    world = World(error_receiver_state="DI")
    handle = conversing(world)
    world.s.end_error(world.target(handle))
    assert world.states(handle) == ("DI", "CD")


def test_initiator_ends_with_error_and_unread_messages_stay(world):
    handle = conversing(world)
    world.s.end_error(handle, 50001, "stop")
    assert world.states(handle) == (None, "ER")
    rows = world.s.take()
    assert [row[1] for row in rows] == [names.ERROR, "M"], "the error comes before unread rows"


def test_ending_after_an_error_sends_nothing_back(world):
    handle = conversing(world)
    world.s.end_error(world.target(handle))
    world.s.end(handle)
    assert world.s.take() == []


def test_lifetime_ends_both_sides_with_8489(world):
    handle = world.s.dialog(lifetime=60)
    world.s.send(handle, b"unread")
    world.advance(60)
    assert world.states(handle) == ("ER", "ER")
    assert [error_code(row) for row in world.s.take("IQ")] == [-8489]
    rows = world.s.take("TQ")
    assert error_code(rows[0]) == -8489
    assert rows[1][3] == b"unread"
    with pytest.raises(SqlError) as caught:
        world.s.send(handle)
    assert caught.value.number == 8429


def test_cleanup_removes_one_side_only(world):
    handle = conversing(world)
    world.s.cleanup(world.target(handle))
    assert world.states(handle) == ("CO", None)
    assert world.s.take() == []


def test_sending_to_a_cleaned_peer_brings_8462(world):
    handle = conversing(world)
    world.s.cleanup(world.target(handle))
    world.s.send(handle, b"two")
    assert world.state(handle) == "ER"
    assert [error_code(row) for row in world.s.take("IQ")] == [-8462]


@pytest.mark.parametrize(
    "prepare, state",
    [
        (lambda w, h: w.s.end(w.target(h)), "DI"),
        (lambda w, h: w.s.end_error(w.target(h)), "ER"),
    ],
)
def test_send_is_refused_by_state(world, prepare, state):
    handle = conversing(world)
    prepare(world, handle)
    with pytest.raises(SqlError) as caught:
        world.s.send(handle)
    assert (caught.value.number, caught.value.text) == (
        8429,
        "The conversation endpoint is not in a valid state for SEND. The current endpoint "
        f"state is '{state}'.",
    )


def test_the_state_text_is_a_switch():
    world = World(state_text="description")
    handle = conversing(world)
    world.s.end(world.target(handle))
    with pytest.raises(SqlError, match="DISCONNECTED_INBOUND"):
        world.s.send(handle)


def test_a_closed_conversation_refuses_end_and_send(world):
    handle = conversing(world)
    target = world.target(handle)
    world.s.end(target)
    for verb, number in ((world.s.end, 8427), (world.s.send, 8429)):
        with pytest.raises(SqlError) as caught:
            verb(target)
        assert caught.value.number == number


def test_a_gone_handle_is_8426(world):
    handle = conversing(world)
    world.s.end(handle)
    for verb in (
        world.s.end,
        world.s.send,
        world.s.cleanup,
        lambda h: world.s.timer(h, 5),
        lambda h: world.s.take("IQ", handle=h),
    ):
        with pytest.raises(SqlError) as caught:
            verb(handle)
        assert caught.value.number == 8426


def test_ending_a_dialog_that_never_sent_tells_nobody(world):
    handle = world.s.dialog()
    world.s.end(handle)
    assert world.states(handle) == (None, None)
    assert world.s.take() == []
