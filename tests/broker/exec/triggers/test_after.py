"""AFTER triggers: when they fire, what they see, what their errors and rollbacks do."""

import pytest

from redial_broker.instance.requests import Batch

AUDIT = """CREATE TRIGGER dbo.audit ON dbo.t AFTER INSERT, UPDATE, DELETE AS
BEGIN
  INSERT dbo.log (what, id, x) SELECT 'new', id, x FROM inserted;
  INSERT dbo.log (what, id, x) SELECT 'old', d.id, d.x FROM deleted AS d;
END"""


def numbers(sink) -> list[int]:
    return [error.number for error in sink.errors]


def test_a_trigger_sees_the_rows_before_and_after(lab, log):
    lab.run(AUDIT)
    lab.run("INSERT dbo.t VALUES (1, 2), (3, 4)")
    lab.run("UPDATE dbo.t SET x = x + 1 WHERE id = 1")
    lab.run("DELETE dbo.t WHERE id = 3")
    assert log() == [("new", 1, 2), ("new", 3, 4), ("new", 1, 3), ("old", 1, 2), ("old", 3, 4)]
    assert lab.value("SELECT @@TRANCOUNT") == 0


def test_it_fires_once_per_statement_even_for_no_rows_and_not_for_truncate(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t FOR DELETE AS "
        "INSERT dbo.log (what, id, x) VALUES ('fired', @@ROWCOUNT, @@TRANCOUNT)"
    )
    lab.run("INSERT dbo.t VALUES (1, 1), (2, 2)")
    lab.run("DELETE dbo.t WHERE id = 99; DELETE dbo.t; TRUNCATE TABLE dbo.t")
    assert log() == [("fired", 0, 2), ("fired", 2, 2)]


def test_the_row_count_of_the_statement_is_told_after_its_triggers(lab):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS "
        "INSERT dbo.log (what) VALUES ('a'), ('b'), ('c')"
    )
    assert lab.rows(
        "INSERT dbo.t VALUES (1, 1); SELECT @@ROWCOUNT, @@IDENTITY, SCOPE_IDENTITY()"
    ) == [(1, 3, None)]


def test_several_triggers_run_in_the_order_they_were_made(lab, log):
    for name in ("b", "a", "c"):
        lab.run(
            f"CREATE TRIGGER {name} ON dbo.t AFTER INSERT AS "
            f"INSERT dbo.log (what) VALUES ('{name}')"
        )
    lab.run("INSERT dbo.t VALUES (1, 1)")
    assert [what for what, *_ in log()] == ["b", "a", "c"]
    lab.run("DISABLE TRIGGER a ON dbo.t; ALTER TABLE dbo.t DISABLE TRIGGER b")
    lab.run("INSERT dbo.t VALUES (2, 1)")
    assert [what for what, *_ in log()][3:] == ["c"]
    lab.run("ENABLE TRIGGER ALL ON dbo.t; DROP TRIGGER c, b; INSERT dbo.t VALUES (3, 1)")
    assert [what for what, *_ in log()][4:] == ["a"]


def test_update_of_a_column_asks_what_the_statement_assigns(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT, UPDATE AS BEGIN "
        "IF UPDATE(x) INSERT dbo.log (what) VALUES ('x'); "
        "IF UPDATE(id) INSERT dbo.log (what) VALUES ('id') END"
    )
    lab.run("INSERT dbo.t (id) VALUES (1)")
    lab.run("UPDATE dbo.t SET x = x WHERE id = 77")
    assert [what for what, *_ in log()] == ["x", "id", "x"]
    assert lab.error("CREATE TRIGGER t2 ON dbo.t AFTER UPDATE AS IF UPDATE(nope) PRINT 1") == 207


def test_a_trigger_that_changes_its_own_table_does_not_fire_itself(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN "
        "INSERT dbo.log (what, x) VALUES ('fired', TRIGGER_NESTLEVEL()); "
        "INSERT dbo.t SELECT id + 100, x FROM inserted END"
    )
    lab.run("INSERT dbo.t VALUES (1, 1)")
    assert log() == [("fired", None, 1)]
    assert lab.rows("SELECT id FROM dbo.t ORDER BY id") == [(1,), (101,)]


