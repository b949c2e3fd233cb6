"""What a client is told, token by token, as statements, modules and errors end (F-534 to F-536).

A stream is written as a server sends it: ``DONE 193 1`` is a DONE of command 193 with the count 1,
``INPROC`` a DONEINPROC, ``!`` the error bit, ``STATUS`` a RETURNSTATUS.
"""

from __future__ import annotations

import pytest

from redial_broker.engine.types import nvarchar
from redial_broker.instance.requests import Batch, Rpc, RpcParam
from redial_broker.instance.results import Collector
from tests.broker.exec.lab import Lab


class Stream(Collector):
    """Everything in the order in which it was said."""

    def clear(self):
        super().clear()
        self.tokens = []

    def columns(self, columns):
        self.tokens.append("COLUMNS")

    def row(self, values):
        if self.tokens[-1] != "ROWS":
            self.tokens.append("ROWS")

    def _ended(self, kind, command, rowcount, error):
        count = "" if rowcount is None else f" {rowcount}"
        self.tokens.append(f"{kind} {command}{count}{'!' if error else ''}")

    def done(self, command, rowcount, error=False, inside=False):
        told = self.tokens and self.tokens[-1] in {"COLUMNS", "ROWS"}
        if not inside or rowcount is not None or told or error:
            self._ended("INPROC" if inside else "DONE", command, rowcount, error)

    def told(self, command, rowcount, inside):
        self._ended("INPROC" if inside else "DONE", command, rowcount, False)

    def call_status(self, status):
        self.tokens.append(f"STATUS {status}")

    def call_over(self, status, failed):
        if status is not None:
            self.call_status(status)
        self._ended("PROC", 224, None, failed)

    def message(self, message):
        super().message(message)
        self.tokens.append(f"{'ERROR' if message.severity > 10 else 'INFO'} {message.number}")

    def env(self, kind, new, old):
        self.tokens.append(f"ENV {kind}")

    def return_status(self, status):
        self.call_status(status)

    def return_value(self, ordinal, name, type_, value):
        self.tokens.append(f"VALUE {value}")

    def proc_done(self, error):
        self._ended("PROC", 224, None, error or bool(self.errors))


SETUP = """
CREATE TABLE dbo.t (id int CONSTRAINT pk_t PRIMARY KEY, n int NULL);
EXEC('CREATE PROCEDURE dbo.inside AS SELECT 1 AS a');
EXEC('CREATE PROCEDURE dbo.around AS BEGIN EXEC dbo.inside; RETURN 5 END');
EXEC('CREATE PROCEDURE dbo.converts AS BEGIN SELECT 1 AS a; SELECT CAST(''x'' AS int) AS b END');
EXEC('CREATE PROCEDURE dbo.misses AS BEGIN SELECT 1 AS a; SELECT * FROM dbo.nobody; SELECT 2 END');
EXEC('CREATE PROCEDURE dbo.calls_it AS BEGIN EXEC dbo.misses; SELECT 3 AS c END');
EXEC('CREATE PROCEDURE dbo.doubles AS BEGIN INSERT dbo.t (id) VALUES (1); INSERT dbo.t (id) VALUES (1) END');
EXEC('CREATE PROCEDURE dbo.opens AS BEGIN TRANSACTION');
EXEC('CREATE PROCEDURE dbo.quiet AS BEGIN SET NOCOUNT ON; DECLARE @i int = 1; INSERT dbo.t (id) VALUES (7);
IF @i = 1 SELECT @i AS i; EXEC dbo.inside; DELETE dbo.t END');
"""


@pytest.fixture
def lab():
    lab = Lab()
    lab.run(SETUP)
    lab.session.sink = Stream()
    return lab


def stream(lab, request):
    lab.session.sink.clear()
    lab.session.submit(request)
    lab.instance.run()
    return lab.session.sink.tokens


def batch(lab, sql):
    return stream(lab, Batch(sql))


def rpc(lab, sql):
    return stream(lab, Rpc("sp_executesql", [RpcParam("", nvarchar(4000), sql)]))


