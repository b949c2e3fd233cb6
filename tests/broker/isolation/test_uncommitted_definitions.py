"""Others wait for a definition that is not committed ("Locking guide", schema locks)."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE dbo.T (a int PRIMARY KEY);
INSERT dbo.T VALUES (1);
EXEC (N'CREATE PROCEDURE dbo.P AS SELECT 1 AS one');
EXEC (N'CREATE VIEW dbo.V AS SELECT a FROM dbo.T');
"""

CHANGES = [
    ("DROP TABLE dbo.T", "SELECT a FROM dbo.T", 208),
    ("DROP TABLE dbo.T", "INSERT dbo.T VALUES (2)", 208),
    ("ALTER TABLE dbo.T ADD b int", "SELECT a FROM dbo.T", None),
    ("DROP PROCEDURE dbo.P", "EXEC dbo.P", 2812),
    ("EXEC (N'ALTER PROCEDURE dbo.P AS SELECT 2 AS two')", "EXEC dbo.P", None),
    ("DROP VIEW dbo.V", "SELECT a FROM dbo.V", 208),
    ("CREATE TABLE dbo.N (a int)", "SELECT a FROM dbo.N", None),
    ("DROP TABLE dbo.T", "IF OBJECT_ID(N'dbo.T') IS NULL PRINT 'gone'", None),
    ("DROP TABLE dbo.T", "DROP TABLE dbo.T", 3701),
]


@pytest.fixture
def two():
    lab = Lab()
    lab.run(SETUP)
    return lab, lab.other()


@pytest.mark.parametrize(("change", "use", "number"), CHANGES)
def test_a_name_is_looked_up_when_the_change_has_committed(two, change, use, number):
    writer, reader = two
    writer.run("BEGIN TRAN; " + change)
    waiting = reader.send(use)
    assert reader.session.wait is not None and not waiting.errors
    writer.run("COMMIT")
    assert [e.number for e in waiting.errors] == ([] if number is None else [number])
    assert reader.session.transaction is None


@pytest.mark.parametrize(("change", "use", "number"), CHANGES)
def test_after_a_rollback_the_old_definition_is_used(two, change, use, number):
    writer, reader = two
    writer.run("BEGIN TRAN; " + change)
    waiting = reader.send(use)
    writer.run("ROLLBACK")
    errors = [e.number for e in waiting.errors]
    assert errors == ([208] if "dbo.N" in use else [])
    assert reader.session.transaction is None
    assert not writer.instance.engine.locks.resources


def test_the_one_who_changes_it_sees_the_change(two):
    writer, _ = two
    assert writer.send("BEGIN TRAN; DROP TABLE dbo.T; SELECT a FROM dbo.T").errors[0].number == 208


def test_a_wait_for_a_definition_ends_by_the_lock_timeout(two):
    writer, reader = two
    writer.run("BEGIN TRAN; DROP TABLE dbo.T")
    answer = reader.send("SET LOCK_TIMEOUT 0; SELECT a FROM dbo.T")
    assert [e.number for e in answer.errors] == [1222]
    assert reader.session.transaction is None


def test_others_of_the_same_name_in_another_schema_are_not_blocked(two):
    writer, reader = two
    writer.run("EXEC (N'CREATE SCHEMA x'); CREATE TABLE x.T (a int)")
    writer.run("BEGIN TRAN; DROP TABLE dbo.T")
    assert reader.run("SELECT a FROM x.T").rows() == []
