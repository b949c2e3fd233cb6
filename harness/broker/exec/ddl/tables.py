"""CREATE, ALTER and DROP TABLE.

Rules: CREATE TABLE, ALTER TABLE and DROP TABLE pages. Constraints are objects of the table's schema
too, so their names must be free there (2714).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.journal import MISSING
from harness.broker.engine.storage import Column, Table
from harness.broker.engine.transactions import Transaction
from harness.broker.engine.versions import under_snapshot
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.conversion import compile_assignment_conversion
from harness.broker.exec.database import Database
from harness.broker.exec.ddl.common import (
    dotted,
    existing_table,
    lock_definition,
    may_create,
    refuse_taken,
    schema_for,
    target_database,
)
from harness.broker.exec.ddl.definition import (
    DefinitionBuilder,
    TableDefinition,
    states_clustered,
    table_definition,
)
from harness.broker.exec.ddl.rebuild import all_indexes, rebuilt, spec_of
from harness.broker.exec.dml.key_length import key_check, least_bytes, limit_of, most_bytes
from harness.broker.exec.objects import Constraint, Trigger
from harness.broker.exec.security import has_permission
from harness.tsql import ast


def constraint_objects(database: Database, table: Table, definition: TableDefinition) -> list:
    """(kind, name, definition text, column ordinal) of every constraint of a new definition."""
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


def put_constraints(transaction: Transaction, database: Database, table: Table,
                    found: list[tuple[str, str, str, int]], system_named: set[str]) -> None:
    """Give new constraints their objects. Raises SqlError 2714 for a name that is taken."""
    names: set[str] = set()
    for _, name, _, _ in found:
        refuse_taken(database, table.schema, name)
        if name.lower() in names or name.lower() == table.name.lower():
            raise SqlError(2714, name, state=5)
        names.add(name.lower())
    for kind, name, text, column in found:
        database.put(transaction, Constraint(
            name, table.schema, database.next_object_id(), kind, table.object_id, text, column,
            name.lower() in system_named))


def is_temporary(name: str) -> bool:
    """#name; ##name is refused where it is created."""
    return name.startswith("#")


@compiles(ast.CreateTable)
def create_table(node: ast.CreateTable, context: Context) -> Run:
    """CREATE TABLE. ON filegroup may only name PRIMARY: there are no files here."""
    for filegroup in (node.filegroup, node.textimage):
        if filegroup is not None and filegroup.upper() not in {"PRIMARY", "DEFAULT"}:
            raise context.not_supported(node, f"filegroup {filegroup}")
    if node.options:
        raise context.not_supported(node.options[0], f"table option {node.options[0].name}")
    name = node.name.name
    if name.startswith("##"):
        raise context.not_supported(node, "a global temporary table")

    if context.checking:
        table_definition(node.elements, context, name)

    def run(s: Any, v: list) -> None:
        definition = table_definition(node.elements, context, name)
        if is_temporary(name):
            create_temporary(s, definition)
            return
        database = target_database(s, node.name)
        schema = schema_for(s, database, node.name)
        may_create(s, database, schema, "CREATE TABLE")
        refuse_taken(database, schema.name, name)
        transaction = s.work()
        object_id = database.next_object_id()
        lock_definition(s, transaction, database, object_id)
        table = definition.new_table(s.engine, temporary=False, database=database,
                                     schema=schema.name, object_id=object_id)
        put_constraints(transaction, database, table,
                        constraint_objects(database, table, definition), definition.system_named)
        database.put(transaction, table)
        transaction.log_used += 500
        check_key_length(s, table)

    return run


def create_temporary(s: Any, definition: TableDefinition) -> None:
    """CREATE TABLE #name: private to the session, dropped with the module that made it.

    One of the same name in a calling scope is out of sight until then (CREATE TABLE page, temporary
    tables in nested scopes).
    """
    key = definition.name.lower()
    outer = s.temp_tables.get(key)
    if outer is not None and outer.depth == len(s.frames):
        raise SqlError(2714, definition.name, state=6)
    table = definition.new_table(s.engine)
    table.depth, table.shadowed = len(s.frames), outer
    s.engine.journal.put(s.work(), s, s.temp_tables, key, table)


