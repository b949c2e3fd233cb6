"""Arguments of a type nobody means: each was a defect once (tools/fuzz_arguments.py found them)."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = "CREATE TABLE t (id int PRIMARY KEY, n int NULL); INSERT t VALUES (1, 1), (2, NULL)"


@pytest.fixture(scope="module")
def lab():
    made = Lab()
    made.run(SETUP)
    return made


def number(lab: Lab, statement: str) -> int:
    """The number of a batch's first error, 0 for none."""
    errors = lab.send(statement).errors
    lab.send("IF @@TRANCOUNT > 0 ROLLBACK")
    return errors[0].number if errors else 0


ARGUMENTS = {
    "SELECT CONVERT(varchar(20), GETDATE(), '120')": 8116,
    "SELECT CONVERT(varchar(20), GETDATE(), CAST(120 AS bigint))": 0,
    "SELECT CONVERT(varchar(20), GETDATE(), NULL)": 0,
    "SELECT CAST(1e30 AS money)": 8115,
    "SELECT CAST(0xFF00000000000000 AS datetime)": 210,
    "SELECT CAST(0x0000000000000000 AS datetime)": 0,
    "SELECT * FROM OPENJSON(1)": 8116,
    "SELECT * FROM OPENJSON(N'{}', 1)": 8116,
    "SELECT STRING_AGG(n, 1) FROM t": 8116,
    "SET ROWCOUNT -0.5": 102,
    "SET DATEFIRST 8": 2742,
    "SET TEXTSIZE 1.5": 102,
    "CREATE SEQUENCE sq START WITH 1; CREATE TABLE o (a int PRIMARY KEY WITH (FILLFACTOR = 1.5))": 102,
    "CREATE LOGIN l WITH PASSWORD = 'aB3xxxxxx!', SID = -1.00": 102,
    "DECLARE @i int; CREATE TABLE o (a int DEFAULT @i)": 112,
    "DECLARE @i int; ALTER TABLE t ADD CHECK (n > @i)": 112,
    "CREATE INDEX i ON t (n) WHERE n + 1 = 2": 10735,
    "CREATE INDEX i ON t (n) WHERE n = 1 OR n = 2": 10735,
    "CREATE INDEX i ON t (n) WHERE n NOT IN (1, 2)": 10735,
    "CREATE INDEX i ON t (n) WHERE n > -1 AND n IN (1, 2) AND id IS NOT NULL; DROP INDEX i ON t": 0,
    "RAISERROR('%s', 16, 1, $1)": 2748,
    "RAISERROR('%s', 16, 1, 1.5)": 2748,
    "DECLARE @v sql_variant = 1; RAISERROR('%s', 16, 1, @v)": 2748,
    "CREATE TABLE i (a int IDENTITY); DBCC CHECKIDENT('i', RESEED, ' ')": 2560,
    "SELECT * FROM sys.fn_my_permissions(1, N'DATABASE')": 0,
    "SELECT * FROM sys.dm_exec_sql_text(N'a')": 257,
}


@pytest.mark.parametrize("statement", ARGUMENTS)
def test_a_server_has_a_number_for_it(lab, statement):
    assert number(lab, statement) == ARGUMENTS[statement]


OPERATORS = {
    "@v + 1": (257, 3, "sql_variant to int"),
    "1.5 * @v": (257, 3, "sql_variant to numeric"),
    "@v / CAST(1 AS bit)": (402, 1, "sql_variant and bit"),
    "@v + 'a'": (402, 1, "sql_variant and varchar"),
    "@v - CAST('20200101' AS datetime)": (402, 1, "sql_variant and datetime"),
    "@v + NULL": (402, 1, "sql_variant and NULL"),
    "@v + @v": (402, 1, "sql_variant and sql_variant"),
    "@v % 2": (402, 1, "in the modulo operator"),
    "@v & 1": (402, 1, "in the '&' operator"),
    "@v | @v": (8117, 1, "sql_variant is invalid for '|' operator"),
    "-@v": (8117, 1, "invalid for minus operator"),
}


@pytest.mark.parametrize("expression", OPERATORS)
def test_no_operator_takes_a_sql_variant(lab, expression):
    """F-538: 257 beside a number, 402 beside anything else."""
    error = lab.send(f"DECLARE @v sql_variant = 1; SELECT {expression}").errors[0]
    wanted, state, text = OPERATORS[expression]
    assert (error.number, error.state) == (wanted, state)
    assert text in error.text
