"""Access paths are chosen by rule, and can be asked for."""

import pytest

from redial.tsql import parse_batch
from redial_broker.exec.compiler import Context
from redial_broker.exec.expressions import Scope
from redial_broker.exec.program import Program
from redial_broker.exec.query import explain
from tests.broker.exec.lab import Lab

CREATE = """
CREATE TABLE t (a int NOT NULL, b int NOT NULL, h uniqueidentifier NOT NULL, c int NULL,
    n nvarchar(20) NULL, v varchar(20) NULL,
    CONSTRAINT pk PRIMARY KEY CLUSTERED (a, b), CONSTRAINT uq UNIQUE NONCLUSTERED (h));
CREATE INDEX ix_c ON t (c, n);
CREATE INDEX ix_v ON t (v);
CREATE TABLE u (a int NOT NULL PRIMARY KEY, x int NULL);
"""


def made(**options):
    lab = Lab(**options)
    lab.run(CREATE)
    return lab


@pytest.fixture
def lab():
    return made()


def paths(lab, sql):
    """The paths of a query, in reading order."""
    session = lab.session
    batch = parse_batch(sql)
    program = Program("", "", session.database, batch.source)
    scope = Scope(source=batch.source)
    return explain(batch.statements[-1], Context(program, scope, session))


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("a = 1 AND b = 2", "SEEK t.pk (2 columns)"),
        ("b = 2 AND 1 = a", "SEEK t.pk (2 columns)"),
        ("a = 1 AND b = 2 AND c = 3", "SEEK t.pk (2 columns), with residual"),
        ("a = 1", "RANGE t.pk (1 columns)"),
        ("a = 1 AND b > 2", "RANGE t.pk (2 columns)"),
        ("a = 1 AND b BETWEEN 2 AND 3", "RANGE t.pk (2 columns)"),
        ("a > 1", "RANGE t.pk (1 columns)"),
        ("b = 2", "SCAN t.pk, with residual"),
        ("h = '0E984725-C51C-4BF4-9960-E1C80E27ABA0'", "SEEK t.uq (1 columns)"),
        ("h > '0E984725-C51C-4BF4-9960-E1C80E27ABA0'", "RANGE t.uq (1 columns)"),
        ("c = 1 AND n = N'x'", "RANGE t.ix_c (2 columns)"),
        ("n = N'x'", "SCAN t.pk, with residual"),
        ("a = 1 OR b = 2", "SCAN t.pk, with residual"),
        ("a + 0 = 1 AND b = 2", "SCAN t.pk, with residual"),
        ("a IN (1, 2) AND b = 1", "SEEK t.pk (2 columns)"),
        ("NOT a = 1", "SCAN t.pk, with residual"),
        ("", "SCAN t.pk"),
    ],
)
def test_the_path_follows_from_the_conditions(lab, where, path):
    condition = f" WHERE {where}" if where else ""
    assert paths(lab, f"SELECT * FROM t{condition}") == [path]


def test_a_nonclustered_index_may_cover_the_query(lab):
    guid = "'0E984725-C51C-4BF4-9960-E1C80E27ABA0'"
    assert paths(lab, f"SELECT a, b, h FROM t WHERE h = {guid}") == [
        "SEEK t.uq (1 columns), covered"
    ]


def test_an_nvarchar_value_does_not_search_a_varchar_index(lab):
    assert paths(lab, "SELECT a FROM t WHERE v = 'x'") == ["RANGE t.ix_v (1 columns), covered"]
    assert paths(lab, "SELECT a FROM t WHERE v = N'x'") == ["SCAN t.pk, with residual"]


def test_a_varchar_value_searches_an_nvarchar_index(lab):
    assert paths(lab, "SELECT a FROM t WHERE c = 1 AND n = 'x'") == [
        "RANGE t.ix_c (2 columns), covered"
    ]


def test_a_wider_number_does_not_search_an_int_index(lab):
    assert paths(lab, "SELECT * FROM u WHERE a = 1.5")[0].startswith("SCAN u")


def test_a_join_seeks_the_inner_table_by_the_outer_row(lab):
    outer, inner = paths(lab, "SELECT * FROM u JOIN t ON t.a = u.x AND t.b = 1")
    assert outer.startswith("SCAN u")
    assert inner == "SEEK t.pk (2 columns)"


