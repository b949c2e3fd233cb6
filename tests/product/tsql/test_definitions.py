"""Modules, tables, databases and security: every part lands in its field."""

import pytest

from redial.tsql import TsqlNotSupported, parse_batch
from redial.tsql.ast import ColumnDef, ComputedColumn, ForeignKey, KeyConstraint, Node, TableIndex


def one(sql: str) -> Node:
    """The only statement of a batch."""
    (statement,) = parse_batch(sql).statements
    return statement


def test_a_procedure_in_full():
    procedure = one(
        "CREATE OR ALTER PROCEDURE dbo.p @a INT = -1, @b NVARCHAR(MAX) OUTPUT, @t dbo.T READONLY, "
        "@w SYSNAME = word WITH RECOMPILE, EXECUTE AS N'u' AS SET NOCOUNT ON; RETURN 1;"
    )
    assert (procedure.verb, procedure.name.parts) == ("CREATE OR ALTER", ("dbo", "p"))
    assert [option.name for option in procedure.options] == ["RECOMPILE"]
    assert procedure.execute_as.value == "u"
    a, b, t, w = procedure.parameters
    assert (a.variable.name, a.default.op, b.output, t.readonly) == ("@a", "-", True, True)
    assert w.default.value == "word"
    assert len(procedure.body) == 2


def test_a_procedure_body_ends_with_its_last_statement():
    batch = parse_batch("CREATE PROCEDURE p AS\nPRINT 1;\n-- the end\n")
    assert batch.source.slice(batch.statements[0]) == "CREATE PROCEDURE p AS\nPRINT 1"
    assert batch.statements[0].terminated


def test_the_three_kinds_of_functions():
    scalar = one("CREATE FUNCTION f (@a INT) RETURNS INT AS BEGIN RETURN @a END")
    assert (scalar.returns.name.name, len(scalar.body)) == ("INT", 1)
    inline = one("CREATE FUNCTION f () RETURNS TABLE AS RETURN SELECT 1 AS a")
    assert len(inline.query.body.items) == 1
    table = one("CREATE FUNCTION f () RETURNS @r TABLE (a INT) AS BEGIN RETURN END")
    assert (table.variable.name, table.elements[0].name) == ("@r", "a")


def test_triggers_of_rows_and_of_definitions():
    trigger = one("CREATE TRIGGER t ON dbo.x INSTEAD OF INSERT, DELETE AS PRINT 1")
    assert (trigger.timing, trigger.events) == ("INSTEAD OF", ["INSERT", "DELETE"])
    trigger = one("CREATE TRIGGER t ON ALL SERVER FOR LOGON AS PRINT 1")
    assert (trigger.scope, trigger.events) == ("ALL SERVER", ["LOGON"])


def test_a_table_in_full():
    table = one(
        "CREATE TABLE dbo.t (id BIGINT IDENTITY(5, 2) NOT NULL PRIMARY KEY NONCLUSTERED, "
        "a NVARCHAR(10) COLLATE Latin1_General_BIN2 NULL CONSTRAINT d DEFAULT N'x', "
        "b AS id + 1 PERSISTED, CONSTRAINT f FOREIGN KEY (a) REFERENCES s (k) ON DELETE CASCADE, "
        "CONSTRAINT u UNIQUE CLUSTERED (a DESC), INDEX i UNIQUE (b) WHERE a > 1)"
    )
    id_, a, b, f, u, i = table.elements
    assert isinstance(id_, ColumnDef)
    assert (id_.identity.seed.value, id_.identity.increment.value, id_.nullable) == (5, 2, False)
    assert (id_.constraints[0].primary, id_.constraints[0].clustered) == (True, False)
    assert (a.collation, a.nullable) == ("Latin1_General_BIN2", True)
    assert (a.constraints[0].name, a.constraints[0].value.value) == ("d", "x")
    assert isinstance(b, ComputedColumn)
    assert b.persisted
    assert isinstance(f, ForeignKey)
    assert (f.columns, f.table.name, f.referenced, f.on_delete) == (["a"], "s", ["k"], "CASCADE")
    assert isinstance(u, KeyConstraint)
    assert (u.primary, u.clustered, u.columns[0].descending) == (False, True, True)
    assert isinstance(i, TableIndex)
    assert i.unique


