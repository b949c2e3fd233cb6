"""SELECT as a statement: a result set, variables, or a new table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import SELECT_DONE, ResultColumn
from redial_broker.exec.completions import captured
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.conversion.declared import type_by_name
from redial_broker.exec.expressions import binary_operation
from redial_broker.exec.expressions.expr import Expr, variable
from redial_broker.exec.expressions.registry import compiles as compiles_value
from redial_broker.exec.query.blocks import Block, Item, projection
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.into import compile_into, first_select, refuse_later
from redial_broker.exec.query.rowset import QueryColumn, Rowset
from redial_broker.exec.query.streaming import (
    Portions,
    compile_portions,
    goes_in_portions,
    streamed_table,
)
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.expressions.scope import Scope
    from redial_broker.exec.session import SessionState

BEFORE = frozenset({229, 230, 262, 297, 300, 916})
"""Permissions are looked at before a statement starts."""

CHUNK = 2033
"""Characters of FOR XML and FOR JSON text in one row to the client ("Use FOR JSON output" page)."""


@compiles_value(ast.IdentityFunction)
def _misplaced_identity(node: ast.IdentityFunction, scope: Scope) -> Any:
    """177: SELECT INTO takes its IDENTITY(...) out of the list before that is compiled."""
    raise SqlError(177, aborts="scope")


@compiles(ast.SelectStatement)
def compile_select(node: ast.SelectStatement, context: Context) -> Run:
    """SELECT: to the client, into variables, or into a new table."""
    query = node.query
    compiler = QueryCompiler(context)
    if isinstance(query.body, ast.Select):
        assigning = [item for item in query.body.items if item.variable is not None]
        if assigning:
            if len(assigning) != len(query.body.items):
                raise context.fail(node, SqlError(141, severity=15, aborts="scope"))
            if query.for_ is not None:
                raise context.fail(
                    query.for_, SqlError(6819, "ASSIGNMENT", state=3, aborts="scope")
                )
            block = compiler.block(query, context.scope)
            assert block is not None
            return _assignment(block, context)
        if query.body.into is not None:
            refuse_for(query, context, "SELECT INTO")
            return compile_into(query, compiler, context)
    elif first_select(query.body).into is not None:
        refuse_later(query, context)
        refuse_for(query, context, "SELECT INTO")
        return compile_into(query, compiler, context)
    else:
        refuse_later(query, context)
    rowset = compiler.query(query, context.scope)
    if rowset.streamed is not None:
        return _streamed(rowset)
    table = streamed_table(rowset)
    return _result(rowset) if table is None else _in_portions(rowset, query, context, table)


def refuse_for(query: Any, context: Context, statement: str) -> None:
    """6819 or 13602: FOR XML and FOR JSON give rows to a client, not to a table."""
    clause = getattr(query, "for_", None)
    if isinstance(clause, (ast.ForXml, ast.ForJson)):
        number = 6819 if isinstance(clause, ast.ForXml) else 13602
        raise context.fail(clause, SqlError(number, statement, aborts="scope"))


def _streamed(rowset: Rowset) -> Run:
    """FOR XML and FOR JSON: the text in rows of 2033 characters; the rows written count (F-222).

    An untyped FOR XML column goes out as ntext, FOR JSON as nvarchar(max).
    """
    (column,) = rowset.columns
    of = type_by_name("ntext") if column.name.startswith("XML_") else column.type
    columns = [QueryColumn(column.name, of).result()]
    make = rowset.streamed
    assert make is not None

    def run(session: SessionState, variables: Values) -> None:
        session.refuse_rowcount("FOR XML or FOR JSON")
        try:
            count, text = make(session, variables, ())
        except SqlError as error:
            begun(session, columns, error, None)
            raise
        pieces = (
            []
            if text is None
            else [(text[at : at + CHUNK],) for at in range(0, max(1, len(text)), CHUNK)]
        )
        session.result(columns, pieces)
        session.done(SELECT_DONE, count)

    return run


def begun(session: SessionState, columns: list[ResultColumn], error: SqlError, sender: Any) -> None:
    """A statement fails while it runs: its columns have been told, and the rows before (F-533).

    What is found before it starts (a permission, what we refuse) tells nothing.
    """
    if error.number in BEFORE or isinstance(error, NotSupported) or error.sent is not None:
        return
    if captured(session):
        return
    rows = error.partial[1] if error.partial is not None and error.partial[0] is sender else []
    session.result(columns, rows)
    error.sent = len(rows)


def _result(rowset: Rowset) -> Run:
    columns = [column.result() for column in rowset.columns]
    rows = rowset.rows
    sender = rowset.body.block.sender if rowset.body is not None else None

    def run(session: SessionState, variables: Values) -> None:
        try:
            found = session.limited(rows(session, variables, ()))
        except SqlError as error:
            begun(session, columns, error, sender)
            raise
        session.result(columns, found)
        session.done(SELECT_DONE, len(found))

    return run


def _in_portions(rowset: Rowset, query: ast.Query, context: Context, table: Table) -> Run:
    """A result whose rows go out in portions where a client reads along and they are many."""
    at_once = _result(rowset)
    columns = [column.result() for column in rowset.columns]
    plans: list[Portions | None] = []  # made when it is first wanted

    def run(session: SessionState, variables: Values) -> int | None:
        if session.portions is not None:
            following: int | None = session.portions.go_on(session, variables)
            return following
        if not goes_in_portions(session, table):
            return at_once(session, variables)
        if not plans:
            plans.append(compile_portions(query, context, columns))
        plan = plans[0]
        if plan is None:
            return at_once(session, variables)
        try:
            return plan.begin(session, variables)
        except SqlError as error:
            begun(session, columns, error, None)
            raise

    return run


# ---------------------------------------------------------------------- SELECT @v = ...
def _assignment(block: Block, context: Context) -> Run:
    """Variables take the value of the last row; without a row they keep theirs."""
    if (
        block.sort
        or block.select.distinct
        or block.tail.offset is not None
        or (block.select.top is not None and block.select.top.with_ties)
    ):
        pairs_of = _arranged(block)
    else:
        pairs_of = _plain(block)
    setters = [_setter(item, context) for item in block.items]
    order = [slot for slot, _ in setters]

    if len(setters) == 1:
        slot, fn = setters[0]

        def run_one(session: SessionState, variables: Values) -> None:
            rows = session.limited(pairs_of(session, variables))
            if len(rows) == 1:
                variables[slot] = fn(session, variables, rows[0])
            elif rows:
                _assign_all(session, variables, rows, setters, order)
            session.done(SELECT_DONE, len(rows))

        return run_one

    def run(session: SessionState, variables: Values) -> None:
        rows = session.limited(pairs_of(session, variables))
        if rows:
            _assign_all(session, variables, rows, setters, order)
        session.done(SELECT_DONE, len(rows))

    return run


def _assign_all(
    session: SessionState,
    variables: Values,
    rows: list[RowValues],
    setters: list[tuple[int, Fn]],
    order: list[int],
) -> None:
    """Assign row by row, in a copy: a statement that waits half way leaves no trace."""
    work = variables[:]
    for row in rows:
        for slot, fn in setters:
            work[slot] = fn(session, work, row)
    for slot in order:
        variables[slot] = work[slot]


def _plain(block: Block) -> Callable[[SessionState, Values], list[RowValues]]:
    read, top = block.source_rows(), block.top
    if top is None:
        return lambda session, variables: read(session, variables, ())

    def run(session: SessionState, variables: Values) -> list[RowValues]:
        found = read(session, variables, ())
        return found[: top(session, variables, (), len(found))]

    return run


def _arranged(block: Block) -> Callable[[SessionState, Values], list[RowValues]]:
    read, arrange = block.source_rows(), block.arrange()
    project = projection([item.expr for item in block.items])

    def run(session: SessionState, variables: Values) -> list[RowValues]:
        pairs = [(row, project(session, variables, row)) for row in read(session, variables, ())]
        return [row for row, _ in arrange(session, variables, (), pairs)]

    return run


def _setter(item: Item, context: Context) -> tuple[int, Fn]:
    """(slot, closure of the value to assign) of one ``@v = value`` or ``@v += value``."""
    assert item.variable is not None
    found = context.scope.resolve_variable(item.variable)
    slot, of = found.slot, found.type
    return slot, assigned(item.expr, item.op, slot, of)


def assigned(expr: Expr, op: str, slot: int, of: Any) -> Fn:
    """The value a variable takes: the operator applied, converted to the variable's type."""
    if op != "=":
        expr = binary_operation(op[0], variable(slot, of), expr)
    if expr.untyped:
        return expr.fn
    convert = compile_assignment_conversion(expr.type, of)
    if convert is None:
        return expr.fn
    inner = expr.fn
    return lambda session, variables, row: convert(inner(session, variables, row))