def test_a_join_starts_with_the_source_that_makes_the_other_a_seek(lab):
    first, second = paths(lab, "SELECT * FROM t JOIN u ON u.a = t.c WHERE t.a = 1 AND t.b = 2")
    assert first == "SEEK t.pk (2 columns)"
    assert second.startswith("SEEK u")
    first, second = paths(lab, "SELECT * FROM u JOIN t ON u.a = t.c WHERE t.a = 1 AND t.b = 2")
    assert first == "SEEK t.pk (2 columns)"


def test_bad_optimizer_scans_wherever_no_hint_forbids_it():
    lab = made(switches={"bad_optimizer": True})
    assert paths(lab, "SELECT * FROM t WHERE a = 1 AND b = 2") == ["SCAN t.pk, with residual"]
    assert paths(lab, "SELECT * FROM t WITH (INDEX(pk), FORCESEEK) WHERE a = 1 AND b = 2") == [
        "SEEK t.pk (2 columns)"
    ]
    assert paths(lab, "SELECT * FROM t WITH (FORCESEEK) WHERE a = 1 AND b = 2") == [
        "SEEK t.pk (2 columns)"
    ]


def test_bad_optimizer_seeks_by_the_least_helpful_index_and_reads_backwards():
    lab = made(switches={"bad_optimizer": True})
    assert paths(lab, "SELECT * FROM t WITH (FORCESEEK) WHERE a = 1 AND b = 2 AND c = 3") == [
        "RANGE t.ix_c (1 columns), with residual"
    ]
    lab.run("INSERT u (a) VALUES (1), (2), (3)")
    assert lab.rows("SELECT a FROM u") == [(3,), (2,), (1,)]
    assert lab.rows("SELECT a FROM u ORDER BY a") == [(1,), (2,), (3,)]
    assert lab.rows("SELECT TOP (2) a FROM u ORDER BY a") == [(1,), (2,)]


def test_bad_optimizer_changes_the_locks_of_a_delete_by_key():
    lab = made(switches={"bad_optimizer": True})
    lab.run("INSERT t (a, b, h) VALUES (1, 1, NEWID()), (2, 2, NEWID())")
    lab.watch("t")
    taken = lab.locks("BEGIN TRAN; DELETE t WHERE a = 1 AND b = 1")
    assert taken[:4] == ["IX T", "U C(2,2)", "U C(1,1)", "X C(1,1)"]


def test_a_system_view_is_asked_by_key_where_it_can_be(lab, monkeypatch):
    view = lab.session.database.resolve("sys", "conversation_endpoints")
    asked = []
    monkeypatch.setitem(
        view.lookups,
        "conversation_handle",  # the view is every database's
        lambda s, db, value: asked.append(value) or [],
    )
    guid = "0E984725-C51C-4BF4-9960-E1C80E27ABA0"
    assert (
        lab.rows(
            "SELECT state FROM sys.conversation_endpoints WITH (NOLOCK) "
            f"WHERE conversation_handle = '{guid}' AND state = 'CO'"
        )
        == []
    )
    assert asked == [guid]


def test_a_range_of_guids_is_read_in_the_servers_order_not_in_that_of_the_text(lab):
    """The last six bytes weigh most: 1 in them comes after any first group."""
    low, high = "F0000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
    lab.run(
        f"CREATE TABLE dbo.G (Id uniqueidentifier NOT NULL PRIMARY KEY); "
        f"INSERT INTO dbo.G VALUES ('{high}'), ('{low}');"
    )
    query = "SELECT TOP (1) g.Id FROM dbo.G AS g WITH (FORCESEEK) WHERE g.Id > '{}' ORDER BY g.Id;"
    assert lab.rows(query.format("0" * 8 + "-0000-0000-0000-" + "0" * 12)) == [(low,)]
    assert lab.rows(query.format(low)) == [(high,)]


@pytest.mark.parametrize(
    ("value", "found"), [("as read", [(1,), (2,), (3,)]), ("reversed", [(3,), (2,), (1,)])]
)
def test_rows_that_are_equal_in_order_by_come_in_either_order(value, found):
    lab = made(switches={"order_by_ties": value})
    lab.run("INSERT u (a, x) VALUES (1, 0), (2, 0), (3, 0)")
    assert lab.rows("SELECT a FROM u ORDER BY x") == found
    assert lab.rows("SELECT a FROM u ORDER BY x DESC, a") == [(1,), (2,), (3,)]
