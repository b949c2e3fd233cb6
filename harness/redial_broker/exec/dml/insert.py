"""INSERT: VALUES, SELECT, DEFAULT VALUES; IDENTITY_INSERT.

Locks: IX on the table, then per row X on the clustered key and X on each nonclustered key, the gap
before each tested against range locks (F-201).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.access import ESCALATION
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.switches import value
from redial_broker.exec.completions import INSERT
from redial_broker.exec.context import Context
from redial_broker.exec.dml.firing import statement_triggers
from redial_broker.exec.dml.nested import nested_source
from redial_broker.exec.dml.output import Outputs, each
from redial_broker.exec.dml.references import references
from redial_broker.exec.dml.rows import (
    InsertColumns,
    assignment,
    changed_row,
    insert_columns,
    note_given,
    note_identity,
    place,
    row_maker,
)
from redial_broker.exec.dml.targets import (
    Target,
    Writes,
    checker,
    lock_for_write,
    resolve_target,
)
from redial_broker.exec.dml.through import view_target
from redial_broker.exec.expressions import Expr, Scope, compile_expression
from redial_broker.exec.objects import View
from redial_broker.exec.program import SWITCH
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.hints import Hints, parse_hints
from redial_broker.exec.query.ordering import row_limit
from redial_broker.exec.query.query_hints import query_hints
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.sources import resolve_object
from redial_broker.exec.query.statement import refuse_for
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.triggers import triggers_on

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

    MakeRows = Callable[[Any, Any, Table], list[RowValues]]
    """(session, variables, table) -> the new rows, everything read that has to be read."""

MAX_ROWS = 1000
"""Row values one INSERT ... VALUES may have (table value constructor page)."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How rows are written: as an INSERT does, or as a bulk load, which may leave rules out."""

    command: int = INSERT
    identity: bool = True
    """SET IDENTITY_INSERT decides about explicit values."""
    constraints: bool = True
    """CHECK constraints are tested."""
    triggers: bool = True
    """They fire."""


AS_INSERT = Manner()


@compiles(ast.Insert)
def compile_insert(node: ast.Insert, context: Context) -> Run:
    """INSERT: collect the new rows, then write them."""
    target = insert_target(node, context)
    hints = insert_hints(node, context)
    query_hints(node.options, context)
    chosen = insert_columns(target, node.columns, context, node)
    make_rows = _rows(node, target, chosen, context)
    write, watched = insert_writer(node, target, chosen, hints, context)

    def run(session: SessionState, variables: Values) -> int | None:
        return write(session, variables, make_rows)

    return watched(run)


def insert_target(node: ast.Insert, context: Context) -> Target:
    """The target of an INSERT: a view without an INSTEAD OF trigger is its base table."""
    name = node.target
    if isinstance(name, ast.ObjectName) and not (
        len(name.parts) == 1 and name.name.lower() in context.table_variables
    ):
        if node.with_ is not None and len(name.parts) == 1:
            common = QueryCompiler(context).common_tables(node, context.scope, {})
            if name.name.lower() in common:
                return view_target(name, node.columns, context, common)
        found = resolve_object(name, context)
        if isinstance(found, View) and not triggers_on(found, "INSERT"):
            return view_target(name, node.columns, context)
    return resolve_target(name, context, "INSERT")


def insert_hints(node: ast.Insert, context: Context) -> Hints:
    """Hints on the target. Raises 4102 for READPAST, 4140 for READCOMMITTEDLOCK."""
    hints = parse_hints(node.hints, context, target=True)
    if "READPAST" in hints.names:
        raise context.fail(node, SqlError(4102, aborts="scope"))
    if "READCOMMITTEDLOCK" in hints.names:
        raise context.fail(node, SqlError(4140, aborts="scope"))
    return hints


