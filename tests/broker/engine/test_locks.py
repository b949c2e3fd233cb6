"""The lock manager: who gets what, who waits behind whom, who is the victim."""

from __future__ import annotations

import pytest

from redial_broker.engine.errors import SqlError, Wait
from redial_broker.engine.lock_modes import COMPATIBLE, combine

R = ("KEY", 1, (1,))
G = ("CONVERSATION_GROUP", 5, "A")
PLAIN = ["IS", "S", "U", "IX", "SIX", "X"]


def waits(locks, transaction, key, mode, **options) -> None:
    with pytest.raises(Wait):
        locks.acquire(transaction, key, mode, **options)
    assert transaction.owner.wait is not None


@pytest.mark.parametrize(
    ("wanted", "allowed"),
    [
        ("IS", "IS S U IX SIX"),
        ("S", "IS S U"),
        ("U", "IS S"),
        ("IX", "IS IX"),
        ("SIX", "IS"),
        ("X", ""),
    ],
)
def test_plain_modes_stand_side_by_side_as_the_locking_guide_says(wanted, allowed):
    assert [held for held in PLAIN if (wanted, held) in COMPATIBLE] == [
        held for held in PLAIN if held in allowed.split()
    ]


def test_schema_stability_only_conflicts_with_schema_modification():
    for held in [*PLAIN, "Sch-S"]:
        assert ("Sch-S", held) in COMPATIBLE
        assert (held, "Sch-S") in COMPATIBLE
    assert ("Sch-M", "Sch-S") not in COMPATIBLE
    assert ("Sch-S", "Sch-M") not in COMPATIBLE


def test_an_insert_into_a_locked_range_waits_but_not_for_a_plain_key_lock():
    assert ("RangeI-N", "RangeS-S") not in COMPATIBLE
    assert all(("RangeI-N", held) in COMPATIBLE for held in ("S", "U", "X", "RangeI-N"))


@pytest.mark.parametrize(
    ("held", "wanted", "result"),
    [
        ("S", "X", "X"),
        ("IX", "S", "SIX"),
        ("U", "S", "U"),
        ("RangeS-S", "RangeI-N", "RangeX-S"),
        ("X", "IS", "X"),
    ],
)
def test_a_conversion_asks_for_the_mode_that_covers_both(held, wanted, result):
    assert combine(held, wanted) == result


def test_waiters_are_served_in_the_order_they_came(engine, begin):
    locks = engine.locks
    first, second, third = begin(51), begin(52), begin(53)
    locks.acquire(first, R, "X")
    waits(locks, second, R, "X")
    waits(locks, third, R, "S")
    locks.release_all(first)
    assert second.owner.wait is None
    assert second.locks == {R: "X"}
    assert third.owner.wait is not None
    locks.release_all(second)
    assert third.locks == {R: "S"}


def test_a_compatible_newcomer_does_not_overtake_a_waiter(engine, begin):
    locks = engine.locks
    reader, writer, newcomer = begin(51), begin(52), begin(53)
    locks.acquire(reader, R, "S")
    waits(locks, writer, R, "X")
    waits(locks, newcomer, R, "S")


def test_a_conversion_goes_before_those_who_wait_for_a_first_lock(engine, begin):
    locks = engine.locks
    owner, other, newcomer = begin(51), begin(52), begin(53)
    locks.acquire(owner, R, "S")
    locks.acquire(other, R, "S")
    waits(locks, newcomer, R, "X")
    waits(locks, owner, R, "X")
    locks.release_all(other)
    assert owner.locks[R] == "X"
    assert newcomer.owner.wait is not None


def test_nowait_fails_at_once_with_1222_and_the_state_of_a_key(engine, begin):
    locks = engine.locks
    locks.acquire(begin(51), R, "X")
    with pytest.raises(SqlError) as caught:
        locks.acquire(begin(52), R, "U", timeout=0)
    assert (caught.value.number, caught.value.state) == (1222, 51)


def test_a_lock_timeout_ends_the_wait_and_lets_the_next_one_through(engine, begin):
    locks = engine.locks
    holder, impatient, patient = begin(51), begin(52), begin(53)
    locks.acquire(holder, R, "S")
    waits(locks, impatient, R, "X", timeout=5000)
    waits(locks, patient, R, "S")
    assert engine.timers.next_due() == 5.0
    engine.clock.advance(5)
    [(kind, owner)] = engine.timers.pop_due(engine.clock.now())
    assert kind == "wait"
    locks.time_out(owner)
    assert impatient.owner.error.number == 1222
    assert patient.locks == {R: "S"}


