"""Cursors: DECLARE, OPEN, FETCH, CLOSE, DEALLOCATE, cursor variables.

Variables in the query have the values they had at DECLARE ("DECLARE CURSOR" page). A cursor lives
until its last reference is gone: its name, or a variable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.types import SELECT_DONE
from redial_broker.exec.calls import converted
from redial_broker.exec.context import Context
from redial_broker.exec.cursor_options import DYNAMIC, KEYSET, SCROLL_LOCKS, cursor_options
from redial_broker.exec.cursor_plans import Plan, Row, compile_plan
from redial_broker.exec.cursor_references import (
    LAST_OPENED,
    nameless,
    new_key,
    references,
    release,
)
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState


@definition(
    frame="shown by its depth",
    locals="shown by the session",
    moment="whether what was seen is still so: where that is not sure it is read again",
)
@dataclass(frozen=True, slots=True)
class Cursor:
    """One cursor; never changed, only replaced, so that saving a session is copying a dict."""

    frame: Frame | None
    """It ends with it (None: GLOBAL)."""
    plan: Plan
    locals: list[Any]
    """Values of the variables at DECLARE."""
    named: bool = True
    """Its name still refers to it."""
    rows: tuple[Row, ...] | None = None
    """Found at OPEN, None while it is not open; those of a dynamic cursor are what it saw last, at
    ``moment``."""
    position: int = 0
    """0 before the first row."""
    current: Row | None = None
    """The row fetched last."""
    moment: tuple[Any, ...] | None = None

    @property
    def seen(self) -> tuple[Row, ...]:
        """``rows``, for who knows that it is open."""
        assert self.rows is not None
        return self.rows

    @property
    def kind(self) -> str:
        """STATIC, KEYSET or DYNAMIC."""
        return self.plan.kind


# ---------------------------------------------------------------------- finding cursors
def cursor_key(session: SessionState, name: str, is_global: bool) -> Any:
    """The key of a cursor named in a statement: the module's own first, then the global one."""
    lowered = name.lower()
    local = (len(session.frames), lowered)
    if not is_global and local in session.cursors and session.cursors[local].named:
        return local
    return ("", lowered)


def find(
    session: SessionState, variables: Values, node: ast.CursorName, slot: int
) -> tuple[Any, Cursor]:
    """(key, cursor) of a name or variable. Raises 16916 and 16950."""
    if slot >= 0:
        key = variables[slot]
        if key is None or key not in session.cursors:
            raise SqlError(16950, cast("ast.Variable", node.name).name)
        return key, session.cursors[key]
    name = cast("str", node.name)  # not a variable: it has no slot
    key = cursor_key(session, name, node.is_global)
    found = session.cursors.get(key)
    if found is None or not found.named:
        raise SqlError(16916, name)
    return key, found


def cursor_slot(node: ast.CursorName, context: Context) -> int:
    """The slot of a cursor variable, -1 for a cursor by name."""
    return variable_slot(node.name, context) if isinstance(node.name, ast.Variable) else -1


def variable_slot(node: ast.Variable, context: Context) -> int:
    """The slot of a cursor variable; 16950 for a variable of another type."""
    slot, of = context.scope.variables[node.name.lower()]
    if of is not None or node.name.lower() in context.table_variables:
        raise context.fail(node, SqlError(16950, node.name, aborts="scope"))
    return slot


# ---------------------------------------------------------------------- DECLARE, SET
def _warn(session: SessionState, plan: Plan) -> None:
    if plan.options.warn and plan.converted:
        session.info("The created cursor is not of the requested type.", 10, 16956)


@compiles(ast.DeclareCursor)
def compile_declare_cursor(node: ast.DeclareCursor, context: Context) -> Run:
    """DECLARE name CURSOR: LOCAL ends with its batch or module, else it is the session's."""
    options = cursor_options(node.definition, context)
    plan = compile_plan(node.definition.query, options, context)
    lowered = node.name.lower()

    def run(session: SessionState, variables: Values) -> None:
        key = (len(session.frames), lowered) if options.local else ("", lowered)
        if key in session.cursors:
            raise SqlError(16915, node.name)
        session.cursors[key] = Cursor(
            session.frames[-1] if options.local else None, plan, variables[:]
        )
        _warn(session, plan)
        session.set_rowcount(1)

    return run


