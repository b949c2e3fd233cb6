"""A changed table is a new table: same id, same names, rows carried over.

Nobody else can use a table while its definition changes (Sch-M), so ALTER TABLE and CREATE INDEX
build a new ``Table`` and put it in the old one's place with one journaled change; a rollback puts
the old one back. Index ids of unchanged indexes and the hobt ids stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from redial_broker.engine.columns import Check, Column
from redial_broker.engine.errors import SqlError, not_created
from redial_broker.engine.storage import Index, Table
from redial_broker.exec.ddl.shape import KeySpec, new_index

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


def never(row: RowValues) -> bool:
    """The filter of a disabled index."""
    return False


def spec_of(index: Index, shift: Callable[[int], int] = lambda ordinal: ordinal) -> KeySpec:
    """The spec of an existing index; ``shift`` maps old column ordinals to new ones."""
    return KeySpec(
        index.name,
        [shift(i) for i in index.columns],
        index.unique,
        index.clustered,
        index.primary,
        index.constraint,
        [shift(i) for i in index.included],
        index.where,
        index.where_text,
        index.bind,
        descending=frozenset(shift(i) for i in index.descending),
        options=index.options,
        disabled=index.disabled,
    )


def all_indexes(table: Table) -> list[Index]:
    """The clustered index, if any, then the others."""
    return ([table.clustered] if table.clustered is not None else []) + table.indexes


def rebuilt(
    engine: Engine,
    table: Table,
    *,
    columns: list[Column] | None = None,
    specs: list[KeySpec] | None = None,
    checks: list[Check] | None = None,
    convert: Callable[[RowValues], RowValues] | None = None,
    session: SessionState | None = None,
) -> Table:
    """The table with other columns, indexes or checks, and its rows.

    session: in which computed columns are worked out. Raises SqlError 1505 when a unique key meets
    duplicates.
    """
    specs = [spec_of(index) for index in all_indexes(table)] if specs is None else specs
    checks = table.checks if checks is None else checks
    if columns is not None:
        columns, specs, checks = rebound(columns, specs, checks)
    twin = Table(
        table.journal,
        table.name,
        columns or table.columns,
        database=table.database,
        schema=table.schema,
        object_id=table.object_id,
        temporary=table.temporary,
    )
    known = {index.name.lower(): index for index in all_indexes(table)}
    twin.heap.hobt_id = table.heap.hobt_id
    indexes: list[Index] = []
    for spec in sorted(specs, key=lambda spec: not spec.clustered):
        old = known.get(spec.name.lower())
        index = new_index(twin, spec, old.hobt_id if old is not None else next(engine.hobt_ids))
        if index.clustered:
            twin.clustered = twin.rows = index
        else:
            index.index_id = (
                old.index_id
                if old is not None and not old.clustered
                else 1
                + max([1, *(i.index_id for i in indexes), *(i.index_id for i in table.indexes)])
            )
            twin.indexes.append(index)
        indexes.append(index)
    twin.checks = checks
    twin.lock_escalation, twin.creator = table.lock_escalation, table.creator
    twin.statistics = table.statistics
    twin.next_identity, twin.row_ids, twin.depth, twin.shadowed = (
        table.next_identity,
        table.row_ids,
        table.depth,
        table.shadowed,
    )
    _fill(twin, table, convert, session)
    return twin


def rebound(
    columns: list[Column], specs: list[KeySpec], checks: list[Check]
) -> tuple[list[Column], list[KeySpec], list[Check]]:
    """What is compiled over the columns, compiled over the new ones."""
    columns = [
        replace(c, computed=replace(c.computed, value=c.computed.bind(columns)))
        if c.computed
        else c
        for c in columns
    ]
    specs = [
        replace(spec, where=spec.bind(columns))
        if spec.bind is not None and not spec.disabled
        else spec
        for spec in specs
    ]
    checks = [replace(c, accepts=c.bind(columns)) if c.bind is not None else c for c in checks]
    return columns, specs, checks


def _fill(
    twin: Table,
    table: Table,
    convert: Callable[[RowValues], RowValues] | None,
    session: SessionState | None,
) -> None:
    """Carry the rows over; keys that do not change keep their row ids."""
    old, new = table.clustered, twin.clustered
    same_key = (old is None and new is None) or (
        old is not None
        and new is not None
        and old.columns == new.columns
        and old.unique == new.unique
        and old.descending == new.descending
        and convert is None
    )
    for key, row in table.rows.entries.items():
        changed = convert(row) if convert is not None else row
        changed = twin.with_computed(session, changed)
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


def duplicate_key(table: Table, index: Index, row: RowValues) -> SqlError:
    """Error 1505 for a unique index that cannot be built; 1750 follows for a constraint."""
    values = ", ".join("<NULL>" if row[i] is None else str(row[i]) for i in index.columns)
    arguments = (table.full_name, index.name, f"({values})")
    return (
        not_created(1505, *arguments, state=1) if index.constraint else SqlError(1505, *arguments)
    )
