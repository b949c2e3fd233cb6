"""INSERT, UPDATE, DELETE, MERGE: every part lands in its field."""

from redial.tsql import parse_batch
from redial.tsql.ast import (
    ColumnMethod,
    CurrentOf,
    DefaultValue,
    DerivedTable,
    ExecuteProcedure,
    Node,
    Query,
    Values,
    Variable,
)


def one(sql: str) -> Node:
    """The only statement of a batch."""
    (statement,) = parse_batch(sql).statements
    return statement


def test_insert_of_rows_with_output():
    insert = one("INSERT TOP (1) INTO dbo.t (a, b) OUTPUT inserted.a INTO @o VALUES (1, DEFAULT)")
    assert (insert.target.parts, insert.columns) == (("dbo", "t"), ["a", "b"])
    assert isinstance(insert.source, Values)
    assert isinstance(insert.source.rows[0][1], DefaultValue)
    assert isinstance(insert.outputs[0].into, Variable)
    assert insert.top.count.value == 1


def test_insert_from_a_query_a_procedure_and_a_deleting_statement():
    assert isinstance(one("INSERT t (SELECT 1)").source, Query)
    assert isinstance(one("INSERT t (a) (SELECT 1)").source, Query)
    assert isinstance(one("INSERT @t EXEC p 1").source, ExecuteProcedure)
    insert = one("INSERT t SELECT a FROM (DELETE q OUTPUT deleted.a) AS d")
    (source,) = insert.source.body.from_
    assert isinstance(source, DerivedTable)
    assert type(source.query).__name__ == "Delete"


def test_update_assigns_columns_variables_both_and_calls_methods():
    update = one(
        "UPDATE t SET a = 1, @v = b, @w = c += 2, x.modify('m'), t.d = DEFAULT FROM t AS t"
    )
    first, second, third, fourth, fifth = update.assignments
    assert (first.column.name, first.variable) == ("a", None)
    assert (second.column, second.variable.name) == (None, "@v")
    assert (third.column.name, third.variable.name, third.op) == ("c", "@w", "+=")
    assert isinstance(fourth, ColumnMethod)
    assert fifth.column.parts == ("t", "d")
    assert len(update.from_) == 1


def test_delete_by_condition_and_by_cursor():
    delete = one("DELETE TOP (@n) FROM t OUTPUT deleted.* FROM t JOIN s ON 1 = 1 WHERE t.a = 1")
    assert (len(delete.from_), len(delete.outputs)) == (1, 1)
    where = one("DELETE t WHERE CURRENT OF GLOBAL c").where
    assert isinstance(where, CurrentOf)
    assert (where.cursor.name, where.cursor.is_global) == ("c", True)


def test_a_with_clause_belongs_to_the_change():
    for sql in ("DELETE c", "UPDATE c SET x = 1", "INSERT t SELECT x FROM c"):
        assert one(f"WITH c AS (SELECT 1 AS x) {sql}").with_.tables[0].name == "c"


def test_merge_in_full():
    merge = one(
        "MERGE INTO t WITH (HOLDLOCK) AS x USING s ON x.a = s.a "
        "WHEN MATCHED AND x.b = 1 THEN UPDATE SET b = 2 WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED BY TARGET THEN INSERT (a) VALUES (s.a) "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action;"
    )
    assert (merge.alias, merge.hints[0].name) == ("x", "HOLDLOCK")
    assert [when.match for when in merge.whens] == [
        "MATCHED",
        "MATCHED",
        "NOT MATCHED",
        "NOT MATCHED BY SOURCE",
    ]
    assert merge.whens[0].condition is not None
    assert merge.outputs[0].items[0].value.parts == ("$action",)
