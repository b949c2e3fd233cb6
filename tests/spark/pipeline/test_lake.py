"""A table that its owner changes: columns are added, files compacted, and landing goes on."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from redial.spark.audit import audit
from redial.spark.errors import PipelineError
from redial.spark.land import Landing
from redial.spark.sources import files
from redial.spark.tables import OWNER, DeltaTable, fits, table
from tests.spark.pipeline.landing import (
    BATCHES,
    ROWS,
    TRIED,
    WHOLE,
    land_all,
    landed,
    stops,
)

LAST = BATCHES - 1
ALL = (BATCHES * ROWS, 0, 0)
of_delta = pytest.mark.parametrize(
    "kind", [kind for kind in TRIED if kind != "parquet"], indirect=True
)


def land_till_the_last(spark, source, target, place, kind, point="before the write") -> None:
    """All batches, stopped there in the last one."""
    with pytest.raises(PipelineError, match="Stopped"):
        land_all(spark, source, Landing(table(kind, str(target)), stops(point, LAST)), place)


def owners(target):
    """The table as another tool of its owner sees it."""
    from deltalake import DeltaTable as Owners

    return Owners(str(target))


def audited(spark, target) -> tuple[int, int, int]:
    """Rows, losses and repeats: the source's numbers have no gap over both conversations."""
    found = audit(
        files(spark, str(target)).drop("conversation").selectExpr("*", "'C' conversation")
    )
    return found.landed, found.lost, found.repeated


def changes(column: str, expression: str, batches):
    """A hook that lands a column otherwise in these batches, as another release might."""

    def hook(at, number, rows):
        from pyspark.sql import functions as f

        here = at == "before the write" and number in batches
        return rows.withColumn(column, f.expr(expression)) if here else rows

    return hook


@of_delta
def test_a_column_that_somebody_added_is_null_in_what_lands_after_it(spark, source, tmp_path, kind):
    from deltalake import Field
    from deltalake.schema import PrimitiveType

    target = tmp_path / kind
    land_till_the_last(spark, source, target, tmp_path, kind)
    owners(target).alter.add_columns([Field("note", PrimitiveType("string"))])
    land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert audited(spark, target) == ALL
    assert files(spark, str(target)).where("note IS NULL").count() == BATCHES * ROWS


def test_a_column_that_a_later_release_lands_is_null_in_older_rows(spark, source, tmp_path, kind):
    target = tmp_path / kind
    later = Landing(table(kind, str(target)), changes("extra", "sequence", [LAST]))
    land_all(spark, source, later, tmp_path)
    assert audited(spark, target) == ALL
    rows = files(spark, str(target)).where("extra = sequence").select("extra").collect()
    assert sorted(row.extra for row in rows) == list(range(LAST * ROWS, BATCHES * ROWS))


@of_delta
@pytest.mark.sampled(every=2, last=False)
@pytest.mark.parametrize(
    ("expression", "batch", "kept", "lands"),
    [
        ("sequence + 0.5D", LAST, "bigint", "double"),  # which delta-rs would cut
        ("CAST(sequence AS string)", 0, "string", "bigint"),
    ],
)
def test_a_column_of_another_type_is_refused_before_anything_is_written(
    spark, source, tmp_path, kind, expression, batch, kept, lands
):
    target = tmp_path / kind
    other = Landing(table(kind, str(target)), changes("sequence", expression, [batch]))
    words = f"column sequence is {kept} in the table and {lands} in what is landed. Next: make it"
    with pytest.raises(PipelineError, match=words):
        land_all(spark, source, other, tmp_path)
    assert sum(landed(spark, target).values()) == max(batch, 1) * ROWS


def test_a_column_of_somebodys_that_must_not_be_null_is_refused():
    types = pytest.importorskip("pyspark.sql.types")
    ours = types.StructType([types.StructField("sequence", types.LongType())])
    for nullable in (True, False):
        note = types.StructField("note", types.StringType(), nullable)
        there = types.StructType([*ours.fields, note])
        if nullable:
            fits("/lake", there, ours)
    with pytest.raises(PipelineError, match=r"column note is NOT NULL.*DROP NOT NULL"):
        fits("/lake", there, ours)


def compact_with_delta_rs(target) -> int:
    """OPTIMIZE, VACUUM of all that is not the table's, and a log cut to its newest version. Returns
    how many files were replaced."""
    replaced = owners(target).optimize.compact()["numFilesRemoved"]
    owners(target).alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    owners(target).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    owners(target).create_checkpoint()
    owners(target).cleanup_metadata()
    return replaced


