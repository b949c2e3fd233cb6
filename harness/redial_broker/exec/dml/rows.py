"""New rows: values converted to their columns' types, defaults, identity and rowversion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.inside import noted
from redial_broker.engine.storage import Table
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.conversion.numbers import BOUNDS
from redial_broker.exec.dml.targets import Target, checker
from redial_broker.exec.expressions.expr import Expr, closure, constant, fold
from redial_broker.exec.expressions.expr import column as column_of_row
from redial_broker.exec.query.rowset import QueryColumn

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class InsertColumns:
    """Which columns an INSERT gives values for."""

    ordinals: list[int]
    """In the order of the values."""
    identity: bool
    """An explicit value for the identity column is among them."""
    listed: bool
    unlisted_identity: str = ""
    """Without a column list: the table's name, where it has an identity column."""


def insert_columns(
    target: Target, names: list[str] | None, context: Context, node: ast.Node
) -> InsertColumns:
    """The columns of a column list, or all that take a value when there is none.

    Raises 207 for an unknown name, 264 for one given twice, 271 for a computed column.
    """
    table = target.table
    if names is None and target.written is not None:
        names = target.written.names
        ordinals = [
            ordinal
            for name in names
            if (ordinal := target.ordinal(name)) is not None
            and table.columns[ordinal].identity is None
        ]
        return InsertColumns(ordinals, False, False)
    if names is None:
        ordinals = [
            i for i, c in enumerate(table.columns) if c.identity is None and c.computed is None
        ]
        return InsertColumns(
            ordinals, False, False, table.name if table.identity_column is not None else ""
        )
    ordinals = []
    for name in names:
        ordinal = target.ordinal(name)
        if ordinal is None:
            raise context.fail(node, SqlError(207, name))
        if table.columns[ordinal].computed is not None:
            raise context.fail(node, SqlError(271, table.columns[ordinal].name, aborts="scope"))
        if ordinal in ordinals:
            raise context.fail(node, SqlError(264, name, aborts="scope"))
        ordinals.append(ordinal)
    return InsertColumns(ordinals, table.identity_column in ordinals, True)


def place(column: QueryColumn, number: int) -> Expr:
    """A column of the source row as an expression."""
    found = column_of_row(number, column.type, column.nullable, column.collation)
    found.untyped = column.untyped
    return found


def assignment(expr: Expr, target: Target, ordinal: int) -> Expr:
    """``expr`` converted to the column's type (2628, 8152, 8115, 245 ... at run time)."""
    column = target.table.columns[ordinal]
    if expr.untyped:
        return expr
    convert = compile_assignment_conversion(
        expr.type, column.type, table=target.shown, column=column.name
    )
    if convert is None:
        return expr
    inner = expr.fn
    made = Expr(
        lambda session, variables, row: convert(inner(session, variables, row)),
        column.type,
        expr.nullable,
    )
    return fold(made, [expr])


def row_maker(
    target: Target, given: dict[int, Expr]
) -> Callable[[SessionState, Values, RowValues, Table], RowValues]:
    """make(session, variables, source row, table) -> new row. given: values of the columns that have one."""
    table = target.table
    parts: list[Expr] = []
    for ordinal, column in enumerate(table.columns):
        part = given.get(ordinal)
        if part is None and column.default is not None:
            part = _default(column)
        parts.append(part or constant(None, column.type))
    identity = table.identity_column if table.identity_column not in given else None
    version = table.rowversion_column
    items = ", ".join(f"x{i}" for i in range(len(parts)))
    if identity is None and version is None and not table.computed:
        whole = closure(f"return ({items},)", parts, strict=False)
        return lambda session, variables, row, table: whole(session, variables, row)
    values = closure(f"return [{items}]", parts, strict=False)

    def run(
        session: SessionState, variables: Values, outer: RowValues, table: Table
    ) -> tuple[Any, ...]:
        row = values(session, variables, outer)
        if identity is not None:
            row[identity] = noted(session, "identity", next_identity, table)
        if version is not None:
            row[version] = next_version(session, table)
        return table.with_computed(session, tuple(row))

    return run


def _default(column: Column) -> Expr:
    default = column.default
    assert default is not None
    return Expr(lambda session, variables, row: default(session), column.type, column.nullable)


def changed_row(
    session: SessionState, table: Table, row: RowValues, values: dict[int, Any]
) -> tuple[Any, ...]:
    """A row with some columns changed by a cascade, checked like that of an UPDATE."""
    new = list(row)
    for ordinal, value in values.items():
        new[ordinal] = value
    if table.rowversion_column is not None:
        new[table.rowversion_column] = next_version(session, table)
    made = table.with_computed(session, tuple(new))
    check = checker(Target(table), "UPDATE", set(values))
    if check is not None:
        check(session, made)
    return made


def next_identity(table: Table) -> Any:
    """The next identity value as its column's type; 8115 when the type is used up."""
    column = table.columns[table.identity_column]  # type: ignore[index]
    value = table.next_identity
    low, high = BOUNDS.get(column.type.name, (None, None))
    if low is not None and high is not None and not low <= value <= high:
        raise SqlError(8115, "IDENTITY", column.type.name)
    value = table.take_identity()
    return Decimal(value) if column.type.name in {"decimal", "numeric"} else value


def note_identity(session: SessionState, table: Table, rows: list[RowValues]) -> None:
    """@@IDENTITY and SCOPE_IDENTITY() after an INSERT ("@@IDENTITY" page: NULL after an INSERT
    into a table without an identity column; SCOPE_IDENTITY() keeps its value then).
    """
    if not rows:
        return
    if table.identity_column is None:
        session.last_identity = None
    else:
        note_given(session, table, rows)
        session.last_identity = session.scope_identity = rows[-1][table.identity_column]


def note_given(session: SessionState, table: Table, rows: list[RowValues]) -> None:
    """A value given with IDENTITY_INSERT ON that lies ahead becomes the current identity value
    ("SET IDENTITY_INSERT" page), also of a row that is refused afterwards. Raises SqlError 339
    for NULL (F-530).
    """
    place = table.identity_column
    if any(row[place] is None for row in rows):  # type: ignore[index]
        raise SqlError(339)
    values = [int(row[place]) for row in rows]  # type: ignore[index]
    if not values:
        return
    step = table.columns[table.identity_column].identity[1]  # type: ignore[index]
    last = max(values) if step > 0 else min(values)
    if (last - (table.next_identity - step)) * step > 0:
        session.engine.journal.assign(None, table, "next_identity", last + step)


def next_version(session: SessionState, table: Table) -> bytes:
    """A new rowversion; #temp tables and table variables draw from the current database."""
    database = cast("Database", table.database) if table.database is not None else session.database
    return noted(session, "rowversion", database.next_rowversion, session.transaction)
