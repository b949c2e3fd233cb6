"""Flow of control: the order in which statements run."""

from __future__ import annotations

import pytest

from .conftest import numbers, texts


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("IF 1 = 1 PRINT 'yes' ELSE PRINT 'no'; PRINT 'end'", ["yes", "end"]),
        ("IF NULL = 1 PRINT 'yes' ELSE PRINT 'no'", ["no"]),
        (
            "DECLARE @i int = 0; WHILE @i < 3 BEGIN SET @i += 1; IF @i = 2 CONTINUE; PRINT @i END",
            ["1", "3"],
        ),
        ("WHILE 1 = 1 BEGIN PRINT 'once'; BREAK; END; PRINT 'out'", ["once", "out"]),
        ("PRINT 'a'; GOTO there; PRINT 'skipped'; there: PRINT 'b'", ["a", "b"]),
        ("PRINT 'a'; RETURN; PRINT 'never'", ["a"]),
        (
            "BEGIN TRY BEGIN TRY THROW 50001, 'x', 1; END TRY BEGIN CATCH THROW; END CATCH END TRY "
            "BEGIN CATCH PRINT ERROR_NUMBER(); END CATCH",
            ["50001"],
        ),
        (
            "WHILE 1 = 1 BEGIN BEGIN TRY BREAK; END TRY BEGIN CATCH PRINT 'c'; END CATCH END; "
            "PRINT 1 / 1",
            ["1"],
        ),
    ],
)
def test_statements_run_in_the_order_t_sql_gives_them(session, sql, printed):
    collector = session.execute(sql)
    assert (texts(collector), numbers(collector)) == (printed, [])


def test_after_a_break_out_of_try_an_error_is_nobodys_to_catch(session):
    collector = session.execute(
        "WHILE 1 = 1 BEGIN BEGIN TRY BREAK; END TRY BEGIN CATCH PRINT 'caught'; END CATCH END; "
        "PRINT 1 / 0; PRINT 'next'"
    )
    assert (texts(collector), numbers(collector)) == (["next"], [8134])


def test_error_functions_are_null_outside_catch_and_live_through_calls_inside(session):
    collector = session.execute("""
        BEGIN TRY PRINT 1 / 0; END TRY
        BEGIN CATCH EXEC (N'PRINT ERROR_NUMBER();'); END CATCH;
        IF ERROR_NUMBER() IS NULL PRINT 'null again';""")
    assert texts(collector) == ["8134", "null again"]


def test_at_at_error_lasts_for_one_statement(session):
    collector = session.execute("PRINT 1 / 0; DECLARE @e int = @@ERROR; PRINT @e; PRINT @@ERROR")
    assert texts(collector) == ["8134", "0"]


def test_a_variable_must_be_declared_before_the_batch_runs_at_all(session):
    collector = session.execute("PRINT 'never'; PRINT @missing")
    assert (texts(collector), numbers(collector)) == ([], [137])


def test_goto_cannot_enter_a_try_block(session):
    collector = session.execute("GOTO a; BEGIN TRY a: PRINT 'in'; END TRY BEGIN CATCH END CATCH")
    assert numbers(collector) == [1026]


def test_what_is_not_supported_is_refused_by_name_and_position_before_anything_runs(session):
    collector = session.execute("PRINT 'never';\n  CHECKPOINT;")
    [error] = collector.errors
    assert error.number == 60001
    assert "CHECKPOINT (line 2, column 3)" in error.text
    assert texts(collector) == []


def test_waitfor_delay_lasts_as_long_as_the_clock_says(instance, session):
    collector = session.execute("WAITFOR DELAY '00:00:05'; PRINT 'woken'")
    instance.advance(4.9)
    assert texts(collector) == []
    instance.advance(0.1)
    assert texts(collector) == ["woken"]
    assert collector.finished


def test_two_sessions_that_wait_for_the_same_moment_both_wake(instance, connect):
    sessions = [connect(), connect()]
    collectors = [s.execute("WAITFOR DELAY '00:00:05'; PRINT 'woken'") for s in sessions]
    instance.advance(5)
    assert [texts(collector) for collector in collectors] == [["woken"], ["woken"]]