def test_two_triggers_that_fire_each_other_end_at_32_levels(lab, log):
    lab.run("CREATE TABLE dbo.u (id int)")
    lab.run("CREATE TRIGGER a ON dbo.t AFTER INSERT AS INSERT dbo.u SELECT id FROM inserted")
    lab.run(
        "CREATE TRIGGER b ON dbo.u AFTER INSERT AS INSERT dbo.t SELECT MAX(id) + 1, 0 FROM dbo.t"
    )
    assert lab.error("INSERT dbo.t VALUES (1, 1)") == 217
    assert lab.rows("SELECT * FROM dbo.t") == []
    assert lab.value("SELECT @@TRANCOUNT") == 0


def test_an_error_in_the_body_ends_the_batch_and_undoes_the_statement(lab, log):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS INSERT dbo.t SELECT id, 0 FROM inserted")
    assert numbers(lab.send("INSERT dbo.t VALUES (1, 1); INSERT dbo.log (what) VALUES ('on')")) == [
        2627
    ]
    assert lab.rows("SELECT * FROM dbo.t") == []
    assert log() == []
    lab.run("BEGIN TRANSACTION; INSERT dbo.log (what) VALUES ('before')")
    assert lab.error("INSERT dbo.t VALUES (1, 1)") == 2627
    assert lab.value("SELECT @@TRANCOUNT") == 0
    assert log() == []


def test_a_rollback_in_the_body_lets_it_go_on_and_ends_the_batch_with_3609(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN ROLLBACK; "
        "INSERT dbo.log (what, x) VALUES ('after', @@TRANCOUNT) END"
    )
    sink = lab.send("INSERT dbo.t VALUES (1, 1); INSERT dbo.log (what) VALUES ('never')")
    assert numbers(sink) == [3609]
    assert log() == [("after", None, 2)]
    assert lab.rows("SELECT * FROM dbo.t") == []


def test_an_error_caught_inside_dooms_the_statement_with_3616(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN TRY SELECT 1 / 0 END TRY "
        "BEGIN CATCH PRINT XACT_STATE() END CATCH"
    )
    sink = lab.send("INSERT dbo.t VALUES (1, 1); PRINT 'never'")
    assert numbers(sink) == [3616]
    assert lab.rows("SELECT * FROM dbo.t") == []


def test_with_xact_abort_off_first_a_caught_error_is_harmless(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN SET XACT_ABORT OFF; "
        "BEGIN TRY SELECT 1 / 0 END TRY "
        "BEGIN CATCH INSERT dbo.log (what) VALUES ('caught') END CATCH END"
    )
    lab.run("INSERT dbo.t VALUES (1, 1)")
    assert log() == [("caught", None, None)]
    assert lab.rows("SELECT id FROM dbo.t") == [(1,)]


