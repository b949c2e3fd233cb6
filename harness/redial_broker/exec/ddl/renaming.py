"""New names and new schemas for what exists: sp_rename and ALTER SCHEMA TRANSFER.

Rules: sp_rename and ALTER SCHEMA pages. The text of a module is not changed by either; permissions
are kept by sp_rename and dropped by a transfer. What a schema-bound module or a computed column or
CHECK mentions keeps its name (15336).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.rebuild import all_indexes, rebuilt, spec_of
from redial_broker.exec.dependencies import bound_to_column, referrers
from redial_broker.exec.dml.references import foreign_keys
from redial_broker.exec.objects import Constraint, Module, Sequence, Synonym, Trigger

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def moved(
    session: SessionState, item: Any, *, name: str | None = None, schema: str | None = None
) -> Any:
    """A copy of an object under another name or in another schema, with its id.

    Raises NotSupported for kinds that cannot be moved here.
    """
    name, schema = name or item.name, schema or item.schema
    twin: Any
    if isinstance(item, Table):
        twin = rebuilt(session.engine, item)
        twin.name, twin.schema = name, schema
        return twin
    if isinstance(item, Module):
        twin = item.copy(item.database)
        twin.name, twin.schema = name, schema
        return twin
    if isinstance(item, (Constraint, Synonym)):
        return replace(item, name=name, schema=schema)
    if isinstance(item, Sequence):
        twin = item.copy()
        twin.name, twin.schema, twin.next_value = name, schema, item.next_value
        return twin
    return None


def change_key(
    session: SessionState, transaction: Transaction, database: Database, old: Any, new: Any
) -> None:
    """Take the old object out and put the new one in, with its dates; permissions stay."""
    journal = session.engine.journal
    created = database.dates.get(old.object_id)
    journal.put(
        transaction, database, database.objects, (old.schema.lower(), old.name.lower()), MISSING
    )
    database.note_change(transaction, (old.schema.lower(), old.name.lower()), old.object_id)
    database.put(transaction, new)
    if created is not None:
        journal.put(transaction, database, database.dates, new.object_id, created)


def rename_object(
    session: SessionState, transaction: Transaction, database: Database, item: Any, name: str
) -> None:
    """A new name for a table, module, constraint, sequence or synonym."""
    twin = moved(session, item, name=name)
    change_key(session, transaction, database, item, twin)
    if isinstance(item, Constraint):
        _rename_in_table(session, transaction, database, item, name)


def _rename_in_table(
    session: SessionState, transaction: Transaction, database: Database, item: Constraint, name: str
) -> None:
    """The table's own record of a constraint follows its name."""
    table = database.object_by_id(item.parent_id)
    old = item.name.lower()
    if item.kind in {"PRIMARY KEY", "UNIQUE"}:
        index = next(i for i in all_indexes(table) if i.name.lower() == old)
        rename_index(session, transaction, database, table, index, name)
    elif item.kind == "CHECK":
        checks = [replace(c, name=name) if c.name.lower() == old else c for c in table.checks]
        database.put(transaction, rebuilt(session.engine, table, checks=checks))
    elif item.kind == "DEFAULT":
        columns = [
            replace(c, default_name=name) if c.default_name.lower() == old else c
            for c in table.columns
        ]
        database.put(transaction, rebuilt(session.engine, table, columns=columns))


def rename_index(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    index: Index,
    name: str,
) -> None:
    """A new name for an index; FOREIGN KEYs that use it follow."""
    specs = []
    for other in all_indexes(table):
        spec = spec_of(other)
        if other is index:
            spec.name = name
        specs.append(spec)
    for constraint in foreign_keys(table)[1]:
        foreign = constraint.reference
        if foreign.index.lower() == index.name.lower():
            database.put(transaction, replace(constraint, foreign=replace(foreign, index=name)))
    twin = rebuilt(session.engine, table, specs=specs)
    for old, new in zip(all_indexes(table), all_indexes(twin)):
        new.hobt_id, new.index_id = old.hobt_id, old.index_id
    database.put(transaction, twin)


def rename_column(
    session: SessionState,
    transaction: Transaction,
    database: Database,
    table: Table,
    ordinal: int,
    name: str,
) -> Table:
    """A new name for a column; FOREIGN KEYs follow. Raises SqlError 15336."""
    old = table.columns[ordinal].name
    uses = [c.name for c in table.checks if old.lower() in c.names]
    uses += [c.name for c in table.columns if c.computed and old.lower() in c.computed.names]
    uses += [
        i.name for i in all_indexes(table) if i.where_text and old.lower() in i.where_text.lower()
    ]
    if uses or bound_to_column(table, old):
        raise SqlError(15336, f"{table.full_name}.{old}")
    columns = table.columns[:]
    columns[ordinal] = replace(table.columns[ordinal], name=name)
    outgoing, incoming = foreign_keys(table)

    def following(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name if n.lower() == old.lower() else n for n in names)

    for item in outgoing:
        foreign = item.reference
        database.put(
            transaction, replace(item, foreign=replace(foreign, columns=following(foreign.columns)))
        )
    for item in incoming:
        foreign = database.object_by_id(item.object_id).reference
        database.put(
            transaction,
            replace(item, foreign=replace(foreign, referenced=following(foreign.referenced))),
        )
    return rebuilt(session.engine, table, columns=columns)


def transfer(
    session: SessionState, transaction: Transaction, database: Database, item: Any, schema: str
) -> bool:
    """Move an object, with its constraints and triggers; False for what cannot be moved here."""
    twin = moved(session, item, schema=schema)
    if twin is None:
        return False
    parts = [
        o
        for o in database.objects.values()
        if isinstance(o, (Constraint, Trigger)) and o.parent_id == item.object_id
    ]
    for old in (item, *parts):
        properties = {
            k: v for k, v in database.properties.items() if k[0] == 1 and k[1] == old.object_id
        }
        created = database.dates.get(old.object_id)
        database.remove(transaction, old)
        database.put(transaction, twin if old is item else moved(session, old, schema=schema))
        journal = session.engine.journal
        if created is not None:
            journal.put(transaction, database, database.dates, old.object_id, created)
        for key, value in properties.items():
            journal.put(transaction, database, database.properties, key, value)
    return True


def enforced(database: Database, item: Any) -> bool:
    """Whether a schema-bound module or constraint refers to the object, so that it keeps its name."""
    return bool(referrers(database, item, bound=True))