def check_key_length(s: Any, table: Table) -> None:
    """Warning 1945 for keys that may grow too long, SqlError 1944 for those that always are."""
    for index in all_indexes(table):
        types = [table.types[i] for i in index.columns]
        limit, least, most = limit_of(index.clustered), least_bytes(types), most_bytes(types)
        if least > limit:
            raise SqlError(1944, index.name, least, limit)
        if most > limit:
            kind = "clustered" if index.clustered else "nonclustered"
            s.info(f"Warning! The maximum key length for a {kind} index is {limit} bytes. "
                   f"The index '{index.name}' has maximum length of {most} bytes. For some "
                   "combination of large values, the insert/update operation will fail.",
                   0, 1945)
    check = key_check(table, None)
    for row in table.rows.entries.values() if check is not None else ():
        check(row)


# ---------------------------------------------------------------------- ALTER TABLE
def alter(s: Any, name: ast.ObjectName) -> tuple[Database, Table, Transaction]:
    """The table to alter, locked Sch-M. Raises 3964 in a user's SNAPSHOT transaction."""
    if is_temporary(name.name):
        table = s.temp_tables.get(name.name.lower())
        if table is None:
            raise SqlError(4902, name.name)
        return s.database, table, s.work()
    database = target_database(s, name)
    table = existing_table(s, database, name, Table)
    transaction = s.work()
    if s.trancount and under_snapshot(transaction):
        raise SqlError(3964)
    lock_definition(s, transaction, database, table.object_id)
    return database, table, transaction


def put_table(s: Any, transaction: Transaction, database: Database, table: Table) -> None:
    """Put a changed table in its place."""
    if table.temporary:
        s.engine.journal.put(transaction, s, s.temp_tables, table.name.lower(), table)
    else:
        database.put(transaction, table)
        transaction.log_used += 500


@compiles(ast.AlterTableAdd)
def alter_table_add(node: ast.AlterTableAdd, context: Context) -> Run:
    """ALTER TABLE ADD columns and constraints, with the existing rows checked and extended."""
    if node.check is False:
        raise context.not_supported(node, "WITH NOCHECK")

    def run(s: Any, v: list) -> None:
        database, table, transaction = alter(s, node.name)
        before = len(table.columns)
        builder = DefinitionBuilder(context, table.name, [replace(c) for c in table.columns])
        builder.clustered_stated = table.clustered is not None or states_clustered(node.elements)
        for column in table.columns:
            if column.nullable:
                builder.stated_null.add(column.name.lower())
        if any(getattr(element, "primary", False) for element in node.elements) and \
                any(index.primary for index in all_indexes(table)):
            raise SqlError(1779, table.name)
        for element in node.elements:
            builder.element(element)
        builder.finish()
        if table.clustered is not None and any(spec.clustered for spec in builder.keys):
            raise SqlError(1902, table.name, table.clustered.name)
        added = builder.columns[before:]
        twin = rebuilt(s.engine, table, columns=builder.columns,
                       specs=[spec_of(i) for i in all_indexes(table)] + builder.keys,
                       checks=table.checks + builder.checks,
                       convert=extend_rows(s, table, added, node) if added else None)
        check_rows(s, database, twin, builder)
        if not table.temporary:
            found = constraint_objects(database, twin, TableDefinition(
                table.name, builder.columns, builder.keys, builder.checks))
            known = {c.default_name.lower() for c in table.columns if c.default_name}
            put_constraints(transaction, database, twin,
                            [f for f in found if f[1].lower() not in known],
                            builder.system_named)
        put_table(s, transaction, database, twin)

    return run


