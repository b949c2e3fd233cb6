"""Window functions: frames, ranking, neighbours, distribution, percentiles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    made = Lab()
    made.run(
        "CREATE TABLE w (id int NOT NULL PRIMARY KEY, g char(1) NOT NULL, x int NULL); "
        "INSERT w VALUES (1, 'a', 10), (2, 'a', 20), (3, 'a', 20), (4, 'b', NULL), "
        "(5, 'b', 5)"
    )
    return made


def column(lab, expression, order="id"):
    """The values of one expression, in the order of the rows."""
    return [
        value
        for value, _ in lab.rows(f"SELECT {expression} AS value, {order} FROM w ORDER BY {order}")
    ]


@pytest.mark.parametrize(
    ("frame", "sums"),
    [
        ("ROWS UNBOUNDED PRECEDING", [10, 30, 50, 50, 55]),
        ("ROWS 1 PRECEDING", [10, 30, 40, 20, 5]),
        ("ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", [30, 50, 40, 25, 5]),
        ("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", [55, 45, 25, 5, 5]),
        ("ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING", [20, 5, 5, None, None]),
        ("ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING", [None, None, 10, 30, 40]),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", [55] * 5),
    ],
)
def test_rows_frames_count_rows(lab, frame, sums):
    assert column(lab, f"SUM(x) OVER (ORDER BY id {frame})") == sums


@pytest.mark.parametrize(
    ("frame", "sums"),
    [
        ("", [30, 70, 70, 30, 30]),
        ("RANGE UNBOUNDED PRECEDING", [30, 70, 70, 30, 30]),
        ("RANGE CURRENT ROW", [30, 40, 40, 30, 30]),
        ("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", [70, 40, 40, 70, 70]),
    ],
)
def test_range_frames_take_equal_rows_together(lab, frame, sums):
    lab.run("UPDATE w SET x = 10 WHERE id > 3")
    assert column(lab, f"SUM(x) OVER (ORDER BY x {frame})") == sums


def test_count_average_least_and_greatest_run_over_frames(lab):
    assert column(lab, "COUNT(x) OVER (ORDER BY id)") == [1, 2, 3, 3, 4]
    assert column(lab, "COUNT(*) OVER (ORDER BY id)") == [1, 2, 3, 4, 5]
    assert column(lab, "AVG(x) OVER (ORDER BY id)") == [10, 15, 16, 16, 13]
    assert column(lab, "MIN(x) OVER (ORDER BY id)") == [10, 10, 10, 10, 5]
    assert column(lab, "MAX(x) OVER (PARTITION BY g)") == [20, 20, 20, 5, 5]


def test_ranks_and_tiles(lab):
    assert column(lab, "RANK() OVER (ORDER BY x DESC)") == [3, 1, 1, 5, 4]
    assert column(lab, "DENSE_RANK() OVER (ORDER BY x)") == [3, 4, 4, 1, 2]
    assert column(lab, "ROW_NUMBER() OVER (PARTITION BY g ORDER BY id DESC)") == [3, 2, 1, 2, 1]
    assert column(lab, "NTILE(2) OVER (ORDER BY id)") == [1, 1, 1, 2, 2]
    assert column(lab, "NTILE(9) OVER (ORDER BY id)") == [1, 2, 3, 4, 5]


def test_distributions(lab):
    assert column(lab, "PERCENT_RANK() OVER (ORDER BY x)") == [0.5, 0.75, 0.75, 0.0, 0.25]
    assert column(lab, "CUME_DIST() OVER (ORDER BY x)") == [0.6, 1.0, 1.0, 0.2, 0.4]
    assert column(lab, "PERCENT_RANK() OVER (PARTITION BY id ORDER BY x)") == [0.0] * 5


def test_neighbours_with_offset_and_default(lab):
    assert column(lab, "LAG(x) OVER (ORDER BY id)") == [None, 10, 20, 20, None]
    assert column(lab, "LEAD(x, 2, -1) OVER (ORDER BY id)") == [20, None, 5, -1, -1]
    assert column(lab, "LAG(x, id - 1, 0) OVER (ORDER BY id)") == [10, 10, 10, 10, 10]


def test_ends_of_the_frame(lab):
    assert column(lab, "FIRST_VALUE(x) OVER (PARTITION BY g ORDER BY id)") == [
        10,
        10,
        10,
        None,
        None,
    ]
    assert column(lab, "LAST_VALUE(id) OVER (ORDER BY id)") == [1, 2, 3, 4, 5]
    assert column(
        lab, "LAST_VALUE(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)"
    ) == [20, 20, None, 5, 5]


def test_nulls_may_be_ignored(lab):
    assert column(
        lab,
        "FIRST_VALUE(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY id ROWS "
        "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    ) == [10, 10, 10, 5, 5]
    assert column(lab, "LAG(x) IGNORE NULLS OVER (ORDER BY id)") == [None, 10, 20, 20, 20]
    assert column(lab, "LAG(x) RESPECT NULLS OVER (ORDER BY id)") == [None, 10, 20, 20, None]


def test_percentiles_interpolate_or_choose(lab):
    assert column(lab, "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) OVER ()") == [15.0] * 5
    assert column(lab, "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x) OVER ()") == [10] * 5
    assert column(
        lab, "PERCENTILE_DISC(1) WITHIN GROUP (ORDER BY x DESC) OVER (PARTITION BY g)"
    ) == [10, 10, 10, 5, 5]


def test_a_window_over_groups_takes_their_aggregates(lab):
    assert lab.rows(
        "SELECT g, SUM(x), SUM(SUM(x)) OVER (), RANK() OVER (ORDER BY SUM(x)) FROM w "
        "GROUP BY g ORDER BY g"
    ) == [("a", 50, 55, 2), ("b", 5, 55, 1)]


def test_any_order_will_do_when_it_is_a_subquery(lab):
    assert column(lab, "ROW_NUMBER() OVER (ORDER BY (SELECT NULL))") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("ROW_NUMBER() OVER (PARTITION BY g)", 4112),
        ("LAG(x) OVER (PARTITION BY g)", 4112),
        ("RANK() OVER (ORDER BY id ROWS UNBOUNDED PRECEDING)", 10752),
        ("SUM(x) OVER (ROWS UNBOUNDED PRECEDING)", 10756),
        ("SUM(x) OVER (ORDER BY id RANGE 1 PRECEDING)", 4194),
        ("SUM(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)", 4193),
        ("SUM(x) OVER (ORDER BY id ROWS UNBOUNDED FOLLOWING)", 4193),
        ("SUM(DISTINCT x) OVER (PARTITION BY g)", 10759),
        ("STRING_AGG(g, '') OVER (PARTITION BY g)", 4113),
        ("LEN(g) OVER (ORDER BY id)", 4113),
        ("ROW_NUMBER() OVER (ORDER BY 1)", 5308),
        ("ROW_NUMBER() OVER (ORDER BY 'a')", 5309),
        ("SUM(RANK() OVER (ORDER BY id)) OVER ()", 4109),
        ("RANK()", 10753),
        ("NTILE(0) OVER (ORDER BY id)", 4199),
        ("NTILE(id) OVER (ORDER BY id)", 4195),
        ("LAG(x, -1) OVER (ORDER BY id)", 8730),
        ("LAG(x, 1, 2, 3) OVER (ORDER BY id)", 10755),
        ("PERCENTILE_CONT(0.5) OVER ()", 10754),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x, id) OVER ()", 10751),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) OVER (ORDER BY id)", 10758),
        ("LAG(x) WITHIN GROUP (ORDER BY x) OVER (ORDER BY id)", 10757),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY g) OVER ()", 8117),
    ],
)
def test_what_is_no_window_is_an_error(lab, expression, number):
    assert lab.error(f"SELECT {expression} FROM w") == number


@pytest.mark.parametrize("share", ["NULL", "'x'", "0x01", "1.5", "id"])
@pytest.mark.parametrize("name", ["PERCENTILE_CONT", "PERCENTILE_DISC"])
def test_a_share_that_is_no_number_from_0_to_1_is_refused_by_name(lab, name, share):
    expression = f"{name}({share}) WITHIN GROUP (ORDER BY x) OVER ()"
    assert lab.error(f"SELECT {expression} FROM w") == 60001


# ---------------------------------------------------------------------- statistics
def test_statistics_of_samples_and_populations(lab):
    assert lab.rows("SELECT VAR(x), VARP(x), ROUND(STDEV(x), 6), ROUND(STDEVP(x), 6) FROM w") == [
        (pytest.approx(56.25), pytest.approx(42.1875), 7.5, 6.495191)
    ]
    assert lab.rows("SELECT STDEV(x), STDEVP(x), VAR(DISTINCT x) FROM w WHERE id = 1") == [
        (None, 0.0, None)
    ]
    assert column(lab, "VARP(x) OVER (PARTITION BY g)")[3:] == [0.0, 0.0]


def test_checksum_agg_does_not_depend_on_the_order(lab):
    assert lab.value("SELECT CHECKSUM_AGG(x) FROM w") == 10 ^ 20 ^ 20 ^ 5
    assert lab.value("SELECT CHECKSUM_AGG(DISTINCT x) FROM w") == 10 ^ 20 ^ 5
    assert lab.error("SELECT CHECKSUM_AGG(g) FROM w") == 8117


def test_approx_count_distinct_is_exact_here(lab):
    assert lab.value("SELECT APPROX_COUNT_DISTINCT(x) FROM w") == 3


def test_count_big_is_a_bigint(lab):
    sink = lab.run("SELECT COUNT_BIG(*), COUNT_BIG(DISTINCT x) FROM w")
    assert sink.result_sets[0].rows == [(5, 3)]
    assert [c.type.name for c in sink.result_sets[0].columns] == ["bigint", "bigint"]


# ---------------------------------------------------------------------- against a plain model
_ROWS = st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(_ROWS, st.integers(0, 3), st.integers(0, 3))
def test_a_sliding_sum_is_the_sum_of_its_slice(values, before, after):
    lab = Lab()
    rows = ", ".join(f"({i}, {'NULL' if x is None else x})" for i, x in enumerate(values))
    found = lab.rows(
        f"SELECT SUM(x) OVER (ORDER BY i ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING), "
        f"COUNT(x) OVER (ORDER BY i), i FROM (VALUES {rows}) v(i, x) ORDER BY i"
    )
    for i, (total, counted, _) in enumerate(found):
        part = [x for x in values[max(i - before, 0) : i + after + 1] if x is not None]
        assert total == (sum(part) if part else None)
        assert counted == sum(x is not None for x in values[: i + 1])


def test_windows_may_be_named_once_for_many_functions(lab):
    assert lab.rows(
        "SELECT id, SUM(x) OVER w, COUNT(*) OVER (w ROWS 1 PRECEDING), RANK() OVER q, "
        "MAX(x) OVER (p) FROM w AS t WINDOW w AS (ORDER BY id), p AS (PARTITION BY g), "
        "q AS (p ORDER BY x) ORDER BY id"
    ) == [
        (1, 10, 1, 1, 20),
        (2, 30, 2, 2, 20),
        (3, 50, 2, 2, 20),
        (4, 50, 2, 1, 5),
        (5, 55, 2, 2, 5),
    ]
    assert "undefined window" in lab.refusal("SELECT SUM(x) OVER nope FROM w")


def test_window_is_still_a_name(lab):
    assert lab.rows("SELECT window.id FROM w window WHERE window.id = 1") == [(1,)]
