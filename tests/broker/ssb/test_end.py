"""END CONVERSATION: what is told, what is dropped, what a rollback brings back."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.ssb import names
from tests.broker.ssb.world import Blocked, error_code


def conversing(world) -> str:
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    return handle


def test_unread_messages_of_the_own_side_go(world):
    handle = conversing(world)
    world.s.send(handle, b"2")
    world.s.end(world.target(handle))
    assert world.s.take("TQ") == []


def test_rollback_brings_conversation_and_messages_back(world):
    handle = conversing(world)
    world.s.begin().end(world.target(handle))
    assert world.s.take("IQ")[0][1] == names.END_DIALOG
    world.s.rollback()
    assert world.states(handle) == ("CO", "CO")
    assert world.s.take("IQ") == []
    assert world.s.bodies("TQ") == [b"1"]


def test_others_learn_of_the_end_at_the_commit(world):
    handle = conversing(world)
    ender, other = world.session().begin(), world.session()
    ender.end(world.target(handle))
    other.send(handle, b"still open for me")
    ender.commit()
    with pytest.raises(SqlError) as caught:
        other.send(handle)
    assert caught.value.number == 8429


def test_both_sides_may_end_in_one_transaction(world):
    handle = conversing(world)
    world.s.begin()
    world.s.end(world.target(handle))
    world.s.end(handle)
    world.s.commit()
    assert world.states(handle) == (None, "CD")
    assert world.s.take("IQ") == [] and world.s.take("TQ") == []


def test_both_sides_end_in_transactions_that_overlap(world):
    handle = conversing(world)
    a, b = world.session().begin(), world.session().begin()
    a.end(handle)
    b.end(world.target(handle))
    a.commit()
    b.commit()
    assert world.states(handle) == (None, "CD")
    assert world.s.take("IQ") == [] and world.s.take("TQ") == []


def test_one_rolls_its_end_back_while_the_other_commits(world):
    handle = conversing(world)
    a, b = world.session().begin(), world.session().begin()
    a.end(handle)
    b.end(world.target(handle))
    b.commit()
    a.rollback()
    assert world.states(handle) == ("DI", "CD")
    assert [row[1] for row in world.s.take("IQ")] == [names.END_DIALOG]


def test_the_error_body_is_utf16_with_a_byte_order_mark(world):
    handle = conversing(world)
    world.s.end_error(world.target(handle), 50007, "it's <bad>")
    body = world.s.take("IQ")[0][3]
    assert body.decode("utf-16") == (
        '<?xml version="1.0"?><Error xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error">'
        "<Code>50007</Code><Description>it&apos;s &lt;bad&gt;</Description></Error>"
    )


def test_an_error_overtakes_unread_messages_and_loses_none(world):
    handle = conversing(world)
    world.s.send(handle, b"2")
    world.s.end_error(handle)
    rows = world.s.take(top=1)
    assert error_code(rows[0]) == 50001
    assert world.s.bodies(handle=world.target(handle)) == [b"1", b"2"]


@pytest.mark.parametrize(
    "code, text, expected",
    [
        (None, "x", 8419),
        (5, None, 8422),
        (None, None, 8424),
        (0, "x", 8419),
        (-1, "x", 8419),
    ],
)
def test_both_code_and_description_are_needed(world, code, text, expected):
    handle = conversing(world)
    with pytest.raises(SqlError) as caught:
        world.s.end_error(handle, code, text)
    assert caught.value.number == expected


def test_end_waits_for_the_group(world):
    handle = conversing(world)
    holder, ender = world.session().begin(), world.session()
    holder.send(handle)
    with pytest.raises(Blocked):
        ender.end(handle)
    holder.commit()
    ender.again()
    assert world.state(handle) is None


def test_a_waiter_finds_the_conversation_gone(world):
    handle = conversing(world)
    ender, sender = world.session().begin(), world.session()
    ender.end(handle)
    with pytest.raises(Blocked):
        sender.send(handle)
    ender.commit()
    with pytest.raises(SqlError) as caught:
        sender.again()
    assert caught.value.number == 8426


def test_cleanup_drops_pending_rows_and_tells_nobody(world):
    world.set_queue("TQ", enabled=False)
    handle = conversing(world)
    world.s.cleanup(handle)
    assert world.state(handle) is None
    world.set_queue("TQ", enabled=True)
    assert world.s.take() == []


def test_cleanup_of_a_closed_row_removes_it(world):
    handle = conversing(world)
    target = world.target(handle)
    world.s.end(target)
    world.s.cleanup(target)
    assert world.states(handle) == ("DI", None)
    world.advance(3600)


def test_begin_send_and_end_in_one_transaction(world):
    world.s.begin()
    handle = world.s.dialog()
    world.s.send(handle, b"fire and forget")
    world.s.end(handle)
    world.s.commit()
    assert world.states(handle) == (None, "DI")
    assert [row[3] for row in world.s.take()] == [b"fire and forget", None]


def test_by_switch_fire_and_forget_rows_stay_for_the_lifetime():
    from tests.broker.ssb.world import World

    world = World(fire_and_forget_retention="lifetime")
    handle = world.s.dialog(lifetime=7200)
    world.s.send(handle)
    world.s.end(handle)
    world.s.end(world.target(handle))
    assert world.broker.endpoints[world.target(handle)].security_timestamp is None
    world.advance(3600)
    assert world.states(handle) == (None, "CD")
    world.advance(7200)
    assert world.states(handle) == (None, None)
