"""A large result goes out in portions while others have their turn; PORTION is 4 rows here."""

from __future__ import annotations

import pytest

from redial_broker.exec.query import streaming
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.broker.exec.lab import Lab


class Reader(Collector):
    """A client that reads along."""

    streams = True


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(streaming, "PORTION", 4)


@pytest.fixture
def lab():
    lab = Lab()
    lab.run(
        "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, n int NOT NULL, s varchar(5) NULL); "
        "CREATE INDEX byn ON dbo.t (n); "
        "INSERT dbo.t SELECT value, value % 3, 'x' FROM GENERATE_SERIES(1, 19)"
    )
    lab.session.sink = Reader()
    return lab


def start(lab, sql):
    lab.session.sink.clear()
    lab.session.submit(Batch(sql))
    return lab.session.sink


def sent(lab):
    sets = lab.session.sink.result_sets
    return [row[0] for row in sets[-1].rows] if sets else []


def turn(lab):
    """One portion: the scheduler stops behind it."""
    lab.instance.pump()


QUERIES = [
    "SELECT id, n FROM dbo.t",
    "SELECT * FROM dbo.t WHERE n <> 1",
    "SELECT id FROM dbo.t WHERE id BETWEEN 3 AND 17",
    "SELECT id FROM dbo.t WHERE id > 100",
    "SELECT id, n FROM dbo.t WITH (INDEX (byn)) WHERE n = 2",
    "SELECT n, id FROM dbo.t WITH (INDEX (byn))",
    "SELECT id, s + 'y', n * 2 FROM dbo.t ORDER BY id",
    "SELECT id FROM dbo.t WITH (NOLOCK)",
    "SELECT id FROM dbo.t WITH (HOLDLOCK)",
    "SELECT id FROM dbo.t WITH (READPAST)",
    "WITH c AS (SELECT id FROM dbo.t) SELECT id FROM c",
    "SELECT TOP (7) id FROM dbo.t",
    "SELECT DISTINCT n FROM dbo.t",
    "SELECT COUNT(*) FROM dbo.t",
    "SELECT a.id FROM dbo.t AS a JOIN dbo.t AS b ON b.id = a.n",
    "SELECT id FROM dbo.t ORDER BY n DESC, id",
    "SELECT id FROM dbo.t ORDER BY id DESC",
    "SELECT id FROM dbo.t WHERE id IN (1, 5, 9, 2)",
    "SELECT id, (SELECT MAX(id) FROM dbo.t) FROM dbo.t",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM dbo.t",
]


@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("rcsi", ["OFF", "ON"])
def test_the_rows_are_those_of_the_statement_in_one_go(lab, sql, rcsi):
    lab.run(f"ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT {rcsi}")
    lab.session.sink = Collector()
    whole = lab.run(sql)
    lab.session.sink = Reader()
    pieces = lab.run(sql)
    assert [s.rows for s in pieces.result_sets] == [s.rows for s in whole.result_sets]
    assert pieces.result_sets[0].columns == whole.result_sets[0].columns
    assert pieces.dones == whole.dones
    assert lab.session.transaction is None and not lab.instance.engine.locks.resources


def test_rows_go_out_portion_by_portion(lab):
    sink = start(lab, "SELECT id FROM dbo.t; SELECT @@ROWCOUNT AS c")
    assert sink.result_sets == []
    turn(lab)
    assert sent(lab) == [1, 2, 3, 4] and not sink.finished
    turn(lab)
    assert sent(lab) == list(range(1, 9))
    lab.instance.run()
    assert sink.finished and sink.result_sets[0].rows == [(n,) for n in range(1, 20)]
    assert sink.result_sets[1].rows == [(19,)]


def test_others_have_their_turn_between_portions(lab):
    """READ COMMITTED: a row is there or not when the reader comes by."""
    other = lab.other()
    start(lab, "SELECT id FROM dbo.t")
    turn(lab)
    other.run("DELETE dbo.t WHERE id IN (2, 15); INSERT dbo.t VALUES (0, 0, NULL), (30, 0, NULL)")
    lab.instance.run()
    assert sent(lab) == [*range(1, 15), *range(16, 20), 30]


def test_under_row_versions_the_statement_sees_its_beginning(lab):
    lab.run("ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT ON")
    other = lab.other()
    start(lab, "SELECT id FROM dbo.t")
    turn(lab)
    other.run("DELETE dbo.t WHERE id IN (2, 15); INSERT dbo.t VALUES (30, 0, NULL)")
    lab.instance.run()
    assert sent(lab) == list(range(1, 20))
    assert lab.rows("SELECT COUNT(*) FROM dbo.t") == [(18,)]


