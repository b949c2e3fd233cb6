"""Sending rendered scripts, batch by batch, in autocommit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from redial.config import Config
from redial.deploy.errors import NO_FILE, DeployError, database_at, placed, server_message
from redial.deploy.history import REMOVING, Record, Story
from redial.deploy.live import live
from redial.deploy.port import Connect
from redial.odbc import NOT_ALLOWED
from redial.odbc import said as said_by
from redial.render import render
from redial.render.modules import CONTENTS, HEADER, PART, WHOLE, Place, places_in
from redial.render.quoting import literal, quote_name
from redial.tsql import split_batches

RECORD_FILES = ("28_DeploymentText.table.sql", "30_DeploymentAttempt.table.sql")
"""Of a first installation: behind the first the files are kept, behind the second the attempt's row."""
NOT_HERE = 50142
"""A database holds nothing of a configuration (docs/errors.md)."""
LOCK_TIMEOUT = 1222
"""Lock request time out period exceeded (sys.messages)."""
ASKS = "05_preflight.check.sql"
"""The part that asks whether it may be installed here."""
LOCK_WAIT_MS = 60_000
"""How long a second deployment of the same configuration waits for the first, milliseconds."""
LOOK_WAIT_MS = 10_000
"""How long a look waits for rows of ours that somebody holds, milliseconds."""
WHO = "Who has it: "
"""Between an error and the sessions in the way."""

Progress = Callable[[str, int, int], None]
"""Called before each file: its name, its number from 1, how many there are."""

Heard = Callable[[str], None]
"""Called with what the server says meanwhile (PRINT)."""

Step = Callable[[Any, Heard], None]
"""What is done over a connection, and who is told what the server says."""


@dataclass
class DeployReport:
    """What a deployment sent."""

    files: list[str] = field(default_factory=list)
    batches: int = 0
    elsewhere: list[DeployError] = field(default_factory=list)
    """Of a removal: databases that held nothing of it."""
    said: list[str] = field(default_factory=list)
    """What the server said meanwhile."""


def apply(
    config: Config,
    connect: Connect,
    progress: Progress | None = None,
    mutant: str | None = None,
    *,
    files: Mapping[str, str] | None = None,
    wait_seconds: int | None = None,
    story: Story | None = None,
    words: Mapping[str, str] | None = None,
    skip: Iterable[str] = (),
    opening: Step | None = None,
    then: Step | None = None,
    heard: Heard | None = None,
) -> DeployReport:
    """Install ``config``, or bring an installation up to date; doing it twice is harmless.

    files: as rendered and reviewed; None renders them now.
    wait_seconds: how long it waits for a lock, another deployment, and what is in the way of a change
    of choices; 60 by default.
    story: what is written down of it (``history``); None writes nothing.
    words: what the files are told beside it (SESSION_CONTEXT). skip: files whose one module is as they
    make it.
    opening, then: what belongs to it and comes first and last, over the same connection and under
    the same lock. heard: told what the server says, as it says it.
    ``mutant`` installs a known-bad variant instead (``redial.render.mutant_names``), to be caught.
    Raises DeployError on the first batch that fails; the scripts can be applied again after it.
    """
    files = files if files is not None else render(config, mutant=mutant)
    left = frozenset(skip)
    parts = [(name, files[name]) for name in installation(files) if name not in left]
    return _send(
        config,
        connect,
        parts,
        progress,
        wait_seconds,
        words,
        story=story,
        whole=files,
        opening=opening,
        then=then,
        heard=heard,
    )


def installation(files: Iterable[str]) -> list[str]:
    """The parts of an installation in order: what the sender's side asks first, then each side, by the
    numbers of their areas, so that nobody is let in before all of it is there.

    Without WHOLE: a deployment looks at more when it has ended.
    """
    parts = [name for name in files if PART.fullmatch(name) and not WHOLE.match(name)]
    parts.sort(key=lambda name: (not name.startswith("target/"), name))
    first = [name for name in parts if name.startswith("05_")]
    return [*first, *(name for name in parts if name not in first)]


def telling(words: Mapping[str, str | int]) -> list[str]:
    """Statements that tell the files something; they have no parameters."""
    return [
        f"EXECUTE sys.sp_set_session_context {literal(key)}, "
        f"{value if isinstance(value, int) else literal(value)};"
        for key, value in words.items()
    ]


