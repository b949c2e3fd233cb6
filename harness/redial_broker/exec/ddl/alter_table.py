"""ALTER TABLE: columns and constraints added and dropped, columns altered, table options.

Rules: ALTER TABLE page. A changed table is a new table in the old one's place (``rebuild``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError, not_created
from redial_broker.engine.storage import Table
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.ddl.constraints import (
    check_rows,
    constraint_objects,
    dependents,
    drop_constraint,
    put_constraints,
    refuse_dependents,
)
from redial_broker.exec.ddl.definition import DefinitionBuilder, states_clustered
from redial_broker.exec.ddl.foreign_keys import make_foreign_keys, skip_foreign_keys
from redial_broker.exec.ddl.index_options import index_options
from redial_broker.exec.ddl.rebuild import all_indexes, rebuilt, spec_of
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.ddl.temporary import alter, check_key_length, put_table
from redial_broker.exec.dml.row_length import refuse_long_row
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


# ---------------------------------------------------------------------- ADD
@compiles(ast.AlterTableAdd)
def alter_table_add(node: ast.AlterTableAdd, context: Context) -> Run:
    """ADD columns and constraints; existing rows are extended, and checked unless WITH NOCHECK."""

    def run(session: SessionState, variables: Values) -> None:
        database, table, transaction = alter(session, node.name)
        before = len(table.columns)
        builder = builder_for(context, table, node.elements)
        for element in node.elements:
            builder.element(element)
        builder.finish()
        if table.clustered is not None and any(spec.clustered for spec in builder.keys):
            raise not_created(1902, table.name, table.clustered.name, state=3)
        added = builder.columns[before:]
        checks = builder.checks
        twin = rebuilt(
            session.engine,
            table,
            columns=builder.columns,
            specs=[spec_of(i) for i in all_indexes(table)] + builder.keys,
            checks=table.checks + checks,
            convert=extend_rows(session, table, added, values_given(node, added))
            if added
            else None,
            session=session,
        )
        if node.check is not False:
            check_rows(session, database, twin, checks)
        check_key_length(session, twin)
        if not table.temporary:
            definition = TableDefinition(
                table.name,
                builder.columns,
                builder.keys,
                checks,
                builder.system_named,
                uses=builder.uses,
            )
            found = constraint_objects(twin, definition)
            known = {c.default_name.lower() for c in table.columns if c.default_name}
            put_constraints(
                transaction,
                database,
                twin,
                [f for f in found if f[1].lower() not in known],
                definition,
                trusted=node.check is not False,
            )
        put_table(session, transaction, database, twin)
        if table.temporary:
            skip_foreign_keys(session, table.name, builder.foreign)
        else:
            make_foreign_keys(
                session, transaction, database, twin, builder.foreign, check=node.check is not False
            )

    return run


def builder_for(context: Context, table: Table, elements: list[Any]) -> DefinitionBuilder:
    """A builder that knows what the table has already. Raises SqlError 1779."""
    builder = DefinitionBuilder(context, table.name, [replace(c) for c in table.columns])
    builder.may_refer = True
    builder.clustered_stated = table.clustered is not None or states_clustered(elements)
    for column in table.columns:
        if column.nullable:
            builder.stated_null.add(column.name.lower())
    if any(index.primary for index in all_indexes(table)):
        constraints = [c for e in elements for c in getattr(e, "constraints", None) or [e]]
        if any(getattr(c, "primary", False) for c in constraints):
            raise not_created(1779, table.name)
    return builder


def values_given(node: ast.AlterTableAdd, added: list[Column]) -> set[str]:
    """Lower-case names of new columns that take their default in old rows too: WITH VALUES."""
    return {
        element.name.lower()
        for element in node.elements
        if isinstance(element, ast.ColumnDef)
        and any(
            isinstance(c, ast.DefaultConstraint) and c.with_values
            for c in element.constraints or []
        )
    }


def extend_rows(session: SessionState, table: Table, added: list[Column], given: set[str]) -> Any:
    """How an old row gets its new columns. Raises SqlError 4901 for NOT NULL without a default."""
    if table.rows.entries:
        for column in added:
            if (
                not column.nullable
                and column.default is None
                and column.identity is None
                and not column.rowversion
                and column.computed is None
            ):
                raise SqlError(4901, column.name, table.name)
    counter = [0]

    def value(column: Column) -> Any:
        if column.identity is not None:
            counter[0] += 1
            return column.identity[0] + (counter[0] - 1) * column.identity[1]
        if column.rowversion:
            return session.database.next_rowversion(session.work())
        # A nullable column stays NULL in old rows unless WITH VALUES was given.
        fills = not column.nullable or column.name.lower() in given
        return column.default(session) if fills and column.default is not None else None

    return lambda row: (*row, *(value(column) for column in added))


# ---------------------------------------------------------------------- DROP
@compiles(ast.AlterTableDrop)
def alter_table_drop(node: ast.AlterTableDrop, context: Context) -> Run:
    """DROP CONSTRAINT and DROP COLUMN."""

    def run(session: SessionState, variables: Values) -> None:
        database, table, transaction = alter(session, node.name)
        for item in node.items:
            if item.kind == "CONSTRAINT":
                table = drop_constraint(session, transaction, database, table, item)
            else:
                table = drop_column(session, table, item)
            put_table(session, transaction, database, table)

    return run


def drop_column(session: SessionState, table: Table, item: ast.AlterTableDropItem) -> Table:
    """The table without one column. Raises SqlError 4924, or 4922 when something uses it."""
    gone = table.ordinals.get(item.name.lower())
    if gone is None:
        if item.if_exists:
            return table
        raise SqlError(4924, "DROP COLUMN", item.name, table.name)
    refuse_dependents(table, gone, "DROP", dependents(table, gone))
    if len(table.columns) == 1:
        raise SqlError(4923, item.name, table.name)

    def shift(ordinal: int) -> int:
        return ordinal - (ordinal > gone)

    return rebuilt(
        session.engine,
        table,
        columns=table.columns[:gone] + table.columns[gone + 1 :],
        specs=[spec_of(index, shift) for index in all_indexes(table)],
        convert=lambda row: row[:gone] + row[gone + 1 :],
    )


# ---------------------------------------------------------------------- ALTER COLUMN
@compiles(ast.AlterTableAlterColumn)
def alter_column(node: ast.AlterTableAlterColumn, context: Context) -> Run:
    """ALTER COLUMN: another type, collation or nullability, rows converted."""
    if node.column.constraints or node.column.identity is not None or node.column.rowguidcol:
        raise context.not_supported(node, "a constraint in ALTER COLUMN")

    def run(session: SessionState, variables: Values) -> None:
        database, table, transaction = alter(session, node.name)
        at = table.ordinals.get(node.column.name.lower())
        if at is None:
            raise SqlError(4924, "ALTER COLUMN", node.column.name, table.name)
        old = table.columns[at]
        new = DefinitionBuilder(context, table.name).column(node.column)
        if old.rowversion or new.rowversion or old.computed:
            raise SqlError(4928, old.name, "COMPUTED" if old.computed else "timestamp")
        if old.identity is not None:
            new.nullable = False
        refuse_dependents(table, at, "ALTER", in_the_way(table, at, old, new))
        columns = table.columns[:]
        columns[at] = replace(
            old,
            type=new.type,
            nullable=new.nullable,
            user_type=new.user_type,
            collation=new.collation or old.collation,
            sparse=new.sparse,
            case_sensitive=new.case_sensitive if new.collation else old.case_sensitive,
        )
        refuse_long_row(table.name, columns)
        twin = rebuilt(
            session.engine, table, columns=columns, convert=converter(database, table, at, new)
        )
        check_key_length(session, twin)
        put_table(session, transaction, database, twin)

    return run


def converter(database: Database, table: Table, at: int, new: Column) -> Any:
    """How a row gets its value of the altered column. Raises SqlError 515 and conversion errors."""
    old = table.columns[at]
    shown = f"{database.name}.{table.full_name}"
    change = compile_assignment_conversion(old.type, new.type, table=shown, column=old.name)

    def convert(row: RowValues) -> tuple[Any, ...]:
        value = row[at]
        if value is None:
            if not new.nullable:
                raise SqlError(515, old.name, shown, "UPDATE")
            return row
        return (*row[:at], change(value), *row[at + 1 :]) if change is not None else row

    return convert


def in_the_way(table: Table, at: int, old: Column, new: Column) -> list[tuple[str, str]]:
    """What uses the column and forbids this change (ALTER COLUMN in the ALTER TABLE page).

    Making text of variable length longer is allowed in indexes and under CHECK and UNIQUE; a
    default allows changes of length, precision and scale only.
    """
    same_type = old.type.name == new.type.name
    longer = (
        same_type
        and old.type.name in {"varchar", "nvarchar", "varbinary"}
        and old.nullable == new.nullable
        and (not new.collation or new.collation.lower() == old.collation.lower())
        and 0 < old.type.length <= new.type.length
    )
    found = dependents(table, at)
    if longer:
        keys = {i.name for i in all_indexes(table) if not i.primary}
        keys |= {c.name for c in table.checks} | {old.default_name}
        return [item for item in found if item[1] not in keys]
    if same_type:
        return [item for item in found if item[1] != old.default_name]
    return found


# ---------------------------------------------------------------------- SET and REBUILD
@compiles(ast.AlterTableSet)
def alter_table_set(node: ast.AlterTableSet, context: Context) -> Run:
    """SET (LOCK_ESCALATION = TABLE | AUTO | DISABLE); REBUILD only takes its lock: no pages."""
    values: list[str] = []
    if node.action == "REBUILD":
        index_options(context, node.options)
    else:
        for option in node.options:
            if option.name != "LOCK_ESCALATION":
                raise context.not_supported(option, f"ALTER TABLE SET {option.name}")
            values.append(getattr(option.value, "text", str(option.value)).upper())

    def run(session: SessionState, variables: Values) -> None:
        _, table, transaction = alter(session, node.name)
        for value in values:
            session.engine.journal.assign(transaction, table, "lock_escalation", value != "DISABLE")

    return run
