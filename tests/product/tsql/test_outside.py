"""Text that a server takes and Redial has no use for is refused by name, mistakes are not."""

import pytest

from redial.tsql import TsqlNotSupported, TsqlSyntaxError, parse_batch
from redial.tsql.ast import CreateTable, KeyConstraint

OUTSIDE = [
    ("ALTER TABLE t SPLIT RANGE (1)", "partitioned tables", 15),
    ("ALTER TABLE t REBUILD PARTITION = 1", "partitioned tables", 23),
    ("ALTER TABLE t ALTER COLUMN c INT WITH (ONLINE = ON)", "ALTER COLUMN WITH options", 34),
    ("CREATE TABLE t (c INT) FILESTREAM_ON g", "FILESTREAM storage", 24),
    ("CREATE TABLE t (CONSTRAINT e CONNECTION (a TO b))", "edge constraints", 30),
    ("ALTER INDEX i ON t RESUME", "resumable index operations", 20),
    ("CREATE FUNCTION f () RETURNS TABLE (c INT) AS EXTERNAL NAME a.b.c", "CLR functions", 36),
    ("DROP DATABASE SCOPED CREDENTIAL c", "database scoped credentials", 22),
    (
        "ALTER DATABASE d MODIFY (EDITION = 'x')",
        "ALTER DATABASE MODIFY of an Azure SQL database",
        18,
    ),
    ("SET LANGUAGE 'x', DATEFORMAT ymd", "several SET commands in one statement", 17),
    ("SET OFFSETS SELECT ON", "SET OFFSETS", 5),
    ("LINENO 42", "the statement LINENO", 1),
    ("EXEC ('x') WITH RESULT SETS NONE", "WITH RESULT SETS of EXECUTE of a string", 12),
]


@pytest.mark.parametrize(("sql", "construct", "column"), OUTSIDE)
def test_a_form_outside_the_field_is_refused_by_name_and_position(sql, construct, column):
    with pytest.raises(TsqlNotSupported) as caught:
        parse_batch(sql)
    assert (caught.value.construct, caught.value.column) == (construct, column)


@pytest.mark.parametrize(
    "sql",
    ["ALTER TABLE t SPLIT2", "CREATE TABLE t (c INT) FILESTREAM", "SELECT 1 split 2", "SELECT ,"],
)
def test_a_mistake_stays_a_mistake(sql):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch(sql)
    assert caught.value.number in (102, 156)


def test_white_space_beyond_ascii_separates_tokens():
    assert parse_batch("SELECT\u00a01\u3000AS\u200ba\u2028").statements


def test_a_key_that_names_its_columns_is_the_tables_even_without_a_comma():
    batch = parse_batch("CREATE TABLE t (a INT NOT NULL, b INT NULL CONSTRAINT k PRIMARY KEY (a))")
    table = batch.statements[0]
    assert isinstance(table, CreateTable)
    assert table.elements[1].constraints is None
    assert isinstance(table.elements[2], KeyConstraint)
    assert [column.value.parts for column in table.elements[2].columns] == [("a",)]
