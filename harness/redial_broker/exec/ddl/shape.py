"""The shape of a table apart from its rows: key and index specs, index options, definitions.

A definition is made once and gives any number of tables (table variables, copies of a template).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial_broker.engine.columns import BY_TEXT, PLAIN_OPTIONS, Check, Column, IndexOptions
from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.storage import Index, Table

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


@definition(where=BY_TEXT, bind=BY_TEXT)
@dataclass(slots=True)
class KeySpec:
    """One key or index to be built."""

    name: str
    columns: list[int]
    """Ordinals."""
    unique: bool
    clustered: bool
    primary: bool = False
    constraint: bool = False
    """It is a PRIMARY KEY or UNIQUE constraint."""
    included: list[int] = field(default_factory=list)
    """Ordinals."""
    where: Callable[[RowValues], bool] | None = None
    where_text: str = ""
    bind: Callable[[list[Column]], Callable[[RowValues], bool]] | None = None
    """where, where_text, bind: of a filtered index (see ``engine.Index``)."""
    system_named: bool = False
    descending: frozenset[int] = frozenset()
    """Ordinals among columns."""
    options: IndexOptions = PLAIN_OPTIONS
    disabled: bool = False


def new_index(table: Table, spec: KeySpec, hobt_id: int) -> Index:
    """The index a spec describes, not yet attached to its table."""
    index = Index(
        table,
        spec.name,
        spec.columns,
        unique=spec.unique,
        clustered=spec.clustered,
        primary=spec.primary,
        constraint=spec.constraint,
        included=spec.included,
        hobt_id=hobt_id,
        descending=spec.descending,
    )
    index.where, index.where_text, index.bind = spec.where, spec.where_text, spec.bind
    index.options, index.disabled = spec.options, spec.disabled
    return index


@definition(
    foreign="a type has none, and a table shows its constraints itself",
    uses="the texts of its defaults and checks name them",
)
@dataclass(slots=True)
class TableDefinition:
    """Columns, keys and checks of a table that may exist many times."""

    name: str
    columns: list[Column]
    keys: list[KeySpec]
    checks: list[Check]
    system_named: set[str] = field(default_factory=set)
    """lower-case names of constraints that the server chose."""
    foreign: list[tuple[Any, str]] = field(default_factory=list)
    """FOREIGN KEYs as written, each with the name of the column it is written on or ""."""
    uses: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """lower-case name of a constraint -> names of the functions and sequences in its expression."""

    def new_table(
        self,
        engine: Engine,
        *,
        name: str | None = None,
        temporary: bool = True,
        database: Database | None = None,
        schema: str = "dbo",
        object_id: int = 0,
    ) -> Table:
        """An empty table of this shape."""
        table = Table(
            engine.journal,
            name or self.name,
            self.columns,
            database=database,
            schema=schema,
            object_id=object_id,
            temporary=temporary,
        )
        table.heap.hobt_id = next(engine.hobt_ids)
        for spec in sorted(self.keys, key=lambda spec: not spec.clustered):
            table.add_index(new_index(table, spec, next(engine.hobt_ids)))
        table.checks = self.checks
        return table

    def from_rows(self, session: SessionState, value: Any) -> Table:
        """A table-valued parameter from the wire: value.rows in column order.

        Raises SqlError 515, 547, 2627 and 2601 like an INSERT into a table variable.
        """
        table = self.new_table(session.engine)
        for given in value.rows:
            row = table.with_computed(
                session,
                tuple(
                    table.take_identity()
                    if column.identity is not None
                    else session.database.next_rowversion()
                    if column.rowversion
                    else item
                    for column, item in zip(self.columns, given)
                ),
            )
            for column, item in zip(self.columns, row):
                if item is None and not column.nullable:
                    raise SqlError(515, column.name, self.name, "INSERT")
            for check in self.checks:
                if check.accepts(session, row) is False:
                    raise SqlError(
                        547, "INSERT", "CHECK", check.name, "tempdb", self.name, "", state=0
                    )
            self._add(table, table.new_key(row), row)
        return table

    @staticmethod
    def _add(table: Table, key: tuple[Any, ...], row: RowValues) -> None:
        """Put a row into a table nobody else has seen yet: nothing to journal, nothing to lock."""
        if key in table.rows.entries:
            raise table.duplicate(table.rows, row)
        table.rows.entries[key] = row
        for index in table.indexes:
            if index.where is None or index.where(row):
                entry = Table.index_key(index, key, row)
                if entry in index.entries:
                    raise table.duplicate(index, row)
                index.entries[entry] = key
