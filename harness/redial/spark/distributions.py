"""The audit's distributions: landing over time, latency, age of dialogs, overlap at a recycle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log2
from typing import TYPE_CHECKING

from redial.charts import step_of
from redial.spark.audit_report import Profile
from redial.spark.judging import BROKERS_OWN, Rules
from redial.spark.totals import total_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FINE = 16
"""Sizes below this many milliseconds have a bucket each; above, a doubling has this many buckets,
so that a quantile is at most ERROR too high whatever the number of rows."""

ERROR = 2 ** (1 / FINE) - 1
SLICES = 120
"""Slices of time of the picture, at most."""

QUANTILES = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "99.9 %": 0.999}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bucket(milliseconds: Column) -> Column:
    """Number of the bucket of a size; -1 for every negative one (clocks that disagree)."""
    from pyspark.sql import functions as f

    doublings = f.log2(milliseconds / f.lit(FINE)) * f.lit(FINE)
    return (
        f.when(milliseconds < 0, f.lit(-1))
        .otherwise(
            f.when(milliseconds < FINE, f.floor(milliseconds)).otherwise(f.floor(doublings) + FINE)
        )
        .cast("int")
    )


def upper_edge(number: int) -> float:
    """What is in the bucket is below this, in milliseconds."""
    return number + 1.0 if number < FINE else FINE * 2 ** ((number - FINE + 1) / FINE)


def bucket_of(milliseconds: float) -> int:
    """``bucket`` in Python."""
    if milliseconds < FINE:
        return -1 if milliseconds < 0 else int(milliseconds)
    return int(log2(milliseconds / FINE) * FINE) + FINE


def quantiles(buckets: list[tuple[int, int]], greatest: float | None) -> dict[str, float]:
    """Upper edges of the buckets the quantiles fall into. buckets: (number, count), ascending."""
    total = sum(count for _, count in buckets)
    found, seen, left = {}, 0, list(QUANTILES.items())
    for number, count in buckets:
        seen += count
        while left and seen >= left[0][1] * total:
            edge = 0.0 if number < 0 else upper_edge(number)
            found[left.pop(0)[0]] = edge if greatest is None else min(edge, max(greatest, 0.0))
    if found and greatest is not None:
        found["greatest"] = greatest
    return found


@dataclass(frozen=True)
class Span:
    """Of all conversations, in microseconds since 1970: first and last row landed, begin of the
    oldest open dialog; and whether any has a key."""

    first: int | None
    last: int | None
    oldest: int | None
    keyed: bool


def span_of() -> list[Column]:
    """Aggregates over judging.conversations that make a Span."""
    from pyspark.sql import functions as f

    is_open = (f.col("state") == "open") & ~f.coalesce("resend", f.lit(False))
    return [
        f.min("first_landed"),
        f.max("last_landed"),
        f.unix_micros(f.min(f.when(is_open, f.col("begun")))),
        f.count("key") > 0,
    ]


def profile(landed: DataFrame, judged: DataFrame, rules: Rules, span: Span) -> Profile:
    """Of the messages in ``landed`` and the dialogs in ``judged`` (judging.conversations)."""
    found = Profile()
    if span.first is not None and span.last:  # else nothing landed, or nothing says when
        _over_time(found, landed, rules, span.first, span.last)
        if span.oldest is not None:
            found.oldest_open = max(0.0, (span.last - span.oldest) / 1e6)
    _ages(found, judged)
    if span.keyed:
        _overlaps(found, judged)
    return found


def _over_time(found: Profile, landed: DataFrame, rules: Rules, first: int, last: int) -> None:
    """One pass: rows by slice of time and bucket of latency."""
    from pyspark.sql import functions as f

    from redial.spark.judging import micros

    width = step_of((last - first) / 1e6, SLICES) * 1_000_000
    first = first // width * width  # whole seconds, minutes or hours
    messages = landed.where(
        ~f.col("type").startswith(BROKERS_OWN) & (f.col("type") != rules.end_of_stream)
    )
    latency = (micros(f.col("landed")) - f.unix_micros(f.col("sent").cast("timestamp"))) / 1000
    slice_ = f.floor((micros(f.col("landed")) - f.lit(first)) / f.lit(width))
    rows = (
        messages.select(slice_.alias("slice"), latency.alias("ms"))
        .groupBy("slice", bucket(f.col("ms")).alias("bucket"))
        .agg(f.count("*").alias("n"), f.max("ms").alias("ms"))
        .collect()
    )
    per_slice: dict[int, int] = {}
    per_bucket: dict[int, int] = {}
    for row in rows:
        per_slice[row.slice] = per_slice.get(row.slice, 0) + row.n
        if row.bucket is not None:
            per_bucket[row.bucket] = per_bucket.get(row.bucket, 0) + row.n
    found.times = [
        (_EPOCH + timedelta(microseconds=first + width * n), per_slice.get(n, 0))
        for n in range((last - first) // width + 1)
    ]
    buckets = sorted(per_bucket.items())
    greatest = max((row.ms for row in rows if row.ms is not None), default=None)
    found.quantiles = quantiles(buckets, greatest)
    found.backwards = per_bucket.get(-1, 0)
    found.latencies = [(upper_edge(n), count) for n, count in buckets if n >= 0]


def _ages(found: Profile, judged: DataFrame) -> None:
    """Seconds from begin to EndOfStream of the dialogs callers sent on."""
    from pyspark.sql import functions as f

    ours = judged.where(f.col("begun").isNotNull() & ~f.coalesce("resend", f.lit(False)))
    ms = (f.unix_micros("closed") - f.unix_micros("begun")) / 1000
    rows = (
        ours.where(f.col("closed").isNotNull())
        .select(ms.alias("ms"))
        .groupBy(bucket(f.col("ms")).alias("bucket"))
        .agg(f.count("*").alias("n"), f.max("ms").alias("ms"))
        .collect()
    )
    buckets = sorted((row.bucket, row.n) for row in rows)
    found.ages = [(upper_edge(n) / 1000, count) for n, count in buckets if n >= 0]
    greatest = max((row.ms for row in rows), default=None)
    found.age_quantiles = {k: v / 1000 for k, v in quantiles(buckets, greatest).items()}


def _overlaps(found: Profile, judged: DataFrame) -> None:
    """Keys' dialogs that were still landing when the next one of the key already was."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    in_turn = Window.partitionBy("key").orderBy("begun", "first_landed")
    over = (
        judged.where(f.col("key").isNotNull() & (f.col("landed") > 0) & ~f.col("resend"))
        .select((f.col("last_landed") - f.lead("first_landed").over(in_turn)).alias("over"))
        .where(f.col("over") > 0)
    )
    longest = over.agg(f.count("*").alias("n"), f.max("over").alias("longest"))
    row = total_of(longest, "overlaps of a key's dialogs")
    found.overlaps, found.longest_overlap = row.n, (row.longest or 0) / 1e6
