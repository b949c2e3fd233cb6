"""``spark.read.format("servicebroker")``: the landing table up to a mark taken at planning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from redial.spark.columns import chosen, wrong_columns
from redial.spark.connect import SourceError
from redial.spark.marks import ending, landing, present, starting, unreadable
from redial.spark.options import BatchReadOptions, Options, OptionsError
from redial.spark.ranges import mark_literal, mark_of, range_condition
from redial.spark.readers import begins, known, refuse_loss
from redial.spark.reading import Range, read
from redial.spark.retrying import ask
from redial.spark.where import narrowed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class RangePartition(InputPartition):
    """One range of marks; ``value`` is its start and end."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))


def range_of(partition: InputPartition) -> Range:
    """As the reading code takes it. partition: a RangePartition, which Spark hands back."""
    return Range(*partition.value)


class BatchReader(DataSourceReader):
    """Reads each row below the ending mark once, in ``numPartitions`` ranges."""

    def __init__(self, options: BatchReadOptions) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """The mark is taken here, before any task reads."""
        options = self.options
        doing = f"planning a read of {landing(options)}"
        parts = ask(options, doing, unreadable(options), self._planned)
        return [RangePartition(part.start, part.end) for part in parts]

    def _planned(self, connection: Any) -> list[Range]:
        options = self.options
        now = present(connection, options)
        purged = known(connection, options)
        start, end = starting(connection, options, now).mark, ending(connection, options, now)
        by_mark = options.starting_timestamp is None and options.ending_timestamp is None
        if by_mark and start > end:
            raise SourceError(
                f"startingMark {mark_literal(start)} is above endingMark {mark_literal(end)}, so there is "
                "nothing between them. Next: the lower one as startingMark"
            )
        start = begins(options, start, purged)
        refuse_loss(options, start, purged)
        start, end = narrowed(options.where, start, end)
        return occupied(connection, options, start, end, options.num_partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One range, in a task. Repeatable: the same rows in every run."""
        return read(self.options, range_of(partition))


def occupied(connection: Any, options: Options, start: int, end: int, parts: int) -> list[Range]:
    """Ranges with as many rows each, but for the last, of ``start`` <= rv < ``end``; one if none.

    The rows are counted, along the clustered key: marks count every change of the database, so
    ranges of one width could have all rows in one. A batch that is planned again has the same.
    """
    rows = f"{landing(options)} AS l WHERE {range_condition(start, end, 'l.RowVersion')}"
    count = 0
    if parts > 1 and start < end:
        (count,) = connection.execute(f"SELECT COUNT_BIG(*) FROM {rows};").fetchone()
    if not count:
        return [Range(start, max(start, end))]
    share = -(-count // parts)
    edges = [start]
    while len(edges) < parts:  # each goes on where the last one was found
        rest = range_condition(edges[-1], end, "l.RowVersion")
        found = connection.execute(
            f"SELECT l.RowVersion FROM {landing(options)} AS l WHERE {rest} "
            f"ORDER BY l.RowVersion OFFSET {share} ROWS FETCH NEXT 1 ROW ONLY;"
        ).fetchone()
        if found is None:
            break
        edges.append(mark_of(found[0]))
    return [Range(*pair) for pair in pairwise([*edges, end])]


def refuse_other_schema(schema: StructType, columns: str | None) -> None:
    """Raises OptionsError when the user gave a schema of his own: ours is what ``columns`` names."""
    if columns is not None and wrong_columns(columns):
        return  # the options are told as wrong
    given = [(field.name, field.dataType.simpleString()) for field in schema]
    if given != [(column.name, column.kind) for column in chosen(columns)]:
        raise OptionsError(
            [
                "schema: is fixed; allowed: no .schema(...), and option columns for some of it; "
                "from_json, from_xml or from_avro on the column body"
            ]
        )
