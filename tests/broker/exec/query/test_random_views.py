"""Asking a view with any condition gives what asking a copy of its rows gives."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.exec.lab import Lab

VIEWS = {
    "plain": "SELECT k AS id, g AS team, n FROM t WHERE n > 1",
    "joined": "SELECT t.k AS id, u.g AS team, t.n FROM t JOIN u ON u.g = t.g",
    "outer_joined": "SELECT t.k AS id, u.g AS team, t.n FROM t LEFT JOIN u ON u.g = t.g "
    "AND u.x = 1",
    "computed": "SELECT k + 1 AS id, COALESCE(g, 0) AS team, n FROM t",
    "nested": "SELECT id, team, n FROM plain WHERE team IS NOT NULL",
    "grouped": "SELECT MAX(k) AS id, g AS team, COUNT(*) AS n FROM t GROUP BY g",
    "topped": "SELECT TOP (4) k AS id, g AS team, n FROM t ORDER BY k",
    "numbered": "SELECT k AS id, g AS team, ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) AS n "
    "FROM t",
    "distinct_ones": "SELECT DISTINCT g AS id, g AS team, n FROM t",
}
_COLUMN = st.sampled_from(["id", "team", "n"])
_SIMPLE = st.one_of(
    st.builds(
        "x.{} {} {}".format, _COLUMN, st.sampled_from(["=", "<", ">=", "<>"]), st.integers(0, 6)
    ),
    st.builds("x.{} IS {}NULL".format, _COLUMN, st.sampled_from(["", "NOT "])),
    st.builds("x.{} IN ({}, {})".format, _COLUMN, st.integers(0, 6), st.integers(0, 6)),
    st.builds("{} = x.{}".format, st.just("@p"), _COLUMN),
)
_CONDITION = st.one_of(
    _SIMPLE,
    st.builds("({}) AND ({})".format, _SIMPLE, _SIMPLE),
    st.builds("({}) OR ({})".format, _SIMPLE, _SIMPLE),
    st.builds("NOT ({})".format, _SIMPLE),
)
_SHAPES = st.sampled_from(
    [
        "SELECT x.id, x.team, x.n FROM {view} AS x WHERE {condition}",
        "SELECT t.k, x.n FROM t LEFT JOIN {view} AS x ON x.id = t.k AND {condition}",
        "SELECT t.k, x.n FROM t JOIN {view} AS x ON x.id = t.k WHERE {condition}",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM {view} AS x WHERE x.id = t.k AND "
        "({condition}))",
        "SELECT t.k, y.n FROM t CROSS APPLY (SELECT x.n FROM {view} AS x WHERE x.team = t.g AND "
        "({condition})) AS y",
        "WITH x AS (SELECT * FROM {view}) SELECT x.id FROM x WHERE {condition}",
        "SELECT x.team, COUNT(*) FROM (SELECT * FROM {view}) AS x WHERE {condition} GROUP BY x.team",
    ]
)


@pytest.fixture(scope="module")
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, g int NULL, n int NULL); "
        "CREATE INDEX ix ON t (g); "
        "CREATE TABLE u (g int NOT NULL, x int NULL); "
        "INSERT t VALUES (0, 1, 5), (1, 1, 2), (2, NULL, 3), (3, 2, 1), (4, 2, NULL), "
        "(5, 6, 6); INSERT u VALUES (1, 1), (2, 0), (2, 1), (6, NULL)"
    )
    for name, query in VIEWS.items():
        made.run(f"CREATE VIEW {name} AS {query}")
        made.run(f"SELECT * INTO copy_of_{name} FROM {name}")
    return made


@settings(max_examples=120, deadline=None)
@given(
    view=st.sampled_from(sorted(VIEWS)),
    condition=_CONDITION,
    shape=_SHAPES,
    value=st.integers(0, 6),
)
def test_a_condition_on_a_view_means_what_it_says(lab, view, condition, shape, value):
    declared = f"DECLARE @p int = {value}; "
    asked = lab.rows(declared + shape.format(view=view, condition=condition))
    copied = lab.rows(declared + shape.format(view=f"copy_of_{view}", condition=condition))
    assert sorted(asked, key=repr) == sorted(copied, key=repr)
