"""SELECT INTO: a new table from a query's columns.

Source: "SELECT - INTO clause" page. Keys, defaults and checks are not carried over; the identity
property is, when one table is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.completions import SELECT_INTO
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.ddl.tables import create_permanent
from redial_broker.exec.ddl.temporary import create_temporary, is_temporary
from redial_broker.exec.dml.row_length import refuse_long_row
from redial_broker.exec.dml.targets import Target, Writes
from redial_broker.exec.query.names import contains
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.registry import Run

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.query.compile import QueryCompiler
    from redial_broker.exec.session import SessionState


def compile_into(query: ast.Query, compiler: QueryCompiler, context: Context) -> Run:
    """Read first, then make the table, then fill it."""
    select = first_select(query.body)
    numbered: list[tuple[int, ast.IdentityFunction]] = []
    if select is query.body:
        select, numbered = _without_identity(select, context)
    name = select.into
    assert name is not None
    plain = replace(select, into=None)
    body = plain if query.body is first_select(query.body) else _with_first(query.body, plain)
    rowset = compiler.query(replace(query, body=body), context.scope)
    one_table = body is plain and len(select.from_) == 1 and not contains(select.from_[0], ast.Join)
    columns = [_column(c, n, one_table, context, name) for n, c in enumerate(rowset.columns, 1)]
    for place, function in numbered:
        for other in columns:
            if other.identity:
                raise context.fail(name, SqlError(8108, name.name, other.name))
        columns[place].identity = (function.seed, function.increment)
        columns[place].nullable = False
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise context.fail(name, SqlError(2705, column.name, name.name))
        seen.add(column.name.lower())
    refuse_long_row(name.name, columns)
    context.uses_temp = True  # the table does not exist yet when this is compiled

    def run(session: SessionState, variables: Values) -> None:
        rows = session.limited(rowset.rows(session, variables, ()))
        for place, function in numbered:
            rows = [
                (*row[:place], function.seed + number * function.increment, *row[place + 1 :])
                for number, row in enumerate(rows)
            ]
        fresh = [replace(column) for column in columns]
        table = create(session, name, TableDefinition(name.name, fresh, [], []))
        writes = Writes(session, variables, Target(table))
        for row in rows:
            writes.insert(row)
        _continue_identity(session, table, rows)
        session.done(SELECT_INTO, len(rows))

    return run


def first_select(body: Any) -> ast.Select:
    """The SELECT that a query begins with."""
    while not isinstance(body, ast.Select):
        body = body.left if isinstance(body, ast.SetOperation) else body.body
    return body


def _with_first(body: Any, select: ast.Select) -> Any:
    """The set operation with another first SELECT."""
    if isinstance(body, ast.Select):
        return select
    if isinstance(body, ast.SetOperation):
        return replace(body, left=_with_first(body.left, select))
    return replace(body, body=_with_first(body.body, select))


def refuse_later(query: ast.Query, context: Context) -> None:
    """196: INTO stands in the first SELECT of a set operation and nowhere else."""
    first = first_select(query.body)
    for part in query.body.walk():
        if isinstance(part, ast.Select) and part.into is not None and part is not first:
            raise context.fail(part, SqlError(196, aborts="scope"))


def _without_identity(
    select: ast.Select, context: Context
) -> tuple[ast.Select, list[tuple[int, ast.IdentityFunction]]]:
    """The SELECT with IDENTITY(...) made a plain column, and (its place, the function).

    Source: "IDENTITY (Function)" page. It must have a name, and stand behind no * here.
    """
    found: list[tuple[int, ast.IdentityFunction]] = []
    items: list[ast.SelectItem] = []
    for place, item in enumerate(select.items):
        function = item.value
        if isinstance(function, ast.IdentityFunction):
            if any(isinstance(before.value, ast.Star) for before in items):
                raise context.not_supported(function, "IDENTITY behind * in SELECT INTO")
            found.append((place, function))
            zero = ast.Literal(item.pos, item.end, "int", 0)
            item = replace(
                item, value=ast.Cast(item.pos, item.end, "CAST", zero, function.data_type)
            )
        items.append(item)
    if len(found) > 1:
        assert select.into is not None
        raise context.fail(select.into, SqlError(8108, select.into.name, "identity"))
    if not found:
        return select, found
    return replace(select, items=items), found


def _column(
    column: QueryColumn, number: int, one_table: bool, context: Context, node: ast.Node
) -> Column:
    if not column.name:
        raise context.fail(node, SqlError(1038))
    if column.type.name == "rowversion":
        raise context.not_supported(node, "a rowversion column in SELECT INTO")
    identity = column.identity if one_table and column.identity else None
    collation = column.collation.name if column.collation is not None else ""
    return Column(
        column.name,
        column.type,
        column.nullable and not identity,
        identity,
        case_sensitive=column.collation is not None and column.collation.case_sensitive,
        collation=collation,
    )


def create(session: SessionState, name: ast.ObjectName, definition: TableDefinition) -> Table:
    """The new, empty table. Raises 2714 when the name is taken."""
    if is_temporary(name.name):
        create_temporary(session, definition)
        made: Table = session.temp_tables[name.name.lower()]
        return made
    return create_permanent(session, name, definition)


def _continue_identity(session: SessionState, table: Table, rows: list[RowValues]) -> None:
    """The identity goes on behind the last value copied."""
    place = table.identity_column
    if place is None or not rows:
        return
    identity = table.columns[place].identity
    assert identity is not None  # it is the identity column
    step = identity[1]
    values = [row[place] for row in rows]
    last = max(values) if step > 0 else min(values)
    session.engine.journal.assign(None, table, "next_identity", int(last) + step)
