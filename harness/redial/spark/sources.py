"""What an audit looks at: files the landing job wrote, or the server's tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from redial.envelope import key_of
from redial.odbc import NO_SUCH_OBJECT
from redial.quoting import quote_name
from redial.server import label_of
from redial.spark.audit_arguments import SCHEMA
from redial.spark.errors import PipelineError
from redial.spark.installed import Installed, on_server
from redial.spark.judging import LOG, Rules, named
from redial.spark.totals import total_of
from redial.version import VERSION

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
    end_of_stream: str = Rules.end_of_stream
    label: str = ""
    about: dict[str, str] = field(default_factory=dict)
    """As a report has it."""
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


def server_asked(chosen: Namespace) -> str | None:
    """The database that is to be asked. Raises PipelineError when there is nothing to look at."""
    from redial.spark.credentials import server_of

    server: str | None = server_of(chosen.server)
    if not server and not chosen.landed:
        raise _nothing()
    return server


def sources(spark: SparkSession, chosen: Namespace, known: Installed | None = None) -> Sources:
    """What the command line names; known: what a configuration's file says. Raises PipelineError.

    From a server the order matters: first the log, so that whatever it calls ended has landed; then
    the mark up to which Landing is read; then the dead letters, so that none of a batch below the
    mark is missed.
    """
    found, server = Sources(), server_asked(chosen)
    if server:
        schema = known or chosen.schema or SCHEMA
        known = look_at_server(spark, found, server, schema, landing=not chosen.landed)
    if chosen.landed:
        found.landed = files(spark, chosen.landed)
        if not chosen.settled:
            found.horizon = newest(found.landed)
    labels = [chosen.landed, known and f"schema {known.schema}"]
    found.label = ", ".join(filter(None, labels))
    if chosen.log:
        found.log = files(spark, chosen.log)
    found.end_of_stream = chosen.end_of_stream or (known or found).end_of_stream
    if known is None and not chosen.end_of_stream:
        _assumed(found)
    return found


def _assumed(found: Sources) -> None:
    """Nobody said which type closes a conversation: a note where none of the usual one landed."""
    from pyspark.sql import functions as f

    if not named(found.rows).where(f.col("type") == found.end_of_stream).limit(1).count():
        found.notes.append(
            f"no row of type {found.end_of_stream} landed, so no conversation has an end to compare "
            "with. Next: --end-of-stream with contract.end_of_stream, if that is another name"
        )


def look_at_server(
    spark: SparkSession,
    found: Sources,
    server: str,
    known: Installed | str,
    landing: bool = False,
) -> Installed:
    """The server's log and dead letters, with ``landing`` its landing table too, in the order
    ``sources`` explains; returns what it looked at.

    server: an ODBC connection string. known: a configuration, or a schema whose server is asked how
    it is set up. A server that was lost is tried again, as in reads. Raises SourceError,
    PipelineError.
    """
    from redial.spark import retrying
    from redial.spark.columns import NAMES
    from redial.spark.credentials import from_odbc
    from redial.spark.marks import present, unreadable
    from redial.spark.options import BatchReadOptions
    from redial.spark.parsing import parse
    from redial.spark.ranges import mark_literal

    given = from_odbc(server) | {"schema": known if isinstance(known, str) else known.schema}
    options = parse(BatchReadOptions, given)
    if isinstance(known, str):
        known = _known(options)
    if landing and known.by_hook:
        raise _hooked(known)
    found.about = _about(options)
    found.log = _log(spark, options)
    doing, failed = "taking the mark", unreadable(options)
    mark = retrying.ask(options, doing, failed, lambda asked: present(asked, options).mark)
    found.dead = _dead(spark, options, known)
    if known.exactly_once:
        _dropped(found, options)
    if landing:
        reading = given | {"endingMark": mark_literal(mark), "numPartitions": "2"}
        reading["columns"] = ", ".join(name for name in NAMES if name != "body")
        rows = spark.read.format("servicebroker").options(**reading).load()
        found.landed = rows.persist()  # the server is asked once, whatever is asked of the rows
    return known


def _about(options: Options) -> dict[str, str]:
    """Who answers, and when by its clock."""
    sql = (
        "SELECT CONVERT(nvarchar(256), SERVERPROPERTY(N'ServerName')), DB_NAME(), @@VERSION, "
        "CONVERT(nvarchar(19), SYSUTCDATETIME(), 120);"
    )
    [[server, database, version, now]] = _rows(options, sql, "reader")
    return {
        "server": str(server or ""),
        "database": str(database),
        "what it is": label_of(str(version)),
        "asked": f"{now} UTC, by the server's clock",
        "redial": VERSION,
    }


def _known(options: Options) -> Installed:
    """How the schema is set up. Raises PipelineError with those there are, when it is none."""
    from redial.spark.connect import SourceError

    try:
        return on_server(options.schema_name, lambda sql: _rows(options, sql, "operator"))
    except SourceError as error:
        if error.number != NO_SUCH_OBJECT:
            raise
    sql = "SELECT SCHEMA_NAME(t.schema_id) FROM sys.tables AS t WHERE t.name = N'ConversationLog';"
    there = sorted(name for (name,) in _rows(options, sql, "reader"))
    raise PipelineError(
        f"schema {options.schema_name}",
        "has no configuration in this database",
        f"--schema with one of: {', '.join(there)}" if there else "the right database and login",
    )


def _hooked(known: Installed) -> PipelineError:
    return PipelineError(
        f"schema {known.schema}",
        "hands its messages to a hook, so Landing has none",
        "--landed PATH of what the hook wrote, with conversation, sequence and type",
    )


def _log(spark: SparkSession, options: Options) -> DataFrame:
    """ConversationLog."""
    columns = ", ".join(
        f"CONVERT(char(36), cl.{name})" if name in GUIDS else f"cl.{name}" for name in LOG
    )
    table = f"{quote_name(options.schema_name)}.[ConversationLog]"
    rows = _rows(options, f"SELECT {columns} FROM {table} AS cl;", "reader")
    return _frame(spark, rows, ", ".join(f"{name} {kind}" for name, kind in LOG.items()))


def _dead(spark: SparkSession, options: Options, known: Installed) -> DataFrame | None:
    """DeadLetter; None when it is empty. The part of a body that may have the key is read with it."""
    head = "SUBSTRING(d.Body, 1, 512)" if known.by_key else "NULL"
    sql = (
        "SELECT CONVERT(char(36), d.ConversationId), d.MessageSequence, d.MessageType, "
        f"{head} FROM {quote_name(known.schema)}.[DeadLetter] AS d;"
    )
    letters = [_letter(*row) for row in _rows(options, sql, "operator")]
    return _frame(spark, letters, DEAD) if letters else None


def _rows(options: Options, sql: str, role: str) -> list[Any]:
    """All of a query, over a connection of its own; a server that was lost is tried again."""
    from redial.spark import retrying

    def all_of_it(connection: Any) -> list[Any]:
        rows: list[Any] = connection.execute(sql).fetchall()
        return rows

    table = sql.partition(" FROM ")[2].partition(" ")[0]
    right = f"a login in the configuration's {role} role"
    return retrying.ask(options, f"reading {table}", table, all_of_it, right)


def _frame(spark: SparkSession, rows: list[Any], schema: str) -> DataFrame:
    """Rows of the driver; datetime2 is without a zone, and these are UTC by their names."""
    values = [
        tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row) for row in rows
    ]
    return spark.createDataFrame(values, schema)


def _letter(conversation: str, sequence: int, type_: str, head: bytes | None) -> tuple[Any, ...]:
    return (conversation, sequence, type_, *(key_of(head) or (None, None)))


def _dropped(found: Sources, options: Options) -> None:
    """Repeats the target refused; no role of ours has the right to look (docs/pipeline.md)."""
    from redial.spark.connect import SourceError

    sql = f"SELECT SUM(ib.Repeats) FROM {quote_name(options.schema_name)}.[Inbox] AS ib;"
    try:
        ((repeats,),) = _rows(options, sql, "operator")
        found.dropped = int(repeats or 0)
    except SourceError as error:
        if error.passing:
            raise
        found.notes.append(
            "Inbox cannot be read, so a repeat the target dropped looks lost: "
            f"{str(error).partition(' Next: ')[0][:200]}. Next: GRANT SELECT on it"
        )


def files(spark: SparkSession, path: str) -> DataFrame:
    """A Parquet directory or a Delta table. Raises PipelineError when it is not there.

    A Delta table's files are found with delta-rs, so no jar is needed. Parquet has the columns of all
    its files together: a newer Redial may write more of them than an older one did.
    """
    from pyspark.errors import PySparkException

    from redial.spark.tables import delta_rows, is_delta

    try:
        if is_delta(path):
            found = delta_rows(spark, path)
        else:
            found = spark.read.option("mergeSchema", "true").parquet(path)
        found.columns  # noqa: B018 - Spark Connect looks no earlier
        return found
    except PySparkException as error:
        raise PipelineError(
            path, str(error).splitlines()[0][:300], "python -m redial.spark.land writes it"
        ) from None


def newest(landed: DataFrame) -> datetime | None:
    """When the newest row landed: what ended later may have rows that were not copied yet."""
    from pyspark.sql import functions as f

    newest_of_all = named(landed).agg(f.unix_micros(f.max("landed").cast("timestamp")))
    last = total_of(newest_of_all, "when the newest row landed")[0]
    return None if last is None else datetime.fromtimestamp(last / 1e6, UTC)