def set_cursor_variable(node: ast.SetVariable, context: Context) -> Run:
    """SET @c = CURSOR FOR ..., = another cursor variable, or = the name of a cursor."""
    slot, value = variable_slot(node.variable, context), node.value
    if not isinstance(value, ast.CursorDefinition):
        return _refer(node, slot, context)
    options = cursor_options(value, context)
    plan = compile_plan(value.query, options, context)

    def run(session: SessionState, variables: Values) -> None:
        before, variables[slot] = variables[slot], None
        release(session, before)
        key = new_key(session)
        session.cursors[key] = Cursor(session.frames[-1], plan, variables[:], False)
        variables[slot] = key
        _warn(session, plan)
        session.set_rowcount(1)

    return run


def _refer(node: ast.SetVariable, slot: int, context: Context) -> Run:
    value = node.value
    if isinstance(value, ast.Variable):
        other = variable_slot(value, context)
        name = ast.CursorName(value.pos, value.end, value, False)
    elif isinstance(value, ast.ColumnRef) and len(value.parts) == 1:
        other, name = -1, ast.CursorName(value.pos, value.end, value.parts[0], False)
    else:
        raise context.fail(node, SqlError(16949, node.variable.name, aborts="scope"))

    def run(session: SessionState, variables: Values) -> None:
        key, _ = find(session, variables, name, other)
        before, variables[slot] = variables[slot], key
        if before != key:
            release(session, before)
        session.set_rowcount(1)

    return run


# ---------------------------------------------------------------------- OPEN, CLOSE, DEALLOCATE
@compiles(ast.OpenCursor)
def compile_open(node: ast.OpenCursor, context: Context) -> Run:
    """OPEN: a static cursor reads its rows now, a keyset one their keys; @@CURSOR_ROWS."""
    slot = cursor_slot(node.cursor, context)

    def run(session: SessionState, variables: Values) -> None:
        key, cursor = find(session, variables, node.cursor, slot)
        if cursor.rows is not None:
            raise SqlError(16905)
        cursor.plan.check_tables(session)
        rows: tuple[Row, ...] = ()
        if cursor.kind != DYNAMIC:
            rows = tuple(session.limited(cursor.plan.read(session, cursor.locals)))
        session.cursors[key] = replace(cursor, rows=rows, position=0, current=None, moment=None)
        session.cursors[LAST_OPENED] = key
        session.set_rowcount(0)

    return run


@compiles(ast.CloseCursor, shared=False)
def compile_close(node: ast.CloseCursor, context: Context) -> Run:
    """CLOSE: the rows go, the cursor may be opened again."""
    slot = cursor_slot(node.cursor, context)

    def run(session: SessionState, variables: Values) -> None:
        key, cursor = find(session, variables, node.cursor, slot)
        if cursor.rows is None:
            raise SqlError(16917)
        session.cursors[key] = closed(cursor)
        session.set_rowcount(0)

    return run


def closed(cursor: Cursor) -> Cursor:
    """The cursor after CLOSE."""
    return replace(cursor, rows=None, position=0, current=None)


@compiles(ast.DeallocateCursor, shared=False)
def compile_deallocate(node: ast.DeallocateCursor, context: Context) -> Run:
    """DEALLOCATE: this reference is gone, and the cursor with its last one."""
    slot = cursor_slot(node.cursor, context)

    def run(session: SessionState, variables: Values) -> None:
        key, cursor = find(session, variables, node.cursor, slot)
        if slot >= 0:
            variables[slot] = None
            release(session, key)
        elif references(session, key):
            nameless(session, key, cursor.frame)
        else:
            del session.cursors[key]
        session.set_rowcount(0)

    return run


# ---------------------------------------------------------------------- FETCH
@compiles(ast.FetchCursor, lazy=False)
def compile_fetch_cursor(node: ast.FetchCursor, context: Context) -> Run:
    """FETCH orientation FROM cursor [INTO @a, @b]; @@FETCH_STATUS 0, -1 outside the rows, -2 for a
    row that is gone.
    """
    slot = cursor_slot(node.cursor, context)
    offset = context.expression(node.offset).fn if node.offset is not None else None
    targets = [context.scope.resolve_variable(variable) for variable in node.into or []]

    def run(session: SessionState, variables: Values) -> None:
        key, cursor = find(session, variables, node.cursor, slot)
        if cursor.rows is None:
            raise SqlError(16917)
        _check(session, node.orientation, cursor)
        columns = cursor.plan.columns
        if node.into is not None and len(targets) != len(columns):
            raise SqlError(16924)
        moved = move(
            session, node.orientation, cursor, offset(session, variables, ()) if offset else 0
        )
        session.cursors[key] = moved
        row = moved.current
        session.fetch_status = 0 if row is not None else status(moved)
        if node.into is None:
            session.result(
                [column.result() for column in columns], [] if row is None else [row.values]
            )
            session.done(SELECT_DONE, 0 if row is None else 1)
            return
        if row is not None:
            for target, value, column in zip(targets, row.values, columns):
                variables[target.slot] = converted(value, column.type, target.type)
        session.set_rowcount(1)

    return run