def check(
    connection: Any,
    files: Mapping[str, str],
    folder: str = "",
    words: Mapping[str, str] | None = None,
) -> None:
    """Ask what the files ask before they make anything. Raises DeployError with all of it.

    folder: of the files of the connection's database; empty, the sender's. words: as ``apply`` has them.
    """
    for text in telling(words or {}):
        run_batch(connection, "SESSION_CONTEXT", 1, text)
    name = f"{folder}{ASKS}"
    # The header's settings are for modules: a check makes none.
    text = files[name].replace(HEADER, "\n" * HEADER.count("\n"), 1)
    said: list[str] = []
    try:
        _run_file(connection, name, text, places_in(files.get(CONTENTS, "")).get(name), said.append)
    except DeployError as error:
        more = "".join(f" {line}" for line in said if line not in error.text)
        if not more:
            raise
        short = _PRINTED.sub("", error.text)
        raise DeployError(
            error.file, error.line, error.number, short + more, error.database
        ) from error


_PRINTED = re.compile(r" \d+ more are printed above\.$")
"""Of what does not fit into an error's text (05_preflight): here it stands behind it."""


def uninstall(
    config: Config,
    connect: Connect,
    purge_data: bool = False,
    progress: Progress | None = None,
    *,
    purge_rows: int = 0,
    wait_seconds: int | None = None,
    story: Story | None = None,
    heard: Heard | None = None,
) -> DeployReport:
    """Drain the conversations, then drop what this configuration made; tables stay.

    With ``purge_data`` the tables, roles, schema and module user go too, and with them at most
    ``purge_rows`` rows, which are counted before anything is touched. wait_seconds: how long to wait
    for dialogs and transactions that are in the way, 60 by default. story: what is written down of it,
    as long as its table is there. Raises DeployError: 50140 when conversations do not end, 50142 where
    there is nothing of it, 50143 when there are more rows.
    """
    files = render(config)
    names = removal_files(files, purge_data)
    parts = [*counting(files, purge_data), *((name, files[name]) for name in names)]
    said = {"redial.purge_rows": purge_rows}
    report = _send(
        config,
        connect,
        parts,
        progress,
        wait_seconds,
        said,
        story=story,
        tolerated=NOT_HERE,
        heard=heard,
    )
    if not report.files:
        raise report.elsewhere[0]
    return report


def _send(
    config: Config,
    connect: Connect,
    files: list[tuple[str, str]],
    progress: Progress | None,
    wait_seconds: int | None,
    said: Mapping[str, str | int] | None = None,
    *,
    story: Story | None = None,
    whole: Mapping[str, str] | None = None,
    opening: Step | None = None,
    then: Step | None = None,
    tolerated: int | None = None,
    heard: Heard | None = None,
) -> DeployReport:
    """Send the files over one connection while holding the deployment lock.

    said: what the caller tells the scripts by SESSION_CONTEXT, which have no parameters.
    story: what is written down of it. whole: every rendered file, kept for a way back.
    """
    report = DeployReport()
    places = places_in((whole or {}).get(CONTENTS, ""))
    words = dict(said or {})
    if wait_seconds is not None:
        words["redial.wait_seconds"] = wait_seconds
    wait_ms = LOCK_WAIT_MS if wait_seconds is None else wait_seconds * 1000

    def hear(text: str) -> None:
        report.said.append(text)
        if heard is not None:
            heard(text)

    with closing(connect()) as connection, placed(config.name, "", connection):
        connection.autocommit = True  # ALTER DATABASE and BEGIN DIALOG tests want no transaction
        for text in telling(words):
            run_batch(connection, "SESSION_CONTEXT", 1, text)
        run_batch(connection, "LOCK_TIMEOUT", 1, f"SET LOCK_TIMEOUT {wait_ms:d};")
        with (
            exclusive(connection, config, wait_ms),
            naming(connection, config),
            recorded(connection, config, story, whole, report.said) as record,
            naming(connection, config),
        ):
            if opening is not None:
                opening(connection, hear)
            with _at_home(connection, config) as home:
                for number, (name, text) in enumerate(files, 1):
                    if progress:
                        progress(name, number, len(files))
                    if home is not None:
                        use(connection, (config.target.database if "/" in name else None) or home)
                    try:
                        report.batches += _run_file(connection, name, text, places.get(name), hear)
                    except DeployError as error:
                        if error.number is None or error.number != tolerated:
                            raise
                        report.elsewhere.append(error)
                        continue
                    report.files.append(name)
                    if record is not None and name in RECORD_FILES:
                        record.begin()
            if then is not None:
                then(connection, hear)
    return report


