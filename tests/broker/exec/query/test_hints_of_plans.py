"""Join hints, query hints and index hints: honoured, harmless, or refused by name."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL CONSTRAINT pk PRIMARY KEY, a int NOT NULL, "
        "b int NOT NULL); CREATE INDEX ix ON t (a, b); "
        "CREATE TABLE u (k int NOT NULL CONSTRAINT pku PRIMARY KEY, x int NOT NULL); "
        "INSERT t VALUES (1, 10, 100), (2, 20, 200), (3, 30, 300); "
        "INSERT u VALUES (2, 7), (3, 8), (4, 9)"
    )
    return made


JOINED = [(2, 7), (3, 8)]


@pytest.mark.parametrize(
    "join",
    [
        "INNER LOOP JOIN u ON u.k = t.k",
        "INNER HASH JOIN u ON u.k = t.k",
        "INNER MERGE JOIN u ON u.k = t.k",
        "INNER REMOTE JOIN u ON u.k = t.k",
    ],
)
def test_a_join_hint_changes_no_row(lab, join):
    assert sorted(lab.rows(f"SELECT t.k, u.x FROM t {join}")) == JOINED


def test_outer_joins_take_hints_too(lab):
    assert sorted(lab.rows("SELECT t.k, u.x FROM t LEFT HASH JOIN u ON u.k = t.k")) == [
        (1, None),
        *JOINED,
    ]
    assert lab.rows("SELECT t.k, u.k FROM t RIGHT LOOP JOIN u ON u.k = t.k ORDER BY 2") == [
        (2, 2),
        (3, 3),
        (None, 4),
    ]
    assert len(lab.rows("SELECT 1 FROM t FULL MERGE JOIN u ON u.k = t.k")) == 4


def test_a_hash_join_reads_its_second_side_as_a_whole_and_a_loop_join_looks_rows_up(lab):
    lab.watch("u", "t")
    where = "ON u.k = t.k WHERE t.k = 2"
    sql = "BEGIN TRANSACTION; SELECT u.x FROM t INNER {} JOIN u WITH (UPDLOCK) " + where
    assert [lock for lock in lab.locks(sql.format("LOOP")) if " C(" in lock] == ["U C(2)"]
    lab.run("ROLLBACK")
    assert [lock for lock in lab.locks(sql.format("HASH")) if " C(" in lock] == [
        "U C(2)",
        "U C(3)",
        "U C(4)",
    ]
    lab.run("ROLLBACK")


def test_option_hash_join_means_every_join(lab):
    lab.watch("u", "t")
    taken = lab.locks(
        "BEGIN TRANSACTION; SELECT u.x FROM t JOIN u WITH (UPDLOCK) ON u.k = t.k "
        "WHERE t.a = 20 OPTION (HASH JOIN)"
    )
    assert len([lock for lock in taken if " C(" in lock]) == 3
    lab.run("ROLLBACK")
    taken = lab.locks(
        "BEGIN TRANSACTION; SELECT u.x FROM t JOIN u WITH (UPDLOCK) ON u.k = t.k "
        "WHERE t.a = 20 OPTION (HASH JOIN, LOOP JOIN)"
    )
    assert [lock for lock in taken if " C(" in lock] == ["U C(2)"]
    lab.run("ROLLBACK")


@pytest.mark.parametrize(
    "option",
    [
        "RECOMPILE",
        "MAXDOP 4",
        "KEEP PLAN",
        "KEEPFIXED PLAN",
        "FAST 1",
        "ROBUST PLAN",
        "EXPAND VIEWS",
        "HASH GROUP",
        "ORDER GROUP",
        "CONCAT UNION",
        "HASH UNION",
        "MERGE UNION",
        "MAX_GRANT_PERCENT = 10",
        "MIN_GRANT_PERCENT = 1",
        "NO_PERFORMANCE_SPOOL",
        "FORCE ORDER",
        "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
        "OPTIMIZE FOR UNKNOWN",
        "QUERYTRACEON 4199",
        "OPTIMIZE FOR (@p = 3)",
        "OPTIMIZE FOR (@p UNKNOWN)",
        "LOOP JOIN",
        "MERGE JOIN",
        "USE HINT ('FORCE_LEGACY_CARDINALITY_ESTIMATION', 'DISABLE_PARAMETER_SNIFFING')",
        "RECOMPILE, MAXDOP 1",
    ],
)
def test_query_hints_change_no_row(lab, option):
    assert (
        sorted(
            lab.rows(
                "DECLARE @p int = 1; SELECT t.k, u.x FROM t JOIN u ON u.k = t.k "
                f"WHERE t.k > @p OPTION ({option})"
            )
        )
        == JOINED
    )


def test_data_changes_take_query_hints(lab):
    lab.run(
        "UPDATE t SET b = 0 FROM t JOIN u ON u.k = t.k OPTION (FORCE ORDER); "
        "DELETE u WHERE k = 4 OPTION (MAXDOP 1); "
        "INSERT u SELECT k + 10, a FROM t OPTION (RECOMPILE)"
    )
    assert lab.rows("SELECT b FROM t ORDER BY k") == [(100,), (0,), (0,)]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT 1 FROM t INNER HASH JOIN u ON u.k > t.k", 8622),
        ("SELECT 1 FROM t INNER MERGE JOIN u ON u.k <> t.k", 8622),
        ("SELECT 1 FROM t OPTION (USE HINT ('NO_SUCH_HINT'))", 10715),
        ("UPDATE t WITH (FORCESEEK) SET a = 1", 10724),
        ("DELETE t WITH (FORCESCAN)", 10745),
        ("SELECT 1 FROM t WITH (FORCESEEK, FORCESCAN)", 10746),
        ("SELECT 1 FROM t WITH (INDEX (ix), FORCESEEK (ix (a)))", 10747),
        ("SELECT 1 FROM t WITH (FORCESEEK, FORCESEEK)", 10748),
        ("SELECT 1 FROM t WITH (FORCESEEK (ix (a, b))) WHERE a = 1", 8622),
        ("SELECT 1 FROM t WITH (FORCESEEK (nope (a))) WHERE a = 1", 308),
    ],
)
def test_hints_that_cannot_be_met_are_errors(lab, sql, number):
    assert lab.error(sql) == number


def test_forcescan_reads_every_row_and_forceseek_names_its_index(lab):
    lab.watch("t")
    scan = "BEGIN TRANSACTION; SELECT k FROM t WITH (UPDLOCK, {}) WHERE {}"
    lab.run(scan.format("FORCESCAN", "k = 2"))
    assert lab.held() == {"T": "IX", "C(2)": "U"}
    lab.run("ROLLBACK")
    taken = lab.locks(scan.format("FORCESCAN", "k = 2"))
    assert taken == ["IX T", "U C(1)", "U C(2)", "U C(3)"]
    lab.run("ROLLBACK")
    taken = lab.locks(scan.format("FORCESEEK (ix (a))", "a = 20 AND k = 2"))
    assert taken[1].startswith("U N(20")
    lab.run("ROLLBACK")


TWO_TABLES = (
    "CREATE TABLE a (k int PRIMARY KEY, y int); INSERT INTO a VALUES (1, 1), (2, 7); "
    "CREATE TABLE b (k int PRIMARY KEY, x int); INSERT INTO b VALUES (1, 1);"
)


@pytest.mark.parametrize("bad_optimizer", [False, True])
@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT a.k FROM a INNER JOIN b WITH (FORCESEEK) ON b.k = a.y", [(1,)]),
        ("SELECT a.k FROM b WITH (FORCESEEK) INNER JOIN a ON b.k = a.y", [(1,)]),
        ("SELECT a.k FROM b WITH (FORCESEEK), a WHERE b.k = a.y", [(1,)]),
        ("SELECT a.k FROM a LEFT OUTER JOIN b WITH (FORCESEEK) ON b.k = a.y", [(1,), (2,)]),
        ("SELECT a.k FROM b WITH (FORCESEEK) INNER JOIN a ON b.k = a.y OPTION (FORCE ORDER)", 8622),
        ("SELECT a.k FROM b WITH (FORCESEEK) LEFT OUTER JOIN a ON b.k = a.y", 8622),
        ("SELECT a.k FROM a INNER JOIN b WITH (FORCESEEK) ON b.x = a.y", 8622),
        ("SELECT a.k FROM a LEFT OUTER JOIN b WITH (FORCESEEK) ON b.k + 1 = a.y", 8622),
        ("SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WITH (FORCESEEK) WHERE b.x = a.y)", 8622),
        ("UPDATE q SET x = 2 FROM b AS q WITH (FORCESEEK) INNER JOIN a ON a.y = q.x", 8622),
    ],
)
def test_forceseek_by_a_column_of_another_table_needs_an_index_on_its_own(
    sql, answer, bad_optimizer
):
    """Table hints page: seeks only, and 8622 where no plan has one; the order of inner joins is
    the optimizer's, unless FORCE ORDER takes it away.
    """
    lab = Lab(switches={"bad_optimizer": bad_optimizer})
    lab.run(TWO_TABLES)
    if isinstance(answer, int):
        assert lab.error(sql) == answer
    else:
        assert sorted(lab.rows(sql)) == answer
