"""Tables of a few rows, and statements that change one: steps that do and do not depend. Queues."""

from __future__ import annotations

from redial_broker.instance.instance import Instance


def database(*texts: str, on: Instance | None = None) -> Instance:
    """An instance with database d in which these texts have been run. on: one that has it already."""
    if on is None:
        on = Instance(seed=3)
        session = on.connect()
        session.execute("CREATE DATABASE d;").ok()
        session.close()
    session = on.connect("d")
    for text in texts:
        session.execute(text).ok()
    session.close()
    return on


def tables(names: str = "abc", rows: int = 2) -> Instance:
    """An instance with database d and a table for each letter, rows 1 to ``rows`` with n = 0."""
    values = ", ".join(f"({row}, 0)" for row in range(1, rows + 1))
    return database(
        *(
            f"CREATE TABLE dbo.{name} (id int NOT NULL PRIMARY KEY, n int NOT NULL); "
            f"INSERT dbo.{name} VALUES {values};"
            for name in names
        )
    )


def add(table: str, row: int = 1) -> str:
    """A statement that changes one row."""
    return f"UPDATE dbo.{table} SET n = n + 1 WHERE id = {row};"


DIALOG = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE N'b' "
    "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
)
"""Of ``queues``."""
SEND_AGAIN = (
    "DECLARE @h uniqueidentifier = (SELECT conversation_handle "
    "FROM sys.conversation_endpoints WHERE is_initiator = 1); "
    "IF @h IS NOT NULL SEND ON CONVERSATION @h (0x02);"
)
"""On a dialog there is."""
READER = (
    "CREATE PROCEDURE dbo.reader AS BEGIN DECLARE @n int; BEGIN TRANSACTION; "
    "RECEIVE TOP (1) @n = 1 FROM dbo.qb; IF @n = 1 UPDATE dbo.c SET n = n + 1 "
    "WHERE id = 1; COMMIT TRANSACTION; END;",
    "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
    "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);",
)
"""A procedure that is activated on queue qb, and what activates it."""
TWO = (
    "BEGIN TRANSACTION; UPDATE dbo.c SET n = n + 1 WHERE id = 1; "
    "UPDATE dbo.c SET n = n + 1 WHERE id = 2; COMMIT TRANSACTION;"
)
"""Both rows of table c in one transaction."""


def queues() -> Instance:
    """Database d with table c of two rows, and a service on each of two queues."""
    return database(
        "CREATE QUEUE dbo.qa;",
        "CREATE QUEUE dbo.qb;",
        "CREATE SERVICE a ON QUEUE dbo.qa;",
        "CREATE SERVICE b ON QUEUE dbo.qb ([DEFAULT]);",
        on=tables("c"),
    )
