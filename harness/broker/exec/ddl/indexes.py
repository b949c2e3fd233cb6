"""CREATE, ALTER and DROP INDEX.

Rules: CREATE INDEX, ALTER INDEX and DROP INDEX pages. Sch-M on the table throughout: nothing here
is online.
"""

from __future__ import annotations

from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.storage import Table
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.ddl.common import dotted, target_database
from harness.broker.exec.ddl.definition import DefinitionBuilder, KeySpec, check_index_options
from harness.broker.exec.ddl.naming import check_length
from harness.broker.exec.ddl.rebuild import all_indexes, rebuilt, spec_of
from harness.broker.exec.ddl.tables import alter, check_key_length, put_table
from harness.tsql import ast


@compiles(ast.CreateIndex)
def create_index(node: ast.CreateIndex, context: Context) -> Run:
    """CREATE [UNIQUE] [CLUSTERED | NONCLUSTERED] INDEX ... [INCLUDE] [WHERE] [WITH]."""
    if node.kind or node.using:
        raise context.not_supported(node, f"CREATE {node.kind} INDEX")
    if node.filegroup is not None and node.filegroup.upper() not in {"PRIMARY", "DEFAULT"}:
        raise context.not_supported(node, f"filegroup {node.filegroup}")
    drop_existing = any(o.name == "DROP_EXISTING" and o.value for o in node.options or [])
    if drop_existing:
        raise context.not_supported(node, "DROP_EXISTING = ON")

    def run(s: Any, v: list) -> None:
        check_length(node.name)
        page_locks = check_index_options(context, node, node.options)
        database, table, transaction = alter(s, node.table)
        if any(index.name.lower() == node.name.lower() for index in all_indexes(table)):
            raise SqlError(1913, node.name, dotted(node.table))
        if node.clustered and table.clustered is not None:
            raise SqlError(1902, dotted(node.table), table.clustered.name, state=3)
        builder = DefinitionBuilder(context, table.name, table.columns)
        ordinals = builder.ordinals(node, node.columns, None)
        included = [builder.ordinal(name) for name in node.include or []]
        if set(included) & set(ordinals):
            raise SqlError(1909)
        where, text = builder.filter(node.where)
        spec = KeySpec(node.name, ordinals, node.unique, bool(node.clustered), included=included,
                       where=where, where_text=text)
        twin = rebuilt(s.engine, table,
                       specs=[spec_of(index) for index in all_indexes(table)] + [spec])
        twin.page_locks = table.page_locks and page_locks
        put_table(s, transaction, database, twin)
        check_key_length(s, twin)

    return run


@compiles(ast.DropIndex)
def drop_index(node: ast.DropIndex, context: Context) -> Run:
    """DROP INDEX [IF EXISTS] name ON table; 3723 for the index of a constraint."""

    def run(s: Any, v: list) -> None:
        for item in node.items:
            shown = f"{dotted(item.table)}.{item.name}"
            database = target_database(s, item.table)
            found = database.resolve(item.table.schema, item.table.name, s) \
                if not item.table.name.startswith("#") \
                else s.temp_tables.get(item.table.name.lower())
            index = None
            if isinstance(found, Table):
                index = next((i for i in all_indexes(found)
                              if i.name.lower() == item.name.lower()), None)
            if index is None:
                if node.if_exists:
                    continue
                raise SqlError(3701, "drop", "index", shown, state=6)
            if index.constraint:
                kind = "PRIMARY KEY" if index.primary else "UNIQUE KEY"
                raise SqlError(3723, shown, kind)
            database, table, transaction = alter(s, item.table)
            specs = [spec_of(i) for i in all_indexes(table)
                     if i.name.lower() != item.name.lower()]
            put_table(s, transaction, database, rebuilt(s.engine, table, specs=specs))

    return run


@compiles(ast.AlterIndex)
def alter_index(node: ast.AlterIndex, context: Context) -> Run:
    """REBUILD and REORGANIZE have no pages to move: they only lock. SET takes known options."""
    if node.action not in {"REBUILD", "REORGANIZE", "SET"}:
        raise context.not_supported(node, f"ALTER INDEX {node.action}")

    def run(s: Any, v: list) -> None:
        page_locks = check_index_options(context, node, node.options)
        _, table, transaction = alter(s, node.table)
        if node.name is not None and not any(
                i.name.lower() == node.name.lower() for i in all_indexes(table)):
            raise SqlError(2727, node.name)
        if any(option.name == "ALLOW_PAGE_LOCKS" for option in node.options):
            s.engine.journal.assign(transaction, table, "page_locks", page_locks)

    return run
