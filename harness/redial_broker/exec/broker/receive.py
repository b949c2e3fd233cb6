"""RECEIVE, GET CONVERSATION GROUP, and WAITFOR around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.types import SELECT_DONE, ResultColumn
from redial_broker.exec.broker import arguments
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.context import Context
from redial_broker.exec.dml.insert import maker_of
from redial_broker.exec.dml.rows import insert_columns
from redial_broker.exec.dml.targets import Writes, checker, resolve_target
from redial_broker.exec.expressions import Expr, ScopeColumn, compile_expression
from redial_broker.exec.query.broker_names import name_collation
from redial_broker.exec.query.ordering import row_count
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.sources import resolve_object
from redial_broker.exec.query.statement import assigned
from redial_broker.exec.registry import Run, compiles
from redial_broker.ssb import columns as queue_columns
from redial_broker.ssb import receive as receiving
from redial_broker.ssb.queue import Queue
from redial_broker.ssb.switches import value as switch

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Value, Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.expressions.scope import Scope
    from redial_broker.exec.session import SessionState

    Deliver = Callable[[SessionState, Values, list[RowValues]], None]
    """Rows of the queue columns asked for go to the client, to variables or to a table."""


@compiles(ast.Receive)
def compile_receive(node: ast.Receive, context: Context) -> Run:
    """RECEIVE outside WAITFOR: never waits for a message."""
    return _receive(node, context, None)


@compiles(ast.WaitForStatement)
def compile_waitfor(node: ast.WaitForStatement, context: Context) -> Run:
    """WAITFOR (RECEIVE ..) or (GET CONVERSATION GROUP ..); without TIMEOUT for ever."""
    timeout: Value
    if node.timeout is None:
        timeout = _for_ever
    else:
        timeout = arguments.number(context, node.timeout, "timeout", "WAITFOR")
    if isinstance(node.statement, ast.Receive):
        return _receive(node.statement, context, timeout)
    return _get_group(node.statement, context, timeout)


def _for_ever(session: SessionState, variables: Values) -> int:
    return -1


def _queue(name: ast.ObjectName, context: Context) -> Queue:
    found = resolve_object(name, context)
    if not isinstance(found, Queue):
        raise context.fail(name, SqlError(208, ".".join(name.parts)))
    if cast("Database", found.database).options[
        "read_only"
    ]:  # of another database; the own one is looked at before
        raise context.fail(name, SqlError(3906, found.database.name))
    return found


def _receive(node: ast.Receive, context: Context, timeout: Value | None) -> Run:
    broker_of(context)
    queue = _queue(node.queue, context)
    top = _top(node, context)
    options, named = _where(node, context)
    wanted, deliver, prepare = _output(node, context, queue)
    build = queue_columns.row_builder(wanted)
    status = switch(queue.broker.engine, "receive_status")
    receive, received = receiving.receive, receiving.received

    def run(session: SessionState, variables: Values) -> None:
        session.check_permission("RECEIVE", queue)
        session.refuse_rowcount("RECEIVE")
        taken = receive(
            queue,
            session,
            top(session, variables, ()) if top else None,
            **options(session, variables),
        )
        if taken:
            finish = prepare(session, variables, [build(e, m, status) for e, m in taken])
            received(queue, session, taken, named)
        else:
            received(queue, session, taken, named)
            if timeout is not None:
                limit = timeout(session, variables)
                receiving.wait_for_message(queue, session, -1 if limit is None else limit, named)
            finish = prepare(session, variables, [])
        deliver(session, variables, finish)
        session.done(SELECT_DONE, len(taken))

    return run


def _top(node: ast.Receive, context: Context) -> Any:
    if node.top is None:
        return None
    return row_count(node.top.count, context.scope)


def _where(node: ast.Receive, context: Context) -> tuple[Callable[..., Any], bool]:
    """The WHERE clause as keyword arguments of ``ssb.receive``."""
    if node.where_column is None:
        nothing: dict[str, Any] = {}
        return lambda session, variables: nothing, False
    assert node.where_value is not None
    if node.where_column.upper() == "CONVERSATION_HANDLE":
        handle = arguments.handle(context, node.where_value, "RECEIVE")
        return lambda session, variables: {
            "handle": handle(session, variables),
            "by_handle": True,
        }, True
    group = arguments.group(context, node.where_value, "RECEIVE")
    return lambda session, variables: {
        "group_id": group(session, variables),
        "by_group": True,
    }, True


# ---------------------------------------------------------------------- what becomes of the rows
def _output(
    node: ast.Receive, context: Context, queue: Queue
) -> tuple[tuple[int, ...], Deliver, Callable[..., Any]]:
    """(queue columns needed, deliver, prepare).

    ``prepare`` evaluates the column list, where errors belong to the statement before the queue
    monitor has seen it; ``deliver`` hands the result on.
    """
    items = node.items
    assigning = [item for item in items if item.variable is not None]
    if assigning and node.into is not None:
        raise context.fail(node, SqlError(8450, aborts="scope"))
    if assigning and len(assigning) != len(items):
        raise context.fail(node, SqlError(8447, aborts="scope"))
    wanted = _wanted(items)
    binary = name_collation(context.session.engine)
    scope = context.scope.child(
        [
            ScopeColumn(
                (context.database.name.lower(), queue.schema.lower(), queue.name.lower()),
                column.name,
                column.type,
                index,
                column.nullable,
                binary if column.name in queue_columns.BROKER_NAMES else None,
            )
            for index, column in enumerate(queue_columns.RESULT_COLUMNS[place] for place in wanted)
        ]
    )
    if assigning:
        return wanted, *_variables(assigning, scope)
    exprs, shown = _list(items, scope, wanted)
    project = _projection(exprs)
    if node.into is not None:
        return wanted, *_into(node, context, exprs, shown, project)
    result = [ResultColumn(name, expr.type, expr.nullable) for name, expr in zip(shown, exprs)]

    def deliver(session: SessionState, variables: Values, rows: list[RowValues]) -> None:
        session.result(result, rows)

    return wanted, deliver, project


def _wanted(items: list[ast.SelectItem]) -> tuple[int, ...]:
    """Positions of the queue columns the items name, in order of appearance."""
    found: dict[int, None] = {}
    for item in items:
        for part in item.value.walk():
            if isinstance(part, ast.Star):
                found.update(dict.fromkeys(range(len(queue_columns.RESULT_COLUMNS))))
            elif isinstance(part, ast.ColumnRef):
                place = queue_columns.NAMES.get(part.parts[-1].lower())
                if place is not None:
                    found[place] = None
    return tuple(found)


def _list(
    items: list[ast.SelectItem], scope: Scope, wanted: tuple[int, ...]
) -> tuple[list[Expr], list[str]]:
    """The compiled column list and its names; a star stands for all columns of the queue."""
    exprs: list[Expr] = []
    shown: list[str] = []
    for item in items:
        if isinstance(item.value, ast.Star):
            for column in queue_columns.RESULT_COLUMNS:
                ref = ast.ColumnRef(item.pos, item.end, (column.name,))
                exprs.append(compile_expression(ref, scope))
                shown.append(column.name)
            continue
        exprs.append(compile_expression(item.value, scope))
        plain = item.value.parts[-1] if isinstance(item.value, ast.ColumnRef) else ""
        shown.append(item.alias or plain)
    return exprs, shown


def _projection(
    exprs: list[Expr],
) -> Callable[[SessionState, Values, list[RowValues]], list[RowValues]]:
    if [expr.index for expr in exprs] == list(range(len(exprs))):
        return lambda session, variables, rows: rows
    fns = [expr.fn for expr in exprs]
    return lambda session, variables, rows: [
        tuple([fn(session, variables, r) for fn in fns]) for r in rows
    ]


def _variables(items: list[ast.SelectItem], scope: Scope) -> tuple[Deliver, Callable[..., Any]]:
    """RECEIVE @v = ..: the last row's values; without a row the variables keep theirs."""
    setters = []
    for item in items:
        assert item.variable is not None
        variable = scope.resolve_variable(item.variable)
        expr = compile_expression(item.value, scope)
        setters.append(
            (variable.slot, assigned(expr, item.op or "=", variable.slot, variable.type))
        )

    def prepare(session: SessionState, variables: Values, rows: list[RowValues]) -> list[Any]:
        if not rows:
            return []
        work = variables[:]
        for r in rows:
            for slot, fn in setters:
                work[slot] = fn(session, work, r)
        return [(slot, work[slot]) for slot, _ in setters]

    def deliver(session: SessionState, variables: Values, assignments: list[Any]) -> None:
        for slot, value in assignments:
            variables[slot] = value

    return deliver, prepare