def test_it_waits_for_a_lock_where_it_has_come_to_and_goes_on(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE dbo.t SET s = 'z' WHERE id = 10")
    start(lab, "SELECT id, s FROM dbo.t")
    lab.instance.run()
    assert lab.session.wait is not None
    assert sent(lab) == list(range(1, 9))
    other.run("COMMIT")
    lab.instance.run()
    assert sent(lab) == list(range(1, 20))
    assert lab.session.sink.result_sets[0].rows[9] == (10, "z")


def test_a_lock_timeout_comes_behind_the_rows_that_went_out(lab):
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE dbo.t SET s = 'z' WHERE id = 10")
    sink = start(lab, "SET LOCK_TIMEOUT 100; SELECT id FROM dbo.t; SELECT 'on'")
    lab.instance.run()
    lab.instance.advance(1)
    assert [m.number for m in sink.errors] == [1222]
    assert sink.result_sets[0].rows == [(n,) for n in range(1, 9)]
    assert sink.result_sets[1].rows == [("on",)]
    assert [d.error for d in sink.dones if d.command == 193] == [True, False]
    assert lab.session.transaction is None


def test_an_error_in_the_middle_comes_behind_the_rows_before_it(lab):
    sink = lab.send("SELECT id, 1 / (id - 11) FROM dbo.t; SELECT 'on'")
    assert [m.number for m in sink.errors] == [8134]
    assert [s.names for s in sink.result_sets] == [["id", ""], [""]]
    assert [row[0] for row in sink.result_sets[0].rows] == list(range(1, 11))
    sink = lab.run(
        "BEGIN TRY SELECT 1 / (id - 6) FROM dbo.t END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"
    )
    assert [len(s.rows) for s in sink.result_sets] == [5, 1]
    assert [(d.command, d.rowcount) for d in sink.dones][1] == (193, 5)


@pytest.mark.parametrize("end", ["attention", "killed", "close"])
def test_a_reader_that_goes_away_leaves_nothing(lab, end):
    other = lab.other()
    start(lab, "SELECT id FROM dbo.t WITH (REPEATABLEREAD)")
    turn(lab)
    assert lab.session.transaction is not None
    getattr(lab.session, end)()
    assert not lab.instance.engine.locks.resources
    other.run("UPDATE dbo.t SET n = 9; DROP TABLE dbo.t")
    if end == "attention":
        assert lab.rows("SELECT 1") == [(1,)]


def test_the_table_stays_as_it_is_until_the_last_row(lab):
    other = lab.other()
    start(lab, "SELECT * FROM dbo.t")
    turn(lab)
    other.send("ALTER TABLE dbo.t ADD late int NOT NULL DEFAULT 1")
    assert other.session.wait is not None or lab.session.sink.finished
    lab.instance.run()
    assert len(lab.session.sink.result_sets[0].rows) == 19
    assert {len(row) for row in lab.session.sink.result_sets[0].rows} == {3}
    assert other.session.wait is None and other.session.sink.finished


def test_another_definition_does_not_start_it_again(lab):
    other = lab.other()
    start(lab, "SELECT id FROM dbo.t")
    turn(lab)
    other.session.submit(Batch("CREATE TABLE dbo.unrelated (a int)"))
    lab.instance.run()
    assert sent(lab) == list(range(1, 20)) and len(lab.session.sink.result_sets) == 1


def test_in_a_transaction_it_is_the_transaction_s(lab):
    lab.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN")
    lab.run("SELECT id FROM dbo.t")
    assert sum(key[0] == "KEY" for key in lab.session.transaction.locks) == 19
    assert lab.value("SELECT @@TRANCOUNT") == 1
    lab.run("ROLLBACK")
    assert not lab.instance.engine.locks.resources
    lab.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; SELECT id FROM dbo.t")
    assert lab.session.transaction.locks == {}


def test_in_a_procedure_and_for_an_insert(lab):
    lab.run("EXEC('CREATE PROCEDURE dbo.p AS SELECT id FROM dbo.t; SELECT 1 AS z')")
    sink = lab.run("EXEC dbo.p")
    assert [len(s.rows) for s in sink.result_sets] == [19, 1]
    lab.run("CREATE TABLE #i (id int); CREATE TABLE #j (id int, z int)")
    lab.run("INSERT #i EXEC('SELECT id FROM dbo.t')")
    assert lab.value("SELECT COUNT(*) FROM #i") == 19
    lab.run("SET ROWCOUNT 6")
    assert len(lab.rows("SELECT id FROM dbo.t")) == 6


def test_a_client_that_does_not_read_along_gets_one_step(lab):
    lab.session.sink = Collector()
    lab.session.submit(Batch("SELECT id FROM dbo.t"))
    lab.instance.pump()
    assert len(sent(lab)) == 19
