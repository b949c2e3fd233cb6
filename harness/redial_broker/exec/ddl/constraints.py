"""Constraints as objects of their schema: made, dropped, enabled and disabled; who uses a column.

Rules: CREATE TABLE and ALTER TABLE pages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.columns import Check
from redial_broker.engine.errors import BATCH, SqlError, followed, not_created
from redial_broker.engine.storage import Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.foreign_keys import (
    check_existing,
    keys_of_column,
    refuse_referenced_key,
    refuse_taken_constraint,
)
from redial_broker.exec.ddl.rebuild import all_indexes, rebuilt, spec_of
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.ddl.temporary import alter, put_table
from redial_broker.exec.dependencies import bound_to_column
from redial_broker.exec.objects import Constraint
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def constraint_objects(table: Table, definition: TableDefinition) -> list[Any]:
    """(kind, name, definition text, column ordinal) of every constraint of a new definition.

    FOREIGN KEYs are not among them (``foreign_keys.make_foreign_keys``).
    """
    found: list[tuple[str, str, str, int]] = []
    for spec in definition.keys:
        if spec.constraint:
            found.append(("PRIMARY KEY" if spec.primary else "UNIQUE", spec.name, "", 0))
    ordinals = {column.name.lower(): i + 1 for i, column in enumerate(definition.columns)}
    for check in definition.checks:
        found.append(("CHECK", check.name, check.text, ordinals.get(check.column.lower(), 0)))
    for ordinal, column in enumerate(definition.columns):
        if column.default_name:
            found.append(("DEFAULT", column.default_name, column.default_text, ordinal + 1))
    return found


def put_constraints(
    transaction: Transaction,
    database: Database,
    table: Table,
    found: list[tuple[str, str, str, int]],
    definition: TableDefinition,
    *,
    trusted: bool = True,
) -> None:
    """Give new constraints their objects. Raises SqlError 2714 for a name that is taken."""
    names: set[str] = set()
    for _, name, _, _ in found:
        refuse_taken_constraint(database, table.schema, name)
        if name.lower() in names or name.lower() == table.name.lower():
            raise not_created(2714, name, state=5)
        names.add(name.lower())
    for kind, name, text, column in found:
        database.put(
            transaction,
            Constraint(
                name,
                table.schema,
                database.next_object_id(),
                kind,
                table.object_id,
                text,
                column,
                name.lower() in definition.system_named,
                trusted=trusted or kind != "CHECK",
                uses=definition.uses.get(name.lower(), ()),
            ),
        )


def check_rows(
    session: SessionState, database: Database, table: Table, checks: list[Check]
) -> None:
    """Error 547 when an existing row breaks a CHECK."""
    for check in checks:
        for row in table.rows.entries.values():
            if check.accepts(session, row) is False:
                column = f", column '{check.column}'" if check.column else ""
                raise SqlError(
                    547,
                    "ALTER TABLE",
                    "CHECK",
                    check.name,
                    database.name,
                    table.full_name,
                    column,
                    state=0,
                    aborts=BATCH,
                )


# ---------------------------------------------------------------------- dropping
def drop_constraint(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    item: ast.AlterTableDropItem,
) -> Table:
    """The table without one constraint. Raises SqlError 3728 or 3725, then 3727."""
    name = item.name.lower()
    found = database.objects.get((table.schema.lower(), name))
    mine = isinstance(found, Constraint) and found.parent_id == table.object_id
    if mine and found is not None and found.foreign is not None:
        database.remove(transaction, found)
        return table
    keys = [i for i in all_indexes(table) if i.constraint and i.name.lower() == name]
    for index in keys:
        refuse_referenced_key(table, index)
    indexes = [i for i in all_indexes(table) if i not in keys]
    checks = [c for c in table.checks if c.name.lower() != name]
    columns = [
        replace(c, default=None, default_name="", default_text="")
        if c.default_name.lower() == name
        else c
        for c in table.columns
    ]
    unchanged = (
        not keys
        and len(checks) == len(table.checks)
        and all(a is b for a, b in zip(columns, table.columns))
    )
    if unchanged:
        if item.if_exists:
            return table
        raise followed(3728, item.name, by=SqlError(3727), state=1)
    if mine:
        database.remove(transaction, found)
    return rebuilt(
        session.engine, table, columns=columns, specs=[spec_of(i) for i in indexes], checks=checks
    )


def dependents(table: Table, ordinal: int) -> list[tuple[str, str]]:
    """(kind, name) of what uses a column, as error 5074 lists it."""
    column = table.columns[ordinal]
    name = column.name.lower()
    found = [("column", c.name) for c in table.columns if c.computed and name in c.computed.names]
    for index in all_indexes(table):
        if (
            ordinal in index.columns
            or ordinal in index.included
            or name in index.where_text.lower()
        ):
            found.append(("object" if index.constraint else "index", index.name))
    found += [("object", c.name) for c in table.checks if name in c.names]
    if column.default_name:
        found.append(("object", column.default_name))
    found += [("object", bound) for bound in bound_to_column(table, name)]
    return found + [("object", c.name) for c in keys_of_column(table, name)]


def refuse_dependents(
    table: Table, ordinal: int, action: str, found: list[tuple[str, str]]
) -> None:
    """5074 for each thing that uses a column, then 4922. action: DROP or ALTER."""
    name = table.columns[ordinal].name
    if not found:
        return
    error = SqlError(4922, action, name, state=9)
    for kind, who in found:
        followed(5074, kind, who, "column", name, by=error, state=1)
    raise error


# ---------------------------------------------------------------------- CHECK | NOCHECK CONSTRAINT
@compiles(ast.AlterTableConstraints)
def alter_constraints(node: ast.AlterTableConstraints, context: Context) -> Run:
    """ALTER TABLE [WITH CHECK | NOCHECK] CHECK | NOCHECK CONSTRAINT names | ALL.

    Only FOREIGN KEY and CHECK can be switched off. WITH NOCHECK is what is assumed for enabling; a
    constraint that is enabled so is not trusted.
    """

    def run(session: SessionState, variables: Values) -> None:
        database, table, transaction = alter(session, node.name)
        every = {
            o.name.lower(): o
            for o in database.objects.values()
            if isinstance(o, Constraint) and o.parent_id == table.object_id
        }
        if node.names:
            chosen = [_switchable(every.get(name.lower()), name) for name in node.names]
        else:
            chosen = [o for o in every.values() if o.kind in {"CHECK", "FOREIGN KEY"}]
        for item in chosen:
            table = _switch(session, transaction, database, table, item, node)
        put_table(session, transaction, database, table)

    return run


def _switchable(item: Constraint | None, name: str) -> Constraint:
    if item is None:
        raise followed(4917, name, by=SqlError(4916))
    if item.kind not in {"CHECK", "FOREIGN KEY"}:
        raise followed(11415, item.name, by=SqlError(4916), state=1)
    return item


def _switch(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    item: Constraint,
    node: ast.AlterTableConstraints,
) -> Table:
    """One constraint enabled or disabled; checked first under WITH CHECK."""
    checked = node.enable and node.check is True
    trusted = checked or (node.enable and item.trusted and not item.disabled)
    database.put(transaction, replace(item, disabled=not node.enable, trusted=trusted))
    if item.foreign is not None:
        if checked:
            check_existing(database, item, "ALTER TABLE")
        return table
    checks = [
        replace(c, enabled=node.enable) if c.name.lower() == item.name.lower() else c
        for c in table.checks
    ]
    if checked:
        check_rows(
            session, database, table, [c for c in checks if c.name.lower() == item.name.lower()]
        )
    return rebuilt(session.engine, table, checks=checks)