def extend_rows(s: Any, table: Table, added: list[Column], node: ast.AlterTableAdd) -> Any:
    """How an old row gets its new columns. Raises SqlError 4901 for NOT NULL without a default."""
    if table.rows.entries:
        for column in added:
            if not column.nullable and column.default is None and column.identity is None \
                    and not column.rowversion:
                raise SqlError(4901, column.name, table.name)
    counter = [0]

    def value(column: Column) -> Any:
        if column.identity is not None:
            counter[0] += 1
            return column.identity[0] + (counter[0] - 1) * column.identity[1]
        if column.rowversion:
            return s.database.next_rowversion(s.work())
        # A nullable column with a default stays NULL in old rows (no WITH VALUES was given).
        return None if column.nullable or column.default is None else column.default(s)

    return lambda row: (*row, *(value(column) for column in added))


def check_rows(s: Any, database: Database, table: Table, builder: DefinitionBuilder) -> None:
    """Error 547 when an existing row breaks a new CHECK."""
    for check in builder.checks:
        for row in table.rows.entries.values():
            if check.accepts(s, row) is False:
                column = f", column '{check.column}'" if check.column else ""
                raise SqlError(547, "ALTER TABLE", "CHECK", check.name, database.name,
                               table.full_name, column)


@compiles(ast.AlterTableDrop)
def alter_table_drop(node: ast.AlterTableDrop, context: Context) -> Run:
    """ALTER TABLE DROP CONSTRAINT and DROP COLUMN."""

    def run(s: Any, v: list) -> None:
        database, table, transaction = alter(s, node.name)
        for item in node.items:
            if item.kind == "CONSTRAINT":
                table = drop_constraint(s, transaction, database, table, item)
            else:
                table = drop_column(s, table, item)
        put_table(s, transaction, database, table)

    return run


def drop_constraint(s: Any, transaction: Transaction, database: Database, table: Table,
                    item: ast.AlterTableDropItem) -> Table:
    """The table without one constraint. Raises SqlError 3728."""
    name = item.name.lower()
    key = (table.schema.lower(), name)
    indexes = [i for i in all_indexes(table) if not (i.constraint and i.name.lower() == name)]
    checks = [c for c in table.checks if c.name.lower() != name]
    columns = [
        replace(c, default=None, default_name="", default_text="")
        if c.default_name.lower() == name else c for c in table.columns
    ]
    unchanged = len(indexes) == len(all_indexes(table)) and len(checks) == len(table.checks) \
        and all(a is b for a, b in zip(columns, table.columns))
    if unchanged:
        if item.if_exists:
            return table
        raise SqlError(3728, item.name)
    found = database.objects.get(key)
    if isinstance(found, Constraint) and found.parent_id == table.object_id:
        database.remove(transaction, found)
    return rebuilt(s.engine, table, columns=columns, specs=[spec_of(i) for i in indexes],
                   checks=checks)


def drop_column(s: Any, table: Table, item: ast.AlterTableDropItem) -> Table:
    """The table without one column. Raises SqlError 4924, or 4922 when something uses it."""
    gone = table.ordinals.get(item.name.lower())
    if gone is None:
        if item.if_exists:
            return table
        raise SqlError(4924, "DROP", item.name, table.name)
    column = table.columns[gone]
    used = column.default_name or any(
        gone in index.columns or gone in index.included for index in all_indexes(table))
    if used or table.checks or any(index.where for index in table.indexes):
        raise SqlError(4922, "DROP", item.name)
    if len(table.columns) == 1:
        raise SqlError(4923, item.name, table.name)

    def shift(ordinal: int) -> int:
        return ordinal - (ordinal > gone)

    return rebuilt(
        s.engine, table, columns=table.columns[:gone] + table.columns[gone + 1:],
        specs=[spec_of(index, shift) for index in all_indexes(table)],
        convert=lambda row: row[:gone] + row[gone + 1:])


