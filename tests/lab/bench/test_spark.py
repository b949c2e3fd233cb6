"""The audit's load, scaled: it finds exactly the faults that were put in."""

from __future__ import annotations

import pytest

from redial_lab.bench.spark import ROWS, Faults, jdbc_rate, measure
from tests.sampling import full

ROWS_TRIED = 240_000 if full() else 12_000
"""Twelve dialogs are the fewest that have every fault; with --full twenty times as many."""


@pytest.mark.nightly("a load is measured with a session of its own")
def test_the_scaled_load_is_audited_beside_plain_scans(spark, tmp_path, capsys):
    said = []
    each = ROWS_TRIED // 12_000  # dialogs with each fault
    found = measure(spark, ROWS_TRIED, tmp_path, said.append, exact=full())
    with capsys.disabled():
        print(f"\nharness.bench.spark at a scale of {found['spark.scale']:.6f} of {ROWS:,} rows")
    assert found["spark.rows"] == ROWS_TRIED - each * (1 + 10 + 1 + 300) + each * 2
    for name in ("parquet_scan", "audit", *(["audit_exact"] if full() else [])):
        assert found[f"spark.{name}_rows_per_s"] > 0
    assert f"LOSS: {11 * each} messages" in said[2]
    assert Faults(each).expected["lost"] == 11 * each


@pytest.mark.jvm
@pytest.mark.driver
def test_the_jdbc_part_reads_every_row_of_a_landing_table(spark, jars):
    if jars["jdbc"].startswith(" "):
        pytest.skip(jars["jdbc"].strip())
    said = []
    assert jdbc_rate(spark, 100, said.append) > 0
    assert "100 rows" in said[0]