def insert_writer(
    node: ast.Insert,
    target: Target,
    chosen: InsertColumns,
    hints: Hints,
    context: Context,
    manner: Manner = AS_INSERT,
) -> tuple[Callable[[Any, list[Any], MakeRows], int | None], Callable[[Run], Run]]:
    """write(session, variables, make_rows): locks, checks, writes, identity, OUTPUT, row count;
    and what makes the statement around it tell of its OUTPUT when it fails.
    """
    check = checker(target, "INSERT", constraints=manner.constraints)
    outputs = Outputs(node.outputs, target, context, [], 0, inserted=True, deleted=False)
    told = outputs.client is not None
    nothing = (None,) * len(target.table.columns)
    name = target.table.name
    has_identity = target.table.identity_column is not None
    triggers = None
    if manner.triggers:
        triggers = statement_triggers(node, target, "INSERT", context)
    command = manner.command
    keys = references(target.table, "INSERT", None, changed_row) if manner.constraints else None

    def write(session: SessionState, variables: Values, make_rows: MakeRows) -> int | None:
        table = target.at(variables)
        if has_identity and manner.identity:
            check_identity_insert(session, table, chosen, name)
        lock_for_write(session, table, hints, "INSERT", target.securables)
        if triggers is not None and triggers.replaced(session):
            triggers.fire_instead(
                session,
                command,
                unnumbered(session, table, chosen, make_rows(session, variables, table)),
                [],
            )
            return SWITCH
        rows = make_rows(session, variables, table)
        if chosen.identity:
            note_given(session, table, rows)
        writes = Writes(session, variables, target)
        left_out: list[RowValues] = []

        enter = entering(session, writes, check, left_out)

        def changes() -> None:
            if told:
                each(rows, enter, lambda row: row + nothing)
                return
            for row in rows:
                enter(row)

        writes.all(changes)
        if left_out:
            rows = without(session, rows, left_out)
        if keys is not None:
            keys.inserted(session, writes.transaction, rows)
        if len(rows) >= ESCALATION:
            session.engine.access.escalate(writes.transaction, table)
        note_identity(session, table, rows)
        if outputs:
            outputs.deliver(session, variables, [row + nothing for row in rows])
        if triggers is not None and triggers.fire(session, command, rows, []):
            return SWITCH
        session.done(command, len(rows))
        return None

    return write, outputs.watched


def entering(
    session: SessionState,
    writes: Writes,
    check: Callable[[SessionState, RowValues], None] | None,
    left_out: list[RowValues],
) -> Callable[[RowValues], None]:
    """Check and write one row; one that IGNORE_DUP_KEY refuses goes to ``left_out``."""

    def enter(row: RowValues) -> None:
        if check is not None:
            check(session, row)
        try:
            writes.insert(row)
        except SqlError as error:
            if not error.ignored:
                raise
            left_out.append(row)

    return enter


def without(
    session: SessionState, rows: list[RowValues], left_out: list[RowValues]
) -> list[RowValues]:
    """The rows an index with IGNORE_DUP_KEY did not leave out, and message 3604."""
    message = SqlError(3604)
    session.info(message.text, message.severity, message.number)
    gone = {id(row) for row in left_out}
    return [row for row in rows if id(row) not in gone]


def unnumbered(
    session: SessionState, table: Table, chosen: InsertColumns, rows: list[RowValues]
) -> list[RowValues]:
    """The rows an INSTEAD OF trigger sees: no identity value is drawn for them, it reads 0."""
    number = table.identity_column
    if number is None or chosen.identity or not rows:
        return rows
    session.engine.journal.assign(None, table, "next_identity", rows[0][number])
    return [(*row[:number], type(row[number])(0), *row[number + 1 :]) for row in rows]


def same_table(one: Table | None, other: Table) -> bool:
    """Whether two are one table: ALTER TABLE and CREATE INDEX put a new object in its place."""
    if one is None or one is other:
        return one is other
    return (
        one.lock_key == other.lock_key
        and one.temporary == other.temporary
        and one.name == other.name
    )


def check_identity_insert(
    session: SessionState, table: Table, chosen: InsertColumns, name: str
) -> None:
    """544 for a value given with IDENTITY_INSERT OFF, 545 for none given with it ON."""
    on = same_table(session.identity_insert, table)
    if chosen.identity and not on:
        raise SqlError(544, name)
    if on and not chosen.identity:
        raise SqlError(545, name) if chosen.listed else SqlError(8101, name)


# ---------------------------------------------------------------------- where rows come from
def _rows(node: ast.Insert, target: Target, chosen: InsertColumns, context: Context) -> MakeRows:
    source = node.source
    if isinstance(source, ast.Values) and len(source.rows) > MAX_ROWS:
        raise context.fail(node, SqlError(10738, MAX_ROWS, aborts="scope"))
    if isinstance(source, ast.DefaultValues):
        make = row_maker(target, {})
        return lambda session, variables, table: [make(session, variables, (), table)]
    if isinstance(source, ast.Values):
        simple = len(source.rows) == 1 or any(
            isinstance(item, ast.DefaultValue) for row in source.rows for item in row
        )
        if simple and node.top is None:
            return _values(source, target, chosen, context)
    return _query(node, target, chosen, context)


def _values(
    source: ast.Values, target: Target, chosen: InsertColumns, context: Context
) -> MakeRows:
    """VALUES with one row, or with DEFAULT in it: each value goes straight to its column."""
    makes = [
        row_maker(target, given_values(row, source, target, chosen, context.scope, context))
        for row in source.rows
    ]
    if len(makes) == 1:
        only = makes[0]
        return lambda session, variables, table: [only(session, variables, (), table)]
    return lambda session, variables, table: [
        make(session, variables, (), table) for make in session.limited(makes)
    ]


