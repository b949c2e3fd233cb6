"""SET statements: honoured or refused by name (pages of the SET statements)."""

import pytest


@pytest.mark.parametrize(
    "option",
    [
        "ARITHIGNORE",
        "FORCEPLAN",
        "SHOWPLAN_ALL",
        "SHOWPLAN_TEXT",
        "SHOWPLAN_XML",
        "STATISTICS IO",
        "STATISTICS TIME",
        "STATISTICS PROFILE",
        "STATISTICS XML",
        "REMOTE_PROC_TRANSACTIONS",
    ],
)
def test_what_is_refused_when_turned_on_may_be_turned_off(run, session, option):
    run(f"SET {option} OFF")
    assert option in session.execute(f"SET {option} ON").error().text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SET QUERY_GOVERNOR_COST_LIMIT 0", None),
        ("SET QUERY_GOVERNOR_COST_LIMIT 5", 60001),
        ("SET FIPS_FLAGGER OFF", None),
        ("SET FIPS_FLAGGER 'FULL'", 60001),
        ("SET ANSI_NULLS OFF", 60001),
        ("SET PARSEONLY ON", 60001),
        ("SET NUMERIC_ROUNDABORT ON", 60001),
        ("SET CONCAT_NULL_YIELDS_NULL OFF", 60001),
        ("SET ROWCOUNT 5", None),
        ("SET ROWCOUNT 0", None),
    ],
)
def test_values_are_honoured_or_refused(error, text, number):
    assert error(text) == number


def test_quoted_identifier_off_makes_strings_of_double_quotes_in_the_next_batch(run, error):
    run("SET QUOTED_IDENTIFIER OFF")
    assert run('SELECT "it\'s"').rows() == [("it's",)]
    run('EXEC ("PRINT 1")')
    run('CREATE PROCEDURE dbo.P AS SELECT "x"')
    run("SET QUOTED_IDENTIFIER ON")
    assert error('SELECT "x"') == 207
    assert run("EXEC dbo.P").rows() == [("x",)]  # the setting of CREATE sticks to a module


def test_noexec_runs_nothing_until_it_is_turned_off(run):
    run("CREATE TABLE dbo.T (a int); PRINT 'x'; SET NOEXEC ON; INSERT dbo.T VALUES (1)")
    run("INSERT dbo.T VALUES (2); IF 1 = 1 INSERT dbo.T VALUES (3)")
    run("WHILE 1 = 1 PRINT 'for ever'")
    assert run(
        "INSERT dbo.T VALUES (4); SET NOEXEC OFF; INSERT dbo.T VALUES (5); SELECT a FROM dbo.T"
    ).rows() == [(5,)]


def test_noexec_in_a_module_ends_with_it(run):
    run("CREATE PROCEDURE dbo.P AS PRINT 'a'; SET NOEXEC ON; PRINT 'b'")
    assert [m.text for m in run("EXEC dbo.P; PRINT 'c'").messages] == ["a", "c"]


def test_columns_are_nullable_by_the_sessions_default_then_by_the_databases(run):
    def nullable(column="a int"):
        run(f"DROP TABLE IF EXISTS dbo.T; CREATE TABLE dbo.T ({column})")
        return run(
            "SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('dbo.T')"
        ).rows()[0][0]

    assert nullable() == 1
    run("SET ANSI_NULL_DFLT_OFF ON")
    assert nullable() == 0 and nullable("a int NULL") == 1
    run("SET ANSI_NULL_DFLT_OFF OFF")
    assert nullable() == 0
    run("ALTER DATABASE App SET ANSI_NULL_DEFAULT ON")
    assert nullable() == 1
    run("ALTER DATABASE App SET ANSI_NULL_DEFAULT OFF; SET ANSI_NULL_DFLT_ON ON")
    assert nullable() == 1 and run("SELECT @@OPTIONS & 3072").rows() == [(1024,)]


def test_ansi_defaults_turns_implicit_transactions_on_too(run):
    run("CREATE TABLE dbo.T (a int); SET ANSI_DEFAULTS ON; INSERT dbo.T VALUES (1)")
    assert run("SELECT @@TRANCOUNT, @@OPTIONS & 6").rows() == [(1, 6)]
    run("ROLLBACK; SET IMPLICIT_TRANSACTIONS OFF")


def test_options_set_in_a_module_or_dynamic_text_end_with_it(run):
    run(
        "CREATE PROCEDURE dbo.P AS SET NOCOUNT ON; SET DATEFIRST 3; SET LOCK_TIMEOUT 7; "
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT @@DATEFIRST, @@LOCK_TIMEOUT"
    )
    assert run("EXEC dbo.P").rows() == [(3, 7)]
    run("EXEC ('SET DATEFIRST 2'); EXEC sp_executesql N'SET LOCK_TIMEOUT 9'")
    assert run("SELECT @@DATEFIRST, @@LOCK_TIMEOUT, @@OPTIONS & 512").rows() == [(7, -1, 0)]
