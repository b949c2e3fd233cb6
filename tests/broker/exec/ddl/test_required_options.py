"""Methods of XML, filtered indexes and indexes on computed columns want the required SET options.

Source: "SET QUOTED_IDENTIFIER" page and its kin, "CREATE INDEX" page (Required SET options for
filtered indexes); a module keeps two of them from its creation (F-103). All but QUOTED_IDENTIFIER
are refused by name when they are set otherwise.
"""

import pytest


def failed(session, sql):
    error = session.execute(sql).error()
    assert error is not None and error.number == 1934, (sql, error)
    return error.text.split(". Verify")[0]


@pytest.mark.parametrize(
    ("statement", "verb"),
    [
        ("SELECT @x.value('.', 'int')", "SELECT"),
        ("SELECT n.c.value('.', 'int') FROM @x.nodes('/a') AS n (c)", "SELECT"),
        ("SELECT 1 WHERE @x.exist('/a') = 1", "SELECT"),
        ("SET @x.modify('delete /a')", "SET"),
        ("SET @i = @x.value('.', 'int')", "SET"),
        ("IF @x.exist('/a') = 1 SELECT 1", "CONDITIONAL"),
        ("INSERT dbo.t SELECT @x.value('.', 'int')", "INSERT"),
        ("UPDATE dbo.t SET a = @x.value('.', 'int')", "UPDATE"),
    ],
)
def test_a_method_of_xml_fails_under_another_setting(run, session, statement, verb):
    run("CREATE TABLE dbo.t (a int)")
    run("SET QUOTED_IDENTIFIER OFF")
    shown = failed(session, f"DECLARE @x xml = N'<a>1</a>', @i int; {statement}")
    wrong = "failed because the following SET options have incorrect settings"
    assert shown == f"{verb} {wrong}: 'QUOTED_IDENTIFIER'"


@pytest.mark.parametrize(
    ("index", "row"),
    [
        ("CREATE INDEX i ON dbo.t (a) WHERE a > 0", "a int, b AS a + 1"),
        ("CREATE INDEX i ON dbo.t (b)", "a int, b AS a + 1"),
    ],
)
def test_an_index_is_neither_made_nor_kept_up_under_another_setting(run, session, index, row):
    run(f"CREATE TABLE dbo.t ({row})")
    run("SET QUOTED_IDENTIFIER OFF")
    assert failed(session, index).startswith("CREATE INDEX failed")
    run("SET QUOTED_IDENTIFIER ON")
    run(index)
    run("INSERT dbo.t (a) VALUES (1)")
    run("SET QUOTED_IDENTIFIER OFF")
    for sql in (
        "INSERT dbo.t (a) VALUES (2)",
        "UPDATE dbo.t SET a = 3",
        "DELETE dbo.t",
        "MERGE dbo.t AS t USING (SELECT 1 AS s) AS s ON t.a = s.s WHEN MATCHED THEN DELETE;",
        "WITH c AS (SELECT a FROM dbo.t) DELETE c",
    ):
        assert failed(session, sql).startswith(sql.split()[0].replace("WITH", "DELETE") + " failed")
    assert run("SELECT a FROM dbo.t WHERE a > 0").rows() == [(1,)]


def test_a_table_with_such_an_index_is_not_made_either(run, session):
    run("SET QUOTED_IDENTIFIER OFF")
    shown = failed(session, "CREATE TABLE dbo.t (a int, INDEX i (a) WHERE a > 0)")
    assert shown.startswith("CREATE TABLE failed")


def test_a_module_fails_by_the_settings_it_was_created_under(run, session):
    body = "AS DECLARE @x xml = N'<a>1</a>'; SELECT @x.value('.', 'int')"
    run("SET QUOTED_IDENTIFIER OFF")
    run(f"CREATE PROCEDURE dbo.bad {body}")
    run("SET QUOTED_IDENTIFIER ON")
    run(f"CREATE PROCEDURE dbo.good {body}")
    assert failed(session, "EXEC dbo.bad").startswith("SELECT failed")
    run("SET QUOTED_IDENTIFIER OFF")
    assert run("EXEC dbo.good").rows() == [(1,)]


def test_a_function_does_too(run, session):
    run("SET QUOTED_IDENTIFIER OFF")
    run("CREATE FUNCTION dbo.f (@x xml) RETURNS int AS BEGIN RETURN @x.value('.', 'int') END")
    run("SET QUOTED_IDENTIFIER ON")
    assert failed(session, "SELECT dbo.f(N'<a>1</a>')").startswith("RETURN failed")


def test_a_statement_in_use_asks_again_when_the_setting_changes(run, session):
    batch = "DECLARE @x xml = N'<a>1</a>'; SELECT @x.value('.', 'int')"
    assert run(batch).rows() == [(1,)]
    run("SET QUOTED_IDENTIFIER OFF")
    failed(session, batch)
    run("SET QUOTED_IDENTIFIER ON")
    assert run(batch).rows() == [(1,)]
