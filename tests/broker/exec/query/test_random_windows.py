"""Random window functions, joins and groupings give what SQLite gives, where both mean the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.exec.query.test_random_queries import both, predicates

columns = st.sampled_from(["a", "b", "id"])
bounds = st.sampled_from(
    [
        "UNBOUNDED PRECEDING",
        "3 PRECEDING",
        "1 PRECEDING",
        "CURRENT ROW",
        "1 FOLLOWING",
        "2 FOLLOWING",
        "UNBOUNDED FOLLOWING",
    ]
)
ORDER = [
    "UNBOUNDED PRECEDING",
    "3 PRECEDING",
    "1 PRECEDING",
    "CURRENT ROW",
    "1 FOLLOWING",
    "2 FOLLOWING",
    "UNBOUNDED FOLLOWING",
]


def _frame(pair):
    """A frame from two bounds, in an order that is allowed."""
    start, finish = sorted(pair, key=ORDER.index)
    if start == "UNBOUNDED FOLLOWING" or finish == "UNBOUNDED PRECEDING":
        start, finish = "UNBOUNDED PRECEDING", "CURRENT ROW"
    return f"ROWS BETWEEN {start} AND {finish}"


frames = st.one_of(
    st.just(""),
    st.tuples(bounds, bounds).map(_frame),
    st.sampled_from(
        ["RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"]
    ),
)
framed = st.builds(
    "{}({})".format,
    st.sampled_from(["SUM", "COUNT", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE"]),
    columns,
)
ranking = st.sampled_from(
    [
        "ROW_NUMBER()",
        "RANK()",
        "DENSE_RANK()",
        "NTILE(3)",
        "NTILE(40)",
        "CUME_DIST()",
        "PERCENT_RANK()",
        "LAG(b)",
        "LEAD(b, 2)",
        "LAG(a, 3, -1)",
        "LEAD(id, 0)",
    ]
)
partitions = st.sampled_from(["", "PARTITION BY a ", "PARTITION BY s "])


@settings(max_examples=120, deadline=None)
@given(framed, partitions, columns, st.sampled_from(["", " DESC"]), frames, predicates)
def test_framed_functions(function, partition, column, direction, frame, predicate):
    # Rows equal in the order have no order among themselves, so ROWS frames need the key.
    tie = ", id" if frame.startswith("ROWS") or "VALUE" in function else ""
    ours, theirs = both(
        f"SELECT id, {function} OVER ({partition}ORDER BY {column}{direction}{tie} {frame}) AS w "
        f"FROM t WHERE {predicate} ORDER BY id"
    )
    assert ours == theirs


@settings(max_examples=120, deadline=None)
@given(ranking, partitions, columns, st.sampled_from(["", " DESC"]), predicates)
def test_ranking_functions(function, partition, column, direction, predicate):
    tie = "" if "RANK" in function or "CUME" in function else ", id"
    ours, theirs = both(
        f"SELECT id, {function} OVER ({partition}ORDER BY {column}{direction}{tie}) AS w "
        f"FROM t WHERE {predicate} ORDER BY id"
    )
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    assert [row[1] for row in ours] == pytest.approx([row[1] for row in theirs])


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(["JOIN", "LEFT JOIN", "CROSS JOIN"]),
    st.sampled_from(["l.a = r.b", "l.id = r.a", "l.b = r.b AND r.id > 5", "l.a > r.id"]),
    predicates,
)
def test_joins_of_filtered_tables(kind, condition, predicate):
    on = "" if kind == "CROSS JOIN" else f" ON {condition}"
    where = f" WHERE {condition}" if kind == "CROSS JOIN" else ""
    ours, theirs = both(
        f"SELECT l.id, r.id FROM (SELECT * FROM t WHERE {predicate}) AS l {kind} "
        f"(SELECT * FROM t WHERE b < 8) AS r{on}{where} ORDER BY l.id, r.id"
    )
    assert ours == theirs


@settings(max_examples=60, deadline=None)
@given(predicates, st.sampled_from(["SUM", "MIN", "MAX", "COUNT"]), columns)
def test_correlated_subqueries(predicate, function, column):
    ours, theirs = both(
        f"SELECT id, (SELECT {function}(u.{column}) FROM t AS u WHERE u.b = t.b AND u.id <> t.id) "
        f"AS n FROM t WHERE {predicate} AND EXISTS (SELECT 1 FROM t AS w WHERE w.s = t.s "
        f"AND w.a = t.{column}) ORDER BY id"
    )
    assert ours == theirs
