"""What each type of cursor sees of changes, what it becomes, and what it locks."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a varchar(5) NULL); "
        "CREATE TABLE heap (k int NOT NULL, a varchar(5) NULL); "
        "CREATE TABLE u (id int NOT NULL PRIMARY KEY, k int NOT NULL); "
        "INSERT t VALUES (1, 'x'), (2, 'y'), (3, 'z'); INSERT heap VALUES (1, 'h'); "
        "INSERT u VALUES (10, 1), (30, 3)"
    )
    return made


def cursor(lab, declaration):
    """Declare and open a global cursor named c."""
    lab.run(f"DECLARE c {declaration}; OPEN c")


def fetch(lab, orientation="NEXT"):
    """(row or None, @@FETCH_STATUS)."""
    rows = lab.rows(f"FETCH {orientation} FROM c")
    return (rows[0] if rows else None), lab.value("SELECT @@FETCH_STATUS")


# ---------------------------------------------------------------------- what they see
def test_a_static_cursor_sees_nothing_of_later_changes(lab):
    cursor(lab, "CURSOR STATIC FOR SELECT k, a FROM t")
    lab.run("UPDATE t SET a = 'new'; DELETE t WHERE k = 2; INSERT t VALUES (4, 'w')")
    assert [fetch(lab)[0] for _ in range(4)] == [(1, "x"), (2, "y"), (3, "z"), None]


def test_a_keyset_cursor_sees_new_values_and_misses_deleted_rows(lab):
    cursor(lab, "CURSOR KEYSET FOR SELECT k, a FROM t")
    lab.run("UPDATE t SET a = 'new' WHERE k = 1; DELETE t WHERE k = 2; INSERT t VALUES (4, 'w')")
    assert fetch(lab) == ((1, "new"), 0)
    assert fetch(lab) == (None, -2)
    assert fetch(lab) == ((3, "z"), 0)
    assert fetch(lab) == (None, -1)
    assert fetch(lab, "ABSOLUTE 2") == (None, -2)


def test_a_changed_key_is_a_deletion_to_a_keyset(lab):
    cursor(lab, "CURSOR KEYSET FOR SELECT k FROM t")
    lab.run("UPDATE t SET k = 9 WHERE k = 1")
    assert fetch(lab) == (None, -2)


@pytest.mark.parametrize("options", ["", "FORWARD_ONLY", "FAST_FORWARD", "DYNAMIC", "SCROLL"])
def test_a_dynamic_cursor_sees_everything(lab, options):
    cursor(lab, f"CURSOR {options} FOR SELECT k, a FROM t")
    assert fetch(lab) == ((1, "x"), 0)
    lab.run("UPDATE t SET a = 'new' WHERE k = 3; DELETE t WHERE k = 2; INSERT t VALUES (4, 'w')")
    assert [fetch(lab)[0] for _ in range(3)] == [(3, "new"), (4, "w"), None]
    assert lab.value("SELECT @@FETCH_STATUS") == -1


def test_a_dynamic_cursor_goes_on_when_its_own_row_is_deleted(lab):
    for options in ("", "DYNAMIC"):
        cursor(lab, f"CURSOR {options} FOR SELECT k FROM t")
        fetch(lab)
        assert fetch(lab) == ((2,), 0)
        lab.run("DELETE t WHERE k = 2")
        assert fetch(lab) == ((3,), 0)
        lab.run("DEALLOCATE c; INSERT t VALUES (2, 'y')")


def test_a_dynamic_cursor_scrolls_around_what_there_is(lab):
    cursor(lab, "CURSOR DYNAMIC FOR SELECT k FROM t")
    assert fetch(lab, "LAST") == ((3,), 0)
    lab.run("DELETE t WHERE k = 3; INSERT t VALUES (0, 'first')")
    assert fetch(lab, "PRIOR") == ((2,), 0)
    assert fetch(lab, "FIRST") == ((0,), 0)
    assert fetch(lab, "RELATIVE 2") == ((2,), 0)
    assert fetch(lab) == (None, -1)
    assert fetch(lab, "PRIOR") == ((2,), 0)


def test_a_dynamic_cursor_over_a_join_reads_anew(lab):
    cursor(lab, "CURSOR FOR SELECT u.id, t.a FROM t JOIN u ON u.k = t.k")
    assert fetch(lab) == ((10, "x"), 0)
    lab.run("UPDATE t SET a = 'q' WHERE k = 3; INSERT u VALUES (40, 3)")
    assert [fetch(lab)[0] for _ in range(3)] == [(30, "q"), (40, "q"), None]


def test_a_nonclustered_index_gives_the_order_of_a_dynamic_cursor(lab):
    lab.run("CREATE INDEX ix ON t (a)")
    cursor(lab, "CURSOR FOR SELECT a FROM t WITH (INDEX (ix)) WHERE a > 'a' ORDER BY a")
    assert fetch(lab) == (("x",), 0)
    lab.run("INSERT t VALUES (9, 'xx')")
    assert fetch(lab) == (("xx",), 0)


def test_a_loop_that_inserts_into_its_own_table_sees_the_new_rows(lab):
    assert (
        lab.value(
            "DECLARE @t TABLE (k int PRIMARY KEY); INSERT @t VALUES (1); DECLARE @k int, @n int = 0; "
            "DECLARE l CURSOR LOCAL FOR SELECT k FROM @t; OPEN l; FETCH l INTO @k; "
            "WHILE @@FETCH_STATUS = 0 BEGIN SET @n += 1; IF @k < 5 INSERT @t VALUES (@k + 1); "
            "FETCH l INTO @k END; SELECT @n"
        )
        == 5
    )


# ---------------------------------------------------------------------- what they become
@pytest.mark.parametrize(
    ("declaration", "rows"),
    [
        ("CURSOR FOR SELECT k FROM t", -1),
        ("CURSOR FAST_FORWARD FOR SELECT k FROM t ORDER BY k", -1),
        ("CURSOR KEYSET FOR SELECT k FROM t", 3),
        ("CURSOR STATIC FOR SELECT k FROM t", 3),
        ("INSENSITIVE CURSOR FOR SELECT k FROM t", 3),
        ("CURSOR DYNAMIC FOR SELECT a FROM t ORDER BY a DESC", 3),
        ("CURSOR DYNAMIC FOR SELECT TOP (2) a FROM t", 2),
        ("CURSOR DYNAMIC FOR SELECT DISTINCT a FROM t", 3),
        ("CURSOR DYNAMIC FOR SELECT COUNT(*) FROM t", 1),
        ("CURSOR DYNAMIC FOR SELECT k FROM t UNION SELECT k FROM t", 3),
        ("CURSOR DYNAMIC FOR SELECT 1", 1),
        ("CURSOR KEYSET FOR SELECT k FROM heap", 1),
        ("CURSOR DYNAMIC FOR SELECT k FROM heap", -1),
    ],
)
def test_cursor_rows_tell_the_type_a_cursor_has_become(lab, declaration, rows):
    cursor(lab, declaration)
    assert lab.value("SELECT @@CURSOR_ROWS") == rows
    lab.run("CLOSE c")
    assert lab.value("SELECT @@CURSOR_ROWS") == 0


def test_type_warning_says_so(lab):
    sink = lab.run("DECLARE c CURSOR KEYSET TYPE_WARNING FOR SELECT k FROM heap")
    assert [(m.number, m.severity) for m in sink.messages] == [(16956, 0)]
    sink = lab.run("DECLARE d CURSOR KEYSET TYPE_WARNING FOR SELECT k FROM t")
    assert sink.messages == []


def test_a_keyset_that_became_static_keeps_its_values(lab):
    cursor(lab, "CURSOR KEYSET FOR SELECT a FROM heap")
    lab.run("UPDATE heap SET a = 'new'")
    assert fetch(lab) == (("h",), 0)


def test_a_table_made_again_ends_the_cursor(lab):
    cursor(lab, "CURSOR FOR SELECT k FROM t")
    lab.run("DROP TABLE t; CREATE TABLE t (k int NOT NULL PRIMARY KEY)")
    assert lab.error("FETCH c") == 16943


# ---------------------------------------------------------------------- locks, transactions
def test_a_fetch_reads_only_the_next_row(lab):
    other = lab.other()
    other.run("BEGIN TRANSACTION; UPDATE t SET a = 'lock' WHERE k = 3")
    cursor(lab, "CURSOR FOR SELECT k FROM t")
    assert fetch(lab) == ((1,), 0)
    assert fetch(lab) == ((2,), 0)
    lab.send("FETCH c")
    assert lab.waiting is not None
    other.run("ROLLBACK")
    assert lab.waiting is None


def test_opening_a_dynamic_cursor_waits_for_nobody_a_static_one_does(lab):
    other = lab.other()
    other.run("BEGIN TRANSACTION; UPDATE t SET a = 'lock' WHERE k = 3")
    cursor(lab, "CURSOR FOR SELECT k FROM t")
    lab.run("DEALLOCATE c; DECLARE c CURSOR STATIC FOR SELECT k FROM t")
    lab.send("OPEN c")
    assert lab.waiting is not None
    other.run("COMMIT")


def test_scroll_locks_keeps_update_locks_on_fetched_rows(lab):
    lab.watch("t")
    lab.run("BEGIN TRANSACTION")
    cursor(lab, "CURSOR SCROLL_LOCKS FOR SELECT k FROM t")
    fetch(lab)
    assert lab.held() == {"T": "IX", "C(1)": "U"}
    lab.run("COMMIT")
    assert "SCROLL_LOCKS" in lab.refusal("FETCH c")


def test_a_rollback_closes_all_but_static_cursors(lab):
    for options, number in (("STATIC", None), ("KEYSET", 16917), ("", 16917)):
        lab.run(
            f"BEGIN TRANSACTION; DECLARE c CURSOR {options} FOR SELECT k FROM t; OPEN c; ROLLBACK"
        )
        sink = lab.send("FETCH c")
        assert [m.number for m in sink.errors] == ([] if number is None else [number])
        lab.run("DEALLOCATE c")


def test_a_commit_closes_cursors_only_with_cursor_close_on_commit(lab):
    cursor(lab, "CURSOR STATIC FOR SELECT k FROM t")
    lab.run("BEGIN TRANSACTION; COMMIT")
    assert fetch(lab) == ((1,), 0)
    lab.run("SET CURSOR_CLOSE_ON_COMMIT ON; BEGIN TRANSACTION; COMMIT")
    assert lab.error("FETCH c") == 16917


@pytest.mark.parametrize(
    "options",
    [
        "FORWARD_ONLY SCROLL",
        "FAST_FORWARD SCROLL",
        "STATIC KEYSET",
        "LOCAL GLOBAL",
        "FAST_FORWARD OPTIMISTIC",
        "STATIC SCROLL_LOCKS",
        "READ_ONLY SCROLL_LOCKS",
    ],
)
def test_options_that_exclude_each_other_are_1048(lab, options):
    assert lab.error(f"DECLARE c CURSOR {options} FOR SELECT k FROM t") == 1048


def test_a_dynamic_cursor_over_tables_nobody_changes_reads_them_once(lab, monkeypatch):
    reads = []
    access = type(lab.instance.engine.access)
    original = access.read
    monkeypatch.setattr(access, "read", lambda *a, **k: reads.append(1) or original(*a, **k))
    cursor(lab, "CURSOR DYNAMIC FOR SELECT id FROM u")
    assert fetch(lab) == ((10,), 0)
    once = len(reads)
    assert fetch(lab) == ((30,), 0) and len(reads) == once
    lab.run("INSERT u VALUES (40, 3)")
    assert fetch(lab) == ((40,), 0)
    lab.run("CLOSE c; OPEN c")
    assert fetch(lab, "LAST") == ((40,), 0)


def test_where_reading_takes_locks_every_fetch_takes_them(lab):
    lab.watch("u")
    cursor(lab, "CURSOR DYNAMIC FOR SELECT id FROM u WITH (REPEATABLEREAD)")
    for _ in range(2):
        lab.run("BEGIN TRANSACTION")
        assert "S C(10)" in lab.locks("FETCH c")
        lab.run("COMMIT")


@pytest.mark.parametrize(
    "source",
    [
        "v",
        "(SELECT k, a FROM t) AS d",
        "v JOIN u ON u.k = v.k",
    ],
)
def test_a_view_of_one_table_is_followed_like_the_table(lab, source):
    lab.run("CREATE VIEW v AS SELECT k, a FROM t WHERE k > 0")
    lab.run("INSERT u VALUES (20, 2)")
    name = source.split()[0] if source[0] == "v" else "d"
    for options in ("", "DYNAMIC", "KEYSET"):
        cursor(lab, f"CURSOR {options} FOR SELECT {name}.k, {name}.a FROM {source}")
        assert fetch(lab)[0][0] == 1
        lab.run("UPDATE t SET a = 'seen' WHERE k = 2")
        assert fetch(lab) == ((2, "seen"), 0)
        lab.run("DELETE t WHERE k = 3")
        assert fetch(lab) == (None, -2 if options == "KEYSET" else -1)
        lab.run("DEALLOCATE c; INSERT t VALUES (3, 'z'); UPDATE t SET a = 'y' WHERE k = 2")


def test_a_view_that_groups_makes_a_cursor_static(lab):
    lab.run("CREATE VIEW v AS SELECT a, COUNT(*) AS n FROM t GROUP BY a")
    cursor(lab, "CURSOR DYNAMIC FOR SELECT n FROM v")
    assert lab.value("SELECT @@CURSOR_ROWS") == 3