@contextmanager
def looking(connect: Connect, config: Config, wait_seconds: int | None = None) -> Iterator[Any]:
    """A connection to look with: it waits for a lock no longer than told, and says who has it.

    wait_seconds: None is LOOK_WAIT_MS. Raises DeployError, and the driver's errors.
    """
    wait_ms = LOOK_WAIT_MS if wait_seconds is None else wait_seconds * 1000
    with closing(connect()) as connection:
        connection.autocommit = True
        run_batch(connection, "LOCK_TIMEOUT", 1, f"SET LOCK_TIMEOUT {wait_ms:d};")
        with placed(config.name, "", connection), naming(connection, config):
            yield connection


@contextmanager
def naming(connection: Any, config: Config) -> Iterator[None]:
    """Say of a lock that was not granted in time who has it."""
    try:
        yield
    except DeployError as error:
        if error.number != LOCK_TIMEOUT or WHO in error.text:
            raise
        try:
            run_batch(connection, "LOCK_TIMEOUT", 1, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
            who = live(connection, config.schema_name).in_the_way() or "whoever it was has gone"
        except Exception:  # the error that ended the deployment is the one to tell
            raise error from None
        text = f"{error.text} {WHO}{who}. Next: let it end, or wait longer (--wait-seconds)"
        raise DeployError(error.file, error.line, error.number, text, error.database) from error


@contextmanager
def recorded(
    connection: Any,
    config: Config,
    story: Story | None,
    whole: Mapping[str, str] | None = None,
    said: list[str] | None = None,
) -> Iterator[Record | None]:
    """Write down an attempt before its first change, and how it ended; keep its files.

    The caller holds the lock of deployments (``exclusive``). said: what the server has said by then.
    """
    if story is None:
        yield None
        return
    record = Record(connection, config.schema_name, story, whole, [] if said is None else said)
    try:
        record.begin()
    except DeployError as error:
        if story.what != REMOVING or error.number != NOT_ALLOWED:
            raise
        # who may not write it down may not remove either: the first file says which right is missing
    try:
        yield record
    except DeployError as error:
        record.failed(error)
        raise
    record.end()


def removal_files(files: Mapping[str, str], purge_data: bool) -> list[str]:
    """The scripts of an uninstall, in order: the sender's side drains while the target's still answers."""
    names = ["uninstall.sql", "purge_data.sql"] if purge_data else ["uninstall.sql"]
    return [folder + name for name in names for folder in ("", "target/") if folder + name in files]


def counting(files: Mapping[str, str], purge_data: bool) -> list[tuple[str, str]]:
    """What goes before an uninstall with its data: purge_data.sql, told to count and to refuse."""
    word = "EXECUTE sys.sp_set_session_context N'redial.only_count', {};\nGO\n"
    return [
        (f"{name}, counting", word.format(1) + files[name] + word.format("NULL"))
        for name in removal_files(files, purge_data)
        if name.endswith("purge_data.sql")
    ]


def use(connection: Any, database: str) -> None:
    """Make a database the connection's current one. Raises DeployError where it may not enter."""
    run_batch(connection, "USE", 1, f"USE {quote_name(database)};")


@contextmanager
def _at_home(connection: Any, config: Config) -> Iterator[str | None]:
    """The connection's own database, and back to it at the end: the deployment lock is there.

    None where there is no other.
    """
    if config.target.database is None:
        yield None
        return
    home = _scalar(connection, "SELECT DB_NAME();", ())
    try:
        yield home
    finally:
        with suppress(DeployError):  # a connection the server has cut is nowhere
            use(connection, home)


def _run_file(
    connection: Any,
    name: str,
    text: str,
    place: Place | None = None,
    heard: Heard | None = None,
) -> int:
    """Run every batch of one file or part; returns how many. Raises DeployError.

    place: of a part in the file that its error is told with. heard: told what the server says.
    """
    count = 0
    for batch in split_batches(text):
        line = batch.first_line + _leading_blank_lines(batch.sql)
        for _ in range(batch.repeat_count):
            where = (name, line) if place is None else (place.file, place.line(line))
            run_batch(connection, *where, batch.sql, heard)
            count += 1
    return count


def _leading_blank_lines(sql: str) -> int:
    """Lines before the first with text on it: an error should point at text."""
    return sql[: len(sql) - len(sql.lstrip())].count("\n")


def run_batch(connection: Any, name: str, line: int, text: str, heard: Heard | None = None) -> None:
    """Run one batch to its last result: an error may come after result sets, and words with each."""
    with closing(connection.cursor()) as cursor:
        try:
            cursor.execute(text)
            more = True
            while more:
                for words in said_by(cursor):
                    if heard is not None:
                        heard(words)
                more = cursor.nextset()
        except Exception as error:
            number, message = server_message(error)
            raise DeployError(name, line, number, message, database_at(connection)) from error


@contextmanager
def exclusive(connection: Any, config: Config, wait_ms: int = LOCK_WAIT_MS) -> Iterator[None]:
    """Hold a session-owned application lock, so two deployments do not interleave.

    It ends with the connection, whatever happens to us (sp_getapplock page). Raises DeployError, with
    who has it.
    """
    resource = _resource(config)
    got = _scalar(
        connection,
        "DECLARE @result int; EXECUTE @result = sys.sp_getapplock @Resource = ?, "
        "@LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = ?; SELECT @result;",
        (resource, wait_ms),
    )
    if got is None or got < 0:
        raise DeployError(NO_FILE, 1, None, _held(connection, config, resource, wait_ms))
    try:
        yield
    finally:
        _release(connection, resource)


def nobody_deploys(connection: Any, config: Config) -> bool:
    """Whether the lock of deployments is free. Raises DeployError."""
    sql = "SELECT APPLOCK_TEST(N'public', ?, N'Exclusive', N'Session');"
    return bool(_scalar(connection, sql, (_resource(config),)) == 1)


def _resource(config: Config) -> str:
    return f"redial deploy {config.name}"


_HOLDER = (
    "IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0) = 1 "
    "SELECT TOP (1) CONCAT(N'session ', es.session_id, N', login ', es.login_name, N', host ', "
    "ISNULL(es.host_name, N'unknown'), N', program ', ISNULL(es.program_name, N'unknown'), "
    "N', since ', CONVERT(nvarchar(19), es.login_time, 120), N' server time') "
    "FROM sys.dm_tran_locks AS tl "
    "INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = tl.request_session_id "
    "WHERE tl.resource_type = N'APPLICATION' AND tl.resource_database_id = DB_ID() "
    "AND tl.request_status = N'GRANT' AND tl.resource_description LIKE ? ESCAPE N'!' "
    "AND es.session_id <> @@SPID; "
    "ELSE SELECT N'who it is can be seen with VIEW SERVER STATE';"
)
"""Whoever holds an application lock; of its name the view shows 32 characters (sys.dm_tran_locks)."""
SHOWN_OF_A_LOCK = 32


def _held(connection: Any, config: Config, resource: str, wait_ms: int) -> str:
    """Why there was no lock."""
    shown = re.sub(r"([!%_\[])", r"!\1", resource[:SHOWN_OF_A_LOCK])
    who = _scalar(connection, _HOLDER, (f"%:![{shown}]%",))
    return (
        f"another deployment of {config.name!r} is running, and did not end within "
        f"{wait_ms / 1000:g} s (--wait-seconds): {who or 'it has just ended'}. Nothing was done"
    )


def _release(connection: Any, resource: str) -> None:
    """Give the lock back; a connection the server has cut has given it back already."""
    try:
        _scalar(
            connection,
            "DECLARE @result int; EXECUTE @result = sys.sp_releaseapplock @Resource = ?, "
            "@LockOwner = N'Session'; SELECT @result;",
            (resource,),
        )
    except DeployError:
        return


def _scalar(connection: Any, sql: str, parameters: Iterable[Any]) -> Any:
    """First column of the first row of one statement batch. Raises DeployError."""
    with closing(connection.cursor()) as cursor:
        try:
            row = cursor.execute(sql, *parameters).fetchone()
        except Exception as error:
            number, message = server_message(error)
            raise DeployError(NO_FILE, 1, number, message) from error
        return None if row is None else row[0]
