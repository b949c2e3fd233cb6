"""FOREIGN KEY constraints as definitions: made, checked against existing rows, guarded, dropped.

Rules: CREATE TABLE and "Primary and foreign key constraints" pages. Both tables are locked Sch-M
while one is made. Temporary tables take none: they are skipped with message 1756.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import BATCH, SqlError, followed, not_created
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import dotted, lock_definition, refuse_taken
from redial_broker.exec.ddl.naming import check_length, foreign_key_name
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.dml.references import NO_ACTION, bind, foreign_keys
from redial_broker.exec.objects import Constraint, ForeignKey
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.triggers import triggers_on

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def make_foreign_keys(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    nodes: list[tuple[ast.ForeignKey, str]],
    *,
    check: bool = True,
) -> None:
    """Give a table its new FOREIGN KEYs. nodes: (node, name of the column it is written on or "").

    check: existing rows must comply. Raises the errors of the definition, and 547.
    """
    for node, column in nodes:
        made = foreign_key(session, transaction, database, table, node, column)
        if check:
            check_existing(database, made, "ALTER TABLE")
        made.trusted = check
        database.put(transaction, made)


def skip_foreign_keys(
    session: SessionState, table: str, nodes: list[tuple[ast.ForeignKey, str]]
) -> None:
    """Message 1756 for each FOREIGN KEY of a temporary table."""
    for node, column in nodes:
        name = node.name or foreign_key_name(table, node.columns or [column], dotted(node.table))
        error = SqlError(1756, name)
        session.info(error.text, error.severity, error.number, 0)


def foreign_key(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    node: ast.ForeignKey,
    column: str,
) -> Constraint:
    """The constraint a definition describes, not yet in the database."""
    columns = node.columns or [column]
    name = node.name or foreign_key_name(table.name, columns, dotted(node.table))
    check_length(name)
    refuse_taken_constraint(database, table.schema, name)
    own = [_column(table, text, 1769, name) for text in columns]
    parent = referenced_table(session, transaction, database, table, node, name)
    names = node.referenced or _primary_names(parent, name)
    other = [_column(parent, text, 1770, name) for text in names]
    if len(own) != len(other):
        if node.referenced is None:
            raise not_created(1774, name, parent.full_name)
        raise SqlError(8139, table.name)
    for mine, theirs in zip(own, other):
        _compare(table, mine, parent, theirs, name)
    index = _candidate_key(parent, other)
    if index is None:
        raise not_created(1776, parent.full_name, name)
    foreign = ForeignKey(
        tuple(c.name for c in own),
        parent.object_id,
        tuple(c.name for c in other),
        index.name,
        node.on_delete or NO_ACTION,
        node.on_update or NO_ACTION,
    )
    _check_actions(database, table, own, foreign, name)
    ordinal = table.ordinals[column.lower()] + 1 if column else 0
    return Constraint(
        name,
        table.schema,
        database.next_object_id(),
        "FOREIGN KEY",
        table.object_id,
        "",
        ordinal,
        node.name is None,
        foreign,
    )


def refuse_taken_constraint(database: Database, schema: str, name: str) -> None:
    """2714, then 1750, when a constraint's name is taken."""
    try:
        refuse_taken(database, schema, name)
    except SqlError:
        raise not_created(2714, name, state=5) from None


def referenced_table(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    node: ast.ForeignKey,
    name: str,
) -> Table:
    """The table REFERENCES names, locked Sch-M. Raises 1763, 1766, 1767."""
    target = node.table
    if target.database is not None and target.database.lower() != database.name.lower():
        raise not_created(1763, name)
    if target.name.startswith("#"):
        raise not_created(1766, name)
    if (
        target.name.lower() == table.name.lower()
        and (target.schema or table.schema).lower() == table.schema.lower()
    ):
        return table
    # A name without schema is looked for beside the table first.
    found = database.resolve(target.schema or table.schema, target.name, session)
    if found is None and target.schema is None:
        found = database.resolve(None, target.name, session)
    if not isinstance(found, Table):
        raise not_created(1767, name, dotted(target))
    check_permission(session, "REFERENCES", found)
    lock_definition(session, transaction, database, found.object_id)
    return found


def _column(table: Table, name: str, number: int, constraint: str) -> Column:
    ordinal = table.ordinals.get(name.lower())
    if ordinal is None:
        shown = table.name if number == 1769 else table.full_name
        raise not_created(number, constraint, name, shown)
    return table.columns[ordinal]


