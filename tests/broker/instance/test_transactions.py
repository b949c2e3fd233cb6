"""Transactions: counting, savepoints, autocommit, implicit ones, waits between two sessions."""

from __future__ import annotations

import pytest

from .conftest import numbers, texts


@pytest.fixture(autouse=True)
def table(session):
    session.execute("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NOT NULL);").ok()
    session.execute("INSERT dbo.t VALUES (1, 10), (2, 20);").ok()


def values(session) -> list[tuple]:
    return session.execute("SELECT id, v FROM dbo.t ORDER BY id").rows()


def test_begin_counts_up_commit_counts_down_and_only_the_last_one_commits(session, connect):
    collector = session.execute("""
        BEGIN TRAN; BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1; COMMIT;
        PRINT @@TRANCOUNT; ROLLBACK; PRINT @@TRANCOUNT""")
    assert texts(collector) == ["1", "0"]
    assert values(connect()) == [(1, 10), (2, 20)]


def test_rollback_to_a_savepoint_undoes_what_came_after_it(session):
    session.execute("""
        BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1; SAVE TRAN s;
        UPDATE dbo.t SET v = 22 WHERE id = 2; ROLLBACK TRAN s; COMMIT""").ok()
    assert values(session) == [(1, 11), (2, 20)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("COMMIT", 3902),
        ("ROLLBACK", 3903),
        ("SAVE TRAN s", 628),
        ("BEGIN TRAN a; BEGIN TRAN b; ROLLBACK TRAN b", 6401),
    ],
)
def test_transaction_statements_out_of_place_are_refused(session, sql, number):
    assert numbers(session.execute(sql)) == [number]


def test_a_procedure_that_leaves_a_transaction_open_is_told_so(session):
    session.execute("CREATE PROCEDURE dbo.p AS BEGIN TRAN").ok()
    collector = session.execute("EXEC dbo.p; PRINT @@TRANCOUNT")
    assert (numbers(collector), texts(collector)) == ([266], ["1"])


def test_implicit_transactions_begin_with_the_first_statement_that_touches_a_table(session):
    collector = session.execute(
        "SET IMPLICIT_TRANSACTIONS ON; PRINT @@TRANCOUNT; UPDATE dbo.t SET v = 0 WHERE id = 1; "
        "PRINT @@TRANCOUNT; ROLLBACK"
    )
    assert texts(collector) == ["0", "1"]
    assert values(session) == [(1, 10), (2, 20)]


def test_a_writer_waits_for_a_writer_and_goes_on_when_it_commits(instance, connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()  # T1
    waiting = t2.execute("UPDATE dbo.t SET v = v + 1 WHERE id = 1")  # T2, BLOCKS
    assert not waiting.finished
    t1.execute("COMMIT").ok()  # T1, unblocks T2
    assert waiting.finished
    assert values(t1) == [(1, 12), (2, 20)]


def test_lock_timeout_fails_the_statement_and_keeps_the_transaction(instance, connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()
    collector = t2.execute(
        "SET LOCK_TIMEOUT 2000; BEGIN TRAN; UPDATE dbo.t SET v = 21 WHERE "
        "id = 2; UPDATE dbo.t SET v = 0 WHERE id = 1; PRINT @@TRANCOUNT"
    )
    assert not collector.finished
    instance.advance(2)
    assert (numbers(collector), texts(collector)[-1]) == ([1222], "1")
    assert t2.transaction is not None


def test_two_updates_in_opposite_order_deadlock_and_the_closer_dies(connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()  # T1
    t2.execute("BEGIN TRAN; UPDATE dbo.t SET v = 22 WHERE id = 2").ok()  # T2
    first = t1.execute("UPDATE dbo.t SET v = 12 WHERE id = 2")  # T1, BLOCKS
    second = t2.execute("UPDATE dbo.t SET v = 21 WHERE id = 1")  # T2, deadlock
    assert numbers(second) == [1205]
    assert (t2.trancount, first.finished, numbers(first)) == (0, True, [])


def test_a_victim_that_catches_1205_still_has_to_roll_back(connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()
    t2.execute("BEGIN TRAN; UPDATE dbo.t SET v = 22 WHERE id = 2").ok()
    t1.execute("UPDATE dbo.t SET v = 12 WHERE id = 2")
    collector = t2.execute("""
        BEGIN TRY UPDATE dbo.t SET v = 21 WHERE id = 1; END TRY
        BEGIN CATCH PRINT ERROR_NUMBER(); PRINT XACT_STATE(); PRINT @@TRANCOUNT; ROLLBACK;
        END CATCH""")
    assert texts(collector) == ["1205", "-1", "1"]


def test_a_cancelled_statement_leaves_the_transaction_open_and_is_undone(connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()
    t2.execute("BEGIN TRAN; UPDATE dbo.t SET v = 22 WHERE id = 2").ok()
    collector = t2.execute("UPDATE dbo.t SET v = 21 WHERE id = 1")
    t2.attention()
    assert collector.finished
    assert (t2.trancount, t2.wait) == (1, None)


def test_a_killed_session_leaves_no_lock_and_no_change(instance, connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()
    instance.kill(t1.id)
    assert instance.engine.locks.resources == {}
    assert values(t2) == [(1, 10), (2, 20)]


def test_read_committed_snapshot_reads_what_was_committed_without_waiting(connect):
    t1, t2 = connect(), connect()
    t1.execute("ALTER DATABASE db SET READ_COMMITTED_SNAPSHOT ON").ok()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1; DELETE dbo.t WHERE id = 2").ok()
    assert values(t2) == [(1, 10), (2, 20)]


def test_read_committed_waits_for_an_uncommitted_row_only(connect):
    t1, t2 = connect(), connect()
    t1.execute("BEGIN TRAN; UPDATE dbo.t SET v = 11 WHERE id = 1").ok()
    assert t2.execute("SELECT v FROM dbo.t WHERE id = 2").rows() == [(20,)]
    blocked = t2.execute("SELECT v FROM dbo.t WHERE id = 1")
    assert not blocked.finished
    t1.execute("COMMIT").ok()
    assert blocked.rows() == [(11,)]
