"""A MERGE of random rows does what its three clauses say, row by row."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.exec.lab import Lab

KEYS = st.integers(0, 6)
ROWS = st.dictionaries(KEYS, st.integers(0, 3), max_size=6)


def _values(rows):
    return ", ".join(f"({key}, {value})" for key, value in rows.items())


def _model(target, source, limit):
    """(rows afterwards, actions) of the statement below."""
    after, actions = dict(target), []
    for key, value in source.items():
        if key in target and target[key] < 2:
            after[key] = value
            actions.append(("UPDATE", key))
        elif key in target:
            del after[key]
            actions.append(("DELETE", key))
        elif value > 0:
            after[key] = value
            actions.append(("INSERT", key))
    for key, value in target.items():
        if key not in source and value == limit:
            del after[key]
            actions.append(("DELETE", key))
    return after, actions


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS, st.integers(0, 3))
def test_each_row_meets_its_clause(target, source, limit):
    lab = Lab()
    lab.run(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int NOT NULL); "
        "CREATE TABLE s (k int NOT NULL, v int NOT NULL)"
    )
    for name, rows in (("t", target), ("s", source)):
        if rows:
            lab.run(f"INSERT {name} VALUES {_values(rows)}")
    after, actions = _model(target, source, limit)
    found = lab.rows(
        "MERGE t USING s ON s.k = t.k WHEN MATCHED AND t.v < 2 THEN UPDATE SET v = s.v "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.v > 0 THEN INSERT VALUES (s.k, s.v) "
        f"WHEN NOT MATCHED BY SOURCE AND t.v = {limit} THEN DELETE "
        "OUTPUT $action, COALESCE(inserted.k, deleted.k);"
    )
    assert sorted(found) == sorted(actions)
    assert dict(lab.rows("SELECT k, v FROM t")) == after
    lab.run(
        "BEGIN TRANSACTION; MERGE t USING s ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN DELETE; "
        "ROLLBACK"
    )
    assert dict(lab.rows("SELECT k, v FROM t")) == after
