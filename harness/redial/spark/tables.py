"""Where landed messages are kept: Parquet, or Delta with delta-rs or with delta-spark.

Each write is one micro-batch, known by (query, batch): Spark gives a batch that is run again after
a crash the same number and the same rows, so a write that is there already is made anew or passed
over and the rows are there once. A table belongs to one query: a query with another checkpoint
counts its batches from 0 again and would take them for batches of the first (F-450).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redial.spark.errors import PipelineError
from redial.wheel import pip_install

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

DATE = "landed_date"
"""Partition column: the day of landing, UTC."""

OWNER = "_landing"
"""Directory inside a table with its query's id and its format; readers and VACUUM pass over names
that begin with _."""

PLAIN = frozenset({"timestampNtz", "vacuumProtocolCheck"})
"""Features of a Delta table whose rows are nevertheless those of its files."""


def dated(rows: DataFrame) -> DataFrame:
    """With the partition column, whatever time zone the session has."""
    from pyspark.sql import functions as f

    days = f.floor(f.unix_micros("landed") / f.lit(86_400_000_000)).cast("int")
    return rows.withColumn(DATE, f.date_add(f.lit("1970-01-01").cast("date"), days))


class Table(ABC):
    """A directory that one query writes, batch by batch."""

    form: str
    """How its files are to be read."""

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/")
        self._owned: str | None = None

    def write(self, rows: DataFrame, query: Callable[[], str], batch: int) -> None:
        """Make the table hold this batch's rows once. query: asked for its id, once. Raises
        PipelineError when the table is another query's, of another format, or not where the query's
        earlier batches are."""
        if self._owned is None:
            found = query()
            self._claim(rows.sparkSession, found, batch)
            self._owned = found
        self._write(dated(rows), self._owned, batch)

    @abstractmethod
    def _write(self, rows: DataFrame, query: str, batch: int) -> None:
        """One batch; again with the same rows changes nothing."""

    def _claim(self, spark: SparkSession, query: str, batch: int) -> None:
        if not self.refuse_another(spark, query, begun=batch > 0):
            self._refuse_what_is_there(spark)
            lines = spark.createDataFrame([(f"{query} {self.form}",)], "owner string").coalesce(1)
            lines.write.mode("overwrite").text(f"{self.path}/{OWNER}")

    def refuse_another(self, spark: SparkSession, query: str, begun: bool) -> bool:
        """Raise PipelineError where the table is not the query's; whether anybody has claimed it.

        begun: the query has written a batch; its first one, 0, claims the table.
        """
        owner, _, form = self._owner(spark).partition(" ")
        if not owner and begun:
            raise PipelineError(
                self.path,
                f"has no {OWNER}, and this checkpoint's query has landed before: it is another "
                f"directory, it was removed, or a copy of it left {OWNER} out",
                f"the right directory, or {OWNER} from a backup, or a text file in it with the line "
                f"'{query} {self.form}'; to land anew, an empty directory and another checkpoint",
            )
        if not owner:
            return False
        if owner != query:
            raise PipelineError(
                self.path,
                f"belongs to query {owner}, and this checkpoint is of query {query}: "
                "its batch numbers mean other rows",
                "that query's checkpoint, or an empty directory; to go on after a lost checkpoint, "
                "another directory and --starting-mark (docs/pipeline.md)",
            )
        if form not in ("", self.form):  # empty: an older version's
            raise PipelineError(
                self.path,
                f"is a table of format {form}, and its readers would not see what is written as "
                f"{self.form}",
                f"--kind {form}, or another directory and another checkpoint",
            )
        return True

    def _refuse_what_is_there(self, spark: SparkSession) -> None:  # noqa: B027 - Delta appends
        """Raise PipelineError for files that this table's batches would overwrite."""

    def _owner(self, spark: SparkSession) -> str:
        """Its query and format; empty: nobody's yet."""
        from pyspark.errors import AnalysisException

        try:
            row = spark.read.text(f"{self.path}/{OWNER}").first()
        except AnalysisException:  # PATH_NOT_FOUND: nobody's yet
            return ""
        return "" if row is None else str(row[0])


class ParquetTable(Table):
    """PATH/batch=N/landed_date=D/*.parquet. A batch is whole when batch=N/_SUCCESS is there; a
    reader that looks before that may see a part of it."""

    form = "parquet"

    def _refuse_what_is_there(self, spark: SparkSession) -> None:
        from pyspark.errors import AnalysisException

        try:
            spark.read.parquet(self.path).columns  # noqa: B018 - Spark Connect looks no earlier
        except AnalysisException:  # no directory, or no files
            return
        except Exception as error:  # py4j's own: Spark's class has no Python name
            if "FAILED_READ_FILE" not in str(error):
                raise
            raise PipelineError(
                self.path, "has files that are no Parquet", "an empty directory"
            ) from None
        raise PipelineError(
            self.path,
            "has Parquet files, and nothing says of which query: its batches would be overwritten",
            "an empty directory",
        )

    def _write(self, rows: DataFrame, query: str, batch: int) -> None:
        target = f"{self.path}/batch={batch}"
        rows.write.mode("overwrite").partitionBy(DATE).parquet(target)


