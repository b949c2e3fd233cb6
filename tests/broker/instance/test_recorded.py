"""What recordings of a real SQL Server 2025 show (docs/facts.md, class recorded)."""

from __future__ import annotations

import pytest

from redial_broker.engine.types import SELECT_DONE
from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    return Lab()


def shown(sink):
    """(number, severity, state) of everything said, in order."""
    return [(m.number, m.severity, m.state) for m in sink.messages]


# ------------------------------------------------------------------ F-279
def test_rowcount_is_zero_behind_the_condition_of_an_if(lab):
    sink = lab.run("SELECT v FROM (VALUES (1), (2)) AS d (v); IF 1 = 1 SELECT @@ROWCOUNT")
    assert sink.result_sets[-1].rows == [(0,)]


# ------------------------------------------------------------------ F-520 arguments of EXEC
@pytest.fixture
def called(lab):
    lab.run("EXEC('CREATE PROCEDURE dbo.one @n tinyint, @m int = 2 AS SELECT @n AS n')")
    return lab


@pytest.mark.parametrize(
    ("arguments", "number", "state", "goes_on"),
    [
        ("'word'", 8114, 5, True),
        ("256", 8114, 5, True),
        ("", 201, 4, True),
        ("1, @other = 2", 8145, 2, True),
        ("1, 2, 3", 8144, 2, False),
    ],
)
def test_a_wrong_argument_fails_the_call_alone(called, arguments, number, state, goes_on):
    sink = called.send(f"EXEC dbo.one {arguments}; PRINT 'on'")
    error = sink.errors[0]
    assert (error.number, error.state, error.line, error.procedure) == (number, state, 0, "one")
    assert [m.text for m in sink.infos] == (["on"] if goes_on else [])


def test_a_prepared_call_says_the_same(called):
    sink = called.send(
        "DECLARE @i int = 253; WHILE @i < 258 BEGIN EXEC dbo.one @i; SET @i += 1 END"
    )
    assert [(e.line, e.procedure) for e in sink.errors] == [(0, "one")] * 2
    assert shown(sink) == [(8114, 16, 5)] * 2


def test_a_caller_can_catch_it(called):
    assert called.rows(
        "BEGIN TRY EXEC dbo.one 'word' END TRY BEGIN CATCH "
        "SELECT ERROR_NUMBER(), ERROR_LINE(), ERROR_PROCEDURE(), XACT_STATE() END CATCH"
    ) == [(8114, 0, "one", 0)]


# ------------------------------------------------------------------ F-521 return status
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("PRINT 1", 0),
        ("RAISERROR('x', 10, 1)", 0),
        ("RAISERROR('x', 11, 1)", -1),
        ("RAISERROR('x', 14, 1); RAISERROR('x', 11, 1); RETURN", -4),
        ("RAISERROR('x', 16, 1); RETURN 5", 5),
        ("RAISERROR('x', 16, 1); RETURN 0", 0),
        ("DECLARE @n int; SET @n = 1 / 0", -6),
        ("BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH PRINT 1 END CATCH", -6),
        ("EXEC('RAISERROR(''x'', 16, 1)')", 0),
        ("EXEC dbo.nobody", 0),
    ],
)
def test_a_procedure_returns_what_its_worst_error_was(lab, body, status):
    lab.run("EXEC('CREATE PROCEDURE dbo.p AS " + body.replace("'", "''") + "')")
    sink = lab.send("DECLARE @r int = 7; EXEC @r = dbo.p; SELECT @r")
    assert sink.result_sets[-1].rows == [(status,)]


def test_return_null_is_zero_and_says_so(lab):
    lab.run("EXEC('CREATE PROCEDURE dbo.p AS RETURN NULL')")
    sink = lab.run("DECLARE @r int = 7; EXEC @r = dbo.p; SELECT @r")
    assert (sink.result_sets[-1].rows, shown(sink)) == ([(0,)], [(282, 0, 1)])


def test_dynamic_text_returns_the_last_error(lab):
    assert lab.rows(
        "DECLARE @r int; EXEC @r = sp_executesql "
        "N'BEGIN TRY THROW 50003, ''x'', 1 END TRY BEGIN CATCH RETURN END CATCH'; SELECT @r"
    ) == [(50003,)]


