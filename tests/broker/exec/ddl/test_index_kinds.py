"""Descending keys, IGNORE_DUP_KEY, filters, options, DISABLE (CREATE INDEX, ALTER INDEX pages)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.instance.instance import Instance
from tests.broker.exec.lab import Lab


def test_a_descending_key_orders_the_rows(run):
    run("CREATE TABLE dbo.T (a int NULL, b int NOT NULL, PRIMARY KEY (b DESC))")
    run("INSERT dbo.T VALUES (1, 1), (2, 3), (3, 2)")
    assert run("SELECT b FROM dbo.T").rows() == [(3,), (2,), (1,)]
    assert run("SELECT is_descending_key FROM sys.index_columns").rows() == [(1,)]


VALUES = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12)
BOUND = st.sampled_from(
    [
        "a > {0}",
        "a >= {0}",
        "a < {0}",
        "a <= {0}",
        "a = {0}",
        "a BETWEEN {0} AND {1}",
        "a > {0} AND a < {1}",
        "a IN ({0}, {1})",
    ]
)


@settings(max_examples=60, deadline=None)
@given(VALUES, BOUND, st.integers(0, 9), st.integers(0, 9))
def test_ranges_over_a_descending_key_are_those_of_an_ascending_one(values, bound, low, high):
    session = Instance().connect("tempdb")
    session.execute(
        "CREATE TABLE #d (n int IDENTITY, a int); CREATE INDEX I ON #d (a DESC);"
        "CREATE TABLE #p (n int IDENTITY, a int)"
    ).ok()
    for value in values:
        text = "NULL" if value is None else value
        session.execute(f"INSERT #d VALUES ({text}); INSERT #p VALUES ({text})").ok()
    where = bound.format(low, high)
    found = [
        session.execute(f"SELECT n FROM {t} WHERE {where} ORDER BY n").ok().rows()
        for t in ("#d WITH (INDEX (I))", "#p")
    ]
    assert found[0] == found[1]


def test_key_range_locks_follow_the_descending_order():
    lab = Lab()
    lab.run(
        "CREATE TABLE dbo.T (a int PRIMARY KEY NONCLUSTERED, b int);"
        "CREATE CLUSTERED INDEX I ON dbo.T (b DESC); INSERT dbo.T VALUES (1, 10), (2, 20),"
        "(3, 30)"
    )
    other = lab.other()
    lab.run(
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN;"
        "SELECT COUNT(*) FROM dbo.T WITH (INDEX (I)) WHERE b BETWEEN 15 AND 25"
    )
    other.run("SET LOCK_TIMEOUT 0; INSERT dbo.T VALUES (4, 35)")
    assert other.send("INSERT dbo.T VALUES (5, 17)").errors[0].number == 1222
    assert other.send("INSERT dbo.T VALUES (6, 22)").errors[0].number == 1222
    other.run("INSERT dbo.T VALUES (7, 5)")


def test_ignore_dup_key_leaves_the_duplicate_out(run, error):
    run(
        "CREATE TABLE dbo.T (a int IDENTITY, b int); "
        "CREATE UNIQUE INDEX I ON dbo.T (b) WITH (IGNORE_DUP_KEY = ON)"
    )
    answer = run("INSERT dbo.T VALUES (1), (2), (1), (2); SELECT @@ROWCOUNT")
    assert [(m.number, m.severity) for m in answer.messages] == [(3604, 0)]
    assert answer.rows() == [(2,)]
    run("INSERT dbo.T VALUES (3)")
    assert error("UPDATE dbo.T SET b = 1") == 2601
    assert run("SELECT b FROM dbo.T ORDER BY b").rows() == [(1,), (2,), (3,)]
    run("ALTER INDEX I ON dbo.T SET (IGNORE_DUP_KEY = OFF)")
    assert error("INSERT dbo.T VALUES (3)") == 2601


def test_a_primary_key_may_ignore_duplicates_too(run):
    run("CREATE TABLE dbo.T (a int PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))")
    assert run("INSERT dbo.T VALUES (1); INSERT dbo.T VALUES (1)").messages[0].number == 3604
    assert run("SELECT ignore_dup_key FROM sys.indexes").rows() == [(1,)]


def test_a_disabled_index_checks_nothing_until_it_is_rebuilt(run, error):
    run(
        "CREATE TABLE dbo.T (a int); CREATE UNIQUE INDEX I ON dbo.T (a); INSERT dbo.T VALUES (1);"
        "ALTER INDEX I ON dbo.T DISABLE; INSERT dbo.T VALUES (1)"
    )
    assert run("SELECT is_disabled, has_filter FROM sys.indexes WHERE name = 'I'").rows() == [
        (1, 0)
    ]
    assert run("SELECT COUNT(*) FROM dbo.T WHERE a = 1").rows() == [(2,)]
    assert error("SELECT * FROM dbo.T WITH (INDEX (I))") == 315
    assert error("ALTER INDEX I ON dbo.T REBUILD") == 1505
    run("DELETE dbo.T; INSERT dbo.T VALUES (1); ALTER INDEX ALL ON dbo.T REBUILD")
    assert error("INSERT dbo.T VALUES (1)") == 2601


def test_disabling_a_key_disables_the_foreign_keys_that_use_it(run):
    run(
        "CREATE TABLE dbo.P (a int CONSTRAINT U UNIQUE); "
        "CREATE TABLE dbo.C (a int CONSTRAINT F REFERENCES dbo.P (a))"
    )
    assert run("ALTER INDEX U ON dbo.P DISABLE").messages[0].number == 1961
    run("INSERT dbo.C VALUES (9)")
    assert run("SELECT is_disabled FROM sys.foreign_keys").rows() == [(1,)]


def test_drop_existing_replaces_the_index(run, error):
    run("CREATE TABLE dbo.T (a int, b int CONSTRAINT U UNIQUE); CREATE INDEX I ON dbo.T (a)")
    run("CREATE UNIQUE INDEX I ON dbo.T (a, b) WITH (DROP_EXISTING = ON)")
    assert run("SELECT is_unique FROM sys.indexes WHERE name = 'I'").rows() == [(1,)]
    assert error("CREATE INDEX U ON dbo.T (a) WITH (DROP_EXISTING = ON)") == 1907


def test_options_about_pages_are_kept_for_the_catalog(run):
    run(
        "CREATE TABLE dbo.T (a int); CREATE INDEX I ON dbo.T (a) WITH (FILLFACTOR = 80, PAD_INDEX "
        "= ON, SORT_IN_TEMPDB = ON, DATA_COMPRESSION = PAGE, MAXDOP = 2, ALLOW_ROW_LOCKS = ON)"
    )
    assert run("SELECT fill_factor, is_padded FROM sys.indexes WHERE name = 'I'").rows() == [
        (80, 1)
    ]


def test_unique_takes_one_null(run, error):
    run("CREATE TABLE dbo.T (a int UNIQUE); INSERT dbo.T VALUES (NULL)")
    assert error("INSERT dbo.T VALUES (NULL)") == 2627


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TABLE dbo.S (a int SPARSE NOT NULL)", 1731),
        ("CREATE TABLE dbo.S (a int SPARSE DEFAULT 1)", 1731),
        ("CREATE TABLE dbo.S (a text SPARSE)", 1731),
        ("CREATE TABLE dbo.S (a int ROWGUIDCOL)", 2761),
        ("CREATE TABLE dbo.S (a uniqueidentifier ROWGUIDCOL, b uniqueidentifier ROWGUIDCOL)", 8196),
        ("CREATE TABLE dbo.S (a int SPARSE NULL, b int SPARSE)", None),
    ],
)
def test_sparse_and_rowguid_columns_have_their_rules(error, text, number):
    assert error(text) == number


def test_sparse_columns_behave_like_others_and_are_shown(run):
    run(
        "CREATE TABLE dbo.S (id int, a int SPARSE, g uniqueidentifier ROWGUIDCOL); "
        "INSERT dbo.S (id) VALUES (1)"
    )
    assert run("SELECT a, g FROM dbo.S").rows() == [(None, None)]
    assert run("SELECT name FROM sys.columns WHERE is_sparse = 1").rows() == [("a",)]