class DeltaTable(Table):
    """A Delta table written by delta-rs (PyPI's deltalake) through the driver: no jar, no cluster
    library. The transaction log holds (query, batch) with each commit, so a batch that is run again
    is passed over (F-451). Of two runs that write a batch at once, one fails."""

    form = "delta"

    def _write(self, rows: DataFrame, query: str, batch: int) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake import DeltaTable as Written

        there = Written(self.path) if Written.is_deltatable(self.path) else None
        if there is not None:
            last = there.transaction_version(query)
            if last is not None and last >= batch:
                return
            fits(self.path, _schema(there), rows.schema)
        arrow = rows.toArrow()
        if not arrow.num_rows:
            return
        write_deltalake(
            self.path if there is None else there,
            arrow,
            mode="append",
            partition_by=[DATE],
            schema_mode="merge",
            commit_properties=CommitProperties(app_transactions=[Transaction(query, batch)]),
        )


class DeltaSparkTable(Table):
    """A Delta table written by delta-spark, where the cluster has it (its wheel has no jar)."""

    form = "delta"

    def _write(self, rows: DataFrame, query: str, batch: int) -> None:
        there = self._there(rows.sparkSession)
        if there is not None:
            fits(self.path, there, rows.schema)
        (
            rows.write.format("delta")
            .mode("append")
            .partitionBy(DATE)
            .option("mergeSchema", "true")
            .option("txnAppId", query)
            .option("txnVersion", batch)
            .save(self.path)
        )

    def _there(self, spark: SparkSession) -> StructType | None:
        """The table's columns, None where there is none yet. Raises PipelineError."""
        from pyspark.errors import AnalysisException

        try:
            return spark.read.format("delta").load(self.path).schema
        except AnalysisException as error:
            if "DELTA_TABLE_NOT_FOUND" in str(error):  # a directory with OWNER alone
                return None
            raise
        except Exception as error:  # py4j's own: Spark's class has no Python name
            if "DATA_SOURCE_NOT_FOUND" not in str(error):
                raise
            raise PipelineError(
                "delta-spark",
                "is not in this Spark",
                "its jars and two settings (docs/pipeline.md), or --kind delta",
            ) from None


def fits(path: str, there: StructType, rows: StructType) -> None:
    """Raise PipelineError where the table at ``path`` has a column that rows cannot be written to.

    A column of another type is refused here, before a write, because delta-rs casts what it can:
    1.5 becomes 1 without a word (seen with deltalake 1.6.6).
    """
    ours = {field.name: field.dataType for field in rows}
    for field in there:
        if field.name not in ours:
            if not field.nullable:
                raise PipelineError(
                    path,
                    f"column {field.name} is NOT NULL, and landing does not write it",
                    f"ALTER TABLE delta.`{path}` ALTER COLUMN {field.name} DROP NOT NULL",
                )
        elif ours[field.name] != field.dataType:
            kept, written = field.dataType.simpleString(), ours[field.name].simpleString()
            raise PipelineError(
                path,
                f"column {field.name} is {kept} in the table and {written} in what is landed",
                f"make it {written} again; or land into another directory with --starting-mark "
                "(docs/pipeline.md)",
            )


KINDS: dict[str, type[Table]] = {
    "parquet": ParquetTable,
    "delta": DeltaTable,
    "delta-spark": DeltaSparkTable,
}


def table(kind: str, path: str) -> Table:
    """The table of that kind at ``path``. Raises PipelineError when its library is missing."""
    from importlib.util import find_spec

    if kind == "delta" and find_spec("deltalake") is None:
        raise PipelineError("deltalake", "is not installed", pip_install("spark"))
    return KINDS[kind](path)


def is_delta(path: str) -> bool:
    """Whether there is a Delta table, wherever it is."""
    try:
        from deltalake import DeltaTable as Written
    except ImportError:
        return (Path(path) / "_delta_log").exists()
    return Written.is_deltatable(path)


def delta_rows(spark: SparkSession, path: str) -> DataFrame:
    """A Delta table's present version, read without a jar: its files, and its columns as the log has
    them (an older file without one of them has NULL there). Raises PipelineError, also for a table
    whose files are not its rows: with deletion vectors or column mapping."""
    try:
        from deltalake import DeltaTable as Written
    except ImportError:
        raise PipelineError("deltalake", "is not installed", pip_install("spark")) from None
    there = Written(path)
    protocol = there.protocol()
    more = set(protocol.reader_features or ()) - PLAIN
    if more or protocol.min_reader_version == 2:  # 2: column mapping, before features had names
        raise PipelineError(
            path,
            f"is a Delta table with {', '.join(sorted(more)) or 'columnMapping'}, which takes "
            "delta-spark to read",
            'in a session with delta-spark: audit(spark.read.format("delta").load(path), log)',
        )
    names = [str(Path(path) / n) if "://" not in n else n for n in there.file_uris()]
    return spark.read.schema(_schema(there)).option("basePath", path).parquet(*names)


def _schema(there: Any) -> StructType:
    """The columns of delta-rs's table as Spark names them; Delta's log has Spark's own JSON."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(there.schema().to_json()))
