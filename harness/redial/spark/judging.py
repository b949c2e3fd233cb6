"""The audit's judgement of each conversation and each key, as DataFrames.

What landed is joined with what was sent (ConversationLog) and with the dead letters. A number that
should have landed and did not is lost, unless it is a dead letter, or its conversation's log says
that so many went out again on another dialog (Resent), or it is still on its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from redial.spark.dialog_accounts import VERIFIED, complete, screen, verify
from redial.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BROKERS_OWN = "http://schemas.microsoft.com/SQL/ServiceBroker/"
"""Message types of the broker begin so (EndDialog, Error): rows about a dialog, not messages."""

FEW = 100_000
"""Suspects up to this many are sent to every task instead of shuffling all rows to them."""

NAMES = {
    "conversation": ("ConversationId", "conversation_id"),
    "handle": ("ConversationHandle", "conversation_handle"),
    "sequence": ("MessageSequence", "message_sequence", "message_sequence_number"),
    "type": ("MessageType", "message_type", "message_type_name"),
    "landed": ("LandedUtc", "landed_utc"),
    "sent": ("SentUtc", "sent_utc"),
    "key": ("ConversationKey", "conversation_key"),
    "key_seq": ("KeySequence", "key_sequence"),
    "message_id": ("MessageId",),
}
"""The audit's names of what landed, and the columns it finds them in, in any case."""

LOG = {
    "Handle": "string",
    "ConversationId": "string",
    "ConversationKey": "string",
    "ResendOf": "string",
    "BegunUtc": "timestamp",
    "EndOfStreamUtc": "timestamp",
    "EndedUtc": "timestamp",
    "Messages": "bigint",
    "Resent": "bigint",
}
"""Columns of ConversationLog the audit reads."""


@dataclass(frozen=True)
class Rules:
    """How to judge."""

    end_of_stream: str = "EndOfStream"
    """The message type that closes a stream."""
    exact: bool = False
    """Verify every conversation, not only the suspects."""
    horizon: datetime | None = None
    """All that the target had landed before that moment is in ``landed`` (UTC); None: so is all
    that the log tells of, because the log was read before."""
    since: datetime | None = None
    until: datetime | None = None
    """since, until: only conversations begun then."""


def named(landed: DataFrame) -> DataFrame:
    """``landed`` under the audit's names. Raises PipelineError when a needed column is missing."""
    from pyspark.sql import functions as f

    there = {name.lower(): name for name in landed.columns}
    columns = []
    for name, others in NAMES.items():
        found = next((there[n.lower()] for n in (name, *others) if n.lower() in there), None)
        if found is not None:
            columns.append(f.col(f"`{found}`").alias(name))
        elif name in ("conversation", "sequence", "type"):
            raise PipelineError(
                f"column {name}",
                f"is not among those that landed: {', '.join(landed.columns)}",
                f"name it {name} or {' or '.join(others)}",
            )
        else:
            kind = {"landed": "timestamp", "sent": "timestamp", "key_seq": "bigint"}
            columns.append(f.lit(None).cast(kind.get(name, "string")).alias(name))
    rows = landed.select(*columns)
    # Where the id was not visible the target's handle tells dialogs apart as well.
    return rows.withColumn("conversation", f.upper(f.coalesce("conversation", "handle"))).drop(
        "handle"
    )


def micros(moment: Column) -> Column:
    """Microseconds since 1970; 0 where there is none, so that such rows are one batch."""
    from pyspark.sql import functions as f

    return f.coalesce(f.unix_micros(moment.cast("timestamp")), f.lit(0))


def conversations(
    landed: DataFrame, log: DataFrame | None, dead: DataFrame | None, rules: Rules
) -> DataFrame:
    """One row per conversation, persisted.

    landed: what ``named`` gives. log: ConversationLog. dead: ConversationId, MessageSequence of
    dead letters. Columns: those of ``_known``, and state, stop, suspect, late, repeats, dead,
    missing, ranges, lost, pending, after_end.
    """
    from pyspark.sql import functions as f

    sent = _sent(landed, log, rules)
    begun = sent.select("conversation") if rules.since or rules.until else None
    ours = landed.where(~f.col("type").startswith(BROKERS_OWN))
    ours = ours if begun is None else ours.join(begun, "conversation", "left_semi")
    numbers = ours.select(
        f.col("conversation").alias("group"),
        f.col("sequence").alias("number"),
        micros(f.col("landed")).alias("landed"),
        (f.col("type") == rules.end_of_stream).alias("closes"),
    )
    letters = _letters(dead, "ConversationId", "MessageSequence", begun)
    known = _known(numbers, sent, rules)
    clean = complete(0, f.col("stop"))
    if letters is not None:
        lettered = letters.select(f.col("group").alias("conversation"), f.lit(1).alias("lettered"))
        known = known.join(f.broadcast(lettered.distinct()), "conversation", "left")
        clean &= f.col("lettered").isNull()
    known = known.withColumn("suspect", f.lit(rules.exact) | ~clean).persist()
    verified = _verified(known, numbers, letters, 0).withColumnRenamed("group", "conversation")
    return _conversation_verdict(known, verified).persist()