def test_seed_002_the_sender_with_an_unlogged_row_lock_is_the_victim(engine, begin):
    """R then G meets G then R. The activation has logged its RECEIVE, the sender nothing."""
    locks = engine.locks
    sender, activation = begin(51), begin(22)
    reports = []
    locks.on_deadlock = reports.append
    activation.log_used = 588
    locks.acquire(sender, R, "U")
    locks.acquire(activation, G, "X")
    waits(locks, activation, R, "U")
    with pytest.raises(SqlError) as caught:
        locks.acquire(sender, G, "X")
    assert caught.value.number == 1205
    assert reports[0].victim is sender
    assert {w[1].key for w in reports[0].waits} == {R, G}
    locks.release_all(sender)
    assert activation.locks[R] == "U"


def test_a_lower_deadlock_priority_dies_whatever_it_has_logged(engine, begin):
    locks = engine.locks
    low, normal = begin(51), begin(52)
    low.owner.deadlock_priority, low.log_used = -5, 10_000
    locks.acquire(low, R, "X")
    locks.acquire(normal, G, "X")
    waits(locks, low, G, "X")
    waits(locks, normal, R, "X")
    assert low.owner.error.number == 1205
    assert normal.owner.error is None


def test_three_sessions_in_a_ring_are_a_deadlock(engine, begin):
    locks = engine.locks
    ring = [begin(51), begin(52), begin(53)]
    keys = [("KEY", 1, (n,)) for n in range(3)]
    for transaction, key in zip(ring, keys):
        locks.acquire(transaction, key, "X")
    waits(locks, ring[0], keys[1], "X")
    waits(locks, ring[1], keys[2], "X")
    with pytest.raises(SqlError):
        locks.acquire(ring[2], keys[0], "X")
    assert locks.deadlocks == 1


def test_a_short_lock_goes_at_the_end_of_the_statement_a_lasting_one_stays(engine, begin):
    locks, transaction = engine.locks, begin(51)
    locks.acquire(transaction, R, "S", short=True)
    locks.acquire(transaction, G, "X")
    locks.release_short(transaction)
    assert transaction.locks == {G: "X"}
    assert R not in locks.resources


def test_a_cancelled_wait_leaves_no_trace(engine, begin):
    locks, holder, waiter = engine.locks, begin(51), begin(52)
    locks.acquire(holder, R, "X")
    waits(locks, waiter, R, "X")
    locks.cancel_wait(waiter.owner)
    locks.release_all(holder)
    assert locks.resources == {}
    assert waiter.locks == {}


# ---------------------------------------------------------------------- who may ask
def test_nobody_can_ask_for_a_lock_while_another_session_runs(engine, begin):
    first, second = begin(51), begin(52)
    engine.locks.running = first.owner
    engine.locks.acquire(first, R, "X")
    with pytest.raises(RuntimeError, match=r"owner 52.* while owner 51 runs"):
        engine.locks.acquire(second, R, "X")
    assert second.owner.wait is None
    engine.locks.running = None


def test_what_a_writer_has_had_for_long_is_given_to_it_whoever_runs(engine, begin):
    """T1 has changed a row, T2 looks at it: T1 never waits, T2 does, until T1 has ended."""
    writer, reader = begin(51), begin(52)
    engine.locks.running = reader.owner
    with pytest.raises(Wait):
        engine.locks.wait_for_writer(reader, writer, R)
    assert (writer.owner.wait, writer.locks[R]) == (None, "X")
    engine.locks.release_all(writer)
    assert reader.owner.wait is None and reader.locks[R] == "S"
    engine.locks.running = None


def test_who_has_waited_for_one_writer_waits_for_the_next_one_too(engine, begin):
    """1. T3 waits for T1. 2. T1 ends; before T3 runs again T2 has changed the row. 3. T3 waits."""
    t1, t2, t3 = begin(51), begin(52), begin(53)
    with pytest.raises(Wait):
        engine.locks.wait_for_writer(t3, t1, R)
    engine.locks.release_all(t1)
    with pytest.raises(Wait):
        engine.locks.wait_for_writer(t3, t2, R)
    assert t2.owner.wait is None and t3.owner.wait is not None
    engine.locks.release_all(t2)
    assert t3.locks == {R: "S"}
