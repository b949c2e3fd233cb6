"""``spark.readStream.format("servicebroker")``: what lands, micro-batch after micro-batch.

Offsets are marks (redial.spark.marks). The object lives in one Python process of the driver; a
restarted query gets a new one, so nothing kept here is needed: Spark's checkpoint has the offsets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_servicebroker.read import RangePartition, occupied, range_of
from redial.spark.acknowledge import acknowledge
from redial.spark.connect import READER, SourceError, close, explained, open_connection
from redial.spark.lag import behind
from redial.spark.marks import (
    LOWEST,
    Offset,
    StallWatch,
    behind_last,
    landing,
    limited,
    present,
    refuse_another_table,
    stall_report,
    starting,
    waiting_behind,
)
from redial.spark.options import StreamReadOptions
from redial.spark.readers import begins, claim, keep, known, refuse_loss
from redial.spark.reading import read
from redial.spark.retrying import again

if TYPE_CHECKING:
    import pyarrow as pa

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark 4.0 and 4.1: no admission control for Python sources (SPARK-55304)

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]  # Spark's, where it has one
        """Stands in where Spark has none; AvailableNow is then one batch of all there is."""

    ReadAllAvailable = ReadMaxBytes = ReadMaxRows = None  # type: ignore[assignment,misc]  # as above

log = logging.getLogger("pyspark_servicebroker")
Method = TypeVar("Method", bound=Callable[..., Any])


def patient(method: Method) -> Method:
    """A call of Spark's planner, which asks it again of nobody: over a new connection after each
    error that may pass, for ``retrySeconds``."""

    @wraps(method)
    def tried(reader: StreamReader, *given: Any) -> Any:
        doing = f"planning what is read from {landing(reader.options)}"

        def once() -> Any:
            try:
                with explained(reader.options, doing, READER):
                    return method(reader, *given)
            except SourceError:
                reader.stop()
                raise

        return again(reader.options, doing, once)

    return cast(Method, tried)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans ranges between marks; tasks read them.

    last: the highest offset this process has handed out or been given, for Spark 4.0 and 4.1, which
    do not say where a batch begins. target: where AvailableNow ends.
    """

    def __init__(self, options: StreamReadOptions) -> None:
        self.options = options
        self.watch = StallWatch(options.stall_seconds)
        self.last: Offset | None = None
        self.target: Offset | None = None
        self.connection: Any = None

    @patient
    def initialOffset(self) -> dict[str, str]:
        """Where a query without a checkpoint begins."""
        first = self._beginning(self._present())
        if self.last is not None:  # Spark 4.0 and 4.1 have an end already, perhaps below
            first = replace(first, mark=min(first.mark, self.last.mark))
        # With a reader nothing at or above it is purged from now on.
        first = replace(first, mark=claim(self._connected(), self.options, first.mark))
        self.last = self.last or first
        return first.to_dict()

    @patient
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, str]:
        """Where the next batch ends: the mark of now, less where a limit says so.

        Spark 4.2 gives start and limit; 4.0 and 4.1 neither, and call this before initialOffset.
        """
        now = self._present()
        begin = Offset.of(start) if start is not None else self.last
        begin = begin or self._beginning(now)
        refuse_another_table(begin, now)
        self._watch(now)
        end = self._end(begin, now, limit)
        if end == begin.mark:
            end = self._behind_what_is_gone(end, self._readable(now))
        self.last = replace(now, mark=end)
        return self.last.to_dict()

    def getDefaultReadLimit(self) -> Any:
        """``maxMessagesPerTrigger`` and ``maxBytesPerTrigger`` (Spark 4.2 and later ask). Spark has
        no limit that is both; it gives back what it is given here, but for Trigger.Once."""
        rows, size = self.options.max_messages_per_trigger, self.options.max_bytes_per_trigger
        if rows is not None:
            return ReadMaxRows(rows)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    @patient
    def reportLatestOffset(self) -> dict[str, Any]:
        """How far there are rows, with the lag (redial.spark.lag), for the progress report."""
        now = self._present()
        begin = self.last or replace(now, mark=LOWEST)
        end = behind_last(self._connected(), self.options, begin.mark, self._readable(now))
        offset = replace(now, mark=end)
        try:
            return behind(self._connected(), self.options, begin.mark, now).told(offset)
        except Exception as error:  # a figure, which ends no stream
            log.info("the lag is not told: %s", error)
            self.stop()
            return offset.to_dict()

    @patient
    def prepareForTriggerAvailableNow(self) -> None:
        """Remember where this run ends."""
        self.target = self._present()

    @patient
    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """The ranges of one batch; the same for a batch that is run again after a restart."""
        first, last = Offset.of(start), Offset.of(end)
        now = self._present()
        for offset in (first, last):
            refuse_another_table(offset, now)
        if first.mark < last.mark:  # Spark 4.0 and 4.1 ask for none where a killed batch was to end
            keep(self._connected(), self.options, first.mark)
        self.last = last if self.last is None or last.mark > self.last.mark else self.last
        parts = occupied(
            self._connected(), self.options, first.mark, last.mark, self.options.num_partitions
        )
        return [RangePartition(part.start, part.end) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One range, in a task, on a connection of the task's own."""
        return read(self.options, range_of(partition))

    @patient
    def commit(self, end: dict[str, str]) -> None:
        """Tell the server how far this stream is: a lower bound.

        Spark calls it for a batch when it plans the next one, so never for the last.
        """
        if self.options.reader is not None:
            acknowledge(self._connected(), self.options, Offset.of(end).mark)

    def stop(self) -> None:
        """Close; Spark does not always call it, and nothing depends on it."""
        connection, self.connection = self.connection, None
        if connection is not None:
            close(connection)

    def _end(self, begin: Offset, now: Offset, limit: Any) -> int:
        """Where a batch from ``begin`` ends: by Spark's limit, and by ours where it gives none."""
        rows = getattr(limit, "max_rows", self.options.max_messages_per_trigger)
        size = getattr(limit, "max_bytes", self.options.max_bytes_per_trigger)
        everything = ReadAllAvailable is not None and isinstance(limit, ReadAllAvailable)
        end = self._readable(now)
        if begin.mark < end and not everything and (rows, size) != (None, None):
            found = limited(self._connected(), self.options, begin.mark, end, rows, size)
            if found is not None:
                return found
        return behind_last(self._connected(), self.options, begin.mark, end)

    def _beginning(self, now: Offset) -> Offset:
        """Where a new query begins."""
        first = starting(self._connected(), self.options, now)
        purged = known(self._connected(), self.options)
        return replace(first, mark=begins(self.options, first.mark, purged))

    def _behind_what_is_gone(self, mark: int, looked: int) -> int:
        """Where no row is left below ``looked``: a purge that went further has taken some, and no batch
        would tell."""
        purged = known(self._connected(), self.options)
        refuse_loss(self.options, mark, purged)
        return max(mark, min(purged.gone, looked))

    def _readable(self, now: Offset) -> int:
        """Rows below are committed, and AvailableNow wants them."""
        return now.mark if self.target is None else min(now.mark, self.target.mark)

    def _connected(self) -> Any:
        if self.connection is None:
            self.connection = open_connection(self.options)
        return self.connection

    def _present(self) -> Offset:
        """The mark of now."""
        return present(self._connected(), self.options)

    def _watch(self, now: Offset) -> None:
        """Report a mark that stands still; raises SourceError with stalledMark = fail."""
        if not self.watch.stalled(now.mark):
            return
        if not waiting_behind(self._connected(), self.options, now.mark):
            return
        text = stall_report(self._connected(), now.mark, self.options.stall_seconds)
        if self.options.stalled_mark == "fail":
            raise SourceError(text)
        log.warning("%s", text)
        self.watch.reported()