def keys(landed: DataFrame, dead: DataFrame | None, judged: DataFrame, rules: Rules) -> DataFrame:
    """One row per key whose messages are numbered (order = key), persisted; numbers begin at 1.

    judged: what ``conversations`` gives. dead: ConversationKey, KeySequence of dead letters.
    Columns: key, high, landed (rows), repeats, overtaken (moments at which a number landed after a
    higher one: two dialogs of a key are received side by side, so that is no fault), missing,
    ranges, unsettled (a dialog of the key is closing, what is missing may be in it), lost.
    """
    from pyspark.sql import functions as f

    numbers = landed.where(f.col("key").isNotNull() & f.col("key_seq").isNotNull()).select(
        f.col("key").alias("group"),
        f.col("key_seq").alias("number"),
        micros(f.col("landed")).alias("landed"),
        f.lit(False).alias("closes"),
    )
    letters = _letters(dead, "ConversationKey", "KeySequence", None)
    known = screen(numbers).withColumn("stop", f.col("high") + 1)
    clean = complete(1, f.col("high"), in_order=False)
    known = known.withColumn("suspect", f.lit(rules.exact) | ~clean)
    known = known.withColumnRenamed("group", "key").persist()
    verified = _verified(known, numbers, letters, 1).withColumnRenamed("group", "key")
    # A resend's dialog is of the key of the dialog it stands for, and its own row names none.
    of = judged.select(f.col("handle").alias("resend_of"), f.col("key").alias("of"))
    closing = (
        judged.where(f.col("state") == "closing")
        .join(of, "resend_of", "left")
        .select(
            f.coalesce("key", "of").alias("key"),
            f.lit(True).alias("closing"),
        )
        .where(f.col("key").isNotNull())
        .distinct()
    )
    verified = verified.drop("high", "landed")
    found = known.select("key", "high", "landed", "late_batches").join(verified, "key", "left")
    missing = f.coalesce("missing", f.lit(0))
    unsettled = f.col("closing").isNotNull()
    return (
        found.join(closing, "key", "left")
        .select(
            "key",
            "high",
            "landed",
            f.coalesce("repeats", f.lit(0)).alias("repeats"),
            f.col("late_batches").alias("overtaken"),
            missing.alias("missing"),
            "ranges",
            f.when(unsettled, missing).otherwise(0).alias("unsettled"),
            f.when(unsettled, 0).otherwise(missing).alias("lost"),
        )
        .persist()
    )


def _sent(landed: DataFrame, log: DataFrame | None, rules: Rules) -> DataFrame:
    """ConversationLog under the audit's names; empty when there is none."""
    from pyspark.sql import functions as f

    if log is None:
        if rules.since or rules.until:
            raise PipelineError(
                "since, until",
                "need ConversationLog, which knows when a dialog began",
                "pass the log, or leave them out",
            )
        log = landed.limit(0).select(*(f.lit(None).cast(t).alias(n) for n, t in LOG.items()))
    log = log.select(*(f.col(name).cast(kind) for name, kind in LOG.items()))
    sent = log.where(f.col("ConversationId").isNotNull()).select(
        f.upper("ConversationId").alias("conversation"),
        f.lit(True).alias("logged"),
        f.upper("Handle").alias("handle"),
        f.upper("ResendOf").alias("resend_of"),
        f.col("ConversationKey").alias("key"),
        f.col("ResendOf").isNotNull().alias("resend"),
        f.col("BegunUtc").alias("begun"),
        f.col("EndOfStreamUtc").alias("closed"),
        f.col("EndedUtc").alias("ended"),
        f.col("Messages").alias("messages"),
        f.coalesce("Resent", f.lit(0)).alias("resent"),
    )
    if rules.since is not None:
        sent = sent.where(f.col("begun") >= f.lit(rules.since))
    return sent if rules.until is None else sent.where(f.col("begun") < f.lit(rules.until))


