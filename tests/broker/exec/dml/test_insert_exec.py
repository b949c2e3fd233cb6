"""INSERT ... EXECUTE is one statement: what the call does stands or falls with it."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run("CREATE TABLE t (k int NOT NULL PRIMARY KEY); CREATE TABLE log (what varchar(20))")
    made.run(
        "CREATE PROCEDURE p @fail int = 0 AS BEGIN INSERT log VALUES ('in'); "
        "IF @fail = 1 THROW 50001, 'no', 1; IF @fail = 2 ROLLBACK; IF @fail = 3 COMMIT; "
        "SELECT 1 AS k; SELECT 2 END"
    )
    return made


def logged(lab):
    return len(lab.rows("SELECT * FROM log"))


def test_call_and_rows_are_committed_together(lab):
    lab.run("INSERT t EXEC p")
    assert lab.rows("SELECT k FROM t") == [(1,), (2,)]
    assert logged(lab) == 1 and lab.value("SELECT @@TRANCOUNT") == 0


def test_a_row_that_does_not_fit_undoes_what_the_call_did(lab):
    lab.run("INSERT t VALUES (2)")
    assert lab.error("INSERT t EXEC p") == 2627
    assert lab.rows("SELECT k FROM t") == [(2,)]
    assert logged(lab) == 0 and lab.value("SELECT @@TRANCOUNT") == 0


def test_an_error_in_the_call_undoes_it_too(lab):
    assert lab.error("INSERT t EXEC p 1") == 50001
    assert logged(lab) == 0
    assert lab.rows(
        "BEGIN TRY INSERT t EXEC p 1 END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER(), XACT_STATE(), @@TRANCOUNT END CATCH"
    ) == [(50001, 0, 0)]
    assert logged(lab) == 0


def test_nobody_sees_the_call_before_the_end(lab):
    lab.run(
        "CREATE PROCEDURE slow AS BEGIN INSERT log VALUES ('slow'); "
        "WAITFOR DELAY '00:00:01'; SELECT 5 END"
    )
    lab.send("INSERT t EXEC slow")
    assert lab.session.wait is not None
    other = lab.other()
    other.send("SELECT * FROM log")
    assert other.waiting is not None
    lab.instance.clock.advance(2)
    lab.instance.run()
    assert other.waiting is None and logged(lab) == 1


@pytest.mark.parametrize(("fail", "number"), [(2, 3915), (3, 3916)])
def test_the_call_cannot_end_the_statements_transaction(lab, fail, number):
    assert lab.error(f"INSERT t EXEC p {fail}") == number


def test_a_transaction_of_its_own_inside_is_allowed(lab):
    lab.run(
        "CREATE PROCEDURE own AS BEGIN BEGIN TRANSACTION; INSERT log VALUES ('own'); "
        "COMMIT; SELECT @@TRANCOUNT END"
    )
    lab.run("INSERT t EXEC own")
    assert lab.rows("SELECT k FROM t") == [(1,)]
    assert logged(lab) == 1


def test_inside_a_transaction_it_is_a_statement_of_it(lab):
    lab.run("BEGIN TRANSACTION; INSERT t EXEC p; ROLLBACK")
    assert logged(lab) == 0 and lab.rows("SELECT * FROM t") == []


def test_triggers_fire_at_the_end_and_commit_with_it(lab):
    lab.run("CREATE TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT 'trigger' FROM inserted")
    lab.run("INSERT t EXEC p")
    assert logged(lab) == 3 and lab.value("SELECT @@TRANCOUNT") == 0


def test_top_limits_the_rows_taken(lab):
    lab.run("INSERT TOP (1) INTO t EXEC p")
    assert lab.rows("SELECT k FROM t") == [(1,)]
