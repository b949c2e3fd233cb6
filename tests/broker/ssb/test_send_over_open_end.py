"""SEND while an END at the target is not committed yet, under every value (F-456)."""

from __future__ import annotations

import pytest

from redial_broker.engine.broker_messages import text
from redial_broker.engine.errors import SqlError
from tests.broker.ssb.races import number, race
from tests.broker.ssb.world import Blocked, error_code


def test_by_default_a_message_enters_the_queue_of_a_side_that_is_being_ended():
    """1. E ends, open. 2. S sends in autocommit. 3. E commits: the message is gone."""
    r = race()
    r.e.begin()
    r.ends()
    r.s.send(r.handle, b"1")
    assert r.world.queues["TQ"].stored_rows() == 1
    r.e.commit()
    assert (r.reader.bodies(), r.pending) == ([], [])


def test_and_is_there_when_the_end_is_rolled_back():
    r = race()
    r.e.begin()
    r.ends()
    r.s.send(r.handle, b"1")
    r.e.rollback()
    assert r.reader.bodies() == [b"1"]


@pytest.mark.parametrize(("form", "error"), [("end", 8429), ("end_error", 8429)])
def test_send_waits_for_an_open_end_and_learns_of_it(form, error):
    r = race(send_over_open_end="waits")
    r.e.begin()
    r.ends(form)
    with pytest.raises(Blocked):
        r.s.send(r.handle, b"1")
    r.e.commit()
    assert number(r.s.again) == error
    r.at_rest()


def test_send_waits_for_an_open_end_and_goes_on_when_it_is_rolled_back():
    r = race(send_over_open_end="waits")
    r.e.begin()
    r.ends()
    with pytest.raises(Blocked):
        r.s.send_many([r.handle], b"1")
    r.e.rollback()
    r.s.again()
    assert r.reader.bodies() == [b"1"]
    r.at_rest()


def test_end_and_send_that_wait_for_each_other_are_a_deadlock():
    """1. S sends. 2. E's first END is open (another dialog's would do). 3. S's next SEND waits for
    E. 4. E's END of a dialog S has sent on waits for S.
    """
    r = race(send_over_open_end="waits", end_over_open_send="waits")
    other = r.s.dialog()
    r.s.send(other, b"0")
    r.s.begin().send(r.handle, b"1")
    r.e.begin().end(r.world.target(other))
    with pytest.raises(Blocked):
        r.s.send(other, b"2")
    with pytest.raises((Blocked, SqlError)):
        r.ends()
    assert r.world.engine.locks.deadlocks == 1


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
@pytest.mark.parametrize(("form", "status"), [("end", "9779"), ("end_error", "9784")])
def test_a_message_that_met_an_open_end_is_still_there_to_be_resent(enqueue_at, form, status):
    """1. E ends, open. 2. S's message waits in the transmission queue, as for a busy queue. 3. E
    commits: it is held until S's side ENDs.
    """
    r = race(send_over_open_end="transmits", enqueue_at=enqueue_at)
    r.e.begin()
    r.ends(form)
    r.s.send(r.handle, b"1")
    assert (r.pending, r.world.status(r.handle)) == ([b"1"], text(9749))
    r.e.commit()
    assert (r.pending, r.world.status(r.handle)) == ([b"1"], text(int(status)))


@pytest.mark.parametrize("value", ["transmits", "waits"])
def test_under_enqueue_at_commit_nobody_waits_and_nothing_is_lost(value):
    r = race(send_over_open_end=value, enqueue_at="commit")
    r.e.begin()
    r.ends()
    r.s.begin().send(r.handle, b"1")
    r.s.commit()
    assert r.pending == [b"1"]
    r.e.rollback()
    assert (r.pending, r.reader.bodies()) == ([], [b"1"])
    r.at_rest()


def test_what_waited_for_a_cleanup_is_refused_when_it_has_committed():
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends("cleanup")
    r.s.send(r.handle, b"1")
    assert r.pending == [b"1"]
    r.e.commit()
    [row] = r.reader.take("IQ")
    assert error_code(row) == -8462
    assert r.pending == [b"1"]


@pytest.mark.parametrize("s_first", [True, False])
@pytest.mark.parametrize("end_commits", [True, False])
def test_messages_held_back_keep_their_order(s_first, end_commits):
    """1. E ends, open. 2. S sends two in a transaction. 3. Both end, in either order."""
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends()
    r.s.begin().send(r.handle, b"1")
    r.s.send(r.handle, b"2")
    over = [r.s.commit, r.e.commit if end_commits else r.e.rollback]
    for end in over if s_first else over[::-1]:
        end()
    if end_commits:
        assert r.pending == [b"1", b"2"] and r.reader.bodies() == []
    else:
        assert r.pending == [] and r.reader.bodies() == [b"1", b"2"]
    r.at_rest()


def test_a_message_of_the_transaction_that_ends_is_not_held_back():
    r = race(send_over_open_end="transmits")
    r.e.begin()
    r.ends("cleanup")
    r.e.send(r.handle, b"1")
    r.e.commit()
    assert r.pending == []