# ------------------------------------------------------------------ F-522 what ends the batch
@pytest.mark.parametrize(
    ("statement", "numbers"),
    [
        ("SAVE TRANSACTION a", [(628, 16, 0)]),
        ("ALTER TABLE dbo.t ADD PRIMARY KEY (b)", [(1779, 16, 0), (1750, 16, 0)]),
        ("ALTER TABLE dbo.t DROP COLUMN nope", [(4924, 16, 1)]),
        ("ALTER TABLE dbo.t DROP COLUMN a", [(5074, 16, 1), (4922, 16, 9)]),
        ("ALTER TABLE dbo.nope ADD c int", [(4902, 16, 1)]),
        ("CREATE UNIQUE INDEX i ON dbo.t (b)", [(1505, 16, 1), (3621, 0, 0)]),
        (
            "ALTER TABLE dbo.t ADD UNIQUE (b)",
            [(1505, 16, 1), (1750, 16, 1), (3621, 0, 0)],
        ),
        ("ALTER TABLE dbo.t ADD CONSTRAINT c CHECK (b > 1)", [(547, 16, 0)]),
        ("ALTER TABLE dbo.t ADD c int NOT NULL", [(4901, 16, 1)]),
    ],
)
def test_errors_of_definitions_end_the_batch(lab, statement, numbers):
    lab.run("CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY, b int NOT NULL)")
    lab.run("INSERT dbo.t VALUES (1, 1), (2, 1)")
    sink = lab.send(f"{statement}; PRINT 'on'")
    assert shown(sink) == numbers


def test_dropping_what_is_not_there_does_not(lab):
    sink = lab.send("DROP TABLE dbo.nope; PRINT 'on'")
    assert [m.number for m in sink.messages] == [3701, 0]


@pytest.mark.parametrize(
    ("statement", "caught"),
    [
        ("ALTER TABLE dbo.t DROP COLUMN nope", 4924),
        ("ALTER TABLE dbo.t DROP CONSTRAINT nope", 3727),
        ("CREATE INDEX i ON dbo.t (nope)", 1911),
        ("ALTER TABLE dbo.t ADD PRIMARY KEY (b)", None),
        ("ALTER TABLE dbo.nope ADD c int", None),
    ],
)
def test_which_of_them_a_try_of_the_same_scope_sees(lab, statement, caught):
    lab.run("CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY, b int NOT NULL)")
    sink = lab.send(f"BEGIN TRY {statement} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH")
    assert [s.rows for s in sink.result_sets] == ([] if caught is None else [[(caught,)]])


# ------------------------------------------------------------------ F-523 states
def test_states_that_are_not_one(lab):
    lab.run("CREATE TABLE dbo.t (a int NOT NULL)")
    assert shown(lab.send("INSERT dbo.t VALUES (NULL)"))[0] == (515, 16, 2)
    assert shown(lab.send("DECLARE @n int = 99999999999"))[0] == (8115, 16, 2)
    assert shown(lab.send("SELECT @n"))[0] == (137, 15, 2)
    assert shown(lab.send("SELECT CAST(1e9 AS smallint)"))[0] == (232, 16, 3)


# ------------------------------------------------------------------ F-524 message 3621
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE dbo.t SET a = 1 / 0", [8134, 3621]),
        ("DELETE dbo.t WHERE 1 / 0 = a", [8134, 3621]),
        ("UPDATE dbo.t SET a = (SELECT v FROM (VALUES (1), (2)) AS d (v))", [512, 3621]),
        ("SELECT 1 / 0", [8134]),
        ("SELECT 2147483647 + a FROM dbo.t", [8115]),
        ("SET XACT_ABORT ON; UPDATE dbo.t SET a = 1 / 0", [8134]),
        ("UPDATE dbo.t SET a = CAST('x' AS int)", [245]),
    ],
)
def test_a_data_change_that_fails_says_that_it_was_terminated(lab, statement, said):
    lab.run("CREATE TABLE dbo.t (a int NOT NULL); INSERT dbo.t VALUES (1)")
    assert [m.number for m in lab.send(statement).messages] == said


# ------------------------------------------------------------------ F-525 counts and states
def test_a_data_change_counts_itself(lab):
    lab.run("CREATE TABLE dbo.t (a int)")
    lab.run("INSERT dbo.t VALUES (@@TRANCOUNT); INSERT dbo.t SELECT @@TRANCOUNT")
    lab.run("BEGIN TRANSACTION; INSERT dbo.t VALUES (@@TRANCOUNT); COMMIT")
    assert lab.rows("SELECT a, @@TRANCOUNT FROM dbo.t") == [(2, 0)] * 3


