"""What the metadata of a result say of its columns: may be NULL, stored, computed (F-537)."""

from __future__ import annotations

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture(scope="module")
def lab():
    lab = Lab()
    lab.run(
        "CREATE TABLE dbo.t (id int IDENTITY NOT NULL PRIMARY KEY, n int NULL, f float NOT NULL, "
        "s varchar(5) NOT NULL, d decimal(5, 0) NOT NULL, m numeric(5, 0) NOT NULL)"
    )
    return lab


def flags(lab, item, source=" FROM dbo.t"):
    column = lab.run(f"SELECT {item} AS c{source}").result_sets[-1].columns[0]
    return "".join(
        letter
        for letter, there in (
            ("n", column.nullable),
            ("s", column.stored),
            ("i", column.identity),
            ("c", column.computed),
        )
        if there
    )


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("n", "ns"),
        ("f", "s"),
        ("id", "i"),
        ("1", "c"),
        ("NULL", "nc"),
        ("'a'", "c"),
        ("-1", "c"),
        ("1 / 0", "nc"),
        ("CAST(1 AS int)", "nc"),
        ("CONVERT(varchar(5), s)", "nc"),
        ("ISNULL(n, 0)", "c"),
        ("id + 1", "nc"),
        ("d * 2", "nc"),
        ("f + 1", "c"),
        ("s + 'x'", "c"),
        ("id | 1", "c"),
        ("@@ROWCOUNT", "c"),
        ("@@ERROR", "c"),
        ("@@TRANCOUNT", "c"),
        ("XACT_STATE()", "nc"),
        ("COUNT(*)", "n"),
        ("SUM(id)", "n"),
        ("MAX(s)", "n"),
    ],
)
def test_a_column_s_flags(lab, item, expected):
    assert flags(lab, item) == expected


def test_a_derived_column_is_not_computed_again(lab):
    assert flags(lab, "x", " FROM (SELECT id + 1 AS x FROM dbo.t) AS d") == "n"
    assert flags(lab, "v", " FROM (VALUES (1)) AS d (v)") == ""
    assert flags(lab, "1", " UNION SELECT 2") == ""


def test_the_side_that_may_be_missing_may_be_null(lab):
    for join in ("LEFT JOIN dbo.t AS b ON 1 = 0", "OUTER APPLY (SELECT f FROM dbo.t) AS b"):
        assert flags(lab, "b.f", f" FROM dbo.t AS a {join}") == "ns"


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("1.5", "numeric(2,1)"),
        ("2147483648", "numeric(10,0)"),
        ("d + 1", "decimal(6,0)"),
        ("1 + d", "decimal(6,0)"),
        ("d + 1.5", "numeric(7,1)"),
        ("d + m", "numeric(6,0)"),
        ("m * d", "numeric(11,0)"),
        ("COALESCE(d, m)", "decimal(5,0)"),
        ("CASE WHEN id = 1 THEN m ELSE d END", "numeric(5,0)"),
        ("SUM(d)", "decimal(38,0)"),
        ("AVG(m)", "numeric(38,6)"),
        ("SCOPE_IDENTITY()", "numeric(38,0)"),
    ],
)
def test_decimal_and_numeric_are_one_type_with_two_names(lab, item, name):
    """numeric where either side is; CASE, COALESCE and UNION have the name of the first."""
    assert str(lab.run(f"SELECT {item} AS c FROM dbo.t").result_sets[-1].columns[0].type) == name
    union = "SELECT d FROM dbo.t UNION ALL SELECT m FROM dbo.t"
    assert str(lab.run(union).result_sets[-1].columns[0].type) == "decimal(5,0)"