def test_a_column_without_a_type_is_a_timestamp():
    column = one("CREATE TABLE t (timestamp NOT NULL)").elements[0]
    assert (column.name, column.data_type.name.name) == ("timestamp", "timestamp")


def test_what_is_added_to_and_dropped_from_a_table():
    added = one("ALTER TABLE t WITH NOCHECK ADD CONSTRAINT d DEFAULT 0 FOR a WITH VALUES")
    assert (added.check, added.elements[0].column, added.elements[0].with_values) == (
        False,
        "a",
        True,
    )
    dropped = one("ALTER TABLE t DROP CONSTRAINT c, COLUMN IF EXISTS a, b")
    assert [(i.kind, i.name, i.if_exists) for i in dropped.items] == [
        ("CONSTRAINT", "c", False),
        ("COLUMN", "a", True),
        ("COLUMN", "b", False),
    ]


def test_database_options():
    altered = one("ALTER DATABASE d SET ENABLE_BROKER, RECOVERY SIMPLE WITH ROLLBACK AFTER 5")
    assert [(o.name, getattr(o.value, "text", None)) for o in altered.options] == [
        ("ENABLE_BROKER", None),
        ("RECOVERY", "SIMPLE"),
    ]
    assert (altered.termination, altered.seconds) == ("ROLLBACK AFTER", 5)
    assert one("ALTER DATABASE CURRENT SET TRUSTWORTHY ON").name is None
    option = one("ALTER DATABASE d SET TARGET_RECOVERY_TIME = 60 SECONDS").options[0]
    assert (option.value.value, option.unit) == (60, "SECONDS")


def test_an_option_does_not_swallow_the_next_statement():
    assert len(parse_batch("ALTER DATABASE d SET ENABLE_BROKER\nSELECT 1").statements) == 2


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("GRANT SEND ON SERVICE::[//s] TO public", (["SEND"], "SERVICE", "//s", ["public"])),
        ("DENY RECEIVE ON dbo.q TO a, b", (["RECEIVE"], None, "q", ["a", "b"])),
        (
            "REVOKE VIEW DEFINITION, ALTER ON MESSAGE TYPE::m FROM u CASCADE",
            (["VIEW DEFINITION", "ALTER"], "MESSAGE TYPE", "m", ["u"]),
        ),
    ],
)
def test_permissions(sql, expected):
    found = one(sql)
    assert (
        [permission.name for permission in found.permissions],
        found.securable.kind,
        found.securable.name.name,
        [principal.text for principal in found.principals],
    ) == expected


def test_logins_and_users():
    login = one("CREATE LOGIN l WITH PASSWORD = N'p' MUST_CHANGE, CHECK_POLICY = OFF")
    password, policy = login.options
    assert (password.value.value, password.arguments[0].name) == ("p", "MUST_CHANGE")
    assert policy.value is False
    user = one("CREATE USER u FOR LOGIN l WITH DEFAULT_SCHEMA = [My Schema]")
    assert (user.source, user.source_name.text, user.options[0].value.text) == (
        "LOGIN",
        "l",
        "My Schema",
    )


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("BACKUP DATABASE d TO DISK = 'x'", "BACKUP DATABASE"),
        ("SELECT * FROM OPENROWSET('a', 'b', 'c')", "OPENROWSET in FROM"),
        ("SELECT * FROM t WHERE CONTAINS(a, 'b')", "the predicate CONTAINS"),
        ("CREATE ASSEMBLY a FROM 'x'", "definitions of ASSEMBLY objects"),
        ("CREATE PROCEDURE p AS EXTERNAL NAME a.b.c", "CLR procedures"),
        ("SELECT * FROM t FOR SYSTEM_TIME ALL", "FOR SYSTEM_TIME"),
    ],
)
def test_what_we_do_not_take_is_refused_by_name_and_position(sql, construct):
    with pytest.raises(TsqlNotSupported) as caught:
        parse_batch(sql)
    error = caught.value
    assert (error.number, error.construct) == (60001, construct)
    assert f"{construct} (line 1, column {error.column})" in error.message
