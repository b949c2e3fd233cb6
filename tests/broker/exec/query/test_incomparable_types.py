"""xml, text, ntext and image are neither compared nor sorted nor grouped.

Source: numbers of the errors-events pages, also on an empty table; which is whose is known from
captures others published.
"""

import pytest


@pytest.fixture
def lab(lab):
    lab.run("CREATE TABLE t (a int, b int, x xml, c text, n ntext, i image)")
    return lab


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("SELECT x FROM t ORDER BY x", 305),
        ("SELECT x AS y FROM t ORDER BY y", 305),
        ("SELECT x FROM t ORDER BY 1", 305),
        ("SELECT a FROM t ORDER BY c", 306),
        ("SELECT x FROM t UNION ALL SELECT x FROM t ORDER BY x", 305),
        ("SELECT COUNT(*) FROM t GROUP BY x", 305),
        ("SELECT COUNT(*) FROM t GROUP BY i", 306),
        ("SELECT ROW_NUMBER() OVER (ORDER BY x) FROM t", 305),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY n ORDER BY a) FROM t", 306),
        ("SELECT SUM(a) OVER (PARTITION BY x) FROM t", 305),
        ("SELECT DISTINCT x FROM t", 421),
        ("SELECT DISTINCT * FROM t", 421),
        ("SELECT DISTINCT x.query('a') FROM t", 421),
        ("SELECT DISTINCT a, (SELECT x FROM t) AS q FROM t", 421),
        ("SELECT x FROM t UNION SELECT x FROM t", 5335),
        ("SELECT c FROM t INTERSECT SELECT c FROM t", 5335),
        ("SELECT i FROM t EXCEPT SELECT i FROM t", 5335),
        ("SELECT MAX(x) FROM t", 8117),
        ("SELECT MIN(c) FROM t", 8117),
        ("SELECT COUNT(n) FROM t", 8117),
        ("SELECT COUNT(DISTINCT x) FROM t", 8117),
        ("SELECT 1 FROM t WHERE x = x", 305),
        ("SELECT 1 FROM t WHERE x IN (SELECT x FROM t)", 305),
        ("SELECT CASE x WHEN x THEN 1 END FROM t", 305),
        ("SELECT 1 FROM t WHERE x = '<a/>'", 402),
        ("SELECT 1 FROM t WHERE c = c", 402),
        ("SELECT 1 FROM t WHERE n <> N'a'", 402),
        ("SELECT 1 FROM t WHERE i = 0x01", 402),
        ("SELECT 1 FROM t WHERE c = 1", 206),
        ("SELECT x.value('.', 'int') FROM t GROUP BY x.value('.', 'int')", 4148),
    ],
)
def test_a_query_that_would_compare_them_is_refused(lab, query, number):
    assert lab.error(query) == number


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM t UNION ALL SELECT x FROM t",
        "SELECT a FROM t WHERE x IS NULL AND c IS NOT NULL",
        "SELECT a FROM t WHERE c LIKE 'a%'",
        "SELECT a FROM t GROUP BY a HAVING COUNT(x) > 0",
    ],
)
def test_what_compares_nothing_runs(lab, query):
    assert lab.rows(query) == []


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("SELECT c + 'x' FROM t", 402),
        ("UPDATE t SET n = n + N'x'", 402),
        ("SELECT c + c FROM t", 8117),
        ("SELECT (SELECT i FROM t)", 279),
        ("DECLARE @x text", 2739),
        ("DECLARE @n int, @x ntext = N'a'", 2739),
        ("CREATE INDEX ix ON t (a) INCLUDE (b, c)", 1999),
        ("CREATE TABLE u (a int, c image, INDEX ix (a) INCLUDE (c))", 1999),
    ],
)
def test_text_ntext_and_image_are_columns_and_parameters_and_little_else(lab, statement, number):
    """Page "ntext, text, and image": not for local variables; numbers of the errors-events pages."""
    assert lab.error(statement) == number
    assert lab.error("SELECT * FROM u") == 208


def test_a_procedure_takes_them_and_an_index_includes_other_long_types(lab):
    lab.run("CREATE PROCEDURE p @x text AS SELECT 1")
    lab.run("ALTER TABLE t ADD long nvarchar(max)")
    lab.run("CREATE INDEX ix ON t (a) INCLUDE (long)")