SELECTED = ["COLUMNS", "ROWS", "DONE 193 1"]
SELECTED_INSIDE = ["COLUMNS", "ROWS", "INPROC 193 1"]


# ------------------------------------------------------------------ F-534 statements
@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("PRINT 'a'", ["INFO 0", "DONE 247"]),
        ("IF 1 = 0 PRINT 'a'", ["DONE 192"]),
        ("IF 1 = 1 SELECT 1 AS x", ["DONE 192", *SELECTED]),
        ("BEGIN SELECT 1 AS x END", SELECTED),
        ("DECLARE @i int = 1; SET @i = 2; SELECT @i = 3", ["DONE 193 1"] * 3),
        ("DECLARE @i int; SELECT 1 AS x", SELECTED),
        ("WHILE 1 = 1 BREAK", ["DONE 192", "DONE 202"]),
        (
            "DECLARE @i int = 0; WHILE @i < 2 SET @i += 1",
            ["DONE 193 1", "DONE 192", "DONE 193 1", "DONE 192", "DONE 193 1", "DONE 192"],
        ),
        ("SET NOCOUNT ON; SET NOCOUNT OFF", ["DONE 185", "DONE 186"]),
        ("SET QUOTED_IDENTIFIER ON; SELECT 1 AS x", SELECTED),
        (
            "SET LOCK_TIMEOUT 5; SET TEXTSIZE -1; SET ROWCOUNT 0",
            ["DONE 249", "DONE 190", "DONE 189"],
        ),
        ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", ["DONE 249"]),
        ("BEGIN TRAN; COMMIT", ["ENV begin", "DONE 212", "ENV commit", "DONE 213"]),
        (
            "BEGIN TRAN; SAVE TRAN s; ROLLBACK",
            ["ENV begin", "DONE 212", "DONE 211", "ENV rollback", "DONE 210"],
        ),
        ("RETURN", ["DONE 219"]),
        ("CREATE TABLE dbo.x (v int); DROP TABLE dbo.x", ["DONE 198", "DONE 199"]),
        ("CREATE INDEX i ON dbo.t (n); DROP INDEX i ON dbo.t", ["DONE 200", "DONE 201"]),
        ("ALTER TABLE dbo.t ADD x int; TRUNCATE TABLE dbo.t", ["DONE 216", "DONE 234"]),
        ("CREATE VIEW dbo.v AS SELECT 1 AS x", ["DONE 207"]),
        ("INSERT dbo.t VALUES (1, 1), (2, 2); DELETE dbo.t", ["DONE 195 2", "DONE 196 2"]),
        ("UPDATE dbo.t SET n = 1", ["DONE 197 0"]),
        (
            "MERGE dbo.t USING (SELECT 1 AS i) AS s ON id = i WHEN NOT MATCHED THEN INSERT (id) VALUES (i);",
            ["DONE 279 1"],
        ),
        ("RAISERROR('x', 10, 1)", ["INFO 50000", "DONE 246"]),
        ("WAITFOR DELAY '00:00:00'", ["DONE 243"]),
        (
            "DECLARE c CURSOR LOCAL FOR SELECT id FROM dbo.t; OPEN c; CLOSE c; DEALLOCATE c",
            ["DONE 193", "DONE 32", "DONE 43", "DONE 44"],
        ),
        ("CREATE SCHEMA s", []),
    ],
)
def test_a_statement_of_a_batch_ends_with_its_command(lab, sql, tokens):
    assert batch(lab, sql) == tokens


def test_nocount_takes_the_counts_of_a_batch_and_leaves_its_tokens(lab):
    assert batch(
        lab, "SET NOCOUNT ON; DECLARE @i int = 1; IF 1 = 1 INSERT dbo.t (id) VALUES (1); SELECT 1"
    ) == [
        "DONE 185",
        "DONE 193",
        "DONE 192",
        "DONE 195",
        "COLUMNS",
        "ROWS",
        "DONE 193",
    ]


