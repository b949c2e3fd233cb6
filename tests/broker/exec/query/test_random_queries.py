"""Random single-table queries give what SQLite gives, where both mean the same."""

import sqlite3

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.exec.lab import Lab

ROWS = [
    (number, number % 4 if number % 5 else None, (number * 7) % 10, "abcde"[number % 5])
    for number in range(1, 31)
]


def _lab():
    lab = Lab()
    lab.run(
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, b int NOT NULL, "
        "s varchar(5) NOT NULL); CREATE INDEX ix ON t (a, b); CREATE INDEX iy ON t (b)"
    )
    values = ", ".join(f"({i}, {'NULL' if a is None else a}, {b}, '{s}')" for i, a, b, s in ROWS)
    lab.run(f"INSERT t VALUES {values}")
    return lab


LAB = _lab()
LITE = sqlite3.connect(":memory:", check_same_thread=False)
LITE.execute("CREATE TABLE t (id int, a int, b int, s text)")
LITE.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)

numbers = st.integers(-1, 11).map(str)
columns = st.sampled_from(["id", "a", "b"])
operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
terms = st.one_of(columns, numbers, st.builds("({} + {})".format, columns, numbers))
comparisons = st.builds("{} {} {}".format, terms, operators, terms)
atoms = st.one_of(
    comparisons,
    st.builds("{} BETWEEN {} AND {}".format, columns, numbers, numbers),
    st.builds("{} IN ({}, {}, {})".format, columns, numbers, numbers, numbers),
    st.builds("{} IS {}NULL".format, columns, st.sampled_from(["", "NOT "])),
    st.builds("s {} '{}'".format, operators, st.sampled_from("abcde")),
    st.builds(
        "EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.{} AND u.b > {})".format, columns, numbers
    ),
    st.builds(
        "{} {}IN (SELECT b FROM t WHERE id < {})".format,
        columns,
        st.sampled_from(["", "NOT "]),
        numbers,
    ),
)
predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=4,
)


def both(sql):
    """Rows of the two engines."""
    return LAB.rows(sql), LITE.execute(sql).fetchall()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(predicates)
def test_where_selects_the_same_rows(predicate):
    ours, theirs = both(f"SELECT id, a, b, s FROM t WHERE {predicate} ORDER BY id")
    assert ours == theirs


@settings(max_examples=60, deadline=None, derandomize=True)
@given(predicates, columns)
def test_groups_count_and_sum_the_same(predicate, column):
    ours, theirs = both(
        f"SELECT {column}, COUNT(*), COUNT(a), SUM(b), MIN(s), MAX(id) FROM t WHERE {predicate} "
        f"GROUP BY {column} HAVING COUNT(*) > 1 ORDER BY {column}"
    )
    assert ours == theirs


@settings(max_examples=60, deadline=None, derandomize=True)
@given(predicates, predicates, st.sampled_from(["INNER", "LEFT"]), columns, columns)
def test_joins_pair_the_same_rows(left, right, kind, one, two):
    ours, theirs = both(
        f"SELECT x.id, y.id FROM (SELECT * FROM t WHERE {left}) AS x {kind} JOIN "
        f"(SELECT * FROM t WHERE {right}) AS y ON x.{one} = y.{two} ORDER BY x.id, y.id"
    )
    assert ours == theirs


@settings(max_examples=40, deadline=None, derandomize=True)
@given(predicates, st.integers(0, 9))
def test_the_access_path_does_not_change_the_rows(predicate, value):
    where = f"b = {value} AND ({predicate})"
    sql = f"SELECT id FROM t {{}} WHERE {where} ORDER BY id"
    assert (
        LAB.rows(sql.format(""))
        == LAB.rows(sql.format("WITH (INDEX(iy), FORCESEEK)"))
        == LAB.rows(sql.format("WITH (INDEX(1))"))
    )
