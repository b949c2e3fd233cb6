"""A changed table is a new table: same id, same names, rows carried over.

Nobody else can use a table while its definition changes (Sch-M), so ALTER TABLE and CREATE INDEX
build a new ``Table`` and put it in the old one's place with one journaled change; a rollback puts
the old one back. Index ids of unchanged indexes and the hobt ids stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.storage import Check, Column, Index, Table
from harness.broker.exec.ddl.definition import KeySpec, new_index


def spec_of(index: Index, shift: Callable[[int], int] = lambda ordinal: ordinal) -> KeySpec:
    """The spec of an existing index; ``shift`` maps old column ordinals to new ones."""
    return KeySpec(index.name, [shift(i) for i in index.columns], index.unique, index.clustered,
                   index.primary, index.constraint, [shift(i) for i in index.included],
                   index.where, index.where_text)


def all_indexes(table: Table) -> list[Index]:
    """The clustered index, if any, then the others."""
    return ([table.clustered] if table.clustered is not None else []) + table.indexes


def rebuilt(engine: Any, table: Table, *, columns: list[Column] | None = None,
            specs: list[KeySpec] | None = None, checks: list[Check] | None = None,
            convert: Callable[[tuple], tuple] | None = None) -> Table:
    """The table with other columns, indexes or checks, and its rows.

    Raises SqlError 1505 when a unique key meets duplicates.
    """
    twin = Table(table.journal, table.name, columns or table.columns, database=table.database,
                 schema=table.schema, object_id=table.object_id, temporary=table.temporary)
    known = {index.name.lower(): index for index in all_indexes(table)}
    twin.heap.hobt_id = table.heap.hobt_id
    specs = [spec_of(index) for index in known.values()] if specs is None else specs
    indexes: list[Index] = []
    for spec in sorted(specs, key=lambda spec: not spec.clustered):
        old = known.get(spec.name.lower())
        index = new_index(twin, spec, old.hobt_id if old is not None else next(engine.hobt_ids))
        if index.clustered:
            twin.clustered = twin.rows = index
        else:
            index.index_id = old.index_id if old is not None and not old.clustered else \
                1 + max([1, *(i.index_id for i in indexes), *(i.index_id for i in table.indexes)])
            twin.indexes.append(index)
        indexes.append(index)
    twin.checks = table.checks if checks is None else checks
    twin.lock_escalation, twin.page_locks = table.lock_escalation, table.page_locks
    twin.next_identity, twin.row_ids, twin.depth, twin.shadowed = (
        table.next_identity, table.row_ids, table.depth, table.shadowed)
    _fill(twin, table, convert)
    return twin


def _fill(twin: Table, table: Table, convert: Callable[[tuple], tuple] | None) -> None:
    """Carry the rows over; keys that do not change keep their row ids."""
    old, new = table.clustered, twin.clustered
    same_key = (old is None and new is None) or (
        old is not None and new is not None and old.columns == new.columns
        and old.unique == new.unique and convert is None)
    for key, row in table.rows.entries.items():
        changed = convert(row) if convert is not None else row
        if not same_key:
            key = twin.new_key(changed)
            if key in twin.rows.entries:
                raise duplicate_key(twin, twin.rows, changed)
        twin.rows.entries[key] = changed
        for index in twin.indexes:
            if index.where is not None and not index.where(changed):
                continue
            entry = Table.index_key(index, key, changed)
            if entry in index.entries:
                raise duplicate_key(twin, index, changed)
            index.entries[entry] = key


def duplicate_key(table: Table, index: Index, row: tuple) -> SqlError:
    """Error 1505 for a unique index that cannot be built."""
    values = ", ".join("<NULL>" if row[i] is None else str(row[i]) for i in index.columns)
    return SqlError(1505, table.full_name, index.name, f"({values})")
