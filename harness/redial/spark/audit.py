"""The delivery audit: what was sent (ConversationLog) joined with what landed.

``redial audit``, ``python -m redial.spark.audit``; exit status 1 on any loss, 2 without a verdict.
From Python: ``audit``, on any DataFrame. docs/pipeline.md says what each count means and what the
audit rests on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from redial.config import Config
from redial.spark.audit_arguments import parser
from redial.spark.audit_report import SHOWN, Finding, Report, findings_table, report_table
from redial.spark.distributions import Span, profile, span_of
from redial.spark.errors import PipelineError
from redial.spark.judging import BROKERS_OWN, Rules, conversations, keys, named
from redial.spark.totals import total_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def audit(
    landed: DataFrame,
    log: DataFrame | None = None,
    dead: DataFrame | None = None,
    *,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    dropped: int = 0,
    label: str = "",
) -> Report:
    """Judge what landed.

    landed: rows with conversation, sequence and type, and what there is of landed, sent, key,
    key_seq and message_id, under these names or those of the Landing table. log: ConversationLog;
    without it only EndOfStream tells how long a conversation is. dead: DeadLetter's ConversationId,
    MessageSequence, MessageType (and ConversationKey, KeySequence). dropped: repeats the target
    refused (sum of Inbox.Repeats). Raises PipelineError when a column is missing.
    """
    rows = named(landed)
    judged = conversations(rows, log, dead, rules)
    report = Report(label=label, exact=rules.exact, dropped=dropped)
    try:
        span = _count(report, judged)
        _keys(report, rows, dead, judged, rules)
        report.resent = _resent(rows)
        report.profile = profile(rows, judged, rules, span)
    finally:
        judged.unpersist()
    _notes(report, log)
    return report


def _count(report: Report, judged: DataFrame) -> Span:
    """The totals, and the conversations that are worst; what the profile needs to know of them."""
    from pyspark.sql import functions as f

    def states(name: str) -> Any:
        return f.count(f.when(f.col("state") == name, 1))

    totals = judged.agg(
        f.sum("landed").alias("landed"),
        f.count("*").alias("conversations"),
        *(states(name).alias(name) for name in ("complete", "closing", "open")),
        f.count(f.when(f.col("logged").isNull(), 1)).alias("unlogged"),
        f.count(f.when(f.col("suspect"), 1)).alias("suspects"),
        f.sum("lost").alias("lost"),
        f.sum("dead").alias("dead_lettered"),
        f.sum("pending").alias("pending"),
        f.sum("repeats").alias("repeated"),
        f.sum("late").alias("late"),
        f.sum("after_end").alias("after_end"),
        f.struct(*span_of()).alias("span"),
    )
    total = total_of(totals, "the audit's totals").asDict()
    span = Span(*total.pop("span"))
    for name, value in total.items():
        setattr(report, name, int(value or 0))
    if report.lost or report.repeated or report.late or report.after_end:
        _worst(report, judged)
    return span


def _worst(report: Report, judged: DataFrame) -> None:
    from pyspark.sql import functions as f

    wrong = f.col("lost") + f.col("repeats") + f.col("late") + f.col("after_end") > 0
    order = [f.desc(name) for name in ("lost", "repeats", "late")]
    report.worst = [
        Finding(
            row.conversation,
            row.state,
            row.lost,
            row.repeats,
            row.late,
            row.dead,
            row.pending,
            _ranges(row),
        )
        for row in judged.where(wrong).orderBy(*order, "conversation").limit(SHOWN).collect()
    ]


def _keys(
    report: Report, rows: DataFrame, dead: DataFrame | None, judged: DataFrame, rules: Rules
) -> None:
    """Keys whose messages are numbered, where there are any."""
    from pyspark.sql import functions as f

    if not rows.where(f.col("key_seq").isNotNull()).limit(1).count():
        return
    by_key = keys(rows, dead, judged, rules)
    try:
        totals = by_key.agg(
            f.count("*").alias("keys"),
            f.sum("lost").alias("lost_by_key"),
            f.sum("unsettled").alias("unsettled_by_key"),
            f.sum("repeats").alias("repeated_by_key"),
            f.count(f.when(f.col("overtaken") > 0, 1)).alias("overtaken_keys"),
        )
        for name, value in total_of(totals, "the totals by key").asDict().items():
            setattr(report, name, int(value or 0))
        worst = by_key.where(f.col("lost") > 0).orderBy(f.desc("lost"), "key").limit(SHOWN)
        report.worst_keys = [
            Finding(row.key, "", row.lost, row.repeats, 0, 0, 0, _ranges(row))
            for row in worst.collect()
        ]
    finally:
        by_key.unpersist()


def _resent(rows: DataFrame) -> int:
    """Rows of a message id under a number of their own, beyond the first: a resend or a client's
    own retry. Rows of one number are the pipeline's repeats and counted elsewhere."""
    from pyspark.sql import functions as f

    ids = rows.where(f.col("message_id").isNotNull() & ~f.col("type").startswith(BROKERS_OWN))
    if not ids.limit(1).count():
        return 0
    again = ids.groupBy("message_id").count().where(f.col("count") > 1).select("message_id")
    places = ids.join(again, "message_id").select("message_id", "conversation", "sequence")
    found = places.distinct().groupBy("message_id").agg((f.count("*") - 1).alias("more"))
    return int(total_of(found.agg(f.sum("more")), "messages sent again")[0] or 0)


