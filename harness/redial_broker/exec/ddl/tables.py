"""CREATE TABLE and DROP TABLE.

Rules: CREATE TABLE and DROP TABLE pages. Constraints are objects of the table's schema too, so
their names must be free there (2714).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.storage import Table
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import (
    dotted,
    is_global,
    lock_definition,
    may_create,
    refuse_taken,
    schema_for,
    target_database,
)
from redial_broker.exec.ddl.constraints import constraint_objects, put_constraints
from redial_broker.exec.ddl.definition import table_definition
from redial_broker.exec.ddl.foreign_keys import (
    make_foreign_keys,
    refuse_referenced_table,
    skip_foreign_keys,
)
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.ddl.temporary import (
    check_key_length,
    create_temporary,
    is_temporary,
)
from redial_broker.exec.dependencies import referrers
from redial_broker.exec.objects import Constraint, Trigger
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


@compiles(ast.CreateTable)
def create_table(node: ast.CreateTable, context: Context) -> Run:
    """CREATE TABLE. ON filegroup may only name PRIMARY: there are no files here."""
    for filegroup in (node.filegroup, node.textimage):
        if filegroup is not None and filegroup.upper() not in {"PRIMARY", "DEFAULT"}:
            raise context.not_supported(node, f"filegroup {filegroup}")
    for option in node.options:
        # How rows lie in pages is nobody's business here.
        if option.name != "DATA_COMPRESSION":
            raise context.not_supported(option, f"table option {option.name}")
    name = node.name.name
    if context.checking:
        table_definition(node.elements, context, name, foreign=True)

    def run(session: SessionState, variables: Values) -> None:
        definition = table_definition(node.elements, context, name, foreign=True)
        if is_temporary(name):
            create_temporary(session, definition)
            skip_foreign_keys(session, name, definition.foreign)
            return
        create_permanent(session, node.name, definition)

    return run


def create_permanent(
    session: SessionState, name: ast.ObjectName, definition: TableDefinition
) -> Table:
    """A new table that others can see, ##name among them, with its constraints."""
    database = target_database(session, name)
    schema = (
        database.schemas["dbo"] if is_global(name.name) else schema_for(session, database, name)
    )
    if not is_global(name.name):
        may_create(session, database, schema, "CREATE TABLE")
    refuse_taken(database, schema.name, name.name)
    transaction = session.work()
    object_id = database.next_object_id()
    lock_definition(session, transaction, database, object_id)
    table = definition.new_table(
        session.engine, temporary=False, database=database, schema=schema.name, object_id=object_id
    )
    if is_global(name.name):
        table.creator = session.id
    put_constraints(transaction, database, table, constraint_objects(table, definition), definition)
    database.put(transaction, table)
    if is_global(name.name):
        skip_foreign_keys(session, name.name, definition.foreign)
    else:
        make_foreign_keys(session, transaction, database, table, definition.foreign)
    transaction.log_used += 500
    check_key_length(session, table)
    return table


def refuse_bound_table(database: Database, table: Table, shown: str) -> None:
    """Raise SqlError 3729 when a schema-bound module refers to the table."""
    for item in referrers(database, table, bound=True):
        if not isinstance(item, Constraint):
            raise SqlError(3729, "DROP TABLE", shown, item.name)


def drop_table(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP TABLE. Raises SqlError 3701 when there is none or the user may not, 3726."""
    if is_temporary(name.name):
        table = session.temp_tables.get(name.name.lower())
        if table is not None:
            session.engine.journal.put(
                session.work(),
                session,
                session.temp_tables,
                name.name.lower(),
                MISSING if table.shadowed is None else table.shadowed,
            )
        elif not if_exists:
            raise SqlError(3701, "drop", "table", name.name, state=5)
        return
    database = target_database(session, name)
    table = database.resolve(name.schema, name.name, session)
    if not isinstance(table, Table):
        if if_exists and table is None:
            return
        raise SqlError(3701, "drop", "table", dotted(name), state=5)
    if (
        not is_global(name.name)
        and not has_permission(session, "CONTROL", table)
        and not has_permission(session, "ALTER", database.schema_of(table))
    ):
        raise SqlError(3701, "drop", "table", dotted(name), state=20)
    transaction = session.work()
    lock_definition(session, transaction, database, table.object_id)
    refuse_referenced_table(table)
    refuse_bound_table(database, table, dotted(name))
    for item in list(database.objects.values()):
        if isinstance(item, (Constraint, Trigger)) and item.parent_id == table.object_id:
            database.remove(transaction, item)
    database.remove(transaction, table)
    transaction.log_used += 500
