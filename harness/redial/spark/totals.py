"""The row of an aggregate over a whole DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


def total_of(aggregate: DataFrame, what: str) -> Row:
    """The one row of an aggregate without groups, which there is even of no rows at all. what: is
    asked for. Raises PipelineError naming it should Spark ever give none."""
    row = aggregate.first()
    if row is None:
        raise PipelineError(
            what, "Spark gave no row for an aggregate, which always has one", "Spark's own log"
        )
    return row
