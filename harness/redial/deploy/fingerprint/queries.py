"""What the server is asked: sql/catalog/questions.sql, and the rows that are part of an installation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from redial.paths import SQL
from redial.quoting import literal, quote_name

QUESTIONS = SQL / "catalog" / "questions.sql"
"""One batch; each question's name stands alone in a comment before it."""


def questions(schema: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """The batch, and what its result sets are called.

    names: of principals and of the broker's objects that are in no schema.
    """
    text = QUESTIONS.read_text("utf-8")
    rows = ", ".join(f"({literal(name)})" for name in sorted(set(names))) or "(N'')"
    said = [
        "SET NOCOUNT ON;",
        f"DECLARE @schema sysname = {literal(schema)};",
        "DECLARE @names TABLE (Name nvarchar(256) COLLATE Latin1_General_BIN2 NOT NULL);",
        f"INSERT INTO @names (Name) VALUES {rows};",
        text,
    ]
    return "\n".join(said), re.findall(r"^/\* ([a-z ]+) \*/$", text, re.M)


def contents(schema: str) -> str:
    """The rows that are part of an installation: choices, gate, which files came last."""
    own = quote_name(schema)
    return (
        f"SELECT st.Name, st.Value FROM {own}.[Setting] AS st WITH (NOLOCK); "
        "SELECT g.ConfigId, g.IsOpen, g.ChangedBy, g.ChangedUtc, g.Reason "
        f"FROM {own}.[Gate] AS g WITH (NOLOCK); "
        "SELECT TOP (1) h.Version, h.ContentHash, h.DeployedUtc, h.DeployedBy "
        f"FROM {own}.[DeploymentHistory] AS h WITH (NOLOCK) ORDER BY h.DeploymentId DESC;"
    )


def jobs(schema: str) -> str:
    """Which Agent jobs this configuration made, and whether each is there.

    A row with ``can`` 0 where it can make none (as 92_jobs asks), or may not look.
    """
    own = quote_name(schema)
    look = (
        f"SELECT 1 AS can, o.Name, CASE WHEN EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j "
        f"WHERE j.name = o.Name) THEN 1 ELSE 0 END AS there "
        f"FROM {own}.[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB';"
    )
    return (
        "IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5) "
        "OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL "
        "OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0 "
        "OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sysjobs_view', N'OBJECT', N'SELECT'), 0) = 0 "
        "SELECT 0 AS can, N'' AS Name, 0 AS there; "
        f"ELSE EXECUTE sys.sp_executesql {literal(look)};"
    )