def _primary_names(parent: Table, constraint: str) -> list[str]:
    primary = next((i for i in all_indexes(parent) if i.primary), None)
    if primary is None:
        raise not_created(1773, constraint, parent.full_name)
    return [parent.columns[i].name for i in primary.columns]


def _compare(table: Table, mine: Column, parent: Table, theirs: Column, name: str) -> None:
    """The two columns must have one type, length and collation. Raises 1778, 1753, 1757."""
    shown = (parent.full_name, theirs.name, table.name, mine.name, name)
    if mine.type.name != theirs.type.name:
        raise not_created(1778, *shown)
    if mine.type is not theirs.type:
        raise not_created(1753, *shown)
    if mine.collation.lower() != theirs.collation.lower():
        raise not_created(1757, *shown)


def _candidate_key(parent: Table, columns: list[Column]) -> Index | None:
    """The unique index on exactly these columns, in any order; the primary key before others."""
    wanted = {parent.ordinals[column.name.lower()] for column in columns}
    found = [
        i
        for i in all_indexes(parent)
        if i.unique and i.where is None and not i.disabled and set(i.columns) == wanted
    ]
    return max(found, key=lambda i: (i.primary, i.constraint), default=None)


# ---------------------------------------------------------------------- cascading actions
def _check_actions(
    database: Database, table: Table, own: list[Column], foreign: ForeignKey, name: str
) -> None:
    """1761, 1762, 1785 and 1787 for actions that cannot be taken."""
    actions = {foreign.on_delete, foreign.on_update}
    if "SET NULL" in actions and not all(column.nullable for column in own):
        raise not_created(1761, name)
    if "SET DEFAULT" in actions and any(
        not column.nullable and column.default is None for column in own
    ):
        raise not_created(1762, name)
    for event, action in (("DELETE", foreign.on_delete), ("UPDATE", foreign.on_update)):
        if action == NO_ACTION:
            continue
        if triggers_on(table, event, "INSTEAD OF"):
            raise not_created(1787, name, table.full_name)
        if _many_paths(database, table.object_id, foreign.referenced_id, event):
            raise not_created(1785, name, table.name)


def _many_paths(database: Database, child: int, parent: int, event: str) -> bool:
    """Whether an action from parent to child makes a cycle or a second path to some table."""
    edges = [(parent, child)]
    for item in database.objects.values():
        foreign = item.foreign if isinstance(item, Constraint) else None
        if foreign is None:
            continue
        action = foreign.on_delete if event == "DELETE" else foreign.on_update
        if action != NO_ACTION:
            edges.append((foreign.referenced_id, item.parent_id))
    for start in {edge[0] for edge in edges}:
        reached = {start}
        pending = [start]
        while pending:
            node = pending.pop()
            for _, target in (edge for edge in edges if edge[0] == node):
                if target in reached:
                    return True
                reached.add(target)
                pending.append(target)
    return False


# ---------------------------------------------------------------------- existing rows
def check_existing(database: Database, constraint: Constraint, statement: str) -> None:
    """Raise 547 when a row refers to no row. Both tables are ours alone (Sch-M)."""
    bound = bind(database, constraint, {})
    entries, columns = bound.index.entries, bound.index.columns
    for row in bound.child.rows.entries.values():
        values = bound.values(row)
        if values is None:
            continue
        by_ordinal = dict(zip(bound.parent_ordinals, values))
        if bound.index.normalize([by_ordinal[i] for i in columns]) not in entries:
            error = bound.refused(statement, True)
            error.aborts = BATCH  # of a definition (F-522)
            raise error


# ---------------------------------------------------------------------- guarding what is referenced
def refuse_referenced_table(table: Table) -> None:
    """3726 for DROP TABLE while another table's FOREIGN KEY refers to it, disabled or not."""
    if any(c.parent_id != table.object_id for c in foreign_keys(table)[1]):
        raise SqlError(3726, table.full_name)


def refuse_referenced_key(table: Table, index: Index) -> None:
    """3725, then 3727, for dropping a key constraint that a FOREIGN KEY uses."""
    for constraint in foreign_keys(table)[1]:
        if constraint.reference.index.lower() == index.name.lower():
            child = cast("Database", table.database).object_by_id(constraint.parent_id)
            raise followed(3725, index.name, child.name, constraint.name, by=SqlError(3727))


def keys_of_column(table: Table, name: str) -> list[Constraint]:
    """FOREIGN KEYs that a column takes part in, on either side."""
    outgoing, incoming = foreign_keys(table)
    lowered = name.lower()
    return [c for c in outgoing if lowered in (n.lower() for n in c.reference.columns)] + [
        c for c in incoming if lowered in (n.lower() for n in c.reference.referenced)
    ]
