"""RETENTION, SELECT from a queue, statuses, and the body of Error messages."""

import pytest

from redial_broker.ssb import columns, error_body
from tests.broker.ssb.world import Blocked

STATUS, BODY = columns.NAMES["status"], columns.NAMES["message_body"]


def rows(world, queue="TQ", s=None):
    s = s or world.s
    found = s.run(world.queues[queue].select_rows, s, False)
    return [(row[STATUS], row[BODY]) for row in found]


def test_select_shows_what_is_ready(world):
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    world.s.send(handle, b"2")
    assert rows(world) == [(1, b"1"), (1, b"2")]
    row = world.s.run(world.queues["TQ"].select_rows, world.s, False)[0]
    assert len(row) == len(columns.RESULT_COLUMNS)
    assert row[columns.NAMES["service_name"]] == "T"


def test_select_waits_for_a_row_that_is_not_committed(world):
    handle = world.s.dialog()
    sender, reader = world.session().begin(), world.session()
    sender.send(handle, b"x")
    with pytest.raises(Blocked):
        rows(world, s=reader)
    sender.commit()
    assert [row[BODY] for row in reader.again()] == [b"x"]
    assert world.engine.locks.resources == {}


def test_select_waits_for_a_row_that_is_being_received(world):
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    taker, reader = world.session().begin(), world.session()
    taker.take()
    with pytest.raises(Blocked):
        rows(world, s=reader)
    taker.rollback()
    assert [row[BODY] for row in reader.again()] == [b"x"]


def test_a_reader_never_makes_a_session_wait_that_is_at_work(world):
    """1. T1 receives, T2's SELECT waits for it. 2. T1 rolls back: T2 may go on. 3. Before it does,
    T3 receives the same message. 4. T4's SELECT waits for T3, and T3 for nobody. 5. So does T2.
    """
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    t1, t2, t3, t4 = world.session().begin(), world.session(), world.session(), world.session()
    t1.take()
    with pytest.raises(Blocked):
        rows(world, s=t2)
    t1.rollback()
    assert t2.awake
    t3.begin().take()
    with pytest.raises(Blocked):
        rows(world, s=t4)
    assert t3.wait is None
    with pytest.raises(Blocked):
        t2.again()
    t3.rollback()
    assert [row[BODY] for row in t2.again()] == [row[BODY] for row in t4.again()] == [b"x"]
    assert world.engine.locks.resources == {}


def test_nolock_sees_what_is_not_committed(world):
    handle = world.s.dialog()
    sender = world.session().begin()
    sender.send(handle, b"x")
    assert [row[BODY] for row in world.queues["TQ"].select_rows(world.s, True)] == [b"x"]
    sender.rollback()


def test_retention_keeps_both_sides_messages_until_end(world):
    for queue in ("IQ", "TQ"):
        world.set_queue(queue, retention=True)
    handle = world.s.dialog()
    world.s.send(handle, b"q")
    assert rows(world, "IQ") == [(3, b"q")]
    assert world.s.bodies() == [b"q"]
    assert rows(world, "TQ") == [(0, b"q")]
    assert world.s.take() == []
    world.s.end(world.target(handle))
    assert rows(world, "TQ") == []
    world.s.end(handle)
    assert rows(world, "IQ") == []


def test_received_rows_go_without_retention(world):
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.s.take()
    assert rows(world) == []
    assert world.broker.endpoints[world.target(handle)].inbox.rows == {}


def test_an_error_body_survives_the_round_trip():
    text = 'it\'s <"quoted"> & more'
    assert error_body.decode(error_body.encode(-8489, text)) == (-8489, text)
    with pytest.raises(ValueError, match="not the body"):
        error_body.decode(b"x\x00")
