"""INSTEAD OF triggers on tables and views."""

import pytest


def test_the_trigger_runs_instead_and_its_own_statement_reaches_the_table(lab):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t INSTEAD OF INSERT AS "
        "INSERT dbo.t SELECT id, x * 10 FROM inserted WHERE id > 1"
    )
    assert lab.rows("INSERT dbo.t VALUES (1, 1), (2, 2); SELECT @@ROWCOUNT") == [(2,)]
    assert lab.rows("SELECT id, x FROM dbo.t") == [(2, 20)]


def test_update_and_delete_are_replaced_too(lab, log):
    lab.run("INSERT dbo.t VALUES (1, 1), (2, 2)")
    lab.run(
        "CREATE TRIGGER tr ON dbo.t INSTEAD OF UPDATE, DELETE AS INSERT dbo.log (what, id, x) "
        "SELECT 'old', id, x FROM deleted UNION ALL SELECT 'new', id, x FROM inserted"
    )
    lab.run("UPDATE dbo.t SET x = 7 WHERE id = 2; DELETE dbo.t WHERE id = 1")
    assert log() == [("old", 2, 2), ("new", 2, 7), ("old", 1, 1)]
    assert lab.rows("SELECT id, x FROM dbo.t") == [(1, 1), (2, 2)]


def test_after_triggers_follow_what_the_instead_of_trigger_writes(lab, log):
    lab.run(
        "CREATE TRIGGER a ON dbo.t AFTER INSERT AS "
        "INSERT dbo.log (what, id) SELECT 'after', id FROM inserted"
    )
    lab.run(
        "CREATE TRIGGER i ON dbo.t INSTEAD OF INSERT AS INSERT dbo.t SELECT id + 1, x FROM inserted"
    )
    lab.run("INSERT dbo.t VALUES (1, 1)")
    assert log() == [("after", 2, None)]


def test_no_identity_value_is_drawn(lab):
    lab.run("CREATE TRIGGER tr ON dbo.log INSTEAD OF INSERT AS SELECT n, what FROM inserted")
    assert lab.rows("INSERT dbo.log (what) VALUES ('a')") == [(0, "a")]
    lab.run("DROP TRIGGER tr; INSERT dbo.log (what) VALUES ('b')")
    assert lab.rows("SELECT n FROM dbo.log") == [(1,)]


def test_constraints_are_checked_only_by_what_the_trigger_does(lab):
    lab.run("INSERT dbo.t VALUES (1, 1)")
    lab.run("CREATE TRIGGER tr ON dbo.t INSTEAD OF INSERT AS PRINT 'nothing'")
    lab.run("INSERT dbo.t VALUES (1, 1), (NULL, 2)")


def test_a_view_is_written_through_its_triggers(lab):
    lab.run("CREATE VIEW dbo.w AS SELECT id AS a, x + 1 AS b FROM dbo.t")
    lab.run(
        "CREATE TRIGGER wi ON dbo.w INSTEAD OF INSERT AS INSERT dbo.t SELECT a, b - 1 FROM inserted"
    )
    lab.run("INSERT dbo.w VALUES (1, 11), (2, 21)")
    assert lab.rows("SELECT id, x FROM dbo.t") == [(1, 10), (2, 20)]
    lab.run("DELETE dbo.w WHERE a = 1")  # no trigger for it: through to the table
    assert lab.rows("SELECT id FROM dbo.t") == [(2,)]
    lab.run(
        "CREATE TRIGGER wu ON dbo.w INSTEAD OF UPDATE, DELETE AS "
        "DELETE dbo.t WHERE id IN (SELECT a FROM deleted); "
        "INSERT dbo.t SELECT a, b - 1 FROM inserted"
    )
    lab.run("UPDATE dbo.w SET b = b * 2 WHERE a = 2; DELETE dbo.w WHERE b = 11")
    assert lab.rows("SELECT id, x FROM dbo.t") == [(2, 41)]
    lab.run("DROP VIEW dbo.w")
    assert lab.rows("SELECT name FROM sys.triggers") == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TRIGGER two ON dbo.t INSTEAD OF UPDATE, INSERT AS PRINT 1", 2111),
        ("CREATE TRIGGER two ON dbo.v AFTER INSERT AS PRINT 1", 8197),
    ],
)
def test_what_is_wrong_has_the_servers_number(lab, text, number):
    lab.run("CREATE TRIGGER one ON dbo.t INSTEAD OF INSERT AS PRINT 1")
    lab.run("CREATE VIEW dbo.v AS SELECT id FROM dbo.t")
    assert lab.error(text) == number
