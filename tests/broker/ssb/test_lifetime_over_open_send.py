"""A LIFETIME that ends while a transaction of the sender is open, under every value (F-457)."""

from __future__ import annotations

import pytest

from redial_broker.ssb import names
from tests.broker.ssb.races import Race, number, race


def errors(r: Race) -> list[int]:
    """How many Error rows each side can receive: the initiator, the target."""
    return [sum(row[1] == names.ERROR for row in r.reader.take(queue)) for queue in ("IQ", "TQ")]


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_by_default_lifetime_does_not_ask_who_is_sending(enqueue_at):
    r = race(10, enqueue_at=enqueue_at)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(10)
    assert [len(r.world.broker.endpoints[h].inbox.special) for h in (r.handle, r.target)] == [1, 1]
    assert number(lambda: r.s.send(r.handle, b"2")) == 8429
    r.s.commit()


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
@pytest.mark.parametrize("commits", [True, False])
def test_lifetime_can_wait_for_who_is_sending(enqueue_at, commits):
    """1. S sends. 2. LIFETIME passes: nothing, S may go on. 3. S ends: both sides are told, and
    what S has committed came before.
    """
    r = race(10, enqueue_at=enqueue_at, expiry_waits_for_sender=True)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(60)
    assert errors(r) == [0, 0]
    r.s.send(r.handle, b"2")
    (r.s.commit if commits else r.s.rollback)()
    assert [row[3] for row in r.world.s.take(top=1, handle=r.target)] != [b"1"]  # Error is first
    assert r.world.states(r.handle) == ("ER", "ER")
    assert r.world.s.bodies(handle=r.target) == ([b"1", b"2"] if commits else [])
    assert not [key for key in r.world.engine.timers.entries if key[0] == "ssb.lifetime"]


def test_lifetime_waits_for_the_last_of_those_who_send():
    """Both sides have an open transaction; the Error rows come when the second has ended."""
    r = race(10, expiry_waits_for_sender=True)
    r.s.begin().send(r.handle, b"1")
    r.e.begin().send(r.target, b"a")
    r.world.advance(10)
    r.e.commit()
    assert errors(r) == [0, 0]
    r.s.rollback()
    assert errors(r) == [1, 1]


@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_a_side_that_was_ended_while_lifetime_waited_is_not_told(enqueue_at):
    """1. S sends, LIFETIME passes. 2. S ENDs its own side and commits: what it has sent arrives."""
    r = race(10, expiry_waits_for_sender=True, enqueue_at=enqueue_at)
    r.s.begin().send(r.handle, b"1")
    r.world.advance(10)
    r.s.end(r.handle)
    r.s.commit()
    r.world.advance(0)
    assert [row[1] for row in r.reader.take()] == [names.ERROR, "M", names.END_DIALOG]
    assert r.told() == []
    r.reader.end(r.target)
    assert r.world.states(r.handle) == (None, "CD")
