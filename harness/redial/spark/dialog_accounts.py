"""The audit's Spark jobs: which numbers of each sequence are there, and which are not.

Everything here is about *numbered rows*: group (a conversation or a key), number, the moment of
landing, and whether the row is only a dead letter. Two jobs answer the same question:

``screen``  one pass with map-side combine: count, least, greatest, sum and sum of squares of the
            numbers, and per moment of landing the span of the numbers, for order. It says which
            groups are suspect. Not a proof: three lost numbers and three repeated ones can have
            equal sums of both kinds (0, 4, 5 and 1, 2, 6 for example).
``verify``  numbers sorted beside their neighbours (window), exact, for the suspects or for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PRIME = 2_147_483_647
"""Squares are summed modulo this prime (2^31 - 1): a sum of plain squares leaves 64 bits from two
million numbers on, and with spark.sql.ansi.enabled (Spark 4's default) that is an error."""

RANGES = 20
"""Missing ranges named per group; the count is of all."""
VERIFIED = (
    "group string, landed bigint, low bigint, high bigint, first_landed bigint, "
    "last_landed bigint, late bigint, repeats bigint, dead bigint, after_end bigint, "
    "missing bigint, ranges array<struct<first: bigint, last: bigint>>"
)
"""What ``verify`` gives."""


def screen(rows: DataFrame) -> DataFrame:
    """One row per group: landed (rows), low, high, total, squares, first_landed, last_landed,
    late_batches, closes.

    rows: group string, number long, landed long (microseconds), closes boolean (the row ends its
    group; the least such number is kept). late_batches: moments of landing
    with a number below one that landed before; rows of one moment are one batch, whose own order
    nobody promises (F-365).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    number = f.col("number")
    rest = number % f.lit(PRIME)
    batches = rows.groupBy("group", "landed").agg(
        f.count("*").alias("n"),
        f.min(number).alias("low"),
        f.max(number).alias("high"),
        f.sum(number).alias("total"),
        f.sum(rest * rest % f.lit(PRIME)).alias("squares"),
        f.min(f.when(f.col("closes"), number)).alias("closes"),
    )
    earlier = (
        Window.partitionBy("group").orderBy("landed").rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        batches.withColumn("before", f.max("high").over(earlier))
        .groupBy("group")
        .agg(
            f.sum("n").alias("landed"),
            f.min("low").alias("low"),
            f.max("high").alias("high"),
            f.sum("total").alias("total"),
            (f.sum("squares") % f.lit(PRIME)).alias("squares"),
            f.min("landed").alias("first_landed"),
            f.max("landed").alias("last_landed"),
            f.count(f.when(f.col("low") < f.col("before"), 1)).alias("late_batches"),
            f.min("closes").alias("closes"),
        )
    )


def complete(base: int, count: Column, in_order: bool = True) -> Column:
    """Whether a screened group is the numbers base .. base + count - 1, once each (and in order).

    Not a proof (see above). A group with nothing landed is complete when nothing was to land.
    """
    from pyspark.sql import functions as f

    end = count + f.lit(base)  # one past the last
    last = (end - 1).cast("decimal(38,0)")
    sums = last * end / 2 - f.lit(base * (base - 1) // 2)
    squares = last * end * (last + end) / 6 - f.lit((base - 1) * base * (2 * base - 1) // 6)
    whole = (
        (f.col("landed") == count)
        & (f.col("low") == f.lit(base))
        & (f.col("high") == end - 1)
        & (f.col("total") == sums)
        & (f.col("squares") == squares % f.lit(PRIME))
    )
    if in_order:
        whole &= f.col("late_batches") == 0
    return f.when(f.coalesce(f.col("landed"), f.lit(0)) == 0, count == 0).otherwise(whole)


def verify(rows: DataFrame, base: int) -> DataFrame:
    """One row per group, exact: what the screen tells, and repeats, late, dead, after_end,
    missing, ranges.

    rows: group, number, landed, dead boolean (a dead letter: accounted for, not landed), stop long
    (one past the last number that must be there). dead: numbers that are dead letters only.
    missing: numbers base .. stop - 1 that are neither; ranges: the first RANGES stretches of them
    and the tail, as (first, last). repeats: rows beyond the first of their number. late: first rows
    of a number below one that landed at an earlier moment. after_end: numbers from stop on.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    number, dead = f.col("number"), f.col("dead")
    sorted_ = Window.partitionBy("group").orderBy("number", "dead", "landed")
    earlier = (
        Window.partitionBy("group").orderBy("landed").rangeBetween(Window.unboundedPreceding, -1)
    )
    before = f.coalesce(f.lag("number").over(sorted_), f.lit(base - 1))
    gap = f.greatest(f.lit(0), f.least(number, f.col("stop")) - before - 1)
    beside = (
        rows.withColumn("before", before)
        .withColumn("gap", gap)
        .withColumn("again", number == f.lag("number").over(sorted_))
        .withColumn("gaps", f.sum((gap > 0).cast("int")).over(sorted_))
        .withColumn("greatest", f.max(f.when(~dead, number)).over(earlier))
    )
    again = f.coalesce(f.col("again"), f.lit(False))
    shown = (f.col("gap") > 0) & (f.col("gaps") <= RANGES)
    top, last = f.greatest(f.max("number"), f.lit(base - 1)), f.max("stop") - 1
    tail = f.greatest(f.lit(0), last - top)
    stretch = f.struct(
        (f.col("before") + 1).alias("first"), (f.col("before") + f.col("gap")).alias("last")
    )
    at_end = f.array(f.struct((top + 1).alias("first"), last.alias("last")))
    ranges = f.sort_array(f.collect_list(f.when(shown, stretch)))
    return beside.groupBy("group").agg(
        f.count(f.when(~dead, 1)).alias("landed"),
        f.min(f.when(~dead, number)).alias("low"),
        f.max(f.when(~dead, number)).alias("high"),
        f.min(f.when(~dead, f.col("landed"))).alias("first_landed"),
        f.max(f.when(~dead, f.col("landed"))).alias("last_landed"),
        f.count(f.when(~dead & ~again & (number < f.col("greatest")), 1)).alias("late"),
        f.count(f.when(~dead & again, 1)).alias("repeats"),
        f.count(f.when(dead & ~again, 1)).alias("dead"),
        f.count(f.when(~dead & ~again & (number >= f.col("stop")), 1)).alias("after_end"),
        (f.sum("gap") + tail).alias("missing"),
        f.when(tail > 0, f.concat(ranges, at_end)).otherwise(ranges).alias("ranges"),
    )
