"""What every DDL statement needs: the database and schema it means, names that are free, locks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.database import Database
from redial_broker.exec.objects import Schema
from redial_broker.exec.security import check, has_permission

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

SCHEMA_CLASS = 3
NO_TABLE = 4902


def is_global(name: str) -> bool:
    """##name: a global temporary table."""
    return name.startswith("##")


def target_database(session: SessionState, name: ast.ObjectName) -> Database:
    """The database a three-part name means, else the current one; tempdb for a ##table.

    Raises SqlError 911.
    """
    if is_global(name.name):
        return session.database.server.databases["tempdb"]
    if name.database is None:
        return session.database
    return session.database.server.database(name.database)


def schema_for(session: SessionState, database: Database, name: ast.ObjectName) -> Schema:
    """The schema to create in: as named, or the user's default. Raises SqlError 2760."""
    wanted = (
        name.schema or (session.user.default_schema if session.user is not None else None) or "dbo"
    )
    found = database.schemas.get(wanted.lower())
    if found is None or found.name in {"sys", "INFORMATION_SCHEMA"}:
        raise SqlError(2760, wanted)
    return found


def may_create(session: SessionState, database: Database, schema: Schema, permission: str) -> None:
    """CREATE needs the statement's permission and ALTER on the schema. SqlError 262 or 2760."""
    if not has_permission(session, permission, database):
        raise SqlError(262, permission, database.name)
    if not has_permission(session, "ALTER", schema):
        raise SqlError(2760, schema.name)


def refuse_taken(database: Database, schema: str, name: str) -> None:
    """Raise SqlError 2714 when the name is taken in its schema."""
    if (schema.lower(), name.lower()) in database.objects:
        raise SqlError(2714, name, state=6)


def existing(
    session: SessionState,
    database: Database,
    name: ast.ObjectName,
    verb: str,
    what: str,
    kinds: tuple[type, ...],
) -> Any:
    """The object to change, which the user must own or have ALTER on. Raises SqlError 3701."""
    found = database.resolve(name.schema, name.name, session)
    if not isinstance(found, kinds):
        raise SqlError(3701, verb, what, dotted(name), state=5)
    if not has_permission(session, "ALTER", found):
        raise SqlError(3701, verb, what, dotted(name), state=20)
    return found


def no_table(number: int, name: str) -> SqlError:
    """The error of a table that is not there: ALTER TABLE's is found before it runs (F-522)."""
    error = SqlError(number, name)
    error.compiling = number == NO_TABLE
    return error


def existing_table(
    session: SessionState,
    database: Database,
    name: ast.ObjectName,
    kind: type,
    missing: int = NO_TABLE,
) -> Any:
    """The table ALTER TABLE and CREATE INDEX work on. Raises SqlError 4902 or 1088."""
    found = database.resolve(name.schema, name.name, session)
    if not isinstance(found, kind):
        raise no_table(missing, dotted(name))
    if not is_global(name.name) and not has_permission(session, "ALTER", found):
        raise SqlError(1088, dotted(name), state=13)
    return found


def lock_definition(
    session: SessionState, transaction: Transaction, database: Database, object_id: int
) -> None:
    """Sch-M on an object, to the end of the transaction. Raises Wait, SqlError 1222 and 1205."""
    session.engine.locks.acquire(transaction, ("OBJECT", database.id, object_id), "Sch-M")


def dotted(name: ast.ObjectName) -> str:
    """A name as written, without delimiters."""
    return ".".join(part for part in name.parts if part)


__all__ = [
    "SCHEMA_CLASS",
    "check",
    "dotted",
    "existing",
    "existing_table",
    "is_global",
    "lock_definition",
    "may_create",
    "no_table",
    "refuse_taken",
    "schema_for",
    "target_database",
]
