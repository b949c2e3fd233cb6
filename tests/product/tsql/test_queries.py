"""SELECT and FROM: every part lands in its field."""

from redial.tsql import parse_batch
from redial.tsql.ast import (
    Apply,
    DerivedTable,
    FunctionTable,
    Join,
    Node,
    NodesTable,
    Query,
    SetOperation,
    TableRef,
    VariableTable,
)


def query(sql: str) -> Query:
    """The query of a batch of one SELECT."""
    return parse_batch(sql).statements[0].query


def sources(sql: str) -> list[Node]:
    """What stands in FROM."""
    return query(f"SELECT * FROM {sql}").body.from_


def test_a_select_in_full():
    found = query(
        "SELECT DISTINCT TOP (5) PERCENT a AS x INTO #t FROM t WHERE a = 1 "
        "GROUP BY a HAVING COUNT(*) > 1 ORDER BY a DESC, b OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY "
        "OPTION (MAXDOP 1)"
    )
    body = found.body
    assert body.distinct
    assert body.top.percent
    assert body.top.parenthesised
    assert body.into.name == "#t"
    assert (len(body.from_), len(body.group_by.items)) == (1, 1)
    assert body.having is not None
    assert [item.descending for item in found.order_by] == [True, False]
    assert (found.offset.skip.value, found.offset.count.value) == (1, 2)
    assert [option.name for option in found.options] == ["MAXDOP"]


def test_the_ways_to_name_a_column():
    items = query("SELECT a AS x, b y, z = c, d 'v', 'w' = e, f FROM t").body.items
    assert [item.alias for item in items] == ["x", "y", "z", "v", "w", None]


def test_an_assignment_is_told_from_an_alias():
    (item,) = query("SELECT @a += b FROM t").body.items
    assert (item.variable.name, item.op, item.alias) == ("@a", "+=", None)


def test_intersect_binds_tighter_than_union_and_order_by_belongs_to_the_whole():
    found = query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 ORDER BY 1")
    body = found.body
    assert isinstance(body, SetOperation)
    assert (body.op, body.right.op) == ("UNION ALL", "INTERSECT")
    assert found.order_by


def test_common_tables_and_namespaces_belong_to_the_query():
    found = query("WITH XMLNAMESPACES ('u' AS n, DEFAULT 'd'), c (x) AS (SELECT 1) SELECT * FROM c")
    assert [(n.prefix, n.uri) for n in found.with_.namespaces] == [("n", "u"), (None, "d")]
    assert [(t.name, t.columns) for t in found.with_.tables] == [("c", ["x"])]


def test_joins_are_left_deep_unless_on_says_otherwise():
    (join,) = sources("a JOIN b ON 1 = 1 LEFT JOIN c ON 2 = 2")
    assert (join.kind, join.left.kind, join.right.name.name) == ("LEFT", "INNER", "c")
    (join,) = sources("a JOIN b JOIN c ON 1 = 1 ON 2 = 2")
    assert (join.left.name.name, type(join.right)) == ("a", Join)


def test_each_kind_of_source():
    found = sources(
        "a AS x WITH (NOLOCK), @t y, dbo.f(1) z, (SELECT 1 AS n) d, "
        "@x.nodes('/a') AS n(c), q CROSS APPLY q.x.nodes('/b') m(c)"
    )
    kinds = [TableRef, VariableTable, FunctionTable, DerivedTable, NodesTable, Apply]
    assert [type(source) for source in found] == kinds
    assert found[0].hints[0].name == "NOLOCK"
    assert found[4].columns == ["c"]
    assert found[5].right.call.target.parts == ("q", "x")


def test_a_hint_without_with_is_told_from_a_function():
    (table,) = sources("t (NOLOCK)")
    assert isinstance(table, TableRef)
    (table,) = sources("t a (UPDLOCK)")
    assert (table.alias, table.hints[0].name) == ("a", "UPDLOCK")
    assert isinstance(sources("f (nolock_column)")[0], FunctionTable)


def test_parts_of_a_name_may_be_left_out():
    (table,) = sources("master..t")
    assert table.name.parts == ("master", "", "t")
    assert (table.name.schema, table.name.database, table.name.server) == (None, "master", None)


def test_for_xml_and_for_json():
    found = query("SELECT 1 AS a FOR XML PATH('r'), ROOT, TYPE, ELEMENTS XSINIL").for_
    assert (found.mode, found.element, found.root) == ("PATH", "r", "root")
    assert (found.typed, found.elements) == (True, "XSINIL")
    assert query("SELECT 1 AS a FOR XML RAW").for_.element is None
    assert query("SELECT 1 AS a FOR XML PATH('')").for_.element == ""
    assert query("SELECT 1 AS a FOR JSON PATH, WITHOUT_ARRAY_WRAPPER").for_.without_array_wrapper


def test_windows():
    call = (
        query(
            "SELECT SUM(a) OVER "
            "(PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t"
        )
        .body.items[0]
        .value
    )
    frame = call.over.frame
    assert (frame.unit, frame.start[0], frame.finish[0]) == ("ROWS", "PRECEDING", "CURRENT ROW")