def status(cursor: Cursor) -> int:
    """@@FETCH_STATUS of a fetch without a row: -2 for a missing row of a keyset, else -1."""
    inside = cursor.kind == KEYSET and 1 <= cursor.position <= len(cursor.seen)
    return -2 if inside else -1


def _check(session: SessionState, orientation: str, cursor: Cursor) -> None:
    if orientation != "NEXT" and not cursor.plan.options.scroll:
        raise SqlError(16911, "fetch", orientation.lower())
    if orientation == "ABSOLUTE" and cursor.kind == DYNAMIC:
        raise SqlError(16925, orientation.lower())
    if cursor.plan.concurrency == SCROLL_LOCKS and (session.transaction is None or session.auto):
        raise NotSupported(
            "FETCH from a SCROLL_LOCKS cursor outside a transaction: its locks "
            "would have to outlive the statement"
        )
    cursor.plan.check_tables(session)


def move(session: SessionState, orientation: str, cursor: Cursor, offset: int | None) -> Cursor:
    """The cursor after a FETCH; ``current`` is the row, None when there is none."""
    if cursor.kind == DYNAMIC:
        return _move_dynamic(session, orientation, cursor, offset or 0)
    rows = cursor.seen
    position = _position(orientation, cursor.position, len(rows), offset or 0)
    row = rows[position - 1] if 1 <= position <= len(rows) else None
    if row is not None and cursor.kind == KEYSET:
        assert cursor.plan.by_keys is not None
        row = cursor.plan.by_keys(session, cursor.locals, row.keys)
    return replace(cursor, position=position, current=row)


def _position(orientation: str, now: int, last: int, offset: int) -> int:
    """The new position: 0 before the first row, last + 1 behind the last."""
    wanted = {
        "NEXT": now + 1,
        "PRIOR": now - 1,
        "FIRST": 1,
        "LAST": last,
        "RELATIVE": now + offset,
        "ABSOLUTE": offset if offset >= 0 else last + 1 + offset,
    }[orientation]
    return max(0, min(wanted, last + 1))


def _move_dynamic(session: SessionState, orientation: str, cursor: Cursor, offset: int) -> Cursor:
    """Read on from the place of the last row, or read everything and look for it.

    A cursor that only goes forward along one index keeps its last row alone in ``rows``; another
    keeps what it saw last, to know where it stood when the row itself is gone.
    """
    plan = cursor.plan
    if plan.after is not None and not plan.options.scroll:
        last = cursor.rows[0].place if cursor.rows else None
        row = plan.after(session, cursor.locals, last)
        return replace(cursor, current=row, rows=cursor.rows if row is None else (row,))
    moment = plan.moment(session, cursor.locals)
    if moment is not None and cursor.moment == moment:
        rows, number, on = cursor.seen, cursor.position, True
    else:
        rows = tuple(plan.read(session, cursor.locals))
        number, on = _anchor(cursor, rows)
    if orientation == "PRIOR":
        orientation, offset = "RELATIVE", -1
    if orientation == "RELATIVE" and offset < 0 and not on:
        offset += 1  # from between two rows the first step back is onto the one before
    position = _position(orientation, number, len(rows), offset)
    row = rows[position - 1] if 1 <= position <= len(rows) else None
    return replace(cursor, rows=rows, position=position, current=row, moment=moment)


def _anchor(cursor: Cursor, rows: tuple[Row, ...]) -> tuple[int, bool]:
    """(number of the row the cursor stands on or behind, whether it stands on it)."""
    places = {row.keys: number for number, row in enumerate(rows, 1)}
    seen, position = cursor.seen, cursor.position
    if 1 <= position <= len(seen) and seen[position - 1].keys in places:
        return places[seen[position - 1].keys], True
    for before in reversed(seen[: max(position - 1, 0)]):
        if before.keys in places:
            return places[before.keys], False
    return 0, False
