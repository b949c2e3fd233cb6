"""UPDATE and DELETE ... WHERE CURRENT OF a cursor."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a varchar(5) NULL, n int NULL); "
        "CREATE TABLE u (id int NOT NULL PRIMARY KEY, k int NOT NULL); "
        "INSERT t VALUES (1, 'x', 0), (2, 'y', 0), (3, 'z', 0); INSERT u VALUES (10, 2)"
    )
    return made


def stand(lab, declaration, fetches=1):
    """Declare, open and fetch a global cursor named c."""
    lab.run(f"DECLARE c {declaration}; OPEN c" + "; FETCH c" * fetches)


@pytest.mark.parametrize("options", ["", "KEYSET", "DYNAMIC", "SCROLL_LOCKS", "OPTIMISTIC"])
def test_the_row_fetched_last_is_changed(lab, options):
    lab.run("BEGIN TRANSACTION")
    stand(lab, f"CURSOR {options} FOR SELECT a FROM t FOR UPDATE", 2)
    assert lab.rows("UPDATE t SET n = k * 10 OUTPUT inserted.n WHERE CURRENT OF c") == [(20,)]
    lab.run(
        "UPDATE t SET a = 'again' WHERE CURRENT OF c; FETCH c; DELETE t WHERE CURRENT OF c; COMMIT"
    )
    assert lab.rows("SELECT * FROM t ORDER BY k") == [(1, "x", 0), (2, "again", 20)]


def test_the_usual_loop_with_a_cursor_variable(lab):
    lab.run(
        "DECLARE @c CURSOR, @k int; SET @c = CURSOR LOCAL FOR SELECT k FROM t; OPEN @c; "
        "FETCH @c INTO @k; WHILE @@FETCH_STATUS = 0 BEGIN "
        "IF @k = 2 DELETE t WHERE CURRENT OF @c ELSE UPDATE t SET n = @k WHERE CURRENT OF @c; "
        "FETCH @c INTO @k END"
    )
    assert lab.rows("SELECT k, n FROM t ORDER BY k") == [(1, 1), (3, 3)]


def test_of_a_join_one_table_is_changed(lab):
    stand(lab, "CURSOR FOR SELECT t.k, u.id FROM t JOIN u ON u.k = t.k")
    lab.run("UPDATE t SET a = 'j' WHERE CURRENT OF c; UPDATE u SET k = 3 WHERE CURRENT OF c")
    assert lab.rows("SELECT a FROM t WHERE k = 2") == [("j",)]
    assert lab.value("SELECT k FROM u") == 3


def test_a_key_changed_through_a_keyset_stays_in_it(lab):
    stand(lab, "CURSOR KEYSET FOR SELECT k FROM t")
    lab.run("UPDATE t SET k = 50 WHERE CURRENT OF c")
    assert lab.rows("FETCH FIRST FROM c") == [(50,)]


def test_an_optimistic_cursor_refuses_a_row_changed_since(lab):
    stand(lab, "CURSOR OPTIMISTIC FOR SELECT k FROM t")
    lab.run("UPDATE t SET n = 7 WHERE k = 1")
    sink = lab.send("UPDATE t SET n = 8 WHERE CURRENT OF c")
    assert [m.number for m in sink.messages] == [16934, 16947, 3621]
    assert lab.value("SELECT n FROM t WHERE k = 1") == 7


def test_a_table_variable_may_be_changed_so(lab):
    assert lab.rows(
        "DECLARE @t TABLE (k int PRIMARY KEY, n int); INSERT @t VALUES (1, 0), (2, 0); "
        "DECLARE l CURSOR LOCAL FOR SELECT k FROM @t; OPEN l; FETCH l; FETCH l; "
        "UPDATE @t SET n = 5 WHERE CURRENT OF l; SELECT * FROM @t"
    ) == [(1, 0), (2, 5)]


@pytest.mark.parametrize(
    ("declaration", "fetches", "sql", "number"),
    [
        ("CURSOR READ_ONLY FOR SELECT k FROM t", 1, "DELETE t WHERE CURRENT OF c", 16929),
        ("CURSOR FAST_FORWARD FOR SELECT k FROM t", 1, "DELETE t WHERE CURRENT OF c", 16929),
        ("CURSOR STATIC FOR SELECT k FROM t", 1, "DELETE t WHERE CURRENT OF c", 16929),
        ("CURSOR FOR SELECT k FROM t FOR READ ONLY", 1, "DELETE t WHERE CURRENT OF c", 16929),
        ("CURSOR FOR SELECT k FROM t", 0, "DELETE t WHERE CURRENT OF c", 16931),
        ("CURSOR FOR SELECT k FROM t WHERE k > 2", 2, "DELETE t WHERE CURRENT OF c", 16931),
        (
            "CURSOR FOR SELECT k FROM t FOR UPDATE OF a",
            1,
            "UPDATE t SET n = 1 WHERE CURRENT OF c",
            16932,
        ),
        ("CURSOR FOR SELECT k FROM t", 1, "DELETE u WHERE CURRENT OF c", 16933),
        ("CURSOR FOR SELECT k FROM t", 1, "DELETE t WHERE CURRENT OF d", 16916),
    ],
)
def test_where_it_cannot_be_changed_is_an_error(lab, declaration, fetches, sql, number):
    stand(lab, declaration, fetches)
    assert lab.error(sql) == number


def test_a_closed_cursor_stands_nowhere(lab):
    stand(lab, "CURSOR FOR SELECT k FROM t")
    lab.run("CLOSE c")
    assert lab.error("DELETE t WHERE CURRENT OF c") == 16917


@pytest.mark.parametrize(
    "declaration",
    [
        "CURSOR STATIC FOR SELECT k FROM t FOR UPDATE",
        "INSENSITIVE CURSOR FOR SELECT k FROM t FOR UPDATE",
        "CURSOR READ_ONLY FOR SELECT k FROM t FOR UPDATE",
        "CURSOR FOR SELECT DISTINCT k FROM t FOR UPDATE",
    ],
)
def test_for_update_on_what_cannot_be_updated_is_16957(lab, declaration):
    assert lab.error(f"DECLARE c {declaration}") == 16957
