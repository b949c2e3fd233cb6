"""CREATE, ALTER and DROP INDEX."""

import pytest


@pytest.fixture(autouse=True)
def table(run):
    run("CREATE TABLE dbo.T (a int NOT NULL CONSTRAINT PK PRIMARY KEY, b int NULL, c nvarchar(9))")
    run("INSERT dbo.T VALUES (1, 1, N'x'), (2, 1, N'y'), (3, NULL, N'z')")


def test_a_unique_index_is_built_from_the_rows_or_refused(error, run):
    assert error("CREATE UNIQUE INDEX IX ON dbo.T (b)") == 1505
    run("CREATE UNIQUE INDEX IX ON dbo.T (c)")
    assert error("INSERT dbo.T VALUES (4, 4, N'X')") == 2601


@pytest.mark.parametrize("action", ["REORGANIZE", "SET (IGNORE_DUP_KEY = OFF)"])
def test_a_disabled_index_is_only_rebuilt(error, run, action):
    run("CREATE INDEX IX ON dbo.T (b)")
    run("ALTER INDEX IX ON dbo.T DISABLE")
    assert error(f"ALTER INDEX IX ON dbo.T {action}") == 1973
    run("ALTER INDEX IX ON dbo.T REBUILD")


def test_a_filtered_unique_index_looks_at_its_rows_only(error, run):
    run("UPDATE dbo.T SET b = a WHERE a = 2")
    run("CREATE UNIQUE INDEX IX ON dbo.T (b) WHERE b IS NOT NULL")
    run("INSERT dbo.T VALUES (4, NULL, N'n')")
    assert error("INSERT dbo.T VALUES (5, 2, N'n')") == 2601


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE INDEX PK ON dbo.T (b)", 1913),
        ("CREATE CLUSTERED INDEX IX ON dbo.T (b)", 1902),
        ("CREATE INDEX IX ON dbo.T (nope)", 1911),
        ("CREATE INDEX IX ON dbo.T (b, b)", 1909),
        ("CREATE INDEX IX ON dbo.Nope (b)", 1088),
        ("CREATE INDEX IX ON dbo.T (b) WITH (IGNORE_DUP_KEY = ON)", 1916),
        ("CREATE INDEX IX ON dbo.T (b) WITH (DROP_EXISTING = ON)", 7999),
        ("CREATE INDEX IX ON dbo.T (b) WITH (FILLFACTOR = 101)", 129),
        ("CREATE INDEX IX ON dbo.T (b) WITH (ALLOW_ROW_LOCKS = OFF)", 60001),
        ("CREATE COLUMNSTORE INDEX IX ON dbo.T (b)", 60001),
        ("DROP INDEX IX ON dbo.T", 3701),
        ("DROP INDEX PK ON dbo.T", 3723),
        ("ALTER INDEX PK ON dbo.T DISABLE", 60001),
    ],
)
def test_what_is_wrong_is_named_by_the_servers_number(error, text, number):
    assert error(text) == number


def test_options_without_effect_here_are_accepted(run):
    run("CREATE INDEX IX ON dbo.T (b) INCLUDE (c) WITH (ALLOW_PAGE_LOCKS = OFF, FILLFACTOR = 80)")
    assert run("SELECT allow_page_locks FROM sys.indexes WHERE name = 'IX'").rows() == [(0,)]
    run("ALTER INDEX IX ON dbo.T REBUILD; DROP INDEX IX ON dbo.T; DROP INDEX IF EXISTS IX ON dbo.T")


def test_a_rollback_takes_the_index_back(run):
    run("BEGIN TRAN; CREATE INDEX IX ON dbo.T (b); ROLLBACK")
    assert run("SELECT COUNT(*) FROM sys.indexes WHERE name = 'IX'").rows() == [(0,)]
