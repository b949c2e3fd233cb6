"""Tables of a few rows, and statements that change one: steps that do and do not depend. Queues."""

from __future__ import annotations

from redial_broker.instance.instance import Instance


def tables(names: str = "abc", rows: int = 2) -> Instance:
    """An instance with database d and a table for each letter, rows 1 to ``rows`` with n = 0."""
    instance = Instance(seed=3)
    session = instance.connect()
    session.execute("CREATE DATABASE d;").ok()
    session.close()
    session = instance.connect("d")
    values = ", ".join(f"({row}, 0)" for row in range(1, rows + 1))
    for name in names:
        session.execute(
            f"CREATE TABLE dbo.{name} (id int NOT NULL PRIMARY KEY, n int NOT NULL);"
        ).ok()
        session.execute(f"INSERT dbo.{name} VALUES {values};").ok()
    session.close()
    return instance


def add(table: str, row: int = 1) -> str:
    """A statement that changes one row."""
    return f"UPDATE dbo.{table} SET n = n + 1 WHERE id = {row};"


DIALOG = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE N'b' "
    "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
)
"""Of ``queues``."""


def queues() -> Instance:
    """Database d with table c of two rows, and a service on each of two queues."""
    instance = tables("c")
    session = instance.connect("d")
    for text in (
        "CREATE QUEUE dbo.qa;",
        "CREATE QUEUE dbo.qb;",
        "CREATE SERVICE a ON QUEUE dbo.qa;",
        "CREATE SERVICE b ON QUEUE dbo.qb ([DEFAULT]);",
    ):
        session.execute(text).ok()
    session.close()
    return instance
