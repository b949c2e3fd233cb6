"""User-defined functions: scalar, inline and multi-statement."""

import pytest

from redial_broker.instance.requests import Batch


def test_a_scalar_function_computes_and_converts(lab):
    lab.run(
        "CREATE FUNCTION dbo.f (@a int, @b varchar(3) = 'x') RETURNS varchar(4) AS BEGIN "
        "DECLARE @r varchar(20) = @b; WHILE @a > 0 BEGIN SET @r += '-'; SET @a -= 1 END; "
        "RETURN @r END"
    )
    assert lab.rows("SELECT dbo.f(2, 'abcdef'), dbo.f(1, DEFAULT), dbo.f(NULL, 'q')") == [
        ("abc-", "x-", "q")
    ]
    assert (
        lab.value("DECLARE @v varchar(9) = dbo.f(0, 'v'); IF dbo.f(0, 'v') = 'v' SELECT @v") == "v"
    )
    assert lab.error("SELECT dbo.f(1)") == 313
    assert lab.error("SELECT dbo.f(1, 'a', 2)") == 8144
    assert lab.error("SELECT dbo.nope(1)") == 4121


def test_a_scalar_function_reads_tables_per_row(lab):
    lab.run(
        "CREATE FUNCTION dbo.sum_to (@id int) RETURNS int AS BEGIN "
        "DECLARE @s int; SELECT @s = SUM(x) FROM dbo.t WHERE id <= @id; RETURN @s END"
    )
    lab.run("INSERT dbo.t VALUES (1, 10), (2, 20), (3, 30)")
    assert lab.rows("SELECT id, dbo.sum_to(id) FROM dbo.t WHERE dbo.sum_to(id) > 10") == [
        (2, 30),
        (3, 60),
    ]
    assert lab.value("SELECT @@TRANCOUNT") == 0
    lab.run("UPDATE dbo.t SET x = dbo.sum_to(3)")
    assert lab.rows("SELECT x FROM dbo.t") == [(60,), (60,), (60,)]


def test_a_function_may_call_itself_to_32_levels(lab):
    lab.run(
        "CREATE FUNCTION dbo.fact (@n int) RETURNS bigint AS BEGIN "
        "IF @n <= 1 RETURN 1; RETURN @n * dbo.fact(@n - 1) END"
    )
    assert lab.value("SELECT dbo.fact(10)") == 3628800
    assert lab.error("SELECT dbo.fact(40)") == 217


def test_a_query_inside_a_recursive_function_keeps_its_own_rows(lab):
    lab.run("INSERT dbo.t VALUES (1, 5), (2, 6), (3, 7)")
    lab.run(
        "CREATE FUNCTION dbo.total (@n int) RETURNS int AS BEGIN DECLARE @r int = 0; "
        "SELECT @r = x + dbo.total(@n - 1) + (SELECT 0 * @n) FROM dbo.t WHERE id = @n; "
        "RETURN @r END"
    )
    assert lab.value("SELECT dbo.total(3)") == 18


def test_an_inline_function_is_a_view_with_parameters(lab):
    lab.run("INSERT dbo.t VALUES (1, 1), (2, 4), (3, 9)")
    lab.run(
        "CREATE FUNCTION dbo.above (@x int) RETURNS TABLE AS RETURN "
        "(SELECT id, x, (SELECT MAX(x) FROM dbo.t WHERE x < @x) AS below "
        "FROM dbo.t WHERE x >= @x)"
    )
    assert lab.rows("SELECT * FROM dbo.above(4)") == [(2, 4, 1), (3, 9, 1)]
    assert lab.rows(
        "SELECT t.id, a.id, a.below FROM dbo.t CROSS APPLY dbo.above(t.x) a "
        "WHERE t.id > 1 ORDER BY 1, 2"
    ) == [(2, 2, 1), (2, 3, 1), (3, 3, 4)]
    assert lab.rows("SELECT t.id FROM dbo.t OUTER APPLY dbo.above(t.x + 9) a") == [(1,), (2,), (3,)]


def test_a_multi_statement_function_fills_its_table(lab):
    lab.run(
        "CREATE FUNCTION dbo.numbers (@n int) RETURNS @r TABLE (n int PRIMARY KEY, sq int) AS "
        "BEGIN DECLARE @i int = 0; WHILE @i < @n BEGIN SET @i += 1; "
        "INSERT @r VALUES (@i, @i * @i) END; DELETE @r WHERE n = 2; RETURN END"
    )
    assert lab.rows("SELECT n, sq FROM dbo.numbers(3) ORDER BY n") == [(1, 1), (3, 9)]
    lab.run("INSERT dbo.t SELECT n, sq FROM dbo.numbers(3)")
    assert lab.rows(
        "SELECT t.id, m.n FROM dbo.t CROSS APPLY dbo.numbers(t.id) m ORDER BY 1, 2"
    ) == [(1, 1), (3, 1), (3, 3)]
    assert lab.value("SELECT @@ROWCOUNT") == 3