def test_xact_state_is_one_where_an_autocommit_statement_reads(lab):
    assert lab.value("SELECT XACT_STATE()") == 0
    assert lab.rows("SELECT TOP (1) XACT_STATE() FROM sys.objects") == [(1,)]


# ------------------------------------------------------------------ F-526 RAISERROR
@pytest.mark.parametrize(("given", "state"), [(1, 1), (255, 255), (256, 0), (-1, 1)])
def test_the_state_of_raiserror_is_a_byte(lab, given, state):
    assert shown(lab.send(f"RAISERROR('x', 16, {given})")) == [(50000, 16, state)]


def test_seterror_leaves_the_number_and_ten_goes_out_as_zero(lab):
    sink = lab.run("RAISERROR('x', 10, 1) WITH SETERROR; SELECT @@ERROR")
    assert (shown(sink), sink.result_sets[-1].rows) == ([(50000, 0, 1)], [(50000,)])
    assert lab.run("RAISERROR('x', 10, 1); SELECT @@ERROR").result_sets[-1].rows == [(0,)]


# ------------------------------------------------------------------ F-527 WAITFOR
@pytest.mark.parametrize(
    "text", ["word", "25:00", "24:00:00", "00:00:00.0005", "00:00:00:1000", "5", "00:00 PM"]
)
def test_a_wrong_time_is_found_before_the_batch_runs(lab, text):
    sink = lab.send(f"BEGIN TRY PRINT 'ran'; WAITFOR DELAY '{text}' END TRY BEGIN CATCH END CATCH")
    assert shown(sink) == [(148, 15, 1)]


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("varchar(20) = 'word'", [(241, 16, 1)]),
        ("varchar(20) = '00:00:00.0005'", [(241, 16, 1)]),
        ("bigint = 1", [(9815, 16, 0)]),
        ("time = '00:00'", [(9815, 16, 0)]),
        ("bigint = NULL", []),
        ("varchar(20) = ''", []),
        ("int = 0", []),
    ],
)
def test_what_a_variable_of_waitfor_may_hold(lab, declared, said):
    lab.run("DECLARE @t datetime; WAITFOR DELAY @t")
    assert shown(lab.send(f"DECLARE @t {declared}; WAITFOR DELAY @t")) == said


# ------------------------------------------------------------------ F-528 application locks
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("sp_getapplock 'r', 'Shared'", [(15626, 0, 1)]),
        ("sp_getapplock 'r', 'Other', 'Session'", [(15625, 0, 1)]),
        ("sp_getapplock 'r', 'Shared', 'Other'", [(15625, 0, 1)]),
        ("sp_releaseapplock 'r', 'Other'", [(15625, 0, 1)]),
        ("sp_releaseapplock 'r', 'Session'", [(1223, 16, 1)]),
    ],
)
def test_a_wrong_call_about_an_application_lock_returns_minus_999(lab, call, said):
    sink = lab.send(f"DECLARE @r int; EXEC @r = {call}; SELECT @r")
    assert (shown(sink), sink.result_sets[-1].rows) == (said, [(-999,)])


def test_a_transactions_lock_is_asked_for_inside_one(lab):
    sink = lab.send("SELECT APPLOCK_MODE('public', 'r', 'Transaction')")
    assert shown(sink) == [(3918, 16, 2)]


# ------------------------------------------------------------------ F-529 triggers
def test_a_rollback_empties_what_a_trigger_sees(lab):
    lab.run("CREATE TABLE dbo.t (a int)")
    lab.run(
        "EXEC('CREATE TRIGGER tr ON dbo.t AFTER UPDATE AS ROLLBACK; "
        "SELECT (SELECT COUNT(*) FROM inserted), (SELECT COUNT(*) FROM deleted)')"
    )
    lab.run("INSERT dbo.t VALUES (1)")
    sink = lab.send("UPDATE dbo.t SET a = 2")
    assert (sink.result_sets[0].rows, shown(sink)) == ([(0, 0)], [(3609, 16, 1)])


# ------------------------------------------------------------------ F-530 identity
def test_identity_insert_takes_no_null_and_wants_a_list(lab):
    lab.run("CREATE TABLE dbo.t (id int IDENTITY, v int CHECK (v > 0))")
    lab.run("SET IDENTITY_INSERT dbo.t ON")
    assert shown(lab.send("INSERT dbo.t (id, v) VALUES (NULL, 1)"))[0] == (339, 16, 1)
    assert lab.error("INSERT dbo.t VALUES (60, 1)") == 8101
    assert lab.error("INSERT dbo.t (id, v) VALUES (50, -1)") == 547
    assert lab.value("SELECT IDENT_CURRENT('dbo.t')") == 50


