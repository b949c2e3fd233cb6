"""sp_describe_first_result_set and SET FMTONLY: the columns of a result that is not made."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance


@pytest.fixture
def session():
    found = Instance(seed=7).connect()
    found.execute(
        "CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY, v nvarchar(20) NULL, d decimal(9,2))"
    ).ok()
    found.execute(
        "CREATE PROCEDURE dbo.p @a int AS SET NOCOUNT ON; DECLARE @x int = 1; SELECT @a AS a, v"
        " FROM dbo.t"
    ).ok()
    return found


def described(session, text, parameters="NULL"):
    found = session.execute(f"EXEC sp_describe_first_result_set N'{text}', {parameters}")
    return [
        (row["name"], row["system_type_name"], row["is_nullable"], row["tds_length"])
        for row in found.ok().result_sets[0].dicts()
    ]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT id, v FROM dbo.t", [("id", "int", 0, 4), ("v", "nvarchar(20)", 1, 40)]),
        (
            "DECLARE @n bigint = 1; SET NOCOUNT ON; SELECT @n AS n; SELECT 2",
            [("n", "bigint", 1, 8)],
        ),
        ("EXECUTE dbo.p 3", [("a", "int", 1, 4), ("v", "nvarchar(20)", 1, 40)]),
        ("INSERT dbo.t (v) VALUES (N''x''); SELECT d FROM dbo.t", [("d", "decimal(9,2)", 1, 5)]),
        ("INSERT dbo.t (v) VALUES (N''x'')", []),
        ("SELECT CAST(NULL AS xml) AS x", [("x", "xml", 1, 8100)]),
    ],
)
def test_the_first_result_is_described_and_nothing_runs(session, text, columns):
    assert described(session, text) == columns
    assert session.execute("SELECT COUNT(*) FROM dbo.t").one() == 0


def test_parameters_are_declared_beside_the_text(session):
    assert described(session, "SELECT @p AS p", "N'@p varchar(max)'") == [
        ("p", "varchar(max)", 1, 65535)
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SELECT nope FROM dbo.t", 207),
        ("SELECT 1 FROM dbo.nothing", 208),
        ("SELECT @p", 137),
        ("EXECUTE dbo.nothing", 2812),
        ("IF 1 = 1 SELECT 1", 60001),
        ("INSERT dbo.t (v) OUTPUT inserted.id VALUES (N''x'')", 60001),
        ("EXECUTE sp_who", 60001),
    ],
)
def test_what_cannot_be_described_is_an_error(session, text, number):
    found = session.execute(f"EXEC sp_describe_first_result_set N'{text}'")
    assert found.errors[0].number == number


def test_fmtonly_sends_columns_and_changes_nothing(session):
    found = session.execute(
        "SET FMTONLY ON SELECT * FROM dbo.t INSERT dbo.t (v) VALUES (N'a')"
        " DECLARE @i int SELECT @i = id FROM dbo.t SET FMTONLY OFF SELECT COUNT(*) AS n FROM dbo.t"
    ).ok()
    assert [(part.names, part.rows) for part in found.result_sets] == [
        (["id", "v", "d"], []),
        (["n"], [(0,)]),
    ]


def test_fmtonly_lasts_over_batches_and_ends_with_the_inner_one(session):
    session.execute("SET FMTONLY ON").ok()
    assert session.execute("SELECT 1 AS a").ok().result_sets[0].rows == []
    assert session.execute("EXECUTE dbo.p 1").errors[0].number == 60001
    session.execute("SET FMTONLY OFF").ok()
    assert session.execute("SELECT 1 AS a").one() == 1
    inner = session.execute("EXEC sp_executesql N'SET FMTONLY ON SELECT id FROM dbo.t'").ok()
    assert inner.result_sets[0].names == ["id"]
    assert session.execute("SELECT 2").one() == 2


def test_flow_of_control_under_fmtonly_is_refused_by_name(session):
    [error] = session.execute("SET FMTONLY ON; IF 1 = 1 SELECT 1").errors
    assert (error.number, "IF" in error.text) == (60001, True)