def _into(
    node: ast.Receive,
    context: Context,
    exprs: list[Expr],
    shown: list[str],
    project: Callable[..., Any],
) -> tuple[Deliver, Callable[..., Any]]:
    """RECEIVE .. INTO @table: columns by position."""
    target = resolve_target(cast("ast.Variable", node.into), context)
    made = [
        QueryColumn(name, e.type, e.nullable, False, e.collation, e.untyped)
        for name, e in zip(shown, exprs)
    ]
    chosen = insert_columns(target, None, context, node)
    make = maker_of(made, target, chosen, node, context)
    check = checker(target, "INSERT")

    def prepare(session: SessionState, variables: Values, rows: list[RowValues]) -> Any:
        if not rows:
            return None
        table = target.at(variables)
        new = [make(session, variables, row, table) for row in project(session, variables, rows)]
        if check is not None:
            for row in new:
                check(session, row)
        if table.clustered is None and not table.indexes and not session.engine.journal.recording:
            _append(table, new)
            return None
        writes = Writes(session, variables, target)
        insert = writes.insert

        def changes() -> None:
            for row in new:
                insert(row)

        writes.all(changes)
        return None

    return lambda session, variables, nothing: None, prepare


def _append(table: Table, rows: list[RowValues]) -> None:
    """Many rows at the end of a heap nobody else sees: nothing can fail, nothing to undo.

    A target's RECEIVE INTO is the hot path of a landing procedure.
    """
    first = table.row_ids + 1
    table.row_ids += len(rows)
    table.rows.entries.update(((first + place,), row) for place, row in enumerate(rows))


# ---------------------------------------------------------------------- GET CONVERSATION GROUP
@compiles(ast.GetConversationGroup)
def compile_get_group(node: ast.GetConversationGroup, context: Context) -> Run:
    """GET CONVERSATION GROUP outside WAITFOR."""
    return _get_group(node, context, None)


def _get_group(node: ast.GetConversationGroup, context: Context, timeout: Value | None) -> Run:
    broker_of(context)
    queue = _queue(node.queue, context)
    slot = arguments.output(context, node.variable, "conversation group", "GET CONVERSATION GROUP")
    clears = switch(queue.broker.engine, "get_group_none") == "null"

    def run(session: SessionState, variables: Values) -> None:
        session.check_permission("RECEIVE", queue)
        group_id = receiving.get_group(queue, session)
        receiving.looked(queue, session, group_id)
        if group_id is None and timeout is not None:
            limit = timeout(session, variables)
            receiving.wait_for_message(queue, session, -1 if limit is None else limit)
        if group_id is not None or clears:
            variables[slot] = group_id
        session.set_rowcount(0 if group_id is None else 1)

    return run