def test_a_callers_catch_sees_the_error_and_a_doomed_transaction(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS THROW 50001, 'no', 1")
    assert lab.rows(
        "BEGIN TRANSACTION; BEGIN TRY INSERT dbo.t VALUES (1, 1) END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER(), ERROR_PROCEDURE(), XACT_STATE() END CATCH; ROLLBACK"
    ) == [(50001, "tr", -1)]
    assert lab.rows(
        "BEGIN TRY INSERT dbo.t VALUES (1, 1) END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER(), @@TRANCOUNT END CATCH"
    ) == [(50001, 0)]
    assert lab.rows("SELECT * FROM dbo.t") == []


def test_raiserror_in_the_body_is_reported_and_undoes_nothing(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS RAISERROR('careful', 16, 1)")
    assert numbers(lab.send("INSERT dbo.t VALUES (1, 1)")) == [50000]
    assert lab.rows("SELECT id FROM dbo.t") == [(1,)]


def test_xact_abort_is_on_inside_and_as_before_outside(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS SELECT @@OPTIONS & 16384 AS inside")
    sink = lab.run("INSERT dbo.t VALUES (1, 1); SELECT @@OPTIONS & 16384")
    assert [result.rows for result in sink.result_sets] == [[(16384,)], [(0,)]]


def test_a_wait_in_the_body_runs_only_its_own_statement_again(lab, log):
    lab.run("CREATE TABLE dbo.busy (id int PRIMARY KEY, n int); INSERT dbo.busy VALUES (1, 0)")
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN "
        "INSERT dbo.log (what) VALUES ('first'); UPDATE dbo.busy SET n += 1 WHERE id = 1 END"
    )
    other = lab.other()
    other.run("BEGIN TRANSACTION; UPDATE dbo.busy SET n = 10")
    lab.session.sink.clear()
    lab.session.submit(Batch("INSERT dbo.t VALUES (1, 1); SELECT @@ROWCOUNT"))
    lab.instance.run()
    assert lab.session.wait is not None
    assert lab.session.content() == lab.session.content()
    other.run("COMMIT")
    lab.instance.run()
    assert lab.session.sink.result_sets[-1].rows == [(1,)]
    assert log() == [("first", None, None)]
    assert lab.value("SELECT n FROM dbo.busy") == 11


def test_a_cancelled_statement_takes_its_triggers_work_with_it(lab, log):
    lab.run("CREATE TABLE dbo.busy (id int PRIMARY KEY, n int); INSERT dbo.busy VALUES (1, 0)")
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN "
        "INSERT dbo.log (what) VALUES ('first'); UPDATE dbo.busy SET n += 1 WHERE id = 1 END"
    )
    other = lab.other()
    other.run("BEGIN TRANSACTION; UPDATE dbo.busy SET n = 10")
    lab.session.submit(Batch("INSERT dbo.t VALUES (1, 1)"))
    lab.instance.run()
    lab.session.attention()
    other.run("COMMIT")
    assert log() == []
    assert lab.rows("SELECT @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.t)") == [(0, 0)]


def test_output_to_the_client_is_refused_beside_a_trigger(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS PRINT 'x'")
    assert lab.error("INSERT dbo.t OUTPUT inserted.id VALUES (1, 1)") == 334
    lab.run("DECLARE @o TABLE (id int); INSERT dbo.t OUTPUT inserted.id INTO @o VALUES (1, 1)")
    assert lab.error("DELETE dbo.log OUTPUT deleted.id, 1 INTO dbo.t (id, x)") == 331


def test_the_row_images_join_group_and_nest_like_tables(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER UPDATE AS BEGIN "
        "IF NOT EXISTS (SELECT id, x FROM inserted EXCEPT SELECT id, x FROM deleted) RETURN; "
        "UPDATE l SET x = i.x FROM dbo.log AS l JOIN inserted AS i ON i.id = l.id; "
        "INSERT dbo.log (what, id) SELECT 'sum', (SELECT SUM(x) FROM inserted) "
        "- (SELECT SUM(deleted.x) FROM deleted); "
        "SELECT * INTO #copy FROM inserted; "
        "EXEC (N'INSERT dbo.log (what, id) SELECT ''copy'', COUNT(*) FROM #copy') END"
    )
    lab.run("INSERT dbo.t VALUES (1, 1), (2, 2); INSERT dbo.log (id) VALUES (2)")
    lab.run("UPDATE dbo.t SET x = x; UPDATE dbo.t SET x = x + 5")
    assert log() == [(None, 2, 7), ("sum", 10, None), ("copy", 2, None)]


def test_a_procedure_called_by_a_trigger_does_not_see_the_row_images(lab):
    lab.run("CREATE PROCEDURE dbo.p AS SELECT COUNT(*) FROM inserted")
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS EXEC dbo.p")
    assert lab.error("INSERT dbo.t VALUES (1, 1)") == 208


def test_a_low_privileged_user_fires_triggers_through_the_ownership_chain(lab, log):
    lab.run("CREATE USER u WITHOUT LOGIN; GRANT INSERT ON dbo.t TO u")
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS "
        "INSERT dbo.log (what, id) SELECT USER_NAME(), id FROM inserted"
    )
    lab.run("EXECUTE AS USER = 'u'; INSERT dbo.t VALUES (1, 1); REVERT")
    assert log() == [("u", 1, None)]


def test_a_trigger_runs_as_the_principal_it_names(lab, log):
    lab.run("CREATE USER u WITHOUT LOGIN; GRANT INSERT ON dbo.log TO u")
    lab.run(
        "CREATE TRIGGER tr ON dbo.t WITH EXECUTE AS 'u' AFTER INSERT AS "
        "INSERT dbo.log (what) VALUES (USER_NAME())"
    )
    assert lab.rows("INSERT dbo.t VALUES (1, 1); SELECT USER_NAME()") == [("dbo",)]
    assert log() == [("u", None, None)]


def test_a_savepoint_made_inside_can_be_rolled_back_to(lab, log):
    lab.run(
        "CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN SAVE TRANSACTION here; "
        "INSERT dbo.log (what) VALUES ('gone'); ROLLBACK TRANSACTION here; "
        "INSERT dbo.log (what) VALUES ('kept') END"
    )
    lab.run("INSERT dbo.t VALUES (1, 1)")
    assert [what for what, *_ in log()] == ["kept"]
    assert lab.rows("SELECT id FROM dbo.t") == [(1,)]


def test_a_commit_in_the_body_ends_with_3609_too(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS COMMIT")
    assert numbers(lab.send("INSERT dbo.t VALUES (1, 1)")) == [3609]
    assert lab.value("SELECT COUNT(*) FROM dbo.t") == 1


def test_a_body_that_changes_the_transaction_count_is_refused(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN TRANSACTION")
    assert "@@TRANCOUNT" in lab.refusal("INSERT dbo.t VALUES (1, 1)")
    assert lab.rows("SELECT @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.t)") == [(0, 0)]


def test_insert_exec_fires_too(lab, log):
    lab.run(AUDIT)
    lab.run("INSERT dbo.t EXEC (N'SELECT 5, 6'); INSERT dbo.t EXEC (N'SELECT 7, 8')")
    assert log() == [("new", 5, 6), ("new", 7, 8)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TRIGGER tr ON dbo.nope AFTER INSERT AS PRINT 1", 8197),
        ("CREATE TRIGGER log ON dbo.t AFTER INSERT AS PRINT 1", 2714),
        ("CREATE TRIGGER sys.tr ON dbo.t AFTER INSERT AS PRINT 1", 2103),
        ("ALTER TRIGGER nope ON dbo.t AFTER INSERT AS PRINT 1", 208),
        ("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS SET @x = 1", 137),
        ("CREATE TRIGGER tr ON ALL SERVER FOR LOGON AS PRINT 1", 60001),
        ("DISABLE TRIGGER nope ON dbo.t", 1088),
        ("DROP TRIGGER nope", 3701),
    ],
)
def test_what_is_wrong_has_the_servers_number(lab, text, number):
    assert lab.error(text) == number


def test_the_row_images_cannot_be_changed(lab):
    lab.run("CREATE TRIGGER tr ON dbo.t AFTER INSERT AS DELETE inserted")
    assert lab.error("INSERT dbo.t VALUES (1, 1)") == 286


def test_a_trigger_follows_its_table(lab, log):
    lab.run(AUDIT)
    lab.run("ALTER TABLE dbo.t ADD y int")
    lab.run(
        "ALTER TRIGGER audit ON dbo.t AFTER INSERT AS "
        "INSERT dbo.log (what, x) SELECT 'y', y FROM inserted"
    )
    lab.run("INSERT dbo.t VALUES (1, 2, 3)")
    assert log() == [("y", None, 3)]
    lab.run("DROP TABLE dbo.t")
    assert lab.rows("SELECT name FROM sys.triggers") == []


def test_the_catalog_shows_triggers(lab):
    lab.run(AUDIT)
    lab.run("DISABLE TRIGGER audit ON dbo.t")
    assert lab.rows(
        "SELECT t.name, OBJECT_NAME(t.parent_id), t.is_disabled, t.is_instead_of_trigger, "
        "o.type FROM sys.triggers t JOIN sys.objects o ON o.object_id = t.object_id"
    ) == [("audit", "t", 1, 0, "TR")]
    assert lab.rows("SELECT type_desc FROM sys.trigger_events ORDER BY type") == [
        ("INSERT",),
        ("UPDATE",),
        ("DELETE",),
    ]
    assert lab.value("SELECT definition FROM sys.sql_modules") == AUDIT


def test_a_rolled_back_create_leaves_no_trigger(lab, log):
    lab.run("BEGIN TRANSACTION")
    lab.run(AUDIT)
    lab.run("ROLLBACK; INSERT dbo.t VALUES (1, 1)")
    assert log() == []