def test_a_function_that_must_wait_makes_its_caller_wait(lab):
    lab.run("CREATE FUNCTION dbo.n () RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM dbo.t) END")
    other = lab.other()
    other.run("BEGIN TRANSACTION; INSERT dbo.t VALUES (1, 1)")
    lab.session.sink.clear()
    lab.session.submit(Batch("INSERT dbo.log (x) VALUES (dbo.n()); SELECT x FROM dbo.log"))
    lab.instance.run()
    assert lab.session.wait is not None
    assert len(lab.session.frames) == 1
    other.run("COMMIT")
    lab.instance.run()
    assert lab.session.sink.result_sets[-1].rows == [(1,)]


def test_return_in_a_procedure_may_call_a_function(lab):
    lab.run("CREATE FUNCTION dbo.n () RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM dbo.t) END")
    lab.run("CREATE PROCEDURE dbo.p AS RETURN dbo.n() + 7")
    assert lab.rows("DECLARE @r int; EXEC @r = dbo.p; SELECT @r, @@TRANCOUNT") == [(7, 0)]
    assert lab.session.transaction is None


def test_an_error_inside_belongs_to_the_calling_statement(lab):
    lab.run("CREATE FUNCTION dbo.f (@a int) RETURNS int AS BEGIN RETURN 1 / @a END")
    sink = lab.send("INSERT dbo.t VALUES (1, dbo.f(0)); SELECT COUNT(*) FROM dbo.t")
    assert [error.number for error in sink.errors] == [8134]
    assert sink.result_sets[-1].rows == [(0,)]
    assert len(lab.session.frames) == 0


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("INSERT dbo.t VALUES (1, 1); RETURN 1", 443),
        ("EXEC dbo.p; RETURN 1", 557),
        ("SELECT 1; RETURN 1", 444),
        ("PRINT 'x'; RETURN 1", 443),
        ("BEGIN TRANSACTION; RETURN 1", 443),
        ("DECLARE @g uniqueidentifier = NEWID(); RETURN 1", 443),
        ("DECLARE @i int", 455),
        ("RETURN @nope", 137),
    ],
)
def test_what_a_function_must_not_do_has_the_servers_number(lab, body, number):
    assert lab.error(f"CREATE FUNCTION dbo.f () RETURNS int AS BEGIN {body} END") == number


def test_functions_are_altered_dropped_and_shown(lab):
    lab.run("CREATE FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 1 END")
    lab.run("CREATE PROCEDURE dbo.p AS SELECT dbo.f()")
    assert lab.value("EXEC dbo.p") == 1
    lab.run("ALTER FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 2 END")
    assert lab.value("EXEC dbo.p") == 2
    assert lab.rows("SELECT type FROM sys.objects WHERE name = 'f'") == [("FN",)]
    assert lab.error("ALTER FUNCTION dbo.f () RETURNS TABLE AS RETURN (SELECT 1 AS a)") == 2010
    lab.run("DROP FUNCTION dbo.f")
    assert lab.error("EXEC dbo.p") == 4121


def test_rights_on_a_view_cover_the_functions_of_its_owner_and_what_these_read(lab):
    lab.run("CREATE USER reader WITHOUT LOGIN; INSERT dbo.t VALUES (1, 5);")
    lab.run("CREATE FUNCTION dbo.inl () RETURNS TABLE AS RETURN (SELECT x FROM dbo.t)")
    lab.run(
        "CREATE FUNCTION dbo.multi () RETURNS @r TABLE (x int) AS BEGIN "
        "INSERT @r SELECT x FROM dbo.t; RETURN END"
    )
    lab.run("CREATE FUNCTION dbo.one () RETURNS int AS BEGIN RETURN (SELECT MAX(x) FROM dbo.t) END")
    lab.run(
        "CREATE VIEW dbo.v AS SELECT i.x, m.x AS y, dbo.one() AS z "
        "FROM dbo.inl() i CROSS JOIN dbo.multi() m"
    )
    lab.run("GRANT SELECT ON dbo.v TO reader")
    assert lab.rows("EXECUTE AS USER = 'reader'; SELECT * FROM dbo.v; REVERT") == [(5, 5, 5)]
    assert lab.error("EXECUTE AS USER = 'reader'; SELECT * FROM dbo.inl();") == 229
    lab.run("REVERT")
