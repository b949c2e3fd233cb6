"""Procedures, views, functions; types, sequences and schemas."""

import pytest


def test_create_or_alter_makes_and_changes(run):
    run("CREATE OR ALTER PROCEDURE dbo.p AS RETURN 1")
    before = run("SELECT OBJECT_ID('dbo.p')").one()
    run("CREATE OR ALTER PROCEDURE dbo.p AS SELECT 2")
    assert run("EXEC dbo.p").rows() == [(2,)]
    assert run("SELECT OBJECT_ID('dbo.p')").one() == before


def test_a_procedure_may_name_tables_that_are_not_there_yet(run, error):
    run("CREATE PROCEDURE dbo.p AS SELECT a FROM dbo.Later")
    assert error("EXEC dbo.p") == 208
    run("CREATE TABLE dbo.Later (a int); INSERT dbo.Later VALUES (1)")
    assert run("EXEC dbo.p").rows() == [(1,)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE PROCEDURE dbo.p AS RETURN", 2714),
        ("CREATE PROCEDURE dbo.T AS RETURN", 2714),
        ("ALTER PROCEDURE dbo.nope AS RETURN", 208),
        ("ALTER PROCEDURE dbo.T AS RETURN", 2010),
        ("CREATE PROCEDURE nowhere.p AS RETURN", 2760),
        ("CREATE PROCEDURE dbo.q @a int, @A int AS RETURN", 134),
        ("DROP PROCEDURE dbo.nope", 3701),
        ("DROP PROCEDURE dbo.T", 3705),
        ("CREATE SCHEMA dbo", 2714),
        ("DROP SCHEMA nope", 15151),
        ("CREATE TYPE dbo.Row AS TABLE (a int)", 219),
        ("DROP TYPE dbo.nope", 218),
        ("CREATE SEQUENCE dbo.s INCREMENT BY 0", 11700),
        ("CREATE SEQUENCE dbo.s AS tinyint START WITH 300", 11708),
    ],
)
def test_what_is_wrong_is_named_by_the_servers_number(run, error, text, number):
    run("CREATE TABLE dbo.T (a int); CREATE TYPE dbo.Row AS TABLE (a int)")
    run("CREATE PROCEDURE dbo.p AS RETURN 1")
    assert error(text) == number


def test_a_schema_must_be_empty_to_be_dropped(run, error):
    run("CREATE SCHEMA s")
    run("CREATE TABLE s.T (a int)")
    assert error("DROP SCHEMA s") == 3729
    run("DROP TABLE s.T; DROP SCHEMA s; DROP SCHEMA IF EXISTS s")


def test_a_table_type_is_used_by_variables_and_parameters(run, error):
    run("CREATE TYPE dbo.Row AS TABLE (a int PRIMARY KEY, b nvarchar(5) DEFAULT N'd')")
    run("CREATE PROCEDURE dbo.p @rows dbo.Row READONLY AS SELECT * FROM @rows")
    assert run("DECLARE @t dbo.Row; INSERT @t (a) VALUES (2), (1); EXEC dbo.p @t").rows() == [
        (1, "d"),
        (2, "d"),
    ]
    assert error("DROP TYPE dbo.Row") == 3732
    run("DROP PROCEDURE dbo.p; DROP TYPE dbo.Row")


def test_an_alias_type_is_what_it_stands_for(run, error):
    run("CREATE TYPE dbo.Code FROM varchar(3) NOT NULL")
    run("CREATE TABLE dbo.T (c dbo.Code)")
    assert error("INSERT dbo.T VALUES (NULL)") == 515
    assert error("DROP TYPE dbo.Code") == 3732
    assert run("DECLARE @c dbo.Code = 'abc'; SELECT @c").rows() == [("abc",)]


def test_sequences_are_defined_restarted_and_shown(run):
    run("CREATE SEQUENCE dbo.s AS int START WITH 5 INCREMENT BY 5 MAXVALUE 20 CYCLE")
    (row,) = run(
        "SELECT start_value, increment, maximum_value, current_value, is_cycling FROM sys.sequences"
    ).rows()
    assert [getattr(value, "value", value) for value in row] == [5, 5, 20, 5, 1]
    run("ALTER SEQUENCE dbo.s RESTART WITH 10; DROP SEQUENCE dbo.s")


def test_a_view_reads_like_a_table(run):
    run("CREATE TABLE dbo.T (a int); INSERT dbo.T VALUES (3)")
    run("CREATE VIEW dbo.V AS SELECT a * 2 AS twice FROM dbo.T")
    assert run("SELECT twice FROM dbo.V").rows() == [(6,)]
    run("DROP VIEW dbo.V")


def test_a_rollback_brings_the_old_definition_back(run):
    run("CREATE PROCEDURE dbo.p AS SELECT 1")
    run("EXEC dbo.p")
    run("BEGIN TRAN; EXEC('ALTER PROCEDURE dbo.p AS SELECT 2'); EXEC dbo.p; ROLLBACK")
    assert run("EXEC dbo.p").rows() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM dbo.T TABLESAMPLE (10 PERCENT)",
        "IF EXISTS (SELECT * FROM dbo.T TABLESAMPLE (10 PERCENT)) RETURN",
        "CREATE TABLE dbo.U (a geography)",
    ],
)
def test_what_is_not_supported_is_refused_when_the_module_is_made(run, session, statement):
    run("CREATE TABLE dbo.T (a int)")
    refused = session.execute(f"CREATE PROCEDURE dbo.P AS\n{statement}").error()
    assert refused.number in {60001, 2715} and refused.procedure in {"P", ""}
    assert refused.number == 2715 or "line 2" in refused.text
    assert run("SELECT OBJECT_ID(N'dbo.P')").rows() == [(None,)]


def test_missing_tables_wait_for_the_first_run_but_columns_of_existing_ones_do_not(run, error):
    run("CREATE TABLE dbo.T (a int)")
    run("CREATE PROCEDURE dbo.P AS SELECT x FROM dbo.Later")
    assert error("EXEC dbo.P") == 208
    assert error("CREATE PROCEDURE dbo.Q AS SELECT x FROM dbo.T") == 207
    run("CREATE TABLE dbo.Later (x int)")
    assert run("EXEC dbo.P").rows() == []


def test_a_procedure_may_use_a_temporary_table_of_its_own_shape(run):
    run("CREATE TABLE #t (a int)")
    run("CREATE PROCEDURE dbo.P AS CREATE TABLE #t (b int); SELECT b FROM #t")
    assert run("EXEC dbo.P").rows() == []


def test_an_inner_temporary_table_hides_the_outer_one_until_its_module_ends(run):
    run("CREATE PROCEDURE dbo.P AS CREATE TABLE #t (b int); INSERT #t VALUES (2); SELECT b FROM #t")
    run("CREATE TABLE #t (a int); INSERT #t VALUES (1)")
    both = run("EXEC dbo.P; SELECT a FROM #t").result_sets
    assert [found.rows for found in both] == [[(2,)], [(1,)]]
    run("CREATE PROCEDURE dbo.Q AS CREATE TABLE #t (b int); DROP TABLE #t; SELECT a FROM #t")
    assert run("EXEC dbo.Q").rows() == [(1,)]
