"""Temporary tables, and the table an ALTER TABLE or CREATE INDEX works on, temporary or not.

Rules: CREATE TABLE page, "Temporary tables".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.versions import under_snapshot
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import (
    existing_table,
    is_global,
    lock_definition,
    no_table,
    target_database,
)
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.dml.key_length import key_check, least_bytes, limit_of, most_bytes

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def is_temporary(name: str) -> bool:
    """#name: a table of the session. ##name is a table of tempdb that everybody sees."""
    return name.startswith("#") and not is_global(name)


def create_temporary(session: SessionState, definition: TableDefinition) -> None:
    """CREATE TABLE #name: private to the session, dropped with the module that made it.

    One of the same name in a calling scope is out of sight until then (CREATE TABLE page, temporary
    tables in nested scopes).
    """
    key = definition.name.lower()
    outer = session.temp_tables.get(key)
    if outer is not None and outer.depth == len(session.frames):
        raise SqlError(2714, definition.name, state=6)
    table = definition.new_table(session.engine)
    table.depth, table.shadowed = len(session.frames), outer
    session.engine.journal.put(session.work(), session, session.temp_tables, key, table)


def check_key_length(session: SessionState, table: Table) -> None:
    """Warning 1945 for keys that may grow too long, SqlError 1944 for those that always are."""
    for index in all_indexes(table):
        types = [table.types[i] for i in index.columns]
        limit, least, most = limit_of(index.clustered), least_bytes(types), most_bytes(types)
        if least > limit:
            raise SqlError(1944, index.name, least, limit)
        if most > limit:
            kind = "clustered" if index.clustered else "nonclustered"
            session.info(
                f"Warning! The maximum key length for a {kind} index is {limit} bytes. "
                f"The index '{index.name}' has maximum length of {most} bytes. For some "
                "combination of large values, the insert/update operation will fail.",
                0,
                1945,
            )
    check = key_check(table, None)
    if check is not None:
        for row in table.rows.entries.values():
            check(row)


def alter(
    session: SessionState, name: ast.ObjectName, missing: int = 4902
) -> tuple[Database, Table, Transaction]:
    """The table to alter, locked Sch-M. Raises 3964 in a user's SNAPSHOT transaction.

    missing: number of the error when there is no such table, 4902 or 1088.
    """
    if is_temporary(name.name):
        table = session.temp_tables.get(name.name.lower())
        if table is None:
            raise no_table(missing, name.name)
        return session.database, table, session.work()
    database = target_database(session, name)
    table = existing_table(session, database, name, Table, missing)
    transaction = session.work()
    if session.trancount and under_snapshot(transaction):
        raise SqlError(3964)
    lock_definition(session, transaction, database, table.object_id)
    return database, table, transaction


def put_table(
    session: SessionState, transaction: Transaction, database: Database, table: Table
) -> None:
    """Put a changed table in its place."""
    if table.temporary:
        session.engine.journal.put(
            transaction, session, session.temp_tables, table.name.lower(), table
        )
    else:
        database.put(transaction, table)
        transaction.log_used += 500
