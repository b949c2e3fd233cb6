"""Sending rendered scripts, batch by batch, in autocommit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from redial.config import Config
from redial.deploy.errors import DeployError, server_message
from redial.deploy.port import Connect
from redial.render import render
from redial.render.quoting import quote_name
from redial.tsql import split_batches

LOCK_WAIT_MS = 60_000
"""How long a second deployment of the same configuration waits for the first, milliseconds."""

Progress = Callable[[str, int, int], None]
"""Called before each file: its name, its number from 1, how many there are."""


@dataclass
class DeployReport:
    """What a deployment sent."""

    files: list[str] = field(default_factory=list)
    batches: int = 0


def apply(
    config: Config,
    connect: Connect,
    progress: Progress | None = None,
    mutant: str | None = None,
    *,
    files: Mapping[str, str] | None = None,
    wait_seconds: int | None = None,
) -> DeployReport:
    """Install ``config``, or bring an installation up to date; doing it twice is harmless.

    files: as rendered and reviewed; None renders them now.
    wait_seconds: how long a change of choices waits for what is in its way, 60 by default.
    ``mutant`` installs a known-bad variant instead (``redial.render.mutant_names``), to be caught.
    Raises DeployError on the first batch that fails; the scripts can be applied again after it.
    """
    files = files if files is not None else render(config, mutant=mutant)
    said = {} if wait_seconds is None else {"redial.wait_seconds": wait_seconds}
    parts = [(name, files[name]) for name in installation(files)]
    return _send(config, connect, parts, progress, said)


def mend(config: Config, connect: Connect, statements: Mapping[str, list[str]]) -> DeployReport:
    """Run single statements, by database, under the lock of deployments. Raises DeployError."""
    report = DeployReport()
    with closing(connect()) as connection:
        connection.autocommit = True
        with _exclusive(connection, config):
            home = _scalar(connection, "SELECT DB_NAME();", ())
            for database, texts in statements.items():
                use(connection, database)
                for text in texts:
                    _run_batch(connection, "repair", 1, text)
                    report.batches += 1
            use(connection, home)
    return report


def installation(files: Iterable[str]) -> list[str]:
    """The parts of an installation in order: what the sender's side asks first, then each side."""
    parts = [name for name in files if re.match(r"(target/)?\d\d_", name)]
    first = [name for name in parts if name.startswith("05_")]
    return [*first, *(name for name in parts if name not in first)]


def uninstall(
    config: Config,
    connect: Connect,
    purge_data: bool = False,
    progress: Progress | None = None,
    *,
    purge_rows: int = 0,
    wait_seconds: int | None = None,
) -> DeployReport:
    """Drain the conversations, then drop what this configuration made; tables stay.

    With ``purge_data`` the tables, roles, schema and module user go too, and with them at most
    ``purge_rows`` rows. wait_seconds: how long to wait for dialogs and transactions that are in the
    way, 60 by default. Raises DeployError; 50140 when conversations do not end, 50143 when there are
    more rows than that (see docs/errors.md).
    """
    files = render(config)
    names = ["uninstall.sql", "purge_data.sql"] if purge_data else ["uninstall.sql"]
    # The sender's side drains as long as the target's side still answers.
    names = [folder + name for name in names for folder in ("", "target/")]
    names = [name for name in names if name in files]
    said = {"redial.purge_rows": purge_rows}
    if wait_seconds is not None:
        said["redial.wait_seconds"] = wait_seconds
    return _send(config, connect, [(name, files[name]) for name in names], progress, said)


def _send(
    config: Config,
    connect: Connect,
    files: list[tuple[str, str]],
    progress: Progress | None,
    said: Mapping[str, int] | None = None,
) -> DeployReport:
    """Send the files over one connection while holding the deployment lock.

    said: what the caller tells the scripts by SESSION_CONTEXT, which have no parameters.
    """
    report = DeployReport()
    with closing(connect()) as connection:
        connection.autocommit = True  # ALTER DATABASE and BEGIN DIALOG tests want no transaction
        for key, value in (said or {}).items():
            text = f"EXECUTE sys.sp_set_session_context N'{key}', {value:d};"
            _run_batch(connection, "SESSION_CONTEXT", 1, text)
        with _exclusive(connection, config), _at_home(connection, config) as home:
            for number, (name, text) in enumerate(files, 1):
                if progress:
                    progress(name, number, len(files))
                if home is not None:
                    use(connection, (config.target.database if "/" in name else None) or home)
                report.batches += _run_file(connection, name, text)
                report.files.append(name)
    return report


def use(connection: Any, database: str) -> None:
    """Make a database the connection's current one. Raises DeployError where it may not enter."""
    _run_batch(connection, "USE", 1, f"USE {quote_name(database)};")


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


def _run_file(connection: Any, name: str, text: str) -> int:
    """Run every batch of one file; returns how many. Raises DeployError."""
    count = 0
    for batch in split_batches(text):
        line = batch.first_line + _leading_blank_lines(batch.sql)
        for _ in range(batch.repeat_count):
            _run_batch(connection, name, line, batch.sql)
            count += 1
    return count


def _leading_blank_lines(sql: str) -> int:
    """Lines before the first with text on it: an error should point at text."""
    return sql[: len(sql) - len(sql.lstrip())].count("\n")


def _run_batch(connection: Any, name: str, line: int, text: str) -> None:
    """Run one batch to its last result: an error may come after result sets."""
    with closing(connection.cursor()) as cursor:
        try:
            cursor.execute(text)
            while cursor.nextset():
                pass
        except Exception as error:
            number, message = server_message(error)
            raise DeployError(name, line, number, message) from error


@contextmanager
def _exclusive(connection: Any, config: Config) -> Iterator[None]:
    """Hold a session-owned application lock, so two deployments do not interleave.

    It ends with the connection, whatever happens to us (sp_getapplock page).
    """
    resource = f"redial deploy {config.name}"
    got = _scalar(
        connection,
        "DECLARE @result int; EXECUTE @result = sys.sp_getapplock @Resource = ?, "
        "@LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = ?; SELECT @result;",
        (resource, LOCK_WAIT_MS),
    )
    if got is None or got < 0:
        text = f"another deployment of {config.name!r} is running (sp_getapplock gave {got})"
        raise DeployError("deployment lock", 1, None, text)
    try:
        yield
    finally:
        _release(connection, resource)


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
            raise DeployError("deployment lock", 1, number, message) from error
        return None if row is None else row[0]