def _letters(
    dead: DataFrame | None, group: str, number: str, only: DataFrame | None
) -> DataFrame | None:
    """Dead letters as numbered rows: group, number."""
    from pyspark.sql import functions as f

    if dead is None or group not in dead.columns:
        return None
    if "MessageType" in dead.columns:
        dead = dead.where(~f.coalesce("MessageType", f.lit("")).startswith(BROKERS_OWN))
    name = f.upper(group) if group == "ConversationId" else f.col(group)
    letters = dead.select(name.alias("group"), f.col(number).cast("bigint").alias("number"))
    letters = letters.where(f.col("group").isNotNull() & f.col("number").isNotNull())
    if only is None:
        return letters
    return letters.join(only.withColumnRenamed("conversation", "group"), "group", "left_semi")


def _known(numbers: DataFrame, sent: DataFrame, rules: Rules) -> DataFrame:
    """What the screen and the log tell of each conversation, its state, and where it must stop.

    complete: its EndOfStream has landed, or both sides have ended it. closing: EndOfStream was
    sent. open: neither. stop: one past the last number that must be there; a conversation that is
    not complete must have what is below its highest, for the broker delivers in order (F-109).
    """
    from pyspark.sql import functions as f

    screened = screen(numbers).withColumnsRenamed(
        {"group": "conversation", "closes": "end_of_stream"}
    )
    known = screened.join(sent, "conversation", "full")
    length = f.greatest("messages", "end_of_stream")
    over = f.col("ended").isNotNull()
    if rules.horizon is not None:
        over &= f.col("ended") < f.lit(rules.horizon)
    so_far = f.coalesce(f.col("high") + 1, f.lit(0))
    whole = f.coalesce(length, so_far)
    whole += f.when(f.col("end_of_stream") == whole, 1).otherwise(0)
    state = f.when(f.col("end_of_stream").isNotNull() | over, "complete").otherwise(
        f.when(length.isNotNull(), "closing").otherwise("open")
    )
    return (
        known.withColumn("length", length)
        .withColumn("state", state)
        .withColumn("stop", f.when(f.col("state") == "complete", whole).otherwise(so_far))
    )


def _verified(
    known: DataFrame, numbers: DataFrame, letters: DataFrame | None, base: int
) -> DataFrame:
    """The exact job on the suspects of ``known`` (its first column is the group)."""
    from pyspark.sql import functions as f

    suspects = known.where("suspect").select(f.col(known.columns[0]).alias("group"), "stop")
    count = suspects.count()
    if not count:
        return known.sparkSession.createDataFrame([], VERIFIED)
    if count <= FEW:
        suspects = f.broadcast(suspects)
    rows = numbers.select("group", "number", "landed", f.lit(False).alias("dead"))
    if letters is not None:
        rows = rows.unionByName(
            letters.select(
                "group",
                "number",
                f.lit(0).cast("bigint").alias("landed"),
                f.lit(True).alias("dead"),
            )
        )
    return verify(rows.join(suspects, "group"), base)


def _conversation_verdict(known: DataFrame, verified: DataFrame) -> DataFrame:
    """A conversation that is not suspect has nothing missing, repeated or late."""
    from pyspark.sql import functions as f

    found = verified.select(
        "conversation", "late", "repeats", "dead", "missing", "ranges", "after_end"
    )
    # Nothing landed and nothing is a dead letter: then no row was there to verify.
    nothing = f.when(f.col("suspect"), f.col("stop")).otherwise(0)
    last = (f.col("stop") - 1).alias("last")
    all_of_it = f.array(f.struct(f.lit(0).cast("bigint").alias("first"), last))
    beyond = f.greatest(f.lit(0), f.col("length") - f.col("stop") - f.coalesce("resent", f.lit(0)))
    return (
        known.join(found, "conversation", "left")
        .withColumn(
            "ranges",
            f.when(f.col("missing").isNull() & (nothing > 0), all_of_it).otherwise(f.col("ranges")),
        )
        .withColumn("missing", f.coalesce("missing", nothing))
        .fillna(0, ["landed", "late", "repeats", "dead", "after_end", "resent"])
        .withColumn("lost", f.greatest(f.lit(0), f.col("missing") - f.col("resent")))
        .withColumn("pending", f.when(f.col("state") == "closing", beyond).otherwise(0))
        .drop("total", "squares", "late_batches")
    )
