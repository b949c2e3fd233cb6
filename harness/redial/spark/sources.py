"""What an audit looks at: files the landing job wrote, or the server's tables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from redial.config import Config
from redial.envelope import key_of
from redial.quoting import quote_name
from redial.spark.errors import PipelineError
from redial.spark.judging import LOG, named
from redial.spark.totals import total_of

if TYPE_CHECKING:
    from argparse import Namespace

    from pyspark.sql import DataFrame, SparkSession

    from redial.spark.options import Options

GUIDS = frozenset({"Handle", "ConversationId", "ResendOf"})
DEAD = "ConversationId string, MessageSequence bigint, MessageType string, "
DEAD += "ConversationKey string, KeySequence bigint"


@dataclass
class Sources:
    """The audit's inputs; see ``audit.audit`` and ``judging.Rules``."""

    landed: DataFrame | None = None
    log: DataFrame | None = None
    dead: DataFrame | None = None
    dropped: int = 0
    horizon: datetime | None = None
    label: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> DataFrame:
        """What landed. Raises PipelineError when that was not looked for."""
        if self.landed is None:
            raise _nothing()
        return self.landed


def _nothing() -> PipelineError:
    return PipelineError(
        "--server, --landed",
        "there is nothing to look at",
        "name the database, or what the landing job wrote, or both",
    )


def sources(spark: SparkSession, config: Config, chosen: Namespace) -> Sources:
    """What the command line names. Raises PipelineError.

    From a server the order matters: first the log, so that whatever it calls ended has landed; then
    the mark up to which Landing is read; then the dead letters, so that none of a batch below the
    mark is missed.
    """
    server = chosen.server or os.environ.get("REDIAL_SERVER")
    if not server and not chosen.landed:
        raise _nothing()
    found = Sources()
    if server:
        ask(spark, found, config, server, landing=not chosen.landed)
        found.label = f"configuration {config.name}"
    if chosen.landed:
        found.landed = files(spark, chosen.landed)
        found.label = f"{chosen.landed}, configuration {config.name}"
        if not chosen.settled:
            found.horizon = newest(found.landed)
    if chosen.log:
        found.log = files(spark, chosen.log)
    return found


def ask(
    spark: SparkSession, found: Sources, config: Config, server: str, landing: bool = False
) -> None:
    """The server's log and dead letters, with ``landing`` its landing table too, in the order
    ``sources`` explains. server: an ODBC connection string. Raises SourceError."""
    from redial.spark.connect import open_connection
    from redial.spark.credentials import from_odbc
    from redial.spark.marks import present
    from redial.spark.options import BatchReadOptions, parse
    from redial.spark.ranges import mark_literal

    given = from_odbc(server) | {"schema": config.schema_name}
    options = parse(BatchReadOptions, given)
    schema = quote_name(config.schema_name)
    connection = open_connection(options)
    try:
        log = ", ".join(
            f"CONVERT(char(36), cl.{name})" if name in GUIDS else f"cl.{name}" for name in LOG
        )
        found.log = _frame(
            spark,
            _rows(
                connection,
                options,
                f"SELECT {log} FROM {schema}.[ConversationLog] AS cl;",
                "reader",
            ),
            ", ".join(f"{name} {kind}" for name, kind in LOG.items()),
        )
        mark = present(connection, options).mark
        dead = [
            _letter(*row)
            for row in _rows(
                connection,
                options,
                "SELECT CONVERT(char(36), d.ConversationId), d.MessageSequence, "
                f"d.MessageType, {_envelope(config)} FROM {schema}.[DeadLetter] AS d;",
                "operator",
            )
        ]
        found.dead = _frame(spark, dead, DEAD) if dead else None
        if config.conversation.delivery == "exactly_once":
            _dropped(found, connection, schema)
    finally:
        connection.close()
    if landing:
        reading = given | {"endingMark": mark_literal(mark), "numPartitions": "2"}
        rows = spark.read.format("servicebroker").options(**reading).load().drop("body")
        found.landed = rows.persist()  # the server is asked once, whatever is asked of the rows


def _rows(connection: Any, options: Options, sql: str, role: str) -> list[Any]:
    from redial.spark.connect import told

    try:
        rows: list[Any] = connection.execute(sql).fetchall()
        return rows
    except Exception as error:  # whichever driver's
        raise told(
            error,
            options,
            sql.partition(" FROM ")[2].partition(" ")[0],
            f"a login in the configuration's {role} role",
        ) from None


def _frame(spark: SparkSession, rows: list[Any], schema: str) -> DataFrame:
    """Rows of the driver; datetime2 is without a zone, and these are UTC by their names."""
    values = [
        tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row) for row in rows
    ]
    return spark.createDataFrame(values, schema)


def _envelope(config: Config) -> str:
    """The part of a dead letter's body that may have the key in it."""
    return "SUBSTRING(d.Body, 1, 512)" if config.conversation.order == "key" else "NULL"


def _letter(conversation: str, sequence: int, type_: str, head: bytes | None) -> tuple[Any, ...]:
    return (conversation, sequence, type_, *(key_of(head) or (None, None)))


def _dropped(found: Sources, connection: Any, schema: str) -> None:
    """Repeats the target refused; no role of ours has the right to look (docs/pipeline.md)."""
    try:
        row = connection.execute(f"SELECT SUM(ib.Repeats) FROM {schema}.[Inbox] AS ib;").fetchone()
        found.dropped = int(row[0] or 0)
    except Exception as error:  # whichever driver's
        found.notes.append(
            "Inbox cannot be read, so a repeat the target dropped looks lost: "
            f"{str(error.args[-1])[:200]}. Next: GRANT SELECT on it"
        )


def files(spark: SparkSession, path: str) -> DataFrame:
    """A Parquet directory or a Delta table. Raises PipelineError when it is not there.

    A Delta table's files are found with delta-rs, so no jar is needed; one with deletion vectors,
    which the landing job never makes, needs delta-spark.
    """
    from pyspark.errors import AnalysisException

    from redial.spark.tables import delta_files, is_delta

    try:
        if is_delta(path):
            return spark.read.option("basePath", path).parquet(*delta_files(path))
        return spark.read.parquet(path)
    except AnalysisException as error:
        raise PipelineError(
            path, str(error).splitlines()[0][:300], "python -m redial.spark.land writes it"
        ) from None


def newest(landed: DataFrame) -> datetime | None:
    """When the newest row landed: what ended later may have rows that were not copied yet."""
    from pyspark.sql import functions as f

    newest_of_all = named(landed).agg(f.unix_micros(f.max("landed").cast("timestamp")))
    last = total_of(newest_of_all, "when the newest row landed")[0]
    return None if last is None else datetime.fromtimestamp(last / 1e6, UTC)
