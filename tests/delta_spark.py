"""delta-spark in the tests' Spark: in full runs, with a version of Spark that it has a build for."""

from __future__ import annotations

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Its log is read in fifty tasks by default: a table of ten rows took seconds.
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""Of a session with its jars; the first two are what delta.io asks for."""


def jars() -> str:
    """Paths of its jars for the installed Spark, as spark.jars takes them. Raises JarMissing."""
    import pyspark

    from redial.spark.jar import delta_jars

    return ",".join(map(str, delta_jars(pyspark.__version__)))
