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