def given_values(
    row: list[ast.Expression],
    node: ast.Values,
    target: Target,
    chosen: InsertColumns,
    scope: Scope,
    context: Context,
) -> dict[int, Expr]:
    """The values one row of VALUES gives, by the ordinal of their column; DEFAULT gives none."""
    _check_width(len(row), chosen, node, context)
    given: dict[int, Expr] = {}
    for ordinal, item in zip(chosen.ordinals, row):
        if isinstance(item, ast.DefaultValue):
            continue
        expr = compile_expression(item, scope)
        if target.table.columns[ordinal].rowversion:
            _refuse_version(expr.constant and expr.value is None, node, context)
            continue
        given[ordinal] = assignment(expr, target, ordinal)
    return given


def _query(node: ast.Insert, target: Target, chosen: InsertColumns, context: Context) -> MakeRows:
    if isinstance(node.source, ast.Query):
        context.nesting = nested_source(node, context)
        if context.nesting is not None and triggers_on(target.table, "INSERT"):
            raise context.fail(node, SqlError(355, target.table.name, aborts="scope"))
    compiler = QueryCompiler(context)
    compiler.note_options(node)
    common = compiler.common_tables(node, context.scope, {}) if node.with_ else {}
    refuse_for(node.source, context, "INSERT")
    rowset = compiler.query(cast("ast.Query", node.source), context.scope, common)
    make = maker_of(rowset.columns, target, chosen, node, context)
    rows = rowset.rows
    top = row_limit(node.top, context.scope) if node.top else None

    def run(session: SessionState, variables: Values, table: Table) -> list[RowValues]:
        found = session.limited(rows(session, variables, ()))
        if top is not None:
            found = found[: top(session, variables, (), len(found))]
        made = [make(session, variables, row, table) for row in found]
        if (
            table.rowversion_column is not None
            and value(session.engine, "insert_rowversions") != "in order"
        ):
            made = turned(session, table, made)
        return made

    return run


def turned(session: SessionState, table: Table, rows: list[RowValues]) -> list[RowValues]:
    """The rows with their rowversions dealt out from the last to the first (F-365)."""
    at = table.rowversion_column
    assert at is not None
    versions = [row[at] for row in reversed(rows)]
    return [
        table.with_computed(session, (*row[:at], version, *row[at + 1 :]))
        for row, version in zip(rows, versions)
    ]


def maker_of(
    columns: list[QueryColumn],
    target: Target,
    chosen: InsertColumns,
    node: ast.Node,
    context: Context,
) -> Callable[[SessionState, Values, RowValues, Table], RowValues]:
    """The row maker over rows with these columns."""
    _check_width(len(columns), chosen, node, context)
    given: dict[int, Expr] = {}
    for number, (ordinal, column) in enumerate(zip(chosen.ordinals, columns)):
        if target.table.columns[ordinal].rowversion:
            _refuse_version(column.untyped, node, context)
            continue
        given[ordinal] = assignment(place(column, number), target, ordinal)
    return row_maker(target, given)


def _check_width(width: int, chosen: InsertColumns, node: ast.Node, context: Context) -> None:
    expected = len(chosen.ordinals)
    if width == expected:
        return
    if not chosen.listed:
        if chosen.unlisted_identity and width == expected + 1:
            raise context.fail(node, SqlError(8101, chosen.unlisted_identity, aborts="scope"))
        raise context.fail(node, SqlError(213, aborts="scope"))
    values = isinstance(node, ast.Values)
    number = (110 if width > expected else 109) if values else (121 if width > expected else 120)
    raise context.fail(node, SqlError(number, severity=15, aborts="scope"))


def _refuse_version(empty: bool, node: ast.Node, context: Context) -> None:
    """273: only NULL and DEFAULT may be given for a rowversion column."""
    if not empty:
        raise context.fail(node, SqlError(273, aborts="scope"))


# ---------------------------------------------------------------------- SET IDENTITY_INSERT
@compiles(ast.SetIdentityInsert)
def compile_set_identity_insert(node: ast.SetIdentityInsert, context: Context) -> Run:
    """SET IDENTITY_INSERT: one table of the session at a time."""
    target = resolve_target(node.table, context)
    table = target.table
    if table.identity_column is None:
        raise context.fail(node, SqlError(8106, table.name, aborts="scope"))

    def run(session: SessionState, variables: Values) -> None:
        current = session.identity_insert
        if node.on and current is not None and not same_table(current, table):
            raise SqlError(
                8107,
                current.database.name if current.database else "tempdb",
                current.schema,
                current.name,
                table.name,
            )
        if node.on:
            session.identity_insert = table
        elif same_table(current, table):
            session.identity_insert = None
        session.set_rowcount(0)

    return run
