"""CREATE, ALTER, ENABLE and DISABLE TRIGGER. Source: the pages of these statements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import dotted, lock_definition, refuse_taken
from redial_broker.exec.ddl.ddl_triggers import switch_ddl_triggers
from redial_broker.exec.ddl.modules import (
    definition_text,
    execute_as,
    owner_of,
    refuse_options,
)
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.probing import probe_module
from redial_broker.exec.dml.targets import view_table
from redial_broker.exec.objects import Trigger, View
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.exec.triggers import trigger_program

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.CreateTrigger)
def create_trigger(node: ast.CreateTrigger, context: Context) -> Run:
    """CREATE | ALTER | CREATE OR ALTER TRIGGER name ON table AFTER | INSTEAD OF events."""
    refuse_options(node, context)
    if node.table.name.startswith("#"):
        raise context.not_supported(node, "a trigger on a temporary table")
    elsewhere = node.table.database

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.name)
        database: Database = session.database
        if elsewhere and elsewhere.lower() != database.name.lower():
            raise SqlError(2108, ".".join(node.table.parts))
        parent = parent_of(session, database, node)
        old = existing_trigger(session, database, node, parent)
        refuse_second_instead(database, node, parent, old)
        transaction = session.work()
        if old is None:
            refuse_taken(database, parent.schema, node.name.name)
        number, name = (
            (old.object_id, old.name) if old else (database.next_object_id(), node.name.name)
        )
        lock_definition(session, transaction, database, parent.object_id)
        trigger = Trigger(
            name,
            parent.schema,
            number,
            "TRIGGER",
            parent.object_id,
            node,
            definition_text(node, context),
            context.program.source,
            {
                "quoted_identifier": session.options.quoted_identifier,
                "ansi_nulls": session.options.ansi_nulls,
            },
            execute_as(
                session,
                database,
                node,
                owner_of(database, parent.schema, parent.object_id),
            ),
            None,
            database,
            disabled=old.disabled if old is not None else False,
        )
        probe_module(
            session,
            trigger,
            database,
            lambda: trigger_program(session, trigger, parent_columns(parent, context)),
        )
        database.put(transaction, trigger)
        transaction.log_used += 500

    return run


def parent_columns(parent: Any, context: Context) -> list[Any]:
    """The columns of the row images: of the table, or of the view's query."""
    if isinstance(parent, Table):
        return parent.columns
    return view_table(parent, context).columns


def parent_of(session: SessionState, database: Database, node: ast.CreateTrigger) -> Any:
    """The table or view. Raises SqlError 8197 for what cannot have this trigger, 2103."""
    parent = database.resolve(node.table.schema, node.table.name, session)
    kinds = (Table, View) if node.timing == "INSTEAD OF" else (Table,)
    if not isinstance(parent, kinds) or not has_permission(session, "ALTER", parent):
        raise SqlError(8197, dotted(node.table), state=4)
    if node.name.schema is not None and node.name.schema.lower() != parent.schema.lower():
        raise SqlError(2103, node.verb.split()[0].lower(), dotted(node.name))
    return parent


def existing_trigger(
    session: SessionState, database: Database, node: ast.CreateTrigger, parent: Any
) -> Trigger | None:
    """The trigger ALTER means; None when CREATE is to make a new one. Raises 208, 2010."""
    if node.verb == "CREATE":
        return None
    found = database.resolve(parent.schema, node.name.name, session)
    if found is None:
        if node.verb == "ALTER":
            raise SqlError(208, dotted(node.name), state=6)
        return None
    if not isinstance(found, Trigger) or found.parent_id != parent.object_id:
        raise SqlError(2010, dotted(node.name))
    return found


def refuse_second_instead(
    database: Database, node: ast.CreateTrigger, parent: Any, old: Trigger | None
) -> None:
    """Raise SqlError 2111 for a second INSTEAD OF trigger of one event."""
    if node.timing != "INSTEAD OF":
        return
    for other in database.modules(Trigger):
        if (
            other.parent_id == parent.object_id
            and other.node.timing == "INSTEAD OF"
            and (old is None or other.object_id != old.object_id)
        ):
            for event in node.events:
                if event in other.node.events:
                    raise SqlError(
                        2111,
                        node.verb.split()[0].lower(),
                        node.name.name,
                        "table" if isinstance(parent, Table) else "view",
                        parent.full_name,
                        event,
                    )


@compiles(ast.EnableTrigger, ast.AlterTableTriggers)
def enable_trigger(node: Any, context: Context) -> Run:
    """ENABLE | DISABLE TRIGGER names | ALL ON table, and ALTER TABLE's form of it."""
    target = node.target if isinstance(node, ast.EnableTrigger) else node.name
    names = [(n if isinstance(n, str) else n.name).lower() for n in node.names]
    if isinstance(target, str):
        if target != "DATABASE":
            raise context.not_supported(node, f"ENABLE or DISABLE TRIGGER ON {target}")
        return lambda session, variables: switch_ddl_triggers(session, names, node.enable)

    def run(session: SessionState, variables: Values) -> None:
        database: Database = session.database
        parent = database.resolve(target.schema, target.name, session)
        if not isinstance(parent, (Table, View)) or not has_permission(session, "ALTER", parent):
            raise SqlError(1088, dotted(target), state=13)
        mine = {
            t.name.lower(): t for t in database.modules(Trigger) if t.parent_id == parent.object_id
        }
        for name in names:
            if name not in mine:
                raise SqlError(1088, name, state=13)
        transaction = session.work()
        lock_definition(session, transaction, database, parent.object_id)
        for name, trigger in mine.items():
            if (not names or name in names) and trigger.disabled == node.enable:
                database.put(transaction, replace(trigger, disabled=not node.enable))

    return run
