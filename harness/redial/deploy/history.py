"""What was deployed and what was tried: an attempt is written down before its first change.

The files of the last deployments are kept in the database, so that the way back needs no old checkout.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redial.deploy.errors import NO_FILE, DeployError, server_message
from redial.deploy.fingerprint import Thing, wanted
from redial.deploy.fingerprint.model import REMOVED
from redial.deploy.fingerprint.queries import SENDING
from redial.quoting import literal, qualified, quote_name
from redial.version import VERSION

ATTEMPTS, TEXTS, DEPLOYMENTS = "DeploymentAttempt", "DeploymentText", "DeploymentHistory"
AT_WORK, DONE, BROKEN, ABANDONED = "running", "finished", "failed", "abandoned"
"""Outcomes; abandoned: whoever ran it was cut off before it could say more."""
REMOVING = "uninstall"
"""What of attempts takes it away."""
KEPT_ATTEMPTS, KEPT_TEXTS = 200, 10
NO_TABLE, NO_COLUMN = 208, 207
"""What is asked for is not there (sys.messages)."""
MESSAGE = 2048
"""Characters of a failure that are kept."""


@dataclass(frozen=True)
class Story:
    """What an attempt says of itself."""

    what: str
    """deploy, rollback, uninstall, repair or baseline."""
    after: str
    """Content hash of the files; empty: nothing is to be there."""
    revision: str | None = None
    """Of the source, where it is known."""
    changes: str | None = None
    """The plan, as text."""


@dataclass
class Record:
    """The row of one attempt, in the database of the connection."""

    connection: Any
    schema: str
    story: Story
    files: Mapping[str, str] | None = None
    """Kept for a way back, before the first change."""
    said: list[str] = field(default_factory=list)
    """What the server has said by the end."""
    attempt: int | None = field(default=None, init=False)
    """Its number; None before there is a table to write it in."""

    def begin(self) -> None:
        """Write it, where the table is there. Whoever ran before and said nothing more is gone.

        The caller holds the lock of deployments. Raises DeployError.
        """
        tables = _tables(self.connection, self.schema)
        if self.files is not None and TEXTS in tables:
            keep(self.connection, self.schema, self.files)
            self.files = None
        if self.attempt is not None or not (tables.get(ATTEMPTS) and DEPLOYMENTS in tables):
            return
        own, history = qualified(self.schema, ATTEMPTS), qualified(self.schema, DEPLOYMENTS)
        rows = _query(
            self.connection,
            "SET NOCOUNT ON; "
            f"UPDATE {own} SET Outcome = N'{ABANDONED}' WHERE Outcome = N'{AT_WORK}'; "
            f"DELETE FROM {own} WHERE AttemptId <= (SELECT MAX(a.AttemptId) FROM {own} AS a) "
            f"- {KEPT_ATTEMPTS - 1}; "
            f"INSERT INTO {own} (What, ToolVersion, SourceRevision, HashBefore, HashAfter, PlannedChanges) "
            "OUTPUT inserted.AttemptId "
            f"VALUES (?, ?, ?, (SELECT TOP (1) h.ContentHash FROM {history} AS h "
            "ORDER BY h.DeploymentId DESC), ?, ?);",
            (self.story.what, VERSION, self.story.revision, self.story.after, self.story.changes),
        )
        self.attempt = int(rows[0][0])

    def end(self, failure: DeployError | None = None) -> None:
        """Say how it ended, unless its table is gone with the rest. Raises DeployError."""
        if self.attempt is None:
            return
        _run(
            self.connection,
            f"IF OBJECT_ID({literal(qualified(self.schema, ATTEMPTS))}, N'U') IS NOT NULL "
            f"UPDATE {qualified(self.schema, ATTEMPTS)} SET Outcome = ?, Message = ?, "
            "EndedUtc = SYSUTCDATETIME() WHERE AttemptId = ?;",
            (
                DONE if failure is None else BROKEN,
                self._message(failure),
                self.attempt,
            ),
        )

    def _message(self, failure: DeployError | None) -> str | None:
        told = [] if failure is None else [str(failure)]
        told += [f"The server said: {'; '.join(self.said)}"] if self.said else []
        return " ".join(told)[:MESSAGE] or None

    def failed(self, failure: DeployError) -> None:
        """The same for one that failed; where even that cannot be written, the row stays as it is."""
        with suppress(DeployError):
            _run(self.connection, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
            self.end(failure)


@dataclass(frozen=True)
class Deployment:
    """A row of DeploymentHistory: what the database held from then on."""

    number: int
    when: datetime
    """UTC, as of the server."""
    by: str
    version: str
    content: str
    """Hash of the files."""
    kept: bool | None
    """Whether the files are there for a way back; None: this login may not see that."""


@dataclass(frozen=True)
class Attempt:
    """A row of DeploymentAttempt."""

    number: int
    started: datetime
    ended: datetime | None
    outcome: str
    what: str
    by: str
    host: str
    version: str
    revision: str
    before: str
    after: str
    message: str
    changes: str
    """The plan, as text."""


class NoWayBack(Exception):
    """There is nothing to go back to; the text says why, and what to do."""


def content_of(files: Mapping[str, str], schema: str) -> str:
    """The content hash that rendered files write into DeploymentHistory."""
    own = {name: text for name, text in files.items() if name.startswith("90_")}
    return wanted(own, schema)[Thing("deployment", "last")]["content"]


def keep(connection: Any, schema: str, files: Mapping[str, str]) -> None:
    """Keep the files of a deployment, before it changes anything; the oldest beyond KEPT_TEXTS go.

    What it found is kept when it has finished (``know``). Raises DeployError.
    """
    own, content = qualified(schema, TEXTS), content_of(files, schema)
    packed = gzip.compress(json.dumps(dict(files)).encode(), mtime=0)
    _run(
        connection,
        f"SET NOCOUNT ON; UPDATE {own} SET KeptUtc = SYSUTCDATETIME(), Files = ? WHERE ContentHash = ?; "
        f"IF @@ROWCOUNT = 0 INSERT INTO {own} (ContentHash, Files) VALUES (?, ?); "
        f"DELETE FROM {own} WHERE ContentHash NOT IN (SELECT TOP ({KEPT_TEXTS}) t.ContentHash "
        f"FROM {own} AS t ORDER BY t.KeptUtc DESC, t.ContentHash);",
        (packed, content, content, packed),
    )


def know(connection: Any, schema: str, content: str, known: str) -> None:
    """Keep what a deployment has found around it. Raises DeployError."""
    _run(
        connection,
        f"UPDATE {qualified(schema, TEXTS)} SET Known = ? WHERE ContentHash = ?;",
        (known, content),
    )


def kept_files(connection: Any, schema: str, last: str) -> dict[str, dict[str, str]]:
    """The files of the last deployment and of what was tried since, by content hash.

    last: content hash of the last one. Those that were not kept, or cannot be read, are not there. Raises
    DeployError.
    """
    attempt = qualified(schema, ATTEMPTS)
    try:
        rows = _query(
            connection,
            f"SELECT t.ContentHash, t.Files FROM {qualified(schema, TEXTS)} AS t WHERE t.ContentHash = ? "
            f"OR t.ContentHash IN (SELECT a.HashAfter FROM {attempt} AS a WHERE a.AttemptId > "
            f"ISNULL((SELECT MAX(f.AttemptId) FROM {attempt} AS f WHERE f.Outcome = N'{DONE}' "
            f"AND f.What IN ({SENDING})), 0));",
            (last,),
        )
    except DeployError as error:
        if error.number in (NO_TABLE, NO_COLUMN):
            return {}
        raise
    read = {content.strip(): _unpacked(files, content, schema) for content, files in rows}
    return {content: files for content, files in read.items() if files is not None}


def _unpacked(files: bytes, content: str, schema: str) -> dict[str, str] | None:
    """Rendered files as ``keep`` has packed them; None: they cannot be read, or have another content hash."""
    try:
        found: dict[str, str] = json.loads(gzip.decompress(files))
        return found if content_of(found, schema) == content.strip() else None
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return None


def not_to_read(number: int) -> str:
    """What is said of a deployment whose files are kept and cannot be read."""
    return f"the kept files of deployment {number} cannot be read"


REPAIR = "redial repair"
"""What helps then."""


def deployments(connection: Any, schema: str) -> list[Deployment]:
    """What was deployed, the oldest first; by whatever tool. Raises DeployError."""
    tables = _tables(connection, schema)
    if DEPLOYMENTS not in tables:
        return []
    unread = "NULL" if TEXTS in tables else "0"
    has = (
        f"CASE WHEN EXISTS (SELECT 1 FROM {qualified(schema, TEXTS)} AS t "
        "WHERE t.ContentHash = h.ContentHash) THEN 1 ELSE 0 END"
    )
    rows = _query(
        connection,
        "SELECT h.DeploymentId, h.DeployedUtc, h.DeployedBy, h.Version, h.ContentHash, "
        f"{has if tables.get(TEXTS) else unread} FROM {qualified(schema, DEPLOYMENTS)} AS h "
        "ORDER BY h.DeploymentId;",
    )
    return [
        Deployment(number, when, by, version, content.strip(), None if kept is None else bool(kept))
        for number, when, by, version, content, kept in rows
    ]


def attempts(connection: Any, schema: str) -> list[Attempt] | None:
    """What was tried, the oldest first; None: it is hidden from this login. Raises DeployError."""
    may = _tables(connection, schema).get(ATTEMPTS)
    if not may:
        return [] if may is None else None
    rows = _query(
        connection,
        "SELECT a.AttemptId, a.StartedUtc, a.EndedUtc, a.Outcome, a.What, a.StartedBy, a.HostName, "
        "a.ToolVersion, a.SourceRevision, a.HashBefore, a.HashAfter, a.Message, a.PlannedChanges "
        f"FROM {qualified(schema, ATTEMPTS)} AS a ORDER BY a.AttemptId;",
    )
    return [Attempt(*row[:6], *((value or "").strip() for value in row[6:])) for row in rows]


def files_of(connection: Any, schema: str, number: int | None) -> tuple[Deployment, dict[str, str]]:
    """The files of a deployment; by default of the last that had another content than the newest.

    Raises NoWayBack, DeployError, also for an uninstall, which is a row as well.
    """
    known = deployments(connection, schema)
    last = known[-1].content if known else ""
    if number is None:
        others = [one for one in known if one.content != last and one.version != REMOVED]
        chosen = others[-1] if others else None
    else:
        chosen = next((one for one in known if one.number == number), None)
    if chosen is None:
        which = "no deployment before the last" if number is None else f"no deployment {number}"
        raise NoWayBack(f"there is {which} in {quote_name(schema)}. Next: redial history")
    if chosen.version == REMOVED:
        raise NoWayBack(f"row {number} is an uninstall. Next: redial uninstall does it again")
    if not chosen.kept:
        raise NoWayBack(
            f"the files of deployment {chosen.number} were not kept: other tools cannot, or "
            f"{KEPT_TEXTS} others came later. Next: redial deploy --from a folder that holds them"
        )
    rows = _query(
        connection,
        f"SELECT t.Files FROM {qualified(schema, TEXTS)} AS t WHERE t.ContentHash = ?;",
        (chosen.content,),
    )
    files = _unpacked(rows[0][0], chosen.content, schema)
    if files is None:
        raise NoWayBack(f"{not_to_read(chosen.number)}. Next: {REPAIR}")
    return chosen, files


def at_work(connection: Any, schema: str) -> int:
    """How many attempts have said no end. The caller holds the lock of deployments: they were cut off."""
    if not _tables(connection, schema).get(ATTEMPTS):
        return 0
    rows = _query(
        connection,
        f"SELECT COUNT(*) FROM {qualified(schema, ATTEMPTS)} AS a WHERE a.Outcome = N'{AT_WORK}';",
    )
    return int(rows[0][0])


def unreadable(connection: Any, schema: str) -> list[str]:
    """Content hashes of kept files that are not what they say. Raises DeployError."""
    if TEXTS not in _tables(connection, schema):
        return []
    rows = _query(
        connection, f"SELECT t.ContentHash, t.Files FROM {qualified(schema, TEXTS)} AS t;"
    )
    return [content.strip() for content, files in rows if _unpacked(files, content, schema) is None]


def lost_rows(connection: Any, schema: str) -> list[tuple[int, str]]:
    """Attempt and content hash of each deployment that has finished and has no row any more.

    Neither the last one, which can be written again, nor one whose content another row has. Raises
    DeployError.
    """
    tables = _tables(connection, schema)
    if not tables.get(ATTEMPTS) or not tables.get(DEPLOYMENTS):
        return []
    own, history = qualified(schema, ATTEMPTS), qualified(schema, DEPLOYMENTS)
    done = f"Outcome = N'{DONE}' AND What IN ({SENDING})"
    try:
        rows = _query(
            connection,
            f"SELECT MAX(a.AttemptId), a.HashAfter FROM {own} AS a WHERE {done} AND a.HashAfter NOT IN "
            f"(SELECT h.ContentHash FROM {history} AS h UNION ALL SELECT n.HashAfter FROM {own} AS n "
            f"WHERE n.AttemptId = (SELECT MAX(l.AttemptId) FROM {own} AS l WHERE {done})) "
            "GROUP BY a.HashAfter ORDER BY 1;",
        )
    except DeployError as error:
        if error.number == NO_COLUMN:  # verification names it
            return []
        raise
    return [(int(number), content.strip()) for number, content in rows]


def drop_texts(connection: Any, schema: str, content: str) -> None:
    """Forget kept files. Raises DeployError."""
    _run(connection, f"DELETE FROM {qualified(schema, TEXTS)} WHERE ContentHash = ?;", (content,))


def remember(connection: Any, schema: str, name: str, content: str) -> None:
    """Write a row of DeploymentHistory, as 90_deployment does. Raises DeployError."""
    _run(
        connection,
        f"INSERT INTO {qualified(schema, DEPLOYMENTS)} (ConfigName, Version, ContentHash) VALUES (?, ?, ?);",
        (name, VERSION, content),
    )


def _tables(connection: Any, schema: str) -> dict[str, bool]:
    """The tables of the schema, and whether this login may read each; what it may not see with them.

    Raises DeployError where it would not see any.
    """
    own = literal(f"{quote_name(schema)}.")
    rows = _query(
        connection,
        "SELECT t.name, HAS_PERMS_BY_NAME(CONCAT("
        f"{own}, QUOTENAME(t.name)), N'OBJECT', N'SELECT'), DB_NAME(), USER_NAME() "
        f"FROM sys.tables AS t WHERE t.schema_id = SCHEMA_ID({literal(schema)}) "
        "UNION ALL SELECT NULL, 0, DB_NAME(), USER_NAME() WHERE "
        "HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION') = 0;",
    )
    found = {name: bool(may) for name, may, _, _ in rows if name is not None}
    if rows and not found:
        [(_, _, database, user)] = rows
        raise DeployError(
            NO_FILE,
            1,
            None,
            f"user {user!r} sees nothing of schema {quote_name(schema)} in database {database!r}, so "
            "whether something was deployed cannot be said. Next: let a member of db_owner or of the "
            f"operators' role look, or give the right: GRANT VIEW DEFINITION TO {quote_name(user)};",
            database,
        )
    if len(rows) > len(found):  # these may be there and hidden
        for name in (TEXTS, ATTEMPTS):
            found.setdefault(name, False)
    return found


def _query(connection: Any, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The rows of one batch. Raises DeployError."""
    with closing(connection.cursor()) as cursor:
        try:
            return [tuple(row) for row in cursor.execute(sql, *parameters).fetchall()]
        except Exception as error:
            number, message = server_message(error)
            raise DeployError(NO_FILE, 1, number, message) from error


def _run(connection: Any, sql: str, parameters: tuple[Any, ...] = ()) -> None:
    """A batch without rows. Raises DeployError."""
    with closing(connection.cursor()) as cursor:
        try:
            cursor.execute(sql, *parameters)
        except Exception as error:
            number, message = server_message(error)
            raise DeployError(NO_FILE, 1, number, message) from error
