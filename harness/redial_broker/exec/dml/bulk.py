"""INSERT BULK: what a driver says before the rows of a bulk load (MS-TDS 2.2.6.1).

The statement checks the table, its columns and the permissions and leaves a ``PendingBulk`` with
the session; the rows come as a request of their own and are written by ``PendingBulk.load``. Rules:
BULK INSERT, bcp utility, and "Keep nulls or default values during bulk import" pages (F-280).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.storage import Table
from redial_broker.engine.types import ResultColumn, SqlType
from redial_broker.exec.context import Context
from redial_broker.exec.conversion.declared import COLUMN, resolve_type
from redial_broker.exec.declarations import alias_type
from redial_broker.exec.dml.insert import Manner, insert_writer
from redial_broker.exec.dml.rows import InsertColumns, assignment, insert_columns, place, row_maker
from redial_broker.exec.dml.targets import Target, resolve_target
from redial_broker.exec.expressions import Expr
from redial_broker.exec.objects import Constraint
from redial_broker.exec.query.hints import NO_HINTS, Hints
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.triggers import triggers_on

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

BULK = 0xF0
"""Command code of a bulk load in its DONE token."""

_SWITCHES = frozenset({"CHECK_CONSTRAINTS", "FIRE_TRIGGERS", "KEEP_NULLS", "TABLOCK"})
_ESTIMATES = frozenset({"ROWS_PER_BATCH", "KILOBYTES_PER_BATCH"})
"""What only helps the optimizer: a number is demanded, nothing else follows from it."""

_ALIASES = {
    "numeric": "decimal",
    "text": "varchar",
    "ntext": "nvarchar",
    "xml": "nvarchar",
    "image": "varbinary",
    "rowversion": "binary",
    "char": "varchar",
    "nchar": "nvarchar",
    "binary": "varbinary",
}
"""Types whose values travel alike, so that one may be declared and the other sent."""


@definition(
    node="no search has bulk loads",
    source="no search has bulk loads",
    database="no search has bulk loads",
    version="no search has bulk loads",
    load="no search has bulk loads",
)
@dataclass(frozen=True, slots=True)
class PendingBulk:
    """Where the rows of the session's next request go."""

    node: ast.InsertBulk
    source: Any
    database: Database
    version: int
    """The database's schema version the statement was compiled against."""
    load: Callable[[SessionState, Values, Sequence[ResultColumn], list[RowValues]], int | None]
    """(session, locals, columns as sent, rows); writes them and ends the statement."""


@compiles(ast.InsertBulk)
def compile_insert_bulk(node: ast.InsertBulk, context: Context) -> Run:
    """INSERT BULK table (columns) [WITH (options)]: prepare for the rows that follow."""
    target = resolve_target(node.target, context)
    if target.view is not None:
        raise context.not_supported(node, "a bulk load into a view")
    options = _options(node, context)
    names = [column.name for column in node.columns] or None
    chosen = insert_columns(target, names, context, node)
    types = [resolve_type(column.data_type, COLUMN, alias_type(context)) for column in node.columns]
    for ordinal in chosen.ordinals:
        if target.table.columns[ordinal].rowversion:
            raise context.fail(node, SqlError(273, aborts="scope"))
    write = _writer(node, target, chosen, options, context)
    database, source = context.database, context.program.source
    version = database.schema_version

    def load(
        session: SessionState,
        variables: Values,
        columns: Sequence[ResultColumn],
        rows: list[RowValues],
    ) -> int | None:
        if database.schema_version != version:
            raise SqlError(4891)
        _check_types(columns, types, len(chosen.ordinals))
        make = _row_maker(target, chosen, columns, "KEEP_NULLS" in options)
        if "CHECK_CONSTRAINTS" not in options:
            for item in _constraints(target.table):
                if item.trusted:  # sys.check_constraints page, is_not_trusted
                    database.put(session.transaction, replace(item, trusted=False))
        done: int | None = write(
            session,
            variables,
            lambda session, variables, table: [
                make(session, variables, row, table) for row in rows
            ],
        )
        return done

    def run(session: SessionState, _: Values) -> None:
        _check_permissions(session, target, chosen, options)
        session.bulk = PendingBulk(node, source, database, version, load)
        session.set_rowcount(0)

    return run


def _options(node: ast.InsertBulk, context: Context) -> frozenset[str]:
    """The names of the options given; all others are refused by name."""
    for option in node.options:
        if option.name in _SWITCHES and option.value is None:
            continue
        if option.name in _ESTIMATES and isinstance(option.value, ast.Literal):
            continue
        if option.name == "ORDER" and option.arguments:
            continue  # a promise about the rows; the insert sorts them itself
        raise context.not_supported(option, f"INSERT BULK WITH ({option.name})")
    return frozenset(option.name for option in node.options)


def _writer(
    node: ast.InsertBulk,
    target: Target,
    chosen: InsertColumns,
    options: frozenset[str],
    context: Context,
) -> Callable[..., Any]:
    hints = Hints(names=frozenset({"TABLOCK"})) if "TABLOCK" in options else NO_HINTS
    manner = Manner(
        BULK,
        identity=False,
        constraints="CHECK_CONSTRAINTS" in options,
        triggers="FIRE_TRIGGERS" in options,
    )
    nothing = ast.DefaultValues(node.pos, node.end)
    insert = ast.Insert(node.pos, node.end, node.target, None, nothing)
    return insert_writer(insert, target, chosen, hints, context, manner)[0]


def _constraints(table: Table) -> list[Constraint]:
    """The CHECK and FOREIGN KEY constraints of a table that are not disabled."""
    if table.database is None:
        return []
    return [
        item
        for item in cast("Database", table.database).objects.values()
        if isinstance(item, Constraint)
        and item.parent_id == table.object_id
        and item.kind in {"CHECK", "FOREIGN KEY"}
        and not item.disabled
    ]


def _check_permissions(
    session: SessionState, target: Target, chosen: InsertColumns, options: frozenset[str]
) -> None:
    """INSERT, and ALTER where the load leaves out constraints or triggers or sets identities."""
    table = target.table
    if table.temporary:
        return
    check_permission(session, "INSERT", table)
    if (
        chosen.identity
        or ("CHECK_CONSTRAINTS" not in options and _constraints(table))
        or ("FIRE_TRIGGERS" not in options and triggers_on(table, "INSERT"))
    ):
        check_permission(session, "ALTER", table)


def _check_types(columns: Sequence[ResultColumn], types: list[SqlType], width: int) -> None:
    """4816 for a column that is not sent as the statement declared it."""
    if len(columns) != width:
        raise SqlError(4816, min(len(columns), width) + 1)
    for number, (column, type_) in enumerate(zip(columns, types), 1):
        sent, declared = column.type.name, type_.name
        if _ALIASES.get(sent, sent) != _ALIASES.get(declared, declared):
            raise SqlError(4816, number)


def _row_maker(
    target: Target, chosen: InsertColumns, columns: Sequence[ResultColumn], keep_nulls: bool
) -> Callable[..., Any]:
    given: dict[int, Expr] = {}
    for number, (ordinal, column) in enumerate(zip(chosen.ordinals, columns)):
        sent = QueryColumn(column.name, column.type, True)
        expr = assignment(place(sent, number), target, ordinal)
        default = target.table.columns[ordinal].default
        given[ordinal] = expr if keep_nulls or default is None else _or_default(expr, default)
    return row_maker(target, given)


def _or_default(expr: Expr, default: Callable[[Any], Any]) -> Expr:
    inner = expr.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        value = inner(session, variables, row)
        return default(session) if value is None else value

    return Expr(run, expr.type, expr.nullable)