# ------------------------------------------------------------------ F-532 nesting
def test_dynamic_text_of_sp_executesql_is_two_levels_down(lab):
    sink = lab.run("EXEC('SELECT @@NESTLEVEL'); EXEC sp_executesql N'SELECT @@NESTLEVEL'")
    assert [s.rows for s in sink.result_sets] == [[(1,)], [(2,)]]


# ------------------------------------------------------------------ F-533 what went out before
@pytest.mark.parametrize(
    ("statement", "names", "rows"),
    [
        ("SELECT k, 10 / n AS q FROM dbo.r", ["k", "q"], [(10, 10)]),
        ("SELECT k, 10 / n AS q FROM dbo.r ORDER BY k DESC", ["k", "q"], [(30, 3)]),  # backwards
        ("SELECT k, 10 / n AS q FROM dbo.r ORDER BY n DESC", ["k", "q"], []),
        ("SELECT q FROM (SELECT 10 / n AS q FROM dbo.r) AS d", ["q"], []),
        ("UPDATE dbo.r SET n = n OUTPUT inserted.k, 10 / inserted.n AS q", ["k", "q"], [(10, 10)]),
        ("UPDATE dbo.r SET n = 10 / n OUTPUT inserted.k", ["k"], [(10,)]),
        ("UPDATE dbo.r SET n = 99 - k OUTPUT inserted.k", ["k"], [(10,), (20,)]),
        ("UPDATE dbo.r SET n = NULLIF(k, 20) OUTPUT inserted.k", ["k"], [(10,)]),
        ("UPDATE dbo.r SET k = 10 OUTPUT deleted.k", ["k"], [(10,)]),
        ("INSERT dbo.r OUTPUT inserted.k VALUES (10, 1)", ["k"], []),
        ("INSERT dbo.r OUTPUT inserted.k VALUES (40, 1), (10, 1), (50, 1)", ["k"], [(40,)]),
        ("INSERT dbo.r OUTPUT inserted.k VALUES (40, 1), (50, 70), (60, 1)", ["k"], [(40,)]),
        ("INSERT dbo.r OUTPUT inserted.k VALUES (40, 1), (NULL, 1)", ["k"], [(40,)]),
        ("INSERT dbo.r OUTPUT inserted.k SELECT k + 100, 10 / n FROM dbo.r", ["k"], []),
        (
            "MERGE dbo.r USING (VALUES (10), (20)) AS s (i) ON k = i "
            "WHEN MATCHED THEN UPDATE SET n = 10 / n OUTPUT $action, inserted.k;",
            ["$action", "k"],
            [("UPDATE", 10)],
        ),
    ],
)
def test_columns_and_rows_before_an_error_are_told(lab, statement, names, rows):
    lab.run(
        "CREATE TABLE dbo.r (k int NOT NULL PRIMARY KEY, n int NOT NULL CHECK (n NOT IN (69, 70)))"
    )
    lab.run("INSERT dbo.r VALUES (10, 1), (20, 0), (30, 3)")
    sink = lab.send(statement)
    assert [(s.names, s.rows) for s in sink.result_sets] == [(names, rows)]
    assert len(sink.errors) == 1


def test_a_caught_error_leaves_an_empty_result_set(lab):
    sink = lab.run("BEGIN TRY SELECT 1 / 0 AS z END TRY BEGIN CATCH SELECT 1 END CATCH")
    assert [(s.names, s.rows) for s in sink.result_sets] == [(["z"], []), ([""], [(1,)])]
    assert [(d.command, d.rowcount, d.error) for d in sink.dones if d.command == SELECT_DONE] == [
        (SELECT_DONE, 0, False),
        (SELECT_DONE, 1, False),
    ]


def test_what_is_found_before_a_statement_starts_tells_no_columns(lab):
    lab.run("CREATE TABLE dbo.r (k int); CREATE USER u WITHOUT LOGIN")
    assert lab.send("SELECT nope FROM dbo.r").result_sets == []
    assert lab.send("EXECUTE AS USER = 'u'; SELECT k FROM dbo.r; REVERT").result_sets == []
