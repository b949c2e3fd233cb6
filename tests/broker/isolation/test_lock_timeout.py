"""LOCK_TIMEOUT and NOWAIT: error 1222, its state by what was waited for, and what goes on."""

import pytest

from .conftest import ALL, START


@pytest.fixture
def busy(locking):
    """Somebody with an uncommitted change of row 1, and somebody in a transaction."""
    holder, waiter = locking.begin("READ COMMITTED")
    holder.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    return holder, waiter


def states(actor) -> list[tuple[int, int]]:
    return [(message.number, message.state) for message in actor.last.errors]


def test_a_key_waited_for_gives_state_51(busy):
    _, waiter = busy
    waiter.last = waiter.session.execute(f"SET LOCK_TIMEOUT 0; {ALL}")
    assert states(waiter) == [(1222, 51)]
    assert waiter.session.trancount == 1


def test_a_table_waited_for_gives_state_56(busy):
    _, waiter = busy
    waiter.last = waiter.session.execute(f"SET LOCK_TIMEOUT 0; {ALL} WITH (TABLOCKX)")
    assert states(waiter) == [(1222, 56)]


def test_nowait_counts_for_its_own_reference_only(busy, locking):
    holder, waiter = busy
    waiter.last = waiter.session.execute(f"{ALL} WITH (NOWAIT)")
    assert states(waiter) == [(1222, 51)]
    waiter.blocks("SELECT a.id FROM dbo.shelf AS a CROSS JOIN dbo.shelf AS b WITH (NOWAIT)")
    holder.unblocks("ROLLBACK", waiter)


def test_a_wait_that_ends_in_time_is_no_error(busy, locking):
    holder, waiter = busy
    waiter.blocks(f"SET LOCK_TIMEOUT 3000; {ALL}")
    locking.instance.advance(2)
    holder.unblocks("ROLLBACK", waiter)
    waiter.has_seen(START)


def test_the_same_statement_in_a_snapshot_transaction_times_out_without_a_conflict(snapshots):
    t1, t2 = snapshots.begin("SNAPSHOT")
    t1.does("UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    t2.last = t2.session.execute("SET LOCK_TIMEOUT 0; UPDATE dbo.shelf SET jars = 12 WHERE id = 1")
    assert states(t2) == [(1222, 51)]
    assert t2.session.trancount == 1
    t1.does("ROLLBACK")
    t2.does("UPDATE dbo.shelf SET jars = 12 WHERE id = 1; COMMIT")