def test_nocount_hushes_a_remote_call_but_its_results(lab):
    assert rpc(
        lab, "SET NOCOUNT ON; DECLARE @i int = 1; PRINT 'a'; DELETE dbo.t; SELECT @i AS i"
    ) == [
        "INFO 0",
        "COLUMNS",
        "ROWS",
        "INPROC 193",
        "STATUS 0",
        "PROC 224",
    ]


# ------------------------------------------------------------------ F-534 TRY
@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        (
            "BEGIN TRY PRINT 'a' END TRY BEGIN CATCH PRINT 'b' END CATCH",
            ["DONE 349", "INFO 0", "DONE 247", "DONE 351"],
        ),
        (
            "BEGIN TRY RAISERROR('x', 16, 1) END TRY BEGIN CATCH END CATCH",
            ["DONE 349", "DONE 246", "DONE 350", "DONE 351"],
        ),
        (
            "BEGIN TRY SELECT 1 / 0 AS z END TRY BEGIN CATCH SELECT 1 AS x END CATCH",
            ["DONE 349", "COLUMNS", "DONE 193 0", "DONE 350", *SELECTED, "DONE 351"],
        ),
        (
            "WHILE 1 = 1 BEGIN TRY BREAK END TRY BEGIN CATCH END CATCH",
            ["DONE 192", "DONE 349", "DONE 202"],
        ),
        ("BEGIN TRY RETURN END TRY BEGIN CATCH END CATCH", ["DONE 349", "DONE 219"]),
        (
            "BEGIN TRY BEGIN TRY THROW 50001, 'x', 1 END TRY BEGIN CATCH THROW END CATCH END TRY "
            "BEGIN CATCH END CATCH",
            ["DONE 349", "DONE 349", "DONE 246", "DONE 350", "DONE 246", "DONE 350", "DONE 351"],
        ),
    ],
)
def test_try_and_catch_have_tokens_of_their_own(lab, sql, tokens):
    assert batch(lab, sql) == tokens


def test_a_try_that_is_over_leaves_no_row_count(lab):
    caught = "BEGIN TRY SELECT 1 UNION SELECT 2 END TRY BEGIN CATCH END CATCH; SELECT @@ROWCOUNT"
    lab.session.sink = Collector()
    assert lab.rows(caught) == [(0,)]
    assert lab.rows(caught.replace("SELECT 1 UNION", "SELECT 1 / 0 UNION")) == [(0,)]


# ------------------------------------------------------------------ F-534 modules
def test_only_the_outermost_execute_has_a_status(lab):
    inner = [*SELECTED_INSIDE, "INPROC 224", "INPROC 193 1"]
    assert batch(lab, "EXEC dbo.around") == [*inner, "STATUS 5", "PROC 224"]
    assert batch(lab, "DECLARE @r int; EXEC @r = dbo.around; SELECT @r AS r") == [
        *inner,
        "STATUS 5",
        "PROC 224",
        *SELECTED,
    ]
    assert rpc(lab, "EXEC dbo.inside") == [*SELECTED_INSIDE, "INPROC 224", "STATUS 0", "PROC 224"]


def test_dynamic_text_and_system_procedures_end_like_procedures(lab):
    over = ["STATUS 0", "PROC 224"]
    assert batch(lab, "EXEC('SELECT 1 AS a')") == [*SELECTED_INSIDE, *over]
    assert batch(lab, "EXEC sp_executesql N'SELECT 1 AS a'") == [*SELECTED_INSIDE, *over]
    assert batch(lab, "EXEC sp_helptext 'dbo.inside'") == [*SELECTED_INSIDE, *over]


def test_a_quiet_procedure_tells_of_its_results_alone(lab):
    assert batch(lab, "EXEC dbo.quiet") == [
        *["COLUMNS", "ROWS", "INPROC 193"] * 2,
        "STATUS 0",
        "PROC 224",
    ]


