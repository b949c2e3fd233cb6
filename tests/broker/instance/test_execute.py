"""EXECUTE: arguments, defaults, output values, return status, dynamic text, SET scoping."""

from __future__ import annotations

import pytest

from .conftest import numbers, texts

PROCEDURE = """
CREATE PROCEDURE dbo.p @a int, @b nvarchar(10) = N'dflt', @c int = NULL OUTPUT AS
BEGIN
    PRINT CONCAT(@a, N'/', @b, N'/', @c);
    SET @c = @a * 10;
    RETURN @a;
END"""


@pytest.fixture(autouse=True)
def procedure(session):
    session.execute(PROCEDURE).ok()


@pytest.mark.parametrize(
    ("call", "printed"),
    [
        ("EXEC dbo.p 1", "1/dflt/"),
        ("EXEC dbo.p 1, N'x'", "1/x/"),
        ("EXEC dbo.p @b = N'x', @a = 2", "2/x/"),
        ("EXEC dbo.p 1, DEFAULT", "1/dflt/"),
        ("EXEC dbo.p @a = 3, @c = 4", "3/dflt/4"),
        ("dbo.p 5, word", "5/word/"),
        ("DECLARE @n sysname = N'[dbo].[p]'; EXEC @n 6", "6/dflt/"),
    ],
)
def test_arguments_meet_parameters_by_position_by_name_or_by_default(session, call, printed):
    assert texts(session.execute(call).ok()) == [printed]


def test_output_values_and_the_return_status_come_back(session):
    collector = session.execute("""
        DECLARE @c int = 7, @rc int; EXEC @rc = dbo.p 2, N'x', @c OUTPUT; PRINT @c; PRINT @rc""")
    assert texts(collector.ok()) == ["2/x/7", "20", "2"]


def test_without_output_the_variable_keeps_its_value(session):
    collector = session.execute("DECLARE @c int = 7; EXEC dbo.p 2, N'x', @c; PRINT @c")
    assert texts(collector.ok())[-1] == "7"


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("EXEC dbo.p", 201),
        ("EXEC dbo.p 1, N'x', 3, 4", 8144),
        ("EXEC dbo.p @z = 1", 8145),
        ("EXEC dbo.p @a = 1, N'x'", 119),
        ("DECLARE @x int; EXEC dbo.p @x OUTPUT", 8162),
        ("EXEC dbo.nothing", 2812),
        ("EXEC nowhere.dbo.p 1", 911),
    ],
)
def test_calls_that_do_not_fit_are_refused_with_the_servers_numbers(session, call, number):
    assert numbers(session.execute(call)) == [number]


def test_a_procedure_may_call_one_that_does_not_exist_yet(session):
    session.execute("CREATE PROCEDURE dbo.q AS EXEC dbo.later").ok()
    session.execute("CREATE PROCEDURE dbo.later AS PRINT 'here'").ok()
    assert texts(session.execute("EXEC dbo.q").ok()) == ["here"]


def test_create_or_alter_takes_effect_at_the_next_call(session):
    session.execute("CREATE OR ALTER PROCEDURE dbo.p @a int AS PRINT 'new'").ok()
    assert texts(session.execute("EXEC dbo.p 1").ok()) == ["new"]


def test_set_options_of_a_module_end_with_it(session):
    session.execute("""
        CREATE PROCEDURE dbo.q AS
        BEGIN
            SET XACT_ABORT ON; SET LOCK_TIMEOUT 5; SET NOCOUNT ON;
            SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
        END""").ok()
    session.execute("EXEC dbo.q").ok()
    options = session.options
    assert (options.xact_abort, options.lock_timeout, options.nocount, options.isolation) == (
        False,
        -1,
        False,
        "read committed",
    )


def test_dynamic_text_has_its_own_variables(session):
    collector = session.execute("DECLARE @x int = 1; EXEC (N'PRINT @x')")
    assert numbers(collector) == [137]


def test_sp_executesql_passes_parameters_by_name_and_back(session):
    collector = session.execute("""
        DECLARE @got int;
        EXEC sp_executesql N'SET @o = @i + 1', N'@i int, @o int OUTPUT', @i = 41, @o = @got OUTPUT;
        PRINT @got;""")
    assert texts(collector.ok()) == ["42"]


def test_nestlevel_and_procid_tell_where_one_is(session):
    session.execute(
        "CREATE PROCEDURE dbo.q AS PRINT CONCAT(@@NESTLEVEL, N' ', OBJECT_NAME(@@PROCID))"
    ).ok()
    assert texts(session.execute("PRINT @@NESTLEVEL; EXEC dbo.q").ok()) == ["0", "1 q"]
