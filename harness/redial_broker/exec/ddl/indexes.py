"""CREATE, ALTER and DROP INDEX; statistics.

Rules: CREATE INDEX, ALTER INDEX and DROP INDEX pages. Sch-M on the table throughout: nothing here
is online. A disabled index keeps its definition and no rows until it is rebuilt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import dotted, target_database
from redial_broker.exec.ddl.definition import DefinitionBuilder
from redial_broker.exec.ddl.index_options import index_options
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.rebuild import all_indexes, never, rebuilt, spec_of
from redial_broker.exec.ddl.shape import KeySpec
from redial_broker.exec.ddl.temporary import alter, check_key_length, is_temporary, put_table
from redial_broker.exec.dml.references import foreign_keys
from redial_broker.exec.objects import View
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.strictness import require, strict_index

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.CreateIndex)
def create_index(node: ast.CreateIndex, context: Context) -> Run:
    """CREATE [UNIQUE] [CLUSTERED | NONCLUSTERED] INDEX ... [INCLUDE] [WHERE] [WITH]."""
    if node.kind or node.using:
        raise context.not_supported(node, f"CREATE {node.kind} INDEX")
    if node.filegroup is not None and node.filegroup.upper() not in {"PRIMARY", "DEFAULT"}:
        raise context.not_supported(node, f"filegroup {node.filegroup}")
    replaces = any(o.name == "DROP_EXISTING" and o.value for o in node.options or [])

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name)
        options = index_options(context, node.options, unique=node.unique)
        if isinstance(context.database.resolve(node.table.schema, node.table.name, session), View):
            raise context.not_supported(node, "an index on a view")
        database, table, transaction = alter(session, node.table, 1088)
        spec = index_spec(context, table, node, options)
        if strict_index(table.columns, spec.columns, spec.where):
            require(session, "CREATE INDEX")
        others = kept_indexes(table, node, replaces)
        if node.clustered and any(index.clustered for index in others):
            assert table.clustered is not None
            raise SqlError(1902, dotted(node.table), table.clustered.name, state=3)
        twin = rebuilt(session.engine, table, specs=[spec_of(index) for index in others] + [spec])
        put_table(session, transaction, database, twin)
        check_key_length(session, twin)

    return run


def index_spec(context: Context, table: Table, node: ast.CreateIndex, options: Any) -> KeySpec:
    """What CREATE INDEX describes. Raises SqlError 1909, 1911, 1919, 1999."""
    builder = DefinitionBuilder(context, table.name, table.columns)
    ordinals = builder.ordinals(node, node.columns, None)
    included = builder.included(node.include)
    if set(included) & set(ordinals) or len(set(included)) != len(included):
        raise SqlError(1909)
    where, text, bind = builder.filter(node.where, node.name)
    return KeySpec(
        node.name,
        ordinals,
        node.unique,
        bool(node.clustered),
        included=included,
        where=where,
        where_text=text,
        bind=bind,
        options=options,
        descending=builder.descending(node.columns, ordinals),
    )


def kept_indexes(table: Table, node: ast.CreateIndex, replaces: bool) -> list[Index]:
    """The indexes beside the new one. Raises SqlError 1913, or 7999 and 1907 for DROP_EXISTING."""
    old = next((i for i in all_indexes(table) if i.name.lower() == node.name.lower()), None)
    if not replaces:
        if old is not None:
            raise SqlError(1913, node.name, dotted(node.table))
        return all_indexes(table)
    if old is None:
        raise SqlError(7999, node.name, dotted(node.table))
    if old.constraint:
        raise SqlError(1907, node.name)
    return [index for index in all_indexes(table) if index is not old]


@compiles(ast.DropIndex)
def drop_index(node: ast.DropIndex, context: Context) -> Run:
    """DROP INDEX [IF EXISTS] name ON table; 3723 for the index of a constraint."""

    def run(session: SessionState, variables: Values) -> None:
        for item in node.items:
            shown = f"{dotted(item.table)}.{item.name}"
            database = target_database(session, item.table)
            found = (
                session.temp_tables.get(item.table.name.lower())
                if is_temporary(item.table.name)
                else database.resolve(item.table.schema, item.table.name, session)
            )
            index = None
            if isinstance(found, Table):
                index = next(
                    (i for i in all_indexes(found) if i.name.lower() == item.name.lower()), None
                )
            if index is None:
                if node.if_exists:
                    continue
                raise SqlError(3701, "drop", "index", shown, state=6)
            assert isinstance(found, Table)
            refuse_enforcing(found, index, shown)
            database, table, transaction = alter(session, item.table)
            specs = [spec_of(i) for i in all_indexes(table) if i.name.lower() != item.name.lower()]
            put_table(session, transaction, database, rebuilt(session.engine, table, specs=specs))

    return run


def refuse_enforcing(table: Table, index: Index, shown: str) -> None:
    """Raise SqlError 3723 for an index that enforces a constraint."""
    if index.constraint:
        raise SqlError(3723, shown, "PRIMARY KEY" if index.primary else "UNIQUE KEY")
    if any(c.reference.index.lower() == index.name.lower() for c in foreign_keys(table)[1]):
        raise SqlError(3723, shown, "FOREIGN KEY")


# ---------------------------------------------------------------------- ALTER INDEX
@compiles(ast.AlterIndex)
def alter_index(node: ast.AlterIndex, context: Context) -> Run:
    """REBUILD enables and takes options, DISABLE, SET takes options, REORGANIZE only locks."""
    if node.action not in {"REBUILD", "REORGANIZE", "SET", "DISABLE"}:
        raise context.not_supported(node, f"ALTER INDEX {node.action}")

    def run(session: SessionState, variables: Values) -> None:
        index_options(context, node.options)
        database, table, transaction = alter(session, node.table, 1088)
        chosen = [
            i
            for i in all_indexes(table)
            if node.name is None or i.name.lower() == node.name.lower()
        ]
        if node.name is not None and not chosen:
            raise SqlError(2727, node.name)
        if node.action in ("REORGANIZE", "SET"):
            for index in chosen:
                if index.disabled and node.name is not None:
                    raise SqlError(1973, index.name, table.name)
        if node.action == "DISABLE":
            disable(session, context, transaction, database, table, chosen, node)
        elif node.action != "REORGANIZE":
            specs = [
                _altered(context, index, node) if index in chosen else spec_of(index)
                for index in all_indexes(table)
            ]
            put_table(session, transaction, database, rebuilt(session.engine, table, specs=specs))

    return run


def _altered(context: Context, index: Index, node: ast.AlterIndex) -> KeySpec:
    spec = spec_of(index)
    spec.options = index_options(context, node.options, unique=index.unique, old=index.options)
    if index.disabled and node.action == "REBUILD":
        spec.disabled = False
        spec.where = spec.bind(index.table.columns) if spec.bind is not None else None
    return spec


def disable(
    session: SessionState,
    context: Context,
    transaction: Transaction,
    database: Database,
    table: Table,
    chosen: list[Index],
    node: ast.AlterIndex,
) -> None:
    """ALTER INDEX DISABLE: the rows go, and FOREIGN KEYs that refer to the key are disabled."""
    for index in chosen:
        if index.clustered:
            raise context.not_supported(node, "disabling a clustered index")
        for constraint in foreign_keys(table)[1]:
            if constraint.reference.index.lower() == index.name.lower() and not constraint.disabled:
                child = database.object_by_id(constraint.parent_id)
                session.info(
                    f"Warning: Foreign key '{constraint.name}' on table '{child.name}' "
                    f"referencing table '{table.name}' was disabled as a result of disabling "
                    f"the index '{index.name}'.",
                    0,
                    1961,
                )
                database.put(transaction, replace(constraint, disabled=True, trusted=False))
    specs = []
    for index in all_indexes(table):
        spec = spec_of(index)
        if index in chosen:
            spec.disabled, spec.where = True, never
        specs.append(spec)
    put_table(session, transaction, database, rebuilt(session.engine, table, specs=specs))
