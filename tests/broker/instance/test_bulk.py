"""INSERT BULK and the rows that follow it, as drivers' bulk copy classes send them."""

from __future__ import annotations

import datetime

import pytest

from redial_broker.engine.types import INT, ResultColumn, nvarchar, varchar
from redial_broker.instance.requests import BulkLoad

from .conftest import numbers, texts

COLUMN_V = ResultColumn("v", nvarchar(20))
COLUMN_ID = ResultColumn("id", INT)


@pytest.fixture
def table(session):
    session.execute(
        "CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY, v nvarchar(20) NULL DEFAULT N'given',"
        " d datetime2 NULL, CONSTRAINT ck CHECK (v <> N'bad'))"
    ).ok()
    session.execute(
        "CREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS"
        " BEGIN DECLARE @n int = (SELECT COUNT(*) FROM inserted); PRINT CONCAT('fired ', @n) END"
    ).ok()
    return session


def load(session, statement, columns, rows):
    session.execute(statement).ok()
    session.sink.clear()
    session.submit(BulkLoad(columns, rows))
    session.instance.run()
    return session.sink


def values(session, column="v"):
    return [row[0] for row in session.execute(f"SELECT {column} FROM dbo.t ORDER BY id").rows()]


def test_rows_are_written_and_counted_as_a_bulk_load(table):
    found = load(table, "INSERT BULK dbo.t ([v] nvarchar(20))", [COLUMN_V], [("a",), ("b",)])
    assert [(done.command, done.rowcount) for done in found.dones] == [(0xF0, 2)]
    assert found.finished
    assert values(table) == ["a", "b"]
    assert values(table, "id") == [1, 2]
    assert table.trancount == 0


def test_constraints_triggers_and_nulls_are_as_the_options_say(table):
    rows = [(None,), ("bad",)]
    plain = load(table, "INSERT BULK dbo.t ([v] nvarchar(20))", [COLUMN_V], rows)
    assert texts(plain.ok()) == []
    assert values(table) == ["given", "bad"]
    keeping = load(
        table,
        "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (KEEP_NULLS, FIRE_TRIGGERS,"
        " ROWS_PER_BATCH = 2, ORDER ([v] ASC))",
        [COLUMN_V],
        [(None,), ("c",)],
    )
    assert texts(keeping.ok()) == ["fired 2"]
    assert values(table)[2:] == [None, "c"]
    checked = load(
        table, "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (CHECK_CONSTRAINTS)", [COLUMN_V], rows
    )
    assert numbers(checked)[0] == 547
    assert len(values(table)) == 4


def test_constraints_left_out_are_not_trusted_afterwards(table):
    query = "SELECT is_not_trusted FROM sys.check_constraints WHERE name = N'ck'"
    checked = "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (CHECK_CONSTRAINTS)"
    load(table, checked, [COLUMN_V], [("a",)]).ok()
    assert table.execute(query).one() == 0
    table.execute("BEGIN TRANSACTION").ok()
    load(table, "INSERT BULK dbo.t ([v] nvarchar(20))", [COLUMN_V], [("b",)]).ok()
    assert table.execute(query).one() == 1
    table.execute("ROLLBACK").ok()
    assert table.execute(query).one() == 0


def test_foreign_keys_count_among_the_constraints(table):
    table.execute("CREATE TABLE dbo.child (i int NULL REFERENCES dbo.t (id))").ok()
    sent = [ResultColumn("i", INT)]
    assert (
        numbers(
            load(table, "INSERT BULK dbo.child ([i] int) WITH (CHECK_CONSTRAINTS)", sent, [(9,)])
        )[0]
        == 547
    )
    load(table, "INSERT BULK dbo.child ([i] int)", sent, [(9,)]).ok()
    assert table.execute("SELECT is_not_trusted FROM sys.foreign_keys").one() == 1


def test_values_are_converted_to_the_type_of_the_column(table):
    sent = [ResultColumn("d", varchar(27))]
    load(table, "INSERT BULK dbo.t ([d] varchar(27))", sent, [("2020-01-02 03:04:05",)]).ok()
    assert values(table, "d") == [datetime.datetime(2020, 1, 2, 3, 4, 5)]
    failed = load(table, "INSERT BULK dbo.t ([d] varchar(27))", sent, [("never",)])
    assert numbers(failed) == [241]


def test_a_named_identity_column_keeps_the_values_sent(table):
    statement = "INSERT BULK dbo.t ([id] int, [v] nvarchar(20))"
    load(table, statement, [COLUMN_ID, COLUMN_V], [(70, "x")]).ok()
    twice = load(table, statement, [COLUMN_ID, COLUMN_V], [(71, "y"), (70, "z")])
    assert numbers(twice)[0] == 2627
    assert values(table, "id") == [70]


def test_a_load_belongs_to_the_transaction_it_is_in(table):
    table.execute("BEGIN TRANSACTION").ok()
    load(table, "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (TABLOCK)", [COLUMN_V], [("a",)]).ok()
    assert table.trancount == 1
    table.execute("ROLLBACK").ok()
    assert values(table) == []


def test_a_load_waits_for_a_lock_and_then_writes_its_rows_once(table):
    other = table.instance.connect("db")
    other.execute("BEGIN TRANSACTION; INSERT dbo.t (v) VALUES (N'first')").ok()
    table.execute("SET IDENTITY_INSERT dbo.t OFF").ok()
    waiting = load(
        table, "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (TABLOCK)", [COLUMN_V], [("second",)]
    )
    assert not waiting.finished
    other.execute("COMMIT").ok()
    assert waiting.ok().finished
    assert values(table) == ["first", "second"]


def test_what_is_wrong_is_said_with_the_servers_number(table):
    assert numbers(table.execute("INSERT BULK dbo.none ([v] int)")) == [208]
    assert numbers(table.execute("INSERT BULK dbo.t ([none] int)")) == [207]
    assert numbers(table.execute("INSERT BULK dbo.t ([v] nvarchar(20)) WITH (NO_SUCH)")) == [60001]
    wrong = load(table, "INSERT BULK dbo.t ([v] nvarchar(20))", [ResultColumn("v", INT)], [(1,)])
    assert numbers(wrong) == [4816]


def test_rows_without_insert_bulk_right_before_are_refused(table):
    table.execute("INSERT BULK dbo.t ([v] nvarchar(20))").ok()
    table.execute("SELECT 1").ok()
    table.submit(BulkLoad([COLUMN_V], [("a",)]))
    table.instance.run()
    assert numbers(table.sink) == [4002]
    assert values(table) == []


def test_a_table_changed_in_between_is_not_loaded(table):
    table.execute("INSERT BULK dbo.t ([v] nvarchar(20))").ok()
    table.instance.connect("db").execute("ALTER TABLE dbo.t ADD more int NULL").ok()
    table.sink.clear()
    table.submit(BulkLoad([COLUMN_V], [("a",)]))
    table.instance.run()
    assert numbers(table.sink) == [4891]


def test_insert_is_enough_only_when_no_rule_is_left_out(table):
    table.execute("CREATE USER u WITHOUT LOGIN; GRANT INSERT, SELECT ON dbo.t TO u").ok()
    table.execute("EXECUTE AS USER = 'u'").ok()
    refused = table.execute("INSERT BULK dbo.t ([v] nvarchar(20))")
    assert numbers(refused) and "ALTER" in refused.errors[0].text
    load(
        table,
        "INSERT BULK dbo.t ([v] nvarchar(20)) WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS)",
        [COLUMN_V],
        [("a",)],
    ).ok()