def _ranges(row: Any) -> list[tuple[int, int]]:
    return [(r.first, r.last) for r in row["ranges"] or ()]


def _notes(report: Report, log: DataFrame | None) -> None:
    """What the reader of the report should know about it."""
    from pyspark.sql import functions as f

    if log is None:
        report.notes.append(
            "no ConversationLog: a conversation of which nothing landed is not "
            "missed, nor is a tail without EndOfStream"
        )
    else:
        report.unnamed = log.where(f.col("ConversationId").isNull()).count()
    if report.unnamed:
        report.notes.append(
            f"{report.unnamed:,} rows of ConversationLog have no conversation "
            "id: nothing can be compared with them"
        )
    if not report.exact:
        report.notes.append(
            f"{report.suspects:,} of {report.conversations:,} conversations were "
            "suspect after sums and verified number by number; --exact verifies "
            "all"
        )
    if report.profile.backwards:
        report.notes.append(
            f"{report.profile.backwards:,} messages landed before they were sent: "
            "the clocks of the two servers disagree"
        )


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit status is returned. Raises what keeps it from a verdict; ``answer`` is
    the same with that said and a status of its own."""
    from redial.spark.answers import tell
    from redial.spark.installed import Installed
    from redial.spark.session import spark_session
    from redial.spark.sources import server_asked, sources

    chosen = parser().parse_args(arguments)
    server_asked(chosen)  # before Spark starts
    known = Installed.of(configuration(chosen.config)) if chosen.config else None
    found = sources(spark_session("redial-audit"), chosen, known)
    rules = Rules(found.end_of_stream, chosen.exact, found.horizon, chosen.since, chosen.until)
    report = audit(
        found.rows, found.log, found.dead, rules=rules, dropped=found.dropped, label=found.label
    )
    report.notes += found.notes
    report.about = found.about
    return tell(report, chosen, show)


def answer(arguments: list[str] | None = None) -> int:
    """The command from a terminal: raises nothing but what argparse ends the process with."""
    from redial.spark.answers import status_of_verdict

    return status_of_verdict(lambda: main(arguments))


def show(console: Any, report: Report) -> None:
    """Table, what is wrong, notes and verdict on a terminal."""
    console.print(report_table(report))
    if report.worst:
        console.print(findings_table("conversations, worst first", report.worst))
    if report.worst_keys:
        console.print(findings_table("keys, worst first", report.worst_keys))
    for note in report.notes:
        console.print(f"  {note}", highlight=False, markup=False)
    colour = "green" if report.clean else "red"
    console.print(f"[bold {colour}]{report.verdict()}[/]")


def configuration(name: str) -> Config:
    """A configuration of the project folder by its name, or any by its path. Raises PipelineError."""
    from redial.config import ConfigError, load
    from redial.project import ProjectMissing, project

    try:
        return load(Path(name) if name.endswith(".toml") else project().configs / f"{name}.toml")
    except (OSError, ConfigError, ProjectMissing) as error:
        raise PipelineError(
            f"configuration {name}",
            str(error).splitlines()[0],
            "--config with a name of sql/configs or a path; or --schema, which needs no file",
        ) from None


if __name__ == "__main__":
    raise SystemExit(answer())
