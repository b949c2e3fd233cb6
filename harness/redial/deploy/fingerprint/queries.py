"""What the server is asked: sql/catalog/questions.sql, and the rows that are part of an installation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from redial.paths import SQL
from redial.quoting import literal, quote_name

Row = dict[str, Any]  # values as the driver gives them

QUESTIONS = SQL / "catalog" / "questions.sql"
"""One batch; each question's name stands alone in a comment before it."""


def questions(schema: str, names: Iterable[str], signer: str) -> tuple[str, list[str]]:
    """The batch, and what its result sets are called.

    names: of principals and of the broker's objects that are in no schema. signer: how the names of
    the certificates begin that sign procedures.
    """
    text = QUESTIONS.read_text("utf-8")
    rows = ", ".join(f"({literal(name)})" for name in sorted(set(names))) or "(N'')"
    said = [
        "SET NOCOUNT ON;",
        f"DECLARE @schema sysname = {literal(schema)};",
        f"DECLARE @signer nvarchar(128) = {literal(signer)};",
        "DECLARE @names TABLE (Name nvarchar(256) COLLATE Latin1_General_BIN2 NOT NULL);",
        f"INSERT INTO @names (Name) VALUES {rows};",
        text,
    ]
    return "\n".join(said), asked(text)


def asked(text: str) -> list[str]:
    """What the questions of a batch are called, in order."""
    return re.findall(r"^/\* ([a-z ]+) \*/$", text, re.M)


def sets_of(connection: Any, sql: str) -> list[list[Row]]:
    """Every result set of a batch, rows by name. Raises the driver's errors."""
    sets: list[list[Row]] = []
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        while True:
            if cursor.description is not None:
                names = [column[0] for column in cursor.description]
                sets.append([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])
            if not cursor.nextset():
                return sets


SENDS = ("deploy", "rollback")
"""What of attempts sends files."""
SENDING = ", ".join(map(literal, SENDS))
"""The same as a list of constants."""
_SENT = f"{{0}} AS x WITH (NOLOCK) WHERE x.What IN ({SENDING})"
_LAST = "SELECT TOP (1) h.ContentHash FROM {1} AS h WITH (NOLOCK) ORDER BY h.DeploymentId DESC"
"""Attempts that send files, and what came last: {0} is the question's table, {1} DeploymentHistory."""
CONTENTS = {
    "Setting": "SELECT x.Name, x.Value FROM {0} AS x WITH (NOLOCK);",
    "Gate": "SELECT x.ConfigId, x.IsOpen, x.ChangedBy, x.Reason FROM {0} AS x WITH (NOLOCK);",
    "DeploymentHistory": "SELECT TOP (1) x.ContentHash, x.ConfigName, x.Version FROM {0} AS x WITH (NOLOCK) "
    "ORDER BY x.DeploymentId DESC;",
    "Migration": "SELECT x.Number FROM {0} AS x WITH (NOLOCK);",
    "OwnedObject": "SELECT x.Kind, x.Name FROM {0} AS x WITH (NOLOCK);",
    "DeploymentText": "SELECT x.Known, x.KeptUtc FROM {0} AS x WITH (NOLOCK) "
    f"WHERE x.ContentHash = ({_LAST});",
    "DeploymentAttempt": "SELECT (SELECT TOP (1) DATEDIFF(second, x.StartedUtc, x.EndedUtc) "
    f"FROM {_SENT} AND x.Outcome = N'finished' ORDER BY x.AttemptId DESC) AS seconds, "
    f"(SELECT COUNT(*) FROM {_SENT} AND x.HashAfter = ({_LAST}) AND x.AttemptId > ISNULL((SELECT "
    f"MAX(x.AttemptId) FROM {_SENT} AND x.Outcome = N'finished'), 0)) AS unfinished;",
}
"""The rows that are part of an installation: choices, gate, which files came last, what has run, what
cannot carry a mark, what the last deployment found around it, how long it took, and how many have written
that row and not come to their end. By table, the question."""
_NOTHING = "SELECT 1 AS nothing WHERE 1 = 0;"


def contents(schema: str, columns: Iterable[tuple[str, str]]) -> str:
    """The questions of the tables that are there; one without rows for one that lacks a column.

    columns: what is there, as (table, column).
    """
    there = set(columns)
    history = f"{quote_name(schema)}.[DeploymentHistory]"
    return " ".join(
        question.format(f"{quote_name(schema)}.{quote_name(table)}", history)
        if {(table, column) for column in re.findall(r"\bx\.(\w+)", question)} <= there
        and ("{1}" not in question or ("DeploymentHistory", "ContentHash") in there)
        else _NOTHING
        for table, question in CONTENTS.items()
    )


def jobs(schema: str) -> str:
    """Which Agent jobs this configuration made, whether each is there, and switched on.

    A row with ``can`` 0 where it can make none (as 92_jobs asks), or may not look.
    """
    own = quote_name(schema)
    look = (
        f"SELECT 1 AS can, o.Name, CASE WHEN EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j "
        f"WHERE j.name = o.Name) THEN 1 ELSE 0 END AS there, CASE WHEN EXISTS (SELECT 1 FROM "
        "msdb.dbo.sysjobs_view AS j WHERE j.name = o.Name AND j.enabled = 0) THEN 0 ELSE 1 END AS runs "
        f"FROM {own}.[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB';"
    )
    return (
        "IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5) "
        "OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL "
        "OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0 "
        "OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sysjobs_view', N'OBJECT', N'SELECT'), 0) = 0 "
        "SELECT 0 AS can, N'' AS Name, 0 AS there, 1 AS runs; "
        f"ELSE EXECUTE sys.sp_executesql {literal(look)};"
    )
