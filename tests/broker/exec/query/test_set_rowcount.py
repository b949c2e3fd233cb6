"""SET ROWCOUNT: its page."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def limited():
    lab = Lab()
    lab.run("CREATE TABLE dbo.t (a int); CREATE TABLE dbo.u (a int)")
    lab.run("INSERT dbo.t VALUES (1), (2), (3), (4); SET ROWCOUNT 2")
    return lab


def rest(lab, table="t"):
    return [a for (a,) in lab.rows(f"SET ROWCOUNT 0; SELECT a FROM dbo.{table} ORDER BY a")]


def test_a_select_stops_behind_its_order(limited):
    assert limited.rows("SELECT a FROM dbo.t ORDER BY a DESC") == [(4,), (3,)]
    assert limited.rows("SELECT TOP (1) a FROM dbo.t ORDER BY a") == [(1,)]
    assert limited.rows("SELECT TOP (3) a FROM dbo.t ORDER BY a") == [(1,), (2,)]


def test_what_is_read_inside_a_statement_is_not_limited(limited):
    assert limited.value("SELECT COUNT(*) FROM dbo.t") == 4
    assert limited.value("SELECT SUM(a) FROM (SELECT a FROM dbo.t) AS d") == 10


def test_it_limits_changes(limited):
    assert limited.value("UPDATE dbo.t SET a += 10; SELECT @@ROWCOUNT") == 2
    assert limited.value("DELETE dbo.t; SELECT @@ROWCOUNT") == 2
    assert limited.value("INSERT dbo.u VALUES (1), (2), (3); SELECT @@ROWCOUNT") == 2
    assert limited.value("INSERT dbo.u SELECT 5 FROM sys.objects; SELECT @@ROWCOUNT") == 2
    assert limited.value("SELECT a INTO dbo.n FROM dbo.u; SELECT @@ROWCOUNT") == 2
    assert (len(rest(limited)), rest(limited, "u")) == (2, [1, 2, 5, 5])


def test_it_limits_the_statements_of_triggers(limited):
    limited.run("SET ROWCOUNT 0")
    limited.run(
        "EXEC('CREATE TRIGGER tr ON dbo.t AFTER DELETE AS INSERT dbo.u SELECT a FROM deleted, "
        "(VALUES (1), (2)) AS d (v)')"
    )
    limited.run("SET ROWCOUNT 2; DELETE dbo.t")
    assert len(rest(limited, "u")) == 2


def test_a_static_cursor_has_so_many_rows_and_a_dynamic_one_all(limited):
    limited.run("DECLARE c CURSOR STATIC FOR SELECT a FROM dbo.t; OPEN c")
    assert limited.value("SELECT @@CURSOR_ROWS") == 2
    limited.run("DECLARE d CURSOR DYNAMIC FOR SELECT a FROM dbo.t; OPEN d")
    limited.run("FETCH d; FETCH d; FETCH d")
    assert limited.value("SELECT @@FETCH_STATUS") == 0


def test_a_procedure_s_own_setting_ends_with_it(limited):
    limited.run("EXEC('CREATE PROCEDURE dbo.p AS SET ROWCOUNT 1; SELECT a FROM dbo.t')")
    assert len(limited.rows("EXEC dbo.p")) == 1
    assert len(limited.rows("SELECT a FROM dbo.t")) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT a FROM dbo.t FOR XML AUTO",
        "MERGE dbo.t USING (VALUES (1)) AS s (v) ON a = v WHEN MATCHED THEN DELETE;",
    ],
)
def test_what_does_not_follow_it_is_refused_by_name(limited, statement):
    assert "SET ROWCOUNT 2" in limited.refusal(statement)


@pytest.mark.parametrize(
    "column",
    ["a int NULL NOT NULL", "a int CHECK (a > 1) CHECK (a < 9)", "a int DEFAULT 1 DEFAULT 2"],
)
def test_a_column_has_one_constraint_of_a_kind(limited, column):
    assert limited.error(f"CREATE TABLE dbo.c ({column})") == 8148


def test_an_alias_may_be_quoted_in_order_by(limited):
    """The COALESCE page, an example; a constant that is no alias is 408."""
    assert limited.rows("SELECT a AS 'last first' FROM dbo.t ORDER BY 'last first' DESC") == [
        (4,),
        (3,),
    ]
    assert limited.error("SELECT a FROM dbo.t ORDER BY 'other'") == 408
