"""Recursive common tables: their form, and their limit.

Source: "WITH common_table_expression" page, Guidelines for recursive common table expressions;
numbers and texts of the errors-events pages.
"""

import pytest

START = "WITH c AS (SELECT 1 AS a UNION ALL "
END = ") SELECT * FROM c"


@pytest.mark.parametrize(
    ("member", "number"),
    [
        ("SELECT DISTINCT a + 1 FROM c WHERE a < 3", 460),
        ("SELECT a + 1 FROM (SELECT DISTINCT a FROM c) x WHERE a < 3", 460),
        ("SELECT TOP (1) a + 1 FROM c WHERE a < 3", 461),
        ("SELECT a + 1 FROM c CROSS APPLY (SELECT TOP (1) 1 AS b) x WHERE a < 3", 461),
        ("SELECT a FROM c JOIN (SELECT 1 b ORDER BY 1 OFFSET 0 ROWS) x ON a = b", 461),
        ("SELECT a + 1 FROM c LEFT JOIN team ON team.id = a WHERE a < 3", 462),
        ("SELECT a + 1 FROM team RIGHT JOIN c ON team.id = a WHERE a < 3", 462),
        ("SELECT a + 1 FROM c FULL JOIN team ON team.id = a WHERE a < 3", 462),
        ("SELECT a + 1 FROM c OUTER APPLY (SELECT 1 AS b) x WHERE a < 3", 462),
        ("SELECT 2 WHERE EXISTS (SELECT * FROM c WHERE a < 1)", 465),
        ("SELECT 2 WHERE 1 IN (SELECT a FROM c)", 465),
        ("SELECT (SELECT a FROM c)", 465),
        ("SELECT 2 WHERE 1 = ANY (SELECT a FROM c)", 465),
        ("SELECT a FROM (SELECT a FROM c UNION ALL SELECT 2) x", 466),
        ("SELECT MAX(a) + 1 FROM c", 467),
        ("SELECT a + 1 FROM c GROUP BY a", 467),
        ("SELECT 1 FROM c HAVING 1 = 1", 467),
        ("SELECT a + 1 FROM c WHERE a < (SELECT MAX(id) FROM team)", 467),
        ("SELECT x.a FROM c JOIN c AS x ON x.a = c.a", 253),
        ("SELECT x.a FROM c JOIN (SELECT a FROM c) AS x ON x.a = c.a", 253),
        ("SELECT a + 1 FROM c WITH (NOLOCK) WHERE a < 3", 4150),
        ("SELECT p.[1] FROM c PIVOT (COUNT(a) FOR a IN ([1])) AS p", 4190),
    ],
)
def test_what_a_recursive_member_may_not_hold_is_refused(lab, member, number):
    assert lab.error(START + member + END) == number


@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("c AS (SELECT 1 AS a UNION SELECT a + 1 FROM c)", 252),
        ("c AS (SELECT 1 AS a EXCEPT SELECT a + 1 FROM c)", 252),
        ("c AS (SELECT a + 1 AS a FROM c)", 252),
        ("c AS (SELECT 1 AS a UNION ALL SELECT a FROM c UNION SELECT a FROM c)", 252),
        ("c AS (SELECT a FROM c UNION ALL SELECT a FROM c)", 246),
        ("c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c UNION ALL SELECT 3)", 247),
        ("c AS (SELECT 1 AS a UNION ALL SELECT a, a FROM c)", 205),
    ],
)
def test_anchors_come_first_and_union_all_joins_the_members(lab, table, number):
    assert lab.error(f"WITH {table} SELECT * FROM c") == number


@pytest.mark.parametrize(
    ("anchor", "member"),
    [
        ("1", "a + 1.5"),
        ("'x'", "a + 'y'"),
        ("'x'", "N'x'"),
        ("CAST('x' AS varchar(10))", "CAST(a + 'y' AS varchar(11))"),
        ("CAST(1 AS decimal(5, 2))", "CAST(a + 1 AS decimal(6, 2))"),
        ("CAST(1 AS bigint)", "1"),
        ("NULL", "'x'"),
    ],
)
def test_both_parts_have_the_same_types(lab, anchor, member):
    table = f"SELECT {anchor} AS a, 1 AS n UNION ALL SELECT {member}, n + 1 FROM c WHERE n < 3"
    assert lab.error(f"WITH c AS ({table}) SELECT * FROM c") == 240


@pytest.mark.parametrize(
    "table",
    [
        "c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c WHERE a < 3)",
        "c AS ((SELECT 1 AS a UNION ALL SELECT a + 1 FROM c WHERE a < 3))",
        "c AS (SELECT 1 AS a UNION SELECT 1 UNION ALL SELECT a + 1 FROM c WHERE a < 3)",
        "c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM (SELECT a FROM c) x WHERE a < 3)",
        "c AS (SELECT 1 AS a UNION ALL SELECT a + COUNT(*) OVER () FROM c WHERE a < 3)",
        "c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c WHERE a < 3 "
        "AND EXISTS (SELECT * FROM team))",
        "c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c JOIN (SELECT MAX(id) AS m FROM team "
        "UNION ALL SELECT 0 WHERE 1 = 0) x ON a < 3)",  # a set operation hides what it holds
    ],
)
def test_what_the_page_allows_runs(lab, table):
    assert lab.rows(f"WITH {table} SELECT * FROM c") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("rows", "option", "number"),
    [
        (101, "", 0),
        (102, "", 530),
        (5, "OPTION (MAXRECURSION 4)", 0),
        (6, "OPTION (MAXRECURSION 4)", 530),
        (1, "OPTION (MAXRECURSION 1)", 0),
        (500, "OPTION (MAXRECURSION 0)", 0),
        (5, "OPTION (MAXRECURSION 32767)", 0),
        (5, "OPTION (MAXRECURSION 32768)", 310),
    ],
)
def test_the_limit_counts_rounds_that_have_rows(lab, rows, option, number):
    sql = f"{START}SELECT a + 1 FROM c WHERE a < {rows}) SELECT COUNT(*) FROM c {option}"
    if number:
        assert lab.error(sql) == number
    else:
        assert lab.value(sql) == rows


def test_the_columns_take_null_whatever_the_parts_say(lab):
    lab.run(f"CREATE VIEW v AS {START}SELECT a + 1 FROM c WHERE a < 3{END}")
    nullable = "SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('v')"
    assert lab.value(nullable) == 1