def compact_with_spark(spark, target) -> int:
    """The same as SQL, which leaves the log as it is."""
    (done,) = spark.sql(f"OPTIMIZE delta.`{target}`").collect()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{target}` RETAIN 0 HOURS").collect()
    return done.metrics.numFilesRemoved


@of_delta
@pytest.mark.sampled(every=2, last=False)
@pytest.mark.parametrize("point", ["after the write", "before the write"])
def test_a_batch_is_landed_once_though_the_table_was_compacted_meanwhile(
    spark, source, tmp_path, kind, point
):
    target = tmp_path / kind
    land_till_the_last(spark, source, target, tmp_path, kind, point)
    by_spark = kind == "delta-spark"
    replaced = compact_with_spark(spark, target) if by_spark else compact_with_delta_rs(target)
    assert replaced and any((target / OWNER).glob("*.txt"))
    land_all(spark, source, Landing(table(kind, str(target))), tmp_path)
    assert audited(spark, target) == ALL and landed(spark, target) == WHOLE


def meanwhile(spark, does) -> SimpleNamespace:
    """Rows of which something else is done before they reach the table."""
    from pyspark.sql import functions as f

    rows = spark.createDataFrame([(n,) for n in range(ROWS)], "sequence long")
    rows = rows.withColumn("landed_date", f.lit("2026-03-01").cast("date"))

    def to_arrow():
        does(rows)
        return rows.toArrow()

    return SimpleNamespace(schema=rows.schema, toArrow=to_arrow)


def test_a_compaction_at_the_moment_of_a_write_stops_neither(spark, tmp_path):
    mine = DeltaTable(str(tmp_path))
    for batch in range(2):
        mine._write(meanwhile(spark, lambda rows: None), "query", batch)
    mine._write(meanwhile(spark, lambda rows: owners(tmp_path).optimize.compact()), "query", 2)
    assert owners(tmp_path).history(2)[1]["operation"] == "OPTIMIZE"
    assert sum(landed(spark, tmp_path).values()) == 3 * ROWS


def test_of_two_runs_that_write_a_batch_at_once_one_fails(spark, tmp_path):
    """A run whose end nobody saw, as when a driver was cut off and not killed."""
    mine, other = DeltaTable(str(tmp_path)), DeltaTable(str(tmp_path))
    mine._write(meanwhile(spark, lambda rows: None), "query", 0)
    with pytest.raises(Exception, match="Concurrent transaction"):
        mine._write(
            meanwhile(
                spark, lambda rows: other._write(meanwhile(spark, lambda rows: None), "query", 1)
            ),
            "query",
            1,
        )
    assert sum(landed(spark, tmp_path).values()) == 2 * ROWS


@pytest.mark.parametrize("feature", ["DeletionVectors", "ColumnMapping"])
def test_a_table_whose_files_are_not_its_rows_is_not_read_without_delta_spark(
    spark, tmp_path, feature
):
    deltalake = pytest.importorskip("deltalake")
    DeltaTable(str(tmp_path))._write(meanwhile(spark, lambda rows: None), "query", 0)
    assert files(spark, str(tmp_path)).count() == ROWS
    known = getattr(deltalake.TableFeatures, feature)
    owners(tmp_path).alter.add_feature(known, allow_protocol_versions_increase=True)
    with pytest.raises(PipelineError, match=r"which takes delta-spark to read.*Next: in a session"):
        files(spark, str(tmp_path))


def test_without_delta_spark_in_spark_the_next_step_is_said(spark, source, tmp_path, jars):
    if not jars["delta-spark"].startswith(" "):
        pytest.skip("delta-spark is here")
    with pytest.raises(PipelineError, match=r"delta-spark: is not in this Spark.*or --kind delta"):
        land_all(spark, source, Landing(table("delta-spark", f"{tmp_path}/t")), tmp_path)


def test_a_parquet_batch_that_is_there_in_part_is_made_anew(spark, source, tmp_path):
    """As after a kill while Spark moves the files of a batch to their place."""
    target = tmp_path / "parquet"
    land_till_the_last(spark, source, target, tmp_path, "parquet", "after the write")
    batch = target / f"batch={LAST}"
    (batch / "_SUCCESS").unlink()
    next(batch.rglob("*.parquet")).unlink()
    assert landed(spark, target) < WHOLE
    land_all(spark, source, Landing(table("parquet", str(target))), tmp_path)
    assert landed(spark, target) == WHOLE and (batch / "_SUCCESS").exists()


def test_older_parquet_batches_can_be_moved_into_fewer_files_elsewhere(spark, source, tmp_path):
    """docs/pipeline.md: all but the newest, which may be run again."""
    target, archive = tmp_path / "parquet", tmp_path / "archive"
    land_till_the_last(spark, source, target, tmp_path, "parquet", "after the write")
    older = [str(target / f"batch={batch}") for batch in range(LAST)]
    spark.read.option("basePath", str(target)).parquet(*older).coalesce(1).write.parquet(
        str(archive)
    )
    for batch in older:
        shutil.rmtree(batch)
    land_all(spark, source, Landing(table("parquet", str(target))), tmp_path)
    assert landed(spark, target) + landed(spark, archive) == WHOLE