# ------------------------------------------------------------------ F-535 errors
@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("SELECT 1 / 0 AS z; SELECT 1 AS x", ["COLUMNS", "ERROR 8134", "DONE 193!", *SELECTED]),
        ("RAISERROR('x', 16, 1); SELECT 1 AS x", ["ERROR 50000", "DONE 246!", *SELECTED]),
        ("THROW 50001, 'x', 1; SELECT 1 AS x", ["ERROR 50001", "DONE 253!"]),
        ("SELECT * FROM dbo.nobody", ["ERROR 208", "DONE 253!"]),
        ("SELECT CAST('x' AS int) AS c", ["COLUMNS", "ERROR 245", "DONE 193!"]),
        ("DECLARE @i int; SET @i = 'x'", ["ERROR 245", "DONE 253!"]),
        ("INSERT dbo.t (id) VALUES (1), (1)", ["ERROR 2627", "INFO 3621", "DONE 195!"]),
        ("EXEC dbo.absent; SELECT 1 AS x", ["ERROR 2812", "PROC 224!", *SELECTED]),
        (
            "DECLARE @r int; EXEC @r = dbo.converts; SELECT @r",
            [*SELECTED_INSIDE, "COLUMNS", "ERROR 245", "DONE 193!"],
        ),
        ("EXEC dbo.misses; SELECT 1 AS x", [*SELECTED_INSIDE, "ERROR 208", "PROC 224!", *SELECTED]),
        (
            "EXEC dbo.calls_it",
            [
                *SELECTED_INSIDE,
                "ERROR 208",
                "INPROC 224!",
                *SELECTED_INSIDE,
                "STATUS 0",
                "PROC 224",
            ],
        ),
        (
            "SET XACT_ABORT ON; BEGIN TRAN; EXEC dbo.doubles",
            [
                "DONE 185",
                "ENV begin",
                "DONE 212",
                "INPROC 195 1",
                "ERROR 2627",
                "ENV rollback",
                "DONE 253!",
            ],
        ),
        (
            "BEGIN TRY EXEC dbo.converts END TRY BEGIN CATCH END CATCH",
            [
                "DONE 349",
                *SELECTED_INSIDE,
                "COLUMNS",
                "INPROC 193 0",
                "PROC 224",
                "DONE 350",
                "DONE 351",
            ],
        ),
        (
            "BEGIN TRY EXEC dbo.absent END TRY BEGIN CATCH END CATCH",
            ["DONE 349", "PROC 224", "DONE 350", "DONE 351"],
        ),
    ],
)
def test_an_error_ends_its_statement_its_module_or_the_batch(lab, sql, tokens):
    assert batch(lab, sql) == tokens


def test_a_remote_call_that_fails_has_no_status(lab):
    assert stream(lab, Rpc("dbo.converts", [])) == [
        *SELECTED_INSIDE,
        "COLUMNS",
        "ERROR 245",
        "PROC 224!",
    ]
    assert stream(lab, Rpc("dbo.misses", [])) == [*SELECTED_INSIDE, "ERROR 208", "PROC 224!"]
    assert stream(lab, Rpc("dbo.absent", [])) == ["ERROR 2812", "PROC 224!"]


def test_text_that_cannot_be_compiled_returns_its_error_and_the_values_it_was_given(lab):
    call = [
        RpcParam("", nvarchar(50), "SELECT 1 AS a b"),
        RpcParam("", nvarchar(50), "@o nvarchar(9) OUTPUT"),
        RpcParam("@o", nvarchar(9), "given", output=True),
    ]
    assert stream(lab, Rpc("sp_executesql", call)) == [
        "ERROR 102",
        "STATUS 102",
        "VALUE given",
        "PROC 224!",
    ]


def test_266_stands_between_the_status_and_the_end(lab):
    assert batch(lab, "EXEC dbo.opens; ROLLBACK") == [
        "ENV begin",
        "INPROC 212",
        "STATUS 0",
        "ERROR 266",
        "PROC 224!",
        "ENV rollback",
        "DONE 210",
    ]
    assert rpc(lab, "BEGIN TRAN") == [
        "ENV begin",
        "INPROC 212",
        "ERROR 266",
        "STATUS 266",
        "PROC 224!",
    ]
    assert lab.session.sink.errors[0].line == 0
