"""CREATE VIEW: what it refuses, what it is bound to, SCHEMABINDING, ENCRYPTION, sp_refreshview."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL, a varchar(5) NULL, n int NULL); "
        "INSERT t VALUES (1, 'x', 0)"
    )
    return made


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("SELECT 1", 4511),
        ("SELECT k, k FROM t", 4506),
        ("SELECT * FROM nothere", 208),
        ("SELECT nope FROM t", 207),
        ("SELECT i FROM #x", 4508),
        ("SELECT @x AS x", 137),
        ("SELECT k FROM t ORDER BY k", 1033),
        ("SELECT * FROM v", 208),
    ],
)
def test_a_view_is_compiled_when_it_is_made(lab, query, number):
    lab.run("CREATE TABLE #x (i int)")
    assert lab.error(f"CREATE VIEW v AS {query}") == number
    assert lab.rows("SELECT name FROM sys.views") == []


def test_the_column_list_must_fit(lab):
    assert lab.error("CREATE VIEW v (a) AS SELECT k, a FROM t") == 8158
    assert lab.error("CREATE VIEW v (a, b, c) AS SELECT k, a FROM t") == 8159
    lab.run("CREATE VIEW v (one, two) AS SELECT k, 2 FROM t")
    assert lab.rows("SELECT one, two FROM v") == [(1, 2)]


def test_top_and_offset_make_an_order_allowed(lab):
    lab.run("INSERT t VALUES (2, 'y', 0)")
    lab.run("CREATE VIEW v AS SELECT TOP (1) k FROM t ORDER BY k DESC")
    lab.run("CREATE VIEW w AS SELECT k FROM t ORDER BY k OFFSET 1 ROWS")
    assert lab.rows("SELECT * FROM v UNION ALL SELECT * FROM w") == [(2,), (2,)]


def test_a_view_of_itself_is_4429(lab):
    lab.run("CREATE VIEW v AS SELECT k FROM t")
    lab.run("CREATE VIEW w AS SELECT k FROM v")
    assert lab.error("ALTER VIEW v AS SELECT k FROM v") == 4429
    assert lab.error("ALTER VIEW v AS SELECT k FROM w") == 4429


def test_star_means_the_columns_there_were_until_the_view_is_refreshed(lab):
    lab.run("CREATE VIEW v AS SELECT * FROM t")
    lab.run("ALTER TABLE t ADD more int NULL")
    assert lab.rows("SELECT * FROM v") == [(1, "x", 0)]
    lab.run("EXEC sp_refreshview 'dbo.v'")
    assert lab.rows("SELECT * FROM v") == [(1, "x", 0, None)]


def test_a_view_whose_column_is_gone_cannot_be_used(lab):
    lab.run("CREATE VIEW v AS SELECT * FROM t")
    lab.run("ALTER TABLE t DROP COLUMN n")
    sink = lab.send("SELECT * FROM v")
    assert [m.number for m in sink.errors] == [4502, 4413]
    lab.run("DROP TABLE t")
    sink = lab.send("SELECT * FROM v")
    assert [m.number for m in sink.errors] == [208, 4413]


def test_sp_refreshview_needs_a_view(lab):
    assert lab.error("EXEC sp_refreshview 't'") == 15165
    lab.run("CREATE PROCEDURE p AS SELECT 1")
    lab.run("EXEC sp_refreshsqlmodule 'p'")


# ---------------------------------------------------------------------- SCHEMABINDING
def test_schemabinding_protects_what_the_view_reads(lab):
    lab.run("CREATE VIEW v WITH SCHEMABINDING AS SELECT k FROM dbo.t WHERE a = 'x'")
    lab.run("CREATE VIEW w WITH SCHEMABINDING AS SELECT k FROM dbo.v")
    assert lab.error("DROP TABLE t") == 3729
    assert lab.error("DROP VIEW v") == 3729
    sink = lab.send("ALTER TABLE t DROP COLUMN a")
    assert [m.number for m in sink.errors] == [5074, 4922]
    lab.run("ALTER TABLE t DROP COLUMN n; DROP VIEW w; DROP VIEW v; DROP TABLE t")


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("SELECT * FROM dbo.t", 1054),
        ("SELECT k FROM t", 4512),
        ("SELECT k FROM lab.dbo.t", 4512),
        ("SELECT k FROM dbo.loose", 4513),
    ],
)
def test_schemabinding_wants_two_part_names_and_no_star(lab, query, number):
    lab.run("CREATE VIEW loose AS SELECT k FROM t")
    assert lab.error(f"CREATE VIEW v WITH SCHEMABINDING AS {query}") == number


def test_the_catalog_knows_bound_and_checked_views(lab):
    lab.run("CREATE VIEW v WITH SCHEMABINDING AS SELECT k FROM dbo.t WITH CHECK OPTION")
    assert lab.rows(
        "SELECT m.is_schema_bound, v.with_check_option FROM sys.sql_modules m "
        "JOIN sys.views v ON v.object_id = m.object_id"
    ) == [(1, 1)]


# ---------------------------------------------------------------------- ENCRYPTION
@pytest.mark.parametrize(
    "module",
    [
        "VIEW m WITH ENCRYPTION AS SELECT k FROM t",
        "PROCEDURE m WITH ENCRYPTION AS SELECT k FROM t",
        "FUNCTION m () RETURNS int WITH ENCRYPTION AS BEGIN RETURN 1 END",
    ],
)
def test_an_encrypted_module_runs_and_is_not_shown(lab, module):
    lab.run(f"CREATE {module}")
    assert lab.rows("SELECT definition, OBJECT_DEFINITION(object_id) FROM sys.sql_modules") == [
        (None, None)
    ]
    sink = lab.run("EXEC sp_helptext 'm'")
    assert [m.number for m in sink.messages] == [15471] and not sink.result_sets


def test_the_catalog_shows_the_columns_of_a_view(lab):
    lab.run("CREATE VIEW v (one, two) AS SELECT k, a FROM t WITH CHECK OPTION")
    assert lab.rows(
        "SELECT name, column_id, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('v')"
    ) == [("one", 1, 0), ("two", 2, 1)]
    assert lab.rows(
        "SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM "
        "INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'v'"
    ) == [("one", "int", None), ("two", "varchar", 5)]
    assert lab.rows(
        "SELECT TABLE_NAME, CHECK_OPTION, IS_UPDATABLE FROM INFORMATION_SCHEMA.VIEWS"
    ) == [("v", "CASCADE", "NO")]
