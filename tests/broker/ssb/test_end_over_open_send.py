"""END at the target while a transaction of the sender is open, under every value (F-455)."""

from __future__ import annotations

import pytest

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.races import FORMS, VALUES, number, race
from tests.broker.ssb.world import Blocked, ddl


@pytest.mark.parametrize("form", FORMS)
def test_by_default_end_does_not_wait_and_the_rows_are_gone(form):
    """1. S sends. 2. E ends the target. 3. S commits: no error, and no message anywhere."""
    r = race()
    r.s.begin().send(r.handle, b"1")
    r.ends(form)
    r.s.commit()
    assert (r.reader.bodies(), r.pending) == ([], [])
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
def test_end_waits_for_the_sender_and_deletes_what_it_has_committed(form):
    """1. S sends. 2. E's END waits. 3. S commits. 4. END goes on, and the row is gone."""
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends(form)
    assert r.s.wait is None and r.told() == []
    r.s.commit()
    r.e.again()
    assert (r.reader.bodies(), r.pending) == ([], [])
    r.at_rest()


def test_a_wait_of_end_ends_with_the_sender_s_rollback():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    r.s.rollback()
    r.e.again()
    assert r.world.states(r.handle) == ("DI", "CD")
    r.at_rest()


def test_a_wait_of_end_heeds_lock_timeout():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    r.e.lock_timeout = 0
    assert number(r.ends) == 1222
    assert r.world.states(r.handle) == ("CO", "CO")
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


def test_a_wait_of_end_can_close_a_cycle_and_has_a_victim():
    """1. S sends. 2. E locks what S wants next, and ENDs: waits. 3. S asks for it: one is 1205."""
    r = race(end_over_open_send="waits")
    other = r.s.dialog()
    r.e.begin().send(other, b"x")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    with pytest.raises((Blocked, SqlError)):
        r.s.send(other, b"y")
    assert r.world.engine.locks.deadlocks == 1


def test_a_killed_wait_of_end_leaves_nothing_behind():
    r = race(end_over_open_send="waits")
    r.s.begin().send(r.handle, b"1")
    with pytest.raises(Blocked):
        r.ends()
    r.world.engine.locks.cancel_wait(r.e)
    r.e.rollback()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
def test_end_can_fail_at_once(form):
    r = race(end_over_open_send="fails")
    r.s.begin().send(r.handle, b"1")
    assert number(lambda: r.ends(form)) == 1222
    r.s.commit()
    r.ends(form)
    r.at_rest()


@pytest.mark.parametrize("value", ["waits", "fails"])
def test_end_meets_the_peer_s_uncommitted_enddialog_as_well(value):
    """1. S ends the initiator's side: its EndDialog is a row, too. 2. E's END of the target."""
    r = race(end_over_open_send=value)
    r.s.begin().end(r.handle)
    if value == "fails":
        assert number(r.ends) == 1222
    else:
        with pytest.raises(Blocked):
            r.ends()
    r.s.commit()
    r.ends() if value == "fails" else r.e.again()
    assert r.world.states(r.handle) == (None, "CD")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", FORMS)
def test_a_message_of_the_same_transaction_is_never_waited_for(value, form):
    r = race(end_over_open_send=value)
    r.e.begin().send(r.handle, b"1")
    r.ends(form)
    r.e.commit()
    assert r.reader.bodies() == []
    r.at_rest()


# ---------------------------------------------------------------------- rows that stay
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["E", "S"])
def test_rows_that_end_leaves_can_be_received_from_a_dialog_that_is_over(form, first):
    """1. One committed row, and one of S's. 2. E ends. 3. Both commit, in either order. 4. A reader
    gets the second row only; then nothing of the conversation is left.
    """
    r = race(end_over_open_send="leaves")
    r.world.s.send(r.handle, b"seen by END")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends(form)
    for session in (r.e, r.s) if first == "E" else (r.s, r.e):
        session.commit()
    reader = r.reader.begin()
    [(handle, kind, sequence, body)] = reader.take()
    assert (handle, kind, sequence, body) == (r.target, "M", 2, b"1")
    assert number(lambda: reader.end(r.target)) == (8426 if form == "cleanup" else 8427)
    reader.commit()
    assert r.world.state(r.target) == (None if form == "cleanup" else "CD")
    assert r.target not in r.world.broker.endpoints or form != "cleanup"
    assert r.world.queues["TQ"].stored_rows() == 0
    r.at_rest()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["E", "S"])
def test_rows_that_are_rolled_back_do_not_stay(form, first):
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends(form)
    (r.e.commit if first == "E" else r.s.rollback)()
    (r.s.rollback if first == "E" else r.e.commit)()
    assert r.reader.bodies() == []
    assert r.world.queues["TQ"].stored_rows() == 0
    assert r.world.broker.groups.keys() == {r.world.broker.endpoints[r.handle].group.group_id}


def test_a_row_that_stayed_comes_back_when_its_reader_rolls_back():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    assert r.reader.begin().bodies() == [b"1"]
    r.reader.rollback()
    assert r.reader.bodies(handle=r.target) == [b"1"]
    assert r.reader.bodies() == []


def test_a_savepoint_of_the_sender_takes_back_its_part_of_what_stays():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.s.save()
    r.s.send(r.handle, b"2")
    r.ends()
    r.s.rollback_to()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]


def test_what_stays_outlives_the_closed_row_and_wakes_who_waits():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.world.advance(3600)
    assert r.world.states(r.handle) == ("DI", "CD")
    with pytest.raises(Blocked):
        r.reader.wait_take()
    r.s.commit()
    assert [row[3] for row in r.reader.again()] == [b"1"]
    assert r.world.state(r.target) is None


def test_retention_keeps_nothing_of_a_dialog_that_is_over():
    r = race(end_over_open_send="leaves")
    r.world.set_queue("TQ", retention=True)
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    assert r.world.queues["TQ"].stored_rows() == 0


def test_end_that_is_rolled_back_has_left_nothing_and_taken_nothing():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.e.begin()
    r.ends()
    r.e.rollback()
    r.s.commit()
    assert r.reader.bodies() == [b"1"]
    assert r.world.states(r.handle) == ("CO", "CO")


def test_dropping_the_service_takes_what_stayed_along():
    r = race(end_over_open_send="leaves")
    r.s.begin().send(r.handle, b"1")
    r.ends()
    r.s.commit()
    r.e.ddl(ddl.drop_service, "T")
    assert r.world.queues["TQ"].stored_rows() == 0
    assert r.target not in r.world.broker.endpoints
