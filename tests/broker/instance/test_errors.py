"""What an error ends: statement, module, batch or transaction (F-203)."""

from __future__ import annotations

import pytest

from .conftest import numbers, texts

T = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY);"


@pytest.fixture
def table(session):
    session.execute(T).ok()
    return session


def count(session) -> int:
    return session.execute("SELECT COUNT(*) FROM dbo.t").one()


def test_a_duplicate_key_ends_its_statement_only(table):
    collector = table.execute(
        "BEGIN TRAN; INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (2); "
        "COMMIT; PRINT @@TRANCOUNT"
    )
    assert (numbers(collector), texts(collector)) == (
        [2627],
        ["The statement has been terminated.", "0"],
    )
    assert count(table) == 2


def test_under_xact_abort_it_ends_the_batch_and_the_transaction(table):
    collector = table.execute(
        "SET XACT_ABORT ON; BEGIN TRAN; INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (1); "
        "PRINT 'never'"
    )
    assert (numbers(collector), texts(collector)) == ([2627], [])
    assert (table.trancount, count(table)) == (0, 0)


def test_caught_under_xact_abort_it_dooms_the_transaction(table):
    collector = table.execute("""
        SET XACT_ABORT ON; BEGIN TRAN;
        BEGIN TRY INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (1); END TRY
        BEGIN CATCH PRINT XACT_STATE(); ROLLBACK; END CATCH""")
    assert (numbers(collector), texts(collector)) == ([], ["-1"])


@pytest.mark.parametrize(
    "fault", ["INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (1);", "THROW 60001, N'x', 1;"]
)
def test_the_setting_of_the_procedure_that_failed_decides_not_that_of_who_caught_it(table, fault):
    table.execute(f"CREATE PROCEDURE dbo.strict AS SET XACT_ABORT ON; {fault}").ok()
    collector = table.execute("""
        BEGIN TRAN;
        BEGIN TRY EXECUTE dbo.strict; END TRY
        BEGIN CATCH PRINT XACT_STATE(); ROLLBACK; END CATCH""")
    assert (numbers(collector), texts(collector)) == ([], ["-1"])


def test_caught_without_xact_abort_the_transaction_lives(table):
    collector = table.execute("""
        BEGIN TRAN;
        BEGIN TRY INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (1); END TRY
        BEGIN CATCH PRINT XACT_STATE(); COMMIT; END CATCH""")
    assert texts(collector) == ["1"]
    assert count(table) == 1


def test_a_failed_conversion_ends_the_batch_and_rolls_back_whatever_xact_abort_says(table):
    collector = table.execute(
        "BEGIN TRAN; INSERT dbo.t VALUES (1); DECLARE @i int = CONVERT(int, 'x'); PRINT 'never'"
    )
    assert (numbers(collector), texts(collector)) == ([245], [])
    assert (table.trancount, count(table)) == (0, 0)


def test_a_batch_that_ends_doomed_is_rolled_back_with_3998(table):
    collector = table.execute("""
        BEGIN TRAN; INSERT dbo.t VALUES (1);
        BEGIN TRY DECLARE @i int = CONVERT(int, 'x'); END TRY BEGIN CATCH PRINT 'caught'; END CATCH
        """)
    assert numbers(collector) == [3998]
    assert (table.trancount, count(table)) == (0, 0)


def test_nothing_can_be_written_in_a_doomed_transaction(table):
    collector = table.execute("""
        BEGIN TRAN; INSERT dbo.t VALUES (1);
        BEGIN TRY DECLARE @i int = CONVERT(int, 'x'); END TRY
        BEGIN CATCH
            BEGIN TRY INSERT dbo.t VALUES (2); END TRY BEGIN CATCH PRINT ERROR_NUMBER(); END CATCH;
            ROLLBACK;
        END CATCH""")
    assert texts(collector) == ["3930"]


def test_throw_ends_the_batch_and_leaves_the_transaction_open(table):
    collector = table.execute("BEGIN TRAN; THROW 50001, N'stop', 1; PRINT 'never'")
    assert (numbers(collector), texts(collector), table.trancount) == ([50001], [], 1)


def test_raiserror_does_not_honour_xact_abort(table):
    collector = table.execute("SET XACT_ABORT ON; BEGIN TRAN; RAISERROR(N'x', 16, 1); PRINT 'on'")
    assert (numbers(collector), texts(collector), table.trancount) == ([50000], ["on"], 1)


def test_a_missing_table_ends_the_module_but_not_its_caller(table):
    table.execute("CREATE PROCEDURE dbo.p AS SELECT * FROM dbo.missing; PRINT 'never'").ok()
    collector = table.execute("EXEC dbo.p; PRINT 'caller goes on'")
    assert (numbers(collector), texts(collector)) == ([208], ["caller goes on"])


def test_a_missing_table_is_not_caught_in_its_own_scope_but_one_level_up(table):
    collector = table.execute("""
        BEGIN TRY SELECT * FROM dbo.missing; END TRY BEGIN CATCH PRINT 'same scope'; END CATCH""")
    assert (numbers(collector), texts(collector)) == ([208], [])
    collector = table.execute("""
        BEGIN TRY EXEC (N'SELECT * FROM dbo.missing'); END TRY
        BEGIN CATCH PRINT ERROR_NUMBER(); END CATCH""")
    assert (numbers(collector), texts(collector)) == ([], ["208"])


def test_the_error_names_procedure_and_line(table):
    table.execute("CREATE PROCEDURE dbo.p AS\nBEGIN\n  PRINT 1 / 0;\nEND").ok()
    [error] = table.execute("EXEC dbo.p").errors
    assert (error.procedure, error.line) == ("p", 3)


def test_thirty_two_levels_of_nesting_are_the_limit(table):
    table.execute("CREATE PROCEDURE dbo.p AS EXEC dbo.p").ok()
    assert 217 in numbers(table.execute("EXEC dbo.p"))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SELECT " + "9" * 5000, 1007),
        ("SELECT TOP " + "9" * 5000 + " 1", 1007),
        ("DECLARE @t varchar(" + "9" * 5000 + ")", 1007),
        ("SELECT 1e" + "9" * 5000, 168),
        ("SELECT $" + "9" * 5000, 8115),
        ("SET LOCK_TIMEOUT " + "9" * 5000, 1007),
    ],
)
def test_a_number_of_thousands_of_digits_is_an_error_like_any_other(session, text, number):
    assert numbers(session.execute(text)) == [number]


def test_leading_zeros_do_not_make_a_number_large(session):
    assert session.execute("SELECT " + "0" * 5000 + "7").one() == 7