@compiles(ast.AlterTableAlterColumn)
def alter_column(node: ast.AlterTableAlterColumn, context: Context) -> Run:
    """ALTER TABLE ALTER COLUMN: another type or nullability, rows converted."""
    if node.column.constraints or node.column.identity is not None or node.column.rowguidcol:
        raise context.not_supported(node, "a constraint in ALTER COLUMN")

    def run(s: Any, v: list) -> None:
        database, table, transaction = alter(s, node.name)
        at = table.ordinals.get(node.column.name.lower())
        if at is None:
            raise SqlError(4924, "ALTER COLUMN", node.column.name, table.name)
        old = table.columns[at]
        new = DefinitionBuilder(context, table.name).column(node.column)
        if any(at in i.columns for i in all_indexes(table)) and not widened(old, new):
            raise SqlError(4922, "ALTER COLUMN", old.name)
        if old.rowversion or new.rowversion:
            raise SqlError(4928, old.name, "timestamp")
        change = compile_assignment_conversion(old.type, new.type)

        def convert(row: tuple) -> tuple:
            value = row[at]
            if value is None:
                if not new.nullable:
                    raise SqlError(515, old.name, f"{database.name}.{table.full_name}", "UPDATE")
                return row
            return (*row[:at], change(value), *row[at + 1:]) if change is not None else row

        columns = table.columns[:]
        columns[at] = replace(
            old, type=new.type, nullable=new.nullable, user_type=new.user_type,
            collation=new.collation or old.collation, case_sensitive=new.case_sensitive)
        put_table(s, transaction, database,
                  rebuilt(s.engine, table, columns=columns, convert=convert))

    return run


def widened(old: Column, new: Column) -> bool:
    """Whether a key column only becomes longer (allowed while an index uses it)."""
    return (old.type.name == new.type.name and old.nullable == new.nullable
            and old.case_sensitive == new.case_sensitive
            and 0 < old.type.length <= new.type.length)


@compiles(ast.AlterTableSet)
def alter_table_set(node: ast.AlterTableSet, context: Context) -> Run:
    """SET (LOCK_ESCALATION = TABLE | AUTO | DISABLE); REBUILD only takes its lock."""
    values: list[str] = []
    for option in node.options:
        if node.action == "REBUILD" or option.name != "LOCK_ESCALATION":
            raise context.not_supported(option, f"ALTER TABLE {node.action} {option.name}")
        values.append(getattr(option.value, "text", str(option.value)).upper())

    def run(s: Any, v: list) -> None:
        _, table, transaction = alter(s, node.name)
        for value in values:
            s.engine.journal.assign(transaction, table, "lock_escalation", value != "DISABLE")

    return run


# ---------------------------------------------------------------------- DROP TABLE
def drop_table(s: Any, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP TABLE. Raises SqlError 3701 when there is none or the user may not."""
    if is_temporary(name.name):
        table = s.temp_tables.get(name.name.lower())
        if table is not None:
            s.engine.journal.put(s.work(), s, s.temp_tables, name.name.lower(),
                                 MISSING if table.shadowed is None else table.shadowed)
        elif not if_exists:
            raise SqlError(3701, "drop", "table", name.name, state=5)
        return
    database = target_database(s, name)
    table = database.resolve(name.schema, name.name, s)
    if not isinstance(table, Table):
        if if_exists and table is None:
            return
        raise SqlError(3701, "drop", "table", dotted(name), state=5)
    if not has_permission(s, "CONTROL", table) and not has_permission(
            s, "ALTER", database.schema_of(table)):
        raise SqlError(3701, "drop", "table", dotted(name), state=20)
    transaction = s.work()
    lock_definition(s, transaction, database, table.object_id)
    for item in list(database.objects.values()):
        if isinstance(item, (Constraint, Trigger)) and item.parent_id == table.object_id:
            database.remove(transaction, item)
    database.remove(transaction, table)
    transaction.log_used += 500
