"""Table-valued parameters: READONLY where they are declared, written nowhere, of their own type.

Source: "Use table-valued parameters" page, Limitations; numbers of the errors-events pages; which
of them a server gives for what is known from captures others published.
"""

import pytest

from tests.broker.exec.lab import Lab

CALL = "DECLARE @x tt; DECLARE @y tt2; DECLARE @z TABLE (a int); "


@pytest.fixture
def lab():
    made = Lab()
    made.run("CREATE TYPE tt AS TABLE (a int); CREATE TYPE tt2 AS TABLE (a int)")
    made.run("CREATE TABLE log (a int)")
    made.run("CREATE PROCEDURE reads @t tt READONLY AS SELECT COUNT(*) FROM @t")
    made.run("CREATE PROCEDURE takes @a int AS SELECT @a")
    made.run(
        "CREATE FUNCTION counts (@t tt READONLY) RETURNS int AS "
        "BEGIN RETURN (SELECT COUNT(*) FROM @t) END"
    )
    return made


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("CREATE PROCEDURE p @t tt AS SELECT 1", 352),
        ("CREATE FUNCTION f (@t tt) RETURNS int AS BEGIN RETURN 1 END", 352),
        ("CREATE FUNCTION f (@t tt) RETURNS TABLE AS RETURN SELECT 1 AS a", 352),
        (CALL + "EXEC sp_executesql N'SELECT 1', N'@t tt', @x", 352),
        ("CREATE PROCEDURE p @t int READONLY AS SELECT 1", 346),
        ("EXEC sp_executesql N'SELECT 1', N'@a int READONLY', 1", 346),
        ("CREATE PROCEDURE p @t tt OUTPUT AS SELECT 1", 347),
        ("CREATE PROCEDURE p @t tt READONLY OUTPUT AS SELECT 1", 102),
        ("CREATE PROCEDURE p @t tt READONLY = NULL AS SELECT 1", 102),
    ],
)
def test_only_tables_are_readonly_and_they_must_be(lab, sql, number):
    assert lab.error(sql) == number


@pytest.mark.parametrize(
    "body",
    [
        "INSERT @t VALUES (1)",
        "INSERT INTO @t SELECT 1",
        "INSERT @t EXEC takes 1",
        "DELETE @t",
        "DELETE FROM @t WHERE a = 1",
        "DELETE x FROM @t AS x",
        "UPDATE @t SET a = 1",
        "UPDATE x SET a = 1 FROM @t AS x JOIN log ON log.a = x.a",
        "WITH c AS (SELECT a FROM @t) DELETE c",
        "UPDATE x SET a = 1 FROM (SELECT a FROM @t) AS x",
        "MERGE @t AS t USING log AS s ON t.a = s.a WHEN MATCHED THEN DELETE;",
        "INSERT log OUTPUT inserted.a INTO @t VALUES (1)",
    ],
)
def test_no_statement_writes_to_one(lab, body):
    assert lab.error(f"CREATE PROCEDURE p @t tt READONLY AS {body}") == 10700
    assert lab.error(f"{CALL}EXEC sp_executesql N'{body}', N'@t tt READONLY', @x") == 10700


def test_a_function_does_not_write_to_one_either(lab):
    body = "BEGIN DELETE @t; RETURN 1 END"
    assert lab.error(f"CREATE FUNCTION f (@t tt READONLY) RETURNS int AS {body}") == 10700


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("EXEC reads NULL", "NULL is incompatible with tt"),
        ("EXEC reads 1", "int is incompatible with tt"),
        ("EXEC reads N'x'", "nvarchar is incompatible with tt"),
        ("EXEC reads @y", "tt2 is incompatible with tt"),
        ("EXEC reads @t = @z", "table is incompatible with tt"),
        ("EXEC takes @x", "tt is incompatible with int"),
        ("EXEC sp_executesql N'SELECT @a', N'@a int', @x", "tt is incompatible with int"),
    ],
)
def test_a_call_passes_a_variable_of_the_same_type(lab, call, text):
    error = lab.send(CALL + call).error()
    assert (error.number, error.text) == (206, f"Operand type clash: {text}")


def test_a_table_is_never_an_output_argument(lab):
    assert lab.error(CALL + "EXEC reads @x OUTPUT") == 348


@pytest.mark.parametrize("call", ["EXEC reads @x", "EXEC reads", "EXEC reads DEFAULT"])
def test_a_table_of_the_type_or_none_is_taken(lab, call):
    assert lab.value(CALL + call) == 0


def test_a_text_that_was_run_before_is_another_when_its_type_is():
    lab = Lab()
    lab.run("CREATE TYPE t1 AS TABLE (a int)")
    text = "DECLARE @t t1; INSERT @t (a) VALUES (1); SELECT a FROM @t"
    assert lab.rows(text) == [(1,)]
    lab.run("DROP TYPE t1")
    assert lab.error(text) == lab.error(f"{text} ")
    lab.run("CREATE TYPE t1 AS TABLE (b int, a tinyint)")
    assert lab.rows(text) == [(1,)]
    assert lab.error(text.replace("(1)", "(300)")) == 220
